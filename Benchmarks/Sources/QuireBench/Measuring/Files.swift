// The files of a store as a whole: their size, their durability, and whether the system keeps them in memory.

internal import Foundation

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// The paths of all files below a folder.
private func files(in folder: String) -> [String] {
  guard let names = FileManager.default.enumerator(atPath: folder) else { return [] }
  return names.compactMap { $0 as? String }.map { "\(folder)/\($0)" }.filter { path in
    var isFolder: ObjCBool = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && !isFolder.boolValue
  }
}

/// The bytes of all files below a folder. A file that is removed meanwhile counts for nothing.
func byteCount(of folder: String) -> Int {
  files(in: folder).reduce(0) { total, path in
    var status = stat()
    return stat(path, &status) == 0 ? total + Int(status.st_size) : total
  }
}

/// Syncs all files below a folder.
func synchronizeFiles(in folder: String) throws {
  for path in files(in: folder) {
    guard let file = FileHandle(forUpdatingAtPath: path) else { continue }
    try file.synchronize()
    try file.close()
  }
}

/// Syncs all files below a folder and asks the system to forget what it keeps of them in memory. Nobody may have them
/// open or mapped. Systems without such a call keep them: a row that reads cold then says how little it fetched.
func evictFiles(in folder: String) throws {
  try synchronizeFiles(in: folder)
  #if os(Linux)
    for path in files(in: folder) {
      let descriptor = open(path, O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else { throw StoreFailure(description: "\(path): errno \(errno)") }
      defer { _ = close(descriptor) }
      let status = posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED)
      guard status == 0 else { throw StoreFailure(description: "\(path): errno \(status)") }
    }
  #endif
}

/// Copies all files below a folder, which may be at work: each is read to where it ends by then, and one that is gone
/// when its turn comes ends the copying.
///
/// - Returns: whether all were there.
func copyFiles(of folder: String, to copy: String) throws -> Bool {
  for path in files(in: folder) {
    let target = URL(fileURLWithPath: copy + path.dropFirst(folder.count))
    try FileManager.default.createDirectory(at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
    guard let source = FileHandle(forReadingAtPath: path) else { return false }
    defer { try? source.close() }
    guard FileManager.default.createFile(atPath: target.path, contents: nil),
      let output = FileHandle(forWritingAtPath: target.path)
    else { throw StoreFailure(description: "\(target.path) cannot be made") }
    defer { try? output.close() }
    while let piece = try source.read(upToCount: 1 << 20), !piece.isEmpty { try output.write(contentsOf: piece) }
  }
  return true
}

/// What tells whether a file has been written to.
struct FileState: Equatable {
  let byteCount: Int
  let modified: Date

  /// The states of all files in a folder and below, by path; those that go meanwhile are left out.
  static func all(in folder: String) throws -> [String: FileState] {
    var states: [String: FileState] = [:]
    for name in try FileManager.default.subpathsOfDirectory(atPath: folder) {
      guard let attributes = try? FileManager.default.attributesOfItem(atPath: "\(folder)/\(name)") else { continue }
      states[name] = FileState(
        byteCount: (attributes[.size] as? Int) ?? 0, modified: (attributes[.modificationDate] as? Date) ?? .distantPast)
    }
    return states
  }
}
