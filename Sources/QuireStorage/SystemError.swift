// A failed system call, as the errors of every layer carry it. It stands on the ground, beside StorageError, because
// StorageError holds one.

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// The number and name of a failed system call.
public struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The `errno` value.
  public let code: Int32
  /// The name of the call that failed, such as `pwrite`.
  public let call: String

  /// Wraps an `errno` value.
  public init(code: Int32, call: String) {
    self.code = code
    self.call = call
  }

  /// Whether a sync was asked for and has failed.
  var isFailedSync: Bool { call.hasPrefix("fdatasync") || call.hasPrefix("fsync") }

  public var description: String { "\(call) failed with \(systemErrorName(code))" }
}

/// The symbolic name of an `errno` value, or its number.
package func systemErrorName(_ code: Int32) -> String {
  let names: [Int32: String] = [
    EPERM: "EPERM", ENOENT: "ENOENT", EINTR: "EINTR", EIO: "EIO", EBADF: "EBADF", EAGAIN: "EAGAIN", ENOMEM: "ENOMEM",
    EACCES: "EACCES", EEXIST: "EEXIST", EXDEV: "EXDEV", ENOTDIR: "ENOTDIR", EISDIR: "EISDIR", EINVAL: "EINVAL",
    ENFILE: "ENFILE", EMFILE: "EMFILE", EFBIG: "EFBIG", ENOSPC: "ENOSPC", EROFS: "EROFS", EDQUOT: "EDQUOT",
    ENOLCK: "ENOLCK", ENAMETOOLONG: "ENAMETOOLONG", ELOOP: "ELOOP", ENXIO: "ENXIO",
  ]
  return names[code] ?? "errno \(code)"
}
