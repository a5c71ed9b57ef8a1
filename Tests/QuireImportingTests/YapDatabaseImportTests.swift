// Files as YapDatabase lays them out: every row comes over, readable by types and by YapCompat.

import Foundation
import Quire
import QuireImporting
import QuireTesting
import Testing
import YapCompat

@Suite struct YapDatabaseImportTests {
  private typealias Book = YapDatabaseSample.Book

  private let folder: TestFolder
  private let target: String

  init() throws {
    folder = try TestFolder()
    target = folder.url.appendingPathComponent("new.quire").path
  }

  private func imported() throws -> ImportReport {
    let sample = try YapDatabaseSample.file(folder)
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

  @Test func aViewInThePlaceOfATableIsRefused() throws {
    let sample = try SampleFile(
      folder,
      [
        "CREATE TABLE database2 (rowid INTEGER PRIMARY KEY, collection CHAR, key CHAR, data BLOB, metadata BLOB)",
        """
        CREATE VIEW yap2 (extension, data, key) AS
        WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x, x, x FROM n
        """,
      ])
    let error = try #require(throws: ImportError.self) { _ = try YapDatabaseSource(sample.path, besides: target) }
    #expect(error.description.contains("“yap2” of"))
  }
}
