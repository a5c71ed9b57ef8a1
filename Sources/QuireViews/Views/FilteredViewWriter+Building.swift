// Building a filtered view of the rows that its parent shows.

public import QuireDatabase

extension FilteredViewWriter {
  /// Takes in the rows of a step of building: by one of their fields, if that tells the filter.
  public func build(_ rows: UnbuiltRows) throws {
    storage.isRecording = false
    defer { storage.isRecording = true }
    if try !takeByField(rows) { try takeOneByOne(rows) }
  }

  /// Takes in the rows of a step that pass by one of their fields. Returns false, with nothing done, where the rows
  /// have to be asked one by one.
  private func takeByField(_ rows: UnbuiltRows) throws -> Bool {
    // The parent's steps may have brought some in before their turn.
    guard let told = view.filter.told, !storage.isFollowed, let bounds = rows.bounds,
      try !storage.trees.hasRows(in: bounds), let collections = view.family.fewCollections(in: store)
    else { return false }
    let filters = collections.compactMap { FieldFilter(store.readTransaction[$0], told) }
    guard filters.count == collections.count else { return false }
    let shown = try shownByParent(bounds)
    // Rows that the parent does not show are none of the filter's.
    let rowIDs = shown.map(\.rowID)
    var passing: Set<RowID> = []
    for filter in filters {
      try filter.forEachPassing(in: rows, among: rowIDs) { rowID in
        assert(!passing.contains(rowID), "a row is of two collections")
        passing.insert(rowID)
      }
    }
    var (batch, groups) = (EntryBatch(), [GroupID: GroupID]())
    for (rowID, entries) in shown where passing.contains(rowID) {
      for entry in entries {
        guard let id = entry.group else { throw parent.trees.damaged() }
        let own = try groups[id] ?? storage.makeGroup(parent.trees.name(of: id))
        groups[id] = own
        batch.append(rowID, own, order: entry.key[4...])
      }
    }
    try batch.store(in: storage.trees)
    return true
  }

  /// The rows of a part of the numbers that the parent shows, in their order, with its entries of them.
  private func shownByParent(_ bounds: ClosedRange<RowID>) throws -> [(rowID: RowID, entries: [ViewEntry])] {
    var shown: [(rowID: RowID, entries: [ViewEntry])] = []
    try parent.trees.rows.forEach(from: bounds.lowerBound) { rowID, bytes in
      guard rowID <= bounds.upperBound else { return false }
      shown.append((rowID, try parent.trees.decodeEntries(unsafe bytes.withUnsafeBytes { unsafe [UInt8]($0) })))
      return true
    }
    return shown
  }

  private func takeOneByOne(_ rows: UnbuiltRows) throws {
    // Many rows stand in the group of the parent that the row before stands in.
    var last: (id: GroupID, name: String)?
    try rows.forEach { change in
      guard let rowID = change.rowID else { return }
      let parentEntries = try parent.trees.entries(of: rowID)
      if parentEntries.isEmpty { return }
      // The parent's steps may have brought it in before its turn.
      guard try storage.trees.entries(of: rowID).isEmpty else { return try build(change) }
      storage.isRecording = false
      // What is handed over is the row as it is, decoded once for all groups.
      guard let row = reader.row(change) else { return }
      var own: [ViewEntry] = []
      for entry in parentEntries {
        guard let id = entry.group else { throw parent.trees.damaged() }
        let name = if let last, last.id == id { last.name } else { try parent.trees.name(of: id) }
        last = (id, name)
        guard try view.filter.isIncluded(name, row) else { continue }
        own.append(try storage.insert(rowID, change.rowKey, name, order: entry.order, others: own))
      }
    }
  }
}
