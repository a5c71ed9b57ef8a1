// Making blocks of postings.

internal import QuireDatabase

/// Makes blocks of postings, with buffers that serve one block after the other; see `BlockHeader` for the bytes.
struct BlockEncoder {
  let form: PostingForm
  private var block: [UInt8] = []
  private var positions: [UInt8] = []
  private var numbers: [UInt64] = []
  /// Numbers of the fields' positions, field by field.
  private var streams: [[UInt64]]
  private var limits = LimitCollector()

  init(_ form: PostingForm) {
    self.form = form
    streams = [[UInt64]](repeating: [], count: form.hasPositions ? form.fieldCount : 0)
  }

  /// A block of the postings at `rows` of a list, 1 to 128.
  ///
  /// - Parameter lengthCode: the code of the length of the row at an index of the list.
  /// - Returns: the block, and the positions that stand apart from it, if there are any.
  mutating func encode(
    _ list: PostingList, rows: Range<Int>, lengthCode: (Int) throws -> UInt8
  ) rethrows -> (block: [UInt8], positions: [UInt8]?) {
    assert((1...PostingForm.blockCount).contains(rows.count), "a block has no such number of rows")
    block.removeAll(keepingCapacity: true)
    positions.removeAll(keepingCapacity: true)
    let isLarge = rows.count >= BlockHeader.largeCount
    let frequencyRange = list.frequencyRange(rows.lowerBound).lowerBound..<list.frequencyEnds[rows.upperBound - 1]
    let hasOnesOnly = !form.hasFrequencies || list.frequencies[frequencyRange].allSatisfy { $0 == 1 }
    block.append(hasOnesOnly ? BlockHeader.allOnes : 0)
    if isLarge {
      try appendLimits(list, rows, lengthCode)
      appendRows(list, rows)
      appendMasks(list, rows)
      if !hasOnesOnly { appendFrequencies(list, frequencyRange) }
      appendPositions(list, rows)
    } else {
      appendSmall(list, rows, hasOnesOnly, frequencyRange)
    }
    guard positions.count > PostingForm.inlineByteCount else {
      block += positions
      return (block, nil)
    }
    block[0] |= isLarge ? BlockHeader.isLargeApart : BlockHeader.isSmallApart
    return (block, positions)
  }

  // MARK: Small blocks

  private mutating func appendSmall(
    _ list: PostingList, _ rows: Range<Int>, _ hasOnesOnly: Bool, _ frequencies: Range<Int>
  ) {
    block[0] |= UInt8(rows.count - 1) << 4
    for index in rows.dropFirst().reversed() {
      block.appendVarint(list.rowIDs[index].ordered - list.rowIDs[index - 1].ordered - 1)
    }
    let mask = list.masks[rows.lowerBound]
    let hasOneMask = list.masks[rows].allSatisfy { $0 == mask }
    if hasOneMask { block[0] |= BlockHeader.oneMask }
    if hasOnesOnly && frequencies.count == rows.count { block[0] |= BlockHeader.isSingle }
    if form.fieldCount > 1 {
      for index in hasOneMask ? rows.prefix(1) : rows { block.appendVarint(list.masks[index]) }
    }
    if !hasOnesOnly {
      for index in frequencies { block.appendVarint(UInt64(list.frequencies[index] - 1)) }
    }
    guard form.hasPositions else { return }
    for index in rows { positions.appendPositions(list, index) }
  }

  // MARK: Large blocks

  private mutating func appendLimits(
    _ list: PostingList, _ rows: Range<Int>, _ lengthCode: (Int) throws -> UInt8
  ) rethrows {
    for index in rows { limits.add(form.limit(of: list, index, try lengthCode(index))) }
    let pairs = limits.take() ?? .any
    block[0] |= BlockHeader.isLarge | UInt8(pairs.count - 1) << 4
    block.append(UInt8(rows.count - 1))
    pairs.append(to: &block)
  }

  private mutating func appendRows(_ list: PostingList, _ rows: Range<Int>) {
    let first = list.rowIDs[rows.lowerBound].ordered
    let span = list.rowIDs[rows.upperBound - 1].ordered - first
    block.appendVarint(span)
    numbers.removeAll(keepingCapacity: true)
    for index in rows.dropFirst() {
      numbers.append(list.rowIDs[index].ordered - list.rowIDs[index - 1].ordered - 1)
    }
    let start = block.count
    PackedNumbers.append(numbers, maySplit: false, to: &block)
    // A bit for each row between the first and the last one.
    guard (span + 6) / 8 <= UInt64(block.count - start) else { return }
    block.removeSubrange(start...)
    block[0] |= BlockHeader.isBitSet
    unsafe block.append(zeros: Int((span + 6) / 8)) { bits in
      for index in rows.dropFirst().dropLast() {
        let bit = Int(list.rowIDs[index].ordered - first - 1)
        unsafe bits[bit >> 3] |= 1 << UInt8(bit & 7)
      }
    }
  }

  private mutating func appendMasks(_ list: PostingList, _ rows: Range<Int>) {
    guard form.fieldCount > 1 else { return }
    var distinct: [FieldMask] = []
    for index in rows where distinct.count <= 4 && !distinct.contains(list.masks[index]) {
      distinct.append(list.masks[index])
    }
    guard distinct.count <= 4 else {
      block[0] |= 3 << 1
      numbers.removeAll(keepingCapacity: true)
      for index in rows { numbers.append(list.masks[index]) }
      return PackedNumbers.append(numbers, maySplit: false, to: &block)
    }
    let width = distinct.count == 1 ? 0 : distinct.count == 2 ? 1 : 2
    if distinct.count == 3 { distinct.append(distinct[0]) }
    block[0] |= UInt8(width) << 1
    for mask in distinct { block.appendVarint(mask) }
    guard width > 0 else { return }
    unsafe block.append(zeros: (rows.count * width + 7) / 8) { bits in
      for (place, index) in rows.enumerated() {
        let number = distinct.firstIndex(of: list.masks[index]) ?? 0
        let bit = place * width
        unsafe bits[bit >> 3] |= UInt8(number) << UInt8(bit & 7)
      }
    }
  }

  private mutating func appendFrequencies(_ list: PostingList, _ range: Range<Int>) {
    numbers.removeAll(keepingCapacity: true)
    for index in range { numbers.append(UInt64(list.frequencies[index] - 1)) }
    PackedNumbers.append(numbers, maySplit: true, to: &block)
  }

  private mutating func appendPositions(_ list: PostingList, _ rows: Range<Int>) {
    guard form.hasPositions else { return }
    var present: FieldMask = 0
    for index in rows {
      present |= list.masks[index]
      var (mask, next) = (list.masks[index], list.positionRange(index).lowerBound)
      for place in list.frequencyRange(index) {
        let field = mask.trailingZeroBitCount
        mask &= mask - 1
        var expected: UInt32 = 0
        for index in next..<next + Int(list.frequencies[place]) {
          streams[field].append(UInt64(list.positions[index] - expected))
          expected = list.positions[index] &+ 1
        }
        next += Int(list.frequencies[place])
      }
    }
    for field in 0..<form.fieldCount where present >> FieldMask(field) & 1 == 1 {
      PackedNumbers.append(streams[field], maySplit: true, to: &positions)
      streams[field].removeAll(keepingCapacity: true)
    }
  }
}

extension PostingForm {
  /// The values of one posting of a list, as limits have them.
  func limit(of list: borrowing PostingList, _ index: Int, _ lengthCode: UInt8) -> LimitPair {
    let frequency = hasFrequencies ? list.totalFrequency(index) : list.masks[index].nonzeroBitCount
    return LimitPair(frequency: UInt8(min(255, frequency)), lengthCode: lengthCode)
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
