// Numbers as bytes, in the two orders that the formats have, and the order of bytes as keys.

internal import QuireStorage

extension FixedWidthInteger {
  /// The bytes, lowest first.
  var littleEndianBytes: [UInt8] { unsafe withUnsafeBytes(of: littleEndian) { unsafe Array($0) } }

  /// The bytes, highest first: those of unsigned numbers are ordered as the numbers are.
  var bigEndianBytes: [UInt8] { unsafe withUnsafeBytes(of: bigEndian) { unsafe Array($0) } }

  /// Reads bytes that stand lowest first; nil unless there are exactly as many as the number has.
  init?(littleEndianBytes bytes: some Collection<UInt8>) {
    guard bytes.count == Self.bitWidth / 8 else { return nil }
    var number: Self = 0
    for (index, byte) in bytes.enumerated() { number |= Self(truncatingIfNeeded: byte) << Self(8 * index) }
    self = number
  }

  /// Reads bytes that stand highest first; nil unless there are exactly as many as the number has.
  init?(bigEndianBytes bytes: some Collection<UInt8>) {
    guard bytes.count == Self.bitWidth / 8 else { return nil }
    self = bytes.reduce(0) { $0 << 8 | Self(truncatingIfNeeded: $1) }
  }
}

/// Where numbers that are given once come from: the next one, as it is noted.
struct NumberSequence {
  /// Nil if what is noted is no number.
  private let noted: UInt32?

  /// Reads what is noted; nothing before the first number, which is 1.
  init(_ bytes: [UInt8]?) { noted = bytes.map { UInt32(littleEndianBytes: $0) } ?? 1 }

  /// The next number; nil when those below `limit` are used up, or what was noted is damaged.
  func next(below limit: UInt32) -> UInt32? {
    guard let noted, noted > 0, noted < limit else { return nil }
    return noted
  }

  /// What to note once `number` has been given.
  static func bytes(after number: UInt32) -> [UInt8] { (number + 1).littleEndianBytes }
}

extension UnsafeRawBufferPointer {
  /// Negative, zero or positive as the bytes stand before, with or after others in the order of keys.
  @inline(__always) func order(beside others: UnsafeRawBufferPointer) -> Int {
    guard let own = baseAddress, let other = others.baseAddress else { return count - others.count }
    return unsafe KeyOrder.compare(own, count, other, others.count)
  }
}
