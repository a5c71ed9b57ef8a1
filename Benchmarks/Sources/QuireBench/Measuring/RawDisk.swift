// The disk itself as the measure of a commit: one small write and one flush, and nothing else.

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// A file of zeros that was written once and is now overwritten, 256 bytes and one flush at a time.
final class RawDisk {
  private static let fileByteCount = 16 << 20
  private static let writeByteCount = 256

  private let descriptor: CInt
  private var offset = 0
  private let bytes = [UInt8](repeating: 0x51, count: RawDisk.writeByteCount)

  /// Fills a new file in `directory` with zeros, so that no measured write changes its length or its extents.
  init(directory: String) throws {
    let path = "\(directory)/raw"
    descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw StoreFailure(description: "\(path): errno \(errno)") }
    let zeros = [UInt8](repeating: 0, count: 1 << 20)
    for start in stride(from: 0, to: Self.fileByteCount, by: zeros.count) {
      guard pwrite(descriptor, zeros, zeros.count, off_t(start)) == zeros.count else {
        throw StoreFailure(description: "\(path): errno \(errno)")
      }
    }
    guard fsync(descriptor) == 0 else { throw StoreFailure(description: "\(path): errno \(errno)") }
  }

  deinit { _ = close(descriptor) }

  /// Writes 256 bytes and waits until they are durable.
  func commit() throws {
    let written = pwrite(descriptor, bytes, bytes.count, off_t(offset))
    #if canImport(Darwin)
      let flushed = fcntl(descriptor, F_FULLFSYNC)
    #else
      let flushed = fdatasync(descriptor)
    #endif
    guard written == bytes.count, flushed == 0 else { throw StoreFailure(description: "raw disk: errno \(errno)") }
    offset = (offset + bytes.count) % Self.fileByteCount
  }
}
