// Texts in Quire with full text, as an app has them.

internal import Foundation
internal import QuireDatabase
internal import QuireFullText
internal import QuireText

extension RowCollection where Object == SearchText, Metadata == NoMetadata {
  static var texts: Self { .init("texts", compression: .none) }
}

extension FullText where Object == SearchText, Metadata == NoMetadata {
  /// Names, summaries and bodies, cut by some tokenizer.
  static func texts(_ tokenizer: some Tokenizer) -> Self {
    .init("texts.found", over: .texts, version: "1", tokenizer: tokenizer) {
      SearchField("name", \.name)
      SearchField("summary", \.summary)
      SearchField("body", \.body)
    }
  }
}

/// Texts as rows, found by the words that FTS5 finds, so that answers are the same.
class QuireSearchedStore: SearchedStore {
  class var name: String { "quire" }
  class var findsTheSame: Bool { true }
  /// The full text that is registered.
  class var fullText: FullText<SearchText, NoMetadata> { .texts(.unicode61()) }
  /// How much rare words count.
  class var formula: InverseDocumentFrequency { .fts5 }
  private let db: Database
  private let path: String

  required init(_ folder: String, cacheSize: Int) throws {
    path = "\(folder)/quire"
    db = try Database(at: path, options: Database.Options(cacheSize: cacheSize))
  }

  func store(_ changes: ArraySlice<TextChange>) throws {
    try db.write { tx throws in
      for change in changes { try tx[.texts].set(change.text, for: "text-\(change.number)") }
    }
  }

  func makeFullText() throws { try db.register(Self.fullText) }

  func dropFullText() throws { _ = try db.unregister(extensionNamed: "texts.found") }

  /// Nothing is advised: commits merge as they go.
  func optimize() {}

  func count(_ question: String) throws -> Int {
    try db.read { tx in try tx[.texts].search(question).count }
  }

  func numbers(_ question: String) throws -> [Int] {
    try db.read { tx in try tx[.texts].search(question).rowIDs.map { Int($0.rawValue) - 1 } }
  }

  func best(_ question: String, limit: Int) throws -> [(number: Int, score: Double)] {
    try db.read { tx in
      let ranked = try tx[.texts].search(question).ranked().inverseDocumentFrequency(Self.formula).limit(limit)
      return try ranked.scores.map { (Int($0.rowID.rawValue) - 1, $0.score) }
    }
  }

  func fileByteCount() throws -> Int {
    try db.checkpoint()
    try db.compact()
    return try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
  }

  func logByteCount() -> Int { db.statistics.logBytes }

  func close() throws { try db.close() }
}

/// The same as apps have it by default: words of Unicode, stemmed. Answers are others.
final class QuireStemmedSearchedStore: QuireSearchedStore {
  override class var name: String { "quire-stemmed" }
  override class var findsTheSame: Bool { false }
  override class var fullText: FullText<SearchText, NoMetadata> { .texts(.words.stemmed(.english)) }
  override class var formula: InverseDocumentFrequency { .smooth }
}
