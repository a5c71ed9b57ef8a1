// Memory for the sort bytes of values that are read one after the other.

/// The sort bytes of a value, put together in memory that is there for the next value as well.
///
/// One thread at a time. Invariant: `count` bytes from `base` on are initialized, and there is room for `capacity`.
@safe final class SortBuffer {
  @exclusivity(unchecked) private var base: UnsafeMutableRawPointer
  @exclusivity(unchecked) private var capacity = 64
  @exclusivity(unchecked) private var count = 0

  init() { unsafe base = .allocate(byteCount: 64, alignment: 8) }

  deinit { unsafe base.deallocate() }

  /// The bytes, good until the next change.
  @inline(__always) var bytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(start: base, count: count) }

  @inline(__always) func removeAll() { unsafe count = 0 }

  @inline(__always) private func reserve(_ more: Int) {
    if unsafe capacity &- count < more { grow(more) }
  }

  @inline(never) private func grow(_ more: Int) {
    let wanted = unsafe max(2 * capacity, count + more)
    let larger = UnsafeMutableRawPointer.allocate(byteCount: wanted, alignment: 8)
    unsafe larger.copyMemory(from: base, byteCount: count)
    unsafe base.deallocate()
    unsafe (base, capacity) = (larger, wanted)
  }

  /// Appends a byte.
  @inline(__always) func append(_ byte: UInt8) {
    reserve(1)
    unsafe base.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
    unsafe count &+= 1
  }

  /// Appends the lowest `byteCount` bytes of a number, the most significant one first.
  @inline(__always) func append(_ word: UInt64, byteCount: Int) {
    reserve(8)
    let shifted = word &<< UInt64(64 &- 8 &* byteCount)
    unsafe base.storeBytes(of: shifted.bigEndian, toByteOffset: count, as: UInt64.self)
    unsafe count &+= byteCount
  }

  /// Appends bytes as they are.
  @inline(__always) func append(_ source: UnsafeRawBufferPointer) {
    reserve(source.count)
    if let start = source.baseAddress, source.count > 0 {
      unsafe (base + count).copyMemory(from: start, byteCount: source.count)
    }
    unsafe count &+= source.count
  }

  /// Appends bytes as `appendDelimited` does: a zero byte gets a companion, and two zero bytes end them.
  func append(delimited source: UnsafeRawBufferPointer) {
    if unsafe !hasZero(source) {
      unsafe append(source)
    } else {
      for index in source.indices {
        let byte = unsafe source[index]
        append(byte)
        if byte == 0 { append(0xff) }
      }
    }
    append(0, byteCount: 2)
  }

  private func hasZero(_ source: UnsafeRawBufferPointer) -> Bool {
    var offset = 0
    while offset &+ 8 <= source.count {
      let word = unsafe source.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      if (word &- 0x0101_0101_0101_0101) & ~word & 0x8080_8080_8080_8080 != 0 { return true }
      offset &+= 8
    }
    while offset < source.count {
      if unsafe source[offset] == 0 { return true }
      offset &+= 1
    }
    return false
  }
}
