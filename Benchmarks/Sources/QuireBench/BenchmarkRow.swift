// A row of the table, what it measures, and the rows there are.

/// One measurement.
struct Sample {
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

/// A row of the table.
struct BenchmarkRow {
  let name: String
  let unit: String
  let higherIsBetter: Bool
  /// Brings a store into the state that the row starts from; not timed.
  let prepare: (Bench, any StoreUnderTest.Type) throws -> Void
  /// Measures a store once.
  let measure: (Bench, any StoreUnderTest.Type, _ run: Int) throws -> Sample

  init(
    _ name: String, unit: String, higherIsBetter: Bool = false,
    prepare: @escaping (Bench, any StoreUnderTest.Type) throws -> Void = { _, _ in },
    measure: @escaping (Bench, any StoreUnderTest.Type, Int) throws -> Sample
  ) {
    self.name = name
    self.unit = unit
    self.higherIsBetter = higherIsBetter
    self.prepare = prepare
    self.measure = measure
  }

  /// All rows, those that read before those that add rows to the loaded stores.
  static var all: [BenchmarkRow] { readRows + writeRows + bulkRows + recoveryRows }
}

/// What a row gave for one store.
struct RowResult: Codable {
  let row: String
  let unit: String
  let store: String
  let higherIsBetter: Bool
  /// In the order of the runs.
  let samples: [Double]
  let median: Double
  let lowest: Double
  let highest: Double
  /// The median of each note.
  let notes: [Note]

  init(_ row: BenchmarkRow, store: String, samples: [Sample]) {
    self.row = row.name
    unit = row.unit
    higherIsBetter = row.higherIsBetter
    self.store = store
    let values = samples.map(\.value)
    self.samples = values
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
func median(_ values: [Double]) -> Double {
  guard !values.isEmpty else { return 0 }
  let sorted = values.sorted()
  let middle = sorted.count / 2
  return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/// Measures `row` for all of `stores`, alternating, so that what the machine does meanwhile falls on all alike.
func measure(
  _ row: BenchmarkRow, _ stores: [any StoreUnderTest.Type], in bench: Bench
) throws -> [RowResult] {
  for store in stores { try row.prepare(bench, store) }
  var samples = [[Sample]](repeating: [], count: stores.count)
  for run in 0..<bench.plan.runs {
    for turn in stores.indices {
      // Who goes first changes from run to run.
      let index = (turn + run) % stores.count
      samples[index].append(try row.measure(bench, stores[index], run))
    }
  }
  return stores.indices.map { RowResult(row, store: stores[$0].name, samples: samples[$0]) }
}
