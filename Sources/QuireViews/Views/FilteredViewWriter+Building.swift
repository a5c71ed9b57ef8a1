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
    guard !storage.isFollowed, let bounds = rows.bounds, try !storage.trees.hasRows(in: bounds),
      let filters = fieldFilters(view.filter)
    else { return false }
    // Rows that the parent does not show are none of the filter's.
    let shown = try ShownRows(bounds, in: parent.trees)
    var passing: [RowID] = []
    for filter in filters { try filter.forEachPassing(in: rows, among: shown.rowIDs) { passing.append($0) } }
    if filters.count > 1 { passing.sort() }
    assert(zip(passing, passing.dropFirst()).allSatisfy { $0 < $1 }, "a row is in two collections")
    var (batch, groups) = (EntryBatch(), [GroupID: GroupID]())
    try shown.forEach(passing, in: parent.trees) { rowID, entry in
      guard let id = entry.group else { throw parent.trees.damaged() }
      let own = try groups[id] ?? storage.makeGroup(parent.trees.name(of: id))
      groups[id] = own
      batch.append(rowID, own, order: entry.key[4...])
    }
    try batch.store(in: storage.trees, from: parent.trees)
    return true
  }

  /// What asks a filter about stored rows, collection by collection; nil if fields do not tell what it asks.
  func fieldFilters(_ filter: ViewFilter<Object, Metadata>) -> [FieldFilter<Object, Metadata>]? {
    guard let told = filter.told, let collections = view.family.fewCollections(in: store) else { return nil }
    let filters = collections.compactMap { FieldFilter(store.readTransaction[$0], told) }
    return filters.count == collections.count ? filters : nil
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

/// The rows of a part of the numbers that a view shows, and where they stand, as it is stored.
///
/// Invariant: `rowIDs` ascend, and each has its bytes in `bytes`, from the end of those before it to its own end.
private struct ShownRows {
  private(set) var rowIDs: [RowID] = []
  private var ends: [Int] = []
  private var bytes: [UInt8] = []

  private init() {}

  init(_ bounds: ClosedRange<RowID>, in trees: ViewTrees) throws {
    var found = Self()
    try trees.rows.forEach(from: bounds.lowerBound) { rowID, entries in
      guard rowID <= bounds.upperBound else { return false }
      // Out of order, what follows would not be found.
      if let last = found.rowIDs.last, rowID <= last { throw trees.damaged() }
      found.rowIDs.append(rowID)
      unsafe entries.withUnsafeBytes { unsafe found.bytes.append(contentsOf: $0) }
      found.ends.append(found.bytes.count)
      return true
    }
    self = found
  }

  /// Calls `body` with each entry of some of the rows, which ascend.
  func forEach(_ some: [RowID], in trees: ViewTrees, _ body: (RowID, ViewEntry) throws -> Void) throws {
    var index = 0
    for rowID in some {
      while index < rowIDs.count, rowIDs[index] < rowID { index += 1 }
      guard index < rowIDs.count, rowIDs[index] == rowID else { continue }
      let start = index == 0 ? 0 : ends[index - 1]
      for entry in try trees.decodeEntries(Array(bytes[start..<ends[index]])) { try body(rowID, entry) }
    }
  }
}
