// What the tests of searches share.

import Foundation
import QuireDatabase
@testable import QuireFullText
import QuireIndexes
import QuireTesting
import QuireText
import Testing

/// A row of the tests.
struct Article: SynthesizedCodable, Sendable, Equatable {
  var title: String
  var body: String
  var year = 2000
  var weight = 1.0
}

extension RowCollection where Object == Article, Metadata == NoMetadata {
  static var articles: Self { .init("articles") }
}

typealias ArticleText = FullText<Article, NoMetadata>

extension FullText where Object == Article, Metadata == NoMetadata {
  static func articles(_ detail: PostingDetail = .positions, tokenizer: some Tokenizer = .unicode61()) -> Self {
    FullText("articles.text", over: .articles, tokenizer: tokenizer, detail: detail) {
      SearchField("title", \.title)
      SearchField("body", \.body)
    }
  }
}

extension Indexes where Object == Article, Metadata == NoMetadata {
  static var articles: Self { Indexes("articles.indexes", over: .articles) { Index("year", \.year) } }
}

/// A database with some articles, whose keys are `a0`, `a1`, and so on.
func database(_ articles: [Article], _ text: ArticleText = .articles()) throws -> Database {
  let db = try Database.inMemory()
  try db.register(text)
  try db.write { tx in
    for (number, article) in articles.enumerated() { try tx[.articles].set(article, for: "a\(number)") }
  }
  return db
}

/// The same of bodies alone.
func database(bodies: String..., detail: PostingDetail = .positions) throws -> Database {
  try database(bodies.map { Article(title: "", body: $0) }, .articles(detail))
}

extension SeededRandom {
  /// A text of words `w0`, `w1`, …, of which the first ones are frequent.
  mutating func text(_ count: Int, of vocabulary: Int) -> String {
    (0..<count).map { _ in
      let share = Double(next() >> 11) / Double(1 << 53)
      return "w\(Int(Double(vocabulary) * share * share * share))"
    }.joined(separator: " ")
  }

  mutating func article(_ vocabulary: Int) -> Article {
    Article(
      title: text(below(4), of: vocabulary), body: text(below(oneIn(10) ? 80 : 12), of: vocabulary),
      year: 1950 + below(50), weight: Double(below(8)) / 2)
  }

  /// An expression of a few words, as searches are.
  mutating func search(_ vocabulary: Int) -> String {
    func word() -> String { text(1, of: vocabulary) }
    switch below(9) {
    case 0, 1: return word()
    case 2: return "\(word()) \(word())"
    case 3: return "\(word()) OR \(word()) OR \(word())"
    case 4: return "\(word()) \(word()) NOT \(word())"
    case 5: return "\"\(word()) \(word())\" OR \(word())"
    case 6: return "w\(below(10))* \(word())"
    case 7: return "title : \(word()) OR NEAR(\(word()) \(word()), 3)"
    default: return "(\(word()) OR \(word())) AND (\(word()) OR (\(word()) \(word())))"
    }
  }
}

extension MatchedRows {
  /// The keys of the rows, by the sequence.
  var walkedKeys: [String] { map(\.key) }
}
