// Reading packed numbers, all or some.

/// Where packed numbers lie in some bytes; see `PackedNumbers`. The bytes have been checked as far as reading needs,
/// and whoever reads hands in the same.
struct PackedLayout {
  /// How many numbers there are.
  let count: Int
  let width: Int
  /// Where the lowest bits of the numbers are.
  let low: Range<Int>
  /// What stands behind them: the parts above the width.
  let high: Range<Int>
  let isSplit: Bool
  let exceptionCount: Int

  /// The next `count` numbers of a reader, which goes past them; nil if they break the format.
  init?(_ reader: inout ByteReader, count: Int) {
    guard count >= 0, let head = reader.byte() else { return nil }
    let (isSplit, hasExceptions) = (head & PackedNumbers.isSplit != 0, head & PackedNumbers.hasExceptions != 0)
    let width = Int(head & 0x3f)
    guard width <= PackedNumbers.maximumWidth, !(isSplit && hasExceptions) else { return nil }
    // What takes no space must not be claimed without bound.
    guard width > 0 || isSplit || count <= PackedNumbers.unstoredCount else { return nil }
    let (bitCount, overflow) = count.multipliedReportingOverflow(by: width)
    let start = reader.offset
    guard !overflow, reader.skip(bitCount / 8 + (bitCount % 8 == 0 ? 0 : 1)) else { return nil }
    let end = reader.offset
    var exceptionCount = 0
    if isSplit {
      guard reader.skipOnes(count) else { return nil }
    } else if hasExceptions {
      guard let found = Self.skipExceptions(&reader, count, width) else { return nil }
      exceptionCount = found
    }
    (self.count, self.width, self.isSplit, self.exceptionCount) = (count, width, isSplit, exceptionCount)
    (low, high) = (start..<end, end..<reader.offset)
  }

  /// How many exceptions there are, which the reader goes past; nil if one of them is of no number.
  private static func skipExceptions(_ reader: inout ByteReader, _ count: Int, _ width: Int) -> Int? {
    guard let found = reader.varint(), found <= UInt64(min(count, reader.remainingCount)) else { return nil }
    let limit = UInt64.max >> UInt64(width)
    var next = 0
    for _ in 0..<Int(found) {
      guard let skipped = reader.varint(), skipped < UInt64(count - next) else { return nil }
      guard let above = reader.varint(), above < limit else { return nil }
      next += Int(skipped) + 1
    }
    return Int(found)
  }

  /// Reads the numbers of `range`, in as many places from `target` on; false if the bytes are not the same.
  func read(
    _ range: Range<Int>, of bytes: UnsafeRawBufferPointer, into target: UnsafeMutablePointer<UInt64>
  ) -> Bool {
    guard var cursor = unsafe PackedCursor(self, bytes) else { return false }
    return unsafe cursor.read(range, into: target)
  }
}

extension UnsafeRawBufferPointer {
  /// The eight bytes from `offset` on as a number, the first one lowest; those that are not there are zero.
  @inline(__always)
  func word(at offset: Int) -> UInt64 {
    if offset <= count - 8 {
      return unsafe UInt64(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
    var word: UInt64 = 0
    for index in stride(from: count - 1, through: offset, by: -1) { word = word << 8 | UInt64(unsafe self[index]) }
    return word
  }
}
