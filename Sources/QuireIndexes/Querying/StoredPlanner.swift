// Plans for collections whose types a tool does not know.

public import QuireDatabase

/// Plans queries over what is stored of a collection's indexes: what the app's own queries would be answered by once
/// it has registered them.
///
/// For the thread and the life of its transaction.
public struct StoredPlanner {
  /// The entries of one index that some parts of a condition count.
  public struct Count: Hashable, Sendable {
    /// The name of the index.
    public let index: String
    /// The columns that the parts are about.
    public let columns: [String]
    /// The number of entries.
    public let entryCount: Int
  }

  /// The name of the collection.
  public let collection: String
  /// What is stored of its indexes; nil if there are none.
  public let indexes: StoredIndexes?
  /// The number of rows of the collection.
  public var rowCount: Int { rows.count }

  /// So many names are told to someone who has none of them right.
  private static let toldNames = 20

  private let rows: StoredRows
  private let view: IndexView?
  private let columns: [(name: String, column: StoredColumn)]

  /// Reads what is stored of the indexes of a collection.
  ///
  /// - Throws: `StoredConditionError` if there is no such collection; `IndexError.damaged` if what is stored about its
  ///   indexes breaks the format; what reading does.
  public init(_ collection: String, in tx: ReadTransaction) throws {
    self.collection = collection
    let stored = try tx.storedExtensions().first {
      $0.status.kind == IndexTrees.kind && $0.formatVersion == IndexTrees.formatVersion
        && $0.collections?.contains { $0.utf8.elementsEqual(collection.utf8) } == true
    }
    guard let stored else {
      guard tx.collections.contains(where: { $0.utf8.elementsEqual(collection.utf8) }) else {
        let known = tx.collections.prefix(Self.toldNames).map { "“\($0)”" }.joined(separator: ", ")
        let advice = known.isEmpty ? "The database is empty" : "Name one of \(known)"
        throw StoredConditionError("There is no collection “\(collection)”. \(advice).")
      }
      (indexes, view, columns) = (nil, nil, [])
      rows = StoredRows(collection, in: tx, count: nil)
      return
    }
    let list = try StoredIndexes(stored)
    indexes = list
    // Indexes that are out of date, or being built, have no record of some rows.
    rows = StoredRows(collection, in: tx, count: list.status.state == .ready ? list.rowCount : nil)
    let catalog = try IndexTrees.catalog(IndexTrees.catalogBytes(stored.store), of: stored.store.name)
    columns = Self.columns(list)
    view = list.status.state == .stale ? nil : try IndexView(stored: catalog, stored.store, collection)
  }

  /// The columns by all names that they go by: that of the field first, then that of an index that has no other, and
  /// of an index and the number of the column in it.
  private static func columns(_ list: StoredIndexes) -> [(name: String, column: StoredColumn)] {
    let all = list.indexes.flatMap { index in
      index.columns.enumerated().map { number, column in (index: index, number: number + 1, column: column) }
    }
    // A field that one index has whole, and another by its elements: the value of the field is meant.
    let fields = all.filter { !$0.column.hasElements } + all.filter { $0.column.hasElements }
    return fields.compactMap { field in field.column.name.map { ($0, field.column) } }
      + all.compactMap { $0.index.columns.count == 1 ? ($0.index.name, $0.column) : nil }
      + all.map { ("\($0.index.name).\($0.number)", $0.column) }
  }

  // MARK: Conditions

  /// The names that columns go by, each column's best one.
  public var columnNames: [String] {
    var known: Set<ColumnID> = []
    return columns.compactMap { name, column in known.insert(column.column.id).inserted ? name : nil }
  }

  /// The column that goes by a name; a field that no index has if there is none.
  public func column(named name: String) -> StoredColumn {
    columns.first { $0.name.utf8.elementsEqual(name.utf8) }?.column ?? StoredColumn(unknown: name)
  }

  /// The indexes that hold some of the rows, of which the file does not say which: whether they serve a condition
  /// cannot be told.
  public func partialIndexes(over column: StoredColumn) -> [String] {
    guard let view else { return [] }
    return view.list.indexes.filter { index in
      !index.holdsAll && index.columns.contains { $0.column.id == column.column.id }
    }.map(\.name)
  }

  // MARK: Plans

  /// How a query would be answered; what `FoundRows.plan` says of the same query.
  ///
  /// - Parameters:
  ///   - condition: over columns.
  ///   - order: the columns of the order, and whether the greatest comes first.
  ///   - limit: how many rows at the most; nil for all.
  ///   - offset: so many are left out at the beginning.
  public func plan(
    _ condition: StoredCondition, order: [(column: StoredColumn, isDescending: Bool)] = [], limit: Int? = nil,
    offset: Int = 0
  ) throws -> QueryPlan {
    var terms = QueryTerms(condition: condition.node).offset(by: offset)
    terms = terms.ordered(by: order.map { KeyColumn($0.column.column, isDescending: $0.isDescending) })
    if let limit { terms = terms.limited(to: limit) }
    return try QueryRun(terms, .best, view, rows, rows.transaction, collection, .max).description
  }

  /// How many entries of each index the parts of a condition count, those of alternatives one behind the other.
  public func counts(_ condition: StoredCondition) throws -> [Count] {
    guard let view else { return [] }
    var found: [Count] = []
    try count(condition.node, view, &found)
    return found
  }

  private func count(_ node: ConditionNode, _ view: IndexView, _ found: inout [Count]) throws {
    if case .or(let nodes) = node {
      for node in nodes { try count(node, view, &found) }
      return
    }
    let conjuncts = node.conjuncts
    for path in try view.paths(node, orders: false) where !path.answered.isEmpty {
      let names = path.answered.sorted().compactMap { conjuncts[$0].comparedColumn.flatMap(name) }
      let one = Count(index: view.names[path.index], columns: names, entryCount: path.count)
      if !found.contains(one) { found.append(one) }
    }
    for case .or(let nodes) in conjuncts {
      for node in nodes { try count(node, view, &found) }
    }
  }

  private func name(_ id: ColumnID) -> String? { columns.first { $0.column.column.id == id }?.name }
}

extension ConditionNode {
  /// The column that alone decides; nil if there is none.
  fileprivate var comparedColumn: ColumnID? {
    switch self {
    case .value(let column, _), .elements(let column, _, _): column.id
    default: nil
    }
  }
}

/// The rows of a collection of unknown types: a plan asks for their number, also of those with certain keys, and for
/// nothing else.
private struct StoredRows: RowAccess {
  let transaction: ReadTransaction
  let collection: String
  let count: Int
  /// Whatever the types are: no row is decoded.
  private let rows: RawRows

  /// - Parameter count: the number of rows; nil if it is to be looked up.
  init(_ collection: String, in tx: ReadTransaction, count: Int?) {
    (transaction, self.collection) = (tx, collection)
    rows = tx.rawRows(collection)
    self.count = count ?? rows.count
  }

  private func unknown() -> IndexError { .unplannable("the types of “\(collection)” are not known") }

  func allRowIDs() throws -> [RowID] { throw unknown() }
  func scan(_ tests: ConditionNode, limit: Int) throws -> [RowID] { throw unknown() }
  func filter(_ tests: ConditionNode) throws -> any RowFilter { throw unknown() }
  func forEachOrderKey(_ rowIDs: [RowID], _ order: [KeyColumn], _ body: (RowID, [UInt8]) -> Void) throws {
    throw unknown()
  }
  func count(_ slice: KeySlice) throws -> Int {
    if let key = slice.point { return try rows.contains(key) ? 1 : 0 }
    return try rows.count(slice)
  }
  func rowIDs(_ slice: KeySlice, _ part: KeySlicePart) throws -> [RowID] { throw unknown() }
  func places(of rowIDs: [RowID]) throws -> [(rowID: RowID, key: String)] { throw unknown() }
}
