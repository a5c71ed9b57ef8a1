// The rows that a query finds.

public import QuireDatabase

/// The rows of a collection that satisfy a condition: a query, asked anew with each call.
///
/// ```swift
/// let found = tx[.songs].find { $0.year == 1990 && $0.rating >= 3.5 }.order(by: .descending(\.rating)).limit(10)
/// for row in try found.all { print(row.key, row.object.title) }
/// ```
///
/// Without an order rows come in the order of their numbers, that is, in which they were stored first; rows that are
/// equal in an order too. Which indexes there are changes what a query costs, and never what it finds.
///
/// For the thread and the life of its transaction. All calls may throw what reading rows does, what a closure of the
/// condition throws, and `IndexError`.
public struct FoundRows<Object: Sendable, Metadata: Sendable> {
  let rows: ReadableRows<Object, Metadata>
  let condition: Condition<Object, Metadata>.Node
  private(set) var order: [IndexColumn<Object, Metadata>] = []
  private(set) var limit: Int?
  private(set) var offset = 0
  private(set) var needsIndex = false
  /// For tests: what to choose where there is a choice.
  var choice = PlanChoice.best

  init(_ rows: ReadableRows<Object, Metadata>, _ condition: Condition<Object, Metadata>) {
    self.rows = rows
    self.condition = condition.node
  }

  // MARK: The query

  /// The same rows in an order: of the first column, then of the second among those that are equal in the first, and so
  /// on. Columns of lists give no order, and are left out.
  public func order(by columns: IndexColumn<Object, Metadata>...) -> Self { ordered(by: columns) }

  func ordered(by columns: [IndexColumn<Object, Metadata>]) -> Self {
    var copy = self
    copy.order = columns.filter { $0.column.id.kind == .value }
    return copy
  }

  /// The same rows by one field, the least first.
  public func order<Value: SortKey>(by path: any KeyPath<Object, Value> & Sendable) -> Self {
    order(by: .ascending(path))
  }

  /// The first `count` of these rows.
  public func limit(_ count: Int) -> Self {
    var copy = self
    copy.limit = Swift.min(limit ?? .max, Swift.max(0, count))
    return copy
  }

  /// These rows without the first `count`. With a limit, the limit counts from there.
  public func offset(_ count: Int) -> Self {
    var copy = self
    copy.offset = Swift.max(0, count)
    return copy
  }

  /// The same query, which throws `IndexError.needsScan` rather than read all rows of the collection.
  public func requireIndex() -> Self {
    var copy = self
    copy.needsIndex = true
    return copy
  }

  // MARK: Results

  /// How many rows there are. Where indexes answer the whole condition, O(log n) for each range that it has.
  public var count: Int {
    get throws {
      let run = try QueryRun(self)
      let found = try run.count()
      return Swift.max(0, Swift.min(found - offset, limit ?? .max))
    }
  }

  /// Whether there is no row.
  public var isEmpty: Bool { get throws { try limit(1).rowIDs.isEmpty } }

  /// The numbers of the rows.
  public var rowIDs: [RowID] { get throws { try QueryRun(self).rowIDs() } }

  /// The keys of the rows. Decodes none, unless the condition needs it.
  public var keys: [String] { get throws { try rows.keys(withIDs: rowIDs) } }

  /// The objects of the rows.
  public var objects: [Object] { get throws { try rows.objects(withIDs: rowIDs) } }

  /// The rows, all at once. For many of them see `forEach`.
  public var all: [Row<Object, Metadata>] { get throws { try rows.rows(withIDs: rowIDs) } }

  /// The first row.
  public var first: Row<Object, Metadata>? { get throws { try limit(1).all.first } }

  /// Calls `body` with one row after the other, a few hundred fetched ahead. `body` may change rows: those that are
  /// still to come are shown as they are then, and left out if they are gone.
  public func forEach(_ body: (Row<Object, Metadata>) throws -> Void) throws {
    let rowIDs = try rowIDs
    var start = 0
    while start < rowIDs.count {
      let batch = rowIDs[start..<Swift.min(rowIDs.count, start + 256)]
      start += batch.count
      for row in try rows.rows(withIDs: batch) { try body(row) }
    }
  }

  /// How the query is answered, with what was counted for it. Reads no row.
  public var plan: QueryPlan { get throws { try QueryRun(self).description } }

  // MARK: Values

  /// One field of each row.
  public func values<Value>(_ path: KeyPath<Object, Value>) throws -> [Value] {
    try objects.map { $0[keyPath: path] }
  }

  /// The least value of a field; nil if there is no row.
  public func min<Value: SortKey>(_ path: any KeyPath<Object, Value> & Sendable) throws -> Value? {
    try alone(by: .ascending(path)).first?.object[keyPath: path]
  }

  /// The greatest value of a field; nil if there is no row.
  public func max<Value: SortKey>(_ path: any KeyPath<Object, Value> & Sendable) throws -> Value? {
    try alone(by: .descending(path)).first?.object[keyPath: path]
  }

  private func alone(by column: IndexColumn<Object, Metadata>) -> Self {
    limit == nil && offset == 0 ? order(by: column) : self
  }

  /// The sum of a field.
  public func sum<Value: AdditiveArithmetic>(_ path: KeyPath<Object, Value>) throws -> Value {
    try objects.reduce(.zero) { $0 + $1[keyPath: path] }
  }

  /// The mean of a field; nil if there is no row.
  public func average<Value: BinaryInteger>(_ path: KeyPath<Object, Value>) throws -> Double? {
    let objects = try objects
    return objects.isEmpty ? nil : objects.reduce(0) { $0 + Double($1[keyPath: path]) } / Double(objects.count)
  }

  /// The mean of a field; nil if there is no row.
  public func average<Value: BinaryFloatingPoint>(_ path: KeyPath<Object, Value>) throws -> Value? {
    let objects = try objects
    return objects.isEmpty ? nil : objects.reduce(0) { $0 + $1[keyPath: path] } / Value(objects.count)
  }

  /// The different values of a field, in order.
  public func distinct<Value: SortKey>(_ path: any KeyPath<Object, Value> & Sendable) throws -> [Value] {
    try groupCounts(by: path).map(\.value)
  }

  /// The different values of a field, in order, with the number of rows of each.
  public func groupCounts<Value: SortKey>(
    by path: any KeyPath<Object, Value> & Sendable
  ) throws -> [(value: Value, count: Int)] {
    var groups: [[UInt8]: (value: Value, count: Int)] = [:]
    for object in try objects {
      let value = object[keyPath: path]
      groups[value.sortBytes, default: (value, 0)].count += 1
    }
    return groups.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map(\.value)
  }
}
