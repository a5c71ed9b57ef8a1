// How often rows of a block have a term, in all fields together.

internal import QuireDatabase

extension DecodedBlock {
  /// Adds to a sum for each row how often it has the term, in all fields together: without keeping masks and
  /// frequencies where that can be.
  ///
  /// - Parameters:
  ///   - block: the block, whose rows were read.
  ///   - sums: has a place for each number of a row from `base` on, those of the block's rows among them.
  /// - Returns: false if the bytes break the format.
  func addTotals(
    _ block: UnsafeRawBufferPointer, to sums: UnsafeMutablePointer<UInt32>, from base: UInt64
  ) -> Bool {
    guard let header = unsafe header, count > 0, unsafe masksOffset <= block.count else { return false }
    var reader = unsafe ByteReader(block, at: masksOffset)
    // How many masks are listed, of which each row has one; none where masks are not stored.
    var choiceCount = 0
    if form.fieldCount > 1 {
      let kind = header.isLarge ? Int(header.flags >> 1 & 3) : header.flags & BlockHeader.oneMask != 0 ? 0 : 3
      guard kind < 3 else { return unsafe addDecoded(block, to: sums, from: base) }
      choiceCount = 1 << kind
    }
    var sizes: UInt64 = 1
    for choice in 0..<choiceCount {
      guard let mask = reader.varint(), mask != 0, mask & ~form.allFields == 0 else { return false }
      if choice == 0 { sizes = 0 }
      sizes |= UInt64(mask.nonzeroBitCount) << UInt64(choice * 8)
    }
    let width = choiceCount < 2 ? 0 : choiceCount == 2 ? 1 : 2
    guard let bits = unsafe reader.take((count * width + 7) / 8) else { return false }
    if header.hasOnesOnly {
      for index in 0..<count { unsafe sums[place(index, base)] &+= size(index, width, bits, sizes) }
      return true
    }
    guard header.isLarge, form.hasFrequencies else { return unsafe addDecoded(block, to: sums, from: base) }
    var total = 0
    for index in 0..<count { total += Int(unsafe size(index, width, bits, sizes)) }
    guard let layout = PackedLayout(&reader, count: total) else { return false }
    guard layout.isUnary else { return unsafe addDecoded(block, to: sums, from: base) }
    return unsafe layout.forEachRun(
      of: block, count: count, size: { unsafe size($0, width, bits, sizes) },
      { index, sum in unsafe sums[place(index, base)] &+= sum })
  }

  @inline(__always) private func place(_ index: Int, _ base: UInt64) -> Int {
    Int(truncatingIfNeeded: unsafe rows[index].ordered &- base)
  }

  /// How many fields of a row have the term: one of the bytes of `sizes`, as some bits of each row say.
  @inline(__always)
  private func size(_ index: Int, _ width: Int, _ bits: UnsafeRawBufferPointer, _ sizes: UInt64) -> UInt32 {
    if width == 0 { return UInt32(truncatingIfNeeded: sizes) }
    let bit = index &* width
    let mask: UInt8 = width == 1 ? 1 : 3
    let choice = unsafe bits[bit >> 3] &>> UInt8(truncatingIfNeeded: bit & 7) & mask
    return UInt32(truncatingIfNeeded: sizes &>> UInt64(choice &* 8) & 0xff)
  }

  /// The same with masks and frequencies that are read.
  private func addDecoded(
    _ block: UnsafeRawBufferPointer, to sums: UnsafeMutablePointer<UInt32>, from base: UInt64
  ) -> Bool {
    guard unsafe decodeFrequencies(block) else { return false }
    for index in 0..<count {
      var sum: UInt32 = 0
      for place in frequencyRange(index) { sum &+= unsafe frequencies[place] }
      unsafe sums[place(index, base)] &+= sum
    }
    return true
  }
}

extension PackedLayout {
  /// Whether numbers are nothing but zeros in front of ones.
  var isUnary: Bool { isSplit && width == 0 }

  /// Calls `body` with the sums of runs of unary numbers, each of which counts 1 more.
  ///
  /// - Parameters:
  ///   - count: how many runs there are, which are all numbers together.
  ///   - size: how many numbers a run has.
  /// - Returns: false if the bytes are not the same that were checked.
  @inline(__always)
  func forEachRun(
    of bytes: UnsafeRawBufferPointer, count: Int, size: (Int) -> UInt32, _ body: (Int, UInt32) -> Void
  ) -> Bool {
    guard high.upperBound <= bytes.count else { return false }
    let unary = unsafe UnsafeRawBufferPointer(rebasing: bytes[high])
    var (offset, lastOne) = (0, -1)
    var current = unsafe unary.word(at: 0)
    for index in 0..<count {
      var rest = size(index)
      while true {
        while current == 0 {
          offset &+= 8
          guard offset < unary.count else { return false }
          current = unsafe unary.word(at: offset)
        }
        rest &-= 1
        if rest == 0 { break }
        current &= current &- 1
      }
      let one = offset &* 8 &+ current.trailingZeroBitCount
      current &= current &- 1
      body(index, UInt32(truncatingIfNeeded: one &- lastOne))
      lastOne = one
    }
    return true
  }
}
