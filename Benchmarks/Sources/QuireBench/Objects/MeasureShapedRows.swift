// Rows of YapDatabase's shape: stored, read, walked through, updated; and what their files take.

internal import Foundation

extension ObjectsRun {
  static var shapedStores: [any ShapedStore.Type] {
    var stores: [any ShapedStore.Type] = [QuireShapedStore.self, QuireCachedShapedStore.self]
    #if PEER_LMDB
      stores.append(LMDBShapedStore.self)
    #endif
    #if PEER_SQLITE
      stores.append(SQLiteShapedStore.self)
    #endif
    #if PEER_GRDB
      stores.append(GRDBShapedStore.self)
      stores.append(GRDBCachedShapedStore.self)
    #endif
    return stores
  }

  /// The rows of a run.
  func shapedRows(_ run: Int) throws -> ShapedRows {
    try ShapedRows(CatalogSongs(count: count, seed: UInt64(run + 1), keysAscend: keysAscend))
  }

  func measureShapedRows() throws {
    for run in 0..<runs {
      let rows = try shapedRows(run)
      for store in turns(Self.shapedStores, run, named: { $0.name }) {
        try withFolder { try measure(store, rows, $0) }
      }
    }
  }

  private func measure(_ type: any ShapedStore.Type, _ rows: ShapedRows, _ folder: String) throws {
    let (name, all) = (type.name, rows.keys.indices)
    let store = try type.init(folder, count: count)
    try settle(needsMemory: true)
    try time(onWall: "store in one transaction", "µs/row", name, count * 1000) { try store.store(rows, all) }
    try measureReads(name, store, rows)
    try settle()
    try time(onWall: "update at random in one transaction", "µs/row", name, count * 1000) {
      try store.update(rows, rows.order[...], rows.others)
    }
    let updated = rows.digest(objects: rows.others, metadata: rows.metadata)
    try expect(try store.digestOfRows() == updated, "\(name) holds other rows than it was given")
    try settle()
    add(
      "one durable update", "× a bare flush", name,
      try durableCommits { number in
        let place = rows.order[number % count]
        try store.update(rows, [place], rows.objects)
      })
    add("files while open", "× payload", name, fileRatio(folder, rows))
    if !isCheck { Thread.sleep(forTimeInterval: 2) }
    add("files at rest, 2 s later", "× payload", name, fileRatio(folder, rows))
    try store.close()
    add("files when closed", "× payload", name, fileRatio(folder, rows))
  }

  private func fileRatio(_ folder: String, _ rows: ShapedRows) -> Double {
    Double(byteCount(of: folder)) / Double(rows.byteCount * count)
  }

  private func measureReads(_ name: String, _ store: any ShapedStore, _ rows: ShapedRows) throws {
    let keys = rows.order.map { rows.keys[$0] }
    let objects = rows.objects.reduce(0) { $0 &+ sum(of: $1) }
    let metadata = rows.metadata.reduce(0) { $0 &+ sum(of: $1) }
    let rowIDs = try store.rowIDs(of: keys)
    // Each once before, so that everybody finds memory and caches warm.
    func measure<Answer: Equatable>(_ row: String, _ expected: Answer, _ body: () throws -> Answer) throws {
      try expect(try body() == expected, "\(name), \(row): a wrong answer at first")
      try settle()
      var answer = expected
      try time(onCore: row, "ns", name, count) { answer = try body() }
      try expect(answer == expected, "\(name), \(row): a wrong answer")
    }
    try measure("get by key", objects) { try store.sumOfObjects(of: keys) }
    try measure("get row by its number", objects &+ metadata) { try store.sumOfRows(withIDs: rowIDs) }
    try measure("enumerate keys", rows.digest()) { try store.digestOfKeys() }
    try measure("enumerate metadata", rows.digest(metadata: rows.metadata)) { try store.digestOfMetadata() }
    try measure("enumerate rows", rows.digest(objects: rows.objects, metadata: rows.metadata)) {
      try store.digestOfRows()
    }
  }
}
