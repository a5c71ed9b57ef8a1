// The code of README.md and GettingStarted.md, compiled and run: `DocumentedCodeTests` sees to it that each line of
// theirs stands here. Nothing but Quire is imported for it, as a newcomer would.

import Quire

/// The code of the README, but for the path.
enum ReadmeCode {
  struct Book: Codable, Sendable { var title: String, pages: Int }

  static func run(_ path: String) throws -> String? {
    let db = try Database(at: path)
    try db.write { tx in try tx[.books].set(Book(title: "Moby-Dick", pages: 635), for: "b1") }  // durable
    let book = try db.read { tx in try tx[.books].get("b1") }
    try db.close()
    return book?.title
  }
}

extension RowCollection where Object == ReadmeCode.Book, Metadata == NoMetadata {
  static var books: Self { .init("books") }
}

// The code of the article.

struct Song: Codable, Sendable {
  var title: String
  var seconds: Int
}

struct PlayState: Codable, Sendable {
  var plays: Int
}

extension RowCollection where Object == Song, Metadata == PlayState {
  static var songs: Self { .init("songs") }
}

struct AlbumV1: Codable, Sendable { var title: String }

struct Album: Codable, Sendable {
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

// These names are those of the package's own types, in a file that imports Quire alone: they must not be ambiguous.

/// What the functions of an app take.
func titles(_ tx: ReadTransaction) -> [String] { tx[.songs].rows.map(\.object.title) }

/// What the functions of an app take.
func addSong(_ title: String, _ key: String, _ tx: WriteTransaction) throws {
  precondition(key.utf8.count <= Limits.rowKeyByteCount)
  try tx[.songs].set(Song(title: title, seconds: 0), for: key)
}

/// What a screen keeps.
func commitNumber(_ screen: PinnedSnapshot) -> CSN { screen.csn }

enum ArticleCode {
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
    let page = try db.read { tx in tx[.songs].rows("s1"..<"s9").prefix(20).map(\.object.title) }
    let newest = try db.read { tx in tx[.songs].rows(prefix: "s").reversed().first { _ in true }?.key }
    return "\(song?.title ?? "") \(plays ?? 0) \(count) \(page.count) \(newest ?? "")"
  }

  /// Ends after `limit` keys.
  static func follow(_ db: Database, limit: Int, print: (String) -> Void) async throws {
    var rest = limit
    try await db.write { tx in try addSong("Luka", "s4", tx) }
    for try await commit in db.commits {
      for key in commit.changes.keys(in: .songs) { print("\(key) has changed") }
      rest -= 1
      if rest == 0 { break }
    }
  }

  static func show(_ db: Database, meanwhile: () throws -> Void) throws -> (String?, Bool) {
    let screen = try db.pin()
    let before = commitNumber(screen)
    try meanwhile()
    let shown = try screen.read { tx in try tx[.songs].get("s1") }
    let missed = try screen.advance()
    let isStale = missed.contains { commit in commit.changes.contains("s1", in: .songs) }
    return (shown?.title, isStale && commitNumber(screen) > before)
  }

  static func handle(_ db: Database, _ song: Song, _ key: String, print: (DatabaseError) -> Void) throws {
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
}
