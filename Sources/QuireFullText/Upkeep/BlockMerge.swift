// What a block becomes by changes.

internal import QuireDatabase

/// Which postings a block has after changes: runs of those that it had, and of those that come.
///
/// Invariant: the rows of the runs ascend, and the runs have `count` postings together.
struct BlockMerge {
  /// Where postings come from.
  enum Source {
    case block
    case changes
    /// A neighbour that is taken in.
    case neighbour
  }

  /// Postings that follow each other in what they come from.
  struct Run {
    let source: Source
    let range: Range<Int>
  }

  private(set) var runs: [Run] = []
  /// The number of postings.
  private(set) var count = 0

  private mutating func append(_ source: Source, _ range: Range<Int>) {
    if range.isEmpty { return }
    runs.append(Run(source: source, range: range))
    count += range.count
  }

  /// Finds what becomes of a block.
  ///
  /// - Parameters:
  ///   - rows: those of the block; none if there is no block.
  ///   - changes: of the term, of which those from `start` to `end` are of these rows, or beside them.
  /// - Throws: `FullTextError.damaged` if the changes are none of this block.
  mutating func plan(
    _ rows: UnsafeBufferPointer<RowID>, _ changes: TermChanges, _ start: TermChanges.Place, _ end: TermChanges.Place,
    _ trees: FullTextTrees, _ term: [UInt8]
  ) throws {
    runs.removeAll(keepingCapacity: true)
    count = 0
    var place = start
    // What stays was taken up to here.
    var kept = 0
    while place != end {
      let removed = place.removed < end.removed ? changes.removed[place.removed] : nil
      let added = place.added < end.added ? changes.added.rowIDs[place.added] : nil
      let row = min(removed ?? RowID(.max), added ?? RowID(.max))
      let next = unsafe Self.lowerBound(of: row, in: rows, from: kept)
      append(.block, kept..<next)
      kept = next
      let isThere = unsafe next < rows.count && rows[next] == row
      guard isThere == (removed == row) else {
        throw trees.damaged(
          FullTextTrees.recentName, removed == row ? TermKeys.removed(term, row) : TermKeys.added(term, row),
          isThere ? "a posting was added that the blocks have" : "a posting is void that the blocks do not have")
      }
      if isThere {
        kept += 1
        place.removed += 1
      }
      guard added == row else { continue }
      // Neighbours that come together go in together.
      var behind = place.added + 1
      let bound = unsafe min(
        kept < rows.count ? rows[kept] : RowID(.max),
        place.removed < end.removed ? changes.removed[place.removed] : RowID(.max))
      while behind < end.added, changes.added.rowIDs[behind] < bound { behind += 1 }
      append(.changes, place.added..<behind)
      place.added = behind
    }
    append(.block, kept..<rows.count)
  }

  /// Takes a neighbour in, which is whole.
  mutating func join(_ neighbour: DecodedBlock, isBehind: Bool) {
    let run = Run(source: .neighbour, range: 0..<neighbour.count)
    runs.insert(run, at: isBehind ? runs.count : 0)
    count += neighbour.count
  }

  /// The index, not below `first`, of the first row that is not below `row`.
  private static func lowerBound(of row: RowID, in rows: UnsafeBufferPointer<RowID>, from first: Int) -> Int {
    // What comes is mostly behind all of them.
    if let last = unsafe rows.last, last < row { return rows.count }
    var (lower, upper) = (first, rows.count)
    while lower < upper {
      let middle = (lower + upper) / 2
      if unsafe rows[middle] < row { lower = middle + 1 } else { upper = middle }
    }
    return lower
  }
}
