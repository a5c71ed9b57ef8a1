// Files of lines that are read, and errors of files.

import ArgumentParser
import QuireDatabase
import QuireStorage

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// What the system says of its last error, and of which file.
private func systemError(_ path: String) -> FileError { FileError("\(path): \(String(cString: strerror(errno)))") }

/// A file that cannot be read or made.
struct FileError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }

  /// What the system says, and of which file.
  init(_ error: SystemError, _ path: String) { description = "\(path): \(String(cString: strerror(error.code)))" }
}

extension NewDatabaseFile {
  /// Gives the database its name, unless there is something by now that was not when `work` began.
  func publish(since work: String) throws(FileError) {
    if let taken = takenName { throw FileError("\(taken) is there, and was not when \(work) began.") }
    try naming(path) { () throws(SystemError) in try publish() }
  }
}

/// What the system says of a file, with the path.
func naming<Result>(_ path: String, _ body: () throws(SystemError) -> Result) throws(FileError) -> Result {
  do throws(SystemError) { return try body() } catch { throw FileError(error, path) }
}

/// A file, or standard input, that is read from its beginning.
final class InputFile: Sendable {
  private let descriptor: Int32
  private let path: String

  static let standardInput = InputFile(descriptor: 0, "standard input")

  private init(descriptor: Int32, _ path: String) {
    self.descriptor = descriptor
    self.path = path
  }

  convenience init(at path: String) throws {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw told(systemError(path)) }
    self.init(descriptor: descriptor, path)
  }

  deinit { if descriptor > 2 { close(descriptor) } }

  /// Some of the bytes that follow, up to so many; none at the end.
  func read(_ count: Int) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    while true {
      let got = bytes.withUnsafeMutableBytes { systemRead(descriptor, $0) }
      if got < 0, errno == EINTR { continue }
      guard got >= 0 else { throw systemError(path) }
      bytes.removeLast(count - got)
      return bytes
    }
  }
}

/// The system's call, of which types here have members of the same name: how many bytes were read.
private func systemRead(_ descriptor: Int32, _ bytes: UnsafeMutableRawBufferPointer) -> Int {
  guard let base = bytes.baseAddress else { return 0 }
  return read(descriptor, base, bytes.count)
}

/// What an error becomes that ends the tool: one line, and exit code 1.
func told(_ error: any Error) -> any Error {
  if error is ExitCode { return error }
  complain("\(error)")
  return ExitCode.failure
}
