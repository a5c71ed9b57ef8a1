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
  private static var batchCount: Int { 256 }

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
    let (rowIDs, tests) = try selections.filter(rowIDs, tests)
    if case .all = tests { return rowIDs }
    cost.rows += rowIDs.count
    guard let view, let test = view.test(tests) else { return try rows.filter(rowIDs, tests) }
    var found: [RowID] = []
    var start = 0
    while start < rowIDs.count {
      let batch = Array(rowIDs[start..<min(rowIDs.count, start + Self.batchCount)])
      start += batch.count
      try view.trees.records.withValues(for: batch) { index, bytes in
        let rowID = batch[index]
        if try view.withRecord(rowID, bytes, { test.isTrue($0, of: rowID) }) { found.append(rowID) }
      }
    }
    return found
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
    var start = 0
    while start < rowIDs.count {
      let batch = Array(rowIDs[start..<min(rowIDs.count, start + Self.batchCount)])
      start += batch.count
      guard let view, view.tells(order) else {
        keyed += try rows.orderKeys(batch, order)
        continue
      }
      try view.trees.records.withValues(for: batch) { index, bytes in
        let key = try view.withRecord(batch[index], bytes) { record in
          OrderKey.bytes(order) { view.value($0.id, record) }
        }
        keyed.append((key, batch[index]))
      }
    }
    keyed.sort { left, right in
      if left.key == right.key { return left.rowID < right.rowID }
      return left.key.lexicographicallyPrecedes(right.key)
    }
    return keyed.map(\.rowID)
  }
}

/// The rows of a collection, for what only they can tell.
protocol RowAccess: PlaceAccess {
  /// The number of rows.
  var count: Int { get }
  /// The numbers of all rows.
  func allRowIDs() throws -> [RowID]
  /// All rows that satisfy a condition, in the order of their numbers; so many as the limit are enough.
  func scan(_ tests: ConditionNode, limit: Int) throws -> [RowID]
  /// Those of some rows that satisfy a condition, in the order given.
  func filter(_ rowIDs: [RowID], _ tests: ConditionNode) throws -> [RowID]
  /// For some rows the bytes by which they stand in an order; each is decoded.
  func orderKeys(_ rowIDs: [RowID], _ order: [KeyColumn]) throws -> [(key: [UInt8], rowID: RowID)]
}

/// The rows of a collection of certain types.
struct TypedRows<Object: Sendable, Metadata: Sendable>: RowAccess {
  let rows: ReadableRows<Object, Metadata>

  var count: Int { rows.count }

  func allRowIDs() throws -> [RowID] { try rows.rowIDs }

  func scan(_ tests: ConditionNode, limit: Int) throws -> [RowID] {
    try StoredRowTest(rows, tests).rowIDs(limit: limit)
  }

  func filter(_ rowIDs: [RowID], _ tests: ConditionNode) throws -> [RowID] {
    try StoredRowTest(rows, tests).rowIDs(among: rowIDs)
  }

  func orderKeys(_ rowIDs: [RowID], _ order: [KeyColumn]) throws -> [(key: [UInt8], rowID: RowID)] {
    try rows.rows(withIDs: rowIDs).map { row in
      (try OrderKey.bytes(order) { try $0.value(of: row.object, row.metadata) }, row.rowID)
    }
  }
}
