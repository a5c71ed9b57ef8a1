// Reading blocks of postings: rows first, and the rest as far as it is asked for.

internal import QuireDatabase

/// A block of postings that is being read, in memory that serves one block after the other.
///
/// First `decodeRows`; then `decodeFrequencies`, if fields or frequencies are of interest; then positions. Each is
/// handed the same bytes, and returns false if they break the format: then what it should have read is not to be used.
/// Nothing traps, whatever the bytes are, and memory is bounded by their number.
struct DecodedBlock {
  let form: PostingForm
  /// The number of rows; 0 before the first block.
  private(set) var count = 0
  /// The rows, in ascending order; those from `count` on are of blocks before.
  private(set) var rowIDs: [RowID]
  /// The mask of each row; those from `count` on are of blocks before.
  private(set) var masks: [FieldMask]
  /// Of all rows, one behind the other: of each row those of its fields, the lowest one first.
  private(set) var frequencies: [UInt32] = []
  /// Where the frequencies of each row end.
  private(set) var frequencyEnds: [Int]
  private(set) var hasFrequencies = false
  private var header: BlockHeader?
  private var masksOffset = 0
  var positionsOffset = 0
  /// Where positions lie, as soon as some were asked for.
  var places = PositionPlaces()

  init(_ form: PostingForm) {
    self.form = form
    rowIDs = [RowID](repeating: RowID(0), count: PostingForm.blockCount)
    masks = [FieldMask](repeating: 0, count: PostingForm.blockCount)
    frequencyEnds = [Int](repeating: 0, count: PostingForm.blockCount)
    frequencies.reserveCapacity(2 * PostingForm.blockCount)
  }

  var isLarge: Bool { header?.isLarge ?? false }
  /// Whether positions, if any are kept, stand apart from the block.
  var arePositionsApart: Bool { form.hasPositions && header?.arePositionsApart ?? false }
  /// Each posting is within one of these.
  var limits: LimitPairs { header?.limits ?? .any }

  /// Where the frequencies of a row are.
  @inline(__always) func frequencyRange(_ index: Int) -> Range<Int> {
    (index == 0 ? 0 : frequencyEnds[index - 1])..<frequencyEnds[index]
  }

  /// The sum of a row's frequencies.
  func totalFrequency(_ index: Int) -> Int {
    var sum = 0
    for place in frequencyRange(index) { sum += Int(frequencies[place]) }
    return sum
  }

  // MARK: Rows

  /// Reads the rows of a block.
  ///
  /// - Parameter lastRow: from its key.
  mutating func decodeRows(_ block: RawSpan, lastRow: RowID) -> Bool {
    count = 0
    hasFrequencies = false
    places.forget()
    return unsafe block.withUnsafeBytes { block in
      guard let header = unsafe BlockHeader(block, lastRow) else { return false }
      self.header = header
      var reader = unsafe ByteReader(block, at: header.rowsOffset)
      guard !header.isLarge else { return unsafe decodeLargeRows(block, header, &reader) }
      // The gaps of a small block were added up by the header.
      reader = unsafe ByteReader(block, at: 1)
      rowIDs[header.count - 1] = lastRow
      for index in stride(from: header.count - 1, to: 0, by: -1) {
        guard let gap = reader.varint() else { return false }
        rowIDs[index - 1] = RowID(ordered: rowIDs[index].ordered &- gap &- 1)
      }
      (count, masksOffset) = (header.count, reader.offset)
      return true
    }
  }

  private mutating func decodeLargeRows(
    _ block: UnsafeRawBufferPointer, _ header: BlockHeader, _ reader: inout ByteReader
  ) -> Bool {
    let isRead: Bool
    if header.flags & BlockHeader.isBitSet != 0 {
      isRead = decodeBitSet(header, &reader)
    } else {
      isRead = unsafe decodeGaps(block, header, &reader)
    }
    guard isRead else { return false }
    (count, masksOffset) = (header.count, reader.offset)
    assert(rowIDs[count - 1] == header.lastRow && rowIDs[0] == header.firstRow, "the rows of a block are others")
    return true
  }

  private mutating func decodeGaps(
    _ block: UnsafeRawBufferPointer, _ header: BlockHeader, _ reader: inout ByteReader
  ) -> Bool {
    let gapCount = header.count - 1
    guard let layout = PackedLayout(&reader, count: gapCount) else { return false }
    return unsafe withUnsafeTemporaryAllocation(of: UInt64.self, capacity: gapCount) { gaps in
      guard let base = gaps.baseAddress, unsafe layout.read(0..<gapCount, of: block, into: base) else {
        return false
      }
      return unsafe rowIDs.withUnsafeMutableBufferPointer { rows in
        let first = header.firstRow.ordered
        var (row, previous, isAscending) = (first, first, true)
        unsafe rows[0] = header.firstRow
        for index in 0..<gapCount {
          row = unsafe row &+ base[index] &+ 1
          isAscending = isAscending && row > previous
          previous = row
          unsafe rows[index + 1] = RowID(ordered: row)
        }
        return isAscending && row == header.lastRow.ordered
      }
    }
  }

  private mutating func decodeBitSet(_ header: BlockHeader, _ reader: inout ByteReader) -> Bool {
    // A block that takes fewer bytes as packed gaps is no bit set: that bounds the span.
    guard header.span < UInt64(Int32.max) else { return false }
    let byteCount = (Int(header.span) + 6) / 8
    guard let bits = unsafe reader.take(byteCount) else { return false }
    let first = header.firstRow.ordered
    rowIDs[0] = header.firstRow
    var index = 1
    for offset in 0..<byteCount {
      var byte = unsafe bits[offset]
      while byte != 0 {
        let row = first + 1 + UInt64(offset * 8 + byte.trailingZeroBitCount)
        guard index < header.count - 1, row < header.lastRow.ordered else { return false }
        rowIDs[index] = RowID(ordered: row)
        index += 1
        byte &= byte - 1
      }
    }
    rowIDs[index] = header.lastRow
    return index == header.count - 1
  }

  // MARK: Masks and frequencies

  /// Reads masks and frequencies, unless that was done.
  mutating func decodeFrequencies(_ block: RawSpan) -> Bool {
    if hasFrequencies { return true }
    guard let header, count > 0, masksOffset <= block.byteCount else { return false }
    return unsafe block.withUnsafeBytes { block in
      var reader = unsafe ByteReader(block, at: masksOffset)
      guard unsafe decodeMasks(block, header, &reader), unsafe decodeFrequencies(block, header, &reader) else {
        return false
      }
      positionsOffset = reader.offset
      hasFrequencies = true
      return true
    }
  }

  private mutating func decodeMasks(
    _ block: UnsafeRawBufferPointer, _ header: BlockHeader, _ reader: inout ByteReader
  ) -> Bool {
    guard form.fieldCount > 1 else {
      for index in 0..<count { masks[index] = 1 }
      return true
    }
    if !header.isLarge {
      if header.flags & BlockHeader.oneMask != 0 { return decodeMasks(choices: 1, width: 0, &reader) }
      for index in 0..<count {
        guard let mask = reader.varint() else { return false }
        masks[index] = mask
      }
      return areMasksValid()
    }
    switch header.flags >> 1 & 3 {
    case 0: return decodeMasks(choices: 1, width: 0, &reader)
    case 1: return decodeMasks(choices: 2, width: 1, &reader)
    case 2: return decodeMasks(choices: 4, width: 2, &reader)
    default:
      guard let layout = PackedLayout(&reader, count: count) else { return false }
      let isRead = unsafe masks.withUnsafeMutableBufferPointer { masks in
        unsafe masks.baseAddress.map { unsafe layout.read(0..<layout.count, of: block, into: $0) } ?? false
      }
      return isRead && areMasksValid()
    }
  }

  /// Reads a few masks, and which of them each row has.
  private mutating func decodeMasks(choices: Int, width: Int, _ reader: inout ByteReader) -> Bool {
    var (first, second, third, fourth): (FieldMask, FieldMask, FieldMask, FieldMask) = (0, 0, 0, 0)
    for choice in 0..<choices {
      guard let mask = reader.varint(), mask != 0, mask & ~form.allFields == 0 else { return false }
      switch choice {
      case 0: first = mask
      case 1: second = mask
      case 2: third = mask
      default: fourth = mask
      }
    }
    guard let bits = unsafe reader.take((count * width + 7) / 8) else { return false }
    let (end, mask) = (count, width == 1 ? UInt8(1) : 3)
    unsafe withUnsafeTemporaryAllocation(of: FieldMask.self, capacity: 4) { table in
      unsafe (table[0], table[1], table[2], table[3]) = (first, second, third, fourth)
      unsafe masks.withUnsafeMutableBufferPointer { masks in
        guard width > 0 else {
          for index in 0..<end { unsafe masks[index] = first }
          return
        }
        for index in 0..<end {
          let bit = index &* width
          let choice = unsafe bits[bit >> 3] &>> UInt8(truncatingIfNeeded: bit & 7) & mask
          unsafe masks[index] = table[Int(choice)]
        }
      }
    }
    return true
  }

  private func areMasksValid() -> Bool {
    for index in 0..<count where masks[index] == 0 || masks[index] & ~form.allFields != 0 { return false }
    return true
  }

  private mutating func decodeFrequencies(
    _ block: UnsafeRawBufferPointer, _ header: BlockHeader, _ reader: inout ByteReader
  ) -> Bool {
    let total = findFrequencyEnds()
    frequencies.removeAll(keepingCapacity: true)
    guard !header.hasOnesOnly else {
      frequencies.append(contentsOf: repeatElement(1, count: total))
      return true
    }
    guard form.hasFrequencies else { return false }
    if !header.isLarge {
      for _ in 0..<total {
        guard let above = reader.varint32(), above < .max else { return false }
        frequencies.append(above + 1)
      }
      return true
    }
    guard let layout = PackedLayout(&reader, count: total) else { return false }
    return unsafe withUnsafeTemporaryAllocation(of: UInt64.self, capacity: total) { numbers in
      guard let base = numbers.baseAddress, unsafe layout.read(0..<total, of: block, into: base) else {
        return false
      }
      return unsafe appendFrequencies(lessOne: UnsafeBufferPointer(numbers))
    }
  }

  /// Appends frequencies of which each is given less 1; false if one is too great.
  private mutating func appendFrequencies(lessOne numbers: UnsafeBufferPointer<UInt64>) -> Bool {
    unsafe withUnsafeTemporaryAllocation(of: UInt32.self, capacity: numbers.count) { target in
      var all: UInt64 = 0
      var greatest: UInt32 = 0
      for index in 0..<numbers.count {
        let number = unsafe numbers[index]
        all |= number
        let frequency = UInt32(truncatingIfNeeded: number)
        greatest = max(greatest, frequency)
        unsafe target[index] = frequency &+ 1
      }
      guard all <= UInt64(UInt32.max), greatest < .max else { return false }
      unsafe frequencies.append(contentsOf: target)
      return true
    }
  }

  /// Finds where the frequencies of each row end, and returns how many there are.
  private mutating func findFrequencyEnds() -> Int {
    let end = count
    return unsafe masks.withUnsafeBufferPointer { masks in
      unsafe frequencyEnds.withUnsafeMutableBufferPointer { ends in
        var total = 0
        // Neighbours often have the same fields.
        var (known, knownCount): (FieldMask, Int) = (0, 0)
        for index in 0..<end {
          let mask = unsafe masks[index]
          if mask != known { (known, knownCount) = (mask, mask.nonzeroBitCount) }
          total &+= knownCount
          unsafe ends[index] = total
        }
        return total
      }
    }
  }
}
