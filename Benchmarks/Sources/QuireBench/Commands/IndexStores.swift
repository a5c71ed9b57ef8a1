// The same songs, indexes and questions in Quire and in SQLite.

internal import Foundation
internal import QuireDatabase
internal import QuireIndexes
internal import QuireStorage
internal import QuireTesting

#if PEER_SQLITE
  internal import CSQLite
#endif

/// A row of the index benchmark: three fields that are indexed, one that is not, and a text that makes up its size.
struct IndexedSong: SynthesizedCodable, Sendable {
  var artist: String
  var year: Int
  var rating: Double
  var plays: Int
  var text: String
}

extension RowCollection where Object == IndexedSong, Metadata == NoMetadata {
  static var indexed: Self { .init("indexed", compression: .none) }
}

/// The same row of a type that promises nothing of how it is coded.
struct UnmarkedSong: Codable, Sendable {
  var artist: String
  var year: Int
  var rating: Double
  var plays: Int
  var text: String
}

extension RowCollection where Object == UnmarkedSong, Metadata == NoMetadata {
  static var unmarked: Self { .init("indexed", compression: .none) }
}

/// What is stored, from one seed: so and so many artists, years and ratings.
struct IndexedSongs {
  let songs: [IndexedSong]

  init(count: Int, seed: UInt64) {
    var random = SeededRandom(seed: seed)
    songs = (0..<count).map { _ in
      IndexedSong(
        artist: "artist\(random.below(max(1, count / 100)))", year: 1950 + random.below(75),
        rating: Double(random.below(1_000_000)) / 200_000, plays: random.below(1000),
        text: String(repeating: "x", count: 90))
    }
  }
}

/// What a store is asked; each returns something that must be the same for all stores.
protocol IndexedStore: AnyObject {
  static var name: String { get }
  init(_ folder: String) throws
  /// Makes the three indexes: artist; year and rating; rating.
  func makeIndexes() throws
  /// Has the field without an index stored beside the indexes, if the store can.
  func storePlays() throws
  func store(_ songs: [IndexedSong], from: Int) throws
  func countPlays(of numbers: [Int]) throws
  func firstID(artist: String) throws -> Int
  func idCount(artist: String) throws -> Int
  func best(year: Int, limit: Int, offset: Int) throws -> Double
  func rating(atOffset offset: Int) throws -> Double
  func count(ratingFrom low: Double, to high: Double) throws -> Int
  func count(artistPrefix: String) throws -> Int
  func count(artists: [String]) throws -> Int
  /// The number of rows by a field that no index has.
  func count(playsBelow: Int) throws -> Int
  /// Has the rows read as ones of a type whose fields are not read by themselves, if the store knows types.
  func forgetType() throws
  /// The same number after that.
  func countUnmarked(playsBelow: Int) throws -> Int
  func fileByteCount() throws -> Int
  /// The bytes of the entries of the three indexes; `bare` are those of the file before they were made.
  func entryByteCount(beyond bare: Int) throws -> Int
}

/// Songs in Quire, as an app has them.
final class QuireIndexedStore: IndexedStore {
  static var name: String { "quire" }
  private var db: Database
  private let path: String
  private typealias Songs = Indexes<IndexedSong, NoMetadata>

  init(_ folder: String) throws {
    path = "\(folder)/quire"
    db = try Database(at: path, options: Database.Options(durability: .relaxed))
  }

  private static var indexes: Songs {
    Songs("songs", over: .indexed) {
      Index("artist", \.artist)
      Index("year-rating", \.year, .descending(\.rating))
      Index("rating", \.rating)
    }
  }

  func makeIndexes() throws { try db.register(Self.indexes) }

  func storePlays() throws {
    try db.close()
    db = try Database(at: path, options: Database.Options(durability: .relaxed))
    try db.register(
      Songs("songs", over: .indexed) {
        Index("artist", \.artist)
        Index("year-rating", \.year, .descending(\.rating))
        Index("rating", \.rating)
        StoredField("plays", \.plays)
      })
  }

  func store(_ songs: [IndexedSong], from start: Int) throws {
    try db.write { tx throws in
      for (index, song) in songs.enumerated() { try tx[.indexed].set(song, for: "song-\(start + index)") }
    }
  }

  func countPlays(of numbers: [Int]) throws {
    try db.write { tx throws in
      for number in numbers { try tx[.indexed].update("song-\(number)") { $0.plays += 1 } }
    }
  }

  func firstID(artist: String) throws -> Int {
    try db.read { tx in try tx[.indexed].find { $0.artist == artist }.limit(1).rowIDs.count }
  }

  func idCount(artist: String) throws -> Int {
    try db.read { tx in try tx[.indexed].find { $0.artist == artist }.rowIDs.count }
  }

  func best(year: Int, limit: Int, offset: Int) throws -> Double {
    try db.read { tx in
      let found = tx[.indexed].find { $0.year == year }.order(by: .descending(\.rating)).limit(limit).offset(offset)
      return try found.objects.reduce(0) { $0 + $1.rating }
    }
  }

  func rating(atOffset offset: Int) throws -> Double {
    try db.read { tx in
      try tx[.indexed].find(.all).order(by: \.rating).limit(10).offset(offset).objects.reduce(0) { $0 + $1.rating }
    }
  }

  func count(ratingFrom low: Double, to high: Double) throws -> Int {
    try db.read { tx in try tx[.indexed].find { $0.rating >= low && $0.rating < high }.count }
  }

  func count(artistPrefix: String) throws -> Int {
    try db.read { tx in try tx[.indexed].find { $0.artist.hasPrefix(artistPrefix) }.count }
  }

  func count(artists: [String]) throws -> Int {
    try db.read { tx in try tx[.indexed].find { $0.artist.isIn(artists) }.rowIDs.count }
  }

  func count(playsBelow limit: Int) throws -> Int {
    try db.read { tx in try tx[.indexed].find { $0.plays < limit }.count }
  }

  func forgetType() throws {
    try db.close()
    db = try Database(at: path, options: Database.Options(durability: .relaxed))
  }

  func countUnmarked(playsBelow limit: Int) throws -> Int {
    try db.read { tx in try tx[.unmarked].find { $0.plays < limit }.count }
  }

  func fileByteCount() throws -> Int {
    try db.checkpoint()
    try db.compact()
    return try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
  }

  /// Without the columns, which stand once beside all indexes.
  func entryByteCount(beyond bare: Int) throws -> Int {
    let names = Set(try db.read { try $0.storedIndexes() }.flatMap(\.indexes).flatMap(\.engineTrees))
    try db.close()
    let engine = try StorageEngine(
      at: path, options: StorageOptions(maintainsWhenIdle: false, createsIfMissing: false, isReadOnly: true))
    let figures = try engine.treeStatistics()
    try engine.close()
    db = try Database(at: path, options: Database.Options(durability: .relaxed))
    try db.register(Self.indexes)
    return figures.trees.filter { names.contains($0.name) }.reduce(0) {
      $0 + ($1.leafPages + $1.branchPages + $1.extentPages) * figures.pageSize
    }
  }
}

#if PEER_SQLITE
  /// Songs in SQLite by its C interface, a column for each field.
  final class SQLiteIndexedStore: IndexedStore {
    static var name: String { "sqlite" }
    private let connection: SQLiteConnection
    private let path: String

    init(_ folder: String) throws {
      path = "\(folder)/sqlite"
      var options = StoreOptions(cacheSize: 512 << 20)
      options.durability = .relaxed
      connection = try SQLiteConnection(path: path, options: options)
      try connection.run(
        """
        CREATE TABLE songs (id INTEGER PRIMARY KEY, key TEXT UNIQUE, artist TEXT, year INTEGER, rating REAL,
          plays INTEGER, text TEXT)
        """)
    }

    func makeIndexes() throws {
      try connection.run("CREATE INDEX artist ON songs (artist)")
      try connection.run("CREATE INDEX yearRating ON songs (year, rating DESC)")
      try connection.run("CREATE INDEX rating ON songs (rating)")
      try connection.run("ANALYZE")
    }

    /// A row has all its fields.
    func storePlays() {}

    /// A row has no type.
    func forgetType() {}

    func countUnmarked(playsBelow limit: Int) throws -> Int { try count(playsBelow: limit) }

    /// Binds values, steps through all rows, and hands each to `body`.
    private func query(_ sql: String, _ values: [Any], _ body: (OpaquePointer) -> Void = { _ in }) throws {
      let statement = try connection.statement(sql)
      defer { sqlite3_reset(statement) }
      let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
      for (index, value) in values.enumerated() {
        let place = CInt(index + 1)
        switch value {
        case let value as Int: sqlite3_bind_int64(statement, place, Int64(value))
        case let value as Double: sqlite3_bind_double(statement, place, value)
        case let value as String: sqlite3_bind_text(statement, place, value, -1, transient)
        default: throw StoreFailure(description: "SQLite: a value of no known type")
        }
      }
      while true {
        let status = sqlite3_step(statement)
        if status == SQLITE_DONE { return }
        guard status == SQLITE_ROW else { return try connection.check(status) }
        body(statement)
      }
    }

    func store(_ songs: [IndexedSong], from start: Int) throws {
      try connection.transaction("BEGIN IMMEDIATE") {
        for (index, song) in songs.enumerated() {
          try query(
            "INSERT INTO songs (key, artist, year, rating, plays, text) VALUES (?, ?, ?, ?, ?, ?)",
            ["song-\(start + index)", song.artist, song.year, song.rating, song.plays, song.text])
        }
      }
    }

    func countPlays(of numbers: [Int]) throws {
      try connection.transaction("BEGIN IMMEDIATE") {
        for number in numbers {
          try query("UPDATE songs SET plays = plays + 1 WHERE key = ?", ["song-\(number)"])
        }
      }
    }

    private func integer(_ sql: String, _ values: [Any]) throws -> Int {
      var found = 0
      try query(sql, values) { found = Int(sqlite3_column_int64($0, 0)) }
      return found
    }

    private func rows(_ sql: String, _ values: [Any]) throws -> Int {
      var count = 0
      try query(sql, values) { _ in count += 1 }
      return count
    }

    /// Reads whole rows, as Quire does for these, and adds their ratings.
    private func ratings(_ sql: String, _ values: [Any]) throws -> Double {
      var sum = 0.0
      try query(sql, values) { row in
        sum += sqlite3_column_double(row, 1)
        _ = sqlite3_column_text(row, 2).map { String(cString: $0) }
        _ = sqlite3_column_text(row, 3).map { String(cString: $0) }
      }
      return sum
    }

    func firstID(artist: String) throws -> Int { try rows("SELECT id FROM songs WHERE artist = ? LIMIT 1", [artist]) }
    func idCount(artist: String) throws -> Int { try rows("SELECT id FROM songs WHERE artist = ?", [artist]) }

    func best(year: Int, limit: Int, offset: Int) throws -> Double {
      try ratings(
        "SELECT id, rating, artist, text, plays FROM songs WHERE year = ? ORDER BY rating DESC LIMIT ? OFFSET ?",
        [year, limit, offset])
    }

    func rating(atOffset offset: Int) throws -> Double {
      try ratings("SELECT id, rating, artist, text, plays FROM songs ORDER BY rating LIMIT 10 OFFSET ?", [offset])
    }

    func count(ratingFrom low: Double, to high: Double) throws -> Int {
      try integer("SELECT count(*) FROM songs WHERE rating >= ? AND rating < ?", [low, high])
    }

    func count(artistPrefix: String) throws -> Int {
      try integer("SELECT count(*) FROM songs WHERE artist >= ? AND artist < ?", [artistPrefix, artistPrefix + "~"])
    }

    func count(artists: [String]) throws -> Int {
      var count = 0
      for artist in artists { count += try rows("SELECT id FROM songs WHERE artist = ?", [artist]) }
      return count
    }

    func count(playsBelow limit: Int) throws -> Int {
      try integer("SELECT count(*) FROM songs WHERE plays < ?", [limit])
    }

    func fileByteCount() throws -> Int {
      try connection.run("PRAGMA wal_checkpoint(TRUNCATE)")
      try connection.run("VACUUM")
      try connection.run("PRAGMA wal_checkpoint(TRUNCATE)")
      return try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
    }

    func entryByteCount(beyond bare: Int) throws -> Int { try fileByteCount() - bare }
  }
#endif
