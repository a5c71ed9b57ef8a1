// That the best of what is found comes first, at least as often as FTS5 has it.

import QuireDatabase
import QuireFullText
import QuireTesting
import QuireText
import Testing

/// A package with the texts that it is found by.
private struct KnownItem: SynthesizedCodable, Sendable {
  var summary: String
  var depends: String
}

extension RowCollection where Object == KnownItem, Metadata == NoMetadata {
  fileprivate static var items: Self { .init("items") }
}

@Suite struct RelevanceTests {
  /// A package, and words of its summary as somebody may remember them.
  private struct Question {
    let number: Int
    let words: [String]
    /// Any of the words.
    var text: String { words.map { "\"\($0)\"" }.joined(separator: " OR ") }
  }

  /// The packages of the fixture.
  private static let items = OracleDocuments.packages.map { KnownItem(summary: $0[1], depends: $0[3]) }

  /// For every second package three words of its summary; of those that end in s each second one without it, and with
  /// one where there was none, so that words have to be known in their other form.
  private static let questions: [Question] = {
    var random = SeededRandom(seed: 22)
    return stride(from: 0, to: items.count, by: 2).compactMap { number in
      let words = items[number].summary.lowercased().split { !$0.isLetter }.filter { $0.count > 3 }.map(String.init)
      guard words.count >= 3 else { return nil }
      let some = words.shuffled(using: &random).prefix(3).map { word in
        if random.oneIn(2) { return word }
        return word.hasSuffix("s") ? String(word.dropLast()) : word + "s"
      }
      return Question(number: number, words: some)
    }
  }()

  /// The mean over all questions of one over the place of the package among the first ten, 0 if it is not among them.
  private static func meanReciprocalRank(_ best: (String) throws -> [RowID]) rethrows -> Double {
    let sum = try questions.reduce(0.0) { sum, question in
      let place = try best(question.text).firstIndex(of: RowID(Int64(question.number + 1)))
      return sum + (place.map { 1 / Double($0 + 1) } ?? 0)
    }
    return sum / Double(questions.count)
  }

  private static func oracle(_ tokenizer: String) throws -> Double {
    let oracle = try FTS5Oracle(columns: ["summary", "depends"], tokenizer: tokenizer)
    for (number, item) in items.enumerated() {
      try oracle.insert(RowID(Int64(number + 1)), [item.summary, item.depends])
    }
    return try meanReciprocalRank { try oracle.ranked(match: $0, limit: 10).map(\.row) }
  }

  private static func own(
    _ tokenizer: some Tokenizer, _ formula: InverseDocumentFrequency = .smooth
  ) throws -> Double {
    let folder = try TestFolder()
    let db = try folder.open()
    try db.write { tx throws in
      for (number, item) in items.enumerated() { try tx[.items].set(item, for: "\(number)") }
    }
    try db.register(
      FullText<KnownItem, NoMetadata>("items.text", over: .items, version: "1", tokenizer: tokenizer) {
        SearchField("summary", \.summary)
        SearchField("depends", \.depends)
      })
    return try db.read { tx in
      try meanReciprocalRank {
        try tx[.items].search($0).ranked().inverseDocumentFrequency(formula).limit(10).scores.map(\.rowID)
      }
    }
  }

  @Test(
    "Stemmed words find what is meant at least as high up as FTS5 with porter, and higher than unstemmed ones",
    .enabled(if: TestSize.hasSlowTests, "slow"))
  func stemmed() throws {
    try #require(Self.questions.count > 500)
    let (own, porter) = (try Self.own(.words.stemmed(.english)), try Self.oracle("porter unicode61"))
    let unstemmed = try Self.own(.words)
    #expect(own >= porter, "\(own) beside \(porter)")
    #expect(own > unstemmed + 0.05, "\(own), and \(unstemmed) without stems")
  }

  @Test("With FTS5's tokens the order is FTS5's", .enabled(if: TestSize.hasSlowTests, "slow"))
  func sameTokens() throws {
    try #require(Self.questions.count > 500)
    let (own, other) = (try Self.own(.unicode61(), .fts5), try Self.oracle("unicode61"))
    #expect(abs(own - other) < 1e-9, "\(own) beside \(other)")
  }
}
