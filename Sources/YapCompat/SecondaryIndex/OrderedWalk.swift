// Finding rows in the order of a column, along its entries.

internal import Quire

/// The rows of a query along the entries of the column that it is ordered by.
struct OrderedWalk {
  private let query: SecondaryIndexQuery
  private let column: Int
  private let ranges: KeyRanges
  private let tests: [QueryExpression]

  /// So many rows are gathered before they are looked up.
  private static let batchCount = 64

  /// Nil if the query has another order, or if gathering its rows and sorting them costs less.
  init?(_ query: SecondaryIndexQuery) throws {
    guard let term = query.query.order.first, case .column(let column) = term.column, term.collation == .binary else {
      return nil
    }
    self.query = query
    self.column = column
    switch query.plan.source {
    case .column(column, let ranges): (self.ranges, tests) = (ranges, query.plan.tests)
    case .all:
      (ranges, tests) = (.all, query.plan.tests)
      // Without tests no record is read. With them a row is looked up for each entry until there are enough.
      guard try tests.isEmpty || query.walksFewer(than: query.plan.count) else { return nil }
    default:
      // The whole condition is asked of the rows in their order, as long as it takes.
      guard try query.walksFewer(than: query.plan.count) else { return nil }
      (ranges, tests) = (.all, query.query.condition?.conjuncts ?? [])
    }
  }

  /// The first `wanted` rows, or all.
  func rowIDs(_ wanted: Int?) throws -> [RowID] {
    let isReversed = query.query.order[0].isDescending
    var found: [RowID] = []
    var batch: [(group: Int, rowID: RowID)] = []
    var (group, last): (Int, [UInt8]?) = (0, nil)
    var isCut = false
    for range in isReversed ? ranges.list.reversed() : ranges.list {
      let goesOn = try query.trees.forEachEntry(of: column, in: range, isReversed: isReversed) { rowID, value in
        if last.map({ !value.hasBytes($0) }) ?? true {
          if batch.count >= Self.batchCount {
            found += try settled(batch, isCut)
            (batch, isCut) = ([], false)
            if let wanted, found.count >= wanted { return false }
          }
          group += 1
          last = unsafe value.withUnsafeBytes { unsafe Array($0) }
          if value.byteCount >= SecondaryIndexTrees.valueByteCount { isCut = true }
        }
        batch.append((group, rowID))
        return true
      }
      guard goesOn else { return found }
    }
    return found + (try settled(batch, isCut))
  }

  /// The rows of a batch that pass the tests. Those of one group have the same key of the value, so that the rest of
  /// the order decides among them, and the rest of the value if it is too long for a key.
  ///
  /// - Parameter isCut: whether there are such values.
  private func settled(_ batch: [(group: Int, rowID: RowID)], _ isCut: Bool) throws -> [RowID] {
    assert(zip(batch, batch.dropFirst()).allSatisfy { $0.group <= $1.group }, "rows were gathered out of order")
    let sorted = batch.sorted { ($0.group, $0.rowID) < ($1.group, $1.rowID) }
    let isInOrder = query.query.order.count == 1 && !isCut
    if isInOrder, tests.isEmpty { return sorted.map(\.rowID) }
    var rows: [(group: Int, row: QueryRow)] = []
    var groups: [RowID: Int] = [:]
    for entry in sorted { groups[entry.rowID] = entry.group }
    try query.lookUp(sorted.map(\.rowID), tests) { rowID, row in
      rows.append((groups[rowID] ?? 0, row))
      return true
    }
    if !isInOrder {
      rows.sort { $0.group != $1.group ? $0.group < $1.group : query.isBefore($0.row, $1.row) }
    }
    assert(rows.count <= batch.count, "more rows pass the tests than were asked")
    return rows.map { RowID($0.row.rowID) }
  }
}

extension SecondaryIndexQuery {
  /// Whether fewer rows have to be looked up in the query's order than half of those that its source gives: if `count`
  /// of all rows are found, and lie anywhere in that order, one of `rows / count` is.
  fileprivate func walksFewer(than count: Int) throws -> Bool {
    guard let wanted else { return false }
    return Double(wanted) * Double(try trees.rows.count) < Double(count) * Double(count) / 2
  }
}

extension RawSpan {
  fileprivate func hasBytes(_ other: [UInt8]) -> Bool {
    guard byteCount == other.count else { return false }
    return unsafe withUnsafeBytes { unsafe $0.elementsEqual(other) }
  }
}
