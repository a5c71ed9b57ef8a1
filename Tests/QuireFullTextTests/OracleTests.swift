// The oracles beside each other: FTS5, and what a search finds by definition.

import QuireDatabase
@testable import QuireFullText
import QuireTesting
import QuireText
import Testing

@Suite("FTS5 beside the definition of searches")
struct OracleTests {
  /// How often random expressions found something, and how often scores could be compared.
  struct Tally {
    var (found, scored) = (0, 0)
  }

  @Test(
    "Random expressions find the same rows with the same scores", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: [UInt64](1...(TestSize.isFull ? 4 : 1)))
  func findTheSame(seed: UInt64) throws {
    let documents = OracleDocuments.packages
    try #require(documents.count == 2000)
    let tokenizer = TextTokenizer.unicode61()
    let fts5 = try FTS5Oracle(columns: OracleDocuments.fields)
    var definition = BruteForceSearch(fields: OracleDocuments.fields, tokenizer: tokenizer)
    for (number, texts) in documents.enumerated() {
      let row = RowID(Int64(number * 3 - 1000))
      try fts5.set(row, texts)
      try definition.set(row, texts)
    }
    var expressions = try RandomExpressions(
      seed: seed, fields: OracleDocuments.fields, documents: documents, tokenizer: tokenizer)
    var tally = Tally()
    let count = TestSize.trials(2500, divisor: 40)
    for _ in 0..<count { try compare(expressions.next(), fts5, definition, &expressions.random, &tally) }
    #expect(tally.found > count / 3 && tally.scored > count / 6, "\(tally)")
  }

  private func compare(
    _ text: String, _ fts5: FTS5Oracle, _ definition: BruteForceSearch, _ random: inout SeededRandom,
    _ tally: inout Tally
  ) throws {
    let expression = try SearchExpression(text, fields: fts5.columns)
    let rows = try fts5.rowIDs(match: text)
    #expect(try definition.rowIDs(expression) == rows, "\(text)")
    #expect(try SearchExpression(expression.description, fields: fts5.columns) == expression, "\(text)")
    if rows.isEmpty { return }
    tally.found += 1
    guard expression.isScoredByDefinition else { return }
    tally.scored += 1
    let weights = random.oneIn(2) ? [] : fts5.columns.map { _ in Double(random.below(5)) }
    let theirs = Dictionary(uniqueKeysWithValues: try fts5.ranked(match: text, weights: weights).map { ($0, $1) })
    for (row, score) in try definition.ranked(expression, weights: weights, .fts5) {
      let their = try #require(theirs[row])
      #expect(abs(score - their) <= 1e-6, "\(text): row \(row) has \(score), FTS5 says \(their)")
    }
  }
}

extension SearchExpression {
  /// Whether FTS5’s scores are those of the definition.
  ///
  /// FTS5 counts phrases of parts that do not match a row where another part does: those on the right of a `NOT` that
  /// is not the whole search, and the first phrases of a `NEAR` of which others are missing. And it forgets those of an
  /// `AND` that is not the whole search, where one of its parts has met a row that has its words but not in their
  /// places.
  var isScoredByDefinition: Bool {
    switch self {
    case .all, .groups: hasPlainFactors
    case .excluding(let kept, let excluded): kept.hasPlainAlternatives && excluded.hasPhrasesAlone
    default: hasPlainAlternatives || isGroup
    }
  }

  private var hasPlainFactors: Bool {
    switch self {
    case .all(let parts): parts.allSatisfy(\.hasPlainFactors)
    case .groups: true
    default: hasPlainAlternatives || isGroup
    }
  }

  private var hasPlainAlternatives: Bool {
    switch self {
    case .near(let group): group.phrases.count == 1
    case .any(let parts): parts.allSatisfy(\.hasPlainAlternatives)
    default: false
    }
  }

  private var hasPhrasesAlone: Bool {
    switch self {
    case .near(let group): group.phrases.count == 1
    case .groups(let groups): groups.allSatisfy { $0.phrases.count == 1 }
    case .all(let parts), .any(let parts): parts.allSatisfy(\.hasPhrasesAlone)
    case .excluding, .everything: false
    }
  }

  private var isGroup: Bool { if case .near = self { true } else { false } }
}
