// Reading and writing the numbers that postings are made of.

/// Reads numbers and stretches of bytes one behind the other. What ends too early reads as nil; nothing traps.
///
/// Good as long as the bytes are.
@safe struct ByteReader {
  private let bytes: UnsafeRawBufferPointer
  /// Where the next byte is.
  private(set) var offset: Int

  init(_ bytes: UnsafeRawBufferPointer, at offset: Int = 0) {
    assert(offset >= 0 && offset <= bytes.count, "a reader begins outside of its bytes")
    unsafe self.bytes = unsafe bytes
    self.offset = offset
  }

  var remainingCount: Int { unsafe bytes.count - offset }
  var isAtEnd: Bool { remainingCount == 0 }

  @inline(__always) mutating func byte() -> UInt8? {
    guard remainingCount > 0 else { return nil }
    defer { offset += 1 }
    return unsafe bytes[offset]
  }

  /// A number of at most 64 bits: seven in each byte, the lowest first, as in LEB128.
  @inline(__always) mutating func varint() -> UInt64? {
    guard remainingCount > 0 else { return nil }
    let first = unsafe bytes[offset]
    offset += 1
    return first < 0x80 ? UInt64(first) : varint(after: first)
  }

  private mutating func varint(after first: UInt8) -> UInt64? {
    var (number, shift) = (UInt64(first & 0x7f), UInt64(7))
    while remainingCount > 0, shift < 64 {
      let byte = unsafe bytes[offset]
      offset += 1
      // The tenth byte has room for one bit.
      if shift == 63, byte > 1 { return nil }
      number |= UInt64(byte & 0x7f) << shift
      if byte < 0x80 { return number }
      shift += 7
    }
    return nil
  }

  /// A number that fits 32 bits.
  mutating func varint32() -> UInt32? { varint().flatMap { UInt32(exactly: $0) } }

  /// Goes past `count` bytes; false if there are not so many.
  mutating func skip(_ count: Int) -> Bool {
    guard count >= 0, count <= remainingCount else { return false }
    offset += count
    return true
  }

  /// Goes past `count` bytes and returns them.
  mutating func take(_ count: Int) -> UnsafeRawBufferPointer? {
    let start = offset
    guard skip(count) else { return nil }
    return unsafe UnsafeRawBufferPointer(rebasing: bytes[start..<offset])
  }

  /// Goes past so many bits that `count` of them are ones, and to the end of the byte; false if there are not so many.
  mutating func skipOnes(_ count: Int) -> Bool {
    var rest = count
    while rest >= 64, remainingCount >= 8 {
      let word = unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      rest -= word.nonzeroBitCount
      offset += 8
    }
    // A word has 64 ones at the most: none was one too many.
    assert(rest >= 0, "more ones were passed than wanted")
    while rest > 0 {
      guard let byte = byte() else { return false }
      rest -= byte.nonzeroBitCount
    }
    return rest == 0
  }
}

extension [UInt8] {
  /// Appends a number as `ByteReader.varint` reads it.
  mutating func appendVarint(_ number: UInt64) {
    var rest = number
    while rest >= 0x80 {
      append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    append(UInt8(rest))
  }

  /// Appends the eight bytes of a number, the highest first.
  mutating func appendBigEndian(_ number: UInt64) {
    for shift in stride(from: UInt64(56), through: 0, by: -8) {
      append(UInt8(truncatingIfNeeded: number >> shift))
    }
  }

  mutating func appendBigEndian(_ number: UInt32) {
    for shift in stride(from: UInt32(24), through: 0, by: -8) {
      append(UInt8(truncatingIfNeeded: number >> shift))
    }
  }
}
