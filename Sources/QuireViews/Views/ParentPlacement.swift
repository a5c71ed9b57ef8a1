// What is found among the rows of another view, in that view's groups and order.

internal import QuireDatabase

/// Puts what is found where another view has it, and follows that view's steps.
///
/// An entry has the order of the parent's entry, so that both lists are in one order. The parent's hooks run first:
/// when a row's change comes here, the parent shows it in its new place.
final class ParentPlacement: SearchPlacement, ViewListener {
  private let state: SearchState
  private let storage: ViewStorage
  private let view: ParentView
  private let parent: ViewStorage
  private let allowedGroups: Set<ByteString>?
  /// The row that the parent has moved last, and the groups in which that tells of its change already.
  private var moved: (rowID: RowID, groups: Set<ByteString>)?

  init(_ state: SearchState, _ storage: ViewStorage, _ view: ParentView, _ allowedGroups: Set<ByteString>?) throws {
    (self.state, self.storage, self.view, self.allowedGroups) = (state, storage, view, allowedGroups)
    parent = try view.storage(storage.store)
    parent.add(self)
  }

  /// Whether the rows of a group of the parent are shown.
  private func isAllowed(_ group: String) -> Bool { allowedGroups?.contains(ByteString(group)) ?? true }

  /// This view's entry of a row in a group.
  private func entry(_ rowID: RowID, _ group: String) throws -> ViewEntry? {
    guard let id = try storage.group(group) else { return nil }
    return try storage.trees.entries(of: rowID).first { $0.group == id }
  }

  /// The groups in which the parent shows a row, with its entries there, as far as they are allowed.
  private func parentEntries(_ rowID: RowID) throws -> [(group: String, entry: ViewEntry)] {
    try parent.trees.entries(of: rowID).compactMap { entry in
      guard let id = entry.group else { throw parent.trees.damaged() }
      let group = try parent.trees.name(of: id)
      return isAllowed(group) ? (group, entry) : nil
    }
  }

  // MARK: The search

  func settleSource() throws { try view.settle(storage.store) }

  func update(_ change: RowChange) throws {
    defer { moved = nil }
    guard let rowID = change.rowID else { return }
    for entry in try storage.trees.entries(of: rowID) {
      guard let id = entry.group else { throw storage.trees.damaged() }
      let group = try storage.trees.name(of: id)
      if let moved, moved.rowID == rowID, moved.groups.contains(ByteString(group)) { continue }
      try storage.update(change.rowKey, group, entry, change.kind.aspects)
    }
  }

  func candidates(_ rowIDs: [RowID]) throws -> [RowID] { try rowIDs.filter { try !parentEntries($0).isEmpty } }

  func show(_ rowID: RowID, isFound: Bool) throws {
    guard let key = try storage.store.readTransaction.key(of: rowID) else { return }
    for (group, parentEntry) in try parentEntries(rowID) {
      switch (try entry(rowID, group), isFound) {
      case (nil, true):
        let others = try storage.trees.entries(of: rowID)
        try storage.insert(rowID, key, group, order: parentEntry.order, others: others)
      case (let current?, false): try storage.remove(rowID, key, group, current)
      case (nil, false), (_?, true): break
      }
    }
  }

  func groups(_ selection: any RowSelection, _ watch: inout SearchWatch) throws -> [GroupArrangement] {
    let found = try selection.found(in: storage.store.readTransaction, &watch)
    // A look-up of a row costs about as much as a walk over some of its neighbours.
    let isSparse = try found.count < parent.trees.entries.count / 8
    var groups = try isSparse ? lookUp(found, &watch) : walk(found, &watch)
    let named = Set(groups.map { ByteString($0.name) })
    for group in try storage.trees.allGroups() where !named.contains(ByteString(group.name)) {
      groups.append(GroupArrangement(name: group.name, rows: []))
    }
    return groups.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
  }

  /// Looks the rows up in the parent.
  private func lookUp(_ found: Set<RowID>, _ watch: inout SearchWatch) throws -> [GroupArrangement] {
    var rows: [ByteString: [(rowID: RowID, order: [UInt8])]] = [:]
    for rowID in found.sorted() {
      guard try watch.step() else { break }
      for (group, entry) in try parentEntries(rowID) {
        rows[ByteString(group), default: []].append((rowID, entry.order))
      }
    }
    return rows.map { name, rows in
      GroupArrangement(name: name.string, rows: rows.sorted { $0.order.lexicographicallyPrecedes($1.order) })
    }
  }

  /// Walks over the parent's rows.
  private func walk(_ found: Set<RowID>, _ watch: inout SearchWatch) throws -> [GroupArrangement] {
    var groups: [GroupArrangement] = []
    for group in try parent.trees.allGroups() where isAllowed(group.name) {
      var rows: [(rowID: RowID, order: [UInt8])] = []
      for member in try parent.members(of: group.name) {
        guard try watch.step() else { break }
        if found.contains(member.rowID) { rows.append((member.rowID, member.entry.order)) }
      }
      groups.append(GroupArrangement(name: group.name, rows: rows))
    }
    return groups
  }

  // MARK: The parent's steps

  func didInsert(_ rowID: RowID, _ key: RowKey, group: String, _ entry: ViewEntry) throws {
    if state.asksRows, isAllowed(group) { state.changed.insert(rowID) }
  }

  func didRemove(_ rowID: RowID, _ key: RowKey, group: String) throws {
    if let entry = try entry(rowID, group) { try storage.remove(rowID, key, group, entry) }
  }

  func didMove(_ rowID: RowID, _ key: RowKey, group: String, _ entry: ViewEntry) throws {
    guard let old = try self.entry(rowID, group) else { return }
    try storage.move(rowID, key, group, from: old, order: entry.order)
    let groups = moved?.rowID == rowID ? moved?.groups ?? [] : []
    moved = (rowID, groups.union([ByteString(group)]))
  }

  func didRelabel(_ rows: [(rowID: RowID, entry: ViewEntry)], group: String) throws {
    let own = try rows.compactMap { row in
      try entry(row.rowID, group).map { old in
        ViewStorage.Relabelling(rowID: row.rowID, from: old, order: row.entry.order)
      }
    }
    if !own.isEmpty { try storage.relabel(own, group) }
  }

  func didArrange(_ groups: [GroupArrangement]) throws {
    // What is shown is found; of what is not, those rows are asked about that come into a group.
    var shown: Set<RowID> = []
    for group in groups { for member in try storage.members(of: group.name) { shown.insert(member.rowID) } }
    let added = Set(groups.filter { isAllowed($0.name) }.flatMap(\.added)).subtracting(shown)
    let unknown = try added.filter { try storage.trees.entries(of: $0).isEmpty }
    let found = try state.found(among: unknown.sorted())
    var own: [GroupArrangement] = []
    for group in groups where isAllowed(group.name) {
      let here = Set(try storage.members(of: group.name).map(\.rowID))
      let rows = group.rows.filter { row in
        if here.contains(row.rowID) { return true }
        return group.added.contains(row.rowID) && (!unknown.contains(row.rowID) || found.contains(row.rowID))
      }
      assert(group.added.isDisjoint(with: here), "a row is shown in a group that the parent has just put it into")
      own.append(GroupArrangement(name: group.name, rows: rows))
    }
    try storage.arrange(own)
  }

  func didReset(group: String) throws { try storage.reset(group) }
}
