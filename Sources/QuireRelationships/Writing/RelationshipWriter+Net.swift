// Edges that come and go in a transaction, until it settles.

internal import QuireDatabase

extension RelationshipWriter {
  // MARK: Coming and going

  /// Whether an edge cannot have stood before the transaction, as an end of it was not there.
  private func isNew(_ edge: StoredEdge) -> Bool {
    if edge.source < 0 || edge.source >= firstNew { return true }
    guard case .row(let row) = edge.destination else { return false }
    return row < 0 || row >= firstNew
  }

  /// What is noted of an edge that stands, or what there would be to note.
  private func noted(_ edge: StoredEdge) throws -> NetChange {
    let found = try hasNotedStanding ? net.find(edge) : nil
    return found ?? NetChange(edge, before: isNew(edge) ? nil : edge.rules, .stands)
  }

  /// Has an edge stand with its rules, whatever it did before.
  ///
  /// - Parameter isOfNewRow: whether it is derived from a row that has had no such edge yet.
  func put(_ edge: StoredEdge, isOfNewRow: Bool = false) throws {
    assert(!isOfNewRow || (try? trees.rules(of: edge)) == nil, "a new row has an edge that nobody has put")
    let old = isOfNewRow ? nil : try trees.rules(of: edge)
    guard old != edge.rules else { return }
    if var change = try net.find(edge) {
      if old == nil {
        change.state = .stands
        change.edge = edge
        hasNotedStanding = true
        try note(change)
      }
    } else if !isBuildingRow, building != nil || !isNew(edge) {
      // While a row is built nobody takes away again what it is asked for.
      hasNotedStanding = true
      try note(NetChange(edge, before: old, .stands))
    }
    assert(isThereOrAwaited(edge.source), "an edge begins at a row that nobody waits for")
    assert(edge.destinationRow.map(isThereOrAwaited) ?? true, "an edge leads to a row that nobody waits for")
    files.willPut(edge)
    try trees.put(edge)
  }

  /// Whether a number is that of a row, or stands for one that is waited for.
  private func isThereOrAwaited(_ row: Int64) -> Bool { row > 0 || absent.waitingKey(row) != nil }

  /// An edge that stood was dropped by those who named it. It has left the trees, or will.
  func drop(_ edge: StoredEdge, _ reason: EdgeReason) throws {
    var change = try noted(edge)
    change.edge.rules = edge.rules
    try drop(change, reason)
  }

  private func drop(_ change: NetChange, _ reason: EdgeReason) throws {
    names.insert(change.edge.name)
    guard change.before != nil else { return try net.remove(change.edge) }
    var change = change
    change.state = .dropped(sourceGone: reason == .sourceDeleted, destinationGone: reason == .destinationDeleted)
    watch(change.edge, change.before)
    try note(change)
  }

  /// An edge stands no more because a row at an end of it was removed.
  private func hide(_ edge: StoredEdge) throws {
    names.insert(edge.name)
    if isSweeping, try edge.isDerived && exists(edge.source) { return }
    var change = try noted(edge)
    change.edge.rules = edge.rules
    if isSweeping, edge.isDerived { change.edge.rules.letOthersKeepDestination() }
    change.state = .hidden
    watch(edge, change.before)
    try note(change)
  }

  /// Notes what has become of an edge.
  private func note(_ change: NetChange) throws { try net.put(change, forLater: building != nil) }

  /// Puts an edge that has gone on the list of those whose rules are to be applied.
  private func drop(_ edge: StoredEdge, sourceGone: Bool, destinationGone: Bool) throws {
    try dropped.append(edge, sourceGone: sourceGone, destinationGone: destinationGone, forLater: building != nil)
  }

  /// Has rows kept that may have to be told of an edge.
  func watch(_ edge: StoredEdge, _ before: EdgeRules? = nil) {
    names.insert(edge.name)
    notices.watch(edge, before)
  }

  /// Drops the hidden edges of an object that does not name them any more; silently, if nothing follows from that.
  func dropHidden(of source: Int64, silently: Bool, unless isNamed: (StoredEdge) -> Bool) throws {
    try net.forEach(.derived(of: source)) { change throws in
      guard change.state == .hidden else { return }
      var identity = change.edge
      identity.rules = []
      if isNamed(identity) { return }
      if silently { try net.remove(change.edge) } else { try drop(change, .sourceDeleted) }
    }
  }

  /// Takes away an edge by hand that a removed row hides. Returns whether there is one.
  func dropHidden(_ edge: StoredEdge, _ reason: EdgeReason) throws -> Bool {
    guard let change = try net.find(edge), change.state == .hidden else { return false }
    try drop(change, reason)
    return true
  }

  // MARK: Rows

  /// A row was removed: its edges leave the trees, until it is stored again or the transaction settles.
  func didRemove(_ row: Int64, _ key: RowKey) throws {
    // What a rule deletes has gone, and nothing waits for it.
    if try row == deletion.row && net.isEmpty { return try trees.removeEdges(of: row) { try noteDying($0, row) } }
    var hasHidden = false
    try trees.removeEdges(of: row) { edge throws in
      hasHidden = true
      try hide(edge)
    }
    if try building != nil || hasHidden || net.mentions(row) {
      try absent.removed.insert(key, row, forLater: building != nil)
    }
  }

  /// An edge of a row that a rule has deleted, while nothing is noted of any edge, leaves the trees for the list.
  func noteDying(_ edge: StoredEdge, _ row: Int64) throws {
    watch(edge)
    try drop(edge, sourceGone: edge.source == row, destinationGone: edge.destination == .row(row))
  }

  /// Takes all edges that begin or end at a row which nobody has seen go from the trees.
  func dropEdges(of row: Int64) throws { try trees.removeEdges(of: row) { try hide($0) } }

  /// A row has come in the place of one that was removed, or was waited for: what is noted of that one's edges is noted
  /// of its edges, and those that were hidden for its sake stand again.
  func restore(_ old: Int64, as new: Int64) throws {
    notices.follow(old, to: new)
    for range in [EdgeRange.source(old), .destination(old)] {
      try net.forEach(range) { change throws in
        try net.remove(change.edge)
        var change = change
        if change.edge.source == old { change.edge.source = new }
        if change.edge.destination == .row(old) { change.edge.destination = .row(new) }
        if try change.state == .hidden && !trees.lacksEnd(change.edge) {
          change.state = .stands
          hasNotedStanding = true
          files.willPut(change.edge)
          try trees.put(change.edge)
        }
        try note(change)
      }
    }
  }

  func exists(_ row: Int64) throws -> Bool { try trees.hasRow(row) }

  // MARK: Settling

  /// Puts the edges that have gone, by what stands now against what stood before, on the list of those whose rules are
  /// to be applied.
  func seal() throws {
    try dropMissing()
    assert(absent.waiting.isEmpty, "a row is waited for that was given up")
    try net.forEach(.all) { change throws in try seal(change) }
    try net.removeAll()
    hasNotedStanding = false
    try absent.removed.removeAll()
    firstNew = .max
  }

  private func seal(_ change: NetChange) throws {
    var edge = change.edge
    names.insert(edge.name)
    try notices.keepKeys(edge, change.before)
    switch change.state {
    case .stands: return
    case .hidden:
      // It is named, so what counts is what it says at the end.
      try refuseMissing(edge, change.before)
      let isRowMissing = if case .row(let row) = edge.destination { try !exists(row) } else { false }
      try drop(edge, sourceGone: try !exists(edge.source), destinationGone: isRowMissing)
    case .dropped(var sourceGone, var destinationGone):
      guard let before = change.before else { return }
      edge.rules = before
      if edge.isDerived {
        sourceGone = true
        if case .row(let row) = edge.destination { destinationGone = try !exists(row) && !exists(edge.source) }
      }
      try drop(edge, sourceGone: sourceGone, destinationGone: destinationGone)
    }
  }

  /// Drops the edges whose rows have not come.
  func dropMissing() throws {
    guard !absent.waiting.isEmpty else { return }
    var missing: Set<Int64> = []
    for (key, standIn) in absent.waiting {
      if let found = try transaction().rowID(of: key) { try resolve(key, found) } else { missing.insert(standIn) }
    }
    for standIn in missing { try trees.removeEdges(of: standIn) { try sealMissing($0, missing) } }
    for standIn in missing {
      guard let key = absent.waitingKey(standIn) else { continue }
      notices.didMiss(standIn, key)
      absent.stopWaiting(for: key)
    }
  }

  /// Keeps an edge for the transactions to come, as long as the relationship is being built: an end of it may come yet.
  /// Returns whether it does, which is not so for edges by hand to rows that never were.
  private func keep(_ edge: StoredEdge, _ before: EdgeRules?) throws -> Bool {
    if edge.source < 0 || edge.destinationRow ?? 0 < 0 {
      try net.remove(edge)
      // The object is asked again when all rows were.
      if edge.isDerived, edge.source > 0 { try unfinished.put([], for: RowID(edge.source)) }
      return edge.isDerived
    }
    try note(NetChange(edge, before: before, .hidden))
    return true
  }

  private func sealMissing(_ edge: StoredEdge, _ missing: Set<Int64>) throws {
    let before = try net.find(edge)?.before
    if building != nil, try keep(edge, before) { return }
    try refuseMissing(edge, before)
    watch(edge)
    let isRowMissing = if case .row(let row) = edge.destination { missing.contains(row) } else { false }
    try drop(edge, sourceGone: missing.contains(edge.source), destinationGone: isRowMissing)
  }

  /// Notes an edge that is named and has no two ends, and did not stand before; throws if the relationship refuses it.
  private func refuseMissing(_ edge: StoredEdge, _ before: EdgeRules?) throws {
    // What a removed row has named goes with it.
    guard before == nil, try !edge.isDerived || exists(edge.source) else { return }
    danglingCount += 1
    if settings.missingEnds == .refuse { throw try notices.dangling(edge) }
  }
}
