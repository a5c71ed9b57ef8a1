// Searching a full text in transactions.

public import Foundation
internal import Quire

/// How snippets look. New call: `SearchHit.snippet(of:tokens:)` and `Snippet.marked(_:_:ellipsis:)`.
public final class YapDatabaseFullTextSearchSnippetOptions: Sendable {
  private struct Values: Equatable {
    var startMatchText = "<b>"
    var endMatchText = "</b>"
    var ellipsesText = "…"
    var columnName: String?
    var numberOfTokens: Int32 = 15
  }

  private let values: Guarded<Values>

  /// The original's defaults. New call: none.
  public init() { values = Guarded(Values()) }

  /// A copy of the settings, which later changes of the original do not reach.
  init(copying other: YapDatabaseFullTextSearchSnippetOptions) { values = Guarded(other.values.withLock { $0 }) }

  /// Whether these say what others say.
  func isSame(as other: YapDatabaseFullTextSearchSnippetOptions) -> Bool {
    values.withLock { $0 } == other.values.withLock { $0 }
  }

  /// What stands before each match. New call: `Snippet.marked(_:_:ellipsis:)`.
  public var startMatchText: String {
    get { values.withLock { $0.startMatchText } }
    set { values.withLock { $0.startMatchText = newValue } }
  }

  /// What stands behind each match. New call: `Snippet.marked(_:_:ellipsis:)`.
  public var endMatchText: String {
    get { values.withLock { $0.endMatchText } }
    set { values.withLock { $0.endMatchText = newValue } }
  }

  /// What stands where text is left out. New call: `Snippet.marked(_:_:ellipsis:)`.
  public var ellipsesText: String {
    get { values.withLock { $0.ellipsesText } }
    set { values.withLock { $0.ellipsesText = newValue } }
  }

  /// The column that snippets are of; nil for that which shows most. New call: `SearchHit.snippet(of:tokens:)`.
  public var columnName: String? {
    get { values.withLock { $0.columnName } }
    set { values.withLock { $0.columnName = newValue } }
  }

  /// How many words a snippet has, at most 64; 0 for 15. If it is negative, each of up to four pieces has so many. New
  /// call: `SearchHit.snippets(of:tokens:)`.
  public var numberOfTokens: Int32 {
    get { values.withLock { $0.numberOfTokens } }
    set { values.withLock { $0.numberOfTokens = newValue } }
  }

  /// The snippet of a row; empty if the row has no texts.
  func snippet(_ reader: FamilyTextReader, _ expression: SearchExpression, _ row: RowID) throws -> String {
    let (values, tokens) = (values.withLock { $0 }, Int(numberOfTokens))
    let snippets = try reader.snippets(
      matching: expression, of: values.columnName, in: row, tokens: tokens == 0 ? 15 : tokens)
    return snippets?.marked(values.startMatchText, values.endMatchText, ellipsis: values.ellipsesText) ?? ""
  }
}

/// A full text in one transaction, whose own changes it shows. New type: `MatchedRows`.
///
/// Searches are written as SQLite's FTS5 has it. One that cannot be understood goes to the log with the place and what
/// helps, and the call answers false; the transaction goes on. Rows come in the order in which they were stored first,
/// and those of `iterateBm25Ordered…` with the best one first.
public final class YapDatabaseFullTextSearchTransaction: YapDatabaseExtensionTransaction {
  private let reader: FamilyTextReader
  private let ranks: Bool

  /// - Parameter ranks: whether it is of the version that tells how well rows fit.
  init(_ fullText: FamilyText, ranks: Bool, _ transaction: YapDatabaseReadTransaction) throws {
    switch transaction.access {
    case .reading(let tx): reader = try tx.access(to: fullText)
    case .writing(let tx): reader = try tx.access(to: fullText).reader
    }
    self.ranks = ranks
    super.init(fullText.name, transaction)
  }

  /// In which order rows come.
  enum Order {
    case stored
    case ranked([NSNumber]?)
  }

  /// Calls `block` with each row that is found, and its snippet if there are options. Returns whether the search was
  /// understood.
  func forEachRow(
    _ query: String, _ order: Order = .stored, _ options: YapDatabaseFullTextSearchSnippetOptions? = nil,
    _ block: (RowKey, String?, inout Bool) throws -> Void
  ) -> Bool {
    attempt(false) {
      let found: [(row: RowKey, snippet: String?)]
      do { found = try rows(query, order, options) } catch let error as SearchSyntaxError {
        return refuse(error)
      } catch let error as FullTextError {
        switch error {
        case .unknownField, .tooDeep, .phraseTooLong, .badWeight: return refuse(error)
        default: throw error
        }
      }
      for (row, snippet) in found {
        guard try transaction.step(row.collection, { try block(row, snippet, &$0) }) else { break }
      }
      return transaction.failure == nil
    }
  }

  private func refuse(_ error: any Error) -> Bool {
    YapDatabase.log(.error, "The full text “\(name)” cannot answer a search. \(error)")
    return false
  }

  /// The rows that are found, gathered first, as blocks may change rows.
  private func rows(
    _ query: String, _ order: Order, _ options: YapDatabaseFullTextSearchSnippetOptions?
  ) throws -> [(row: RowKey, snippet: String?)] {
    let expression = try SearchExpression(query, fields: reader.fieldNames)
    let rowIDs: [RowID]
    switch order {
    case .stored: rowIDs = try reader.rowIDs(matching: expression)
    case .ranked(let weights):
      guard ranks else {
        throw DatabaseError(
          .invalidOption,
          "The full text “\(name)” is not of the version that ranks rows. Make it with `ftsVersion: \"fts5\"`.")
      }
      let scores = try reader.scores(
        matching: expression, weights: weights?.map(\.doubleValue) ?? [], inverseDocumentFrequency: .fts5)
      rowIDs = scores.map(\.rowID)
    }
    return try rowIDs.compactMap { rowID in
      guard let row = try reader.rowKey(of: rowID) else { return nil }
      return (row, try options?.snippet(reader, expression, rowID))
    }
  }

  private func object(_ row: RowKey) -> Any? { transaction.object(forKey: row.key, inCollection: row.collection) }

  private func metadata(_ row: RowKey) -> Any? { transaction.metadata(forKey: row.key, inCollection: row.collection) }

  // MARK: Rows

  /// Calls `block` with each row that is found, without objects and metadata. Returns whether the search was
  /// understood. New call: `MatchedRows`.
  @discardableResult
  public func iterateKeys(
    matching query: String,
    using block: (_ collection: String, _ key: String, _ stop: inout Bool) -> Void
  ) -> Bool {
    forEachRow(query, .stored, nil) { row, _, stop in
      block(row.collection, row.key, &stop)
    }
  }

  /// Calls `block` with each row that is found, with its metadata. Returns whether the search was understood. New call:
  /// `MatchedRows`.
  @discardableResult
  public func iterateKeysAndMetadata(
    matching query: String,
    using block: (_ collection: String, _ key: String, _ metadata: Any?, _ stop: inout Bool) -> Void
  ) -> Bool {
    forEachRow(query, .stored, nil) { row, _, stop in
      block(row.collection, row.key, metadata(row), &stop)
    }
  }

  /// Calls `block` with each row that is found, with its object. Returns whether the search was understood. New call:
  /// `MatchedRows`.
  @discardableResult
  public func iterateKeysAndObjects(
    matching query: String,
    using block: (_ collection: String, _ key: String, _ object: Any, _ stop: inout Bool) -> Void
  ) -> Bool {
    forEachRow(query, .stored, nil) { row, _, stop in
      guard let object = object(row) else { return }
      block(row.collection, row.key, object, &stop)
    }
  }

  /// Calls `block` with each row that is found, with object and metadata. Returns whether the search was understood.
  /// New call: `MatchedRows`.
  @discardableResult
  public func iterateRows(
    matching query: String,
    using block: (_ collection: String, _ key: String, _ object: Any, _ metadata: Any?, _ stop: inout Bool) -> Void
  ) -> Bool {
    forEachRow(query, .stored, nil) { row, _, stop in
      guard let object = object(row) else { return }
      block(row.collection, row.key, object, metadata(row), &stop)
    }
  }

  // MARK: Rows by how well they fit

  /// Calls `block` with each row that is found, the best one first, without objects and metadata. Returns whether the
  /// search was understood. New call: `MatchedRows.ranked()`.
  @discardableResult
  public func iterateBm25OrderedKeys(
    matching query: String, withWeights weights: [NSNumber]? = nil,
    using block: (_ collection: String, _ key: String, _ stop: inout Bool) -> Void
  ) -> Bool {
    forEachRow(query, .ranked(weights), nil) { row, _, stop in
      block(row.collection, row.key, &stop)
    }
  }

  /// Calls `block` with each row that is found, the best one first, with its metadata. Returns whether the search was
  /// understood. New call: `MatchedRows.ranked()`.
  @discardableResult
  public func iterateBm25OrderedKeysAndMetadata(
    matching query: String, withWeights weights: [NSNumber]? = nil,
    using block: (_ collection: String, _ key: String, _ metadata: Any?, _ stop: inout Bool) -> Void
  ) -> Bool {
    forEachRow(query, .ranked(weights), nil) { row, _, stop in
      block(row.collection, row.key, metadata(row), &stop)
    }
  }

  /// Calls `block` with each row that is found, the best one first, with its object. Returns whether the search was
  /// understood. New call: `MatchedRows.ranked()`.
  @discardableResult
  public func iterateBm25OrderedKeysAndObjects(
    matching query: String, withWeights weights: [NSNumber]? = nil,
    using block: (_ collection: String, _ key: String, _ object: Any, _ stop: inout Bool) -> Void
  ) -> Bool {
    forEachRow(query, .ranked(weights), nil) { row, _, stop in
      guard let object = object(row) else { return }
      block(row.collection, row.key, object, &stop)
    }
  }

  /// Calls `block` with each row that is found, the best one first, with object and metadata. Returns whether the
  /// search was understood. New call: `MatchedRows.ranked()`.
  @discardableResult
  public func iterateBm25OrderedRows(
    matching query: String, withWeights weights: [NSNumber]? = nil,
    using block: (_ collection: String, _ key: String, _ object: Any, _ metadata: Any?, _ stop: inout Bool) -> Void
  ) -> Bool {
    forEachRow(query, .ranked(weights), nil) { row, _, stop in
      guard let object = object(row) else { return }
      block(row.collection, row.key, object, metadata(row), &stop)
    }
  }

  // MARK: Snippets

  /// Calls `block` with each row that is found, without objects and metadata, and a snippet. Returns whether the search
  /// was understood. New call: `SearchHit.snippet(of:tokens:)`.
  @discardableResult
  public func iterateKeys(
    matching query: String, with options: YapDatabaseFullTextSearchSnippetOptions?,
    using block: (_ snippet: String, _ collection: String, _ key: String, _ stop: inout Bool) -> Void
  ) -> Bool {
    forEachRow(query, .stored, options ?? YapDatabaseFullTextSearchSnippetOptions()) { row, snippet, stop in
      block(snippet ?? "", row.collection, row.key, &stop)
    }
  }

  /// Calls `block` with each row that is found, with its metadata, and a snippet. Returns whether the search was
  /// understood. New call: `SearchHit.snippet(of:tokens:)`.
  @discardableResult
  public func iterateKeysAndMetadata(
    matching query: String, with options: YapDatabaseFullTextSearchSnippetOptions?,
    using block: (_ snippet: String, _ collection: String, _ key: String, _ metadata: Any?, _ stop: inout Bool) -> Void
  ) -> Bool {
    forEachRow(query, .stored, options ?? YapDatabaseFullTextSearchSnippetOptions()) { row, snippet, stop in
      block(snippet ?? "", row.collection, row.key, metadata(row), &stop)
    }
  }

  /// Calls `block` with each row that is found, with its object, and a snippet. Returns whether the search was
  /// understood. New call: `SearchHit.snippet(of:tokens:)`.
  @discardableResult
  public func iterateKeysAndObjects(
    matching query: String, with options: YapDatabaseFullTextSearchSnippetOptions?,
    using block: (_ snippet: String, _ collection: String, _ key: String, _ object: Any, _ stop: inout Bool) -> Void
  ) -> Bool {
    forEachRow(query, .stored, options ?? YapDatabaseFullTextSearchSnippetOptions()) { row, snippet, stop in
      guard let object = object(row) else { return }
      block(snippet ?? "", row.collection, row.key, object, &stop)
    }
  }

  /// Calls `block` with each row that is found, with object and metadata, and a snippet. Returns whether the search was
  /// understood. New call: `SearchHit.snippet(of:tokens:)`.
  @discardableResult
  public func iterateRows(
    matching query: String, with options: YapDatabaseFullTextSearchSnippetOptions?,
    using block: (
      _ snippet: String, _ collection: String, _ key: String, _ object: Any, _ metadata: Any?, _ stop: inout Bool
    ) -> Void
  ) -> Bool {
    forEachRow(query, .stored, options ?? YapDatabaseFullTextSearchSnippetOptions()) { row, snippet, stop in
      guard let object = object(row) else { return }
      block(snippet ?? "", row.collection, row.key, object, metadata(row), &stop)
    }
  }

  /// Calls `block` with each row that is found, the best one first, without objects and metadata, and a snippet.
  /// Returns whether the search was understood. New call: `MatchedRows.ranked()`.
  @discardableResult
  public func iterateBm25OrderedKeys(
    matching query: String, withWeights weights: [NSNumber]? = nil,
    with options: YapDatabaseFullTextSearchSnippetOptions?,
    using block: (_ snippet: String, _ collection: String, _ key: String, _ stop: inout Bool) -> Void
  ) -> Bool {
    forEachRow(query, .ranked(weights), options ?? YapDatabaseFullTextSearchSnippetOptions()) { row, snippet, stop in
      block(snippet ?? "", row.collection, row.key, &stop)
    }
  }

  /// Calls `block` with each row that is found, the best one first, with its metadata, and a snippet. Returns whether
  /// the search was understood. New call: `MatchedRows.ranked()`.
  @discardableResult
  public func iterateBm25OrderedKeysAndMetadata(
    matching query: String, withWeights weights: [NSNumber]? = nil,
    with options: YapDatabaseFullTextSearchSnippetOptions?,
    using block: (_ snippet: String, _ collection: String, _ key: String, _ metadata: Any?, _ stop: inout Bool) -> Void
  ) -> Bool {
    forEachRow(query, .ranked(weights), options ?? YapDatabaseFullTextSearchSnippetOptions()) { row, snippet, stop in
      block(snippet ?? "", row.collection, row.key, metadata(row), &stop)
    }
  }

  /// Calls `block` with each row that is found, the best one first, with its object, and a snippet. Returns whether the
  /// search was understood. New call: `MatchedRows.ranked()`.
  @discardableResult
  public func iterateBm25OrderedKeysAndObjects(
    matching query: String, withWeights weights: [NSNumber]? = nil,
    with options: YapDatabaseFullTextSearchSnippetOptions?,
    using block: (_ snippet: String, _ collection: String, _ key: String, _ object: Any, _ stop: inout Bool) -> Void
  ) -> Bool {
    forEachRow(query, .ranked(weights), options ?? YapDatabaseFullTextSearchSnippetOptions()) { row, snippet, stop in
      guard let object = object(row) else { return }
      block(snippet ?? "", row.collection, row.key, object, &stop)
    }
  }

  /// Calls `block` with each row that is found, the best one first, with object and metadata, and a snippet. Returns
  /// whether the search was understood. New call: `MatchedRows.ranked()`.
  @discardableResult
  public func iterateBm25OrderedRows(
    matching query: String, withWeights weights: [NSNumber]? = nil,
    with options: YapDatabaseFullTextSearchSnippetOptions?,
    using block: (
      _ snippet: String, _ collection: String, _ key: String, _ object: Any, _ metadata: Any?, _ stop: inout Bool
    ) -> Void
  ) -> Bool {
    forEachRow(query, .ranked(weights), options ?? YapDatabaseFullTextSearchSnippetOptions()) { row, snippet, stop in
      guard let object = object(row) else { return }
      block(snippet ?? "", row.collection, row.key, object, metadata(row), &stop)
    }
  }
}
