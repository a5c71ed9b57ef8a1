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
struct PostingList {
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
}
