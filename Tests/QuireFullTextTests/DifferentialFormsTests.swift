// Searches beside the definition, for tokenizers and details of all kinds.

import QuireDatabase
@testable import QuireFullText
import QuireTesting
import QuireText
import Testing

/// A tokenizer of the tests, by a name.
struct NamedTokenizer: CustomTestStringConvertible, Sendable {
  let testDescription: String
  let tokenizer: any Tokenizer

  static let all = [
    NamedTokenizer(testDescription: "words", tokenizer: .words),
    NamedTokenizer(testDescription: "English words", tokenizer: .words.stemmed(.english)),
    NamedTokenizer(testDescription: "French words", tokenizer: .words.stemmed(.french).keepingAccents()),
    NamedTokenizer(testDescription: "trigrams", tokenizer: .trigrams),
    NamedTokenizer(testDescription: "identifiers", tokenizer: .identifiers),
    NamedTokenizer(testDescription: "other forms", tokenizer: FormsTokenizer(hasForms: true)),
    NamedTokenizer(testDescription: "left out words", tokenizer: FormsTokenizer(hasGaps: true)),
    NamedTokenizer(testDescription: "both", tokenizer: FormsTokenizer(hasForms: true, hasGaps: true)),
  ]
}

/// The tokens of `unicode61`, long ones with another form at the same place, and some left out with their places.
struct FormsTokenizer: Tokenizer {
  var hasForms = false
  var hasGaps = false

  var identity: String { "test.forms/\(hasForms)/\(hasGaps)" }

  func forEachToken(
    in text: RawSpan, for purpose: TokenPurpose, _ body: (_ term: RawSpan, _ place: TokenPlace) throws -> Void
  ) throws {
    var step = 1
    try TextTokenizer.unicode61().forEachToken(in: text, for: purpose) { term, place in
      let bytes = term.withUnsafeBytes { Array($0) }
      if hasGaps, bytes.count == 3 || bytes.first == UInt8(ascii: "d") {
        step += 1
        return
      }
      try body(term, TokenPlace(range: place.range, step: step))
      if hasForms, bytes.count > 4, bytes.allSatisfy({ $0 < 0x80 }) {
        let form = [UInt8(ascii: "x")] + bytes.prefix(3)
        try body(form.span.bytes, TokenPlace(range: place.range, step: 0))
      }
      step = 1
    }
  }
}

extension FullText where Object == Paper, Metadata == NoMetadata {
  /// The texts of papers, of which each line is one of several.
  static func lines(_ fields: [String], _ tokenizer: some Tokenizer, _ detail: PostingDetail) -> Self {
    FullText("papers.text", over: .papers, version: "1", tokenizer: tokenizer, detail: detail) {
      for (number, name) in fields.enumerated() {
        SearchField(name, weight: Double(number)) { paper, _ in Self.lines(of: paper.texts[number]) }
      }
    }
  }

  static func lines(of text: String) -> [String] {
    text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }
}

@Suite("Searches beside their definition")
struct DifferentialFormsTests {
  private static let fields = ["title", "Text"]

  /// Texts of many scripts, of one line and of several.
  private static let documents: [[String]] = {
    let others = [
      "東京都は日本の首都です\n京都は昔の都", "北京是中国的首都 上海是城市", "서울은 한국의 수도입니다", "กรุงเทพเป็นเมืองหลวง",
      "parseHTTPRequest2 snake_case_name\nfoo.bar.baz", "Straße ﬁne naïve Ünïcödé", "🚂 train 🚂🚂 night",
      "don't o'clock\n\nrock'n'roll", "l'avion d’un ami\nqu'avions-nous",
      "", "\n", "a b c a b c\na b", "the the the cat\nthe dog",
    ]
    let packages = OracleDocuments.packages.prefix(TestSize.isFull ? 500 : 16).map { texts in
      [texts[0] + "\n" + texts[1], texts[2] + "\n" + texts[3]]
    }
    return packages + others.indices.map { [others[$0], others[($0 * 5 + 1) % others.count]] }
  }()

  /// A database and the definition, after some changes.
  private static func pair(
    _ tokenizer: some Tokenizer, _ detail: PostingDetail, _ random: inout SeededRandom
  ) throws -> (folder: TestFolder, database: Database, definition: BruteForceSearch) {
    let folder = try TestFolder()
    let database = try folder.open()
    let text = PaperText.lines(fields, tokenizer, detail)
    var definition = BruteForceSearch(fields: fields, tokenizer: tokenizer, detail: detail)
    func set(_ tx: WriteTransaction, _ number: Int, _ texts: [String]) throws {
      try tx[.papers].set(Paper(texts: texts), for: "\(number)")
      guard let row = try tx[.papers].rowID("\(number)") else { return }
      try definition.set(row, lists: texts.map { PaperText.lines(of: $0) })
    }
    try database.write { tx in
      for (number, texts) in documents.enumerated() { try set(tx, number, texts) }
    }
    try database.register(text)
    for _ in 0..<10 {
      try database.write { tx in
        for _ in 0..<5 {
          let texts = (0..<fields.count).map { random.pick(documents)[$0] }
          try set(tx, random.below(documents.count + 10), texts)
        }
      }
    }
    try database.read { tx in try tx.access(to: text).verify() }
    return (folder, database, definition)
  }

  @Test(
    "Every tokenizer and detail finds what the definition finds", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: NamedTokenizer.all, PostingDetail.allCases)
  func findsTheSame(named: NamedTokenizer, detail: PostingDetail) throws {
    func run(_ tokenizer: some Tokenizer) throws {
      var random = SeededRandom(seed: 7)
      let (folder, database, definition) = try Self.pair(tokenizer, detail, &random)
      defer { withExtendedLifetime(folder) {} }
      var expressions = try RandomExpressions(
        seed: 11, fields: Self.fields, documents: Self.documents, tokenizer: tokenizer)
      try database.read { tx in
        for _ in 0..<TestSize.trials(1000, divisor: 100) {
          try compare(tx, expressions.next(depth: detail == .positions ? 3 : 1), definition)
        }
      }
    }
    try run(named.tokenizer)
  }

  private func compare(_ tx: ReadTransaction, _ text: String, _ definition: BruteForceSearch) throws {
    let expression = try SearchExpression(text, fields: definition.fields)
    let found = try tx[.papers].search(expression)
    if try definition.detail != .positions && definition.needsPositions(expression) {
      var rows: [RowID] = []
      let error = fullTextError { rows = try found.rowIDs }
      if let error, case .needsPositions("papers.text", _) = error { return }
      // A part without tokens has made the rest of no account.
      #expect(error == nil && rows.isEmpty, "\(text)")
      return
    }
    let expected = try definition.ranked(expression, weights: [0, 1])
    #expect(try found.rowIDs == expected.map(\.row).sorted(), "\(text)")
    let scores = Dictionary(uniqueKeysWithValues: try found.ranked().scores.map { ($0.rowID, $0.score) })
    for (row, score) in expected { #expect(abs(score - (scores[row] ?? -1)) <= 1e-6, "\(text): row \(row)") }
    let best = try found.ranked().limit(10).scores
    for (one, other) in zip(best, expected) { #expect(abs(one.score - other.score) <= 1e-6, "\(text)") }
  }
}
