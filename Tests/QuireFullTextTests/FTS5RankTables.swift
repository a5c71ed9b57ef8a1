// In which order FTS5's scripts have bm25() put rows, as tables: documents, searches and their rows, the best first.

import QuireDatabase
import QuireFullText
import QuireTesting
import QuireText
import Testing

/// Documents, numbered from 1, with searches and the numbers that they find, the best first.
struct RankTable: CustomTestStringConvertible, Sendable {
  let name: String
  let columns: [String]
  let documents: [[String]]
  var queries: [(text: String, rows: [Int64])] = []
  /// Searches of which FTS5 says how their rows are ranked.
  var searches: [String] = []

  var testDescription: String { name }

  static let all = [lengths, frequencies, halves, letters, counts]

  /// fts5ae: of two rows with one hit, the shorter one is better, and two hits are better than one.
  static let lengths = RankTable(
    name: "Short rows and several hits", columns: ["x", "y"],
    documents: SearchTable.letters(
      """
      Ao oooCoooooooo
      ooB oooCCooooooo
      Aoo ooooDDoooooo
      oB oooooDoooooo
      EoG Hooooooooooo
      FoG IoJooooooooo
      Eoo HoJooooooooo
      ooo oooooooooooo
      ooo oooooooooooo
      """),
    queries: [
      ("a", [1, 3]), ("b", [4, 2]), ("c", [2, 1]), ("d", [3, 4]), ("g AND (e OR f)", [6, 5]),
      ("j AND (h OR i)", [6, 7]),
    ])

  /// fts5rank: the more hits the better.
  static let frequencies = RankTable(
    name: "How often a word stands in a row", columns: ["a"], documents: [["a x x x x"], ["x x a a a"], ["x a a x x"]],
    queries: [("a", [2, 3, 1])])

  /// fts5eb: a word of all rows counts a millionth.
  static let halves = RankTable(
    name: "A word of all rows", columns: ["text"], documents: [["just a few words with a / inside"]],
    queries: [("\"just\"", [1]), ("\"/\" OR \"just\"", [1])])

  /// fts5ag: what it asks, over the documents of fts5ac.
  static let letters = RankTable(
    name: "Letters of two columns", columns: ["x", "y"], documents: SearchTable.hundredOfLetters,
    searches: SearchTable.rankedLetters.searches + ["c NOT b", "x : a", "{y} : \"n t\"", "a OR b OR c OR d"])

  /// fts5matchinfo, of which bm25() takes what it counts.
  static let counts = RankTable(
    name: "Words that are counted", columns: ["x", "y"], documents: SearchTable.counted.documents,
    searches: SearchTable.counted.queries.map(\.text))
}

@Suite("How FTS5's tests rank")
struct FTS5RankTests {
  @Test("Rows are ranked as FTS5 does, with its scores", arguments: RankTable.all)
  func ranked(table: RankTable) throws {
    let trio = try SearchTrio(.papers(table.columns), fields: table.columns, tokenizer: .unicode61())
    try trio.register()
    try trio.write { tx in
      for (number, texts) in table.documents.enumerated() { try trio.set(tx, "\(number + 1)", texts) }
    }
    let keys = Dictionary(uniqueKeysWithValues: trio.rowIDs.map { ($1, Int64($0) ?? 0) })
    func compare(_ text: String) throws -> [Int64] {
      let theirs = try trio.fts5.ranked(match: text)
      let ours = try trio.database.read { tx in
        try tx[.papers].search(text).ranked().inverseDocumentFrequency(.fts5).scores
      }
      #expect(ours.count == theirs.count, "\(text)")
      let scores = Dictionary(uniqueKeysWithValues: theirs.map { ($0.row, $0.score) })
      for (place, row) in ours.enumerated() {
        #expect(abs(row.score - (scores[row.rowID] ?? -1)) <= 1e-9, "\(text): row \(row.rowID)")
        #expect(abs(row.score - theirs[place].score) <= 1e-9, "\(text): place \(place)")
      }
      return theirs.compactMap { keys[$0.row] }
    }
    for (text, rows) in table.queries { #expect(try compare(text) == rows, "\(text)") }
    for text in table.searches { #expect(try !compare(text).isEmpty, "\(text)") }
  }
}
