// Reading packed numbers, all or some.

/// Where packed numbers lie in some bytes; see `PackedNumbers`. The bytes have been checked as far as reading needs,
/// and whoever reads hands in the same.
struct PackedLayout {
  /// How many numbers there are.
  let count: Int
  let width: Int
  /// Where the lowest bits of the numbers are.
  private let low: Range<Int>
  /// What stands behind them: the parts above the width.
  let high: Range<Int>
  let isSplit: Bool
  private let exceptionCount: Int

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
    assert(range.lowerBound >= 0 && range.upperBound <= count, "numbers are read that are not there")
    guard high.upperBound <= bytes.count else { return false }
    if isSplit {
      return unsafe readSplit(
        range, UnsafeRawBufferPointer(rebasing: bytes[low]), UnsafeRawBufferPointer(rebasing: bytes[high]), into: target
      )
    }
    unsafe readLowBits(range, UnsafeRawBufferPointer(rebasing: bytes[low]), into: target)
    guard !high.isEmpty else { return true }
    return unsafe addExceptions(range, UnsafeRawBufferPointer(rebasing: bytes[high]), into: target)
  }

  private func readLowBits(
    _ range: Range<Int>, _ low: UnsafeRawBufferPointer, into target: UnsafeMutablePointer<UInt64>
  ) {
    let count = range.count
    guard width > 0, let base = low.baseAddress else { return unsafe target.update(repeating: 0, count: count) }
    let mask: UInt64 = (1 << UInt64(width)) - 1
    // The bits of a number lie in the eight bytes from its first one on, as far as those are there.
    let lastOffset = low.count - 8
    var (index, bit) = (0, range.lowerBound * width)
    while index < count, bit >> 3 <= lastOffset {
      let word = unsafe base.loadUnaligned(fromByteOffset: bit >> 3, as: UInt64.self)
      unsafe target[index] = (word &>> UInt64(truncatingIfNeeded: bit & 7)) & mask
      (index, bit) = (index &+ 1, bit &+ width)
    }
    while index < count {
      let word = unsafe low.word(at: bit >> 3)
      unsafe target[index] = (word &>> UInt64(truncatingIfNeeded: bit & 7)) & mask
      (index, bit) = (index + 1, bit + width)
    }
  }

  /// Reads split numbers: of each the lowest bits, and how many zeros stand in front of its one.
  private func readSplit(
    _ range: Range<Int>, _ low: UnsafeRawBufferPointer, _ unary: UnsafeRawBufferPointer,
    into target: UnsafeMutablePointer<UInt64>
  ) -> Bool {
    // The first number begins behind the one of the number before it.
    var (ones, offset) = (0, 0)
    var current = unsafe unary.word(at: 0)
    while offset < unary.count, ones + current.nonzeroBitCount < range.lowerBound {
      ones += current.nonzeroBitCount
      offset += 8
      current = unsafe unary.word(at: offset)
    }
    var lastOne = offset * 8 - 1
    while ones < range.lowerBound, current != 0 {
      lastOne = offset * 8 + current.trailingZeroBitCount
      current &= current - 1
      ones += 1
    }
    let (count, width) = (range.count, self.width)
    let mask: UInt64 = (1 << UInt64(width)) - 1
    var bit = range.lowerBound * width
    for index in 0..<count {
      while current == 0 {
        offset += 8
        guard offset < unary.count else { return false }
        current = unsafe unary.word(at: offset)
      }
      let one = offset &* 8 &+ current.trailingZeroBitCount
      current &= current &- 1
      var number = UInt64(truncatingIfNeeded: one &- lastOne &- 1)
      lastOne = one
      if width > 0 {
        let word = unsafe low.word(at: bit >> 3) &>> UInt64(truncatingIfNeeded: bit & 7)
        number = number << UInt64(truncatingIfNeeded: width) | word & mask
        bit &+= width
      }
      unsafe target[index] = number
    }
    return true
  }

  private func addExceptions(
    _ range: Range<Int>, _ bytes: UnsafeRawBufferPointer, into target: UnsafeMutablePointer<UInt64>
  ) -> Bool {
    var reader = unsafe ByteReader(bytes)
    guard reader.varint() != nil else { return false }
    var next = 0
    for _ in 0..<exceptionCount {
      // These are other bytes than those that were checked if something is amiss.
      guard let skipped = reader.varint(), let above = reader.varint(), skipped < UInt64(count) else { return false }
      let index = next &+ Int(skipped)
      if index >= range.upperBound { return true }
      if index >= range.lowerBound {
        unsafe target[index - range.lowerBound] |= (above &+ 1) << UInt64(width)
      }
      next = index + 1
    }
    return true
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
