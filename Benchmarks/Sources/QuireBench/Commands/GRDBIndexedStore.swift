// The same songs, indexes and questions in GRDB, as a Swift app would write them.

#if PEER_GRDB
  internal import Foundation
  internal import GRDB

  extension IndexedSong: FetchableRecord, PersistableRecord {
    static var databaseTableName: String { "songs" }
  }

  /// Songs in GRDB: records by `Codable`, questions by its query interface.
  final class GRDBIndexedStore: IndexedStore {
    static var name: String { "grdb" }
    private let pool: DatabasePool
    private let path: String

    private enum Field {
      static let id = Column("id")
      static let key = Column("key")
      static let artist = Column("artist")
      static let year = Column("year")
      static let rating = Column("rating")
      static let plays = Column("plays")
    }

    /// A song with its key.
    private struct KeyedSong: Encodable, PersistableRecord {
      static var databaseTableName: String { "songs" }
      let key: String
      let song: IndexedSong

      func encode(to container: inout PersistenceContainer) throws {
        container["key"] = key
        try song.encode(to: &container)
      }
    }

    init(_ folder: String) throws {
      path = "\(folder)/grdb"
      var configuration = Configuration()
      configuration.prepareDatabase { try $0.execute(sql: "PRAGMA cache_size = -\((512 << 20) / 1024)") }
      pool = try DatabasePool(path: path, configuration: configuration)
      try pool.write { database in
        try database.create(table: "songs") { table in
          table.autoIncrementedPrimaryKey("id")
          table.column("key", .text).unique()
          table.column("artist", .text)
          table.column("year", .integer)
          table.column("rating", .double)
          table.column("plays", .integer)
          table.column("text", .text)
        }
      }
    }

    func makeIndexes() throws {
      try pool.write { database in
        try database.create(index: "artist", on: "songs", columns: ["artist"])
        try database.execute(sql: "CREATE INDEX yearRating ON songs (year, rating DESC)")
        try database.create(index: "rating", on: "songs", columns: ["rating"])
        try database.execute(sql: "ANALYZE")
      }
    }

    /// A row has all its fields.
    func storePlays() {}

    func forgetType() {}
    func countUnmarked(playsBelow limit: Int) throws -> Int { try count(playsBelow: limit) }

    func store(_ songs: [IndexedSong], from start: Int) throws {
      try pool.write { database in
        for (index, song) in songs.enumerated() {
          try KeyedSong(key: "song-\(start + index)", song: song).insert(database)
        }
      }
    }

    func countPlays(of numbers: [Int]) throws {
      try pool.write { database in
        for number in numbers {
          try IndexedSong.filter(Field.key == "song-\(number)").updateAll(database, Field.plays += 1)
        }
      }
    }

    private func ids(_ database: GRDB.Database, _ found: QueryInterfaceRequest<IndexedSong>) throws -> Int {
      try found.select(Field.id, as: Int64.self).fetchAll(database).count
    }

    private func ratings(_ found: QueryInterfaceRequest<IndexedSong>) throws -> Double {
      try pool.read { try found.fetchAll($0).reduce(0) { $0 + $1.rating } }
    }

    func firstID(artist: String) throws -> Int {
      try pool.read { try ids($0, IndexedSong.filter(Field.artist == artist).limit(1)) }
    }

    func idCount(artist: String) throws -> Int {
      try pool.read { try ids($0, IndexedSong.filter(Field.artist == artist)) }
    }

    func best(year: Int, limit: Int, offset: Int) throws -> Double {
      try ratings(IndexedSong.filter(Field.year == year).order(Field.rating.desc).limit(limit, offset: offset))
    }

    func rating(atOffset offset: Int) throws -> Double {
      try ratings(IndexedSong.order(Field.rating).limit(10, offset: offset))
    }

    func count(ratingFrom low: Double, to high: Double) throws -> Int {
      try pool.read { try IndexedSong.filter(Field.rating >= low && Field.rating < high).fetchCount($0) }
    }

    func count(artistPrefix: String) throws -> Int {
      try pool.read { database in
        try IndexedSong.filter(Field.artist >= artistPrefix && Field.artist < artistPrefix + "~").fetchCount(database)
      }
    }

    func count(artists: [String]) throws -> Int {
      // SQLite takes some 32,000 values in one statement.
      try pool.read { database in
        try stride(from: 0, to: artists.count, by: 10_000).reduce(0) { sum, start in
          let some = artists[start..<min(artists.count, start + 10_000)]
          return try sum + ids(database, IndexedSong.filter(some.contains(Field.artist)))
        }
      }
    }

    func count(playsBelow limit: Int) throws -> Int {
      try pool.read { try IndexedSong.filter(Field.plays < limit).fetchCount($0) }
    }

    func fileByteCount() throws -> Int {
      try pool.vacuum()
      try pool.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
      return try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
    }

    func entryByteCount(beyond bare: Int) throws -> Int { try fileByteCount() - bare }
  }
#endif
