// Removing the names of files, so that no power cut brings them back.

internal import QuireDatabase

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// How files are deleted if an app says nothing else: their names are removed, and then their folders are synced.
///
/// A name that was removed may be there again after a power cut if its folder was not synced. The list of files is on
/// the disk without it by then, so that nobody would ever delete the file.
///
/// A sync that fails may forget the removal of a name, which no later sync writes then, also of another process. So a
/// name that is not there is made anew and removed once more: that is a change which the disk has yet to learn.
enum FileRemoval {
  /// Removes a file's name, durably; one that is not there is fine.
  static func remove(_ path: String) throws {
    try unlinkName(path)
    try synchronize(folder(of: path))
  }

  /// Removes a file's name, for now, or the one of an empty file that it makes, if there is none.
  static func unlinkName(_ path: String) throws {
    if try unlinkIfThere(path) { return }
    if try makeName(path) { _ = try unlinkIfThere(path) }
  }

  /// Returns whether there was such a name.
  private static func unlinkIfThere(_ path: String) throws -> Bool {
    guard unsafe unlink(path) != 0 else { return true }
    let code = errno
    guard code == ENOENT || code == ENOTDIR else { throw failure("The file could not be deleted", code, path) }
    return false
  }

  /// Makes an empty file where there is none. Returns false where there can be none, or where this process may not make
  /// one: the system alone decides there what a power cut brings back.
  private static func makeName(_ path: String) throws -> Bool {
    while true {
      let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
      if descriptor >= 0 {
        _ = close(descriptor)
        return true
      }
      let code = errno
      if [ENOENT, ENOTDIR, EISDIR, ELOOP, EINVAL, EACCES, EPERM].contains(code) { return false }
      if code != EINTR { throw failure("It is not certain that the file stays deleted", code, path) }
    }
  }

  /// The folder that has a file's name.
  static func folder(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// Makes the names in a folder durable. A folder that is not there has none; one that may not be read, or that its
  /// file system cannot sync, is left to the system.
  static func synchronize(_ folder: String) throws {
    let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else {
      let code = errno
      if [ENOENT, ENOTDIR, EACCES, EPERM, ELOOP].contains(code) { return }
      throw failure("The folder could not be opened", code, folder)
    }
    defer { _ = close(descriptor) }
    while sync(descriptor) != 0 {
      let code = errno
      if code == EINTR { continue }
      if code == EINVAL || code == ENOTSUP { return }
      throw failure("The folder could not be synced", code, folder)
    }
  }

  private static func sync(_ descriptor: Int32) -> Int32 {
    #if canImport(Darwin)
      if fcntl(descriptor, F_FULLFSYNC) == 0 { return 0 }
    #endif
    return fsync(descriptor)
  }

  private static func failure(_ what: String, _ code: Int32, _ path: String) -> DatabaseError {
    DatabaseError(.inputOutput, "\(what) (system error \(code)). It is tried again later.", path: path)
  }
}
