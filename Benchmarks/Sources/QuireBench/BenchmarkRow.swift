// A row of the table, what it measures, and the rows there are.

/// One measurement.
struct Sample: Codable {
  /// In the unit of the row.
  var value: Double
  /// What was counted beside it; the same names in every run.
  var notes: [Note] = []
}

/// Something counted beside what a row measures.
struct Note: Codable {
  let name: String
  let value: Double

  init(_ name: String, _ value: Double) {
    self.name = name
    self.value = value
  }
}

/// A part of the table, with a plot of its own.
enum RowGroup: String, Codable, CaseIterable {
  case load
  case commit
  case read
  case concurrency
  case space

  /// What stands above the plot.
  var title: String {
    switch self {
    case .load: "Loading"
    case .commit: "Committing"
    case .read: "Reading"
    case .concurrency: "Several threads"
    case .space: "Files, memory, opening"
    }
  }
}

/// A row of the table.
struct BenchmarkRow {
  let group: RowGroup
  let name: String
  let unit: String
  /// What is measured, in one line.
  let summary: String
  let higherIsBetter: Bool
  /// How often it is measured at most: once where what is counted hardly varies and takes long.
  let mostRuns: Int
  /// Whether it takes so long that only those who name it get it.
  let isLong: Bool
  /// Brings a store into the state that the row starts from; not timed.
  let prepare: (Bench, any StoreUnderTest.Type) throws -> Void
  /// Measures a store once.
  let measure: (Bench, any StoreUnderTest.Type, _ run: Int) throws -> Sample

  init(
    _ group: RowGroup, _ name: String, unit: String, _ summary: String, higherIsBetter: Bool = false,
    mostRuns: Int = .max, isLong: Bool = false,
    prepare: @escaping (Bench, any StoreUnderTest.Type) throws -> Void = { _, _ in },
    measure: @escaping (Bench, any StoreUnderTest.Type, Int) throws -> Sample
  ) {
    self.group = group
    self.name = name
    self.unit = unit
    self.summary = summary
    self.higherIsBetter = higherIsBetter
    self.mostRuns = mostRuns
    self.isLong = isLong
    self.prepare = prepare
    self.measure = measure
  }

  /// All rows: those that read, then those that add as many rows to the loaded stores for each of them, then those with
  /// a writer beside readers, and those with stores of their own.
  static var all: [BenchmarkRow] { readRows + commitRows + concurrencyRows + loadRows + spaceRows }

  /// The line that `--list` prints.
  var line: String {
    let padded = name + String(repeating: " ", count: max(0, 20 - name.count))
    return "\(padded) \(unit): \(summary)\(isLong ? " Only when named." : "")"
  }
}

/// What a row gave for one store.
struct RowResult: Codable {
  let group: RowGroup
  let row: String
  let unit: String
  let summary: String
  let store: String
  let higherIsBetter: Bool
  /// In the order of the runs.
  let samples: [Sample]
  let median: Double
  let lowest: Double
  let highest: Double
  /// The median of each note.
  let notes: [Note]

  init(_ row: BenchmarkRow, store: String, samples: [Sample]) {
    group = row.group
    self.row = row.name
    unit = row.unit
    summary = row.summary
    higherIsBetter = row.higherIsBetter
    self.store = store
    self.samples = samples
    let values = samples.map(\.value)
    median = QuireBench.median(values)
    lowest = values.min() ?? 0
    highest = values.max() ?? 0
    let names = samples.first?.notes.map(\.name) ?? []
    notes = names.map { name in
      Note(name, QuireBench.median(samples.flatMap(\.notes).filter { $0.name == name }.map(\.value)))
    }
  }
}

/// The value in the middle; the mean of the two in the middle for an even count, 0 for none.
func median(_ values: [Double]) -> Double { quantile(values, 0.5) }

/// The value below which this share of all lie, between neighbours in proportion; 0 for none.
func quantile(_ values: [Double], _ share: Double) -> Double {
  guard !values.isEmpty else { return 0 }
  let sorted = values.sorted()
  let place = share * Double(sorted.count - 1)
  let below = Int(place)
  let above = min(below + 1, sorted.count - 1)
  return sorted[below] + (sorted[above] - sorted[below]) * (place - Double(below))
}

/// Measures `row` for all of `stores`, alternating, so that what the machine does meanwhile falls on all alike.
func measure(
  _ row: BenchmarkRow, _ stores: [any StoreUnderTest.Type], in bench: Bench
) throws -> [RowResult] {
  let stores = stores.filter { !$0.skippedRows.contains(row.name) }
  for store in stores { try row.prepare(bench, store) }
  var samples = [[Sample]](repeating: [], count: stores.count)
  for run in 0..<min(bench.plan.runs, row.mostRuns) {
    for turn in stores.indices {
      // Who goes first changes from run to run.
      let index = (turn + run) % stores.count
      bench.awaitQuiet()
      samples[index].append(try row.measure(bench, stores[index], run))
      if row.group == .commit || row.group == .concurrency { bench.noteCommits(stores[index]) }
    }
  }
  return stores.indices.map { RowResult(row, store: stores[$0].name, samples: samples[$0]) }
}
