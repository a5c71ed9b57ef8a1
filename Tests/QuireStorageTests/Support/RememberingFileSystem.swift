// The real file system, with an eye on every file that is made there.

import QuireStorage
import QuireTesting
import Synchronization

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Keeps each file that an engine makes open for reading, so that its bytes can be looked at when its name is gone.
final class RememberingFileSystem: FileSystem {
  /// A file, as it was when it had just been made.
  struct Made: Sendable {
    let path: String
    let descriptor: Int32
    let mode: mode_t
    let owner: uid_t
  }

  private let real = RealFileSystem()
  private let files = Latch<[Made]>([])

  deinit {
    for file in made { close(file.descriptor) }
  }

  /// Every file so far, in the order of their making.
  var made: [Made] { files.withLock { $0 } }

  /// The bytes of a file as they are now.
  func bytes(of file: Made) -> [UInt8] {
    let count = Int(lseek(file.descriptor, 0, SEEK_END))
    guard count > 0 else { return [] }
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, used in
      while used < count {
        let read = pread(file.descriptor, buffer.baseAddress.map { $0 + used }, count - used, off_t(used))
        if read <= 0 { return }
        used += read
      }
    }
  }

  func open(_ path: String, _ mode: OpenMode) throws(SystemError) -> any File {
    let file = try real.open(path, mode)
    if case .createNew = mode { remember(path) }
    return file
  }

  private func remember(_ path: String) {
    let descriptor = openForReading(path)
    var information = stat()
    guard descriptor >= 0, fstat(descriptor, &information) == 0 else { return }
    let file = Made(
      path: path, descriptor: descriptor, mode: information.st_mode & 0o7777, owner: information.st_uid)
    files.withLock { $0.append(file) }
  }

  func link(_ path: String, to newPath: String) throws(SystemError) { try real.link(path, to: newPath) }
  func rename(_ path: String, to newPath: String) throws(SystemError) { try real.rename(path, to: newPath) }
  func unlink(_ path: String) throws(SystemError) { try real.unlink(path) }
  func synchronizeDirectory(of path: String) throws(SystemError) { try real.synchronizeDirectory(of: path) }
  func canonicalPath(_ path: String) -> String { real.canonicalPath(path) }
  func exists(_ path: String) -> Bool { real.exists(path) }
  func freeByteCount(at path: String) -> Int? { real.freeByteCount(at: path) }
  func change(of file: any File, byteCount: Int) -> FileChange? { real.change(of: file, byteCount: byteCount) }
}

/// Opens an existing file; not within the class, where `open` means another thing.
private func openForReading(_ path: String) -> Int32 { open(path, O_RDONLY | O_CLOEXEC) }
