// The trees of a view in a write transaction, and the steps of its change.

internal import QuireDatabase

/// Who follows the steps of a view inside the transaction: the filtered views of it.
protocol ViewListener: AnyObject {
  /// A row was put into a group.
  func didInsert(_ rowID: RowID, _ key: RowKey, group: String, _ entry: ViewEntry) throws
  /// A row was taken out of a group.
  func didRemove(_ rowID: RowID, _ key: RowKey, group: String) throws
  /// A row has got another place in its group.
  func didMove(_ rowID: RowID, _ key: RowKey, group: String, _ entry: ViewEntry) throws
  /// Rows have got other orders that leave them where they are: no step that anybody else is told of. What one has got
  /// may be what another one had.
  func didRelabel(_ rows: [(rowID: RowID, entry: ViewEntry)], group: String) throws
  /// Groups have got other rows, or their rows another order.
  func didArrange(_ groups: [GroupArrangement]) throws
  /// A group was emptied.
  func didReset(group: String) throws
}

/// Changes a view's trees, notes each step, and tells those who listen.
final class ViewStorage {
  let trees: ViewTrees
  let store: ExtensionStore
  /// The numbers of groups that were looked up, nil for those that are not there.
  private var known: [ByteString: GroupID?] = [:]
  private(set) var operations: [ViewOperation] = []
  /// Whether steps are noted; not while the view is built.
  var isRecording = true
  private var listeners: [Listener] = []

  private struct Listener {
    weak var value: (any ViewListener)?
  }

  init(_ store: ExtensionStore) throws {
    self.store = store
    trees = try ViewTrees(store)
  }

  /// Whether somebody follows the steps.
  var isFollowed: Bool { listeners.contains { $0.value != nil } }

  func add(_ listener: any ViewListener) { listeners.append(Listener(value: listener)) }

  /// Tells the listeners. What one throws ends the transaction, also if the app goes on after it: the listener would
  /// not show any more what this view shows.
  func tell(_ body: (any ViewListener) throws -> Void) throws {
    do {
      for listener in listeners { if let value = listener.value { try body(value) } }
    } catch {
      store.noting(()) { throw error }
      throw error
    }
  }

  // MARK: Groups

  func group(_ name: String) throws -> GroupID? {
    if let group = known[ByteString(name)] { return group }
    let group = try trees.group(name)
    known[ByteString(name)] = .some(group)
    return group
  }

  /// The number of a group, which is made if it is not there.
  func makeGroup(_ name: String) throws -> GroupID {
    if let group = try group(name) { return group }
    let noted = try store.value("lastGroup", as: Int.self) ?? 0
    // In a view that was salvaged the note may be lost.
    let cursor = try trees.names.cursor()
    let last = max(noted, try cursor.seekLast() ? Int(cursor.key?.rawValue ?? 0) : 0)
    guard last < Int(UInt32.max) - 2 else {
      throw DatabaseError(.limitReached, "The view “\(store.name)” has used up the numbers of its groups.")
    }
    let group = GroupID(rawValue: UInt32(last + 1))
    try store.set(last + 1, for: "lastGroup")
    try trees.groups.put(group.prefix, for: Array(name.utf8))
    try trees.names.put(Array(name.utf8), for: group.nameKey)
    known[ByteString(name)] = .some(group)
    note(.insertGroup(name))
    return group
  }

  func note(_ operation: @autoclosure () throws -> ViewOperation) rethrows {
    if isRecording { operations.append(try operation()) }
  }

  // MARK: Rows

  /// Puts a row into a group, and returns its entry there. It is not in that group yet; `others` are its entries in
  /// other groups.
  @discardableResult
  func insert(
    _ rowID: RowID, _ key: RowKey, _ name: String, order: [UInt8], others: [ViewEntry] = []
  ) throws -> ViewEntry {
    let group = try makeGroup(name)
    let entry = ViewEntry(group, order)
    try trees.entries.put(rowID.orderedBytes, for: entry.key)
    try trees.rows.put(ViewTrees.encode(others.isEmpty ? [entry] : others + [entry]), for: rowID)
    try note(.insert(key, group: name, index: trees.index(of: entry, in: group)))
    try tell { try $0.didInsert(rowID, key, group: name, entry) }
    return entry
  }

  /// Takes a row out of one of its groups.
  func remove(_ rowID: RowID, _ key: RowKey, _ name: String, _ entry: ViewEntry) throws {
    guard let group = try group(name) else { throw trees.damaged() }
    let index = isRecording ? try trees.index(of: entry, in: group) : 0
    try trees.entries.remove(entry.key)
    try setEntries(of: rowID, try trees.entries(of: rowID).filter { $0 != entry })
    note(.remove(key, group: name, index: index))
    try tell { try $0.didRemove(rowID, key, group: name) }
    try removeGroupIfEmpty(name, group)
  }

  /// Takes a row out of all groups that it is in. Returns whether it was in any.
  @discardableResult
  func removeFromAll(_ rowID: RowID, _ key: RowKey) throws -> Bool {
    let entries = try trees.entries(of: rowID)
    for entry in entries {
      guard let group = entry.group else { throw trees.damaged() }
      try remove(rowID, key, try trees.name(of: group), entry)
    }
    return !entries.isEmpty
  }

  /// Notes where a row stands.
  func setEntries(of rowID: RowID, _ entries: [ViewEntry]) throws {
    if entries.isEmpty {
      try trees.rows.remove(rowID)
    } else {
      try trees.rows.put(ViewTrees.encode(entries), for: rowID)
    }
  }

  func removeGroupIfEmpty(_ name: String, _ group: GroupID) throws {
    guard try trees.count(group) == 0 else { return }
    try trees.groups.remove(Array(name.utf8))
    try trees.names.remove(group.nameKey)
    known[ByteString(name)] = .some(nil)
    note(.removeGroup(name))
  }

  /// Gives a row another place in its group.
  func move(_ rowID: RowID, _ key: RowKey, _ name: String, from old: ViewEntry, order: [UInt8]) throws {
    guard let group = try group(name) else { throw trees.damaged() }
    let index = isRecording ? try trees.index(of: old, in: group) : 0
    let entry = ViewEntry(group, order)
    try replace([Relabelling(rowID: rowID, from: old, order: order)], in: group)
    if isRecording {
      note(.remove(key, group: name, index: index))
      try note(.insert(key, group: name, index: trees.index(of: entry, in: group)))
    }
    try tell { try $0.didMove(rowID, key, group: name, entry) }
  }

  /// A row that gets another order.
  struct Relabelling {
    let rowID: RowID
    let from: ViewEntry
    let order: [UInt8]
  }

  /// Gives rows of a group other orders that leave them where they are among their neighbours.
  func relabel(_ rows: [Relabelling], _ name: String) throws {
    guard let group = try group(name) else { throw trees.damaged() }
    try replace(rows, in: group)
    try tell { try $0.didRelabel(rows.map { ($0.rowID, ViewEntry(group, $0.order)) }, group: name) }
  }

  /// Gives rows of a group other orders.
  func replace(_ rows: [Relabelling], in group: GroupID) throws {
    assert(Set(rows.map(\.order)).count == rows.count, "two rows of a group get one order")
    // All out of the way first: the new order of one may be the old one of another.
    for row in rows { try trees.entries.remove(row.from.key) }
    for row in rows {
      let entry = ViewEntry(group, row.order)
      try trees.entries.put(row.rowID.orderedBytes, for: entry.key)
      try setEntries(of: row.rowID, try trees.entries(of: row.rowID).map { $0 == row.from ? entry : $0 })
    }
  }

  /// Tells that a row was changed and stays where it is.
  func update(_ key: RowKey, _ name: String, _ entry: ViewEntry, _ aspects: ViewAspects) throws {
    guard isRecording, let group = try group(name) else { return }
    try note(.update(key, group: name, index: trees.index(of: entry, in: group), aspects))
  }

  // MARK: Many rows

  /// Takes all rows out of a group.
  func reset(_ name: String) throws {
    guard let group = try group(name) else { return }
    let count = try trees.count(group)
    for (rowID, entry) in try members(of: name) {
      try setEntries(of: rowID, try trees.entries(of: rowID).filter { $0 != entry })
    }
    try trees.entries.remove(from: group.prefix, upTo: group.end)
    try trees.groups.remove(Array(name.utf8))
    try trees.names.remove(group.nameKey)
    try didReset(name, count)
  }

  private func didReset(_ name: String, _ count: Int) throws {
    known[ByteString(name)] = .some(nil)
    note(.resetGroup(name, count: count))
    note(.removeGroup(name))
    try tell { try $0.didReset(group: name) }
  }

  /// Takes all rows out of all groups.
  func resetAll() throws {
    let groups = try trees.allGroups().map { (name: $0.name, count: try trees.count($0.id)) }
    try trees.entries.removeAll()
    try trees.rows.removeAll()
    try trees.groups.removeAll()
    try trees.names.removeAll()
    known.removeAll()
    for group in groups { try didReset(group.name, group.count) }
  }

  // MARK: Savepoints

  func makeMark() -> Int { operations.count }

  func restore(_ mark: Int) {
    assert(mark <= operations.count, "steps were taken back that a savepoint goes back to")
    operations.removeLast(operations.count - mark)
    known.removeAll()
  }
}
