// What happens to rows, and to their edges with them.

public import QuireDatabase

extension RelationshipWriter {
  /// Edges lead to rows that building has not got to, and what becomes of these must be known by their keys.
  public var followsUnbuiltRows: Bool { true }

  /// Keeps what has to be known of a row when it is gone.
  public func willChange(_ change: RowChange) throws {
    if building != nil, change.kind != .insert, let rowID = change.rowID { try askEarly(rowID) }
    switch change.kind {
    case .insert, .update, .replaceObject:
      if derivers.find(change.collection, settings) != nil { stores.begin(change.rowKey) }
    case .remove: try notices.willRemove(change)
    case .replaceMetadata, .touchObject, .touchMetadata, .touchRow: break
    }
  }

  /// Asks an object for its edges, or drops those of a row.
  public func didChange(_ change: RowChange) throws {
    guard let rowID = change.rowID else { return }
    switch change.kind {
    case .insert:
      firstNew = min(firstNew, rowID.rawValue)
      deletion.noteReturn(of: rowID)
      let isAwaited = try !absent.isEmpty
      // A hook may have removed it again, and stored another one.
      if try isAwaited && transaction().rowID(of: change.rowKey) == rowID { try resolve(change.rowKey, rowID) }
      try derive(change, rowID)
    case .update: try derive(change, rowID)
    case .replaceObject:
      // An object that was told of an edge is not asked for its edges: if it still named that edge it would be told
      // again, for ever.
      if notices.toldRow == rowID { _ = stores.end(change.rowKey) } else { try derive(change, rowID) }
    case .remove:
      stores.noteChange()
      try didRemove(rowID.rawValue, change.rowKey)
    case .replaceMetadata, .touchObject, .touchMetadata, .touchRow: break
    }
  }

  private func derive(_ change: RowChange, _ rowID: RowID) throws {
    guard let deriver = derivers.find(change.collection, settings) else { return }
    if stores.end(change.rowKey) {
      return try setDerived(
        try deriver(change), of: change.rowKey, rowID, isNew: change.kind == .insert,
        silently: false)
    }
    // Rows were changed since this store began, by a coder or a hook, and it may be this row: what counts is the row as
    // it is now.
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
    if isNew, edges.count < 2, try net.isEmpty {
      guard let edge = edges.first else { return }
      let new = try derived(edge, key, rowID)
      // Unless a row that was waited for has come meanwhile.
      if try net.isEmpty { return try put(new, isOfNewRow: true) }
    }
    var wanted: [StoredEdge: EdgeRules] = [:]
    for edge in edges {
      var new = try derived(edge, key, rowID)
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
      if silently { names.insert(old.name) } else { try drop(old, .sourceDeleted) }
    }
    for (var new, rules) in wanted {
      new.rules = rules
      try put(new)
    }
  }

  /// An edge that an object has derived, as it is stored.
  private func derived(_ edge: Edge, _ key: RowKey, _ rowID: RowID) throws -> StoredEdge {
    if let source = edge.source, source != key {
      throw edge.invalid("was derived by the object of \(key), and begins elsewhere: leave its source out")
    }
    let whole = Edge(edge.name, key, edge.destination, edge.rules, isDerived: true)
    try whole.check(mayBeToTell)
    return try stored(whole, from: rowID.rawValue, isDerived: true)
  }

  // MARK: All rows

  /// Drops all edges, and puts on the list all files that a rule deletes with the last row that names them.
  public func didClearAll() throws {
    var paths: Set<[UInt8]> = []
    func add(_ edge: StoredEdge, _ rules: EdgeRules?) {
      guard case .file(let path) = edge.destination, let rules, !rules.isDisjoint(with: .keeping) else { return }
      paths.insert(path)
    }
    let prefix = StoredEdge.filePrefix
    let cursor = try trees.byDestination.cursor()
    var isOnEntry = try cursor.seek(prefix)
    while isOnEntry, let entry = try cursor.entry, entry.key.starts(with: prefix) {
      let edge = try trees.edge(.byDestination, entry)
      add(edge, edge.rules)
      isOnEntry = try cursor.next()
    }
    // Those, too, that an edge which went before was about to delete.
    try net.forEach(.files) { change throws in
      switch change.state {
      case .stands: break
      case .hidden: add(change.edge, change.edge.rules)
      case .dropped(let sourceGone, _): if sourceGone { add(change.edge, change.before) }
      }
    }
    try dropped.forEachOfGoneSource { add($0.edge, $0.edge.rules) }
    // Or that was to go with the last edge.
    try dropped.forEachAwaitedFile { paths.insert($0) }
    for path in paths { try files.append(path) }
    try trees.removeAll()
    try dropped.removeAll()
    try unfinished.removeAll()
    try net.removeAll()
    notices.removeAll()
    try forgetEdges()
  }
}
