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
      guard let last = batch.last else { break }
      for (_, record) in batch { try apply(record) }
      try dropped.removeFirst(through: last.number)
    }
    notices.removeAll()
  }

  /// Applies the rules of an edge that has gone.
  private func apply(_ record: DroppedEdge) throws {
    let edge = record.edge
    let haveBothGone = try haveBothGone(edge)
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

  /// Whether neither end of an edge that tells somebody is there any more: each is told of the other.
  private func haveBothGone(_ edge: StoredEdge) throws -> Bool {
    guard !edge.rules.isDisjoint(with: .notices), case .row(let row) = edge.destination else { return false }
    return try !exists(edge.source) && !exists(row)
  }

  // MARK: What goes

  /// Deletes a row, if it is still there.
  private func delete(_ row: Int64) throws {
    let tx = try transaction()
    guard row > 0, let key = try tx.key(of: RowID(row)) else { return }
    guard deletion.begin(row) else { throw endlessDeleting(key) }
    defer { deletion.end() }
    try tx.remove(key)
    deletedCount += 1
  }

  private func endlessDeleting(_ key: RowKey) -> DatabaseError {
    DatabaseError(
      .hooksTooDeep,
      """
      Rules of the relationship “\(store.name)” have deleted a row \(EdgeLimits.returnCount) times, each time a hook \
      of another extension stored a row that was to be deleted, too. Have the hook leave alone what is being removed.
      """, path: store.database.path, collection: key.collection, key: key.key)
  }
}
