// Songs as records, in Quire and in SQLite by columns.

internal import Foundation
internal import QuireDatabase

#if PEER_SQLITE
  internal import CSQLite
#endif

/// What a store of records must be able to do; every call is a whole loop, in one transaction.
protocol RecordStore: AnyObject {
  static var name: String { get }
  /// Opens the store in an existing folder, with durable commits.
  init(_ folder: String, count: Int) throws
  /// Stores new songs one by one, as a user does.
  func insert(_ songs: CatalogSongs) throws
  /// Stores new songs by the fastest way that the store has.
  func load(_ songs: CatalogSongs) throws
  /// The numbers of the rows of these keys, in their order.
  func rowIDs(of keys: [String]) throws -> [Int64]
  func digest(of keys: [String]) throws -> UInt64
  func digest(withIDs rowIDs: [Int64]) throws -> UInt64
  /// All songs, in the order of their keys.
  func digestOfAll() throws -> UInt64
  /// All keys; the sum of their lengths.
  func lengthOfKeys() throws -> Int
  /// Counts a play of each song: reads it, changes it, stores it.
  func countPlays(of keys: ArraySlice<String>) throws
  func close() throws
}

extension RowCollection where Object == CatalogSong, Metadata == NoMetadata {
  static var catalog: Self { .init("catalog", compression: .none) }
}

/// Songs in Quire.
class QuireRecordStore: RecordStore {
  class var name: String { "quire" }
  /// The cache of objects, off by default.
  class func objectCache(_ count: Int) -> ObjectCacheOptions? { nil }

  private let db: Database

  required init(_ folder: String, count: Int) throws {
    db = try Database(
      at: "\(folder)/records.quire", options: Database.Options(objectCache: Self.objectCache(count)))
  }

  func insert(_ songs: CatalogSongs) throws {
    try db.write { tx throws in
      for index in songs.keys.indices { try tx[.catalog].set(songs.songs[index], for: songs.keys[index]) }
    }
  }

  func load(_ songs: CatalogSongs) throws {
    _ = try db.write { tx throws in try tx[.catalog].load(zip(songs.keys, songs.songs)) }
  }

  func rowIDs(of keys: [String]) throws -> [Int64] {
    try db.read { tx throws in try keys.map { try tx[.catalog].rowID($0)?.rawValue ?? -1 } }
  }

  func digest(of keys: [String]) throws -> UInt64 {
    try db.read { tx throws in
      var total: UInt64 = 0
      for key in keys { total &+= try tx[.catalog].get(key)?.digest ?? 0 }
      return total
    }
  }

  func digest(withIDs rowIDs: [Int64]) throws -> UInt64 {
    try db.read { tx throws in
      var total: UInt64 = 0
      for rowID in rowIDs { total &+= try tx[.catalog].row(withID: RowID(rowID))?.object.digest ?? 0 }
      return total
    }
  }

  func digestOfAll() throws -> UInt64 {
    try db.read { tx throws in
      var total: UInt64 = 0
      for row in tx[.catalog].rows { total &+= row.object.digest }
      return total
    }
  }

  func lengthOfKeys() throws -> Int {
    try db.read { tx throws in tx[.catalog].keys.reduce(0) { $0 + $1.utf8.count } }
  }

  func countPlays(of keys: ArraySlice<String>) throws {
    try db.write { tx throws in for key in keys { try tx[.catalog].update(key) { $0.plays += 1 } } }
  }

  func close() throws { try db.close() }
}

/// Songs in Quire with a cache of objects that holds all of them.
final class QuireCachedRecordStore: QuireRecordStore {
  override class var name: String { "quire-cached" }
  override class func objectCache(_ count: Int) -> ObjectCacheOptions? {
    ObjectCacheOptions(countLimit: 4 * count, byteLimit: 1 << 30)
  }
}

#if PEER_SQLITE
  /// Songs in SQLite by its C interface, a column for each field, made and taken apart by hand.
  final class SQLiteRecordStore: RecordStore {
    static var name: String { "sqlite" }
    let connection: SQLiteConnection
    static let columns = "title, artist, album, genre, year, rating, plays, added, comment"

    init(_ folder: String, count: Int) throws {
      connection = try SQLiteConnection(path: "\(folder)/records.sqlite", options: StoreOptions(cacheSize: 512 << 20))
      try connection.run(Self.schema)
    }

    /// The table that GRDB has, too.
    static let schema = """
      CREATE TABLE IF NOT EXISTS catalog (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, title TEXT NOT NULL,
        artist TEXT NOT NULL, album TEXT NOT NULL, genre TEXT NOT NULL, year INTEGER NOT NULL, rating REAL NOT NULL,
        plays INTEGER NOT NULL, added REAL NOT NULL, comment TEXT NOT NULL)
      """

    func insert(_ songs: CatalogSongs) throws { try insert(songs, songs.keys.indices) }

    /// Inserts the songs of a range in one transaction.
    func insert(_ songs: CatalogSongs, _ range: Range<Int>) throws {
      try connection.transaction("BEGIN IMMEDIATE") {
        let statement = try connection.statement(
          "INSERT INTO catalog (key, \(Self.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        for index in range {
          let song = songs.songs[index]
          func bind(_ text: String, _ place: CInt) {
            var text = text
            text.withUTF8 { _ = sqlite3_bind_text(statement, place, $0.characters, CInt($0.count), transient) }
          }
          bind(songs.keys[index], 1)
          bind(song.title, 2)
          bind(song.artist, 3)
          bind(song.album, 4)
          bind(song.genre, 5)
          sqlite3_bind_int64(statement, 6, Int64(song.year))
          sqlite3_bind_double(statement, 7, song.rating)
          sqlite3_bind_int64(statement, 8, Int64(song.plays))
          sqlite3_bind_double(statement, 9, song.added.timeIntervalSinceReferenceDate)
          bind(song.comment, 10)
          try connection.finish(statement)
        }
      }
    }

    /// There is no faster way.
    func load(_ songs: CatalogSongs) throws { try insert(songs) }

    /// Runs a query once for each of some values, in one transaction, and hands each row to `body`.
    private func query<Value>(
      _ sql: String, _ values: some Sequence<Value>, _ bind: (OpaquePointer, Value) -> Void,
      _ body: (OpaquePointer) -> Void
    ) throws {
      try connection.transaction("BEGIN") {
        let statement = try connection.statement(sql)
        for value in values {
          bind(statement, value)
          while sqlite3_step(statement) == SQLITE_ROW { body(statement) }
          try connection.check(sqlite3_reset(statement))
        }
      }
    }

    private func bind(_ statement: OpaquePointer, _ key: String) {
      var key = key
      let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
      key.withUTF8 { _ = sqlite3_bind_text(statement, 1, $0.characters, CInt($0.count), transient) }
    }

    private func bind(_ statement: OpaquePointer, _ rowID: Int64) { sqlite3_bind_int64(statement, 1, rowID) }
    private func bind(_ statement: OpaquePointer, _ nothing: Void) {}

    /// The song whose columns begin with the first one.
    func song(_ row: OpaquePointer) -> CatalogSong {
      CatalogSong(
        title: row.text(0), artist: row.text(1), album: row.text(2), genre: row.text(3),
        year: Int(sqlite3_column_int64(row, 4)), rating: sqlite3_column_double(row, 5),
        plays: Int(sqlite3_column_int64(row, 6)),
        added: Date(timeIntervalSinceReferenceDate: sqlite3_column_double(row, 7)), comment: row.text(8))
    }

    func rowIDs(of keys: [String]) throws -> [Int64] {
      var rowIDs: [Int64] = []
      try query("SELECT id FROM catalog WHERE key = ?", keys, bind) { rowIDs.append(sqlite3_column_int64($0, 0)) }
      return rowIDs
    }

    func digest(of keys: [String]) throws -> UInt64 {
      var total: UInt64 = 0
      try query("SELECT \(Self.columns) FROM catalog WHERE key = ?", keys, bind) { total &+= song($0).digest }
      return total
    }

    func digest(withIDs rowIDs: [Int64]) throws -> UInt64 {
      var total: UInt64 = 0
      try query("SELECT \(Self.columns) FROM catalog WHERE id = ?", rowIDs, bind) { total &+= song($0).digest }
      return total
    }

    func digestOfAll() throws -> UInt64 {
      var total: UInt64 = 0
      try query("SELECT \(Self.columns) FROM catalog ORDER BY key", CollectionOfOne(()), bind) {
        total &+= song($0).digest
      }
      return total
    }

    func lengthOfKeys() throws -> Int {
      var total = 0
      try query("SELECT key FROM catalog ORDER BY key", CollectionOfOne(()), bind) { total += $0.text(0).utf8.count }
      return total
    }

    func countPlays(of keys: ArraySlice<String>) throws {
      try connection.transaction("BEGIN IMMEDIATE") {
        let statement = try connection.statement("UPDATE catalog SET plays = plays + 1 WHERE key = ?")
        for key in keys {
          bind(statement, key)
          try connection.finish(statement)
          try expect(connection.changes == 1, "SQLite: no \(key)")
        }
      }
    }

    func close() throws { try connection.close() }
  }
#endif
