// Finding the rows of a query, by their numbers.

internal import Quire

/// One query in one transaction.
struct SecondaryIndexQuery {
  let trees: SecondaryIndexTrees
  let query: BoundQuery
  let plan: SecondaryIndexPlan

  /// So many rows are looked up side by side.
  private static let batchCount = 256

  init(_ trees: SecondaryIndexTrees, _ query: BoundQuery) throws {
    self.trees = trees
    self.query = query
    plan = try SecondaryIndexPlanner(trees: trees).plan(query.condition)
  }

  /// How many rows are to be found at the most; nil for all.
  var wanted: Int? {
    query.limit.map { limit in
      let (sum, isTooLarge) = limit.addingReportingOverflow(query.offset)
      return isTooLarge ? .max : sum
    }
  }

  private func cut<Element>(_ found: [Element]) -> [Element] {
    assert(query.offset >= 0 && (query.limit ?? 0) >= 0, "fewer rows are wanted than none")
    let rest = found.dropFirst(query.offset)
    return Array(query.limit.map { rest.prefix($0) } ?? rest)
  }

  // MARK: Results

  /// The rows, in the query's order, and otherwise in that of their numbers. Rows that are equal in the query's order
  /// are in that of their numbers, too.
  func rowIDs() throws -> [RowID] {
    if query.limit == 0 { return [] }
    guard !query.order.isEmpty else {
      var found: [RowID] = []
      try forEachRow(plan) { rowID, _ in
        found.append(rowID)
        return found.count != wanted
      }
      return cut(found)
    }
    if let walk = try OrderedWalk(self) { return cut(try walk.rowIDs(wanted)) }
    var found: [QueryRow] = []
    try forEachRow(plan, needsValues: true) { _, row in
      found.append(row)
      return true
    }
    found.sort(by: isBefore)
    return cut(found).map { RowID($0.rowID) }
  }

  /// The number of the rows.
  func count() throws -> Int {
    var count = 0
    switch plan.source {
    case _ where !plan.tests.isEmpty:
      try forEachRow(plan) { _, _ in
        count += 1
        return count != wanted
      }
    case .union:
      try forEachRow(plan) { _, _ in
        count += 1
        return true
      }
    default: count = plan.count
    }
    return max(0, min(count - query.offset, query.limit ?? .max))
  }

  /// Calls `body` with the rows and their values, in the query's order.
  func forEachValues(_ body: (QueryRow) throws -> Bool) throws {
    if query.order.isEmpty, query.limit == nil, query.offset == 0 {
      return try forEachRow(plan, needsValues: true) { try body($1) }
    }
    try lookUp(try rowIDs(), []) { try body($1) }
  }

  /// Whether a row comes before another one in the query's order.
  func isBefore(_ one: QueryRow, _ two: QueryRow) -> Bool {
    for term in query.order {
      let order = term.column.value(one).compared(to: term.column.value(two), term.collation)
      if order != 0 { return (order < 0) != term.isDescending }
    }
    return one.rowID < two.rowID
  }

  // MARK: Sources

  /// Calls `body` with the rows of a plan, in the order of their numbers, until it returns false. Their values are
  /// there if they are needed.
  func forEachRow(
    _ plan: SecondaryIndexPlan, needsValues: Bool = false, _ body: (RowID, QueryRow) throws -> Bool
  ) throws {
    let needsValues = needsValues || !plan.tests.isEmpty
    switch plan.source {
    case .nothing: return
    case .all: try scan(RowID(.min), nil, plan.tests, needsValues, body)
    case .numbers(let ranges):
      for range in ranges {
        let isEnded = try !scan(RowID(range.lowerBound), RowID(range.upperBound), plan.tests, needsValues, body)
        if isEnded { return }
      }
    case .column(let column, let ranges):
      var found: [RowID] = []
      found.reserveCapacity(plan.count)
      for range in ranges.list {
        try trees.forEachEntry(of: column, in: range) { rowID, _ in
          found.append(rowID)
          return true
        }
      }
      assert(found.count <= plan.count, "a plan gives more rows than it has counted")
      try forEach(found.sorted(), plan.tests, needsValues, body)
    case .union(let plans):
      var found: Set<RowID> = []
      for plan in plans {
        try forEachRow(plan) { rowID, _ in
          found.insert(rowID)
          return true
        }
      }
      try forEach(found.sorted(), plan.tests, needsValues, body)
    }
  }

  private func forEach(
    _ rowIDs: [RowID], _ tests: [QueryExpression], _ needsValues: Bool, _ body: (RowID, QueryRow) throws -> Bool
  ) throws {
    if needsValues { return try lookUp(rowIDs, tests, body) }
    for rowID in rowIDs where try !body(rowID, .none) { return }
  }

  /// Calls `body` with the rows of some numbers that pass the tests, in the order of `rowIDs`, until it returns false.
  func lookUp(
    _ rowIDs: [RowID], _ tests: [QueryExpression], _ body: (RowID, QueryRow) throws -> Bool
  ) throws {
    var (start, goesOn) = (0, true)
    while goesOn, start < rowIDs.count {
      let batch = Array(rowIDs[start..<min(rowIDs.count, start + Self.batchCount)])
      start += batch.count
      try trees.rows.withValues(for: batch) { index, record in
        guard goesOn else { return }
        guard let record else { throw trees.damaged("row \(batch[index].rawValue) has entries, but no record") }
        let row = try trees.row(batch[index], record)
        if tests.allSatisfy({ $0.truth(row) == true }) { goesOn = try body(batch[index], row) }
      }
    }
  }

  /// Reads the rows of numbers from `first` to `last`. Returns whether `body` wants more.
  @discardableResult
  private func scan(
    _ first: RowID, _ last: RowID?, _ tests: [QueryExpression], _ needsValues: Bool,
    _ body: (RowID, QueryRow) throws -> Bool
  ) throws -> Bool {
    let cursor = try trees.rows.cursor()
    var isOnEntry = try cursor.seek(first)
    while isOnEntry, let rowID = cursor.key {
      if let last, rowID > last { return true }
      if needsValues {
        let row = try cursor.withEntry { try trees.row(rowID, $1) }
        if let row, tests.allSatisfy({ $0.truth(row) == true }), try !body(rowID, row) { return false }
      } else if try !body(rowID, .none) {
        return false
      }
      isOnEntry = try cursor.next()
    }
    return true
  }
}

extension SecondaryIndexTrees {
  /// Calls `body` with the row of each entry of a column in a range, and the key of its value, until it returns false.
  /// Returns whether it came to the end.
  @discardableResult
  func forEachEntry(
    of column: Int, in range: KeyRange, isReversed: Bool = false, _ body: (RowID, RawSpan) throws -> Bool
  ) throws -> Bool {
    let cursor = try entries[column].cursor()
    var isOnEntry: Bool
    if !isReversed {
      isOnEntry = try cursor.seek(range.lower)
    } else if let upper = range.upper, try cursor.seek(upper) {
      isOnEntry = try cursor.previous()
    } else {
      isOnEntry = try cursor.seekLast()
    }
    while isOnEntry {
      let goesOn = try cursor.withEntry { key, _ -> Bool? in
        if isReversed ? key.isBelow(range.lower) : range.upper.map({ !key.isBelow($0) }) ?? false { return nil }
        return try body(try rowID(key), key.extracting(first: key.byteCount - Self.rowIDByteCount))
      }
      guard let goesOn = goesOn ?? nil else { return true }
      guard goesOn else { return false }
      isOnEntry = isReversed ? try cursor.previous() : try cursor.next()
    }
    return true
  }
}

extension RawSpan {
  /// Whether the bytes come before `other`.
  fileprivate func isBelow(_ other: [UInt8]) -> Bool {
    unsafe withUnsafeBytes { unsafe $0.lexicographicallyPrecedes(other) }
  }
}
