// What is to become of the postings of one term in the blocks.

internal import QuireDatabase

/// Postings of one term that are void in its blocks, and some that come into them.
///
/// Invariant: both are in the order of rows, each row at most once; a row that is in both has a posting in the blocks,
/// which is replaced.
struct TermChanges {
  var removed: [RowID] = []
  var added = EncodedPostings()

  var isEmpty: Bool { removed.isEmpty && added.count == 0 }
  /// The number of entries that are folded in.
  var count: Int { removed.count + added.count }

  /// Forgets all, and keeps the memory.
  mutating func removeAll() {
    removed.removeAll(keepingCapacity: true)
    added.removeAll()
  }

  /// Takes in what has happened to postings since.
  ///
  /// - Parameters:
  ///   - changes: of the term, in the order of rows.
  ///   - gathered: what they are part of.
  mutating func apply(_ changes: ArraySlice<GatheredPostings.Change>, of gathered: GatheredPostings) {
    var (newRemoved, newAdded) = ([RowID](), EncodedPostings())
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
      if change.valueCount >= 0 { gathered.withValue(change) { newAdded.append(change.row, $0) } }
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
