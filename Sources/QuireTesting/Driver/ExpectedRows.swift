// The model of a crash test: the rows that a database must have.

public import QuireDatabase

/// A row of the model, as the history has stored it.
public struct ExpectedRow<Object: Sendable, Metadata: Sendable>: Sendable {
  /// The object that was stored last.
  public let object: Object
  /// The metadata that were stored last; nil if there are none.
  public let metadata: Metadata?
}

/// The rows that the database of a ``CrashTest`` must have: plain dictionaries, which the test keeps beside it.
public struct ExpectedRows: Sendable {
  /// By the name of the collection, then by key: values of `ExpectedRow`.
  private var rows: [String: [String: any Sendable]]

  /// No rows, of collections with these names.
  init(collections: [String]) { rows = Dictionary(uniqueKeysWithValues: collections.map { ($0, [:]) }) }

  /// The rows of a collection by their keys. O(rows of the collection).
  ///
  /// - Precondition: the collection was added to the test, with these types.
  public subscript<Object, Metadata>(
    collection: RowCollection<Object, Metadata>
  ) -> [String: ExpectedRow<Object, Metadata>] {
    guard let all = rows[collection.name] else {
      preconditionFailure("the collection \(collection.name) was not added to the crash test")
    }
    return all.mapValues { row in
      guard let row = row as? ExpectedRow<Object, Metadata> else {
        preconditionFailure("the collection \(collection.name) was added to the crash test with other types")
      }
      return row
    }
  }

  /// The keys of a collection, sorted. O(n log n).
  func keys(of collection: String) -> [String] { (rows[collection] ?? [:]).keys.sorted() }

  /// The row of a key, as one of certain types; nil if there is none.
  func row<Row>(_ key: String, of collection: String, as: Row.Type) -> Row? { rows[collection]?[key] as? Row }

  /// Whether there is a row.
  func contains(_ key: String, of collection: String) -> Bool { rows[collection]?[key] != nil }

  /// Puts a row in, or takes one out.
  mutating func set(_ row: (any Sendable)?, _ key: String, of collection: String) { rows[collection]?[key] = row }

  /// Takes all rows of a collection out.
  mutating func removeAll(of collection: String) { rows[collection] = [:] }

  /// Takes all rows out.
  mutating func removeAll() { rows = rows.mapValues { _ in [:] } }
}
