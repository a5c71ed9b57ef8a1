// The error numbers that the simulated disk gives, taken from the C library in one place so that neither the disk nor
// its tests have to ask which C library it is.

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// The `errno` values of the simulated disk, by what they mean.
package enum SystemCode {
  /// There is nothing at the path.
  package static let noEntry: Int32 = ENOENT
  /// There is something at the path.
  package static let exists: Int32 = EEXIST
  /// A signal arrived; the call is to be repeated.
  package static let interrupted: Int32 = EINTR
  /// The medium failed.
  package static let inputOutput: Int32 = EIO
  /// The file is closed, or was not opened for this.
  package static let badFile: Int32 = EBADF
  /// Another open file holds the lock.
  package static let wouldBlock: Int32 = EWOULDBLOCK
  /// An argument makes no sense.
  package static let invalid: Int32 = EINVAL
  /// The disk is full.
  package static let noSpace: Int32 = ENOSPC
  /// The user's quota is used up.
  package static let quotaExceeded: Int32 = EDQUOT
  /// The file would be longer than is allowed.
  package static let fileTooLarge: Int32 = EFBIG
  /// The process has too many files open.
  package static let tooManyFiles: Int32 = EMFILE
  /// The system has too many files open.
  package static let systemTableFull: Int32 = ENFILE
  /// The file system is mounted for reading only.
  package static let readOnly: Int32 = EROFS
  /// There is no room for another lock.
  package static let noLocks: Int32 = ENOLCK
  /// The file may not be opened, for example because the device is locked.
  package static let denied: Int32 = EACCES
}
