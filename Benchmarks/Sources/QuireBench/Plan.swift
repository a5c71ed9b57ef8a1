// The sizes of a run.

/// How much of everything is measured.
struct Plan: Codable {
  /// Rows in the loaded store.
  var count = 1_000_000
  /// How often each row of the table is measured for each store.
  var runs = 5
  var seed: UInt64 = 1
  /// Given to every store that keeps pages in memory itself.
  var cacheSize = 512 << 20
  /// Rows per transaction while loading.
  var loadBatch = 100_000
  var batchTransactions = 100
  var batchRows = 1000
  var rangeReads = 200_000
  /// Rows in the log when the store is opened after a crash.
  var recoveryRows = 295_000
  /// Lone commits are timed in blocks that alternate with as many bare flushes.
  var commitBlocks = 10
  var commitsPerBlock = 50
  /// Commits before and while page faults are counted, and transactions of `batchRows` rows likewise.
  var faultCommits = 500
  var faultBatches = 50

  /// Sizes for a look at whether everything works: no figure of such a run means anything.
  static var check: Plan {
    Plan(
      count: 5_000, runs: 2, cacheSize: 16 << 20, loadBatch: 1_000, batchTransactions: 3, batchRows: 100,
      rangeReads: 500, recoveryRows: 1_000, commitBlocks: 2, commitsPerBlock: 3, faultCommits: 5, faultBatches: 2)
  }
}
