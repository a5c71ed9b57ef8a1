// The rows that commit: lone rows, batches, several threads, with and without waiting for the disk.

internal import Synchronization

var commitRows: [BenchmarkRow] {
  [
    BenchmarkRow(
      .commit, "commit", unit: "× raw",
      "Durable transactions of one new row, timed one by one, as a multiple of a bare 256-byte write with a flush.",
      measure: measureCommits),
    BenchmarkRow(
      .commit, "commit-4-threads", unit: "µs/commit", "The same from four threads at once, each waiting for its own.",
      measure: measureThreadedCommits),
    BenchmarkRow(
      .commit, "batch-put", unit: "µs/row", "Durable transactions of 1000 new rows each.", measure: measureBatches),
    BenchmarkRow(
      .commit, "relaxed-commit", unit: "µs/commit",
      "Transactions of one row that wait for the system only, on a store of their own; the mean.",
      measure: measureRelaxedCommits),
    BenchmarkRow(
      .commit, "relaxed-4-threads", unit: "µs/commit",
      "The same from four threads at once, from the first to the last.", measure: measureThreadedRelaxedCommits),
    BenchmarkRow(
      .commit, "page-faults", unit: "faults/commit",
      "Minor page faults per durable commit of one row, once the store has warmed up.", measure: measurePageFaults),
    BenchmarkRow(
      .commit, "remove-half", unit: "µs/row", "Half of the rows removed, in random order and one transaction.",
      mostRuns: 2, measure: measureRemovals),
    BenchmarkRow(
      .commit, "values-4k", unit: "µs/row", "Durable transactions of 100 new rows with values of 4 KiB.",
      measure: measureLargeValues),
  ]
}

/// Lone commits of one row, timed one by one, in blocks between blocks of bare flushes.
private func measureCommits(_ bench: Bench, _ kind: any StoreUnderTest.Type, run: Int) throws -> Sample {
  let plan = bench.plan
  let loaded = try bench.loadedStore(kind)
  let rows = bench.freshRows(plan.commitBlocks * plan.commitsPerBlock, for: "commit", run: run)
  var commitTimes: [Double] = []
  var rawTimes: [Double] = []
  var diskFlushes: Int? = 0
  var diskBytes: Int? = 0
  var bytesWritten: Int? = 0
  let engineFlushes = loaded.store.flushes
  for block in 0..<plan.commitBlocks {
    for _ in 0..<plan.commitsPerBlock { rawTimes.append(try microseconds { try bench.raw.commit() }) }
    let (flushes, written) = (bench.disk?.flushes(), bench.disk?.bytesWritten())
    let bytes = ProcessCounters.bytesWritten()
    for index in (block * plan.commitsPerBlock)..<((block + 1) * plan.commitsPerBlock) {
      // One call through the protocol, some nanoseconds, in what takes a hundred microseconds.
      commitTimes.append(try microseconds { try loaded.store.put(rows, index..<(index + 1), perTransaction: 1) })
    }
    bytesWritten = sum(bytesWritten, difference(ProcessCounters.bytesWritten(), bytes))
    diskFlushes = sum(diskFlushes, difference(bench.disk?.flushes(), flushes))
    diskBytes = sum(diskBytes, difference(bench.disk?.bytesWritten(), written))
  }
  loaded.contents.add(rows.contents)
  let own = difference(loaded.store.flushes.map { Int($0) }, engineFlushes.map { Int($0) })
  let (value, rawValue) = (median(commitTimes), median(rawTimes))
  return Sample(
    value: value / rawValue,
    notes: [
      Note("µs", value), Note("raw µs", rawValue), Note("µs at 99 %", quantile(commitTimes, 0.99)),
    ] + note("flushes/commit (disk)", diskFlushes, per: rows.count)
      + note("flushes/commit (store)", own, per: rows.count)
      + note("bytes written/commit", bytesWritten, per: rows.count)
      + note("bytes of the disk/commit", diskBytes, per: rows.count))
}

/// Lone commits of several threads, on the wall from the first to the last.
private func measureThreadedCommits(_ bench: Bench, _ kind: any StoreUnderTest.Type, run: Int) throws -> Sample {
  let threads = 4
  let perThread = bench.plan.commitsPerThread
  let loaded = try bench.loadedStore(kind)
  let store = loaded.store
  let rows = bench.freshRows(threads * perThread, for: "commit-4-threads", run: run)
  let flushes = bench.disk?.flushes()
  let start = Clocks.wall()
  try onThreads(threads) { thread in
    try store.put(rows, (thread * perThread)..<((thread + 1) * perThread), perTransaction: 1)
  }
  let time = Clocks.wall() - start
  let flushed = difference(bench.disk?.flushes(), flushes)
  loaded.contents.add(rows.contents)
  return Sample(
    value: Double(time) / Double(rows.count) / 1000,
    notes: note("flushes/commit (disk)", flushed, per: rows.count))
}

private func measureBatches(_ bench: Bench, _ kind: any StoreUnderTest.Type, run: Int) throws -> Sample {
  let plan = bench.plan
  let rows = bench.freshRows(plan.batchTransactions * plan.batchRows, for: "batch-put", run: run)
  let loaded = try bench.loadedStore(kind)
  try bench.provideMemory()
  let sample = try measurePuts(rows, perTransaction: plan.batchRows, loaded.store)
  loaded.contents.add(rows.contents)
  return sample
}

private func measureLargeValues(_ bench: Bench, _ kind: any StoreUnderTest.Type, run: Int) throws -> Sample {
  let rows = bench.largeRows
  try bench.provideMemory()
  return try bench.withEmptyStore(kind) { store, _ in
    let sample = try measurePuts(rows, perTransaction: 100, store)
    let found = try store.scan()
    try expect(found == rows.contents, "\(kind.name) holds \(found) instead of \(rows.contents)")
    return sample
  }
}

/// A plain put loop, up to the last commit.
func measurePuts(_ rows: RowBlock, perTransaction: Int, _ store: any StoreUnderTest) throws -> Sample {
  let bytes = ProcessCounters.bytesWritten()
  let processor = Clocks.process()
  let start = Clocks.wall()
  try store.put(rows, 0..<rows.count, perTransaction: perTransaction)
  let time = Clocks.wall() - start
  let busy = Clocks.process() - processor
  return Sample(
    value: Double(time) / Double(rows.count) / 1000,
    notes: [Note("µs on cores/row", Double(busy) / Double(rows.count) / 1000)]
      + note("bytes written/row", difference(ProcessCounters.bytesWritten(), bytes), per: rows.count))
}

/// Commits that survive the process only. The mean counts what a commit leaves for later ones to pay.
private func measureRelaxedCommits(_ bench: Bench, _ kind: any StoreUnderTest.Type, run: Int) throws -> Sample {
  try bench.withEmptyStore(kind, .relaxed) { store, _ in
    let loaded = bench.freshRows(bench.plan.loadBatch, for: "relaxed-loaded", run: run)
    try store.put(loaded, 0..<loaded.count, perTransaction: loaded.count)
    let rows = bench.freshRows(bench.plan.relaxedCommits, for: "relaxed-commit", run: run)
    try bench.provideMemory()
    let bytes = ProcessCounters.bytesWritten()
    var times: [Double] = []
    times.reserveCapacity(rows.count)
    for index in 0..<rows.count {
      times.append(try microseconds { try store.put(rows, index..<(index + 1), perTransaction: 1) })
    }
    let written = difference(ProcessCounters.bytesWritten(), bytes)
    var expected = loaded.contents
    expected.add(rows.contents)
    let found = try store.scan()
    try expect(found == expected, "\(kind.name) holds \(found) instead of \(expected)")
    return Sample(
      value: times.reduce(0, +) / Double(times.count),
      notes: [Note("µs median", median(times)), Note("µs at 99.9 %", quantile(times, 0.999))]
        + note("bytes written/commit", written, per: rows.count))
  }
}

/// Relaxed commits of several threads without a pause, on the wall from the first to the last: how the lock of the
/// writers passes from thread to thread.
private func measureThreadedRelaxedCommits(_ bench: Bench, _ kind: any StoreUnderTest.Type, run: Int) throws -> Sample {
  let threads = 4
  return try bench.withEmptyStore(kind, .relaxed) { store, _ in
    let loaded = bench.freshRows(bench.plan.loadBatch, for: "relaxed-threads-loaded", run: run)
    try store.put(loaded, 0..<loaded.count, perTransaction: loaded.count)
    let perThread = bench.plan.relaxedCommits
    let rows = bench.freshRows(threads * perThread, for: "relaxed-4-threads", run: run)
    try bench.provideMemory()
    let start = Clocks.wall()
    try onThreads(threads) { thread in
      try store.put(rows, (thread * perThread)..<((thread + 1) * perThread), perTransaction: 1)
    }
    let time = Clocks.wall() - start
    var expected = loaded.contents
    expected.add(rows.contents)
    let found = try store.scan()
    try expect(found == expected, "\(kind.name) holds \(found) instead of \(expected)")
    return Sample(value: Double(time) / Double(rows.count) / 1000)
  }
}

private func measureRemovals(_ bench: Bench, _ kind: any StoreUnderTest.Type, run: Int) throws -> Sample {
  try bench.withEmptyStore(kind) { store, _ in
    let rows = bench.rows
    try store.put(rows, 0..<rows.count, perTransaction: bench.plan.loadBatch)
    try bench.provideMemory()
    let half = rows.count / 2
    let bytes = ProcessCounters.bytesWritten()
    let time = try microseconds { try store.remove(rows, 0..<half) }
    let written = difference(ProcessCounters.bytesWritten(), bytes)
    let left = try store.count()
    try expect(left == rows.count - half, "\(kind.name) holds \(left) rows instead of \(rows.count - half)")
    return Sample(value: time / Double(half), notes: note("bytes written/row", written, per: half))
  }
}

private func measurePageFaults(_ bench: Bench, _ kind: any StoreUnderTest.Type, run: Int) throws -> Sample {
  let plan = bench.plan
  let loaded = try bench.loadedStore(kind)
  let lone = try faults(bench, loaded, transactions: plan.faultCommits, rows: 1, run: run)
  let batch = try faults(bench, loaded, transactions: plan.faultBatches, rows: plan.batchRows, run: run)
  return Sample(value: lone, notes: [Note("faults per \(plan.batchRows)-row commit", batch)])
}

/// Minor page faults per transaction, once as many transactions have gone before as are then counted.
private func faults(
  _ bench: Bench, _ loaded: LoadedStore, transactions: Int, rows perTransaction: Int, run: Int
) throws -> Double {
  let name = "page-faults-\(perTransaction)"
  let warmUp = bench.freshRows(transactions * perTransaction, for: name, run: 2 * run)
  try loaded.store.put(warmUp, 0..<warmUp.count, perTransaction: perTransaction)
  loaded.contents.add(warmUp.contents)
  let rows = bench.freshRows(transactions * perTransaction, for: name, run: 2 * run + 1)
  // The rows' own memory is touched before, so that only the store's is counted.
  let added = rows.contents
  let before = ProcessCounters.minorFaults()
  try loaded.store.put(rows, 0..<rows.count, perTransaction: perTransaction)
  let count = ProcessCounters.minorFaults() - before
  loaded.contents.add(added)
  return Double(count) / Double(transactions)
}

/// How long `body` takes on the wall.
@inline(__always) func microseconds(_ body: () throws -> Void) rethrows -> Double {
  let start = Clocks.wall()
  try body()
  return Double(Clocks.wall() - start) / 1000
}
