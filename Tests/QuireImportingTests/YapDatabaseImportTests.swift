// Files as YapDatabase lays them out: every row comes over, readable by types and by YapCompat.

import Foundation
import Quire
import QuireImporting
import QuireTesting
import Testing
import YapCompat

@Suite struct YapDatabaseImportTests {
  private struct Book: Codable, Equatable, Sendable {
    var title: String
    var pages: Int
  }

  private let folder: TestFolder
  private let target: String

  init() throws {
    folder = try TestFolder()
    target = folder.url.appendingPathComponent("new.quire").path
  }

  private func hex(_ data: Data) -> String {
    "x'" + data.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + "'"
  }

  private func archive(_ object: Any) throws -> String {
    hex(try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: false))
  }

  private func propertyList(_ book: Book) throws -> String {
    let encoder = PropertyListEncoder()
    encoder.outputFormat = .binary
    return hex(try encoder.encode(book))
  }

  private func statements() throws -> [String] {
    var all = [
      "PRAGMA auto_vacuum = FULL", "PRAGMA journal_mode = WAL", "PRAGMA wal_autocheckpoint = 0",
      """
      CREATE TABLE "yap2" ("extension" CHAR NOT NULL, "key" CHAR NOT NULL, "data" BLOB,
        PRIMARY KEY ("extension", "key"))
      """,
      """
      CREATE TABLE "database2" ("rowid" INTEGER PRIMARY KEY, "collection" CHAR NOT NULL, "key" CHAR NOT NULL,
        "data" BLOB, "metadata" BLOB)
      """,
      #"CREATE UNIQUE INDEX "true_primary_key" ON "database2" ("collection", "key")"#, "BEGIN",
    ]
    for number in 0..<100 {
      let (song, seen) = (
        try archive(["title": "Song \(number)"] as NSDictionary), try archive(NSNumber(value: number))
      )
      all.append("INSERT INTO database2 VALUES (NULL, 'songs', 'song-\(number)', \(song), \(seen))")
      let book = try propertyList(Book(title: "Ж", pages: number))
      all.append("INSERT INTO database2 VALUES (NULL, 'books', 'book-\(number)', \(book), NULL)")
    }
    let text = try archive("text" as NSString)
    return all + [
      "INSERT INTO database2 VALUES (1099511627776, 'odd', 'far', \(text), NULL)",
      "INSERT INTO database2 VALUES (NULL, 'odd', 'empty', x'', NULL)",
      "INSERT INTO database2 VALUES (NULL, 'odd', '', \(text), NULL)",
      "INSERT INTO database2 VALUES (NULL, '', 'nil collection', \(text), NULL)",
      "INSERT INTO database2 VALUES (NULL, 'odd', '\u{e9}', \(text), NULL)",
      "INSERT INTO database2 VALUES (NULL, 'odd', 'e\u{301}', \(text), NULL)",
      "INSERT INTO database2 VALUES (NULL, 'odd', CAST(x'6e756c00696e73696465' AS TEXT), \(text), NULL)",
      "INSERT INTO yap2 VALUES ('', 'snapshot', 7), ('graph', 'class', 'YapDatabaseRelationship')",
      """
      CREATE TABLE "relationship_graph" ("rowid" INTEGER PRIMARY KEY, "name" CHAR NOT NULL, "src" INTEGER NOT NULL,
        "dst" BLOB NOT NULL, "rules" INTEGER, "manual" INTEGER)
      """,
      "INSERT INTO relationship_graph VALUES (1, 'of', 1, 2, 6, 1), (2, 'derived', 1, 2, 6, 0)",
      "INSERT INTO relationship_graph VALUES (3, 'lost', 1, 999, 0, 1), (4, 'file', 1, '/tmp/f', 8, 1)",
      "COMMIT", "PRAGMA wal_checkpoint(TRUNCATE)",
      "INSERT INTO database2 VALUES (NULL, 'songs', 'only in the log', \(text), NULL)",
    ]
  }

  private func imported() throws -> ImportReport {
    let sample = try SampleFile(folder, try statements(), copiesOpen: true)
    let before = try sample.state()
    let report = try Importer(into: target).run(try YapDatabaseSource(sample.path, besides: target))
    #expect(try sample.state() == before)
    return report
  }

  @Test func everyRowComesOver() throws {
    let report = try imported()
    #expect(report.rowCount == 210 && report.emptyObjectCount == 1 && report.stopped == nil)
    #expect(report.leftOut.contains { $0.name == "edge 3 of relationship_graph" })
    let db = try Database(at: target)
    try db.read { tx throws in
      let books = RowCollection<Data, NoMetadata>("books", coder: .bytes)
      let bytes = try #require(try tx[books].get("book-42"))
      #expect(try PropertyListDecoder().decode(Book.self, from: bytes) == Book(title: "Ж", pages: 42))
      #expect(tx[books].count == 100)
      let edges = RowCollection<Edge, NoMetadata>("quire.import.edges.graph")
      #expect(
        try tx[edges].get("1")
          == Edge(
            "of", from: RowKey("songs", "song-0"), to: .row(RowKey("books", "book-0")),
            rules: [.notifyIfDestinationDeleted, .deleteSourceIfDestinationDeleted]))
      #expect(try tx[edges].get("4")?.destination == .file("/tmp/f"))
      #expect(tx[edges].count == 2)
    }
    try db.close()
  }

  @Test func yapCompatReadsThem() throws {
    _ = try imported()
    let db = try YapDatabase(path: target, serializer: nil, deserializer: nil)
    try db.newConnection().read { tx in
      let song = tx.object(forKey: "song-7", inCollection: "songs") as? NSDictionary
      #expect(song?["title"] as? String == "Song 7")
      #expect((tx.metadata(forKey: "song-7", inCollection: "songs") as? NSNumber)?.intValue == 7)
      for (key, name) in [
        ("only in the log", "songs"), ("far", "odd"), ("", "odd"), ("nil collection", ""), ("\u{e9}", "odd"),
        ("e\u{301}", "odd"), ("nul\0inside", "odd"),
      ] {
        #expect(tx.object(forKey: key, inCollection: name) as? String == "text", "\(key)")
      }
    }
  }

  @Test func anotherFileIsRefused() throws {
    let sample = try SampleFile(folder, ["CREATE TABLE t (a)"])
    let error = try #require(throws: ImportError.self) { _ = try YapDatabaseSource(sample.path, besides: target) }
    #expect(error.description.contains("database2"))
  }
}
