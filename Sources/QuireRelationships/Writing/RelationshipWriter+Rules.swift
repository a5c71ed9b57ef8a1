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
      returns = [:]
    }
    while true {
      try seal()
      let batch = try nextDropped()
      guard let last = batch.last else { break }
      for (_, record) in batch { try apply(record) }
      try dropped.remove(from: nil, upTo: RowID(last.number + 1))
    }
    forgetGone()
  }

  private func nextDropped() throws -> [(number: Int64, edge: DroppedEdge)] {
    if try dropped.count == 0 { return [] }
    let cursor = try dropped.cursor()
    var batch: [(number: Int64, edge: DroppedEdge)] = []
    while batch.count < EdgeLimits.batchCount, try cursor.next(), let entry = try cursor.entry {
      guard let edge = DroppedEdge(entry.value) else { throw trees.damaged() }
      batch.append((entry.key.rawValue, edge))
    }
    return batch
  }

  /// Applies the rules of an edge that has gone.
  private func apply(_ record: DroppedEdge) throws {
    let edge = record.edge
    let haveBothGone = try haveBothGone(edge)
    let (isSourceDying, isDestinationDying) = (try deletesSource(edge, record), try deletesDestination(edge, record))
    if edge.rules.contains(.notifyIfSourceDeleted), record.sourceGone || haveBothGone,
      case .row(let row) = edge.destination
    {
      try tell(row, edge, .sourceDeleted, isDying: isDestinationDying)
    }
    if edge.rules.contains(.notifyIfDestinationDeleted), record.destinationGone || haveBothGone {
      try tell(edge.source, edge, .destinationDeleted, isDying: isSourceDying)
    }
    if isDestinationDying {
      switch edge.destination {
      case .row(let row): try delete(row)
      case .file(let path): try deleteAfterwards(path)
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

  private func deletesDestination(_ edge: StoredEdge, _ record: DroppedEdge) throws -> Bool {
    if record.sourceGone, edge.rules.contains(.deleteDestinationIfSourceDeleted) { return true }
    let isAskedFor = record.sourceGone && edge.rules.contains(.deleteDestinationIfAllSourcesDeleted)
    guard try isAskedFor || wishes.count > 0 else { return false }
    let group = StoredEdge.prefix(edge.destination, edge.name)
    return try completes([0] + group, isAskedFor, .byDestination, group)
  }

  private func deletesSource(_ edge: StoredEdge, _ record: DroppedEdge) throws -> Bool {
    if record.destinationGone, edge.rules.contains(.deleteSourceIfDestinationDeleted) { return true }
    let isAskedFor = record.destinationGone && edge.rules.contains(.deleteSourceIfAllDestinationsDeleted)
    guard try isAskedFor || wishes.count > 0 else { return false }
    let group = StoredEdge.prefix(edge.name, edge.source)
    return try completes([1] + group, isAskedFor, .byName, group)
  }

  /// Whether an end goes with the last edge of a group, and this was the last one. If edges of the group are left, a
  /// rule that asks for it is remembered to the end of the transaction: they may go yet.
  private func completes(_ wish: [UInt8], _ isAskedFor: Bool, _ order: EdgeOrder, _ group: [UInt8]) throws -> Bool {
    guard try isAskedFor || wishes.contains(wish) else { return false }
    if try trees.count(order, group) == 0 { return true }
    if isAskedFor { try wishes.put([], for: wish) }
    return false
  }

  /// Deletes a row, if it is still there.
  private func delete(_ row: Int64) throws {
    let tx = try transaction()
    guard row > 0, let key = try tx.key(of: RowID(row)) else { return }
    let count = (returns.removeValue(forKey: row) ?? 0) + 1
    guard count <= EdgeLimits.returnCount else { throw endlessDeleting(key) }
    (dyingRow, dyingCount) = (row, count)
    defer { (dyingRow, dyingCount) = (nil, 0) }
    try tx.remove(key)
    deletedCount += 1
  }

  /// A row has come while a rule deletes another one, in a hook of that: it is what has become of it.
  func noteReturn(of row: RowID) {
    if dyingCount > 0 { returns[row.rawValue] = dyingCount }
  }

  private func endlessDeleting(_ key: RowKey) -> DatabaseError {
    DatabaseError(
      .hooksTooDeep,
      """
      Rules of the relationship “\(store.name)” have deleted a row \(EdgeLimits.returnCount) times, each time a hook \
      of another extension stored a row that was to be deleted, too. Have the hook leave alone what is being removed.
      """, path: store.database.path, collection: key.collection, key: key.key)
  }

  // MARK: Telling

  /// Tells a row of an edge; stores what its object becomes, unless the row has gone or is about to go.
  private func tell(_ row: Int64, _ edge: StoredEdge, _ reason: EdgeReason, isDying: Bool) throws {
    guard let subject = try subject(row), let notifier = settings.notifier(of: subject.key.collection),
      let object = try subject.row.map({ try notifier.load($0) }) ?? kept[row]?.object,
      let told = try self.edge(edge)
    else { return }
    let changed = try notifier.tell(object, subject.key, told, reason)
    guard let changed, subject.row != nil, !isDying else { return }
    // No relationship asks the object for its edges: two of them might have it told by turns, for ever.
    let writers = try store.writers(as: RelationshipWriter.self)
    for writer in writers { writer.toldRow = RowID(row) }
    defer { for writer in writers { writer.toldRow = nil } }
    try notifier.replace(changed, subject.key, try transaction())
  }

  private func subject(_ row: Int64) throws -> (key: RowKey, row: RowChange?)? {
    if row > 0, let found = try store.row(RowID(row)) { return (found.rowKey, found) }
    return kept[row].map { ($0.key, nil) }
  }

  /// An edge that has gone, as apps see it; nil if nobody knows any more where an end was.
  func edge(_ edge: StoredEdge) throws -> Edge? {
    guard let source = try key(of: edge.source) else { return nil }
    let end: EdgeDestination
    switch edge.destination {
    case .row(let row):
      guard let key = try key(of: row) else { return nil }
      end = .row(key)
    case .file(let path): end = .file(String(decoding: path, as: UTF8.self))
    }
    return Edge(try trees.name(of: edge.name), source, end, edge.rules, isDerived: edge.isDerived)
  }

  private func key(of row: Int64) throws -> RowKey? {
    if row > 0, let key = try transaction().key(of: RowID(row)) { return key }
    return try keyOfMissing(row)
  }
}
