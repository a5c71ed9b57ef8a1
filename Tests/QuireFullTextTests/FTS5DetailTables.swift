// What FTS5's scripts ask where places are not kept, as a table: searches with their rows, and who refuses them.

import QuireDatabase
@testable import QuireFullText
import QuireTesting
import QuireText
import Testing

/// Searches of fts5detail, fts5offsets, fts5first, fts5simple2, fts5simple3, fts5ad and fts5ac without places.
@Suite("FTS5's tests without places")
struct FTS5DetailTests {
  /// Who refuses a search.
  enum Refusal {
    /// Nobody.
    case never
    /// Both, as it asks where words stand.
    case places
    /// FTS5 with `detail=none` alone: Quire keeps the fields of a word with each detail.
    case columns
  }

  struct Table: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let columns: [String]
    let documents: [[String]]
    let queries: [(text: String, Refusal, rows: [Int64])]
  }

  static let tables = [
    Table(
      testDescription: "Letters in columns", columns: ["a", "b", "c"],
      documents: SearchTable.lettersInColumns.documents,
      queries: [
        ("a:a", .columns, [9]), ("a:a*", .columns, [9]), ("b:g", .columns, [1, 4, 6]),
        ("b:g*", .columns, [1, 4, 6]), ("c:h", .columns, [1, 3, 6, 8, 9, 10]),
        ("c:h*", .columns, [1, 3, 6, 8, 9, 10]), ("h + d", .places, [1, 2]),
        ("NEAR(h d)", .places, [1, 2, 4, 5, 6, 8, 9]), ("\"h d\"", .places, [1, 2]), ("^h", .places, [1, 2, 8, 10]),
        ("a", .never, [2, 5, 6, 8, 9]), ("NEAR(a)", .never, [2, 5, 6, 8, 9]), ("\"a\"", .never, [2, 5, 6, 8, 9]),
        ("a NOT d", .never, []), ("a OR b", .never, [1, 2, 4, 5, 6, 7, 8, 9, 10]),
      ]),
    Table(
      testDescription: "Some words", columns: ["a", "b"],
      documents: [
        ["a b c", "b c d"], ["b c d", "x"], ["b c d", "1 2 3"], ["a1 b1 c1", "x y z"], ["a2 b2 c2", "1 2 3"],
        ["a1 b1 c1", "x 2 z"], ["in if", ""], ["if", ""], ["sqlite", "sqlite"], ["aa ab", "val1"], ["", "xyz"],
      ],
      queries: [
        ("c a b", .never, [1]), ("b c d", .never, [1, 2, 3]), ("b*", .never, [1, 2, 3, 4, 5, 6]),
        ("a1", .never, [4, 6]), ("c2", .never, [5]), ("i*", .never, [7, 8]), ("sqlite", .never, [9]),
        ("aa", .never, [10]), ("b:x", .columns, [2, 4, 6]), ("b:a", .columns, []), ("a:a", .columns, [1]),
        ("a + b", .places, [1]), ("^a", .places, [1]), ("2 AND x", .never, [6]), ("xyz", .never, [11]),
        ("(a NOT d) OR 1", .never, [3, 5]), ("- a : b", .columns, [1]), ("{a b} : b", .columns, [1, 2, 3]),
      ]),
  ]

  @Test(
    "What asks for places is refused, and all else finds FTS5's rows", arguments: tables,
    [PostingDetail.frequencies, .rows])
  func refused(table: Table, detail: PostingDetail) throws {
    let name = detail == .frequencies ? "column" : "none"
    let full = try FTS5Oracle(columns: table.columns)
    let fts5 = try FTS5Oracle(columns: table.columns, detail: name)
    let folder = try TestFolder()
    let database = try folder.open()
    try database.register(PaperText.papers(table.columns, detail: detail))
    try database.write { tx in
      for (number, texts) in table.documents.enumerated() {
        try tx[.papers].set(Paper(texts: texts), for: "\(number + 1)")
        try full.insert(RowID(Int64(number + 1)), texts)
        try fts5.insert(RowID(Int64(number + 1)), texts)
      }
    }
    for (text, refusal, rows) in table.queries {
      #expect(try full.rowIDs(match: text).map(\.rawValue) == rows, "FTS5: \(text)")
      let isRefused = refusal == .places || refusal == .columns && detail == .rows
      #expect((fts5.complaint(about: text) != nil) == isRefused, "FTS5 with \(name): \(text)")
      if !isRefused { #expect(try fts5.rowIDs(match: text).map(\.rawValue) == rows, "FTS5 with \(name): \(text)") }
      try database.read { tx in
        let found = try tx[.papers].search(text)
        guard refusal == .places else {
          return #expect(try found.keys.compactMap { Int64($0) }.sorted() == rows, "\(text)")
        }
        let error = fullTextError { _ = try found.rowIDs }
        guard case .needsPositions("papers.text", _)? = error else {
          Issue.record("\(text): \(String(describing: error))")
          return
        }
      }
    }
  }

  @Test("Letters and beginnings find FTS5's rows", arguments: [PostingDetail.frequencies, .rows])
  func largeTables(detail: PostingDetail) throws {
    for table in [SearchTable.lettersOfTwoColumns, .nestedPrefixes] {
      let fts5 = try FTS5Oracle(columns: table.columns)
      let folder = try TestFolder()
      let database = try folder.open()
      try database.register(PaperText.papers(table.columns, detail: detail))
      try database.write { tx in
        for (number, texts) in table.documents.enumerated() {
          try tx[.papers].set(Paper(texts: texts), for: "\(number + 1)")
          try fts5.insert(RowID(Int64(number + 1)), texts)
        }
      }
      let definition = BruteForceSearch(fields: table.columns, tokenizer: .unicode61(), detail: detail)
      var count = 0
      for text in table.searches where try !definition.needsPositions(SearchExpression(text)) {
        let keys = try database.read { tx in try tx[.papers].search(text).keys.compactMap { Int64($0) } }
        #expect(try fts5.rowIDs(match: text).map(\.rawValue) == keys.sorted(), "\(text)")
        count += 1
      }
      #expect(count >= 28)
    }
  }
}
