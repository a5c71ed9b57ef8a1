// Building a relationship from the rows that are there.
//
// All that happens to rows from the first step to the last one counts as one change: what stands at the end is compared
// with what stood before, and the rules are applied then, as all edges are known. So what is noted of edges and of
// removed rows stays in trees from transaction to transaction, and a row that is removed and stored again while the
// relationship is built keeps its edges. Rows that went while it was not registered are nobody's to name: each step
// looks whether those that edges know of, up to where it got, still exist.

public import QuireDatabase

/// How far building has come; noted in values of the extension, so that it goes on after a crash.
struct Building {
  /// Whether edges that objects do not name any more go without consequences, as another version made them.
  let isOtherVersion: Bool
  /// The rows up to this id were looked for.
  var swept: Int64
  /// The last row that this transaction took in, and all that it did: these exist.
  var built: Int64 = 0
  var seen: Set<Int64> = []

  private static let modeName = "building"
  private static let sweptName = "swept"

  /// Finds out whether the relationship is being built.
  init?(_ store: ExtensionStore) throws {
    guard let mode = try store.value(Self.modeName, as: Int.self) else { return nil }
    isOtherVersion = mode == 2
    swept = Int64(try store.value(Self.sweptName, as: Int.self) ?? 0)
  }

  /// Begins.
  init(isOtherVersion: Bool, _ store: ExtensionStore) throws {
    self.isOtherVersion = isOtherVersion
    swept = 0
    try store.set(isOtherVersion ? 2 : 1, for: Self.modeName)
    try store.set(nil as Int?, for: Self.sweptName)
  }

  func note(_ store: ExtensionStore) throws { try store.set(Int(swept), for: Self.sweptName) }

  static func end(_ store: ExtensionStore) throws {
    try store.set(nil as Int?, for: modeName)
    try store.set(nil as Int?, for: sweptName)
  }
}

extension RelationshipWriter {
  /// Begins to build; edges by hand stay, and so do derived ones, to be compared with those of the objects.
  public func willBuild(_ reason: ExtensionBuildReason) throws {
    switch reason {
    case .new, .otherKind:
      try store.removeEverything()
      try net.removeAll()
      try dropped.removeAll()
      try forgetEdges()
      building = try Building(isOtherVersion: false, store)
    case .otherVersion: building = try Building(isOtherVersion: true, store)
    case .stale: building = try Building(isOtherVersion: building?.isOtherVersion ?? false, store)
    }
  }

  /// Asks a row's object for its edges.
  public func build(_ row: RowChange) throws {
    guard let rowID = row.rowID, let isOtherVersion = building?.isOtherVersion else { return }
    assert(
      rowID.rawValue > max(building?.built ?? 0, building?.swept ?? 0), "rows are built in another order than they have"
    )
    building?.built = rowID.rawValue
    building?.seen.insert(rowID.rawValue)
    try ask(row, rowID, isOtherVersion: isOtherVersion)
  }

  /// Asks a row that is about to change, if building has not got to it or could not find all ends of its edges: what it
  /// names until then counts, wherever building stands. An object that fails to answer names nothing.
  func askEarly(_ rowID: RowID) throws {
    guard let building else { return }
    let isAsked = rowID.rawValue <= max(building.swept, building.built)
    guard try !isAsked || unfinished.contains(rowID), let row = try store.row(rowID),
      let deriver = settings.deriver(of: row.collection), let edges = try? deriver(row)
    else { return }
    try take(edges, of: row, rowID, isOtherVersion: building.isOtherVersion)
  }

  private func ask(_ row: RowChange, _ rowID: RowID, isOtherVersion: Bool) throws {
    let edges = try settings.deriver(of: row.collection)?(row) ?? []
    try take(edges, of: row, rowID, isOtherVersion: isOtherVersion)
  }

  private func take(_ edges: [Edge], of row: RowChange, _ rowID: RowID, isOtherVersion: Bool) throws {
    isBuildingRow = true
    defer { isBuildingRow = false }
    // Most rows of most databases: no edges now, and none before.
    guard try !edges.isEmpty || trees.bySource.count > 0 else { return }
    try setDerived(edges, of: row.rowKey, rowID, isNew: false, silently: isOtherVersion)
  }

  /// Ends building; what has to be done is done when the transaction settles.
  public func didBuild() throws {
    guard let state = building else { return }
    try restoreRemoved()
    try finish(isOtherVersion: state.isOtherVersion)
    if state.isOtherVersion, !settings.hasDerivers {
      // Nothing derives any in this version.
      try trees.removeDerived()
    }
    try sweep(from: state.swept + 1, through: .max)
    building = nil
    hasBuilt = true
    try Building.end(store)
  }

  /// Asks those objects again which named rows that were not there: they may have come since. What is missing now is
  /// missing.
  private func finish(isOtherVersion: Bool) throws {
    let cursor = try unfinished.cursor()
    var rows: [RowID] = []
    while try cursor.next(), let row = cursor.key { rows.append(row) }
    if !rows.isEmpty { try unfinished.removeAll() }
    for rowID in rows {
      if let row = try store.row(rowID) { try ask(row, rowID, isOtherVersion: isOtherVersion) }
    }
  }

  /// Gives rows that were removed while the relationship was built, and stored again while it was not registered, their
  /// edges back.
  private func restoreRemoved() throws {
    var last: RowID?
    while true {
      let page = try absent.removed.stored(after: last, limit: EdgeLimits.batchCount)
      for (_, key) in page {
        if let rowID = try transaction().rowID(of: key) { try resolve(key, rowID) }
      }
      guard page.count == EdgeLimits.batchCount, let end = page.last else { return }
      last = end.id
    }
  }

  /// The end of a transaction while the relationship is being built.
  func settleBuilding() throws {
    try dropMissing()
    if let state = building, state.built > state.swept {
      try sweep(from: state.swept + 1, through: state.built)
      building?.swept = state.built
      try building?.note(store)
    }
    try net.keepForLater()
    try dropped.keepForLater()
  }

  /// Drops the edges of rows with ids in a range that do not exist. Derived ones that lead there go without
  /// consequences: building asks their objects, which may name a row that was stored in the place of the one that went.
  private func sweep(from first: Int64, through last: Int64) throws {
    isSweeping = true
    defer { isSweeping = false }
    for order in [EdgeOrder.bySource, .byDestination] {
      var next = first
      while next <= last, let row = try trees.firstRow(order, from: next), row <= last {
        // A row that is waited for has a number that may be the id of one that went.
        let isKnown = building?.seen.contains(row) == true || absent.waitingKey(row) != nil
        if try !isKnown && transaction().key(of: RowID(row)) == nil {
          try dropEdges(of: row)
        }
        guard row < .max else { return }
        next = row + 1
      }
    }
  }
}
