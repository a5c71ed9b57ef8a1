// The rows that write, each transaction durable.

var writeRows: [BenchmarkRow] {
  [
    load("load", rowsPerTransaction: { $0.loadBatch }),
    load("load-one-transaction", rowsPerTransaction: { $0.count }),
    BenchmarkRow("batch-put", unit: "µs/row") { bench, kind, run in
      let plan = bench.plan
      let rows = bench.freshRows(plan.batchTransactions * plan.batchRows, for: "batch-put", run: run)
      let loaded = try bench.loadedStore(kind)
      let bytes = ProcessCounters.bytesWritten()
      let start = Clocks.wall()
      try loaded.store.put(rows, 0..<rows.count, perTransaction: plan.batchRows)
      let time = Clocks.wall() - start
      let written = difference(ProcessCounters.bytesWritten(), bytes)
      loaded.contents.add(rows.contents)
      return Sample(
        value: Double(time) / Double(rows.count) / 1000,
        notes: note("bytes written/row", written.map { Double($0) / Double(rows.count) }))
    },
    BenchmarkRow("commit", unit: "µs", measure: measureCommits),
    BenchmarkRow("page-faults", unit: "faults/commit") { bench, kind, run in
      let loaded = try bench.loadedStore(kind)
      let lone = try faults(bench, loaded, transactions: bench.plan.faultCommits, rows: 1, run: run)
      let batch = try faults(bench, loaded, transactions: bench.plan.faultBatches, rows: bench.plan.batchRows, run: run)
      return Sample(value: lone, notes: [Note("faults per \(bench.plan.batchRows)-row commit", batch)])
    },
  ]
}

/// A plain put loop into an empty store, up to the last commit; closing is not part of it.
private func load(_ name: String, rowsPerTransaction: @escaping (Plan) -> Int) -> BenchmarkRow {
  BenchmarkRow(name, unit: "µs/row") { bench, kind, _ in
    try bench.withEmptyStore(kind) { store in
      let bytes = ProcessCounters.bytesWritten()
      let start = Clocks.wall()
      try store.put(bench.rows, 0..<bench.rows.count, perTransaction: rowsPerTransaction(bench.plan))
      let time = Clocks.wall() - start
      let written = difference(ProcessCounters.bytesWritten(), bytes)
      return Sample(
        value: Double(time) / Double(bench.rows.count) / 1000,
        notes: note("bytes written/row", written.map { Double($0) / Double(bench.rows.count) }))
    }
  }
}

/// Lone commits of one row, timed one by one, in blocks between blocks of bare flushes.
private func measureCommits(_ bench: Bench, _ kind: any StoreUnderTest.Type, run: Int) throws -> Sample {
  let plan = bench.plan
  let loaded = try bench.loadedStore(kind)
  let rows = bench.freshRows(plan.commitBlocks * plan.commitsPerBlock, for: "commit", run: run)
  var commitTimes: [Double] = []
  var rawTimes: [Double] = []
  var diskFlushes: Int? = 0
  var bytesWritten: Int? = 0
  let engineFlushes = loaded.store.flushes
  for block in 0..<plan.commitBlocks {
    for _ in 0..<plan.commitsPerBlock {
      let start = Clocks.wall()
      try bench.raw.commit()
      rawTimes.append(Double(Clocks.wall() - start) / 1000)
    }
    let flushes = bench.disk?.flushes()
    let bytes = ProcessCounters.bytesWritten()
    for index in (block * plan.commitsPerBlock)..<((block + 1) * plan.commitsPerBlock) {
      // One call through the protocol, some nanoseconds, in what takes a hundred microseconds.
      let start = Clocks.wall()
      try loaded.store.put(rows, index..<(index + 1), perTransaction: 1)
      commitTimes.append(Double(Clocks.wall() - start) / 1000)
    }
    bytesWritten = sum(bytesWritten, difference(ProcessCounters.bytesWritten(), bytes))
    diskFlushes = sum(diskFlushes, difference(bench.disk?.flushes(), flushes))
  }
  loaded.contents.add(rows.contents)
  let own = difference(loaded.store.flushes.map { Int($0) }, engineFlushes.map { Int($0) })
  let count = Double(rows.count)
  let value = median(commitTimes)
  let rawValue = median(rawTimes)
  return Sample(
    value: value,
    notes: [Note("× raw", value / rawValue), Note("raw µs", rawValue)]
      + note("flushes/commit (disk)", diskFlushes.map { Double($0) / count })
      + note("flushes/commit (store)", own.map { Double($0) / count })
      + note("bytes written/commit", bytesWritten.map { Double($0) / count }))
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

private func difference(_ after: Int?, _ before: Int?) -> Int? {
  guard let after, let before else { return nil }
  return after - before
}

private func sum(_ left: Int?, _ right: Int?) -> Int? {
  guard let left, let right else { return nil }
  return left + right
}

/// A note, if its value is known.
private func note(_ name: String, _ value: Double?) -> [Note] {
  value.map { [Note(name, $0)] } ?? []
}
