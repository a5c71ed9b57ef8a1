// How often rows have words that begin alike, also where the numbers of rows are far apart.

import QuireDatabase
@testable import QuireFullText
import QuireTesting
import QuireText
import Testing

@Suite("Sums for rows, near each other and far apart") struct RowTotalsTests {
  /// Rows that are so far apart have no sums.
  private static let spanLimit: Int64 = 1 << 21

  /// Behind the first row there is room for more, which counts as rows do.
  private static let roomCount: Int64 = 1 << 10

  private struct Undo: Error {}

  /// Has `body` look at a full text of rows with any numbers, the first ones of which are in blocks.
  private func withRows(
    _ rows: [(row: Int64, body: String)], foldedCount: Int, _ detail: PostingDetail = .positions,
    _ body: (FullTextTrees) throws -> Void
  ) throws {
    let text = ArticleText.articles(detail)
    let db = try database([], text)
    defer { try? db.close() }
    do {
      try db.write { tx in
        let writer = try tx.access(to: text)
        for (number, entry) in rows.enumerated() {
          if number == foldedCount { try writer.merge() }
          try writer.upkeep.didChange(RowID(entry.row), "k\(number)", isInsert: true) { body in
            let bytes = Array(entry.body.utf8)
            try unsafe body(1, bytes.span.bytes)
          }
        }
        if rows.count <= foldedCount { try writer.merge() }
        try body(writer.reader.trees())
        // No such rows are there.
        throw Undo()
      }
    } catch is Undo {}
  }

  private func totals(_ trees: FullTextTrees, _ words: SearchTerm...) throws -> RowTotals? {
    let search = RowSearch(trees) { [] }
    return try search.totals(TermPhrase.Element(terms: words, offset: 0))
  }

  private func best(_ trees: FullTextTrees, _ text: String, limit: Int) throws -> [ScoredRow] {
    try SearchRun(trees, ExpressionResolver(trees.layout).resolve(SearchExpression(text)), filter: nil) { [] }
      .best(weights: [1, 1], .smooth, limit: limit, factors: nil)
  }

  @Test("There are none from the limit on, whichever row comes first", arguments: [0, 1, 2])
  func endsAtTheLimit(foldedCount: Int) throws {
    let prefix = SearchTerm(bytes: Array("wo".utf8), isPrefix: true)
    for first in [1, 1 << 40] as [Int64] {
      for distance in [1, Self.spanLimit - Self.roomCount, Self.spanLimit, 1 << 45] {
        for isUpward in [true, false] {
          let ends = isUpward ? [first, first + distance] : [first + distance, first]
          let rows = [(row: ends[0], body: "word word"), (row: ends[1], body: "work")]
          try withRows(rows, foldedCount: foldedCount) { trees in
            let found = try totals(trees, prefix)
            guard distance < Self.spanLimit else {
              #expect(found == nil, "\(ends)")
              return
            }
            let totals = try #require(found, "\(ends)")
            #expect(totals.rowCount == 2)
            #expect(totals.total(of: RowID(ends[0])) == 2 && totals.total(of: RowID(ends[1])) == 1)
            #expect(totals.total(of: RowID(first + distance + 1)) == 0)
            var seen: [Int64] = []
            totals.forEach { row, _ in
              seen.append(row.rawValue)
              return 1
            }
            #expect(seen == [first, first + distance])
          }
        }
      }
    }
  }

  @Test("Words of which each alone is near, and that are far apart together, have none")
  func endsBetweenTerms() throws {
    let rows = [(row: Int64(3), body: "alpha"), (row: 3 + Self.spanLimit, body: "omega")]
    try withRows(rows, foldedCount: 2) { trees in
      let (alpha, omega) = (SearchTerm(bytes: Array("alpha".utf8)), SearchTerm(bytes: Array("omega".utf8)))
      let (first, second) = (try totals(trees, alpha), try totals(trees, omega))
      #expect(first?.rowCount == 1 && second?.rowCount == 1)
      let (upward, downward) = (try totals(trees, alpha, omega), try totals(trees, omega, alpha))
      #expect(upward == nil && downward == nil)
    }
  }

  @Test(
    "Rows far apart have the order and the scores of rows that are near", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: PostingDetail.allCases)
  func farRowsRankAsNearOnes(_ detail: PostingDetail) throws {
    var random = SeededRandom(seed: 71)
    let bodies = (0..<TestSize.trials(900, divisor: 8)).map { _ in random.text(1 + random.below(30), of: 120) }
    let queries = ["w1*", "w*", "body : w2*", "w1* OR w40", "w1* w2*", "w9* NOT w1", "zz*", "w119*"]
    let limits = [1, 10, Int.max]
    for foldedCount in [0, bodies.count / 2, bodies.count] {
      /// What the queries find, with each limit, where the numbers of rows are so far apart.
      func found(_ step: Int64) throws -> [[ScoredRow]] {
        var found: [[ScoredRow]] = []
        let rows = bodies.enumerated().map { (row: Int64($0 + 1) * step, body: $1) }
        try withRows(rows, foldedCount: foldedCount, detail) { trees in
          for query in queries { for limit in limits { found.append(try best(trees, query, limit: limit)) } }
        }
        return found
      }
      let near = try found(1)
      #expect(near.count { $0.count == 10 } > 2)
      for step in [1 << 8, 1 << 23, 1 << 40] as [Int64] {
        for (place, (far, near)) in zip(try found(step), near).enumerated() {
          let query = queries[place / limits.count]
          #expect(far.map(\.row.rawValue) == near.map { $0.row.rawValue * step }, "\(query)")
          #expect(zip(far, near).allSatisfy { abs($0.score - $1.score) <= 1e-9 }, "\(query)")
        }
      }
    }
  }
}
