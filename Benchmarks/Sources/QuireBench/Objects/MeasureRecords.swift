// Songs as records: stored, read and changed; and their coders alone.

internal import Foundation
internal import QuireDatabase

extension ObjectsRun {
  static var recordStores: [any RecordStore.Type] {
    var stores: [any RecordStore.Type] = [QuireRecordStore.self, QuireCachedRecordStore.self]
    #if PEER_SQLITE
      stores.append(SQLiteRecordStore.self)
    #endif
    #if PEER_GRDB
      stores.append(GRDBRecordStore.self)
      stores.append(GRDBCachedRecordStore.self)
    #endif
    return stores
  }

  func catalogSongs(_ run: Int) -> CatalogSongs {
    CatalogSongs(count: count, seed: UInt64(run + 1), keysAscend: keysAscend)
  }

  func measureRecords() throws {
    for run in 0..<runs {
      let songs = catalogSongs(run)
      for store in turns(Self.recordStores, run, named: { $0.name }) {
        try withFolder { folder in
          let loaded = try store.init(folder, count: count)
          try settle(needsMemory: true)
          try time(onWall: "load", "µs/row", store.name, count * 1000) { try loaded.load(songs) }
          try expect(
            try loaded.digestOfAll() == songs.sum(songs.keys.indices), "\(store.name) holds other songs than it loaded")
          try loaded.close()
        }
        try withFolder { try measure(store, songs, $0) }
      }
    }
  }

  private func measure(_ type: any RecordStore.Type, _ songs: CatalogSongs, _ folder: String) throws {
    let name = type.name
    let store = try type.init(folder, count: count)
    try settle(needsMemory: true)
    try time(onWall: "set one by one", "µs/row", name, count * 1000) { try store.insert(songs) }
    let keys = songs.order.map { songs.keys[$0] }
    let rowIDs = try store.rowIDs(of: keys)
    let sum = songs.sum(songs.order)
    func measure<Answer: Equatable>(_ row: String, _ expected: Answer, _ body: () throws -> Answer) throws {
      try expect(try body() == expected, "\(name), \(row): a wrong answer at first")
      try settle()
      var answer = expected
      try time(onCore: row, "ns", name, count) { answer = try body() }
      try expect(answer == expected, "\(name), \(row): a wrong answer")
    }
    try measure("get by key", sum) { try store.digest(of: keys) }
    try measure("get by number", sum) { try store.digest(withIDs: rowIDs) }
    try measure("enumerate", sum) { try store.digestOfAll() }
    try measure("enumerate keys", keys.reduce(0) { $0 + $1.utf8.count }) { try store.lengthOfKeys() }
    try settle()
    try time(onWall: "update one field at random", "µs/row", name, count * 1000) { try store.countPlays(of: keys[...]) }
    try settle()
    var commits = 0
    add(
      "one durable update", "× a bare flush", name,
      try durableCommits { number in
        try store.countPlays(of: [keys[number % count]])
        commits += 1
      })
    let expected = sum &+ 31 &* UInt64(count + commits)
    try expect(try store.digestOfAll() == expected, "\(name) has not counted all plays")
    try store.close()
  }

  // MARK: Coders

  /// Stores that differ in their coder alone: what a walk through records takes beyond one through bytes that nobody
  /// looks at is what decoding takes, and likewise for encoding. Foundation's are measured without a store.
  func measureCoder() throws {
    for run in 0..<runs {
      let songs = catalogSongs(run)
      let sum = songs.sum(songs.keys.indices)
      for coder in turns(["quire", "json", "property-list"], run, named: { $0 }) {
        try settle()
        switch coder {
        case "quire": try measureRowCoder(songs, sum)
        case "json":
          let (encoder, decoder) = (JSONEncoder(), JSONDecoder())
          try measure(coder, songs, sum, encoder.encode) { try decoder.decode(CatalogSong.self, from: $0) }
        default:
          let (encoder, decoder) = (PropertyListEncoder(), PropertyListDecoder())
          encoder.outputFormat = .binary
          try measure(coder, songs, sum, encoder.encode) { try decoder.decode(CatalogSong.self, from: $0) }
        }
      }
    }
  }

  private func measure(
    _ name: String, _ songs: CatalogSongs, _ sum: UInt64, _ encode: (CatalogSong) throws -> Data,
    _ decode: (Data) throws -> CatalogSong
  ) throws {
    var encoded: [Data] = []
    encoded.reserveCapacity(count)
    try time(onCore: "encode", "ns", name, count) { for song in songs.songs { encoded.append(try encode(song)) } }
    var found: UInt64 = 0
    try time(onCore: "decode", "ns", name, count) { for data in encoded { found &+= try decode(data).digest } }
    try expect(found == sum, "\(name): other songs than were encoded")
    add("bytes", "per song", name, Double(encoded.reduce(0) { $0 + $1.count }) / Double(count))
  }

  private func measureRowCoder(_ songs: CatalogSongs, _ sum: UInt64) throws {
    let db = try Database.inMemory()
    defer { try? db.close() }
    let records = RowCollection<CatalogSong, NoMetadata>("records", compression: .none)
    func set() throws {
      try db.write { tx throws in
        for index in songs.keys.indices { try tx[records].set(songs.songs[index], for: songs.keys[index]) }
      }
    }
    try set()
    let raw = try db.read { tx throws in
      Dictionary(uniqueKeysWithValues: tx.rawRows("records").map { ($0.key, $0.object) })
    }
    let bytes = songs.keys.map { raw[$0] ?? [] }
    // Its objects are places in these bytes: nothing is made when they are stored or read.
    let plain = RowCollection<Int, NoMetadata>(
      "plain", coder: RowCoder(encode: { bytes[$0] }, decode: { $0.byteCount }), compression: .none)
    func setBytes() throws {
      try db.write { tx throws in
        for index in songs.keys.indices { try tx[plain].set(index, for: songs.keys[index]) }
      }
    }
    try setBytes()
    // The same keys, bytes and order; each once more, now that memory is there.
    let (with, without) = (try onCore(count) { try set() }, try onCore(count) { try setBytes() })
    add("encode", "ns", "quire", with - without)
    var (found, length): (UInt64, Int) = (0, 0)
    func walk() throws -> Double {
      found = 0
      return try onCore(count) {
        try db.read { tx throws in for row in tx[records].rows { found &+= row.object.digest } }
      }
    }
    func walkWithout() throws -> Double {
      length = 0
      return try onCore(count) {
        try db.read { tx throws in for row in tx[plain].rows { length += row.object } }
      }
    }
    _ = (try walk(), try walkWithout())
    add("decode", "ns", "quire", try walk() - walkWithout())
    let byteCount = bytes.reduce(0) { $0 + $1.count }
    try expect(found == sum && length == byteCount, "quire: other songs than were encoded")
    add("bytes", "per song", "quire", Double(byteCount) / Double(count))
  }
}
