// What happens to rows, and to their edges with them.

internal import HashTreeCollections
public import QuireDatabase

extension RelationshipWriter {
  /// Edges lead to rows that building has not got to, and what becomes of these must be known by their keys.
  public var followsUnbuiltRows: Bool { true }

  /// Keeps what has to be known of a row when it is gone.
  public func willChange(_ change: RowChange) throws {
    if building != nil, change.kind != .insert, let rowID = change.rowID { try askEarly(rowID) }
    switch change.kind {
    case .insert, .update, .replaceObject:
      if settings.deriver(of: change.collection) != nil { begin(change.rowKey) }
    case .remove: try keep(change)
    case .replaceMetadata, .touchObject, .touchMetadata, .touchRow: break
    }
  }

  private func keep(_ change: RowChange) throws {
    guard let row = change.rowID?.rawValue, settings.hasNotifiers else { return }
    guard try observed.contains(row) || hasNotices(row) else { return }
    // It may have to be told, or named to another, when it is no more.
    let object = try settings.notifier(of: change.collection)?.load(change)
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
      firstNew = min(firstNew, rowID.rawValue)
      noteReturn(of: rowID)
      let isAwaited = try !waiting.isEmpty || !removed.isEmpty
      // A hook may have removed it again, and stored another one.
      if try isAwaited && transaction().rowID(of: change.rowKey) == rowID { try resolve(change.rowKey, rowID) }
      try derive(change, rowID)
    case .update: try derive(change, rowID)
    case .replaceObject:
      // An object that was told of an edge is not asked for its edges: if it still named that edge it would be told
      // again, for ever.
      if toldRow == rowID { _ = end(change.rowKey) } else { try derive(change, rowID) }
    case .remove:
      noteChange()
      try didRemove(rowID.rawValue, change.rowKey)
    case .replaceMetadata, .touchObject, .touchMetadata, .touchRow: break
    }
  }

  private func derive(_ change: RowChange, _ rowID: RowID) throws {
    guard let deriver = settings.deriver(of: change.collection) else { return }
    if end(change.rowKey) {
      return try setDerived(
        try deriver(change), of: change.rowKey, rowID, isNew: change.kind == .insert,
        silently: false)
    }
    // An extension that was registered before may have changed this row when it heard of it, and that was told here
    // already: what counts is the row as it is now.
    guard let row = try store.row(rowID) else { return }
    try setDerived(
      try deriver(row), of: row.rowKey, rowID, isNew: false, silently: false)
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
      try whole.check(mayBeToTell)
      var new = try stored(whole, from: rowID.rawValue, isDerived: true)
      new.rules = []
      wanted[new] = edge.rules
    }
    try dropHidden(of: rowID.rawValue, silently: silently) { wanted[$0] != nil }
    let hasNone = try isNew && net.isEmpty
    let existing = try hasNone ? [] : trees.edges(.bySource, StoredEdge.prefix(rowID.rawValue, isDerived: true))
    for old in existing {
      var identity = old
      identity.rules = []
      if wanted[identity] != nil { continue }
      try trees.remove(old)
      if silently { touchedNames.insert(old.name) } else { try drop(old, .sourceDeleted) }
    }
    for (var new, rules) in wanted {
      new.rules = rules
      try put(new)
    }
  }

  // MARK: All rows

  /// Drops all edges, and puts on the list all files that a rule deletes with the last row that names them.
  public func didClearAll() throws {
    var paths: Set<[UInt8]> = []
    func add(_ edge: StoredEdge, _ rules: EdgeRules?) {
      guard case .file(let path) = edge.destination, let rules, !rules.isDisjoint(with: .keeping) else { return }
      paths.insert(path)
    }
    let prefix: [UInt8] = [2]
    let cursor = try trees.byDestination.cursor()
    var isOnEntry = try cursor.seek(prefix)
    while isOnEntry, let entry = try cursor.entry, entry.key.starts(with: prefix) {
      let edge = try trees.edge(.byDestination, entry)
      add(edge, edge.rules)
      isOnEntry = try cursor.next()
    }
    // Those, too, that an edge which went before was about to delete.
    try net.forEach(.byDestination, prefix) { change throws in
      switch change.state {
      case .stands: break
      case .hidden: add(change.edge, change.edge.rules)
      case .dropped(let sourceGone, _): if sourceGone { add(change.edge, change.before) }
      }
    }
    let pending = try dropped.cursor()
    while try pending.next() {
      guard let bytes = try pending.value, let record = DroppedEdge(bytes) else { throw trees.damaged() }
      if record.sourceGone { add(record.edge, record.edge.rules) }
    }
    // Or that was to go with the last edge.
    let wish = try wishes.cursor()
    isOnEntry = try wish.seek([0] + prefix)
    while isOnEntry, let key = wish.key, key.starts(with: [0] + prefix) {
      var reader = EdgeKeyReader(bytes: key, offset: 1)
      guard case .file(let path)? = reader.end() else { throw trees.damaged() }
      paths.insert(path)
      isOnEntry = try wish.next()
    }
    for path in paths { try deleteAfterwards(path) }
    try trees.removeAll()
    try dropped.removeAll()
    try wishes.removeAll()
    try unfinished.removeAll()
    try net.removeAll()
    forgetGone()
    try forgetEdges()
  }
}
