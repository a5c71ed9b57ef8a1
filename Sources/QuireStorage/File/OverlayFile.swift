// A file that is never written, and what would have been written behind its pages.

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// A file that is open for reading, with memory in the place of everything from `start` on.
///
/// What a read-only engine replays from the log must go somewhere when it does not fit into the cache, and long values
/// go to the file in any case. Nothing of that is put where the newest meta page's pages are: behind a checkpoint that
/// nobody has proven, only the end of the file grows. So one boundary tells the two apart.
final class OverlayFile: File {
  private let base: any File
  private let start: Int
  private let bytes = MemoryBytes()

  /// Reads `base` below `start`; the overlay closes it.
  init(_ base: any File, from start: Int) {
    self.base = base
    self.start = start
  }

  var path: String { base.path }

  func readSome(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemError) -> Int {
    if offset >= start { return bytes.read(into: buffer, at: offset - start) }
    let count = min(buffer.count, start - offset)
    return try base.readSome(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]), at: offset)
  }

  func writeSome(_ buffer: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) -> Int {
    guard offset >= start else { throw SystemError(code: EROFS, call: "pwrite") }
    try bytes.write(buffer, at: offset - start)
    return buffer.count
  }

  /// Nothing to do: what was written is as lasting as it can be.
  func synchronize() throws(SystemError) {}

  func resize(to byteCount: Int) throws(SystemError) {
    guard byteCount >= start else { throw SystemError(code: EROFS, call: "ftruncate") }
    try bytes.resize(to: byteCount - start)
  }

  func allocate(from offset: Int, count: Int) throws(SystemError) -> Bool {
    let end = offset + count - start
    if end > bytes.byteCount { try bytes.resize(to: end) }
    return true
  }

  func status() throws(SystemError) -> FileStatus {
    let status = try base.status()
    return FileStatus(
      identity: status.identity, byteCount: start + bytes.byteCount,
      allocatedByteCount: status.allocatedByteCount + bytes.byteCount, linkCount: status.linkCount,
      isRegularFile: status.isRegularFile)
  }

  func lock(_ kind: LockKind) throws(SystemError) { try base.lock(kind) }

  func lockHolder() -> Int32? { base.lockHolder() }

  func close() { base.close() }
}
