// Memory between pages that nobody may touch: one byte too far ends the process.

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// Memory that is lent in any length, up against its beginning or its end.
final class GuardedMemory {
  private let whole: UnsafeMutableRawPointer
  private let pageByteCount: Int
  private let capacity: Int

  /// Memory for at least `capacity` bytes.
  init(capacity: Int) {
    pageByteCount = Int(sysconf(Int32(_SC_PAGESIZE)))
    self.capacity = (capacity + pageByteCount - 1) / pageByteCount * pageByteCount
    let flags = MAP_PRIVATE | MAP_ANON
    let count = self.capacity + 2 * pageByteCount
    guard let memory = mmap(nil, count, PROT_NONE, flags, -1, 0), memory != MAP_FAILED else {
      preconditionFailure("no memory of \(count) bytes")
    }
    whole = memory
    guard mprotect(whole + pageByteCount, self.capacity, PROT_READ | PROT_WRITE) == 0 else {
      preconditionFailure("no memory of \(capacity) bytes can be written")
    }
  }

  deinit { _ = munmap(whole, capacity + 2 * pageByteCount) }

  /// The last `byteCount` bytes, or the first.
  func lend(_ byteCount: Int, atEnd: Bool) -> UnsafeMutableRawBufferPointer {
    precondition(byteCount <= capacity, "\(byteCount) bytes are more than \(capacity)")
    let start = whole + pageByteCount + (atEnd ? capacity - byteCount : 0)
    return UnsafeMutableRawBufferPointer(start: start, count: byteCount)
  }
}
