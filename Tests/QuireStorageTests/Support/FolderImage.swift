// What a folder holds, to see that nothing has touched it.

import QuireStorage
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Names, bytes and times of all files of a folder at one moment.
struct FolderImage: Equatable {
  struct Entry: Equatable {
    var bytes: [UInt8]
    var inode: UInt64
    var seconds: Int
    var nanoseconds: Int

    static func == (left: Entry, right: Entry) -> Bool {
      equal(left.bytes, right.bytes) && left.inode == right.inode
        && (left.seconds, left.nanoseconds) == (right.seconds, right.nanoseconds)
    }
  }
  var entries: [String: Entry] = [:]

  init(of folder: String) {
    guard let directory = opendir(folder) else { return }
    defer { closedir(directory) }
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name == "." || name == ".." { continue }
      var information = stat()
      lstat("\(folder)/\(name)", &information)
      let isFile = information.st_mode & S_IFMT == S_IFREG
      #if canImport(Darwin)
        let time = information.st_mtimespec
      #else
        let time = information.st_mtim
      #endif
      entries[name] = Entry(
        bytes: isFile ? readFile("\(folder)/\(name)") : [], inode: UInt64(information.st_ino),
        seconds: time.tv_sec, nanoseconds: time.tv_nsec)
    }
  }
}

/// All bytes of a file; nothing if it cannot be read.
func readFile(_ path: String) -> [UInt8] {
  let descriptor = open(path, O_RDONLY | O_NONBLOCK)
  guard descriptor >= 0 else { return [] }
  defer { close(descriptor) }
  var bytes: [UInt8] = []
  var chunk = [UInt8](repeating: 0, count: 1 << 16)
  while true {
    let count = read(descriptor, &chunk, chunk.count)
    if count <= 0 { return bytes }
    bytes.append(contentsOf: chunk[..<count])
  }
}

/// Makes or replaces a file.
func writeFile(_ bytes: [UInt8], _ path: String) {
  let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
  guard descriptor >= 0 else { return }
  defer { close(descriptor) }
  _ = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
}

/// Changes one file.
func edit(_ path: String, _ body: (inout [UInt8]) -> Void) {
  var bytes = readFile(path)
  body(&bytes)
  writeFile(bytes, path)
}

/// Expects `body` to be refused with `code`, a message that says what to do, and this path in it; and that nothing in
/// the folder has changed.
@discardableResult
func expectRefusal(
  _ code: StorageError.Code, path: String? = nil, in folder: TemporaryFolder,
  sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
) -> StorageError? {
  let before = FolderImage(of: folder.path)
  let error = #expect(throws: StorageError.self, sourceLocation: sourceLocation) { try body() }
  #expect(error?.code == code, sourceLocation: sourceLocation)
  if let path { #expect(error?.path == path, sourceLocation: sourceLocation) }
  // Two sentences: what happened, and what helps.
  let sentences = error?.message.split(separator: ".").count ?? 0
  #expect(sentences >= 2, "\(error?.description ?? "")", sourceLocation: sourceLocation)
  let after = FolderImage(of: folder.path)
  #expect(after.entries.keys.sorted() == before.entries.keys.sorted(), sourceLocation: sourceLocation)
  for (name, entry) in before.entries {
    #expect(after.entries[name] == entry, "\(name) was touched", sourceLocation: sourceLocation)
  }
  return error
}
