// Finding the rows of a plan, by their numbers.

internal import QuireDatabase

/// Finds rows in one transaction.
struct RowFinder {
  let rows: any RowAccess
  let view: IndexView?
  let cost: QueryCost
  let selections: Selections

  /// For more rows no memory is taken in advance: what a file says of their number may be false.
  static var mostReserved: Int { 1 << 16 }
  /// So many rows are looked up side by side.
  static var batchCount: Int { 256 }

  /// The rows of a plan, in the order of their numbers, each once.
  ///
  /// - Parameter limit: so many are enough.
  func rowIDs(_ plan: RowPlan, limit: Int = .max) throws -> [RowID] {
    if case .scan = plan.source { return try scan(plan.tests, limit: limit) }
    if case .path(let path) = plan.source, path.isOnePoint, case .all = plan.tests {
      return try rowIDs(path, limit: limit)
    }
    return try filter(try rowIDs(plan.source), plan.tests)
  }

  private func rowIDs(_ source: RowSource) throws -> [RowID] {
    switch source {
    case .nothing: return []
    case .scan: return try scan(.all)
    case .path(let path): return try rowIDs(path)
    case .keys(let slices, _): return try rowIDs(slices)
    case .list(let list, _): return list.rowIDs
    case .union(let plans): return try plans.flatMap { try rowIDs($0) }.distinctInOrder()
    case .intersection(let sources):
      var common: [RowID]?
      for source in sources {
        if common?.isEmpty == true { return [] }
        let found = try rowIDs(source)
        common = common.map { Self.intersection($0, found) } ?? found
      }
      return common ?? []
    }
  }

  /// The rows of the entries in a path's spans. With a limit only where all entries are of one value.
  private func rowIDs(_ path: AccessPath, limit: Int = .max) throws -> [RowID] {
    assert(path.isCounted, "a plan counts the path that it reads")
    cost.entries += min(path.count, limit)
    return try view?.rowIDs(path, limit: limit) ?? []
  }

  /// The rows whose keys are in some slices.
  private func rowIDs(_ slices: [KeySlice]) throws -> [RowID] {
    let found = try slices.flatMap { try rows.rowIDs($0) }
    cost.entries += found.count
    return found.distinctInOrder()
  }

  private static func intersection(_ left: [RowID], _ right: [RowID]) -> [RowID] {
    assert(left.areDistinctInOrder && right.areDistinctInOrder, "rows that are to be compared are out of order")
    var common: [RowID] = []
    var (one, two) = (0, 0)
    while one < left.count, two < right.count {
      if left[one] == right[two] {
        common.append(left[one])
        one += 1
        two += 1
      } else if left[one] < right[two] {
        one += 1
      } else {
        two += 1
      }
    }
    return common
  }

  // MARK: Testing

  /// The rows of all that satisfy a condition; each is read unless records tell.
  private func scan(_ tests: ConditionNode, limit: Int = .max) throws -> [RowID] {
    if let view, !tests.hasPart(where: \.isSelection), let test = view.test(tests) {
      cost.rows += rows.count
      var found: [RowID] = []
      try scan(view, test) { found.append($0) }
      return found
    }
    // What keys and selections tell is asked first, without the rows.
    if tests.hasPart(where: { $0.asksKey || $0.isSelection || $0.isAll }) {
      return try filter(try rows.allRowIDs().distinctInOrder(), tests)
    }
    cost.rows += rows.count
    return try rows.scan(tests, limit: limit)
  }

  /// Calls `body` with the rows of all records that satisfy a test, in the order of their numbers.
  private func scan(_ view: IndexView, _ test: RecordTest, _ body: (RowID) -> Void) throws {
    try view.trees.records.forEach(from: nil) { rowID, bytes in
      if try view.withRecord(rowID, bytes, { test.isTrue($0, of: rowID) }) { body(rowID) }
      return true
    }
  }

  /// How many rows satisfy a condition, of all; nil if records do not tell.
  func countByRecords(_ tests: ConditionNode) throws -> Int? {
    guard let view, let test = view.test(tests) else { return nil }
    cost.rows += rows.count
    var count = 0
    try scan(view, test) { _ in count += 1 }
    return count
  }

  /// Those of the rows that satisfy a condition, in the order given.
  func filter(_ rowIDs: [RowID], _ tests: ConditionNode) throws -> [RowID] {
    try FinderFilter(self, tests).rowIDs(among: rowIDs)
  }

  // MARK: Sorting

  /// The rows in an order; those that are equal in it in the order of their numbers.
  func sort(_ rowIDs: [RowID], _ order: [KeyColumn]) throws -> [RowID] {
    cost.rows += rowIDs.count
    if order.count == 1, order[0].column.id.half == .key {
      let places = try rows.places(of: rowIDs).sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
      return order[0].isDescending ? places.reversed().map(\.rowID) : places.map(\.rowID)
    }
    var keyed: [(key: [UInt8], rowID: RowID)] = []
    keyed.reserveCapacity(rowIDs.count)
    guard let view, view.tells(order) else {
      try rows.forEachOrderKey(rowIDs, order) { keyed.append(($1, $0)) }
      return Self.sorted(keyed)
    }
    var start = 0
    while start < rowIDs.count {
      let batch = Array(rowIDs[start..<min(rowIDs.count, start + Self.batchCount)])
      start += batch.count
      try view.trees.records.withValues(for: batch) { index, bytes in
        let key = try view.withRecord(batch[index], bytes) { record in
          OrderKey.bytes(order) { view.value($0.id, record) }
        }
        keyed.append((key, batch[index]))
      }
    }
    return Self.sorted(keyed)
  }

  private static func sorted(_ keyed: [(key: [UInt8], rowID: RowID)]) -> [RowID] {
    keyed.sorted { left, right in
      if left.key == right.key { return left.rowID < right.rowID }
      return left.key.precedes(right.key)
    }.map(\.rowID)
  }
}

/// A condition, tested on the rows of one batch after the other.
final class FinderFilter {
  /// What tells whether rows satisfy a condition on their fields.
  private enum Test {
    case none
    case records(IndexView, RecordTest)
    case rows(any RowFilter)
  }

  private let finder: RowFinder
  private let tests: ConditionNode
  /// Whether rows of selections stand in the condition itself, which are looked up for each batch.
  private let dependsOnBatch: Bool
  private var known: Test?

  init(_ finder: RowFinder, _ tests: ConditionNode) {
    (self.finder, self.tests) = (finder, tests)
    dependsOnBatch = tests.conjuncts.contains { !$0.isSelection && $0.hasPart(where: \.isSelection) }
  }

  /// Those of the rows that satisfy the condition, in the order given.
  func rowIDs(among rowIDs: [RowID]) throws -> [RowID] {
    let (rowIDs, rest) = try finder.selections.filter(rowIDs, tests)
    let test = try dependsOnBatch ? test(rest) : known ?? test(rest)
    known = test
    if case .none = test { return rowIDs }
    finder.cost.rows += rowIDs.count
    switch test {
    case .none: return rowIDs
    case .rows(let filter): return try filter.rowIDs(among: rowIDs)
    case .records(let view, let test): return try self.rowIDs(among: rowIDs, view, test)
    }
  }

  private func test(_ rest: ConditionNode) throws -> Test {
    if case .all = rest { return .none }
    if let view = finder.view, let test = view.test(rest) { return .records(view, test) }
    return .rows(try finder.rows.filter(rest))
  }

  private func rowIDs(among rowIDs: [RowID], _ view: IndexView, _ test: RecordTest) throws -> [RowID] {
    var found: [RowID] = []
    var start = 0
    while start < rowIDs.count {
      let batch = Array(rowIDs[start..<min(rowIDs.count, start + RowFinder.batchCount)])
      start += batch.count
      try view.trees.records.withValues(for: batch) { index, bytes in
        let rowID = batch[index]
        if try view.withRecord(rowID, bytes, { test.isTrue($0, of: rowID) }) { found.append(rowID) }
      }
    }
    return found
  }
}

/// A condition on the fields of rows, tested on the rows themselves.
protocol RowFilter {
  /// Those of some rows that satisfy the condition, in the order given.
  func rowIDs(among rowIDs: [RowID]) throws -> [RowID]
}

/// The rows of a collection, for what only they can tell.
protocol RowAccess: PlaceAccess {
  /// The number of rows.
  var count: Int { get }
  /// The numbers of all rows.
  func allRowIDs() throws -> [RowID]
  /// All rows that satisfy a condition, in the order of their numbers; so many as the limit are enough.
  func scan(_ tests: ConditionNode, limit: Int) throws -> [RowID]
  /// What tells which rows satisfy a condition.
  func filter(_ tests: ConditionNode) throws -> any RowFilter
  /// Calls `body` with some rows, in the order given, and the bytes by which they stand in an order. A row is decoded
  /// unless its fields tell.
  func forEachOrderKey(_ rowIDs: [RowID], _ order: [KeyColumn], _ body: (RowID, [UInt8]) -> Void) throws
}

/// The rows of a collection of certain types.
struct TypedRows<Object: Sendable, Metadata: Sendable>: RowAccess {
  let rows: ReadableRows<Object, Metadata>

  var count: Int { rows.count }

  func allRowIDs() throws -> [RowID] { try rows.rowIDs }

  func scan(_ tests: ConditionNode, limit: Int) throws -> [RowID] {
    try StoredRowTest(rows, tests).rowIDs(limit: limit)
  }

  func filter(_ tests: ConditionNode) throws -> any RowFilter { StoredRowTest(rows, tests) }

  func forEachOrderKey(_ rowIDs: [RowID], _ order: [KeyColumn], _ body: (RowID, [UInt8]) -> Void) throws {
    try StoredOrder(rows, order).forEachKey(rowIDs, body)
  }
}
