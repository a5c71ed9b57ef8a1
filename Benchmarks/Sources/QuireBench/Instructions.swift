// One measured section, run once between two marks that a profiler can find: see `count-instructions`.

/// What a section does.
enum MeasuredSection: String, CaseIterable {
  /// Gets every loaded key once.
  case get
  /// Puts as many new rows as a batch row of the table, in transactions of the same size.
  case put

  /// Loads `kind`, runs the section once and returns how many operations that were.
  func run(_ bench: Bench, _ kind: any StoreUnderTest.Type) throws -> Int {
    let loaded = try bench.loadedStore(kind)
    switch self {
    case .get:
      let total = try measuredSection { try loaded.store.sumOfValues(of: bench.keys, 0..<bench.keys.count) }
      try expect(total == loaded.contents.sum, "\(kind.name) gave wrong values")
      return bench.keys.count
    case .put:
      let transactions = min(bench.plan.batchTransactions, 20)
      let rows = bench.freshRows(transactions * bench.plan.batchRows, for: "instructions", run: 0)
      try measuredSection { try loaded.store.put(rows, 0..<rows.count, perTransaction: bench.plan.batchRows) }
      loaded.contents.add(rows.contents)
      return rows.count
    }
  }
}

/// The section itself. Its name is what the profiler waits for, so it must stay a function of its own.
@inline(never)
func measuredSection<Result>(_ body: () throws -> Result) rethrows -> Result { try body() }
