// Searches over many texts, beside FTS5.

import Foundation
import QuireDatabase
@testable import QuireFullText
import QuireTesting
import QuireText
import Testing

/// Over texts that no clone has: `QUIRE_SEARCH_TEXTS` names a file that `Benchmarks/make-search-texts` has made, with a
/// text in each line, whose columns are a number, a name, a summary and a description.
@Suite("Searches over many texts", .enabled(if: ProcessInfo.processInfo.environment["QUIRE_SEARCH_TEXTS"] != nil))
struct DifferentialCorpusTests {
  private static let fields = ["name", "summary", "description"]

  private static func documents() throws -> [[String]] {
    let path = ProcessInfo.processInfo.environment["QUIRE_SEARCH_TEXTS"] ?? ""
    let text = try String(contentsOfFile: path, encoding: .utf8)
    return text.split(separator: "\n").compactMap { line in
      let columns = line.split(separator: "\t", omittingEmptySubsequences: false)
      return columns.count < 4 ? nil : columns[1...3].map(String.init)
    }
  }

  @Test(
    "10,000 random expressions find FTS5's rows, with its scores where they are defined, built in both ways",
    arguments: [false, true])
  func findsTheSame(goesRowByRow: Bool) throws {
    let documents = try Self.documents()
    try #require(documents.count > 1000)
    let folder = try TestFolder()
    let database = try folder.open()
    let fts5 = try FTS5Oracle(columns: Self.fields)
    var rowIDs: [RowID] = []
    try database.write { tx in
      for (number, texts) in documents.enumerated() { try tx[.papers].set(Paper(texts: texts), for: "\(number)") }
      rowIDs = try tx[.papers].rowIDs.sorted()
    }
    try fts5.execute("begin")
    for (row, texts) in zip(rowIDs, documents) { try fts5.insert(row, texts) }
    try fts5.execute("commit")
    var text = PaperText.papers(Self.fields)
    text.building.goesRowByRow = goesRowByRow
    try database.register(text)
    try database.read { tx in try tx.access(to: text).verify() }
    var expressions = try RandomExpressions(
      seed: UInt64(environmentNumber("QUIRE_SEARCH_SEED") ?? 1), fields: Self.fields, documents: documents,
      tokenizer: .unicode61())
    let count = environmentNumber("QUIRE_SEARCH_COUNT") ?? 10_000
    var (foundCount, scoredCount) = (0, 0)
    try database.read { tx in
      for _ in 0..<count {
        let text = expressions.next()
        let found = try tx[.papers].search(text)
        let rows = try fts5.rowIDs(match: text)
        #expect(try found.rowIDs == rows, "\(text)")
        #expect(try found.count == rows.count, "\(text)")
        if !rows.isEmpty { foundCount += 1 }
        guard try SearchExpression(text).isScoredByDefinition else { continue }
        scoredCount += 1
        try compareScores(found, text, fts5)
      }
    }
    #expect(foundCount > count / 4 && scoredCount > count / 4, "\(foundCount) found, \(scoredCount) scored")
  }

  private func compareScores(_ found: MatchedRows<Paper, NoMetadata>, _ text: String, _ fts5: FTS5Oracle) throws {
    let theirs = try fts5.ranked(match: text)
    let known = Dictionary(uniqueKeysWithValues: theirs.map { ($0.row, $0.score) })
    let all = found.ranked().inverseDocumentFrequency(.fts5)
    for ranked in [all, all.limit(10)] {
      let ours = try ranked.scores
      for ((row, score), their) in zip(ours, theirs) {
        #expect(abs(score - their.score) <= 1e-6, "\(text): \(score), not \(their.score)")
        #expect(abs(score - (known[row] ?? -1)) <= 1e-6, "\(text): row \(row)")
      }
    }
    #expect(try all.limit(10).scores.count == min(10, theirs.count), "\(text)")
  }
}
