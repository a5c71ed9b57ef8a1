// What happens to rows, and to their edges with them.

public import QuireDatabase

extension RelationshipWriter {
  /// Keeps what has to be known of a row when it is gone.
  public func willChange(_ change: RowChange) throws {
    switch change.kind {
    case .insert, .update, .replaceObject:
      if settings.derivers[ByteString(change.collection)] != nil { begin(change.rowKey) }
    case .remove: try keep(change)
    case .replaceMetadata, .touchObject, .touchMetadata, .touchRow: break
    }
  }

  private func keep(_ change: RowChange) throws {
    guard let row = change.rowID?.rawValue, !settings.notifiers.isEmpty else { return }
    guard try observed.contains(row) || hasNotices(row) else { return }
    // It may have to be told, or named to another, when it is no more.
    let object = try settings.notifiers[ByteString(change.collection)]?.load(change)
    kept[row] = KeptRow(key: change.rowKey, object: object)
  }

  /// Whether an edge of a row says that somebody is to be told.
  private func hasNotices(_ row: Int64) throws -> Bool {
    for order in [EdgeOrder.bySource, .byDestination] {
      let prefix = order == .bySource ? StoredEdge.prefix(row) : StoredEdge.prefix(.row(row))
      let cursor = try trees[order].cursor()
      var isOnEntry = try cursor.seek(prefix)
      while isOnEntry, let entry = try cursor.entry, entry.key.starts(with: prefix) {
        if try !trees.edge(order, entry).rules.isDisjoint(with: .notices) { return true }
        isOnEntry = try cursor.next()
      }
    }
    return false
  }

  /// Asks an object for its edges, or drops those of a row.
  public func didChange(_ change: RowChange) throws {
    guard let rowID = change.rowID else { return }
    switch change.kind {
    case .insert:
      let isOvertaken = try !waiting.isEmpty && transaction().rowID(of: change.rowKey) != rowID
      if !isOvertaken { try resolve(change.rowKey, rowID) }
      try derive(change, rowID)
    case .update: try derive(change, rowID)
    case .replaceObject:
      // An object that was told of an edge is not asked for its edges: if it still named that edge it would be told
      // again, for ever.
      if toldRow == rowID { _ = end(change.rowKey) } else { try derive(change, rowID) }
    case .remove:
      noteChange()
      try dropEdges(of: rowID.rawValue)
    case .replaceMetadata, .touchObject, .touchMetadata, .touchRow: break
    }
  }

  private func derive(_ change: RowChange, _ rowID: RowID) throws {
    guard let deriver = settings.derivers[ByteString(change.collection)] else { return }
    if end(change.rowKey) {
      return try setDerived(
        try deriver(change), of: change.rowKey, rowID, isNew: change.kind == .insert, silently: false)
    }
    // An extension that was registered before may have changed this row when it heard of it, and that was told here
    // already: what counts is the row as it is now.
    guard let row = try store.row(rowID) else { return }
    try setDerived(try deriver(row), of: row.rowKey, rowID, isNew: false, silently: false)
  }

  /// Compares the edges that an object has derived with those that are stored: new ones are stored, those with other
  /// rules are changed, and those that are missing count as ones whose source was deleted.
  ///
  /// - Parameters:
  ///   - isNew: whether the row is new, and has no edges yet.
  ///   - silently: whether missing ones go without consequences.
  func setDerived(_ edges: [Edge], of key: RowKey, _ rowID: RowID, isNew: Bool, silently: Bool) throws {
    var wanted: [StoredEdge: EdgeRules] = [:]
    for edge in edges {
      if let source = edge.source, source != key {
        throw edge.invalid("was derived by the object of \(key), and begins elsewhere: leave its source out")
      }
      let whole = Edge(edge.name, key, edge.destination, edge.rules, isDerived: true)
      try whole.check(isNotified)
      var new = try stored(whole, from: rowID.rawValue, isDerived: true)
      new.rules = []
      wanted[new] = edge.rules
    }
    let existing = try isNew ? [] : trees.edges(.bySource, StoredEdge.prefix(rowID.rawValue, isDerived: true))
    for old in existing {
      var identity = old
      identity.rules = []
      if let rules = wanted.removeValue(forKey: identity) {
        identity.rules = rules
        if rules != old.rules {
          willPut(identity)
          try trees.put(identity)
        }
        continue
      }
      try trees.remove(old)
      try note(old, sourceGone: !silently, destinationGone: false)
    }
    for (var new, rules) in wanted {
      new.rules = rules
      willPut(new)
      try trees.put(new)
    }
  }

  // MARK: All rows

  /// Drops all edges, and puts on the list all files that a rule deletes with the last row that names them.
  public func didClearAll() throws {
    // Those, too, that an edge of a row removed before was about to delete.
    let prefix: [UInt8] = [2]
    let cursor = try trees.byDestination.cursor()
    var paths: Set<[UInt8]> = []
    var isOnEntry = try cursor.seek(prefix)
    while isOnEntry, let entry = try cursor.entry, entry.key.starts(with: prefix) {
      let edge = try trees.edge(.byDestination, entry)
      if case .file(let path) = edge.destination, !edge.rules.isDisjoint(with: .keeping) { paths.insert(path) }
      isOnEntry = try cursor.next()
    }
    let pending = try dropped.cursor()
    while try pending.next() {
      guard let bytes = try pending.value, let record = DroppedEdge(bytes) else { throw trees.damaged() }
      if case .file(let path) = record.edge.destination, record.sourceGone,
        !record.edge.rules.isDisjoint(with: .keeping)
      {
        paths.insert(path)
      }
    }
    for path in paths { try deleteAfterwards(path) }
    try trees.removeAll()
    try dropped.removeAll()
    try wishes.removeAll()
    forgetGone()
    forgetEdges()
  }
}
