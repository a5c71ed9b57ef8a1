// Anonymous memory straight from the system: it comes zeroed, is touched only where it is used, and goes back whole.

internal import CQuirePlatform
internal import Synchronization

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// The memory of the process that the language and its library take.
package enum Heap {
  /// How many bytes are in use, and how many are kept for later, which may or may not have memory; zeros where the
  /// system does not tell.
  package static var use: (used: Int, kept: Int) {
    var (used, kept) = (0, 0)
    quire_heap_use(&used, &kept)
    return (used, kept)
  }
}

/// What the engine is given of the system's memory: all that there is, unless a test of its shortage says otherwise.
package enum EngineMemory {
  /// The process's, and no step of a schedule: what is made once, at its first use, asks here, too, and others would
  /// wait for that without the schedule's knowing.
  private static let left = Synchronization.Atomic<Int>(.max)

  /// Grants so many ranges more in this process, and none after them.
  package static func grant(_ count: Int) { left.store(count, ordering: .relaxed) }

  /// Whether another range is granted. Asked before a system call, beside which it takes no time.
  fileprivate static func isGranted() -> Bool {
    if left.load(ordering: .relaxed) == .max { return true }
    if left.subtract(1, ordering: .relaxed).newValue >= 0 { return true }
    errno = ENOMEM
    return false
  }
}

/// A range of anonymous memory.
struct VirtualMemory {
  let base: UnsafeMutableRawPointer
  let byteCount: Int

  /// Reserves zeroed memory; no page of it costs anything before it is touched.
  ///
  /// - Parameter alignment: a power of two, at least the system's page size.
  static func reserve(byteCount: Int, alignment: Int = 4096) throws(StorageError) -> VirtualMemory {
    assert(alignment >= 4096 && alignment & (alignment - 1) == 0, "an alignment of \(alignment) is no power of two")
    let slack = alignment > 4096 ? alignment : 0
    let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
    let (count, access) = (byteCount + slack, PROT_READ | PROT_WRITE)
    // Not every system says that it may be null.
    let mapped: UnsafeMutableRawPointer? = EngineMemory.isGranted() ? mmap(nil, count, access, flags, -1, 0) : nil
    guard let raw = mapped, raw != MAP_FAILED else {
      throw StorageError(
        .limitReached, "The system gave no memory (\(byteCount) bytes). Use a smaller cacheSize.",
        systemError: SystemError(code: errno, call: "mmap"))
    }
    guard slack > 0 else { return VirtualMemory(base: raw, byteCount: byteCount) }
    // Give back what lies in front of the aligned part and behind it.
    let address = UInt(bitPattern: raw)
    let aligned = (address + UInt(alignment) - 1) & ~(UInt(alignment) - 1)
    let front = Int(aligned - address)
    if front > 0 { munmap(raw, front) }
    if slack > front { munmap(raw + front + byteCount, slack - front) }
    return VirtualMemory(base: raw + front, byteCount: byteCount)
  }

  /// Asks the system to back the range with huge pages where it can.
  func adviseHugePages() {
    #if os(Linux) || os(Android)
      _ = madvise(base, byteCount, MADV_HUGEPAGE)
    #endif
  }

  /// Asks the system to leave the range in pages of the usual size.
  func refuseHugePages() {
    #if os(Linux) || os(Android)
      _ = madvise(base, byteCount, MADV_NOHUGEPAGE)
    #endif
  }

  /// Asks the system for memory for the whole of a range that nobody has written to yet.
  func touch() {
    for offset in stride(from: 0, to: byteCount, by: 4096) {
      base.storeBytes(of: 0, toByteOffset: offset, as: UInt8.self)
    }
  }

  /// Gives back the memory of the whole system pages in a range, whose bytes are zero from then on; the addresses stay.
  /// False if the system refused.
  func discard(_ range: Range<Int>) -> Bool {
    assert(range.lowerBound >= 0 && range.upperBound <= byteCount, "memory of somebody else is discarded")
    // Where pages have 16 KiB, as on phones, the system refuses an address that is at the beginning of none.
    let start = Self.endOfSystemPage(range.lowerBound)
    let end = range.upperBound & ~(Self.systemPageByteCount - 1)
    guard end > start else { return true }
    // Mapped over rather than advised: what advice does to the bytes differs from system to system.
    let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED
    let result = mmap(base + start, end - start, PROT_READ | PROT_WRITE, flags, -1, 0)
    return result != MAP_FAILED
  }

  /// A power of two.
  private static let systemPageByteCount = Int(getpagesize())

  /// The place itself if a page of the system begins there, else where the next one begins.
  static func endOfSystemPage(_ place: Int) -> Int { (place + systemPageByteCount - 1) & ~(systemPageByteCount - 1) }

  /// Gives the memory of a part of a range back to the system and keeps its addresses: it reads as zeros, or as before,
  /// until it is written to. False if that cannot be: a part that is not made of whole pages of the system.
  static func discard(_ base: UnsafeMutableRawPointer, byteCount: Int) -> Bool {
    assert(byteCount >= 0, "a part has a negative length")
    // The system would round the length up, to what others may own.
    guard byteCount % systemPageByteCount == 0 else { return false }
    #if os(Linux) || os(Android)
      return madvise(base, byteCount, MADV_DONTNEED) == 0
    #else
      return madvise(base, byteCount, MADV_FREE) == 0
    #endif
  }

  /// Asks the heap to give back what it keeps between blocks in use: after something huge, not in the course of things.
  static func trimHeap() { quire_trim_heap() }

  /// Gives the range back. Nobody may hold an address inside it.
  func release() { munmap(base, byteCount) }
}
