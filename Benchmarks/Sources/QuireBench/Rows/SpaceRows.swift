// The rows about files and memory: what they take, and what opening them costs.

internal import Foundation

var spaceRows: [BenchmarkRow] {
  var rows = [
    BenchmarkRow(
      .space, "size", unit: "× payload",
      "All files of the closed store after a load in one transaction, opened and closed once more.", mostRuns: 1
    ) { bench, kind, _ in
      let sizes = try bench.sizes(of: kind)
      return Sample(value: sizes.loaded, notes: [Note("MiB", sizes.loadedMiB)])
    },
    BenchmarkRow(
      .space, "size-removed", unit: "× payload",
      "The same after half of the rows were removed, as a multiple of the half that is left.", mostRuns: 1
    ) { bench, kind, _ in Sample(value: try bench.sizes(of: kind).removed) },
    BenchmarkRow(
      .space, "size-compacted", unit: "× payload", "The same after compaction.", mostRuns: 1
    ) { bench, kind, _ in Sample(value: try bench.sizes(of: kind).compacted) },
    BenchmarkRow(
      .space, "compact", unit: "ms", "How long that compaction took.", mostRuns: 1
    ) { bench, kind, _ in Sample(value: try bench.sizes(of: kind).milliseconds) },
    BenchmarkRow(
      .space, "reopen", unit: "µs", "Opening the store after it was closed, and one get.", measure: measureReopening),
    BenchmarkRow(
      .space, "recovery", unit: "µs/row", "Opening the store after a crash, per row of small transactions in its log.",
      prepare: { bench, kind in _ = try bench.crashedStore(kind) }, measure: measureRecovery),
  ]
  #if os(Linux)
    rows += [
      BenchmarkRow(
        .space, "memory", unit: "MiB",
        "The most anonymous memory of a process that loads all rows, gets and commits; its own rows taken off.",
        mostRuns: 1
      ) { bench, kind, _ in try measureMemory(bench, kind, cacheSize: bench.plan.cacheSize) },
      BenchmarkRow(
        .space, "memory-small", unit: "MiB", "The same with an eighth of the cache.", mostRuns: 1
      ) { bench, kind, _ in try measureMemory(bench, kind, cacheSize: bench.plan.smallCacheSize) },
    ]
  #endif
  return rows
}

/// What a store's files take in the course of a short life.
struct StoreSizes {
  /// All files of the closed store as multiples of the bytes of the keys and values in it.
  var loaded = 0.0
  var removed = 0.0
  var compacted = 0.0
  /// What the first of them is in MiB.
  var loadedMiB = 0.0
  /// How long the compaction took.
  var milliseconds = 0.0
}

extension Bench {
  /// All files of a closed store, after a load in one transaction, after half the rows were removed, and compacted;
  /// measured once, for all rows of the table that tell of them.
  ///
  /// Each time the store is opened once more before it is looked at. Some close without having written a row home: all
  /// that they have is their log, which the next opening reads and puts into order.
  fileprivate func sizes(of kind: any StoreUnderTest.Type) throws -> StoreSizes {
    if let known = measuredSizes[kind.name] { return known }
    let place = try folder("\(kind.name)-size")
    defer { try? FileManager.default.removeItem(atPath: place) }
    let payload = Double(rows.byteCount)
    /// Opens the store, runs `body`, closes the store and returns what its files take then.
    func size(after body: (any StoreUnderTest) throws -> Void) throws -> Double {
      let store = try kind.init(directory: place, options: options())
      try body(store)
      try store.close()
      try kind.init(directory: place, options: options()).close()
      return Double(byteCount(of: place))
    }
    var sizes = StoreSizes()
    let loaded = try size { try $0.put(rows, 0..<rows.count, perTransaction: rows.count) }
    (sizes.loaded, sizes.loadedMiB) = (loaded / payload, loaded / 1_048_576)
    sizes.removed = try size { try $0.remove(rows, 0..<(rows.count / 2)) } / payload * 2
    let compacted = try size { store in sizes.milliseconds = try microseconds { try store.compact() } / 1000 }
    sizes.compacted = compacted / payload * 2
    let verified = try size { store in
      let left = try store.count()
      try expect(left == rows.count - rows.count / 2, "\(kind.name) holds \(left) rows after compaction")
    }
    try expect(verified > 0, "\(kind.name) has no files")
    measuredSizes[kind.name] = sizes
    return sizes
  }
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
