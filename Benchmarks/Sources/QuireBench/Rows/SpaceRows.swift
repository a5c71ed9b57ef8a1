// The rows about files and memory: what they take, and what opening them costs.

internal import Foundation

var spaceRows: [BenchmarkRow] {
  var rows = [
    BenchmarkRow(
      .space, "size", unit: "× payload",
      "All files of the closed store after a load in one transaction, opened and closed once more.",
      mostRuns: 1, measure: measureSize),
    BenchmarkRow(
      .space, "reopen", unit: "µs", "Opening the store after it was closed, and one get.", measure: measureReopening),
    BenchmarkRow(
      .space, "recovery", unit: "µs/row", "Opening the store after a crash, per row of small transactions in its log.",
      prepare: { bench, kind in _ = try bench.crashedStore(kind) }, measure: measureRecovery),
  ]
  #if os(Linux)
    rows.append(
      BenchmarkRow(
        .space, "memory", unit: "MiB",
        "The most anonymous memory of a process that loads all rows, gets and commits; its own rows taken off.",
        mostRuns: 1, measure: measureMemory))
  #endif
  return rows
}

/// All files of a closed store, after a load in one transaction, after half the rows were removed, and compacted.
///
/// Each time the store is opened once more before it is looked at. Some close without having written a row home: all
/// that they have is their log, which the next opening reads and puts into order.
private func measureSize(_ bench: Bench, _ kind: any StoreUnderTest.Type, run: Int) throws -> Sample {
  let place = try bench.folder("\(kind.name)-size-\(run)")
  defer { try? FileManager.default.removeItem(atPath: place) }
  let payload = Double(bench.rows.byteCount)
  /// Opens the store, runs `body`, closes the store and returns what its files take then.
  func size(after body: (any StoreUnderTest) throws -> Void) throws -> Double {
    let store = try kind.init(directory: place, options: bench.options())
    try body(store)
    try store.close()
    try kind.init(directory: place, options: bench.options()).close()
    return Double(byteCount(of: place))
  }
  let loaded = try size { try $0.put(bench.rows, 0..<bench.rows.count, perTransaction: bench.rows.count) }
  let removed = try size { try $0.remove(bench.rows, 0..<(bench.rows.count / 2)) }
  var time = 0.0
  let compacted = try size { store in time = try microseconds { try store.compact() } }
  let verified = try size { store in
    let left = try store.count()
    try expect(left == bench.rows.count - bench.rows.count / 2, "\(kind.name) holds \(left) rows after compaction")
  }
  try expect(verified > 0, "\(kind.name) has no files")
  return Sample(
    value: loaded / payload,
    notes: [
      Note("MiB", loaded / 1_048_576), Note("× payload after removing half", removed / payload * 2),
      Note("× payload compacted", compacted / payload * 2), Note("ms to compact", time / 1000),
    ])
}

private func measureReopening(_ bench: Bench, _ kind: any StoreUnderTest.Type, run: Int) throws -> Sample {
  let (loaded, opening) = try bench.reopen(kind)
  let get = try microseconds { _ = try loaded.store.sumOfValues(of: bench.keys, 0..<1) }
  return Sample(value: Double(opening) / 1000 + get, notes: [Note("µs of that for the get", get)])
}

private func measureRecovery(_ bench: Bench, _ kind: any StoreUnderTest.Type, run: Int) throws -> Sample {
  let crashed = try bench.crashedStore(kind)
  let copy = "\(crashed.folder)-\(run)"
  try expect(copyFiles(of: crashed.folder, to: copy), "a file of \(crashed.folder) is gone")
  defer { try? FileManager.default.removeItem(atPath: copy) }
  // A crash leaves files that were synced before; the copying is not the opening's to pay for.
  try synchronizeFiles(in: copy)
  try bench.provideMemory()
  let start = Clocks.wall()
  let store = try kind.init(directory: copy, options: bench.options())
  let time = Clocks.wall() - start
  let found = try store.scan()
  try store.close()
  try expect(found == crashed.contents, "\(kind.name) recovered \(found) instead of \(crashed.contents)")
  return Sample(
    value: Double(time) / Double(bench.plan.recoveryRows) / 1000, notes: [Note("ms", Double(time) / 1_000_000)])
}

extension Bench {
  /// A store that was never closed: rows that it has settled, and rows of small transactions since then. Stores without
  /// a log, such as LMDB, have paid for those at every commit and open at once: they do not contest this row.
  fileprivate func crashedStore(_ kind: any StoreUnderTest.Type) throws -> (folder: String, contents: Contents) {
    if let crashed = crashed[kind.name] { return crashed }
    let place = try folder("\(kind.name)-crashed")
    // Room enough that nothing is written home behind our back, and nobody who does it while the copy waits its turn.
    var roomy = options()
    roomy.cacheSize *= 4
    roomy.tidiesWhenIdle = false
    let store = try kind.init(directory: place, options: roomy)
    let settled = freshRows(plan.count * 7 / 10, for: "recovery-settled", run: 0)
    // Twice, so that a log that grows with its use has grown to the size that holds all rows that follow.
    for _ in 0..<2 { try store.put(settled, 0..<settled.count, perTransaction: plan.loadBatch) }
    try store.settle()
    let logged = freshRows(plan.recoveryRows, for: "recovery-logged", run: 0)
    try store.put(logged, 0..<logged.count, perTransaction: plan.batchRows)
    var contents = settled.contents
    contents.add(logged.contents)
    let image = "\(place)-image"
    try copyAlive(place, to: image)
    try store.close()
    try FileManager.default.removeItem(atPath: place)
    crashed[kind.name] = (image, contents)
    return (image, contents)
  }

  /// Copies the files of a store at work. One that merges or writes home meanwhile deletes, lengthens and changes files
  /// between the listing of the folder and their turn, and no crash ever left such a set behind: then the whole copy is
  /// made again, a little later.
  private func copyAlive(_ place: String, to image: String) throws {
    for attempt in 1... {
      let before = try FileState.all(in: place)
      if try copyFiles(of: place, to: image), try FileState.all(in: place) == before { return }
      guard attempt < 20 else {
        throw StoreFailure(description: "the files of \(place) changed during each of 20 copies")
      }
      try? FileManager.default.removeItem(atPath: image)
      Thread.sleep(forTimeInterval: 0.5)
    }
  }
}
