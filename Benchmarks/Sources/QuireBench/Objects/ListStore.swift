// Lists on a screen: songs in groups and in order, in Quire by views and in SQLite by indexes.

internal import Foundation
internal import QuireDatabase
internal import QuireViews

#if PEER_SQLITE
  internal import CSQLite
#endif

/// What a store of lists must be able to do: songs by genre, each genre by rating; and of these the ones that few play.
protocol ListStore: AnyObject {
  static var name: String { get }
  /// Opens the store in an existing folder; commits wait for the system only.
  init(_ folder: String) throws
  /// Stores new songs, a thousand to a transaction.
  func insert(_ songs: CatalogSongs, _ range: Range<Int>) throws
  /// Makes the list of what is there, or the index that gives it.
  func makeList() throws
  /// Makes the list of the songs that were played fewer than `ListStores.fewPlays` times.
  func makeFilteredList() throws
  /// Gives songs other ratings, a thousand to a transaction.
  func move(_ changes: ArraySlice<(key: String, rating: Double)>) throws
  /// The digests of 20 songs of a genre from one place on.
  func page(_ genre: String, from offset: Int, isFiltered: Bool) throws -> UInt64
  /// Takes note of what a screen shows that has a whole genre.
  func beginScreen(_ genre: String) throws
  /// How many rows of that screen have come, gone, moved or changed since.
  func changesOnScreen() throws -> Int
  func close() throws
}

/// What all lists share.
enum ListStores {
  static let pageLength = 20
  static let fewPlays = 100

  /// The parts of `range` that transactions of a thousand rows take.
  static func parts(of range: Range<Int>) -> [Range<Int>] {
    stride(from: range.lowerBound, to: range.upperBound, by: 1000).map { $0..<min(range.upperBound, $0 + 1000) }
  }
}

/// Views of Quire.
final class QuireListStore: ListStore {
  static var name: String { "quire" }
  private let db: Database
  private var screen: PinnedSnapshot?
  private var mappings: ViewMappings?

  private static let list = AutoView(
    "songs by genre", over: .catalog, version: "1", group: \.genre, sortKey: \.rating)
  private static let few = FilteredView(
    "songs that few play", of: list, filter: .byField(\.plays) { $0 < ListStores.fewPlays })

  init(_ folder: String) throws {
    db = try Database(at: "\(folder)/lists.quire", options: Database.Options(durability: .relaxed))
  }

  func insert(_ songs: CatalogSongs, _ range: Range<Int>) throws {
    for part in ListStores.parts(of: range) {
      try db.write { tx throws in
        for index in part { try tx[.catalog].set(songs.songs[index], for: songs.keys[index]) }
      }
    }
  }

  func makeList() throws { try db.register(Self.list) }
  func makeFilteredList() throws { try db.register(Self.few) }

  func move(_ changes: ArraySlice<(key: String, rating: Double)>) throws {
    for part in ListStores.parts(of: changes.indices) {
      try db.write { tx throws in
        for change in changes[part] { try tx[.catalog].update(change.key) { $0.rating = change.rating } }
      }
    }
  }

  func page(_ genre: String, from offset: Int, isFiltered: Bool) throws -> UInt64 {
    try db.read { tx throws in
      let view = try isFiltered ? tx.view(Self.few) : tx.view(Self.list)
      var total: UInt64 = 0
      for (_, row) in view.rows(in: genre, offset..<offset + ListStores.pageLength) { total &+= try row.object.digest }
      return total
    }
  }

  func beginScreen(_ genre: String) throws {
    let screen = try db.pin()
    var mappings = ViewMappings(Self.list, groups: [genre])
    try screen.read { tx throws in try mappings.update(tx) }
    (self.screen, self.mappings) = (screen, mappings)
  }

  func changesOnScreen() throws -> Int {
    guard let screen, var mappings else { return 0 }
    let diff = try screen.advance(&mappings)
    try expect(!diff.isReload, "Quire told a screen to reload")
    self.mappings = mappings
    return diff.rows.count
  }

  func close() throws {
    screen = nil
    try db.close()
  }
}

#if PEER_SQLITE
  /// SQLite with an index that has the order of the list, and a partial one for the filter.
  final class SQLiteListStore: ListStore {
    static var name: String { "sqlite" }
    private let records: SQLiteRecordStore
    private var connection: SQLiteConnection { records.connection }
    private var shown: [(id: Int64, rating: Double)] = []
    private var genre = ""

    init(_ folder: String) throws {
      records = try SQLiteRecordStore(folder, count: 0)
      try records.connection.run("PRAGMA synchronous = NORMAL")
    }

    func insert(_ songs: CatalogSongs, _ range: Range<Int>) throws {
      for part in ListStores.parts(of: range) { try records.insert(songs, part) }
    }

    func makeList() throws {
      try connection.run("CREATE INDEX byGenre ON catalog (genre, rating)")
      try connection.run("ANALYZE")
    }

    func makeFilteredList() throws {
      try connection.run("CREATE INDEX few ON catalog (genre, rating) WHERE plays < \(ListStores.fewPlays)")
    }

    func move(_ changes: ArraySlice<(key: String, rating: Double)>) throws {
      for part in ListStores.parts(of: changes.indices) {
        try connection.transaction("BEGIN IMMEDIATE") {
          let statement = try connection.statement("UPDATE catalog SET rating = ? WHERE key = ?")
          for change in changes[part] {
            sqlite3_bind_double(statement, 1, change.rating)
            bind(change.key, 2, statement)
            try connection.finish(statement)
          }
        }
      }
    }

    private func bind(_ text: String, _ place: CInt, _ statement: OpaquePointer) {
      var text = text
      let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
      text.withUTF8 { _ = sqlite3_bind_text(statement, place, $0.characters, CInt($0.count), transient) }
    }

    func page(_ genre: String, from offset: Int, isFiltered: Bool) throws -> UInt64 {
      let filter = isFiltered ? "AND plays < \(ListStores.fewPlays) " : ""
      let statement = try connection.statement(
        "SELECT \(SQLiteRecordStore.columns) FROM catalog WHERE genre = ? \(filter)ORDER BY rating LIMIT ? OFFSET ?")
      bind(genre, 1, statement)
      sqlite3_bind_int64(statement, 2, Int64(ListStores.pageLength))
      sqlite3_bind_int64(statement, 3, Int64(offset))
      var total: UInt64 = 0
      while sqlite3_step(statement) == SQLITE_ROW { total &+= records.song(statement).digest }
      try connection.check(sqlite3_reset(statement))
      return total
    }

    /// What the list shows, by the index alone.
    private func list() throws -> [(id: Int64, rating: Double)] {
      let statement = try connection.statement("SELECT id, rating FROM catalog WHERE genre = ? ORDER BY rating")
      bind(genre, 1, statement)
      var rows: [(id: Int64, rating: Double)] = []
      while sqlite3_step(statement) == SQLITE_ROW {
        rows.append((sqlite3_column_int64(statement, 0), sqlite3_column_double(statement, 1)))
      }
      try connection.check(sqlite3_reset(statement))
      return rows
    }

    func beginScreen(_ genre: String) throws {
      self.genre = genre
      shown = try list()
    }

    /// Fetches the list anew and compares it: what changed its rating moved, and what did not is in the same order as
    /// before. That is the cheapest comparison that there is; one that knows nothing of the order takes longer.
    func changesOnScreen() throws -> Int {
      let new = try list()
      let old = Dictionary(uniqueKeysWithValues: shown.map { ($0.id, $0.rating) })
      var (changes, found) = (0, 0)
      for row in new {
        guard let rating = old[row.id] else {
          changes += 1
          continue
        }
        found += 1
        if rating != row.rating { changes += 1 }
      }
      shown = new
      return changes + old.count - found
    }

    func close() throws { try records.close() }
  }
#endif
