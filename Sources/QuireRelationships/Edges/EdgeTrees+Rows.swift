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

  /// Removes all edges that begin or end at a row, and hands them over; `body` may put edges of other rows.
  func removeEdges(of row: Int64, _ body: (StoredEdge) throws -> Void) throws {
    guard try byName.count > 0 else { return }
    for order in [EdgeOrder.bySource, .byDestination] {
      let prefix = order == .bySource ? StoredEdge.prefix(row) : StoredEdge.prefix(.row(row))
      while true {
        let edges = try edges(order, prefix, limit: EdgeLimits.batchCount)
        if edges.isEmpty { break }
        try remove(edges, neighboursIn: order)
        for edge in edges { try body(edge) }
        if edges.count < EdgeLimits.batchCount { break }
      }
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
    let cursor = try self[order].cursor()
    let prefix = order == .bySource ? StoredEdge.prefix(first) : StoredEdge.prefix(.row(first))
    guard try cursor.seek(prefix), let entry = try cursor.entry else { return nil }
    let edge = try edge(order, entry)
    if order == .bySource { return edge.source }
    // Files come after all rows.
    if case .row(let row) = edge.destination { return row }
    return nil
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
