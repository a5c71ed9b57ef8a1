// The listings of “Getting started”, in one file that imports Quire alone, as a newcomer would: none of the names may
// be ambiguous. `path` stands for the path that the article writes.

import Quire

enum GettingStarted {
  struct Song: Codable, Sendable {
    var title: String
    var seconds: Int
  }

  struct PlayState: Codable, Sendable {
    var plays: Int
  }
}

private typealias Song = GettingStarted.Song
private typealias PlayState = GettingStarted.PlayState

extension RowCollection where Object == Song, Metadata == PlayState {
  static var songs: Self { .init("songs") }
}

private struct AlbumV1: Codable, Sendable { var title: String }

private struct Album: Codable, Sendable {
  var name: String
  var year: Int?
}

extension RowCollection where Object == AlbumV1, Metadata == NoMetadata {
  static var oldAlbums: Self { .init("albums") }
}

extension RowCollection where Object == Album, Metadata == NoMetadata {
  static var albums: Self {
    .init("albums", coder: .binary.upgrading(from: AlbumV1.self) { old in Album(name: old.title, year: nil) })
  }
}

/// What the functions of an app take.
func titles(_ tx: ReadTransaction) -> [String] { tx[.songs].rows.map(\.object.title) }

/// What the functions of an app take.
func addSong(_ title: String, _ key: String, _ tx: WriteTransaction) throws {
  precondition(key.utf8.count <= Limits.rowKeyByteCount)
  try tx[.songs].set(Song(title: title, seconds: 0), for: key)
}

/// What a screen keeps.
func commitNumber(_ screen: PinnedSnapshot) -> CSN { screen.csn }

extension GettingStarted {
  static func open(_ path: String) throws -> Database {
    let db = try Database(at: path)
    return db
  }

  static func write(_ db: Database) throws {
    try db.write { tx in
      try tx[.songs].set(Song(title: "Tom's Diner", seconds: 129), metadata: PlayState(plays: 0), for: "s1")
      try tx[.songs].update("s2") { song in song.seconds += 1 }
      try tx[.songs].replaceMetadata(PlayState(plays: 7), for: "s1")
      try tx[.songs].remove("s3")
    }
  }

  static func read(_ db: Database) throws -> String {
    let song = try db.read { tx in try tx[.songs].get("s1") }
    let plays = try db.read { tx in try tx[.songs].metadata("s1")?.plays }
    let count = try db.read { tx in tx[.songs].count }
    let drafts = try db.read { tx in try tx[.songs].count(prefix: "draft/") + tx[.songs].count("s1"..<"s9") }
    let page = try db.read { tx in tx[.songs].rows("s1"..<"s9").prefix(20).map(\.object.title) }
    let newest = try db.read { tx in tx[.songs].rows(prefix: "s").reversed().first?.key }
    return "\(song?.title ?? "") \(plays ?? 0) \(count + drafts) \(page.count) \(newest ?? "")"
  }

  static func follow(_ db: Database, print: (String) -> Void) async throws {
    for try await commit in db.commits {
      for key in commit.changes.changedKeys(in: .songs) { print("\(key) has changed") }
    }
  }

  static func show(_ db: Database) throws -> (String?, Bool) {
    let screen = try db.pin()
    let shown = try screen.read { tx in try tx[.songs].get("s1") }
    let missed = try screen.advance()
    let isStale = missed.contains { commit in commit.changes.hasChanges(forKey: "s1", in: .songs) }
    return (shown?.title, isStale)
  }

  static func handle(
    _ db: Database, _ song: GettingStarted.Song, _ key: String, print: (DatabaseError) -> Void
  ) throws {
    do {
      try db.write { tx in try tx[.songs].set(song, for: key) }
    } catch let error as DatabaseError where error.code == .diskFull {
      print(error)
    }
  }

  static func openRelaxed(_ path: String) throws -> Database {
    let options = Database.Options(durability: .interval(.milliseconds(100)))
    return try Database(at: path, options: options)
  }

  static func close(_ db: Database) throws {
    try db.close()
  }

  /// What `RowCollection` shows.
  static func set(_ song: GettingStarted.Song, _ db: Database) throws {
    try db.write { tx in try tx[.songs].set(song, metadata: PlayState(plays: 0), for: "s1") }
  }

  static func seconds(_ db: Database, _ key: String) throws -> Int? {
    try db.read { tx in try tx[.songs].get(key)?.seconds }
  }

  static func storeOldAlbum(_ title: String, _ db: Database) throws {
    try db.write { tx in try tx[.oldAlbums].set(AlbumV1(title: title), for: "a1") }
  }

  /// The name and the year of the album.
  static func album(_ db: Database) throws -> (String, Int?)? {
    try db.read { tx in try tx[.albums].get("a1").map { album in (album.name, album.year) } }
  }
}
