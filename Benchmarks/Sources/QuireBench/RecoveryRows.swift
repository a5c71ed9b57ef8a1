// What an opening costs after a crash: the files of a store in the middle of its life, copied and opened.

internal import Foundation

var recoveryRows: [BenchmarkRow] {
  [
    BenchmarkRow(
      "recovery", unit: "µs/row", prepare: { bench, kind in _ = try bench.crashedStore(kind) },
      measure: { bench, kind, run in
        let crashed = try bench.crashedStore(kind)
        let copy = "\(crashed.folder)-\(run)"
        try FileManager.default.copyItem(atPath: crashed.folder, toPath: copy)
        defer { try? FileManager.default.removeItem(atPath: copy) }
        // A crash leaves files that were synced before; the copying is not the opening's to pay for.
        try synchronizeFiles(in: copy)
        let start = Clocks.wall()
        let store = try kind.init(directory: copy, cacheSize: bench.plan.cacheSize)
        let time = Clocks.wall() - start
        let found = try store.scan()
        try store.close()
        try expect(found == crashed.contents, "\(kind.name) recovered \(found) instead of \(crashed.contents)")
        return Sample(
          value: Double(time) / Double(bench.plan.recoveryRows) / 1000, notes: [Note("ms", Double(time) / 1_000_000)])
      })
  ]
}

extension Bench {
  /// A store that was never closed: rows that it has settled, and rows of small transactions since then. Stores without
  /// a log, such as LMDB, have paid for those at every commit and open at once: they do not contest this row.
  func crashedStore(_ kind: any StoreUnderTest.Type) throws -> (folder: String, contents: Contents) {
    if let crashed = crashed[kind.name] { return crashed }
    let place = try folder("\(kind.name)-crashed")
    // Room enough that nothing is written home behind our back.
    let store = try kind.init(directory: place, cacheSize: 4 * plan.cacheSize)
    let settled = freshRows(plan.count * 7 / 10, for: "recovery-settled", run: 0)
    // Twice, so that a log that grows with its use has grown to the size that holds all rows that follow.
    for _ in 0..<2 { try store.put(settled, 0..<settled.count, perTransaction: plan.loadBatch) }
    try store.settle()
    let logged = freshRows(plan.recoveryRows, for: "recovery-logged", run: 0)
    try store.put(logged, 0..<logged.count, perTransaction: plan.batchRows)
    var contents = settled.contents
    contents.add(logged.contents)
    let image = "\(place)-image"
    try FileManager.default.copyItem(atPath: place, toPath: image)
    try store.close()
    try FileManager.default.removeItem(atPath: place)
    crashed[kind.name] = (image, contents)
    return (image, contents)
  }
}

/// Syncs all files of a folder.
private func synchronizeFiles(in folder: String) throws {
  for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
    guard let file = FileHandle(forUpdatingAtPath: "\(folder)/\(name)") else { continue }
    try file.synchronize()
    try file.close()
  }
}
