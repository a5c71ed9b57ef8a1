// Bytes of a text where they lie, and the scalars in them.

/// Bytes of a text where they lie, good as long as whoever lends them says. There is one at least.
@safe struct ByteView {
  private let base: UnsafePointer<UInt8>
  let count: Int

  /// Nil for no bytes.
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard let base = bytes.baseAddress, bytes.count > 0 else { return nil }
    unsafe self.base = unsafe base.assumingMemoryBound(to: UInt8.self)
    count = bytes.count
  }

  @inline(__always) subscript(index: Int) -> UInt8 {
    assert(index >= 0 && index < count, "a byte outside of the text")
    return unsafe base[index]
  }

  /// Copies some bytes.
  @inline(__always) func copy(_ range: Range<Int>, to target: UnsafeMutablePointer<UInt8>) {
    assert(range.lowerBound >= 0 && range.upperBound <= count, "bytes outside of the text")
    unsafe target.update(from: base + range.lowerBound, count: range.count)
  }

  /// The scalar at a place, and the number of its bytes: where there is no whole scalar, U+FFFD for one byte.
  @inline(__always) func scalar(at index: Int) -> (value: UInt32, length: Int) {
    let first = UInt32(self[index])
    if first < 0x80 { return (first, 1) }
    if first >= 0xc2, first < 0xe0, index + 1 < count {
      let second = UInt32(self[index + 1])
      if second & 0xc0 == 0x80 { return ((first & 0x1f) << 6 | second & 0x3f, 2) }
      return (0xfffd, 1)
    }
    return longScalar(first, at: index)
  }

  private func longScalar(_ first: UInt32, at index: Int) -> (value: UInt32, length: Int) {
    guard first >= 0xe0, first < 0xf5, index + 2 < count else { return (0xfffd, 1) }
    let (second, third) = (UInt32(self[index + 1]), UInt32(self[index + 2]))
    guard second & 0xc0 == 0x80, third & 0xc0 == 0x80 else { return (0xfffd, 1) }
    if first < 0xf0 {
      let value = (first & 0xf) << 12 | (second & 0x3f) << 6 | third & 0x3f
      return value < 0x800 || value >> 11 == 0x1b ? (0xfffd, 1) : (value, 3)
    }
    guard index + 3 < count, self[index + 3] & 0xc0 == 0x80 else { return (0xfffd, 1) }
    let value = (first & 7) << 18 | (second & 0x3f) << 12 | (third & 0x3f) << 6 | UInt32(self[index + 3] & 0x3f)
    return value < 0x1_0000 || value > 0x10_ffff ? (0xfffd, 1) : (value, 4)
  }
}

/// Calls `body` with the bytes of a scalar in UTF-8.
@inline(__always) func forEachByte(of scalar: UInt32, _ body: (UInt8) -> Void) {
  if scalar < 0x80 {
    body(UInt8(scalar))
  } else if scalar < 0x800 {
    body(UInt8(0xc0 | scalar >> 6))
    body(UInt8(0x80 | scalar & 0x3f))
  } else if scalar < 0x1_0000 {
    body(UInt8(0xe0 | scalar >> 12))
    body(UInt8(0x80 | scalar >> 6 & 0x3f))
    body(UInt8(0x80 | scalar & 0x3f))
  } else {
    body(UInt8(0xf0 | scalar >> 18))
    body(UInt8(0x80 | scalar >> 12 & 0x3f))
    body(UInt8(0x80 | scalar >> 6 & 0x3f))
    body(UInt8(0x80 | scalar & 0x3f))
  }
}
