// Code as an app writes it, with nothing but `import Quire`: it compiles, and does what it says.

import Foundation
import Quire
import QuireTesting
import Testing

private struct Book: Persistable, Equatable {
  static let collection = RowCollection<Book, NoMetadata>("books")
  var id: String
  var title = "untitled"
}

@Suite struct AppCodeTests {
  let folder: TestFolder

  init() throws { folder = try TestFolder() }

  @Test func rows() async throws {
    let db = try Database(at: folder.path, options: Database.Options(durability: .full))
    let (song, song2) = (Song("Naima"), Song("Lonnie's Lament"))
    let actions = Recorder()
    try await db.write { tx in
      let songs = tx[.songs]
      try songs.set(song, metadata: PlayState(plays: 0), for: "s1")
      try songs.replace(song2, for: "s1")
      try songs.replaceMetadata(PlayState(plays: 1), for: "s1")
      try songs.update("s1") { $0.seconds += 1 }
      try songs.touch("s1")
      try songs.remove("s2")
      try songs.remove(["s2", "s3"])
      try tx.savepoint {
        try songs.removeAll()
        try tx.removeAll()
      }
      try songs.set(song, metadata: PlayState(plays: 0), for: "s1")
      tx.onCommit { actions.append("committed") }
      tx.commitInfo = "sync"
    }
    await db.drain()
    #expect(actions.values == ["committed"])
    await #expect(throws: DatabaseError.self) { try await db.write { tx -> Void in try tx.rollback() } }

    let stored = try await db.read { tx in try tx[.songs].get("s1") }
    #expect(stored == song)
    try await db.read { tx in
      let songs = tx[.songs]
      _ = try songs.row("s1")
      _ = try songs.metadata("s1")
      _ = try songs.contains("s1")
      _ = songs.count
      for row in songs.rows("a"..<"m") { Issue.record("\(row)") }
      for row in songs.rows("a"..<"z").reversed() { #expect(row.key == "s1" && row.metadata?.plays == 0) }
      for key in songs.keys(prefix: "a") { Issue.record("\(key)") }
      #expect(try songs.rows(for: ["s1", "s9"]).map(\.key) == ["s1"])
      #expect(tx.collections == ["songs"])
    }
  }

  @Test func coders() throws {
    let db = try folder.open()
    struct SongV1: Codable, Sendable { var name: String }
    let old = RowCollection<SongV1, NoMetadata>("upgraded")
    _ = RowCoder<Song>.json
    _ = RowCoder<Song>.propertyList
    let dates = RowCollection<Date, NoMetadata>("dates", coder: .timestamp)
    let blobs = RowCollection<[UInt8], NoMetadata>("blobs", coder: .bytes)
    let own = RowCoder<Song>(
      encode: { song in Array(song.title.utf8) },
      decode: { (bytes: RawSpan) in Song(String(decoding: bytes.withUnsafeBytes { Array($0) }, as: UTF8.self)) })
    let titles = RowCollection<Song, NoMetadata>("titles", coder: own)
    let compressed = RowCollection<Song, NoMetadata>("compressed", compression: .lz4(above: 256))
    let date = Date(timeIntervalSinceReferenceDate: 0.1 + 0.2)
    try db.write { tx throws in
      try tx[old].set(SongV1(name: "Naima"), for: "s1")
      try tx[dates].set(date, for: "d")
      try tx[blobs].set([0, 1, 2], for: "b")
      try tx[titles].set(Song("Naima", seconds: 1), for: "s1")
      try tx[compressed].set(Song(String(repeating: "la ", count: 1000)), for: "s1")
    }
    try db.close()
    let again = try folder.open()
    let coder = RowCoder<Song>.binary.upgrading(from: SongV1.self) { old in Song(old.name) }
    let new = RowCollection<Song, NoMetadata>("upgraded", coder: coder)
    try again.read { tx throws in
      #expect(try tx[new].get("s1")?.title == "Naima")
      #expect(try tx[dates].get("d") == date)
      #expect(try tx[blobs].get("b") == [0, 1, 2])
      #expect(try tx[titles].get("s1") == Song("Naima"))
      #expect(try tx[compressed].get("s1")?.title.count == 3000)
    }
  }

  @Test func connectionsPinsAndChanges() async throws {
    let db = try folder.open()
    let connection = db.makeConnection()
    let screen = try db.pin()
    let all = db.commits
    try await connection.write { tx in
      try tx[.texts("t")].set("v", for: "k")
      try tx[.songs].set(Song("Naima"), for: "s1")
      try tx[.songs].removeAll()
      try tx[.songs].set(Song("Naima"), for: "s1")
    }
    let commits: [Commit] = try screen.advance()
    #expect(commits.count == 1)
    for try await commit in all {
      #expect(commit.changes.hasChanges(forKey: "s1", in: .songs))
      #expect(commit.changes.changedKeys(in: .songs) == ["s1"])
      #expect(commit.changes.didClear(.songs))
      break
    }
    #expect(try await screen.read { tx in tx[.songs].count } == 1)
    for try await n in db.observe({ tx in tx[.songs].count }) {
      #expect(n == 1)
      break
    }
  }

  @Test func persistables() async throws {
    let db = try folder.open()
    let (book, other) = (Book(id: "b1"), Book(id: "b2", title: "other"))
    try await book.save(in: db)
    try await db.write { tx in
      try book.save(in: tx)
      #expect(try [book, other].save(in: tx) == 2)
      #expect(try Book.find("b1", in: tx) == book)
    }
    let ids = ["b2", "b0", "b1", "b2"]
    #expect(try await Book.find(ids, in: db) == [other, book, other])
    #expect(try await Book.all(in: db) == [book, other])
    try await db.read { tx in
      let (found, missing) = try Book.partition(ids, in: tx)
      #expect(found == [other, book, other] && missing == ["b0"])
      #expect(try Book.find(ids, in: tx).count == 3 && Book.all(in: tx).count == 2)
      #expect(try Book.find("b0", in: tx) == nil)
    }
    try await db.write { tx throws in #expect(try book.delete(in: tx)) }
    #expect(try await Book.all(in: db) == [other])
  }

  @Test func persistablesOnConnections() async throws {
    let db = try folder.open()
    let connection = db.makeConnection()
    let books = ["b1", "b2", "b3"].map { Book(id: $0) }
    #expect(try await books.save(in: connection) == 3)
    #expect(try await Book.find("b2", in: connection) == books[1])
    #expect(try await Book.partition(["b3", "x"], in: connection).missing == ["x"])
    #expect(try await books[1...].delete(in: db) == 2)
    #expect(try await !books[1].delete(in: connection))
    try await books[0].save(metadata: NoMetadata(), in: db)
    try synchronousForms(db, connection)
  }

  private func synchronousForms(_ db: Database, _ connection: Connection) throws {
    let book = Book(id: "b9")
    try book.save(in: db)
    try book.save(metadata: NoMetadata(), in: connection)
    #expect(try Book.find("b9", in: connection) == book)
    #expect(try Book.find(["b9"], in: db) == [book])
    #expect(try Book.partition(["b9", "x"], in: db).found == [book])
    #expect(try Book.all(in: connection).map(\.id) == ["b1", "b9"])
    #expect(try [book].delete(in: connection) == 1)
    #expect(try !book.delete(in: db))
    #expect(try [book, book].save(in: connection) == 2)
  }

  /// The names of the object layer are what `Quire` brings; the engine's of the same names it does not.
  private func keys(_ tx: WriteTransaction, _ pin: PinnedSnapshot) throws -> (Int, Limits.Type) {
    (tx[.songs].count, Limits.self)
  }

  @Test func files() async throws {
    let db = try folder.open()
    try await db.write { tx in try tx[.texts("t")].set("v", for: "k") }
    try await db.checkpoint()
    try await db.flush()
    try closeAndReopen(db)
  }

  private func closeAndReopen(_ db: Database) throws {
    do {
      defer { try? db.close() }
      try db.checkpoint()
    }
    #expect(errorCode { try db.checkpoint() } == .closed)
    #expect(try folder.open().read { tx in try tx[.texts("t")].get("k") } == "v")
  }
}
