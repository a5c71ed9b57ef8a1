// Reading packed numbers from the first to the last, with what is not wanted left out.

/// Reads stretches of packed numbers, each behind the one before it: what lies between them is passed in steps of a
/// word.
///
/// Good as long as the bytes are. Nothing traps, whatever they are.
///
/// Invariants:
/// 1. Of split numbers `passed` ones stand in front of the bits of `word`, and the last of them is at `lastOne`.
/// 2. No exception that is still to be read is of a number below `exceptionIndex`.
@safe struct PackedCursor {
  private let layout: PackedLayout
  private let low: UnsafeRawBufferPointer
  private let high: UnsafeRawBufferPointer
  /// Of split numbers: how many were passed.
  private var passed = 0
  /// The bits of the word at `offset` that are still to be read.
  private var word: UInt64 = 0
  private var offset = 0
  private var lastOne = -1
  /// The number that the next exception is of; none is left where it is the greatest one.
  private var exceptionIndex = Int.max
  private var exceptionAbove: UInt64 = 0
  private var exceptionCount = 0
  private var exceptions: ByteReader

  /// Nil if the bytes are not those of the layout.
  init?(_ layout: PackedLayout, _ bytes: UnsafeRawBufferPointer) {
    guard layout.high.upperBound <= bytes.count else { return nil }
    self.layout = layout
    unsafe low = UnsafeRawBufferPointer(rebasing: bytes[layout.low])
    unsafe high = UnsafeRawBufferPointer(rebasing: bytes[layout.high])
    exceptions = unsafe ByteReader(high)
    if layout.isSplit {
      word = unsafe high.word(at: 0)
    } else if layout.exceptionCount > 0 {
      exceptionCount = layout.exceptionCount
      guard exceptions.varint() != nil, readException(after: 0) else { return nil }
    }
  }

  /// Reads the numbers of `range`, none of which was passed, in as many places from `target` on.
  ///
  /// - Returns: false if the bytes are not those of the layout.
  @inline(__always)
  mutating func read(_ range: Range<Int>, into target: UnsafeMutablePointer<UInt64>) -> Bool {
    assert(range.lowerBound >= 0 && range.upperBound <= layout.count, "numbers are read that are not there")
    if layout.isSplit { return unsafe readSplit(range, into: target) }
    unsafe readLowBits(range, into: target)
    return unsafe exceptionIndex >= range.upperBound || addExceptions(range, into: target)
  }

  // MARK: Low bits

  /// So many numbers are worth a division.
  private static let manyCount = 16

  private func readLowBits(_ range: Range<Int>, into target: UnsafeMutablePointer<UInt64>) {
    let (count, width) = (range.count, layout.width)
    guard width > 0, let base = unsafe low.baseAddress else {
      return unsafe target.update(repeating: 0, count: count)
    }
    let mask: UInt64 = (1 << UInt64(width)) - 1
    // The bits of a number lie in the eight bytes from its first one on, as far as those are there.
    let lastOffset = unsafe low.count - 8
    var (index, bit) = (0, range.lowerBound * width)
    if count >= Self.manyCount {
      // So many numbers lie in 57 bits, and these in eight bytes, wherever they begin.
      let wordCount = 57 / width
      while index &+ wordCount <= count, bit >> 3 <= lastOffset {
        var word = unsafe UInt64(littleEndian: base.loadUnaligned(fromByteOffset: bit >> 3, as: UInt64.self))
        word &>>= UInt64(truncatingIfNeeded: bit & 7)
        let end = index &+ wordCount
        while index < end {
          unsafe target[index] = word & mask
          (word, index) = (word &>> UInt64(truncatingIfNeeded: width), index &+ 1)
        }
        bit &+= wordCount &* width
      }
    }
    while index < count, bit >> 3 <= lastOffset {
      let word = unsafe UInt64(littleEndian: base.loadUnaligned(fromByteOffset: bit >> 3, as: UInt64.self))
      unsafe target[index] = (word &>> UInt64(truncatingIfNeeded: bit & 7)) & mask
      (index, bit) = (index &+ 1, bit &+ width)
    }
    while index < count {
      let word = unsafe low.word(at: bit >> 3)
      unsafe target[index] = (word &>> UInt64(truncatingIfNeeded: bit & 7)) & mask
      (index, bit) = (index + 1, bit + width)
    }
  }

  // MARK: Split numbers

  /// Goes past all numbers in front of one; false if there are not so many.
  private mutating func skip(to index: Int) -> Bool {
    assert(index >= passed, "numbers are read that were passed")
    while passed &+ word.nonzeroBitCount < index {
      passed &+= word.nonzeroBitCount
      guard nextWord() else { return false }
    }
    while passed < index {
      lastOne = offset &* 8 &+ word.trailingZeroBitCount
      word &= word &- 1
      passed &+= 1
    }
    return true
  }

  private mutating func nextWord() -> Bool {
    offset &+= 8
    guard unsafe offset < high.count else { return false }
    word = unsafe high.word(at: offset)
    return true
  }

  /// Reads split numbers: of each the lowest bits, and how many zeros stand in front of its one.
  private mutating func readSplit(_ range: Range<Int>, into target: UnsafeMutablePointer<UInt64>) -> Bool {
    if passed < range.lowerBound, !skip(to: range.lowerBound) { return false }
    let (count, width) = (range.count, layout.width)
    unsafe readLowBits(range, into: target)
    let shift = UInt64(truncatingIfNeeded: width)
    var (index, word, last) = (0, word, lastOne)
    while index < count {
      while word == 0 {
        guard nextWord() else { return false }
        word = self.word
      }
      let start = offset &* 8
      repeat {
        let one = start &+ word.trailingZeroBitCount
        word &= word &- 1
        unsafe target[index] |= UInt64(truncatingIfNeeded: one &- last &- 1) &<< shift
        (last, index) = (one, index &+ 1)
      } while word != 0 && index < count
    }
    (passed, self.word, lastOne) = (range.upperBound, word, last)
    return true
  }

  // MARK: Exceptions

  private mutating func addExceptions(_ range: Range<Int>, into target: UnsafeMutablePointer<UInt64>) -> Bool {
    while exceptionIndex < range.upperBound {
      if exceptionIndex >= range.lowerBound {
        unsafe target[exceptionIndex &- range.lowerBound] |= (exceptionAbove &+ 1) << UInt64(layout.width)
      }
      guard readException(after: exceptionIndex &+ 1) else { return false }
    }
    return true
  }

  /// Reads the next exception, which is of a number from `next` on.
  private mutating func readException(after next: Int) -> Bool {
    guard exceptionCount > 0 else {
      exceptionIndex = .max
      return true
    }
    exceptionCount &-= 1
    // These are other bytes than those that were checked if something is amiss.
    guard let skipped = exceptions.varint(), let above = exceptions.varint(), skipped < UInt64(layout.count) else {
      return false
    }
    (exceptionIndex, exceptionAbove) = (next &+ Int(skipped), above)
    return true
  }
}
