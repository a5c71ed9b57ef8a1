// What is to become of the postings of one term in the blocks.

internal import QuireDatabase

/// Postings of one term that are void in its blocks, and some that come into them.
///
/// Invariant: both are in the order of rows, each row at most once; a row that is in both has a posting in the blocks,
/// which is replaced.
struct TermChanges {
  var removed: [RowID] = []
  var added = PostingList()

  var isEmpty: Bool { removed.isEmpty && added.count == 0 }
  /// The number of entries that are folded in.
  var count: Int { removed.count + added.count }

  /// Forgets all, and keeps the memory.
  mutating func removeAll() {
    removed.removeAll(keepingCapacity: true)
    added.removeAll()
  }

  /// Takes in what has happened to postings since, in the order of rows.
  ///
  /// - Parameter decode: appends the value of the posting that comes by a change.
  mutating func apply(
    _ changes: ArraySlice<GatheredPostings.Change>,
    _ decode: (GatheredPostings.Change, inout PostingList) throws -> Void
  ) rethrows {
    var (newRemoved, newAdded) = ([RowID](), PostingList())
    newRemoved.reserveCapacity(removed.count + changes.count)
    var (nextRemoved, nextAdded) = (0, 0)
    for change in changes {
      while nextRemoved < removed.count, removed[nextRemoved] < change.row {
        newRemoved.append(removed[nextRemoved])
        nextRemoved += 1
      }
      let kept = added.lowerBound(of: change.row, from: nextAdded)
      newAdded.append(added, in: nextAdded..<kept)
      let wasAdded = kept < added.count && added.rowIDs[kept] == change.row
      nextAdded = wasAdded ? kept + 1 : kept
      if nextRemoved < removed.count, removed[nextRemoved] == change.row {
        newRemoved.append(change.row)
        nextRemoved += 1
      } else if change.goes, !wasAdded {
        // What goes and was not added is in the blocks.
        newRemoved.append(change.row)
      }
      if change.valueCount >= 0 { try decode(change, &newAdded) }
    }
    newRemoved += removed[nextRemoved...]
    newAdded.append(added, in: nextAdded..<added.count)
    (removed, added) = (newRemoved, newAdded)
  }

  /// How the number of the term's postings changes.
  var growth: Int { added.count - removed.count }

  /// Calls `body` for the runs of changes that end at or below a row, from `start` on; returns where the next one
  /// begins.
  func end(_ start: Place, through row: RowID?) -> Place {
    guard let row else { return Place(removed: removed.count, added: added.count) }
    var place = start
    while place.removed < removed.count, removed[place.removed] <= row { place.removed += 1 }
    while place.added < added.count, added.rowIDs[place.added] <= row { place.added += 1 }
    return place
  }

  /// The first row that changes from a place on; nil if there is none.
  func row(at place: Place) -> RowID? {
    let removedRow = place.removed < removed.count ? removed[place.removed] : nil
    let addedRow = place.added < added.count ? added.rowIDs[place.added] : nil
    guard let removedRow, let addedRow else { return removedRow ?? addedRow }
    return min(removedRow, addedRow)
  }

  /// How far changes were folded in.
  struct Place: Hashable {
    var removed = 0
    var added = 0
  }
}

extension PostingList {
  /// Appends the postings of a part of another list, of rows above all others.
  mutating func append(_ other: PostingList, in range: Range<Int>) {
    guard !range.isEmpty else { return }
    assert(rowIDs.last.map { $0 < other.rowIDs[range.lowerBound] } ?? true, "postings are out of order")
    rowIDs += other.rowIDs[range]
    masks += other.masks[range]
    let frequencyStart = other.frequencyRange(range.lowerBound).lowerBound
    let frequencyShift = frequencies.count - frequencyStart
    frequencies += other.frequencies[frequencyStart..<other.frequencyEnds[range.upperBound - 1]]
    for index in range { frequencyEnds.append(other.frequencyEnds[index] + frequencyShift) }
    guard !other.positionEnds.isEmpty else { return }
    let positionStart = other.positionRange(range.lowerBound).lowerBound
    let positionShift = positions.count - positionStart
    positions += other.positions[positionStart..<other.positionEnds[range.upperBound - 1]]
    for index in range { positionEnds.append(other.positionEnds[index] + positionShift) }
  }

  /// The index, not below `first`, of the first row that is not below `row`.
  func lowerBound(of row: RowID, from first: Int) -> Int {
    var (lower, upper) = (first, count)
    // What comes is mostly behind all of them.
    if let last = rowIDs.last, last < row { return count }
    while lower < upper {
      let middle = (lower + upper) / 2
      if rowIDs[middle] < row { lower = middle + 1 } else { upper = middle }
    }
    return lower
  }
}
