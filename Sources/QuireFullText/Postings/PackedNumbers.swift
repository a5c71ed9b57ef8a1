// Numbers packed with as many bits each as suits most of them.
//
//     0  u8                   bits 0–5: w, the width, 0 to 56;  bit 6: split;  bit 7: exceptions; not both
//     1  ⌈count × w / 8⌉      the lowest w bits of each number, one behind the other, the first in the lowest bits
//     …  split: for each number as many zero bits as its part above w says, and a one; zeros to the end of the byte
//     …  exceptions: varint, how many numbers have a part above w; for each of them two varints: how many numbers stand
//        between it and the one before, and its part above w, less 1
//
// The count is not stored. Split numbers are those of Golomb and Rice, and come near the entropy of geometric
// distributions; exceptions serve numbers of which few are large, and are read faster. Where w is 0 and nothing else is
// stored all numbers are zero: only up to `unstoredCount` of them, so that none is claimed that takes no space.

/// Writes packed numbers.
enum PackedNumbers {
  static let maximumWidth = 56
  static let isSplit: UInt8 = 0x40
  static let hasExceptions: UInt8 = 0x80
  /// So many zeros may take no space; as many as a block has frequencies at the most.
  static let unstoredCount = PostingForm.blockCount * PostingForm.maximumFieldCount

  /// How numbers are to be packed.
  private struct Plan {
    var width: Int
    var isSplit: Bool
    /// About how many bytes that takes.
    var byteCount: Int
    /// How many numbers have a part above the width, unless they are split.
    var exceptionCount = 0
  }

  /// Appends packed numbers.
  ///
  /// - Parameter maySplit: whether size counts more than the time of reading.
  static func append(_ numbers: UnsafeBufferPointer<UInt64>, maySplit: Bool, to bytes: ByteBuilder) {
    let plan = unsafe plan(numbers, maySplit)
    let start = bytes.count
    bytes.append(UInt8(plan.width) | (plan.isSplit ? isSplit : 0))
    unsafe appendLowBits(numbers, plan.width, to: bytes)
    if plan.isSplit {
      unsafe appendUnary(numbers, plan.width, to: bytes)
    } else if plan.exceptionCount > 0 {
      unsafe appendExceptions(numbers, plan, to: bytes)
      bytes[start] |= hasExceptions
    }
  }

  // MARK: Choosing

  private static func plan(_ numbers: UnsafeBufferPointer<UInt64>, _ maySplit: Bool) -> Plan {
    // How many numbers need so many bits, and their sum.
    unsafe withUnsafeTemporaryAllocation(of: Int32.self, capacity: 65) { counts in
      guard let counts = counts.baseAddress else { return Plan(width: 0, isSplit: false, byteCount: 0) }
      unsafe counts.initialize(repeating: 0, count: 65)
      var (sum, isSummed, bits): (UInt64, Bool, UInt64) = (0, true, 0)
      for index in 0..<numbers.count {
        let number = unsafe numbers[index]
        unsafe counts[64 &- number.leadingZeroBitCount] &+= 1
        bits |= number
        let (next, overflow) = sum.addingReportingOverflow(number)
        sum = next
        if overflow || next >> 60 != 0 { isSummed = false }
      }
      let best = unsafe planWithExceptions(numbers.count, counts, 64 - bits.leadingZeroBitCount)
      guard maySplit, isSummed, best.byteCount > 0 else { return best }
      let split = unsafe planSplit(numbers, sum)
      return split.byteCount < best.byteCount ? split : best
    }
  }

  private static func planWithExceptions(
    _ count: Int, _ counts: UnsafeMutablePointer<Int32>, _ greatest: Int
  ) -> Plan {
    unsafe withUnsafeTemporaryAllocation(of: Int32.self, capacity: 66) { memory in
      // So many numbers need more than so many bits.
      guard let above = memory.baseAddress else { return Plan(width: 0, isSplit: false, byteCount: 0) }
      unsafe above[greatest] = 0
      for width in stride(from: greatest - 1, through: 0, by: -1) {
        unsafe above[width] = above[width + 1] + counts[width + 1]
      }
      let least = count > unstoredCount ? 1 : 0
      var best = Plan(width: maximumWidth, isSplit: false, byteCount: .max)
      for width in stride(from: min(maximumWidth, max(least, greatest)), through: least, by: -1) {
        var byteCount = (count * width + 7) / 8
        let exceptionCount = width < greatest ? Int(unsafe above[width]) : 0
        if exceptionCount > 0 {
          // A byte for the place of each, and one for each seven bits.
          byteCount += 1 + exceptionCount
          for part in stride(from: width, to: greatest, by: 7) { byteCount += Int(unsafe above[part]) }
        }
        if byteCount < best.byteCount {
          best = Plan(width: width, isSplit: false, byteCount: byteCount, exceptionCount: exceptionCount)
        }
        if exceptionCount * 2 > count { break }
      }
      return best
    }
  }

  /// The best width for split numbers lies where a number has a part above it about as often as not.
  private static func planSplit(_ numbers: UnsafeBufferPointer<UInt64>, _ sum: UInt64) -> Plan {
    let mean = sum * 7 / 10 / UInt64(max(1, numbers.count))
    let width = min(maximumWidth - 1, max(0, 63 - mean.leadingZeroBitCount))
    let shift = UInt64(truncatingIfNeeded: width)
    var (lower, upper): (UInt64, UInt64) = (0, 0)
    for index in 0..<numbers.count {
      let high = unsafe numbers[index] &>> shift
      lower &+= high
      upper &+= high &>> 1
    }
    func byteCount(_ width: Int, _ high: UInt64) -> Int {
      (numbers.count * width + 7) / 8 + (numbers.count + Int(clamping: high) + 7) / 8
    }
    let (first, second) = (byteCount(width, lower), byteCount(width + 1, upper))
    return first <= second
      ? Plan(width: width, isSplit: true, byteCount: first)
      : Plan(width: width + 1, isSplit: true, byteCount: second)
  }

  // MARK: Writing

  private static func appendLowBits(_ numbers: UnsafeBufferPointer<UInt64>, _ width: Int, to bytes: ByteBuilder) {
    guard width > 0 else { return }
    let mask: UInt64 = (1 << UInt64(width)) - 1
    let byteCount = (numbers.count * width + 7) / 8
    let target = unsafe UnsafeMutableRawPointer(bytes.append(byteCount))
    var (pending, filled, offset): (UInt64, Int, Int) = (0, 0, 0)
    for index in 0..<numbers.count {
      let number = unsafe numbers[index] & mask
      pending |= number &<< UInt64(truncatingIfNeeded: filled)
      filled &+= width
      guard filled >= 64 else { continue }
      unsafe target.storeBytes(of: pending.littleEndian, toByteOffset: offset, as: UInt64.self)
      offset &+= 8
      filled &-= 64
      // What the word had no room for; the shift is below 64, for a width is.
      pending = number &>> UInt64(truncatingIfNeeded: width &- filled)
    }
    while offset < byteCount {
      unsafe target.storeBytes(of: UInt8(truncatingIfNeeded: pending), toByteOffset: offset, as: UInt8.self)
      pending >>= 8
      offset += 1
    }
  }

  private static func appendUnary(_ numbers: UnsafeBufferPointer<UInt64>, _ width: Int, to bytes: ByteBuilder) {
    let shift = UInt64(truncatingIfNeeded: width)
    var bitCount = numbers.count
    for index in 0..<numbers.count { bitCount &+= Int(truncatingIfNeeded: unsafe numbers[index] &>> shift) }
    let byteCount = (bitCount + 7) / 8
    let target = unsafe bytes.append(byteCount)
    unsafe target.update(repeating: 0, count: byteCount)
    var bit = -1
    for index in 0..<numbers.count {
      bit &+= Int(truncatingIfNeeded: unsafe numbers[index] &>> shift) &+ 1
      assert(bit < bitCount, "a bit is behind the end")
      unsafe target[bit >> 3] |= 1 &<< UInt8(truncatingIfNeeded: bit & 7)
    }
  }

  /// Appends the parts above the width.
  private static func appendExceptions(_ numbers: UnsafeBufferPointer<UInt64>, _ plan: Plan, to bytes: ByteBuilder) {
    bytes.appendVarint(UInt64(plan.exceptionCount))
    let width = UInt64(plan.width)
    var next = 0
    for index in 0..<numbers.count where unsafe numbers[index] >> width != 0 {
      bytes.appendVarint(UInt64(index - next))
      bytes.appendVarint(unsafe numbers[index] >> width - 1)
      next = index + 1
    }
  }
}
