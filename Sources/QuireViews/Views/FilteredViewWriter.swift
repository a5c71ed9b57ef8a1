// A FilteredView in a write transaction.

public import QuireDatabase

/// Follows its parent's steps, and the rows' changes that the filter depends on.
///
/// An entry has the order of the parent's entry, so that both lists are in one order. The parent's hooks run first:
/// when this one is told of a row, the parent shows it in its new place.
public final class FilteredViewWriter<Parent: ViewExtension>: ViewWriting, ViewListener
where Parent.Writer: ViewOwner {
  public typealias Object = Parent.Object
  public typealias Metadata = Parent.Metadata

  public let store: ExtensionStore
  public let reader: ViewReader<Object, Metadata>
  private(set) var view: FilteredView<Parent>
  let parent: ViewStorage
  let storage: ViewStorage
  /// What the parent's steps have done about the row whose change is on its way.
  private var told: Told?

  private struct Told {
    let rowID: RowID
    /// The groups that it has just come into, so that it has been judged for them.
    var judged: Set<ByteString> = []
    /// The groups in which it has just moved, which tells of its change already.
    var moved: Set<ByteString> = []
  }

  init(_ view: FilteredView<Parent>, _ store: ExtensionStore) throws {
    self.view = view
    self.store = store
    parent = try store.writer(of: view.parent.name, as: Parent.self).followed.storage
    storage = try ViewStorage(store)
    reader = try ViewReader(store, view.family)
    parent.add(self)
  }

  private func passes(_ group: String, _ rowID: RowID) throws -> Bool { try passes(group, rowID, view.filter) }

  /// Whether a row of the parent is of the view's collections, and a filter lets it through.
  private func passes(_ group: String, _ rowID: RowID, _ filter: ViewFilter<Object, Metadata>) throws -> Bool {
    guard let row = try reader.rowIfDescribed(rowID) else { return false }
    return try filter.isIncluded(group, row)
  }

  /// This view's entry of a row in a group.
  private func entry(_ rowID: RowID, _ group: String) throws -> ViewEntry? {
    guard let id = try storage.group(group) else { return nil }
    return try storage.trees.entries(of: rowID).first { $0.group == id }
  }

  private func insert(_ rowID: RowID, _ key: RowKey, _ group: String, _ entry: ViewEntry) throws {
    try storage.insert(rowID, key, group, order: entry.order, others: try storage.trees.entries(of: rowID))
  }

  // MARK: Live change

  /// The version that the view has in this transaction.
  public var version: String { view.version }

  /// Lets the view show those rows of its parent that another filter lets through, from now on in this transaction and,
  /// if it commits, for all that come; `version` is stored as the view's, and is what to register it with at the next
  /// opening. Only rows that come or go are told. Filtered views of this one follow.
  ///
  /// Asks the filter for all rows of the parent that are of the view's collections, also for those from before the view
  /// was registered for the first time: O(n log n) time, and memory for the ids and orders of those that pass.
  /// If it throws, nothing has changed.
  ///
  /// - Returns: whether there was anything to do: false if the view has this version.
  /// - Throws: what the filter throws, `invalidOption` for a version that is too long, and as changes of rows.
  @discardableResult
  public func setFilter(_ filter: ViewFilter<Object, Metadata>, version: String) throws -> Bool {
    guard !version.hasSameBytes(as: view.version), let tx = store.writeTransaction else { return false }
    let new = view.with(filter, version: version)
    let passing = passing(filter)
    let groups = try parent.trees.allGroups().map { group in
      let rows = try passing(parent.members(of: group.name), group.name)
      return GroupArrangement(name: group.name, rows: rows.map { ($0.rowID, $0.entry.order) })
    }
    try tx.savepoint {
      try store.replaceExtension(with: new)
      view = new
      try storage.arrange(groups)
    }
    return true
  }

  private typealias Members = [(rowID: RowID, entry: ViewEntry)]

  /// What finds those of a group's rows that a filter lets through: by one of their fields, if that tells it.
  private func passing(_ filter: ViewFilter<Object, Metadata>) -> (Members, String) throws -> Members {
    guard let filters = fieldFilters(filter) else {
      return { [self] members, group in try members.filter { try passes(group, $0.rowID, filter) } }
    }
    return { members, _ in
      var found: Set<RowID> = []
      for filter in filters { try filter.forEachPassing(among: members.map(\.rowID)) { found.insert($0) } }
      return members.filter { found.contains($0.rowID) }
    }
  }

  // MARK: The parent's steps

  func didInsert(_ rowID: RowID, _ key: RowKey, group: String, _ entry: ViewEntry) throws {
    guard view.collections.contains(key.collection) else { return }
    told(rowID) { $0.judged.insert(ByteString(group)) }
    if try passes(group, rowID) { try insert(rowID, key, group, entry) }
  }

  func didRemove(_ rowID: RowID, _ key: RowKey, group: String) throws {
    if let entry = try entry(rowID, group) { try storage.remove(rowID, key, group, entry) }
  }

  func didMove(_ rowID: RowID, _ key: RowKey, group: String, _ entry: ViewEntry) throws {
    if let old = try self.entry(rowID, group) {
      try storage.move(rowID, key, group, from: old, order: entry.order)
      told(rowID) { $0.moved.insert(ByteString(group)) }
    }
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
    var own: [GroupArrangement] = []
    for group in groups {
      let shown = Set(try storage.members(of: group.name).map(\.rowID))
      // What is said of a row that stays in its group was said before.
      let rows = try group.rows.filter { row in
        try group.added.contains(row.rowID) ? passes(group.name, row.rowID) : shown.contains(row.rowID)
      }
      own.append(GroupArrangement(name: group.name, rows: rows))
    }
    try storage.arrange(own)
  }

  func didReset(group: String) throws { try storage.reset(group) }

  private func told(_ rowID: RowID, _ change: (inout Told) -> Void) {
    var now = told?.rowID == rowID ? told ?? Told(rowID: rowID) : Told(rowID: rowID)
    change(&now)
    told = now
  }

  // MARK: Hooks

  public func willBuild(_ reason: ExtensionBuildReason) throws {
    guard reason.hasSameKind, !view.isBuiltFromRows else { return try store.removeEverything() }
    // Which rows were taken in nothing tells but the view itself. The parent may have been built anew: they are judged
    // in the groups that it has them in.
    let rows = try storage.trees.allRows()
    try store.removeEverything()
    for rowID in rows {
      if let row = try store.row(rowID), view.collections.contains(row.collection) { try build(row) }
    }
  }

  public func build(_ row: RowChange) throws {
    let wasRecording = storage.isRecording
    storage.isRecording = false
    defer { storage.isRecording = wasRecording }
    guard let rowID = row.rowID else { return }
    try judge(rowID, row.rowKey) { _ in (mayDiffer: true, aspects: []) }
  }

  /// What a step of the parent's has had judged before, the change that comes may make wrong: a list that the app
  /// orders takes steps without any change.
  public func willChange(_ change: RowChange) throws { told = nil }

  public func didChange(_ change: RowChange) throws {
    defer { told = nil }
    guard let rowID = change.rowID, change.kind != .remove else { return }
    let known = told?.rowID == rowID ? told : nil
    try judge(rowID, change.rowKey) { group in
      if known?.judged.contains(group) == true { return (false, []) }
      let isMoved = known?.moved.contains(group) == true
      return (change.kind.changes(view.filter.halves), isMoved ? [] : change.kind.aspects)
    }
  }

  /// Brings a row in or takes it out, in each group of the parent that it is in; tells of its change if it stays.
  private func judge(
    _ rowID: RowID, _ key: RowKey, _ what: (ByteString) -> (mayDiffer: Bool, aspects: ViewAspects)
  ) throws {
    for parentEntry in try parent.trees.entries(of: rowID) {
      guard let id = parentEntry.group else { throw parent.trees.damaged() }
      let group = try parent.trees.name(of: id)
      let current = try entry(rowID, group)
      let (mayDiffer, aspects) = what(ByteString(group))
      let isIncluded = mayDiffer ? try passes(group, rowID) : current != nil
      switch (current, isIncluded) {
      case (nil, true): try insert(rowID, key, group, parentEntry)
      case (let current?, false): try storage.remove(rowID, key, group, current)
      case (let current?, true): if !aspects.isEmpty { try storage.update(key, group, current, aspects) }
      case (nil, false): break
      }
    }
  }

  public func didClearAll() throws {
    // The parent has emptied itself, and this with it.
    try storage.resetAll()
  }

  public func takeChanges() -> ViewChanges? {
    storage.operations.isEmpty ? nil : ViewChanges(operations: storage.operations)
  }

  public func makeMark() -> Any? { (storage.makeMark(), view) }

  public func restore(_ mark: Any?) {
    told = nil
    guard let (mark, view) = mark as? (Int, FilteredView<Parent>) else { return }
    storage.restore(mark)
    self.view = view
  }
}
