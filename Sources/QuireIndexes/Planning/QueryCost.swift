// What a query has read.

/// Counts what is read for one run of a query: how good a plan was can be told by it, and nothing else depends on it.
final class QueryCost {
  /// Entries of indexes that were walked.
  var entries = 0
  /// Rows, or their records, that were tested or sorted by.
  var rows = 0

  /// All together, in rows: an entry is a part of one, as the planner has it.
  var reads: Int { rows + entries / Planner.entriesPerTest }
}
