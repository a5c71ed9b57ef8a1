// The machine's memory, made to be there before a measurement begins.

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// Memory that the machine really has.
///
/// A virtual machine may give free memory back to its host within seconds ("free page reporting"), and then pays for
/// the next touch of it: on the machine that the published tables come from 2,500 µs per MiB, where clearing one takes
/// 50. Without this, rows that need fresh memory would measure mostly the host, and who came first.
enum MachineMemory {
  /// Makes the system find so many bytes, and gives them all back to it. What is taken next is
  /// what was given back last, for every store alike; a second or three later the host begins to take it away again.
  static func provide(byteCount: Int) throws {
    guard byteCount > 0 else { return }
    let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
    guard let start = mmap(nil, byteCount, PROT_READ | PROT_WRITE, flags, -1, 0), start != MAP_FAILED else {
      throw StoreFailure(description: "no memory: errno \(errno)")
    }
    defer { munmap(start, byteCount) }
    #if os(Linux)
      // Back in large pieces, too, so that a store that asks for large pages finds some.
      _ = madvise(start, byteCount, MADV_HUGEPAGE)
    #endif
    for offset in stride(from: 0, to: byteCount, by: 4096) {
      start.storeBytes(of: 1, toByteOffset: offset, as: UInt8.self)
    }
  }
}
