// A file as YapDatabase lays it out, with rows as its users stored them.

import Foundation
import QuireTesting

enum YapDatabaseSample {
  struct Book: Codable, Equatable, Sendable {
    var title: String
    var pages: Int
  }

  /// The file, whose newest row stands in its write-ahead log alone; `more` is done before that.
  static func file(_ folder: TestFolder, _ more: [String] = []) throws -> SampleFile {
    try SampleFile(folder, try statements(more), copiesOpen: true)
  }

  static func hex(_ data: Data) -> String {
    "x'" + data.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + "'"
  }

  private static func archive(_ object: Any) throws -> String {
    hex(try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: false))
  }

  private static func propertyList(_ book: Book) throws -> String {
    let encoder = PropertyListEncoder()
    encoder.outputFormat = .binary
    return hex(try encoder.encode(book))
  }

  private static func statements(_ more: [String]) throws -> [String] {
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
    ] + more + [
      "COMMIT", "PRAGMA wal_checkpoint(TRUNCATE)",
      "INSERT INTO database2 VALUES (NULL, 'songs', 'only in the log', \(text), NULL)",
    ]
  }
}
