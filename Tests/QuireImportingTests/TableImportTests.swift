// Tables of SQLite and GRDB: every row comes over, readable by types, and the source stays as it is.

import Foundation
import QuireDatabase
import QuireImporting
import QuireTesting
import Testing

@Suite struct TableImportTests {
  private struct Player: Codable, Equatable, Sendable {
    var id: Int
    var name: String
    var score: Double?
    var isCaptain: Bool
    var born: Date
    var token: UUID
    var photo: Data?
  }

  private let folder: TestFolder
  private let target: String

  init() throws {
    folder = try TestFolder()
    target = folder.url.appendingPathComponent("new.quire").path
  }

  private static let players = [
    "PRAGMA journal_mode = WAL", "PRAGMA wal_autocheckpoint = 0",
    """
    CREATE TABLE player (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, score DOUBLE,
      isCaptain BOOLEAN NOT NULL, born DATETIME NOT NULL, token UUID, photo BLOB)
    """,
    """
    INSERT INTO player VALUES (1, 'Ж', 0.5, 1, '2001-01-01 00:00:01.500',
      x'000102030405060708090a0b0c0d0e0f', x'00ff')
    """,
    "PRAGMA wal_checkpoint(TRUNCATE)",
    """
    INSERT INTO player VALUES (1099511627776, 'only in the log', NULL, 0, '2026-11-28',
      x'000102030405060708090a0b0c0d0e0f', NULL)
    """,
  ]

  @Test func rowsAreReadByTypesAndThoseOfTheLogToo() throws {
    let sample = try SampleFile(folder, Self.players, copiesOpen: true)
    let before = try sample.state()
    let report = try Importer(into: target).run(try TableSource(sample.path, besides: target))
    #expect(report.rowCount == 2 && report.stopped == nil && report.badCount == 0)
    #expect(report.coercions == ["Booleans": 2, "dates": 2, "UUIDs": 2])
    #expect(try sample.state() == before)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path).filter { $0.hasPrefix("new") }
    #expect(names == ["new.quire"])
    let token = try #require(UUID(uuidString: "00010203-0405-0607-0809-0A0B0C0D0E0F"))
    let first = Player(
      id: 1, name: "Ж", score: 0.5, isCaptain: true, born: Date(timeIntervalSinceReferenceDate: 1.5), token: token,
      photo: Data([0, 255]))
    let late = Player(
      id: 1 << 40, name: "only in the log", score: nil, isCaptain: false,
      born: Date(timeIntervalSince1970: 1_795_824_000), token: token, photo: nil)
    let db = try Database(at: target)
    try db.read { tx throws in
      let players = RowCollection<Player, NoMetadata>("player")
      #expect(try tx[players].get("1") == first)
      #expect(try tx[players].get("1099511627776") == late)
    }
    try db.close()
  }

  @Test func keysAndWhatIsLeftOut() throws {
    let sample = try SampleFile(
      folder,
      [
        "CREATE TABLE pair (b TEXT, a INTEGER, v, PRIMARY KEY (b, a)) WITHOUT ROWID",
        #"INSERT INTO pair VALUES ('x|y\', 7, 1), ('x', 8, 2)"#,
        "CREATE TABLE plain (rowid TEXT, twice AS (rowid || rowid))", "INSERT INTO plain VALUES ('q')",
        "CREATE VIEW seen AS SELECT * FROM plain", "CREATE VIRTUAL TABLE words USING fts5(text)",
      ])
    let report = try Importer(into: target).run(try TableSource(sample.path, besides: target))
    #expect(report.rowCount == 3)
    let left = Set(report.leftOut.map(\.name))
    #expect(left.isSuperset(of: ["seen", "words", "words_data", "plain.twice"]) && !left.contains("pair"))
    let db = try Database(at: target)
    try db.read { tx throws in
      #expect(try tx.values(in: "pair").row(#"x\|y\\|7"#)?.object.value?["v"] == 1)
      #expect(try tx.values(in: "pair").row("x|8")?.object.value?["v"] == 2)
      #expect(try tx.values(in: "plain").row("1")?.object.value == ["rowid": "q"])
    }
    try db.close()
    let other = folder.url.appendingPathComponent("one.quire").path
    let one = try Importer(into: other).run(try TableSource(sample.path, besides: other, only: ["pair"]))
    #expect(one.rowCounts.map(\.collection) == ["pair"] && one.leftOut.isEmpty)
  }

  @Test func namesOfTablesAndColumnsAreBytes() throws {
    let column = "a\"\u{301},\"\u{301}b"
    let sample = try SampleFile(
      folder,
      [
        "CREATE TABLE pragma_table_list (schema, name, type, wr)",
        "INSERT INTO pragma_table_list VALUES ('main', 'u', 'table', 0)",
        "CREATE TABLE u (id INTEGER PRIMARY KEY, \(SQLiteName.quoted(column)))", "INSERT INTO u VALUES (9, 2)",
        "CREATE TABLE pair (a, b, PRIMARY KEY (a, b))",
        "INSERT INTO pair VALUES ('a', '\u{301}X|\u{301}b'), ('a|\u{301}X', '\u{301}b')",
      ])
    let report = try Importer(into: target).run(try TableSource(sample.path, besides: target))
    #expect(report.rowCount == 4 && report.stopped == nil)
    let db = try Database(at: target)
    try db.read { tx throws in
      #expect(try tx.values(in: "u").row("9")?.object.value == .record([.init("id", 9), .init(column, 2)]))
      #expect(try tx.values(in: "pair").count() == 2)
    }
    try db.close()
  }

  @Test func theEndOfALogThatCannotBeReadIsTold() throws {
    let sample = try SampleFile(folder, Self.players, copiesOpen: true)
    let log = URL(fileURLWithPath: sample.path + "-wal")
    let whole = try Data(contentsOf: log)
    #expect(try TableSource(sample.path, besides: target).leftOut == [])
    // Cut within the last frame.
    try whole.dropLast(100).write(to: log)
    let cut = try Importer(into: target).run(try TableSource(sample.path, besides: target))
    #expect(cut.rowCount == 1 && cut.leftOut.first?.name.hasPrefix("the end of ") == true)
    // A flipped bit in the first frame.
    var flipped = whole
    flipped[32 + 24 + 100] ^= 1
    try flipped.write(to: log)
    #expect(try TableSource(sample.path, besides: target + "2").leftOut.first?.reason.contains("newest rows") == true)
    // Other salts in the first frame, and frames of this round behind it.
    var other = whole
    other[32 + 8] ^= 1
    try other.write(to: log)
    #expect(try TableSource(sample.path, besides: target + "4").leftOut.first?.reason.contains("newest rows") == true)
    // Other salts in all frames: those of an earlier round.
    let frameByteCount = 24 + (Int(whole[10]) << 8 | Int(whole[11]))
    #expect(whole.count >= 32 + 2 * frameByteCount)
    for frame in stride(from: 32, to: whole.count, by: frameByteCount) { other[frame + 8] = whole[frame + 8] ^ 1 }
    try other.write(to: log)
    #expect(try TableSource(sample.path, besides: target + "5").leftOut == [])
    // A header that is none.
    try (Data(count: 32) + whole.dropFirst(32)).write(to: log)
    let error = try #require(throws: ImportError.self) { _ = try TableSource(sample.path, besides: target + "3") }
    #expect(error.description.contains("-wal, which has the newest rows, is damaged"))
  }

  @Test func aRuleThatOnlyTheAppHasIsNoDamage() throws {
    let sample = try SampleFile(
      folder,
      [
        "CREATE TABLE t (a INTEGER PRIMARY KEY, b NOT NULL)", "INSERT INTO t VALUES (1, 2)",
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET sql = 'CREATE TABLE t (a INTEGER PRIMARY KEY, b CHECK (known_to_the_app(b)))'",
      ])
    let report = try Importer(into: target).run(try TableSource(sample.path, besides: target))
    #expect(report.rowCount == 1 && report.leftOut == [])
  }

  @Test func viewsInViewsTakeNoTime() throws {
    // Each reads the one before it twice: 2³⁰ of the first one.
    let views = (1...30).map { "CREATE VIEW v\($0) AS SELECT x.a FROM v\($0 - 1) AS x, v\($0 - 1) AS y" }
    let sample = try SampleFile(
      folder, ["CREATE TABLE t (a)", "INSERT INTO t VALUES (1)", "CREATE VIEW v0 AS SELECT a FROM t"] + views)
    let report = try Importer(into: target).run(try TableSource(sample.path, besides: target))
    #expect(report.rowCount == 1 && report.leftOut.count == 31)
  }

  @Test func aBadRowStopsUnlessItIsPassedOver() throws {
    let sample = try SampleFile(
      folder,
      [
        "CREATE TABLE t (k TEXT PRIMARY KEY, v)",
        "INSERT INTO t VALUES ('a', 1), (NULL, 2), ('c', CAST(x'ff' AS TEXT))",
      ])
    let stopped = try Importer(into: target).run(try TableSource(sample.path, besides: target))
    #expect(stopped.stopped?.reason.contains("NULL") == true)
    #expect(!FileManager.default.fileExists(atPath: target))
    var bad: [BadRow] = []
    let dry = try Importer(into: target, isDryRun: true, skip: { bad.append($0) }).run(
      try TableSource(sample.path, besides: target))
    #expect(dry.rowCount == 1 && dry.badCount == 2 && bad.map(\.table) == ["t", "t"])
    #expect(!FileManager.default.fileExists(atPath: target))
    let done = try Importer(into: target, skip: { _ in }).run(try TableSource(sample.path, besides: target))
    #expect(done.rowCount == 1 && done.badCount == 2 && FileManager.default.fileExists(atPath: target))
  }

  @Test func rowsThatWerePassedOverAreKeptBeforeTheFileIsThere() throws {
    let sample = try SampleFile(
      folder, ["CREATE TABLE t (k TEXT PRIMARY KEY, v)", "INSERT INTO t VALUES ('a', 1), (NULL, 2)"])
    for ending in ["-wal", "-journal", "-shm"] {
      let error = try #require(throws: ImportError.self) {
        _ = try BadRowFile(at: sample.path + ending, besides: sample.path)
      }
      #expect(error.description.contains("is a name that SQLite uses"))
    }
    let path = folder.url.appendingPathComponent("bad").path
    let target = target
    let bad = try BadRowFile(at: path, besides: sample.path)
    var wasThere: Bool?
    let importer = Importer(
      into: target, skip: { try bad.append($0) },
      finish: {
        try bad.close()
        wasThere = FileManager.default.fileExists(atPath: target)
      })
    let report = try importer.run(try TableSource(sample.path, besides: target))
    #expect(report.rowCount == 1 && report.badCount == 1 && wasThere == false)
    #expect(FileManager.default.fileExists(atPath: target))
    #expect(try String(contentsOfFile: path, encoding: .utf8).contains("NULL"))
    struct Refused: Error {}
    let other = target + "2"
    #expect(throws: Refused.self) {
      try Importer(into: other, skip: { _ in }, finish: { throw Refused() }).run(
        try TableSource(sample.path, besides: other))
    }
    #expect(!FileManager.default.fileExists(atPath: other))
  }
}
