// Ranking: the best rows are those of the full scoring, and scores are those of the formula.

import Foundation
import QuireDatabase
@testable import QuireFullText
import QuireIndexes
import QuireTesting
import QuireText
import Testing

@Suite("Ranking")
struct RankTests {
  /// Scores of all rows, without limits of blocks.
  private func all(
    _ text: String, _ rows: ReadableRows<Article, NoMetadata>, weights: [Double] = [1, 1],
    _ formula: InverseDocumentFrequency = .smooth
  ) throws -> [ScoredRow] {
    let run = try rows.search(text).run()
    let rule = RankingRule(
      weights: weights, rowCount: try run.trees.documentCount, totalLength: try run.trees.totalLength, formula)
    let lengths = LengthReader(run.search.index, LengthTable(totalLength: 0))
    var scored: [ScoredRow] = []
    try TextRanking(run.search, rule, lengths).forEachScore(run.expression, filter: nil) { rows, scores in
      for (row, score) in zip(rows, scores) { scored.append(ScoredRow(row: row, score: score)) }
    }
    return scored.sorted { $0.precedes($1) }
  }

  /// Whether both are the same, but for rows whose scores differ in the last digits alone.
  private func isSame(_ some: [ScoredRow], _ others: [ScoredRow]) -> Bool {
    some.count == others.count
      && zip(some, others).allSatisfy { abs($0.score - $1.score) < 1e-9 * max(1, $1.score) }
      && Set(some.map(\.row)).symmetricDifference(others.map(\.row)).count <= 2
  }

  @Test(
    "The best rows are those that scoring every hit gives", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: [UInt64](1...(TestSize.isFull ? 6 : 3)))
  func best(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let vocabulary = [6, 60, 2000][Int(seed % 3)]
    let db = try database((0..<(TestSize.isFull ? 3000 : 1000)).map { _ in random.article(vocabulary) })
    for round in 0..<3 {
      if round > 0 { try change(db, vocabulary, &random) }
      try db.read { tx in
        for _ in 0..<TestSize.trials(80, divisor: 6) {
          let (text, limit) = (random.search(vocabulary), [1, 3, 10, 100].randomElement(using: &random) ?? 1)
          let weights = random.oneIn(2) ? [1, 1] : [Double(random.below(4)), Double(random.below(4))]
          let formula = random.oneIn(2) ? InverseDocumentFrequency.fts5 : .smooth
          let expected = try all(text, tx[.articles], weights: weights, formula)
          let ranked = try tx[.articles].search(text).ranked().inverseDocumentFrequency(formula)
            .weights(["title": weights[0], "body": weights[1]])
          let found = try ranked.limit(limit).scores.map { ScoredRow(row: $0.rowID, score: $0.score) }
          #expect(isSame(found, Array(expected.prefix(limit))), "\(text), \(limit), \(weights)")
          let page = try ranked.limit(limit).offset(5).scores.map { ScoredRow(row: $0.rowID, score: $0.score) }
          #expect(isSame(page, Array(expected.dropFirst(5).prefix(limit))), "\(text), \(limit), \(weights)")
        }
      }
    }
    try db.close()
  }

  @Test(
    "Blocks have the same rows and frequencies however much of them is kept",
    .enabled(if: TestSize.hasSlowTests, "slow"), arguments: [UInt64](1...3))
  func keptBlocks(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let db = try database((0..<2000).map { _ in random.article(6) })
    for isChanged in [false, true] {
      if isChanged { try change(db, 6, &random) }
      try db.read { tx in
        let run = try tx[.articles].search("*").run()
        let rule = RankingRule(weights: [2, 3], rowCount: 2000, totalLength: 60_000, .smooth)
        let lengths = LengthReader(run.search.index, LengthTable(totalLength: 0))
        var blockCount = 0
        try run.trees.forEachTerm(beginningWith: []) { term, count in
          let postings = try run.search.postings(term)
          let whole = try RankedList(postings, rule, lengths)
          let poor = try RankedList(postings, rule, lengths, keptCount: 2, keptByteCount: 300)
          #expect(whole.entries.map(\.lastRow) == poor.entries.map(\.lastRow))
          var (rows, known): (Int, Set<RowID>) = (0, [])
          for index in Array(whole.entries.indices) + Array(whole.entries.indices.reversed()) {
            let (some, others) = unsafe (Array(try whole.rows(at: index)), Array(try poor.rows(at: index)))
            #expect(some == others)
            let (first, second) = unsafe (try whole.frequencies(at: index), try poor.frequencies(at: index))
            for place in some.indices { unsafe #expect(first[place] == second[place] && first[place] >= 2) }
            rows += some.count
            known.formUnion(some)
          }
          #expect(rows == 2 * count && known.count == count)
          blockCount = max(blockCount, whole.entries.count)
        }
        #expect(blockCount > 4)
      }
    }
    try db.close()
  }

  private func change(_ db: Database, _ vocabulary: Int, _ random: inout SeededRandom) throws {
    for _ in 0..<30 {
      try db.write { tx in
        for _ in 0..<random.below(6) {
          let key = "a\(random.below(3100))"
          if random.oneIn(3) {
            try tx[.articles].remove(key)
          } else {
            try tx[.articles].set(random.article(vocabulary), for: key)
          }
        }
      }
    }
  }

  @Test("Scores are those of the formula")
  func formula() throws {
    let db = try database([
      Article(title: "night", body: "night train"), Article(title: "", body: "day train late"),
      Article(title: "x", body: ""), Article(title: "y", body: ""), Article(title: "", body: "z z z z"),
    ])
    try db.read { tx in
      // Five rows with 12 tokens; one has the word, twice among its three tokens.
      let rarity = log(1 + (5 - 1 + 0.5) / (1 + 0.5))
      let norm = 1.2 * (1 - 0.75 + 0.75 * 3 / (12.0 / 5))
      let hit = try #require(try tx[.articles].search("night").ranked().hits.first)
      #expect(hit.key == "a0" && abs(hit.score - rarity * 2 * 2.2 / (2 + norm)) < 1e-12)
      let weighted = try tx[.articles].search("night").ranked().weights(["title": 8]).scores
      #expect(abs((weighted.first?.score ?? 0) - rarity * 9 * 2.2 / (9 + norm)) < 1e-12)
      let fts5 = try tx[.articles].search("night").ranked().inverseDocumentFrequency(.fts5).scores
      #expect(abs((fts5.first?.score ?? 0) - log((5 - 1 + 0.5) / (1 + 0.5)) * 2 * 2.2 / (2 + norm)) < 1e-12)
    }
    try db.close()
  }

  @Test("Of few rows that all have a word, those that have it more often come first; with FTS5's formula nearly equal")
  func frequentWords() throws {
    let bodies = ["train day", "train train", "day train", "train night train night"]
    let db = try database(bodies.map { Article(title: "", body: $0) })
    try db.read { tx in
      let ranked = try tx[.articles].search("train OR late").ranked()
      let scores = try ranked.scores
      #expect(scores.first?.rowID == RowID(2))
      #expect((scores.first?.score ?? 0) - (scores.last?.score ?? 0) > 0.02)
      let fts5 = try ranked.inverseDocumentFrequency(.fts5).scores
      #expect(fts5.map(\.rowID) == scores.map(\.rowID) && fts5.allSatisfy { $0.score > 0 && $0.score < 1e-5 })
    }
    try db.close()
  }

  @Test(
    "A count above the number of rows, from a damaged file, gives a number",
    arguments: InverseDocumentFrequency.allCases)
  func damagedCounts(formula: InverseDocumentFrequency) {
    for count in [0, 1, 9, 10, 11, Int.max] {
      let value = formula.value(count: count, rowCount: 10)
      #expect(value >= 0 && value.isFinite)
    }
  }

  @Test("Scores are numbers with the greatest weights, and a limit gives the first of all rows")
  func greatestWeights() throws {
    let bodies = ["night night night train", "train", "night", "night train night", "day"]
    let db = try database(bodies.map { Article(title: $0, body: $0) })
    try db.read { tx in
      let ranked = try tx[.articles].search("night OR train").ranked()
      for weight in [1e307, .greatestFiniteMagnitude] {
        let weighted = ranked.weights(["title": weight, "body": weight])
        let all = try weighted.scores
        #expect(all.count == 4 && all.allSatisfy { $0.score.isFinite && $0.score > 0 })
        for limit in 1...3 { #expect(try weighted.limit(limit).scores.map(\.rowID) == all.prefix(limit).map(\.rowID)) }
      }
    }
  }

  @Test("Rows with the same score come by their numbers, also where limits cut them off")
  func ties() throws {
    let db = try database((0..<700).map { Article(title: "same", body: "n\($0 % 5)") })
    try db.read { tx in
      let scores = try tx[.articles].search("same").ranked().limit(200).scores
      #expect(scores.map(\.rowID) == scores.map(\.rowID).sorted() && scores.count == 200)
      let all = try tx[.articles].search("same").rowIDs
      #expect(scores.map(\.rowID) == Array(all.prefix(200)))
    }
    try db.close()
  }

  @Test("Scores are multiplied by a field, and by what a closure gives")
  func multiplied() throws {
    var random = SeededRandom(seed: 3)
    let db = try database((0..<500).map { _ in random.article(20) })
    try db.read { tx in
      for text in ["w1", "w0 OR w2", "w0 w1 NOT w5"] {
        let found = try tx[.articles].search(text)
        let weights = Dictionary(uniqueKeysWithValues: try found.all.map { ($0.rowID, $0.object.weight) })
        let expected = try all(text, tx[.articles]).map {
          ScoredRow(row: $0.row, score: $0.score * (weights[$0.row] ?? 0))
        }
        .sorted { $0.precedes($1) }
        let scores = try found.ranked().ranked(multipliedBy: \.weight).limit(9).scores
        #expect(scores.map(\.rowID) == expected.prefix(9).map(\.row), "\(text)")
        let closure = try found.ranked().ranked { $0.weight == 0 ? .nan : $0.weight }.limit(9).scores
        #expect(closure.map(\.rowID) == expected.prefix(9).map(\.row), "\(text)")
      }
    }
    try db.close()
  }

  @Test("Hits are a sequence with their rows, pieces and marks")
  func hits() throws {
    let db = try database((0..<150).map { Article(title: "t\($0)", body: "night \($0)") })
    try db.read { tx in
      let ranked = try tx[.articles].search("night").ranked()
      let scores = try ranked.scores
      #expect(ranked.map(\.rowID) == scores.map(\.rowID) && ranked.map(\.score) == scores.map(\.score))
      #expect(try ranked.count == 150)
      #expect(try ranked.limit(20).offset(140).count == 10)
      #expect(ranked.limit(3).offset(2).map(\.rowID) == scores[2..<5].map(\.rowID))
      let hit = try #require(try ranked.limit(1).hits.first)
      #expect(try hit.snippet(of: "body").marked() == "<b>night</b> 0")
      #expect(try hit.highlights(of: "body").map { $0.marked() } == ["<b>night</b> 0"])
      #expect(throws: FullTextError.self) { try hit.snippet(of: "author") }
    }
    try db.close()
  }

  @Test("The best of offered rows are kept, whatever their order", arguments: [UInt64](1...4))
  func keepsBest(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    for _ in 0..<50 {
      let offered = (0..<random.below(60)).map { ScoredRow(row: RowID(Int64($0)), score: Double(random.below(9))) }
      let capacity = random.below(20)
      var best = BestRows(capacity: capacity)
      for row in offered.shuffled(using: &random) { best.offer(row.row, row.score) }
      #expect(best.sorted == Array(offered.sorted { $0.precedes($1) }.prefix(capacity)))
    }
  }
}
