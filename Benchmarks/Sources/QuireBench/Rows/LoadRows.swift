// The rows that fill an empty store, up to the last commit; closing is not part of it.

var loadRows: [BenchmarkRow] {
  [
    BenchmarkRow(
      .load, "load", unit: "µs/row", "A plain put loop in random order, 100,000 rows to a durable transaction."
    ) { bench, kind, _ in
      try bench.measureLoad(kind, bench.rows) {
        try measurePuts($1, perTransaction: bench.plan.loadBatch, $0)
      }
    },
    BenchmarkRow(.load, "load-one-transaction", unit: "µs/row", "The same in a single transaction.") { bench, kind, _ in
      try bench.measureLoad(kind, bench.rows) { try measurePuts($1, perTransaction: $1.count, $0) }
    },
    BenchmarkRow(
      .load, "sorted-load", unit: "µs/row", "A plain put loop of ascending keys in a single transaction."
    ) { bench, kind, _ in
      try bench.measureLoad(kind, bench.sortedRows) { try measurePuts($1, perTransaction: $1.count, $0) }
    },
    BenchmarkRow(
      .load, "bulk-load", unit: "µs/row",
      "All rows, given in random order, by the fastest way that the store has; sorting them included."
    ) { bench, kind, _ in
      try bench.measureLoad(kind, bench.rows) { store, rows in
        let bytes = ProcessCounters.bytesWritten()
        let time = try microseconds { try store.load(rows) }
        let written = difference(ProcessCounters.bytesWritten(), bytes)
        return Sample(
          value: time / Double(rows.count), notes: note("bytes written/row", written, per: rows.count))
      }
    },
  ]
}

extension Bench {
  /// Loads all rows into an empty store and looks whether they arrived.
  fileprivate func measureLoad(
    _ kind: any StoreUnderTest.Type, _ rows: RowBlock, _ load: (any StoreUnderTest, RowBlock) throws -> Sample
  ) throws -> Sample {
    // What the block costs at its first use is not the store's.
    try expect(rows.contents == loadedContents, "the rows have changed")
    try provideMemory()
    return try withEmptyStore(kind) { store, _ in
      let sample = try load(store, rows)
      let found = try store.scan()
      try expect(found == loadedContents, "\(kind.name) holds \(found) instead of \(loadedContents)")
      return sample
    }
  }
}
