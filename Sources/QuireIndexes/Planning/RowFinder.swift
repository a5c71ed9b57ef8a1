// Finding the rows of a plan, by their numbers.

internal import QuireDatabase

/// Finds rows in one transaction.
struct RowFinder<Object: Sendable, Metadata: Sendable> {
  let rows: ReadableRows<Object, Metadata>
  let reader: IndexReader<Object, Metadata>?

  /// So many rows are looked up side by side.
  private static var batchCount: Int { 256 }

  /// The rows of a plan, in the order of their numbers, each once.
  func rowIDs(_ plan: RowPlan<Object, Metadata>) throws -> [RowID] {
    if case .scan = plan.source { return try scan(plan.tests) }
    return try filter(try rowIDs(plan.source), plan.tests)
  }

  private func rowIDs(_ source: RowSource<Object, Metadata>) throws -> [RowID] {
    switch source {
    case .nothing: return []
    case .scan: return try scan(.all)
    case .path(let path): return try rowIDs(path)
    case .union(let plans): return Self.distinct(try plans.flatMap { try rowIDs($0) }.sorted())
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

  /// The rows of the entries in a path's spans.
  private func rowIDs(_ path: AccessPath) throws -> [RowID] {
    guard let reader else { return [] }
    var found: [RowID] = []
    found.reserveCapacity(path.count)
    for span in path.spans { try reader.trees.rowIDs(span, in: path.index) { found.append($0) } }
    if !path.isOnePoint { found.sort() }
    return path.isDistinct ? found : Self.distinct(found)
  }

  private static func distinct(_ sorted: [RowID]) -> [RowID] {
    var distinct: [RowID] = []
    for rowID in sorted where distinct.last != rowID { distinct.append(rowID) }
    return distinct
  }

  private static func intersection(_ left: [RowID], _ right: [RowID]) -> [RowID] {
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

  /// The rows of all that satisfy a condition; each is decoded.
  private func scan(_ tests: Condition<Object, Metadata>.Node) throws -> [RowID] {
    if case .all = tests { return try rows.rowIDs.sorted() }
    if let reader, reader.tells(tests) { return try filter(try rows.rowIDs.sorted(), tests) }
    var found: [RowID] = []
    var failure: (any Error)?
    for row in rows.rows {
      do {
        if try tests.isTrue(row.object, row.metadata) { found.append(row.rowID) }
      } catch {
        failure = error
        break
      }
    }
    if let failure { throw failure }
    // A loop cannot throw: an error in it is thrown by the next call.
    _ = try rows.contains("")
    return found.sorted()
  }

  /// Those of the rows that satisfy a condition, in the order given.
  func filter(_ rowIDs: [RowID], _ tests: Condition<Object, Metadata>.Node) throws -> [RowID] {
    if case .all = tests { return rowIDs }
    var found: [RowID] = []
    var start = 0
    while start < rowIDs.count {
      let batch = Array(rowIDs[start..<min(rowIDs.count, start + Self.batchCount)])
      start += batch.count
      try test(batch, tests) { found.append($0) }
    }
    return found
  }

  private func test(
    _ batch: [RowID], _ tests: Condition<Object, Metadata>.Node, _ body: (RowID) throws -> Void
  ) throws {
    if let reader, reader.tells(tests) {
      try reader.trees.records.withValues(for: batch) { index, bytes in
        let isTrue = try reader.withRecord(batch[index], bytes) { reader.isTrue(tests, $0) }
        if isTrue { try body(batch[index]) }
      }
    } else {
      for row in try rows.rows(withIDs: batch) where try tests.isTrue(row.object, row.metadata) { try body(row.rowID) }
    }
  }

  // MARK: Sorting

  /// The rows in an order; those that are equal in it in the order of their numbers.
  func sort(_ rowIDs: [RowID], _ order: [IndexColumn<Object, Metadata>]) throws -> [RowID] {
    var keyed: [(key: [UInt8], rowID: RowID)] = []
    keyed.reserveCapacity(rowIDs.count)
    var start = 0
    while start < rowIDs.count {
      let batch = Array(rowIDs[start..<min(rowIDs.count, start + Self.batchCount)])
      start += batch.count
      if let reader, reader.tells(order) {
        try reader.trees.records.withValues(for: batch) { index, bytes in
          let key = try reader.withRecord(batch[index], bytes) { record in
            OrderKey.bytes(order) { reader.value($0.id, record) }
          }
          keyed.append((key, batch[index]))
        }
      } else {
        for row in try rows.rows(withIDs: batch) {
          keyed.append((try OrderKey.bytes(order) { try $0.value(of: row.object, row.metadata) }, row.rowID))
        }
      }
    }
    keyed.sort { left, right in
      if left.key == right.key { return left.rowID < right.rowID }
      return left.key.lexicographicallyPrecedes(right.key)
    }
    return keyed.map(\.rowID)
  }
}
