// The telling of a change to all extensions that follow it, also when a hook changes rows meanwhile.

internal import QuireStorage

/// One change that was made, on its way through the hooks of the extensions.
struct HookRound {
  /// What was changed.
  enum Change {
    /// A row was stored, touched or removed.
    case row(RowChange)
    /// Rows of a collection were removed together.
    case removed([(key: String, rowID: RowID)], CollectionState, isClearing: Bool)
    /// All rows of a collection were removed; those that are left were stored by hooks meanwhile.
    case cleared(CollectionState, left: [(key: String, rowID: RowID)])
    /// All rows of all collections were removed.
    case clearedAll
  }

  /// Who may hear of it, in the order of registration.
  let entries: [ExtensionEntry]
  /// The collection of a change of one row.
  let collection: CollectionID?
  /// How deep in other rounds its hooks run.
  let depth: Int
  var change: Change
  /// How many of `entries` have heard of it, or had no need to.
  var heardCount: Int
  /// The count of changes that `change` is true as of.
  var mutationCount: Int

  /// Whether everybody has heard of it.
  var isFinished: Bool { heardCount == entries.count }

  /// Whether it tells of a row that is there, under this key.
  func isOfRow(_ id: CollectionID?, _ key: String?) -> Bool {
    guard let id, let key, case .row(let change) = change, change.kind != .remove else { return false }
    return collection == id && change.key.hasSameBytes(as: key)
  }

  /// Whether it tells that a row is new.
  func isInsert(of rowID: RowID) -> Bool {
    guard case .row(let change) = change else { return false }
    return change.kind == .insert && change.rowID == rowID
  }
}

extension ExtensionSession {
  /// Has everybody hear of what is being told before other rows are changed: their trees agree with the rows then.
  ///
  /// - Parameter row: the row that is to change; nil for many. What is being told of that row itself waits for the
  ///   change, but for its removal.
  func finishRounds(before row: (id: CollectionID?, key: String)?) throws(DatabaseError) {
    // The inner ones first: they are about what happened last.
    for index in rounds.indices.reversed() where !rounds[index].isFinished {
      if rounds[index].isOfRow(row?.id, row?.key) { continue }
      try finish(index)
    }
    assert(
      rounds.allSatisfy { $0.isFinished || $0.isOfRow(row?.id, row?.key) },
      "a row changes, and something is to be told of another")
  }

  /// Tells a change to all of `entries`, from the one at `first` on.
  func tell(
    _ change: HookRound.Change, of collection: CollectionID? = nil, to entries: [ExtensionEntry], from first: Int = 0
  ) throws(DatabaseError) {
    guard first < entries.count else { return }
    rounds.append(
      HookRound(
        entries: entries, collection: collection, depth: depth, change: change, heardCount: first,
        mutationCount: transaction.mutationCount))
    defer { rounds.removeLast() }
    try finish(rounds.count - 1)
  }

  /// Tells a change to those who have not heard of it.
  private func finish(_ index: Int) throws(DatabaseError) {
    // It is no deeper for being told earlier.
    let outerDepth = depth
    depth = rounds[index].depth
    defer { depth = outerDepth }
    while !rounds[index].isFinished {
      let place = rounds[index].heardCount
      let entry = rounds[index].entries[place]
      if rounds[index].mutationCount != transaction.mutationCount, try !readAnew(index) { return }
      rounds[index].heardCount += 1
      assert(rounds[index].heardCount <= rounds[index].entries.count, "more hear of a change than follow it")
      switch rounds[index].change {
      case .row(let change): try tell(change, to: entry, at: place, of: rounds[index].collection)
      case .removed(let rows, let state, let isClearing):
        try forRows(entry, rows, state, isClearing, .gone) { changes throws(DatabaseError) in
          try run(entry, "didRemove", collection: state.name) { try entry.writer.didRemove(changes) }
        }
      case .cleared(let state, let left):
        try run(entry, "didClear", collection: state.name) { try entry.writer.didClear(state.name) }
        try handOver(left, of: state, to: entry)
      case .clearedAll: try run(entry, "didClearAll") { try entry.writer.didClearAll() }
      }
    }
  }

  /// Has a round tell of its row as it is now, since hooks have changed it. Returns false, and ends the round, if the
  /// row is gone: that was told.
  private func readAnew(_ index: Int) throws(DatabaseError) -> Bool {
    rounds[index].mutationCount = transaction.mutationCount
    guard case .row(let change) = rounds[index].change, let id = rounds[index].collection, change.kind != .remove
    else { return true }
    guard try transaction.rowID(id, change.key) == change.rowID else {
      rounds[index].heardCount = rounds[index].entries.count
      return false
    }
    rounds[index].change = .row(change.with(change.kind, .stored))
    return true
  }

  /// Tells one extension of a change of one row. The first that it hears of a new row is that it is new.
  func tell(
    _ change: RowChange, to entry: ExtensionEntry, at place: Int, of collection: CollectionID?
  ) throws(DatabaseError) {
    guard let rowID = change.rowID, entry.follows(rowID), !isLeftOut(entry, collection) else { return }
    var change = change
    if change.kind != .insert, change.kind != .remove,
      let index = rounds.firstIndex(where: { $0.isInsert(of: rowID) && $0.heardCount <= place })
    {
      assert(place < rounds[index].entries.count, "an extension hears of a row that it does not follow")
      rounds[index].heardCount = place + 1
      change = change.with(.insert, change.content)
    }
    guard entry.concerns(change.kind, rowID) else { return }
    try run(entry, "didChange", collection: change.collection, key: change.key) { try entry.writer.didChange(change) }
  }

  /// Tells an extension that handles the clearing of a collection of the rows that hooks have stored in it meanwhile.
  private func handOver(
    _ rows: [(key: String, rowID: RowID)], of state: CollectionState, to entry: ExtensionEntry
  ) throws(DatabaseError) {
    guard entry.registered.handlesClearing, !isLeftOut(entry, state.id), let id = state.id else { return }
    for row in rows where entry.follows(row.rowID) {
      // A hook of its own may have removed it.
      guard try transaction.rowID(id, row.key) == row.rowID else { continue }
      let change = RowChange(.insert, row.rowID, row.key, state.name, transaction, .stored)
      try run(entry, "didChange", collection: state.name, key: row.key) { try entry.writer.didChange(change) }
    }
  }

  /// Calls `body` with those of removed rows that an extension follows, if there are any.
  ///
  /// - Parameter before: what each of the rows is, while they are still there.
  func forRows(
    _ entry: ExtensionEntry, _ rows: [(key: String, rowID: RowID)], _ state: CollectionState, _ isClearing: Bool,
    _ content: RowContent, before: [RowBefore]? = nil, _ body: ([RowChange]) throws(DatabaseError) -> Void
  ) throws(DatabaseError) {
    guard !(isClearing && entry.registered.handlesClearing), !isLeftOut(entry, state.id) else { return }
    assert(before.map { $0.count == rows.count } ?? true, "a row that is removed has nothing before, or several")
    let followed = rows.indices.filter { entry.follows(rows[$0].rowID) }
    if followed.isEmpty { return }
    try body(
      followed.map { index in
        RowChange(
          .remove, rows[index].rowID, rows[index].key, state.name, transaction, content, before: before?[index])
      })
  }

  // MARK: Clearing

  /// Removes all rows of a collection by `body`; extensions that handle that as a whole hear of no row meanwhile.
  func clearing(_ id: CollectionID, _ body: () throws -> Void) throws {
    cleared.append(id)
    defer {
      assert(cleared.last == id, "a collection is cleared beyond the clearing of another one")
      cleared.removeLast()
    }
    try body()
  }

  /// Whether an extension is told when a collection is cleared, and of no row before.
  func isLeftOut(_ entry: ExtensionEntry, _ id: CollectionID?) -> Bool {
    guard !cleared.isEmpty, let id else { return false }
    return entry.registered.handlesClearing && cleared.contains(id)
  }
}

extension TransactionState {
  /// Called before a row is looked up to be changed, or before many are if there is no `key`: extensions hear of what
  /// they are being told first.
  @inline(__always) func finishRounds(before key: String?, of collection: CollectionState?) throws(DatabaseError) {
    guard let session = writer?.session, !session.rounds.isEmpty else { return }
    try session.finishRounds(before: key.map { (collection?.id, $0) })
  }
}
