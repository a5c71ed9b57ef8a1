// Songs as GRDB's users have them.

#if PEER_GRDB
  internal import Foundation
  internal import GRDB

  /// A song with its key, decoded by `Codable`.
  private struct SongRecord: Codable, FetchableRecord, MutablePersistableRecord {
    static let databaseTableName = "catalog"
    static func databaseDateEncodingStrategy(for column: String) -> DatabaseDateEncodingStrategy {
      .timeIntervalSinceReferenceDate
    }
    static func databaseDateDecodingStrategy(for column: String) -> DatabaseDateDecodingStrategy {
      .timeIntervalSinceReferenceDate
    }

    var id: Int64?
    var key: String
    var title: String
    var artist: String
    var album: String
    var genre: String
    var year: Int
    var rating: Double
    var plays: Int
    var added: Date
    var comment: String

    init(_ key: String, _ song: CatalogSong) {
      self.key = key
      (title, artist, album, genre) = (song.title, song.artist, song.album, song.genre)
      (year, rating, plays) = (song.year, song.rating, song.plays)
      (added, comment) = (song.added, song.comment)
    }

    var song: CatalogSong {
      CatalogSong(
        title: title, artist: artist, album: album, genre: genre, year: year, rating: rating, plays: plays,
        added: added, comment: comment)
    }
  }

  /// GRDB with `Codable` records and its query interface; it loads by a prepared statement with unchecked arguments,
  /// its fastest way.
  class GRDBRecordStore: RecordStore {
    class var name: String { "grdb" }
    fileprivate static let columns = "title, artist, album, genre, year, rating, plays, added, comment"
    fileprivate let pool: DatabasePool

    required init(_ folder: String, count: Int) throws {
      var configuration = Configuration()
      configuration.prepareDatabase { try $0.execute(sql: "PRAGMA cache_size = -\((512 << 20) / 1024)") }
      pool = try DatabasePool(path: "\(folder)/records.sqlite", configuration: configuration)
      try pool.writeWithoutTransaction { database in
        try database.execute(sql: "PRAGMA synchronous = FULL")
        try database.execute(sql: SQLiteRecordStore.schema)
      }
    }

    func insert(_ songs: CatalogSongs) throws {
      try pool.write { database in
        for index in songs.keys.indices {
          var record = SongRecord(songs.keys[index], songs.songs[index])
          try record.insert(database)
        }
      }
    }

    func load(_ songs: CatalogSongs) throws {
      try pool.write { database in
        let statement = try database.makeStatement(
          sql: "INSERT INTO catalog (key, \(Self.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        for index in songs.keys.indices {
          let song = songs.songs[index]
          statement.setUncheckedArguments([
            songs.keys[index], song.title, song.artist, song.album, song.genre, song.year, song.rating, song.plays,
            song.added.timeIntervalSinceReferenceDate, song.comment,
          ])
          try statement.execute()
        }
      }
    }

    func rowIDs(of keys: [String]) throws -> [Int64] {
      try pool.read { database in
        let statement = try database.cachedStatement(sql: "SELECT id FROM catalog WHERE key = ?")
        return try keys.map { try Int64.fetchOne(statement, arguments: [$0]) ?? -1 }
      }
    }

    func digest(of keys: [String]) throws -> UInt64 {
      try pool.read { database in
        var total: UInt64 = 0
        for key in keys { total &+= try SongRecord.fetchOne(database, key: ["key": key])?.song.digest ?? 0 }
        return total
      }
    }

    func digest(withIDs rowIDs: [Int64]) throws -> UInt64 {
      try pool.read { database in
        var total: UInt64 = 0
        for rowID in rowIDs { total &+= try SongRecord.fetchOne(database, key: rowID)?.song.digest ?? 0 }
        return total
      }
    }

    func digestOfAll() throws -> UInt64 {
      try pool.read { database in
        var total: UInt64 = 0
        let records = try SongRecord.order(Column("key")).fetchCursor(database)
        while let record = try records.next() { total &+= record.song.digest }
        return total
      }
    }

    func lengthOfKeys() throws -> Int {
      try pool.read { database in
        var total = 0
        let keys = try SongRecord.select(Column("key"), as: String.self).order(Column("key")).fetchCursor(database)
        while let key = try keys.next() { total += key.utf8.count }
        return total
      }
    }

    func countPlays(of keys: ArraySlice<String>) throws {
      try pool.write { database in
        for key in keys {
          guard var record = try SongRecord.fetchOne(database, key: ["key": key]) else {
            throw StoreFailure(description: "GRDB: no \(key)")
          }
          record.plays += 1
          try record.update(database)
        }
      }
    }

    func close() throws { try pool.close() }
  }

  /// A song that is decoded by hand, column by column.
  private struct PlainSong: FetchableRecord {
    let song: CatalogSong

    init(row: GRDB.Row) {
      song = CatalogSong(
        title: row[0], artist: row[1], album: row[2], genre: row[3], year: row[4], rating: row[5], plays: row[6],
        added: Date(timeIntervalSinceReferenceDate: row[7]), comment: row[8])
    }
  }

  /// GRDB with cached statements and records decoded by hand.
  final class GRDBCachedRecordStore: GRDBRecordStore {
    override class var name: String { "grdb-cached" }

    override func insert(_ songs: CatalogSongs) throws {
      try pool.write { database in
        let statement = try database.cachedStatement(
          sql: "INSERT INTO catalog (key, \(Self.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        for index in songs.keys.indices {
          let song = songs.songs[index]
          try statement.execute(arguments: [
            songs.keys[index], song.title, song.artist, song.album, song.genre, song.year, song.rating, song.plays,
            song.added.timeIntervalSinceReferenceDate, song.comment,
          ])
        }
      }
    }

    private func digest<Value: DatabaseValueConvertible>(_ values: [Value], _ sql: String) throws -> UInt64 {
      try pool.read { database in
        let statement = try database.cachedStatement(sql: sql)
        var total: UInt64 = 0
        for value in values { total &+= try PlainSong.fetchOne(statement, arguments: [value])?.song.digest ?? 0 }
        return total
      }
    }

    override func digest(of keys: [String]) throws -> UInt64 {
      try digest(keys, "SELECT \(Self.columns) FROM catalog WHERE key = ?")
    }

    override func digest(withIDs rowIDs: [Int64]) throws -> UInt64 {
      try digest(rowIDs, "SELECT \(Self.columns) FROM catalog WHERE id = ?")
    }

    override func digestOfAll() throws -> UInt64 {
      try pool.read { database in
        var total: UInt64 = 0
        let statement = try database.cachedStatement(sql: "SELECT \(Self.columns) FROM catalog ORDER BY key")
        let songs = try PlainSong.fetchCursor(statement)
        while let song = try songs.next() { total &+= song.song.digest }
        return total
      }
    }

    override func countPlays(of keys: ArraySlice<String>) throws {
      try pool.write { database in
        let statement = try database.cachedStatement(sql: "UPDATE catalog SET plays = plays + 1 WHERE key = ?")
        for key in keys {
          try statement.execute(arguments: [key])
          try expect(database.changesCount == 1, "GRDB: no \(key)")
        }
      }
    }
  }
#endif
