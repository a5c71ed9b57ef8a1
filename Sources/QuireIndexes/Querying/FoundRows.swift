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
///
/// The guide is <doc:FindingRows>.
public struct FoundRows<Object: Sendable, Metadata: Sendable> {
  let rows: ReadableRows<Object, Metadata>
  private(set) var terms: QueryTerms
  /// For tests: what to choose where there is a choice.
  var choice = PlanChoice.best

  init(_ rows: ReadableRows<Object, Metadata>, _ terms: QueryTerms) {
    self.rows = rows
    self.terms = terms
    rows.readTransaction.noteOpened(rows.collectionName)
  }

  var condition: ConditionNode { terms.condition }
  var limit: Int? { terms.limit }
  var offset: Int { terms.offset }

  /// The collection that is asked.
  public var collection: RowCollection<Object, Metadata> { rows.collection }

  // MARK: The query

  private func with(_ terms: QueryTerms) -> Self {
    var copy = self
    copy.terms = terms
    return copy
  }

  /// The same rows in an order: of the first column, then of the second among those that are equal in the first, and so
  /// on. Columns of lists give no order, and are left out.
  public func order(by columns: IndexColumn<Object, Metadata>...) -> Self { ordered(by: columns) }

  func ordered(by columns: [IndexColumn<Object, Metadata>]) -> Self { with(terms.ordered(by: columns.map { $0.key })) }

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

  /// The same rows by their keys, in the order of the keys' bytes or against it. All rows, and ranges of keys, are
  /// walked in that order; others are found first, and their keys read.
  public func orderByKey(descending: Bool = false) -> Self {
    with(terms.ordered(byKey: KeyColumn(Column(keysOf: Object.self, Metadata.self), isDescending: descending)))
  }

  /// The first `count` of these rows.
  public func limit(_ count: Int) -> Self { with(terms.limited(to: count)) }

  /// These rows without the first `count`. With a limit, the limit counts from there.
  public func offset(_ count: Int) -> Self { with(terms.offset(by: count)) }

  /// The same rows, of which none is found by reading all rows: then every result throws `IndexError.needsScan`.
  public func requireIndex() -> Self { with(terms.needingIndex()) }

  // MARK: Results

  /// How many rows there are. Where indexes answer the whole condition, O(log n) for each range that it has.
  public var count: Int {
    get throws {
      let found = try QueryRun.count(of: self)
      return Swift.max(0, Swift.min(found - offset, limit ?? .max))
    }
  }

  /// Whether there is no row.
  public var isEmpty: Bool { get throws { try limit(1).rowIDs.isEmpty } }

  /// The numbers of the rows.
  public var rowIDs: [RowID] { get throws { try QueryRun.rowIDs(of: self) } }

  /// Those of some rows that are among these rows, in the order of the query. Without a limit and an offset the
  /// cheaper of two ways: by testing the candidates, or by looking them up among what indexes find.
  public func rowIDs(among candidates: some Sequence<RowID>) throws -> [RowID] {
    let list = RowIDList(try rows.places(of: candidates).map(\.rowID))
    if limit == nil, offset == 0 { return try with(terms.narrowed(by: .listed(list, isNegated: false))).rowIDs }
    return try rowIDs.filter { list.contains($0) }
  }

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

  /// How many entries and rows are read to find the rows, no more than this; nil if that is more than `limit`. Reads
  /// itself about as much as the limit, if the condition has selections, and nothing otherwise. For selections that are
  /// made of queries.
  public func readCount(upTo limit: Int) throws -> Int? {
    let count = try QueryRun(self, readLimit: limit).description.readCount
    return count <= limit ? count : nil
  }

  /// How the query is answered, with what was counted for it. Reads no row, but those of selections that are found
  /// for the plan.
  public var plan: QueryPlan { get throws { try QueryRun(self).description } }
}
