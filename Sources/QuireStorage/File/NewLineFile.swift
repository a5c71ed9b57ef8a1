// A new file of lines, for its owner's eyes.

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// A file that was not there before, and which nobody else may read: it can have rows of a database.
package final class NewLineFile: Sendable {
  private let descriptor: Int32

  /// Makes the file.
  ///
  /// - Throws: `EEXIST` if there is something at `path`, and what else the system says.
  package init(at path: String) throws(SystemError) {
    descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw SystemError(code: errno, call: "open") }
  }

  /// Appends a line.
  package func append(_ line: String) throws(SystemError) {
    var rest = Array(line.utf8)[...] + [UInt8(ascii: "\n")]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw SystemError(code: errno, call: "write") }
      rest = rest.dropFirst(count)
    }
  }

  /// What was appended is in the file.
  package func close() throws(SystemError) {
    guard systemClose(descriptor) == 0 else { throw SystemError(code: errno, call: "close") }
  }
}
