// Postings of one term in memory.

internal import QuireDatabase

/// The fields of a row that have a term, a bit each.
typealias FieldMask = UInt64

/// Postings of one term: which rows have it, how often in which field, and where.
///
/// Invariants:
/// 1. `rowIDs` ascend strictly; `masks`, `frequencyEnds` and, with positions, `positionEnds` have one entry for each.
/// 2. A row has one frequency, at least 1, for each bit of its mask, the lowest bit first.
/// 3. With positions, a row has as many as the sum of its frequencies, field by field, ascending strictly within one.
struct PostingList: Equatable {
  var rowIDs: [RowID] = []
  /// Zero bits are fields without the term.
  var masks: [FieldMask] = []
  /// Of all rows, one behind the other.
  var frequencies: [UInt32] = []
  /// Where the frequencies of each row end.
  var frequencyEnds: [Int] = []
  /// Of all rows, one behind the other; empty where positions are not kept.
  var positions: [UInt32] = []
  /// Where the positions of each row end; empty where positions are not kept.
  var positionEnds: [Int] = []

  var count: Int { rowIDs.count }

  // MARK: Looking

  /// Where the frequencies of a row are.
  func frequencyRange(_ index: Int) -> Range<Int> { (index == 0 ? 0 : frequencyEnds[index - 1])..<frequencyEnds[index] }

  /// Where the positions of a row are; empty where positions are not kept.
  func positionRange(_ index: Int) -> Range<Int> {
    positionEnds.isEmpty ? 0..<0 : (index == 0 ? 0 : positionEnds[index - 1])..<positionEnds[index]
  }

  /// The sum of a row's frequencies.
  func totalFrequency(_ index: Int) -> Int {
    var sum = 0
    for place in frequencyRange(index) { sum += Int(frequencies[place]) }
    return sum
  }

  /// The index of the first row that is not below `row`.
  func lowerBound(of row: RowID) -> Int {
    var (lower, upper) = (0, count)
    while lower < upper {
      let middle = (lower + upper) / 2
      if rowIDs[middle] < row { lower = middle + 1 } else { upper = middle }
    }
    return lower
  }

  /// Whether the posting at `index` is the same, row aside, as one of another list.
  func hasSamePosting(at index: Int, as other: PostingList, at otherIndex: Int) -> Bool {
    masks[index] == other.masks[otherIndex]
      && frequencies[frequencyRange(index)] == other.frequencies[other.frequencyRange(otherIndex)]
      && positions[positionRange(index)] == other.positions[other.positionRange(otherIndex)]
  }

  // MARK: Changing

  /// Forgets all, and keeps the memory.
  mutating func removeAll() {
    rowIDs.removeAll(keepingCapacity: true)
    masks.removeAll(keepingCapacity: true)
    frequencies.removeAll(keepingCapacity: true)
    frequencyEnds.removeAll(keepingCapacity: true)
    positions.removeAll(keepingCapacity: true)
    positionEnds.removeAll(keepingCapacity: true)
  }

  /// Takes the last posting away.
  mutating func removeLast() {
    frequencies.removeSubrange(frequencyRange(count - 1))
    positions.removeSubrange(positionRange(count - 1))
    rowIDs.removeLast()
    masks.removeLast()
    frequencyEnds.removeLast()
    if !positionEnds.isEmpty { positionEnds.removeLast() }
  }

  /// Appends a posting of a row above all others.
  ///
  /// - Parameter positions: nil where they are not kept.
  mutating func append(
    _ row: RowID, mask: FieldMask, frequencies: some Collection<UInt32>, positions: (some Collection<UInt32>)?
  ) {
    assert(rowIDs.last.map { $0 < row } ?? true, "postings are out of order")
    assert(mask.nonzeroBitCount == frequencies.count && mask != 0, "a mask and its frequencies differ")
    rowIDs.append(row)
    masks.append(mask)
    self.frequencies += frequencies
    frequencyEnds.append(self.frequencies.count)
    guard let positions else { return }
    assert(positions.count == frequencies.reduce(0) { $0 + Int($1) }, "a posting lacks positions")
    self.positions += positions
    positionEnds.append(self.positions.count)
  }

  /// Appends a posting of a row above all others without positions.
  mutating func append(_ row: RowID, mask: FieldMask, frequencies: some Collection<UInt32>) {
    append(row, mask: mask, frequencies: frequencies, positions: [UInt32]?.none)
  }

  /// Appends the posting at `index` of another list, of a row above all others.
  mutating func append(_ other: PostingList, at index: Int) {
    append(
      other.rowIDs[index], mask: other.masks[index], frequencies: other.frequencies[other.frequencyRange(index)],
      positions: other.positionEnds.isEmpty ? nil : other.positions[other.positionRange(index)])
  }

  /// The postings at some indexes.
  func part(_ range: Range<Int>) -> PostingList {
    var part = PostingList()
    for index in range { part.append(self, at: index) }
    return part
  }

  /// The postings of `self` without those of some rows and with all of `added`, which stand in place of those of the
  /// same rows.
  ///
  /// - Parameter removed: in ascending order.
  func merged(without removed: [RowID], with added: PostingList) -> PostingList {
    var merged = PostingList()
    var (old, gone, new) = (0, 0, 0)
    while old < count || new < added.count {
      if new < added.count, old == count || added.rowIDs[new] <= rowIDs[old] {
        if old < count, added.rowIDs[new] == rowIDs[old] { old += 1 }
        merged.append(added, at: new)
        new += 1
        continue
      }
      while gone < removed.count, removed[gone] < rowIDs[old] { gone += 1 }
      if gone == removed.count || removed[gone] != rowIDs[old] { merged.append(self, at: old) }
      old += 1
    }
    return merged
  }
}
