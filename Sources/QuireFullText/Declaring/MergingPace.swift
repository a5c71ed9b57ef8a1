// How postings that come by themselves get into long lists.

internal import QuireDatabase

/// How much is folded into the blocks, and when.
///
/// A posting that comes is put into "recent", for one entry of a tree. Folding costs about the same for one entry of a
/// term as for many, and so it waits until there are some: a term of many rows has its turn by itself, as soon as one
/// of so many postings that come finds that there are enough; and where "recent" as a whole has more than it should,
/// all terms have their turn, one behind the other, a few with each commit.
struct MergingPace: Hashable, Sendable {
  /// From so many changes of one term on that are stored together, they are folded into its blocks at once.
  var foldedCount = 8
  /// From so many entries of a term in "recent" on, a posting that comes may have all of them folded: about one and a
  /// half times as many it has at the most.
  var recentTermCount = 64
  /// So many entries "recent" may have before all terms are folded in turn. The more there are, the more of one term
  /// are folded together.
  var leastRecentCount = 1 << 16
  /// The same, however many rows there are.
  var mostRecentCount = 1 << 18

  /// One of so many blocks that lose postings has its limits made anew, by the lengths of all of its rows.
  var renewedShare = 8

  /// So many entries a commit folds at the least, if it folds some.
  var leastSliceCount = 64
  /// So many a small commit folds at the most.
  var mostSliceCount = 256

  /// How many entries "recent" may have beside rows of this length in all.
  func recentCount(totalLength: UInt64) -> Int {
    // One for each hundred tokens: about one of fifty postings.
    max(leastRecentCount, min(mostRecentCount, Int(clamping: totalLength / 100)))
  }

  /// How many entries a commit folds that has brought `written` to "recent", where that has `excess` more than it
  /// should. A few wait for more, as a slice has a cost of its own. What a long text has brought is left to the small
  /// commits behind it, which fold more than they bring; only where too much has come together a commit pays for twice
  /// what it has brought.
  func foldedCount(excess: Int, written: Int) -> Int {
    guard excess >= leastSliceCount else { return 0 }
    return min(excess, excess > leastRecentCount / 8 ? max(mostSliceCount, 2 * written) : mostSliceCount)
  }

  /// Whether a posting that comes has the entries of its term counted, and folded if there are enough: one of so many
  /// of the term, others for each term.
  ///
  /// - Parameters:
  ///   - prefix: the first bytes of the term as a number.
  ///   - byteCount: how many bytes the term has.
  @inline(__always) func isChosen(_ prefix: UInt64, _ byteCount: Int, _ row: RowID) -> Bool {
    Self.isOne(of: recentTermCount / 2, prefix &+ UInt64(byteCount), row)
  }

  /// Whether a block with this last row has its limits made anew when it loses the posting of `row`, and more perhaps.
  func isRenewed(_ lastRow: RowID, losing row: RowID) -> Bool { Self.isOne(of: renewedShare, lastRow.ordered, row) }

  /// Whether a row is chosen of so many, other ones for each number.
  @inline(__always) private static func isOne(of count: Int, _ number: UInt64, _ row: RowID) -> Bool {
    var mixed = number &+ UInt64(bitPattern: row.rawValue) &* 0xd6e8_feb8_6659_fd93
    mixed = (mixed ^ mixed >> 32) &* 0x9e37_79b9_7f4a_7c15
    return mixed >> 48 % UInt64(max(1, count)) == 0
  }
}
