// Searches as parts of conditions.

public import QuireDatabase
public import QuireIndexes

/// The rows in which a text is found, as a part of conditions, and as what search views show.
///
/// ```swift
/// let trains = SearchSelection<Song, NoMetadata>("night train")
/// let later = tx[.songs].find { $0.year > 1990 && .rows(trains) }.order(by: \.year)
/// ```
///
/// Searched are the full texts of rows of these types that are registered: where several collections have the same
/// types, those of other collections than the one that is asked are left out.
public struct SearchSelection<Object: Sendable, Metadata: Sendable>: RankedSelection {
  private enum Source {
    case text(String)
    case expression(SearchExpression)
  }

  private let source: Source

  /// What a text finds, as `search(_:)` reads it. What is wrong with the text is thrown by results.
  public init(_ text: String) { source = .text(text) }

  /// What an expression finds.
  public init(_ expression: SearchExpression) { source = .expression(expression) }

  public var name: String { "search “\(text)”" }
  public var spansCollections: Bool { true }

  public var storedForm: String? { text }

  /// The text of the search: from it the same selection can be made.
  public var text: String {
    switch source {
    case .text(let text): text
    case .expression(let expression): expression.description
    }
  }

  public func rows(in tx: ReadTransaction) throws -> any SelectedRows {
    SelectedTexts(name, try matches(in: tx).map { matched in { try matched.run() } })
  }

  public func rankedRowIDs(limit: Int, in tx: ReadTransaction) throws -> [(rowID: RowID, score: Double)] {
    var all: [(rowID: RowID, score: Double)] = []
    let matches = try matches(in: tx)
    for matched in matches { all += try matched.ranked().limit(limit).scores }
    if matches.count > 1 { all.sort { $0.score != $1.score ? $0.score > $1.score : $0.rowID < $1.rowID } }
    return Array(all.prefix(max(0, limit)))
  }

  /// The search in each full text of rows of these types: of several of a collection in the first.
  private func matches(in tx: ReadTransaction) throws -> [MatchedRows<Object, Metadata>] {
    var collections: [String] = []
    var matches: [MatchedRows<Object, Metadata>] = []
    for fullText in try tx.registeredExtensions(FullText<Object, Metadata>.self)
    where !collections.contains(fullText.collection.name) {
      collections.append(fullText.collection.name)
      let rows = tx[fullText.collection]
      switch source {
      case .text(let text): matches.append(try rows.search(text))
      case .expression(let expression): matches.append(try rows.search(expression))
      }
    }
    guard !matches.isEmpty else { throw FullTextError.notServed(collection: "\(Object.self)") }
    return matches
  }
}

/// The same in one transaction.
private final class SelectedTexts: SelectedRows {
  private let name: String
  private let runs: [() throws -> SearchRun]
  /// How many rows there are; nil before they were counted.
  private var count: Int?

  init(_ name: String, _ runs: [() throws -> SearchRun]) { (self.name, self.runs) = (name, runs) }

  var description: String { count.map { "\($0) rows of \(name)" } ?? name }

  func cost(upTo limit: Int) throws -> Int? {
    var cost = 0
    for run in runs {
      cost += try run().rows().limit
      if cost > limit { return nil }
    }
    return cost
  }

  func rowIDs() throws -> [RowID] {
    let found = try runs.flatMap { try $0().rows().rowIDs() }
    count = found.count
    return found
  }

  func forEachRowID(_ body: (RowID) throws -> Void) throws {
    for run in runs { try run().rows().forEachBatch { try $0.forEach(body) } }
  }

  func filter(_ rowIDs: [RowID]) throws -> [RowID] {
    try runs.flatMap { try $0().rowIDs(among: rowIDs) }
  }
}

extension MatchedRows {
  /// The rows of the search as those of a query, which takes orders, limits and further conditions.
  public var query: FoundRows<Object, Metadata> {
    let found = Condition<Object, Metadata>.rows(SearchSelection<Object, Metadata>(expression))
    return rows.find(condition.map { $0 && found } ?? found)
  }

  /// The rows in the order of a column. More columns take ``query``.
  public func order(by column: IndexColumn<Object, Metadata>) -> FoundRows<Object, Metadata> {
    query.order(by: column)
  }

  /// The rows by one field, the least first.
  public func order<Value: SortKey>(
    by path: any KeyPath<Object, Value> & Sendable
  ) -> FoundRows<Object, Metadata> {
    query.order(by: path)
  }

  /// The rows by two fields, the least first.
  public func order<First: SortKey, Second: SortKey>(
    by first: any KeyPath<Object, First> & Sendable, _ second: any KeyPath<Object, Second> & Sendable
  ) -> FoundRows<Object, Metadata> {
    query.order(by: first, second)
  }
}
