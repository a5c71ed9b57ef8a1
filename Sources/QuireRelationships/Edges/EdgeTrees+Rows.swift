// The edges of one row, or of one file.

internal import QuireDatabase

extension EdgeTrees {
  /// The write transaction that changes them.
  func transaction() throws -> WriteTransaction {
    guard let tx = store.writeTransaction else {
      throw DatabaseError(.readOnly, "A read transaction cannot change edges. Use `write`.")
    }
    return tx
  }

  /// Whether a row exists; numbers that stand for rows to come are none.
  func hasRow(_ row: Int64) throws -> Bool { try row > 0 && store.hasRow(RowID(row)) }

  /// Whether an end of an edge was removed; one that has never come is waited for.
  func lacksEnd(_ edge: StoredEdge) throws -> Bool {
    if try edge.source > 0 && !hasRow(edge.source) { return true }
    guard let row = edge.destinationRow, row > 0 else { return false }
    return try !hasRow(row)
  }

  /// Whether neither end of an edge that tells somebody is there any more: each is told of the other.
  func hasLostBothEnds(_ edge: StoredEdge) throws -> Bool {
    guard !edge.rules.isDisjoint(with: .notices), let row = edge.destinationRow else { return false }
    return try !hasRow(edge.source) && !hasRow(row)
  }

  /// Removes all edges that begin or end at a row, and hands them over; `body` may put edges of other rows.
  func removeEdges(of row: Int64, _ body: (StoredEdge) throws -> Void) throws {
    guard try byName.count > 0 else { return }
    try removeEdges(.bySource, of: row, body)
    try removeEdges(.byDestination, of: row, body)
  }

  private func removeEdges(_ order: EdgeOrder, of row: Int64, _ body: (StoredEdge) throws -> Void) throws {
    let prefix = order == .bySource ? StoredEdge.prefix(row) : StoredEdge.prefix(.row(row))
    while true {
      let edges = try edges(order, prefix, limit: EdgeLimits.batchCount)
      if edges.isEmpty { return }
      try remove(edges, neighboursIn: order)
      for edge in edges { try body(edge) }
      if edges.count < EdgeLimits.batchCount { return }
    }
  }

  /// Removes all edges that begin or end at some rows, whose ids ascend, and hands them over, row by row; `body` puts
  /// none. Rows without edges between those that have some cost nothing.
  func removeEdges(of rows: [RowID], _ body: (StoredEdge, Int64) throws -> Void) throws {
    guard try byName.count > 0 else { return }
    // The first row with edges from the last one on that was looked for: edges only go meanwhile.
    var (source, destination) = (Int64.min, Int64.min)
    for row in rows.lazy.map(\.rawValue) {
      if row > source { source = try firstRow(.bySource, from: row) ?? .max }
      if row == source { try removeEdges(.bySource, of: row) { try body($0, row) } }
      if row > destination { destination = try firstRow(.byDestination, from: row) ?? .max }
      if row == destination { try removeEdges(.byDestination, of: row) { try body($0, row) } }
    }
  }

  /// Removes all derived edges.
  func removeDerived() throws {
    var next: Int64 = 0
    while let row = try firstRow(.bySource, from: next) {
      while true {
        let edges = try edges(.bySource, StoredEdge.prefix(row, isDerived: true), limit: EdgeLimits.batchCount)
        try remove(edges, neighboursIn: .bySource)
        if edges.count < EdgeLimits.batchCount { break }
      }
      guard row < .max else { return }
      next = row + 1
    }
  }

  /// The first row with an id of at least `first` that has edges in a tree.
  func firstRow(_ order: EdgeOrder, from first: Int64) throws -> Int64? {
    let prefix = order == .bySource ? StoredEdge.prefix(first) : StoredEdge.prefix(.row(first))
    var found: StoredEdge?
    try self[order].forEach(from: prefix, upTo: nil, limit: 1) { key, value in
      found = try edge(order, key, value)
      return false
    }
    // Files come after all rows.
    return order == .bySource ? found?.source : found?.destinationRow
  }

  /// Whether an edge of a row says that somebody is to be told.
  func hasNotices(_ row: Int64) throws -> Bool {
    for order in [EdgeOrder.bySource, .byDestination] {
      let prefix = order == .bySource ? StoredEdge.prefix(row) : StoredEdge.prefix(.row(row))
      if try contains(order, prefix, .notices) { return true }
    }
    return false
  }

  /// Whether an edge leads to a file that will decide about it later.
  func keepsFile(_ path: [UInt8]) throws -> Bool {
    try contains(.byDestination, StoredEdge.prefix(.file(path)), .keeping)
  }

  /// Whether an edge whose key in a tree begins with `prefix` has one of some rules.
  private func contains(_ order: EdgeOrder, _ prefix: [UInt8], _ rules: EdgeRules) throws -> Bool {
    let cursor = try self[order].cursor()
    var isOnEntry = try cursor.seek(prefix)
    while isOnEntry, let entry = try cursor.entry, entry.key.starts(with: prefix) {
      if try !edge(order, entry).rules.isDisjoint(with: rules) { return true }
      isOnEntry = try cursor.next()
    }
    return false
  }
}
