// Applying the rules of edges that have gone.
//
// Edges leave the trees at once, so what is counted here is what survives, in whatever order edges have gone: a row
// that is to go with the last of some edges goes, wherever in the list the last one stands.

internal import QuireDatabase

extension RelationshipWriter {
  /// Works the list of edges that have gone off. What is deleted on the way adds to its end, so that chains and cycles
  /// of any length end, and no call is nested in another one.
  func work() throws {
    guard building == nil, !isWorking else { return }
    isWorking = true
    defer {
      isWorking = false
      deletion.forgetReturns()
    }
    while true {
      try seal()
      let batch = try dropped.first()
      if batch.edges.isEmpty { break }
      try apply(batch.edges)
      try dropped.removeFirst(batch)
    }
    notices.removeAll()
  }

  /// Applies the rules of edges that have gone, one after the other. Rows that go by rules which look at nothing else
  /// are gathered, and go together before anything is looked at.
  private func apply(_ records: [DroppedEdge]) throws {
    var rows: [RowID] = []
    for record in records {
      if let ends = try dropped.endsThatGo(record) {
        if ends.destination, let row = record.edge.destinationRow { rows.append(RowID(row)) }
        if ends.source { rows.append(RowID(record.edge.source)) }
        continue
      }
      try delete(rows)
      rows.removeAll(keepingCapacity: true)
      try apply(record)
    }
    try delete(rows)
  }

  /// Applies the rules of an edge that has gone.
  private func apply(_ record: DroppedEdge) throws {
    let edge = record.edge
    let haveBothGone = try trees.hasLostBothEnds(edge)
    let isSourceDying = try dropped.deletesSource(record)
    let isDestinationDying = try dropped.deletesDestination(record)
    if edge.rules.contains(.notifyIfSourceDeleted), record.sourceGone || haveBothGone,
      case .row(let row) = edge.destination
    {
      try notices.tell(row, edge, .sourceDeleted, isDying: isDestinationDying)
    }
    if edge.rules.contains(.notifyIfDestinationDeleted), record.destinationGone || haveBothGone {
      try notices.tell(edge.source, edge, .destinationDeleted, isDying: isSourceDying)
    }
    if isDestinationDying {
      switch edge.destination {
      case .row(let row): try delete(row)
      case .file(let path): try files.append(path)
      }
    }
    if isSourceDying { try delete(edge.source) }
  }

  // MARK: What goes

  /// Deletes rows, those that are still there, in their order.
  private func delete(_ rows: [RowID]) throws {
    var next = 0
    while next < rows.count {
      let doneCount = try deleteTogether(rows[next...])
      if doneCount == 0 { try delete(rows[next].rawValue) }
      next += max(doneCount, 1)
    }
  }

  /// Deletes the first ones of rows that nobody else follows, whom the order of what happens would concern. Returns how
  /// many of them; none if others may see how each one goes.
  private func deleteTogether(_ rows: ArraySlice<RowID>) throws -> Int {
    // A row to be told has to be known before it goes, and what is noted of edges has to be brought up to date. Hooks
    // that are still to hear of something may note more: the first row waits for them then.
    guard rows.count > 1, !settings.hasNotifiers, !deletion.hasReturns, try net.isEmpty else { return 0 }
    let (doneCount, removed) = try store.removeUnfollowedRows(rows)
    guard !removed.isEmpty else { return doneCount }
    deletedCount += removed.count
    stores.noteChange()
    try trees.removeEdges(of: removed) { try noteDying($0, $1) }
    return doneCount
  }

  /// Deletes a row, if it is still there.
  private func delete(_ row: Int64) throws {
    let tx = try transaction()
    guard row > 0, let key = try tx.key(of: RowID(row)) else { return }
    guard deletion.begin(row) else { throw NestedDeletion.endless(key, store) }
    defer { deletion.end() }
    try tx.remove(key)
    deletedCount += 1
  }
}
