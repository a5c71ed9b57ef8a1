// The postings of one block on their way to its bytes.

internal import QuireDatabase

/// Postings of a term as the bytes of a block have them: frequencies less 1, and gaps between positions.
///
/// They come as `RecentCodec` writes them, one behind the other, or from other blocks. The memory serves one block
/// after the other.
///
/// Invariants:
/// 1. There are `PostingForm.blockCount` postings at the most, whose rows ascend.
/// 2. A posting has one of `frequencies` for each bit of its mask, and in each of these fields as many gaps as it has
///    positions there.
@safe final class BlockPostings {
  let form: PostingForm
  /// How many there are, with so many frequencies.
  @inline(__always) var count: Int { unsafe ends.posting }
  @inline(__always) var frequencyCount: Int { unsafe ends.frequency }
  @exclusivity(unchecked) private var ends = (posting: 0, frequency: 0)
  /// Of each posting the number of its row in the order of rows, its fields, the code of the length of its row, and the
  /// sum of its frequencies as limits have it.
  let rows: UnsafeMutablePointer<UInt64>
  let masks: UnsafeMutablePointer<FieldMask>
  let codes: UnsafeMutablePointer<UInt8>
  let totals: UnsafeMutablePointer<UInt8>
  /// Of all postings, less 1; all are 0 where frequencies are not kept.
  @exclusivity(unchecked) private(set) var frequencies: UnsafeMutablePointer<UInt64>
  @exclusivity(unchecked) private var frequencyCapacity: Int
  /// The gaps of each field.
  private let fields: UnsafeMutablePointer<FieldGaps>

  /// Of all postings in one field: of each the first position, then the gaps less 1; none where positions are not kept.
  @safe private struct FieldGaps {
    var base: UnsafeMutablePointer<UInt64>
    var count = 0
    var capacity: Int
    /// How many are added, and where those are in the block that they come from.
    var added = 0
    var source = 0

    init(capacity: Int) { unsafe (base, self.capacity) = (.allocate(capacity: capacity), capacity) }

    /// Where so many more have room, behind those that are there.
    @inline(__always) mutating func room(_ added: Int) -> UnsafeMutablePointer<UInt64> {
      if count + added > capacity { grow(count + added) }
      return unsafe base + count
    }

    @inline(never) private mutating func grow(_ wanted: Int) {
      let larger = max(wanted, 2 * capacity)
      unsafe base = BlockPostings.grown(base, count, larger)
      capacity = larger
    }
  }

  init(_ form: PostingForm) {
    self.form = form
    let count = PostingForm.blockCount
    unsafe rows = .allocate(capacity: count)
    unsafe masks = .allocate(capacity: count)
    unsafe codes = .allocate(capacity: count)
    unsafe totals = .allocate(capacity: count)
    unsafe frequencyCapacity = count * min(4, form.fieldCount)
    unsafe frequencies = .allocate(capacity: frequencyCapacity)
    unsafe fields = .allocate(capacity: form.fieldCount)
    for field in 0..<form.fieldCount { unsafe (fields + field).initialize(to: FieldGaps(capacity: count)) }
  }

  deinit {
    unsafe rows.deallocate()
    unsafe masks.deallocate()
    unsafe codes.deallocate()
    unsafe totals.deallocate()
    unsafe frequencies.deallocate()
    for field in 0..<form.fieldCount { unsafe fields[field].base.deallocate() }
    unsafe fields.deallocate()
  }

  var isFull: Bool { count == PostingForm.blockCount }

  /// Forgets all, and keeps the memory.
  func removeAll() {
    unsafe ends = (0, 0)
    for field in 0..<form.fieldCount { unsafe fields[field].count = 0 }
  }

  /// The row of a posting.
  func row(_ index: Int) -> RowID {
    assert(index >= 0 && index < count, "a posting is asked for that is not there")
    return unsafe RowID(ordered: rows[index])
  }

  /// What limits have of a posting.
  @inline(__always) func limit(_ index: Int) -> LimitPair {
    assert(index >= 0 && index < count, "a posting is asked for that is not there")
    return unsafe LimitPair(frequency: totals[index], lengthCode: codes[index])
  }

  /// The gaps of all postings in a field, good until more are taken in.
  func gaps(ofField field: Int) -> UnsafeBufferPointer<UInt64> {
    let gaps = unsafe fields[field]
    return unsafe UnsafeBufferPointer(start: gaps.base, count: gaps.count)
  }

  /// Calls `body` with the gaps of each posting, the lowest field first.
  func forEachGap(_ body: (UInt64) -> Void) {
    guard form.hasPositions else { return }
    for field in 0..<form.fieldCount { unsafe fields[field].source = 0 }
    var place = 0
    for index in 0..<count {
      var mask = unsafe masks[index]
      while mask != 0 {
        let field = mask.trailingZeroBitCount
        let next = unsafe fields[field].source
        let end = unsafe next + Int(frequencies[place]) + 1
        for gap in next..<end { body(unsafe fields[field].base[gap]) }
        unsafe fields[field].source = end
        mask &= mask &- 1
        place += 1
      }
    }
  }

  // MARK: Adding

  /// Takes in a posting that stands behind its row and the code of its length; returns false if not all of it is there,
  /// or it breaks the format.
  @inline(__always) func append(_ reader: inout ByteReader, row: RowID, code: UInt8) -> Bool {
    assert(count < PostingForm.blockCount, "a block has no room for a posting")
    var mask: FieldMask = 1
    if form.fieldCount > 1 {
      guard let found = reader.varint(), found != 0, found & ~form.allFields == 0 else { return false }
      mask = found
    }
    let fieldCount = mask.nonzeroBitCount
    if unsafe frequencyCount + fieldCount > frequencyCapacity { growFrequencies(fieldCount) }
    var total = fieldCount
    for index in frequencyCount..<frequencyCount + fieldCount {
      var above: UInt64 = 0
      if form.hasFrequencies {
        guard let found = reader.varint(), found < UInt32.max else { return false }
        above = found
      }
      unsafe frequencies[index] = above
      total += Int(above)
    }
    if form.hasPositions {
      // Each takes a byte at least.
      guard total <= reader.remainingCount, appendGaps(&reader, mask) else { return false }
    }
    unsafe ends.frequency += fieldCount
    finish(row, mask, code, total)
    return true
  }

  /// Takes in the gaps of the posting at hand, whose frequencies are there; returns false, and takes in nothing, if
  /// they break the format.
  @inline(__always) private func appendGaps(_ reader: inout ByteReader, _ mask: FieldMask) -> Bool {
    var (rest, place) = (mask, frequencyCount)
    while rest != 0 {
      let field = rest.trailingZeroBitCount
      let own = unsafe Int(frequencies[place]) + 1
      let target = unsafe fields[field].room(own)
      for index in 0..<own {
        guard let gap = reader.varint(), gap <= UInt32.max else {
          removeGaps(mask & ~rest, from: frequencyCount)
          return false
        }
        unsafe target[index] = gap
      }
      unsafe fields[field].count &+= own
      rest &= rest &- 1
      place += 1
    }
    return true
  }

  /// Takes the last gaps of some fields away, as many as frequencies from a place on say.
  private func removeGaps(_ mask: FieldMask, from place: Int) {
    guard form.hasPositions else { return }
    var (rest, place) = (mask, place)
    while rest != 0 {
      unsafe fields[rest.trailingZeroBitCount].count -= Int(frequencies[place]) + 1
      rest &= rest &- 1
      place += 1
    }
  }

  /// Takes in a posting that stands for another one, whose content does not matter.
  func appendStandIn(_ row: RowID) {
    if unsafe frequencyCount + 1 > frequencyCapacity { growFrequencies(1) }
    unsafe frequencies[frequencyCount] = 0
    unsafe ends.frequency += 1
    if form.hasPositions {
      unsafe fields[0].room(1)[0] = 0
      unsafe fields[0].count += 1
    }
    finish(row, 1, .max, 1)
  }

  @inline(__always) private func finish(_ row: RowID, _ mask: FieldMask, _ code: UInt8, _ total: Int) {
    assert(unsafe count == 0 || rows[count - 1] < row.ordered, "postings are out of order")
    unsafe (rows[count], masks[count]) = (row.ordered, mask)
    unsafe (codes[count], totals[count]) = (code, UInt8(truncatingIfNeeded: min(255, total)))
    unsafe ends.posting += 1
  }

  /// Takes the last posting away.
  func removeLast() {
    assert(count > 0, "there is no posting to take away")
    unsafe ends.posting -= 1
    let mask = unsafe masks[count]
    unsafe ends.frequency -= mask.nonzeroBitCount
    removeGaps(mask, from: frequencyCount)
  }

  @inline(never) private func growFrequencies(_ added: Int) {
    let larger = unsafe max(frequencyCount + added, 2 * frequencyCapacity)
    unsafe frequencies = Self.grown(frequencies, frequencyCount, larger)
    unsafe frequencyCapacity = larger
  }

  private static func grown(
    _ numbers: UnsafeMutablePointer<UInt64>, _ count: Int, _ capacity: Int
  ) -> UnsafeMutablePointer<UInt64> {
    let grown = UnsafeMutablePointer<UInt64>.allocate(capacity: capacity)
    unsafe grown.update(from: numbers, count: count)
    unsafe numbers.deallocate()
    return unsafe grown
  }

  // MARK: Adding postings of another block

  /// Takes in postings of another block that follow each other there.
  ///
  /// - Parameters:
  ///   - block: one whose frequencies were read, and whose positions, if there are any.
  ///   - range: which of its postings; at least one.
  ///   - kept: the codes of its rows.
  /// - Returns: false if positions of some are none.
  func append(_ block: DecodedBlock, _ range: Range<Int>, _ kept: KeptCodes) -> Bool {
    let (start, end) = (count, count + range.count)
    assert(!range.isEmpty && end <= PostingForm.blockCount, "a block has no room for postings")
    assert(unsafe start == 0 || rows[start - 1] < block.row(range.lowerBound).ordered, "postings are out of order")
    for index in 0..<range.count { unsafe rows[start &+ index] = block.rows[range.lowerBound &+ index].ordered }
    unsafe (masks + start).update(from: block.masks + range.lowerBound, count: range.count)
    let (first, last) = (block.frequencyRange(range.lowerBound), block.frequencyRange(range.upperBound - 1))
    let own = last.upperBound - first.lowerBound
    if unsafe frequencyCount + own > frequencyCapacity { growFrequencies(own) }
    let (target, source) = unsafe (frequencies + frequencyCount, block.frequencies + first.lowerBound)
    for index in 0..<own { unsafe target[index] = UInt64(source[index] &- 1) }
    let view = block.view
    unsafe addUp(view, range, source, kept)
    unsafe ends = (end, frequencyCount + own)
    return form.hasPositions ? appendGaps(block, view, range) : true
  }

  /// Notes how often the rows have the term, the codes of their lengths, and how many gaps come in each field.
  private func addUp(
    _ view: PositionView, _ range: Range<Int>, _ source: UnsafePointer<UInt32>, _ kept: KeptCodes
  ) {
    for field in 0..<form.fieldCount { unsafe fields[field].added = 0 }
    let (masks, totals, codes) = unsafe (masks + count, totals + count, codes + count)
    var place = 0
    for index in 0..<range.count {
      var (mask, total) = unsafe (masks[index], 0)
      while mask != 0 {
        let field = mask.trailingZeroBitCount
        let frequency = unsafe Int(source[place])
        if unsafe form.hasPositions && fields[field].added == 0 {
          unsafe fields[field].source = view.firstPosition(ofRow: range.lowerBound &+ index, field: field)
        }
        unsafe fields[field].added &+= frequency
        (total, place) = (total &+ frequency, place &+ 1)
        mask &= mask &- 1
      }
      unsafe totals[index] = UInt8(truncatingIfNeeded: min(255, total))
      unsafe codes[index] = kept.code(range.lowerBound &+ index, total: total)
    }
  }

  /// Takes in the gaps of postings that were added up; returns false if positions of some are none.
  private func appendGaps(_ block: DecodedBlock, _ view: PositionView, _ range: Range<Int>) -> Bool {
    // Those of a small block stand posting by posting.
    guard block.isLarge else { return appendGapsOneByOne(view, range) }
    for field in 0..<form.fieldCount where unsafe fields[field].added > 0 {
      let (added, source) = unsafe (fields[field].added, fields[field].source)
      let gaps = view.positions(from: source, count: added, field: field)
      // If all together are not too many, none is.
      if unsafe !gaps.copy(to: fields[field].room(added)) {
        for index in range where view.mask(index) >> FieldMask(field) & 1 == 1 {
          guard view.positions(ofRow: index, field: field).forEach({ _ in true }) else { return false }
        }
      }
      unsafe fields[field].count += added
    }
    return true
  }

  private func appendGapsOneByOne(_ view: PositionView, _ range: Range<Int>) -> Bool {
    for index in range {
      var mask = view.mask(index)
      while mask != 0 {
        let field = mask.trailingZeroBitCount
        let own = view.positions(ofRow: index, field: field)
        guard unsafe own.copy(to: fields[field].room(own.count)) else { return false }
        unsafe fields[field].count += own.count
        mask &= mask &- 1
      }
    }
    return true
  }
}
