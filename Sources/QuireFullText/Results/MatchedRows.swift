// The rows that a search finds.

public import QuireDatabase
public import QuireIndexes

/// The rows of a collection in which a text is found: a search, run anew with each call.
///
/// ```swift
/// let found = try tx[.songs].search("\"night train\" OR express*")
/// print(try found.count)
/// for hit in found.ranked().limit(10) { print(hit.score, hit.object.title) }
/// for row in found.filtered({ $0.year > 1990 }) { print(row.key) }
/// ```
///
/// As a sequence, and in lists, rows come in the order of their numbers, that is, in which they were stored first. For
/// other orders see ``ranked()`` and `order(by:)`.
///
/// For the thread and the life of its transaction. All calls may throw what reading rows does; `FullTextError.notReady`
/// while the full text is built, `unknownField`, `needsPositions` and `damaged`; `CancellationError` if the task that
/// searches was cancelled; and what closures of conditions throw.
public struct MatchedRows<Object: Sendable, Metadata: Sendable> {
  /// What is searched for.
  public let expression: SearchExpression
  let rows: ReadableRows<Object, Metadata>
  let reader: FullTextReader<Object, Metadata>
  private(set) var condition: Condition<Object, Metadata>?

  init(
    _ expression: SearchExpression, _ rows: ReadableRows<Object, Metadata>,
    _ reader: FullTextReader<Object, Metadata>
  ) {
    (self.expression, self.rows, self.reader) = (expression, rows, reader)
  }

  // MARK: The search

  /// Those of the rows whose fields satisfy a condition, too. The condition is tested inside of the search: what is
  /// ranked, limited and counted afterwards are rows that satisfy it.
  ///
  /// Where indexes find the condition's rows sooner than each row that has the text could be tested, they do.
  public func filtered(
    _ condition: (Fields<Object, Metadata>) throws -> Condition<Object, Metadata>
  ) rethrows -> Self {
    filtered(by: try condition(Fields()))
  }

  /// Those of the rows that satisfy a condition, too.
  public func filtered(by condition: Condition<Object, Metadata>) -> Self {
    var copy = self
    copy.condition = self.condition.map { $0 && condition } ?? condition
    return copy
  }

  /// The rows by how well they fit, the best one first.
  public func ranked() -> RankedRows<Object, Metadata> { RankedRows(self) }

  /// The search as it is at the moment.
  func run() throws -> SearchRun {
    let trees = try reader.trees()
    return run(trees, try ExpressionResolver(trees.layout).resolve(expression))
  }

  private func run(_ trees: FullTextTrees, _ expression: TermExpression) -> SearchRun {
    let rows = rows
    let found = condition.map { rows.find($0) }
    let filter = found.map { found in
      RowFilter(
        readCount: { try found.readCount(upTo: $0) }, rowIDs: { try found.rowIDs.sorted() },
        among: { try found.rowIDs(among: $0) })
    }
    return SearchRun(trees, expression, filter: filter) { try rows.rowIDs.sorted() }
  }

  // MARK: Results

  /// How many rows there are. Of a search for one word, O(log n); of others, without reading a row.
  public var count: Int {
    get throws {
      let trees = try reader.trees()
      let expression = try ExpressionResolver(trees.layout).resolve(expression)
      if condition == nil, let term = expression.singleTerm(of: trees.layout.form) {
        return try trees.rowCount(of: term)
      }
      return try run(trees, expression).count()
    }
  }

  /// Whether there is no row.
  public var isEmpty: Bool {
    get throws {
      var batch: [RowID] = []
      try run().rows().fill(&batch, from: RowID(.min))
      return batch.isEmpty
    }
  }

  /// The numbers of the rows, in order.
  public var rowIDs: [RowID] { get throws { try run().rows().rowIDs() } }

  /// Those of some rows that are found, in the order of their numbers: without finding the others.
  public func rowIDs(among candidates: some Sequence<RowID>) throws -> [RowID] {
    try run().rowIDs(among: Array(candidates))
  }

  /// The keys of the rows. Decodes none, unless a condition needs it.
  public var keys: [String] { get throws { try rows.keys(withIDs: rowIDs) } }

  /// The objects of the rows.
  public var objects: [Object] { get throws { try rows.objects(withIDs: rowIDs) } }

  /// The rows, all at once.
  public var all: [Row<Object, Metadata>] { get throws { try rows.rows(withIDs: rowIDs) } }

  /// The first row.
  public var first: Row<Object, Metadata>? {
    get throws {
      var batch: [RowID] = []
      try run().rows().fill(&batch, from: RowID(.min))
      return try rows.rows(withIDs: batch.prefix(1)).first
    }
  }

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
}

extension MatchedRows: Sequence {
  /// Steps through the rows, a few hundred fetched ahead. A step cannot throw: an error ends the loop, and is thrown by
  /// the transaction's next call, at the latest at its end.
  public struct Iterator: IteratorProtocol {
    private let rows: ReadableRows<Object, Metadata>
    private let store: ExtensionStore
    private var rowIDs: ArraySlice<RowID>
    private var fetched: ArraySlice<Row<Object, Metadata>> = []

    init(_ rows: ReadableRows<Object, Metadata>, _ store: ExtensionStore, _ rowIDs: [RowID]) {
      (self.rows, self.store, self.rowIDs) = (rows, store, rowIDs[...])
    }

    /// The next row; nil behind the last one, and after an error.
    public mutating func next() -> Row<Object, Metadata>? {
      while fetched.isEmpty, !rowIDs.isEmpty {
        let batch = rowIDs.prefix(256)
        rowIDs = rowIDs.dropFirst(256)
        fetched = store.noting([]) { try rows.rows(withIDs: batch) }[...]
      }
      return fetched.popFirst()
    }
  }

  public func makeIterator() -> Iterator {
    Iterator(rows, reader.stored.store, reader.stored.store.noting([]) { try rowIDs })
  }
}
