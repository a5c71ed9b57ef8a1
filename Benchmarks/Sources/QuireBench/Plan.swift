// The sizes of a run.

/// How much of everything is measured.
struct Plan: Codable {
  /// One is the table as it stands in the documentation; the sizes below follow it.
  let scale: Double
  /// Rows in the loaded store.
  var count: Int
  /// How often each row of the table is measured for each store, but for rows that say otherwise.
  var runs = 3
  var seed: UInt64 = 1
  /// Given to every store that keeps pages or blocks in memory itself.
  var cacheSize = 512 << 20
  /// The cache where there is little memory, in whole MiB: a store takes what it has been given, and how little is
  /// enough shows only there.
  var smallCacheSize: Int { max(1 << 20, cacheSize / 8) }
  /// Whether stores may tidy their files when they have nothing else to do.
  var tidiesWhenIdle = true
  /// How long a measurement waits for the stores' own threads to come to rest before it begins.
  var quietMilliseconds = 20_000
  /// How much memory the machine is made to have at hand before a measurement that needs fresh memory: more than the
  /// cache, the rows and what any store writes meanwhile. 0: what is there is what is there.
  var memoryAtHand: Int
  /// Rows per transaction while loading.
  var loadBatch: Int
  /// Keys looked up in rows that get.
  var lookups: Int
  var rangeReads: Int
  var batchTransactions: Int
  var batchRows = 1000
  /// Rows in the log when the store is opened after a crash.
  var recoveryRows: Int
  /// Lone commits are timed in blocks that alternate with as many bare flushes.
  var commitBlocks: Int
  var commitsPerBlock = 50
  /// Lone commits of each thread where several commit at once.
  var commitsPerThread: Int
  var relaxedCommits: Int
  /// Commits before and while page faults are counted, and transactions of `batchRows` rows likewise.
  var faultCommits: Int
  var faultBatches: Int
  /// Rows of 4 KiB.
  var largeRows: Int
  /// How long readers are watched beside a writer.
  var mixedMilliseconds: Int
  /// Rows per transaction of that writer.
  var mixedRows = 100
  /// Commits while a reader stays open.
  var pinnedCommits: Int
  /// Rows that these commits change.
  var pinnedRows: Int

  init(scale: Double = 1) {
    func scaled(_ value: Double, atLeast least: Int) -> Int { max(least, Int(value * scale)) }
    self.scale = scale
    count = scaled(1_000_000, atLeast: 1_000)
    memoryAtHand = scaled(2_147_483_648, atLeast: 16 << 20)
    loadBatch = scaled(100_000, atLeast: 500)
    lookups = scaled(250_000, atLeast: 1_000)
    rangeReads = scaled(100_000, atLeast: 200)
    batchTransactions = scaled(100, atLeast: 3)
    recoveryRows = scaled(295_000, atLeast: 1_000)
    commitBlocks = min(10, scaled(20, atLeast: 2))
    commitsPerThread = min(250, scaled(500, atLeast: 20))
    relaxedCommits = scaled(20_000, atLeast: 200)
    faultCommits = min(500, scaled(1_000, atLeast: 20))
    faultBatches = scaled(20, atLeast: 2)
    largeRows = scaled(25_000, atLeast: 200)
    mixedMilliseconds = min(1_000, scaled(2_000, atLeast: 50))
    pinnedCommits = scaled(1_000_000, atLeast: 1_000)
    pinnedRows = scaled(10_000, atLeast: 500)
  }

  /// Sizes for a look at whether everything works: no figure of such a run means anything.
  static var check: Plan {
    var plan = Plan(scale: 0)
    (plan.runs, plan.cacheSize, plan.batchRows, plan.commitsPerBlock) = (2, 16 << 20, 100, 3)
    (plan.faultCommits, plan.mixedRows, plan.quietMilliseconds) = (5, 10, 0)
    return plan
  }
}
