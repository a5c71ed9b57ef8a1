// Tables of what FTS5 shows: what it does show, and what a database shows.

import QuireDatabase
@testable import QuireFullText
import QuireTesting
import QuireText
import Testing

@Suite("What FTS5's tests have shown")
struct FTS5ShownTests {
  private static func bracketed(_ text: String) -> String {
    text.replacing("<b>", with: "[").replacing("</b>", with: "]").replacing("…", with: "...")
  }

  @Test("Highlights are those of FTS5", arguments: HighlightTable.all)
  func highlights(table: HighlightTable) throws {
    let tokenizer = table.cut.tokenizer
    let oracle = try SnippetOracle(columns: table.columns, tokenizer: table.cut.fts5, own: tokenizer)
    let trio = try SearchTrio(
      .papers(table.columns, tokenizer: tokenizer), fields: table.columns, tokenizer: tokenizer,
      fts5Tokenizer: table.cut.fts5)
    try trio.register()
    try trio.write { tx in
      for (number, texts) in table.documents.enumerated() {
        try trio.set(tx, "\(number)", texts)
        try oracle.add(texts)
      }
    }
    for (text, rows) in table.shown {
      let theirs = try oracle.shown(text, tokens: 8).map { $0.highlights.map(Self.bracketed) }
      #expect(theirs == rows || theirs == table.others[text], "FTS5: \(text)")
      let found = try trio.database.read { tx in
        try tx[.papers].search(text).ranked().hits.sorted { $0.rowID < $1.rowID }.map { hit in
          try table.columns.map { column in
            try hit.highlights(of: column).map { $0.marked("[", "]") }.joined()
          }
        }
      }
      #expect(found == rows, "\(text)")
    }
  }

  @Test("Snippets are those of FTS5, whichever column has the text", arguments: SnippetTable.all)
  func snippets(table: SnippetTable) throws {
    for isSecond in [false, true] {
      let oracle = try SnippetOracle(columns: ["x", "y"])
      let trio = try SearchTrio(.papers(["x", "y"]), fields: ["x", "y"], tokenizer: .unicode61())
      try trio.register()
      try trio.write { tx in
        for (number, piece) in table.pieces.enumerated() {
          let texts = isSecond ? ["", piece.document] : [piece.document, ""]
          try trio.set(tx, "\(number)", texts)
          try oracle.add(texts)
        }
      }
      let expected = table.pieces.map(\.shown)
      #expect(try oracle.shown(table.text, tokens: table.tokens).map { Self.bracketed($0.snippets[0]) } == expected)
      let found = try trio.database.read { tx in
        try tx[.papers].search(table.text).ranked().hits.sorted { $0.rowID < $1.rowID }.map { hit in
          try hit.snippet(tokens: table.tokens).marked("[", "]", ellipsis: "...")
        }
      }
      #expect(found == expected)
    }
  }

  @Test("A long text is shown whole, best rows first")
  func longText() throws {
    // fts5rank.
    let text = Array(repeating: "x y", count: 500).joined(separator: " ")
    let oracle = try SnippetOracle(columns: ["z"])
    try oracle.add([text])
    let trio = try SearchTrio(.papers(["z"]), fields: ["z"], tokenizer: .unicode61())
    try trio.register()
    try trio.write { tx in try trio.set(tx, "0", [text]) }
    for (search, shown) in [
      ("x", text.replacing("x", with: "[x]")),
      ("x AND y", text.replacing("x", with: "[x]").replacing("y", with: "[y]")),
    ] {
      #expect(try oracle.shown(search, tokens: 9).map { $0.highlights.map(Self.bracketed) } == [[shown]])
      try trio.database.read { tx in
        let hit = try #require(try tx[.papers].search(search).ranked().hits.first)
        #expect(try hit.highlights(of: "z").map { $0.marked("[", "]") } == [shown])
      }
    }
  }

  @Test("Where FTS5 shows a piece of a size that is none, the size is taken for the next that is one")
  func sizes() throws {
    // fts5af, its later part; one token from the beginning on is what SQLite 3.40 takes for the whole text.
    let texts = ["x a a a a a a a a a a", "a a a a a a a a a a a a a a a a a a a x"]
    let trio = try SearchTrio(.papers(["a", "b"]), fields: ["a", "b"], tokenizer: .unicode61())
    try trio.register()
    try trio.write { tx in try trio.set(tx, "0", texts) }
    let sizes: [(Int, String)] = [
      (6, "[x] a a a a a..."), (0, "[x]..."), (-2_147_483_648, "[x]..."), (.min, "[x]..."),
      (.max, "[x] a a a a a a a a a a"),
    ]
    try trio.database.read { tx in
      for search in ["x", "x OR \"\""] {
        let hit = try #require(try tx[.papers].search(search).ranked().hits.first)
        for (tokens, shown) in sizes {
          #expect(try hit.snippet(of: "a", tokens: tokens).marked("[", "]", ellipsis: "...") == shown)
        }
      }
    }
  }
}
