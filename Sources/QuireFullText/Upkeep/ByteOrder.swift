// Comparing and copying the bytes of terms.

/// The order of bytes, which is that of keys.
enum ByteOrder {
  /// Negative, zero or positive as `left` is below, the same as, or above `right`.
  @inline(__always)
  static func compare(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
    let count = min(left.count, right.count)
    var index = 0
    while index + 8 <= count {
      let leftWord = unsafe left.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      let rightWord = unsafe right.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      if leftWord != rightWord { return leftWord.bigEndian < rightWord.bigEndian ? -1 : 1 }
      index += 8
    }
    while index < count {
      let (leftByte, rightByte) = unsafe (left[index], right[index])
      if leftByte != rightByte { return leftByte < rightByte ? -1 : 1 }
      index += 1
    }
    return left.count - right.count
  }

  /// Whether `left` is below `right`.
  @inline(__always)
  static func precedes(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
    unsafe compare(left, right) < 0
  }

  /// Whether the bytes are the same.
  @inline(__always)
  static func areEqual(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
    unsafe left.count == right.count && compare(left, right) == 0
  }
}

extension RawSpan {
  /// The bytes as an array.
  var copied: [UInt8] { unsafe withUnsafeBytes { unsafe [UInt8]($0) } }

  /// Puts the bytes in the place of what an array has.
  func copy(to array: inout [UInt8]) {
    array.removeAll(keepingCapacity: true)
    unsafe withUnsafeBytes { unsafe array.append(contentsOf: $0) }
  }

  /// Whether the first `count` bytes are these.
  func begins(with bytes: [UInt8], _ count: Int) -> Bool {
    count == bytes.count && begins(with: bytes)
  }

  /// Whether the first bytes are these.
  func begins(with bytes: [UInt8]) -> Bool {
    guard byteCount >= bytes.count else { return false }
    return unsafe withUnsafeBytes { own in
      unsafe bytes.withUnsafeBytes { unsafe ByteOrder.areEqual(UnsafeRawBufferPointer(rebasing: own[..<$0.count]), $0) }
    }
  }
}

/// What is made of the bytes of a term in one walk: a hash, the first eight bytes, and whether there is a zero.
struct TermKey {
  private static let lowest: UInt64 = 0x0101_0101_0101_0101
  private static let highest: UInt64 = 0x8080_8080_8080_8080

  /// The same in every process; it is part of what is stored.
  let hash: UInt64
  /// The first eight bytes as a number that has their order, with zeros behind fewer.
  let prefix: UInt64
  /// The eight bytes behind them, the first one lowest, with zeros behind fewer.
  let second: UInt64
  let hasZeros: Bool

  @inline(__always) init(_ bytes: UnsafeRawBufferPointer) {
    var hash = TextHash()
    let count = bytes.count
    var (zeros, offset, last) = (UInt64(0), 0, UInt64(0))
    while offset + 8 <= count {
      let word = unsafe UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      zeros |= (word &- Self.lowest) & ~word & Self.highest
      hash.add(word)
      offset += 8
    }
    if offset < count {
      last = unsafe Self.rest(bytes, offset)
      let word = last | ~0 << UInt64(8 * (count - offset))
      zeros |= (word &- Self.lowest) & ~word & Self.highest
    }
    // The number of bytes tells a last word that ends in zeros from a shorter one.
    hash.add(last ^ UInt64(truncatingIfNeeded: count) << 56)
    self.hash = hash.value
    hasZeros = zeros != 0
    second =
      unsafe count >= 16
      ? UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)) : count > 8 ? last : 0
    prefix = unsafe count >= 8 ? UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)) : last.byteSwapped
  }

  /// The last bytes from an offset on, fewer than eight, the first one lowest.
  @inline(__always) private static func rest(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
    let (end, count) = (bytes.count, bytes.count - offset)
    if end >= 8 {
      let word = unsafe UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: end - 8, as: UInt64.self))
      return word >> UInt64(8 * (8 - count))
    }
    if count >= 4 {
      let low = unsafe UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
      let high = unsafe UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: end - 4, as: UInt32.self))
      return UInt64(low) | UInt64(high) << UInt64(8 * (count - 4))
    }
    let middle = unsafe UInt64(bytes[offset + count / 2]) << UInt64(8 * (count / 2))
    return unsafe UInt64(bytes[offset]) | middle | UInt64(bytes[end - 1]) << UInt64(8 * (count - 1))
  }
}
