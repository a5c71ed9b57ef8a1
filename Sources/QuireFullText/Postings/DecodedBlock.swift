// Reading blocks of postings: rows first, and the rest as far as it is asked for.

internal import QuireDatabase

/// A block of postings that is being read, in memory that serves one block after the other.
///
/// First `decodeRows`; then `decodeFrequencies`, if fields or frequencies are of interest; then positions. Each is
/// handed the same bytes, and returns false if they break the format: then what it should have read is not to be used.
/// Nothing traps, whatever the bytes are, and memory is bounded by their number.
///
/// Invariant: `rowIDs` has `count` rows; `masks`, `frequencyStarts` and `frequencies` are those of the block if
/// `hasFrequencies`.
@safe final class DecodedBlock {
  let form: PostingForm
  // Unchecked, here and below: for one thread, and no closure changes what a call around it reads.
  /// The number of rows; 0 before the first block.
  @exclusivity(unchecked) private var uncheckedCount = 0
  @exclusivity(unchecked) private var uncheckedHasFrequencies = false
  @exclusivity(unchecked) private(set) var header: BlockHeader?
  @exclusivity(unchecked) private(set) var masksOffset = 0
  @exclusivity(unchecked) private var uncheckedPositionsOffset = 0
  /// The rows, in ascending order.
  let rows: UnsafeMutablePointer<RowID>
  /// The mask of each row.
  let masks: UnsafeMutablePointer<FieldMask>
  /// Of all rows, one behind the other: of each row those of its fields, the lowest one first.
  let frequencies: UnsafeMutablePointer<UInt32>
  /// Where the frequencies of each row begin, and where the last ones end.
  let frequencyStarts: UnsafeMutablePointer<Int32>
  /// Where positions lie, as soon as some were asked for.
  let places: PositionPlaces
  /// Numbers as they are unpacked: those of rows and of frequencies.
  private let numbers: UnsafeMutablePointer<UInt64>
  private let memory: UnsafeMutableRawPointer

  init(_ form: PostingForm) {
    self.form = form
    let rowCount = PostingForm.blockCount
    let frequencyCount = rowCount * form.fieldCount
    let wordCount = 2 * rowCount + frequencyCount
    let byteCount = wordCount * 8 + (frequencyCount + 3) * 4 + (rowCount + 1) * 4
    unsafe memory = .allocate(byteCount: byteCount, alignment: 16)
    unsafe rows = memory.bindMemory(to: RowID.self, capacity: rowCount)
    unsafe masks = (memory + rowCount * 8).bindMemory(to: FieldMask.self, capacity: rowCount)
    unsafe numbers = (memory + rowCount * 16).bindMemory(to: UInt64.self, capacity: frequencyCount)
    let rest = unsafe memory + wordCount * 8
    // Three more, which are read where a row has one field, and count nowhere.
    unsafe frequencies = rest.bindMemory(to: UInt32.self, capacity: frequencyCount + 3)
    unsafe frequencies.initialize(repeating: 0, count: frequencyCount + 3)
    unsafe frequencyStarts = (rest + (frequencyCount + 3) * 4).bindMemory(to: Int32.self, capacity: rowCount + 1)
    unsafe frequencyStarts[0] = 0
    places = PositionPlaces(frequencyCount)
  }

  deinit { unsafe memory.deallocate() }

  /// The number of rows; 0 before the first block.
  var count: Int { @inline(__always) get { unsafe uncheckedCount } }
  var hasFrequencies: Bool { @inline(__always) get { unsafe uncheckedHasFrequencies } }
  /// Where positions begin in a block that has them.
  var positionsOffset: Int { unsafe uncheckedPositionsOffset }
  /// The rows, in ascending order.
  var rowIDs: UnsafeBufferPointer<RowID> { unsafe UnsafeBufferPointer(start: rows, count: count) }
  var isLarge: Bool { unsafe header?.isLarge ?? false }
  /// Whether all frequencies are 1.
  var hasOnesOnly: Bool { unsafe header?.hasOnesOnly ?? false }
  /// Whether positions, if any are kept, stand apart from the block.
  var arePositionsApart: Bool { unsafe form.hasPositions && header?.arePositionsApart ?? false }
  /// Each posting is within one of these.
  var limits: LimitPairs { unsafe header?.limits ?? .any }

  /// A row.
  @inline(__always) func row(_ index: Int) -> RowID {
    assert(index >= 0 && index < count, "a row is read that the block does not have")
    return unsafe rows[index]
  }

  /// The mask of a row.
  @inline(__always) func mask(_ index: Int) -> FieldMask {
    assert(hasFrequencies && index >= 0 && index < count, "a mask is read that the block does not have")
    return unsafe masks[index]
  }

  /// Where the frequencies of a row are.
  @inline(__always) func frequencyRange(_ index: Int) -> Range<Int> {
    assert(hasFrequencies && index >= 0 && index < count, "frequencies are read that the block does not have")
    return unsafe Int(frequencyStarts[index])..<Int(frequencyStarts[index + 1])
  }

  /// The sum of a row's frequencies.
  func totalFrequency(_ index: Int) -> Int {
    var sum = 0
    for place in frequencyRange(index) { sum += Int(unsafe frequencies[place]) }
    return sum
  }

  // MARK: Rows

  /// Reads the rows of a block.
  ///
  /// - Parameter lastRow: from its key.
  func decodeRows(_ block: RawSpan, lastRow: RowID) -> Bool {
    unsafe block.withUnsafeBytes { unsafe decodeRows($0, lastRow: lastRow) }
  }

  /// The same of bytes that lie still.
  func decodeRows(_ block: UnsafeRawBufferPointer, lastRow: RowID) -> Bool {
    unsafe (uncheckedCount, uncheckedHasFrequencies) = (0, false)
    places.forget()
    guard let header = unsafe BlockHeader(block, lastRow) else { return false }
    unsafe self.header = header
    var reader = unsafe ByteReader(block, at: header.rowsOffset)
    guard !header.isLarge else { return unsafe decodeLargeRows(block, header, &reader) }
    // The gaps of a small block were added up by the header.
    reader = unsafe ByteReader(block, at: 1)
    var row = lastRow.ordered
    unsafe rows[header.count - 1] = lastRow
    for index in stride(from: header.count - 1, to: 0, by: -1) {
      guard let gap = reader.varint() else { return false }
      row = row &- gap &- 1
      unsafe rows[index - 1] = RowID(ordered: row)
    }
    unsafe (uncheckedCount, masksOffset) = (header.count, reader.offset)
    return true
  }

  private func decodeLargeRows(
    _ block: UnsafeRawBufferPointer, _ header: BlockHeader, _ reader: inout ByteReader
  ) -> Bool {
    let isRead: Bool
    if header.flags & BlockHeader.isBitSet != 0 {
      isRead = decodeBitSet(header, &reader)
    } else {
      isRead = unsafe decodeGaps(block, header, &reader)
    }
    guard isRead else { return false }
    unsafe (uncheckedCount, masksOffset) = (header.count, reader.offset)
    assert(row(count - 1) == header.lastRow && row(0) == header.firstRow, "the rows of a block are others")
    return true
  }

  private func decodeGaps(
    _ block: UnsafeRawBufferPointer, _ header: BlockHeader, _ reader: inout ByteReader
  ) -> Bool {
    let gapCount = header.count - 1
    guard let layout = PackedLayout(&reader, count: gapCount),
      unsafe layout.read(0..<gapCount, of: block, into: numbers)
    else { return false }
    let (rows, numbers) = unsafe (rows, numbers)
    var (row, bits) = (header.firstRow.ordered, UInt64(0))
    unsafe rows[0] = header.firstRow
    for index in 0..<gapCount {
      let gap = unsafe numbers[index]
      (row, bits) = (row &+ gap &+ 1, bits | gap)
      unsafe rows[index + 1] = RowID(ordered: row)
    }
    // So few gaps below 2^56 do not overflow, and other ones are rare.
    return row == header.lastRow.ordered && (bits >> 56 == 0 || areRowsAscending(header.count))
  }

  private func areRowsAscending(_ count: Int) -> Bool {
    for index in 1..<count { if unsafe rows[index] <= rows[index - 1] { return false } }
    return true
  }

  private func decodeBitSet(_ header: BlockHeader, _ reader: inout ByteReader) -> Bool {
    // A block that takes fewer bytes as packed gaps is no bit set: that bounds the span.
    guard header.span < UInt64(Int32.max) else { return false }
    let byteCount = (Int(header.span) + 6) / 8
    guard let bits = unsafe reader.take(byteCount) else { return false }
    let first = header.firstRow.ordered
    unsafe rows[0] = header.firstRow
    var (index, base) = (1, first &+ 1)
    let inner = header.count - 1
    for offset in stride(from: 0, to: byteCount, by: 8) {
      var word = unsafe bits.word(at: offset)
      guard index + word.nonzeroBitCount <= inner else { return false }
      while word != 0 {
        unsafe rows[index] = RowID(ordered: base &+ UInt64(truncatingIfNeeded: word.trailingZeroBitCount))
        word &= word &- 1
        index += 1
      }
      base &+= 64
    }
    guard index == inner, unsafe rows[inner - 1].ordered &- first < header.span else { return false }
    unsafe rows[inner] = header.lastRow
    return true
  }

  // MARK: Masks and frequencies

  /// Reads masks and frequencies, unless that was done.
  func decodeFrequencies(_ block: RawSpan) -> Bool {
    unsafe block.withUnsafeBytes { unsafe decodeFrequencies($0) }
  }

  /// The same of bytes that lie still.
  func decodeFrequencies(_ block: UnsafeRawBufferPointer) -> Bool {
    if hasFrequencies { return true }
    guard let header = unsafe header, count > 0, unsafe masksOffset <= block.count else { return false }
    var reader = unsafe ByteReader(block, at: masksOffset)
    guard unsafe decodeMasks(block, header, &reader), unsafe decodeFrequencies(block, header, &reader) else {
      return false
    }
    unsafe (uncheckedPositionsOffset, uncheckedHasFrequencies) = (reader.offset, true)
    return true
  }

  private func decodeMasks(
    _ block: UnsafeRawBufferPointer, _ header: BlockHeader, _ reader: inout ByteReader
  ) -> Bool {
    guard form.fieldCount > 1 else {
      unsafe masks.update(repeating: 1, count: count)
      return true
    }
    if !header.isLarge {
      if header.flags & BlockHeader.oneMask != 0 { return decodeMasks(choices: 1, width: 0, &reader) }
      for index in 0..<count {
        guard let mask = reader.varint() else { return false }
        unsafe masks[index] = mask
      }
      return areMasksValid()
    }
    switch header.flags >> 1 & 3 {
    case 0: return decodeMasks(choices: 1, width: 0, &reader)
    case 1: return decodeMasks(choices: 2, width: 1, &reader)
    case 2: return decodeMasks(choices: 4, width: 2, &reader)
    default:
      guard let layout = PackedLayout(&reader, count: count) else { return false }
      let isRead = unsafe layout.read(0..<layout.count, of: block, into: masks)
      return isRead && areMasksValid()
    }
  }

  /// Reads a few masks, and which of them each row has.
  private func decodeMasks(choices: Int, width: Int, _ reader: inout ByteReader) -> Bool {
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
    guard width > 0 else {
      unsafe masks.update(repeating: first, count: count)
      return true
    }
    let mask = width == 1 ? UInt8(1) : 3
    unsafe withUnsafeTemporaryAllocation(of: FieldMask.self, capacity: 4) { table in
      unsafe (table[0], table[1], table[2], table[3]) = (first, second, third, fourth)
      for index in 0..<count {
        let bit = index &* width
        let choice = unsafe bits[bit >> 3] &>> UInt8(truncatingIfNeeded: bit & 7) & mask
        unsafe masks[index] = table[Int(choice)]
      }
    }
    return true
  }

  private func areMasksValid() -> Bool {
    let forbidden = ~form.allFields
    for index in 0..<count {
      let mask = unsafe masks[index]
      if mask == 0 || mask & forbidden != 0 { return false }
    }
    return true
  }

  private func decodeFrequencies(
    _ block: UnsafeRawBufferPointer, _ header: BlockHeader, _ reader: inout ByteReader
  ) -> Bool {
    let total = findFrequencyStarts()
    guard !header.hasOnesOnly else {
      unsafe frequencies.update(repeating: 1, count: total)
      return true
    }
    guard form.hasFrequencies else { return false }
    if !header.isLarge {
      for index in 0..<total {
        guard let above = reader.varint32(), above < .max else { return false }
        unsafe frequencies[index] = above + 1
      }
      return true
    }
    guard let layout = PackedLayout(&reader, count: total), unsafe layout.read(0..<total, of: block, into: numbers)
    else { return false }
    var all: UInt64 = 0
    for index in 0..<total {
      let number = unsafe numbers[index]
      all |= number
      unsafe frequencies[index] = UInt32(truncatingIfNeeded: number) &+ 1
    }
    if all < UInt64(UInt32.max) { return true }
    for index in 0..<total { if unsafe numbers[index] >= UInt64(UInt32.max) { return false } }
    return true
  }

  /// Finds where the frequencies of each row begin, and returns how many there are.
  private func findFrequencyStarts() -> Int {
    let (end, masks, starts) = unsafe (count, masks, frequencyStarts)
    var total: Int32 = 0
    if form.fieldCount <= 4 {
      for index in 0..<end {
        total &+= Int32(truncatingIfNeeded: unsafe masks[index].narrowBitCount)
        unsafe starts[index + 1] = total
      }
    } else {
      for index in 0..<end {
        total &+= Int32(truncatingIfNeeded: unsafe masks[index].nonzeroBitCount)
        unsafe starts[index + 1] = total
      }
    }
    return Int(total)
  }
}
