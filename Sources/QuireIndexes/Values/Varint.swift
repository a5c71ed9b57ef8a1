// Numbers of varying length, as in LEB128.

/// Writing and reading numbers in as few bytes as they need, seven bits each, the lowest first.
enum Varint {
  /// Appends a number of at most 35 bits.
  static func append(_ number: Int, to bytes: inout [UInt8]) {
    assert(number >= 0 && number < 1 << 35, "a number is written that cannot be read")
    var rest = UInt(bitPattern: number)
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  /// Reads a number of at most 35 bits at `offset`, and moves `offset` behind it; nil if there is none.
  static func read(_ bytes: UnsafeRawBufferPointer, at offset: inout Int) -> Int? {
    var (number, shift) = (0, 0)
    while offset < bytes.count, shift < 35 {
      let byte = unsafe bytes[offset]
      offset += 1
      number |= Int(byte & 0x7f) << shift
      if byte < 0x80 { return number }
      shift += 7
    }
    return nil
  }
}
