// Files of lines, and new files that get their name when they are complete.

import ArgumentParser
import QuireDatabase
import QuireStorage

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// What the system says of its last error, and of which file.
private func systemError(_ path: String) -> FileError { FileError("\(path): \(String(cString: strerror(errno)))") }

/// A file that cannot be read or made.
struct FileError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
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
      let got = bytes.withUnsafeMutableBytes { Self.readSome(descriptor, $0) }
      if got < 0, errno == EINTR { continue }
      guard got >= 0 else { throw systemError(path) }
      bytes.removeLast(count - got)
      return bytes
    }
  }

  private static func readSome(_ descriptor: Int32, _ bytes: UnsafeMutableRawBufferPointer) -> Int {
    #if canImport(Darwin)
      Darwin.read(descriptor, bytes.baseAddress, bytes.count)
    #else
      Glibc.read(descriptor, bytes.baseAddress, bytes.count)
    #endif
  }
}

/// A file that was not there before, and which nobody else may read: it can have rows of a database.
final class NewFile: Sendable {
  private let descriptor: Int32
  private let path: String

  init(at path: String) throws {
    descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    self.path = path
    guard descriptor >= 0 else { throw systemError(path) }
  }

  /// Appends a line.
  func append(_ line: String) throws {
    var rest = Array(line.utf8)[...] + [UInt8(ascii: "\n")]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw systemError(path) }
      rest = rest.dropFirst(count)
    }
  }

  /// What was appended is in the file.
  func close() throws {
    #if canImport(Darwin)
      let result = Darwin.close(descriptor)
    #else
      let result = Glibc.close(descriptor)
    #endif
    if result != 0 { throw systemError(path) }
  }

  // MARK: Databases

  /// A name beside `path`, at which there must be nothing, for a database until it is complete.
  static func temporaryName(for path: String) throws -> String {
    if let taken = takenName(of: path) {
      complain("\(taken) is there already, and nothing is overwritten: choose another name, or import with --into.")
      throw ExitCode.failure
    }
    return "\(path)-new-\(hexadecimal(.random(in: .min ... .max)))"
  }

  /// The names of the files of a database.
  private static func names(of path: String) -> [String] {
    [path] + (0..<QuireStorage.Limits.segmentFileCount).map { "\(path)-log\($0)" }
  }

  /// The first of the names of a database at which there is something, if only a link to nothing. A data file beside
  /// the log of another one cannot be opened.
  private static func takenName(of path: String) -> String? {
    names(of: path).first { name in
      var status = stat()
      return lstat(name, &status) == 0
    }
  }

  /// Gives a database that was closed its name, durably, unless one of its names has been taken meanwhile.
  static func publish(_ temporary: String, as path: String) throws {
    if let taken = takenName(of: path) { throw FileError("\(taken) is there, and was not when the import began.") }
    let system = RealFileSystem()
    do throws(SystemError) {
      let file = try system.open(temporary, .readWrite)
      defer { file.close() }
      try system.publish(file, temporary, as: path)
    } catch {
      throw FileError("\(path): \(String(cString: strerror(error.code)))")
    }
    removeDatabase(temporary)
  }

  /// Removes the files of a database, as far as they are there.
  static func removeDatabase(_ path: String) {
    let system = RealFileSystem()
    for name in names(of: path) {
      do throws(SystemError) { try system.unlink(name) } catch {}
    }
  }
}

/// What an error becomes that ends the tool: one line, and exit code 1.
func told(_ error: any Error) -> any Error {
  if error is ExitCode { return error }
  complain("\(error)")
  return ExitCode.failure
}
