// Loads that know something of their rows: that they come in order, or that they come all at once. And what files
// take.

internal import Foundation

var bulkRows: [BenchmarkRow] {
  [
    BenchmarkRow("sorted-load", unit: "µs/row") { bench, kind, _ in
      try bench.measureLoad(kind, sorted: true) { try $0.put($1, 0..<$1.count, perTransaction: $1.count) }
    },
    BenchmarkRow("bulk-load", unit: "µs/row") { bench, kind, _ in
      try bench.measureLoad(kind, sorted: false) { try $0.load($1) }
    },
    BenchmarkRow("size", unit: "× payload", measure: measureSize),
  ]
}

extension Bench {
  /// Loads all rows into an empty store, up to the last commit; closing is not part of it.
  fileprivate func measureLoad(
    _ kind: any StoreUnderTest.Type, sorted: Bool, _ load: (any StoreUnderTest, RowBlock) throws -> Void
  ) throws -> Sample {
    let rows = sorted ? sortedRows : rows
    return try withEmptyStore(kind) { store in
      let bytes = ProcessCounters.bytesWritten()
      let start = Clocks.wall()
      try load(store, rows)
      let time = Clocks.wall() - start
      let written = ProcessCounters.bytesWritten().flatMap { after in bytes.map { after - $0 } }
      let found = try store.scan()
      try expect(found == loadedContents, "\(kind.name) holds \(found) instead of \(loadedContents)")
      return Sample(
        value: Double(time) / Double(rows.count) / 1000,
        notes: written.map { [Note("bytes written/row", Double($0) / Double(rows.count))] } ?? [])
    }
  }
}

/// All files of a closed store, after a load in one transaction and again after half the rows were removed.
private func measureSize(_ bench: Bench, _ kind: any StoreUnderTest.Type, run: Int) throws -> Sample {
  let place = try bench.folder("\(kind.name)-size-\(run)")
  defer { try? FileManager.default.removeItem(atPath: place) }
  let payload = Double(bench.rows.count * RowBlock.rowByteCount)
  var store = try kind.init(directory: place, cacheSize: bench.plan.cacheSize)
  try store.put(bench.rows, 0..<bench.rows.count, perTransaction: bench.rows.count)
  try store.close()
  let loaded = try byteCount(of: place)
  store = try kind.init(directory: place, cacheSize: bench.plan.cacheSize)
  try store.remove(bench.rows, 0..<(bench.rows.count / 2))
  try store.close()
  let removed = try byteCount(of: place)
  return Sample(
    value: Double(loaded) / payload,
    notes: [
      Note("MiB", Double(loaded) / 1_048_576), Note("× payload after removing half", Double(removed) / payload * 2),
      Note("MiB then", Double(removed) / 1_048_576),
    ])
}

/// The bytes of all files in a folder.
private func byteCount(of folder: String) throws -> Int {
  try FileManager.default.contentsOfDirectory(atPath: folder).reduce(0) { total, name in
    let attributes = try FileManager.default.attributesOfItem(atPath: "\(folder)/\(name)")
    return total + (attributes[.size] as? Int ?? 0)
  }
}
