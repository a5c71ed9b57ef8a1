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

  func ordered(by columns: [IndexColumn<Object, Metadata>]) -> Self { with(terms.ordered(by: columns.map { $0.key })) }

  private func with(_ terms: QueryTerms) -> Self {
    var copy = self
    copy.terms = terms
    return copy
  }

  /// The same rows by one field, the least first.
  public func order<Value: SortKey>(by path: any KeyPath<Object, Value> & Sendable) -> Self {
    order(by: .ascending(path))
  }

  /// The same rows by one field, the least first, and by further columns among those that are equal in it.
  public func order<Value: SortKey>(
    by path: any KeyPath<Object, Value> & Sendable, _ others: IndexColumn<Object, Metadata>...
  ) -> Self {
    ordered(by: [.ascending(path)] + others)
  }

  /// The same rows by two fields, the least first.
  public func order<First: SortKey, Second: SortKey>(
    by first: any KeyPath<Object, First> & Sendable, _ second: any KeyPath<Object, Second> & Sendable
  ) -> Self {
    ordered(by: [.ascending(first), .ascending(second)])
  }

  /// The same rows by their keys, in the order of the keys' bytes or against it.
  public func orderByKey(descending: Bool = false) -> Self {
    with(terms.ordered(byKey: KeyColumn(Column(keysOf: Object.self, Metadata.self), isDescending: descending)))
  }

  /// The first `count` of these rows.
  public func limit(_ count: Int) -> Self { with(terms.limited(to: count)) }

  /// These rows without the first `count`. With a limit, the limit counts from there.
  public func offset(_ count: Int) -> Self { with(terms.offset(by: count)) }

  /// The same rows, of which none is found by reading all rows: then every result throws `IndexError.needsScan`.
  public func requireIndex() -> Self { with(terms.needingIndex()) }
}

/// What a query says, without the types of the rows.
struct QueryTerms: Sendable {
  private(set) var condition: ConditionNode
  private(set) var order: [KeyColumn] = []
  private(set) var limit: Int?
  private(set) var offset = 0
  private(set) var needsIndex = false

  init(condition: ConditionNode) { self.condition = condition }

  /// How many of `count` rows are looked at, from the first on, until the last that is wanted; the largest number there
  /// is where that is more.
  func wanted(of count: Int) -> Int {
    let (sum, isTooMuch) = (limit ?? count).addingReportingOverflow(offset)
    return isTooMuch ? .max : sum
  }

  /// Of rows in the query's order those that its limit and offset leave.
  func cut(_ rowIDs: [RowID]) -> [RowID] {
    if offset == 0, rowIDs.count <= limit ?? .max { return rowIDs }
    return Array(rowIDs.dropFirst(offset).prefix(limit ?? .max))
  }

  func narrowed(by node: ConditionNode) -> Self {
    var copy = self
    copy.condition = .both(condition, node)
    return copy
  }

  /// By the columns that have one value.
  func ordered(by columns: [KeyColumn]) -> Self {
    var copy = self
    copy.order = columns.filter { $0.column.id.kind == .value }
    return copy
  }

  /// By the rows' keys alone.
  func ordered(byKey key: KeyColumn) -> Self {
    var copy = self
    copy.order = [key]
    return copy
  }

  /// Whether the order is that of the keys; nil if it is another one.
  var keyOrder: KeyColumn? { order.count == 1 && order[0].column.id.half == .key ? order[0] : nil }

  func limited(to count: Int) -> Self {
    var copy = self
    copy.limit = min(limit ?? .max, max(0, count))
    return copy
  }

  func offset(by count: Int) -> Self {
    var copy = self
    copy.offset = max(0, count)
    return copy
  }

  func needingIndex() -> Self {
    var copy = self
    copy.needsIndex = true
    return copy
  }
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

extension TransactionReading {
  /// The rows of a query, in a write transaction as they are there.
  public func find<Object, Metadata>(_ query: RowQuery<Object, Metadata>) -> FoundRows<Object, Metadata> {
    FoundRows(rows(of: query.collection), query.terms)
  }
}
