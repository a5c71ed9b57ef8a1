// Searches of a database beside FTS5 and the definition.

import QuireDatabase
@testable import QuireFullText
import QuireTesting
import QuireText
import Testing

@Suite("Searches beside FTS5")
struct DifferentialTests {
  static let fields = OracleDocuments.fields
  /// `QUIRE_SEARCH_SEED` repeats one run.
  static let seeds =
    environmentNumber("QUIRE_SEARCH_SEED").map { [UInt64($0)] } ?? [UInt64](1...(TestSize.isFull ? 4 : 2))

  /// The packages; some of them in the short size.
  private static let packages = Array(OracleDocuments.packages.prefix(TestSize.isFull ? 2000 : 100))

  /// Texts of few words, so that each is in most rows, many times.
  private static func denseDocuments(_ seed: UInt64) -> [[String]] {
    var random = SeededRandom(seed: seed)
    let words = ["a", "b", "c", "ab", "abc", "bc", "d", "da", "é", "A"]
    return (0..<(TestSize.isFull ? 600 : 60)).map { _ in
      fields.map { _ in
        (0..<random.below(random.oneIn(10) ? 150 : 15)).map { _ in random.pick(words) }.joined(separator: " ")
      }
    }
  }

  /// Edits are merged as usual for odd seeds, which is late for so few; else in small steps all the time.
  private static func pace(_ seed: UInt64) -> MergingPace {
    var pace = MergingPace()
    guard seed.isMultiple(of: 2) else { return pace }
    (pace.foldedCount, pace.recentTermCount, pace.leastRecentCount, pace.mostRecentCount) = (3, 4, 64, 1000)
    return pace
  }

  /// Documents in a trio whose full text is built from them.
  private static func built(_ documents: [[String]], _ pace: MergingPace = MergingPace()) throws -> SearchTrio {
    let trio = try SearchTrio(.papers(fields).merging(pace), fields: fields, tokenizer: .unicode61())
    try trio.write { tx in
      for (number, texts) in documents.enumerated() { try trio.set(tx, "k\(number)", texts) }
    }
    try trio.register()
    try trio.verify()
    return trio
  }

  private static func expressions(_ seed: UInt64, _ documents: [[String]]) throws -> RandomExpressions {
    try RandomExpressions(seed: seed, fields: fields, documents: documents, tokenizer: .unicode61())
  }

  @Test(
    "A full text that is built finds FTS5's rows with the scores of the definition",
    .enabled(if: TestSize.hasSlowTests, "slow"), arguments: seeds)
  func builtFindsTheSame(seed: UInt64) throws {
    let trio = try Self.built(Self.packages)
    var expressions = try Self.expressions(seed, Self.packages)
    var comparison = SearchComparison()
    try trio.database.read { tx in
      for _ in 0..<TestSize.trials(2500, divisor: 30) { try comparison.compare(tx[.papers], trio, &expressions) }
    }
    #expect(comparison.foundCount > comparison.count / 4)
  }

  @Test(
    "What is edited is found, in transactions, in snapshots of before, and after all",
    .enabled(if: TestSize.hasSlowTests, "slow"), arguments: seeds)
  func editedFindsTheSame(seed: UInt64) throws {
    let documents = Self.packages
    var life = DifferentialLife(
      try Self.built(documents, Self.pace(seed)), documents, try Self.expressions(seed + 100, documents))
    try life.run(editCount: TestSize.trials(2500, divisor: 50))
    #expect(life.comparison.foundCount > life.comparison.count / 8)
  }

  @Test(
    "Words that nearly all rows have many times are found, too", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: seeds)
  func denseFindsTheSame(seed: UInt64) throws {
    let documents = Self.denseDocuments(seed)
    var life = DifferentialLife(
      try Self.built(documents, Self.pace(seed)), documents, try Self.expressions(seed + 200, documents))
    try life.run(editCount: TestSize.trials(2500, divisor: 50))
    #expect(life.comparison.foundCount > life.comparison.count / 2)
  }

  @Test("The words of a full text are those of FTS5, with as many rows")
  func wordsAreTheSame() throws {
    let trio = try Self.built(Self.packages)
    try trio.database.read { tx in
      let words = try tx[.papers].terms(beginningWith: "").map { ($0.text, $0.rowCount) }
      let theirs = try trio.fts5.terms()
      #expect(words.count == theirs.count)
      for (ours, their) in zip(words, theirs) { #expect(ours == their) }
    }
  }
}

/// Compares searches in one state of a trio.
struct SearchComparison {
  private(set) var (count, foundCount) = (0, 0)

  /// Asks for one expression, in each form.
  mutating func compare(
    _ papers: some RowReading<Paper, NoMetadata>, _ trio: SearchTrio, _ expressions: inout RandomExpressions
  ) throws {
    let text = expressions.next()
    let rows = try trio.fts5.rowIDs(match: text)
    try compare(papers, text, rows, trio.definition, &expressions.random)
    count += 1
    if !rows.isEmpty { foundCount += 1 }
  }

  /// Asks for an expression whose rows are known.
  func compare(
    _ papers: some RowReading<Paper, NoMetadata>, _ text: String, _ rows: [RowID], _ definition: BruteForceSearch,
    _ random: inout SeededRandom
  ) throws {
    let found = try papers.search(text)
    #expect(try found.rowIDs == rows, "\(text)")
    #expect(try found.count == rows.count, "\(text)")
    let some = definition.rows.filter { _ in random.oneIn(3) }.sorted()
    let chosen = Set(rows)
    #expect(try found.rowIDs(among: some) == some.filter(chosen.contains), "\(text)")
    try compareScores(found, text, definition, &random)
  }

  private func compareScores(
    _ found: MatchedRows<Paper, NoMetadata>, _ text: String, _ definition: BruteForceSearch,
    _ random: inout SeededRandom
  ) throws {
    let weights = random.oneIn(2) ? [] : definition.fields.map { _ in Double(random.below(5)) }
    let formula = random.oneIn(2) ? InverseDocumentFrequency.fts5 : .smooth
    let expected = try definition.ranked(SearchExpression(text, fields: definition.fields), weights: weights, formula)
    let (limit, offset) = (random.oneIn(3) ? Int.max : random.below(20), random.oneIn(4) ? random.below(10) : 0)
    var ranked = found.ranked().inverseDocumentFrequency(formula).offset(offset)
    if limit < .max { ranked = ranked.limit(limit) }
    if !weights.isEmpty {
      ranked = ranked.weights(Dictionary(uniqueKeysWithValues: zip(definition.fields, weights)))
    }
    let scores = try ranked.scores
    let place = "\(text), \(formula), weights \(weights), limit \(limit), offset \(offset)"
    let count = min(limit, max(0, expected.count - offset))
    #expect(scores.count == count, "\(place)")
    guard scores.count == count else { return }
    let known = Dictionary(uniqueKeysWithValues: expected.map { ($0.row, $0.score) })
    for (number, (row, score)) in scores.enumerated() {
      // Equal scores may differ in their last bits, and so in their order.
      let best = expected[offset + number].score
      #expect(abs(score - best) <= 1e-6, "\(place): \(number) has \(score), not \(best)")
      #expect(abs(score - (known[row] ?? .infinity)) <= 1e-6, "\(place): row \(row)")
    }
  }
}
