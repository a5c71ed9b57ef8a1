// A query as a value.

public import QuireDatabase

/// What is asked of a collection: a condition, an order, a limit and an offset. Belongs to no transaction.
///
/// ```swift
/// let jazz = RowCollection.songs.query { $0.tags.contains("jazz") }.order(by: \.year).limit(50)
/// let keys = try db.read { tx in try tx.find(jazz).keys }
/// ```
public struct RowQuery<Object: Sendable, Metadata: Sendable>: Sendable {
  /// The collection that is asked.
  public let collection: RowCollection<Object, Metadata>
  private(set) var terms: QueryTerms

  init(_ collection: RowCollection<Object, Metadata>, _ condition: Condition<Object, Metadata>) {
    self.collection = collection
    terms = QueryTerms(condition: condition.node)
  }

  /// The same rows in an order: of the first column, then of the second among those that are equal in the first, and so
  /// on. Columns of lists give no order, and are left out.
  public func order(by columns: IndexColumn<Object, Metadata>...) -> Self { ordered(by: columns) }

  func ordered(by columns: [IndexColumn<Object, Metadata>]) -> Self {
    var copy = self
    copy.terms.order = columns.map(\.key).filter { $0.column.id.kind == .value }
    return copy
  }

  /// The same rows by one field, the least first.
  public func order<Value: SortKey>(by path: any KeyPath<Object, Value> & Sendable) -> Self {
    order(by: .ascending(path))
  }

  /// The first `count` of these rows.
  public func limit(_ count: Int) -> Self {
    var copy = self
    copy.terms.limit = min(terms.limit ?? .max, max(0, count))
    return copy
  }

  /// These rows without the first `count`. With a limit, the limit counts from there.
  public func offset(_ count: Int) -> Self {
    var copy = self
    copy.terms.offset = max(0, count)
    return copy
  }

  /// The same rows as far as they are listed.
  func narrowed(to list: RowIDList) -> Self {
    var copy = self
    copy.terms.condition = .both(terms.condition, .listed(list, isNegated: false))
    return copy
  }

  /// The same rows, of which none is found by reading all rows: then every result throws `IndexError.needsScan`.
  public func requireIndex() -> Self {
    var copy = self
    copy.terms.needsIndex = true
    return copy
  }
}

/// What a query says, without the types of the rows.
struct QueryTerms: Sendable {
  var condition: ConditionNode
  var order: [KeyColumn] = []
  var limit: Int?
  var offset = 0
  var needsIndex = false
}

extension RowCollection {
  /// The rows that satisfy a condition on their fields, as a value.
  public func query(
    _ condition: (Fields<Object, Metadata>) throws -> Condition<Object, Metadata>
  ) rethrows -> RowQuery<Object, Metadata> {
    RowQuery(self, try condition(Fields()))
  }

  /// The rows that satisfy a condition, as a value.
  public func query(_ condition: Condition<Object, Metadata> = .all) -> RowQuery<Object, Metadata> {
    RowQuery(self, condition)
  }
}

extension ReadTransaction {
  /// The rows of a query.
  public func find<Object, Metadata>(_ query: RowQuery<Object, Metadata>) -> FoundRows<Object, Metadata> {
    FoundRows(self[query.collection], query)
  }
}

extension WriteTransaction {
  /// The rows of a query, as they are in the transaction.
  public func find<Object, Metadata>(_ query: RowQuery<Object, Metadata>) -> FoundRows<Object, Metadata> {
    FoundRows(self[query.collection].readTransaction[query.collection], query)
  }
}
