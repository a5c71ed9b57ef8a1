// The postings of one block on their way to its bytes.

internal import QuireDatabase

/// Postings of a term as the bytes of a block have them: frequencies less 1, and gaps between positions.
///
/// They come as `RecentCodec` writes them, one behind the other, or from other blocks. The memory serves one block
/// after the other.
///
/// Invariants:
/// 1. There are `PostingForm.blockCount` postings at the most, whose rows ascend.
/// 2. A posting has one of `frequencies` for each bit of its mask, and as many of `gaps` as it has positions.
@safe final class BlockPostings {
  let form: PostingForm
  /// How many there are, with so many frequencies and gaps.
  @inline(__always) var count: Int { unsafe ends.posting }
  @inline(__always) var frequencyCount: Int { unsafe ends.frequency }
  @inline(__always) var gapCount: Int { unsafe ends.gap }
  @exclusivity(unchecked) private var ends = (posting: 0, frequency: 0, gap: 0)
  /// Of each posting the number of its row in the order of rows, its fields, the code of the length of its row, and the
  /// sum of its frequencies as limits have it.
  let rows: UnsafeMutablePointer<UInt64>
  let masks: UnsafeMutablePointer<FieldMask>
  let codes: UnsafeMutablePointer<UInt8>
  let totals: UnsafeMutablePointer<UInt8>
  /// Of all postings, less 1; all are 0 where frequencies are not kept.
  @exclusivity(unchecked) private(set) var frequencies: UnsafeMutablePointer<UInt64>
  @exclusivity(unchecked) private var frequencyCapacity: Int
  /// Of all postings: of each field the first position, then the gaps less 1; none where positions are not kept.
  @exclusivity(unchecked) private(set) var gaps: UnsafeMutablePointer<UInt64>
  @exclusivity(unchecked) private var gapCapacity = 1 << 9

  init(_ form: PostingForm) {
    self.form = form
    let count = PostingForm.blockCount
    unsafe rows = .allocate(capacity: count)
    unsafe masks = .allocate(capacity: count)
    unsafe codes = .allocate(capacity: count)
    unsafe totals = .allocate(capacity: count)
    unsafe frequencyCapacity = count * min(4, form.fieldCount)
    unsafe frequencies = .allocate(capacity: frequencyCapacity)
    unsafe gaps = .allocate(capacity: gapCapacity)
  }

  deinit {
    unsafe rows.deallocate()
    unsafe masks.deallocate()
    unsafe codes.deallocate()
    unsafe totals.deallocate()
    unsafe frequencies.deallocate()
    unsafe gaps.deallocate()
  }

  var isFull: Bool { count == PostingForm.blockCount }

  /// Forgets all, and keeps the memory.
  func removeAll() { unsafe ends = (0, 0, 0) }

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
      guard total <= reader.remainingCount else { return false }
      if unsafe gapCount + total > gapCapacity { growGaps(total) }
      for index in gapCount..<gapCount + total {
        guard let gap = reader.varint(), gap <= UInt32.max else { return false }
        unsafe gaps[index] = gap
      }
      unsafe ends.gap += total
    }
    unsafe ends.frequency += fieldCount
    finish(row, mask, code, total)
    return true
  }

  /// Takes in a posting of another block.
  ///
  /// - Parameters:
  ///   - block: one whose frequencies were read, and whose positions, if there are any.
  ///   - view: that of the block.
  /// - Returns: false if its positions are none.
  @inline(__always)
  func append(_ block: DecodedBlock, _ view: PositionView, _ index: Int, code: UInt8) -> Bool {
    assert(count < PostingForm.blockCount, "a block has no room for a posting")
    let range = block.frequencyRange(index)
    if unsafe frequencyCount + range.count > frequencyCapacity { growFrequencies(range.count) }
    var (total, place) = (0, frequencyCount)
    for index in range {
      let frequency = unsafe block.frequencies[index]
      unsafe frequencies[place] = UInt64(frequency &- 1)
      (total, place) = (total &+ Int(frequency), place &+ 1)
    }
    if form.hasPositions {
      if unsafe gapCount + total > gapCapacity { growGaps(total) }
      var (mask, next) = (view.mask(index), gapCount)
      while mask != 0 {
        let own = view.positions(ofRow: index, field: mask.trailingZeroBitCount)
        guard unsafe own.copy(to: gaps + next) else { return false }
        next &+= own.count
        mask &= mask &- 1
      }
      unsafe ends.gap = next
    }
    unsafe ends.frequency = place
    finish(block.row(index), view.mask(index), code, total)
    return true
  }

  /// Takes in a posting that stands for another one, whose content does not matter.
  func appendStandIn(_ row: RowID) {
    if unsafe frequencyCount + 1 > frequencyCapacity { growFrequencies(1) }
    unsafe frequencies[frequencyCount] = 0
    unsafe ends.frequency += 1
    if form.hasPositions {
      if unsafe gapCount + 1 > gapCapacity { growGaps(1) }
      unsafe gaps[gapCount] = 0
      unsafe ends.gap += 1
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
    for _ in unsafe 0..<masks[count].nonzeroBitCount {
      unsafe ends.frequency -= 1
      if form.hasPositions { unsafe ends.gap -= Int(frequencies[frequencyCount]) + 1 }
    }
  }

  @inline(never) private func growFrequencies(_ added: Int) {
    let larger = unsafe max(frequencyCount + added, 2 * frequencyCapacity)
    unsafe frequencies = Self.grown(frequencies, frequencyCount, larger)
    unsafe frequencyCapacity = larger
  }

  @inline(never) private func growGaps(_ added: Int) {
    let larger = unsafe max(gapCount + added, 2 * gapCapacity)
    unsafe gaps = Self.grown(gaps, gapCount, larger)
    unsafe gapCapacity = larger
  }

  private static func grown(
    _ numbers: UnsafeMutablePointer<UInt64>, _ count: Int, _ capacity: Int
  ) -> UnsafeMutablePointer<UInt64> {
    let grown = UnsafeMutablePointer<UInt64>.allocate(capacity: capacity)
    unsafe grown.update(from: numbers, count: count)
    unsafe numbers.deallocate()
    return unsafe grown
  }
}
