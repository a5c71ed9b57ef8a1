// Making blocks of postings.

internal import QuireDatabase

/// Makes blocks of postings, with buffers that serve one block after the other; see `BlockHeader` for the bytes.
struct BlockEncoder {
  let form: PostingForm
  private let block = ByteBuilder()
  private let positions = ByteBuilder()
  private let numbers: NumberBuffer
  private var limits = LimitCollector()

  init(_ form: PostingForm) {
    self.form = form
    numbers = NumberBuffer()
  }

  /// A block of all of some postings, 1 to 128.
  ///
  /// - Returns: the block, and the positions that stand apart from it, if there are any.
  mutating func encode(_ postings: BlockPostings) -> (block: [UInt8], positions: [UInt8]?) {
    assert((1...PostingForm.blockCount).contains(postings.count), "a block has no such number of rows")
    block.removeAll()
    positions.removeAll()
    let isLarge = postings.count >= BlockHeader.largeCount
    let hasOnesOnly = Self.hasOnesOnly(postings)
    block.append(hasOnesOnly ? BlockHeader.allOnes : 0)
    if isLarge {
      appendLimits(postings)
      appendRows(postings)
      appendMasks(postings)
      if !hasOnesOnly { appendFrequencies(postings) }
      if form.hasPositions { appendPositions(postings) }
    } else {
      appendSmall(postings, hasOnesOnly)
    }
    guard positions.count > PostingForm.inlineByteCount else {
      unsafe block.append(positions.bytes)
      return (block.copied, nil)
    }
    block[0] |= isLarge ? BlockHeader.isLargeApart : BlockHeader.isSmallApart
    return (block.copied, positions.copied)
  }

  private static func hasOnesOnly(_ postings: BlockPostings) -> Bool {
    var bits: UInt64 = 0
    for index in 0..<postings.frequencyCount { bits |= unsafe postings.frequencies[index] }
    return bits == 0
  }

  // MARK: Small blocks

  private func appendSmall(_ postings: BlockPostings, _ hasOnesOnly: Bool) {
    let (count, rows, masks) = unsafe (postings.count, postings.rows, postings.masks)
    block[0] |= UInt8(count - 1) << 4
    for index in stride(from: count - 1, to: 0, by: -1) {
      block.appendVarint(unsafe rows[index] - rows[index - 1] - 1)
    }
    var hasOneMask = true
    for index in 1..<max(1, count) where unsafe masks[index] != masks[0] { hasOneMask = false }
    if hasOneMask { block[0] |= BlockHeader.oneMask }
    if hasOnesOnly && postings.frequencyCount == count { block[0] |= BlockHeader.isSingle }
    if form.fieldCount > 1 {
      for index in 0..<(hasOneMask ? 1 : count) { block.appendVarint(unsafe masks[index]) }
    }
    if !hasOnesOnly {
      for index in 0..<postings.frequencyCount { block.appendVarint(unsafe postings.frequencies[index]) }
    }
    postings.forEachGap { positions.appendVarint($0) }
  }

  // MARK: Large blocks

  private mutating func appendLimits(_ postings: BlockPostings) {
    for index in 0..<postings.count { limits.add(postings.limit(index)) }
    let pairs = limits.take() ?? .any
    block[0] |= BlockHeader.isLarge | UInt8(pairs.count - 1) << 4
    block.append(UInt8(postings.count - 1))
    pairs.append(to: block)
  }

  private func appendRows(_ postings: BlockPostings) {
    let (count, rows) = unsafe (postings.count, postings.rows)
    let first = unsafe rows[0]
    let span = unsafe rows[count - 1] - first
    block.appendVarint(span)
    let gaps = unsafe numbers.reserve(count - 1)
    for index in 1..<count { unsafe gaps[index - 1] = rows[index] &- rows[index - 1] &- 1 }
    let start = block.count
    unsafe PackedNumbers.append(UnsafeBufferPointer(start: gaps, count: count - 1), maySplit: false, to: block)
    // A bit for each row between the first and the last one.
    guard (span + 6) / 8 <= UInt64(block.count - start) else { return }
    block.removeAll(from: start)
    block[0] |= BlockHeader.isBitSet
    let byteCount = Int((span + 6) / 8)
    let bits = unsafe block.append(byteCount)
    unsafe bits.update(repeating: 0, count: byteCount)
    for index in 1..<count - 1 {
      let bit = unsafe Int(rows[index] - first - 1)
      unsafe bits[bit >> 3] |= 1 << UInt8(bit & 7)
    }
  }

  private func appendMasks(_ postings: BlockPostings) {
    guard form.fieldCount > 1 else { return }
    let (count, masks, known) = unsafe (postings.count, postings.masks, numbers.reserve(4))
    // The first four that differ, in the order in which they come.
    unsafe known[0] = masks[0]
    var (distinctCount, last) = unsafe (1, masks[0])
    for index in 1..<count {
      let mask = unsafe masks[index]
      if unsafe mask == last || Self.place(of: mask, known, distinctCount) != nil { continue }
      guard distinctCount < 4 else { return appendPackedMasks(postings) }
      unsafe known[distinctCount] = mask
      distinctCount += 1
      last = mask
    }
    let width = distinctCount == 1 ? 0 : distinctCount == 2 ? 1 : 2
    if distinctCount == 3 { unsafe (known[3], distinctCount) = unsafe (known[0], 4) }
    block[0] |= UInt8(width) << 1
    for place in 0..<distinctCount { unsafe block.appendVarint(known[place]) }
    guard width > 0 else { return }
    let byteCount = (count * width + 7) / 8
    let bits = unsafe block.append(byteCount)
    unsafe bits.update(repeating: 0, count: byteCount)
    for index in 0..<count {
      let number = unsafe Self.place(of: masks[index], known, distinctCount) ?? 0
      let bit = index * width
      unsafe bits[bit >> 3] |= UInt8(truncatingIfNeeded: number) << UInt8(bit & 7)
    }
  }

  @inline(__always)
  private static func place(of mask: FieldMask, _ known: UnsafePointer<FieldMask>, _ count: Int) -> Int? {
    for place in 0..<count where unsafe known[place] == mask { return place }
    return nil
  }

  private func appendPackedMasks(_ postings: BlockPostings) {
    block[0] |= 3 << 1
    unsafe PackedNumbers.append(
      UnsafeBufferPointer(start: postings.masks, count: postings.count), maySplit: false, to: block)
  }

  private func appendFrequencies(_ postings: BlockPostings) {
    unsafe PackedNumbers.append(
      UnsafeBufferPointer(start: postings.frequencies, count: postings.frequencyCount), maySplit: true, to: block)
  }

  /// Appends the positions field by field.
  private func appendPositions(_ postings: BlockPostings) {
    for field in 0..<form.fieldCount {
      let gaps = unsafe postings.gaps(ofField: field)
      if gaps.count > 0 { unsafe PackedNumbers.append(gaps, maySplit: true, to: positions) }
    }
  }
}

/// Memory for numbers that are on their way to their bytes.
@safe private final class NumberBuffer {
  private var base: UnsafeMutablePointer<UInt64>
  private var capacity = 1 << 8

  init() { unsafe base = .allocate(capacity: capacity) }

  deinit { unsafe base.deallocate() }

  /// Room for so many numbers; what was there before is lost.
  func reserve(_ count: Int) -> UnsafeMutablePointer<UInt64> {
    if count > capacity {
      capacity = max(count, 2 * capacity)
      unsafe base.deallocate()
      unsafe base = .allocate(capacity: capacity)
    }
    return unsafe base
  }
}

extension [UInt8] {
  /// Appends the positions of one posting of a list as varints: of each field the first one, then the gaps less 1.
  mutating func appendPositions(_ list: PostingList, _ index: Int) {
    var next = list.positionRange(index).lowerBound
    for place in list.frequencyRange(index) {
      var expected: UInt32 = 0
      for index in next..<next + Int(list.frequencies[place]) {
        appendVarint(UInt64(list.positions[index] - expected))
        expected = list.positions[index] &+ 1
      }
      next += Int(list.frequencies[place])
    }
  }
}
