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
  }

  /// Appends packed numbers.
  ///
  /// - Parameter maySplit: whether size counts more than the time of reading.
  static func append(_ list: [UInt64], maySplit: Bool, to bytes: inout [UInt8]) {
    let numbers = list.span
    let plan = plan(numbers, maySplit)
    let (width, start) = (plan.width, bytes.count)
    bytes.append(UInt8(width) | (plan.isSplit ? isSplit : 0))
    appendLowBits(numbers, width, to: &bytes)
    if plan.isSplit {
      appendUnary(numbers, width, to: &bytes)
    } else if appendExceptions(numbers, width, to: &bytes) {
      bytes[start] |= hasExceptions
    }
  }

  // MARK: Choosing

  private static func plan(_ numbers: Span<UInt64>, _ maySplit: Bool) -> Plan {
    // How many numbers need so many bits.
    var best = unsafe withUnsafeTemporaryAllocation(of: Int32.self, capacity: 65) { counts in
      unsafe counts.initialize(repeating: 0)
      var greatest = 0
      for index in numbers.indices {
        let width = 64 - numbers[index].leadingZeroBitCount
        unsafe counts[width] += 1
        greatest = max(greatest, width)
      }
      return unsafe planWithExceptions(numbers.count, counts, greatest)
    }
    guard maySplit, best.byteCount > 0, let split = planSplit(numbers) else { return best }
    if split.byteCount < best.byteCount { best = split }
    return best
  }

  private static func planWithExceptions(
    _ count: Int, _ counts: UnsafeMutableBufferPointer<Int32>, _ greatest: Int
  ) -> Plan {
    // So many numbers need more than so many bits.
    var above = [Int](repeating: 0, count: 65)
    for width in stride(from: greatest - 1, through: 0, by: -1) {
      above[width] = above[width + 1] + Int(unsafe counts[width + 1])
    }
    let least = count > unstoredCount ? 1 : 0
    var best = Plan(width: maximumWidth, isSplit: false, byteCount: .max)
    for width in stride(from: min(maximumWidth, max(least, greatest)), through: least, by: -1) {
      var byteCount = (count * width + 7) / 8
      if above[width] > 0 {
        // A byte for the place of each, and one for each seven bits.
        byteCount += 1 + above[width]
        for part in stride(from: width, to: greatest, by: 7) { byteCount += above[part] }
      }
      if byteCount < best.byteCount { best = Plan(width: width, isSplit: false, byteCount: byteCount) }
      if above[width] * 2 > count { break }
    }
    return best
  }

  /// The best width for split numbers lies where a number has a part above it about as often as not.
  private static func planSplit(_ numbers: Span<UInt64>) -> Plan? {
    var sum: UInt64 = 0
    for index in numbers.indices {
      let (next, overflow) = sum.addingReportingOverflow(numbers[index])
      if overflow { return nil }
      sum = next
    }
    let mean = sum * 7 / 10 / UInt64(max(1, numbers.count))
    let width = min(maximumWidth - 1, max(0, 63 - mean.leadingZeroBitCount))
    var (lower, upper): (UInt64, UInt64) = (0, 0)
    for index in numbers.indices {
      lower += numbers[index] >> UInt64(width)
      upper += numbers[index] >> UInt64(width + 1)
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

  private static func appendLowBits(_ numbers: Span<UInt64>, _ width: Int, to bytes: inout [UInt8]) {
    guard width > 0 else { return }
    let mask: UInt64 = (1 << UInt64(width)) - 1
    unsafe bytes.append(zeros: (numbers.count * width + 7) / 8) { target in
      var (pending, filled, offset): (UInt64, Int, Int) = (0, 0, 0)
      for index in numbers.indices {
        pending |= (numbers[index] & mask) << UInt64(filled)
        filled += width
        while filled >= 8 {
          unsafe target[offset] = UInt8(truncatingIfNeeded: pending)
          (pending, filled, offset) = (pending >> 8, filled - 8, offset + 1)
        }
      }
      if filled > 0 { unsafe target[offset] = UInt8(truncatingIfNeeded: pending) }
    }
  }

  private static func appendUnary(_ numbers: Span<UInt64>, _ width: Int, to bytes: inout [UInt8]) {
    var bitCount = 0
    for index in numbers.indices { bitCount += Int(numbers[index] >> UInt64(width)) + 1 }
    unsafe bytes.append(zeros: (bitCount + 7) / 8) { target in
      var bit = -1
      for index in numbers.indices {
        bit += Int(numbers[index] >> UInt64(width)) + 1
        unsafe target[bit >> 3] |= 1 << UInt8(bit & 7)
      }
    }
  }

  /// Appends the parts above `width`; false if there are none.
  private static func appendExceptions(_ numbers: Span<UInt64>, _ width: Int, to bytes: inout [UInt8]) -> Bool {
    var count = 0
    for index in numbers.indices where numbers[index] >> UInt64(width) != 0 { count += 1 }
    guard count > 0 else { return false }
    bytes.appendVarint(UInt64(count))
    var next = 0
    for index in numbers.indices where numbers[index] >> UInt64(width) != 0 {
      bytes.appendVarint(UInt64(index - next))
      bytes.appendVarint(numbers[index] >> UInt64(width) - 1)
      next = index + 1
    }
    return true
  }
}
