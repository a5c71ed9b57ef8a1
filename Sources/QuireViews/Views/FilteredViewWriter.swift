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
  private let view: FilteredView<Parent>
  private let parent: ViewStorage
  let storage: ViewStorage
  /// The row that a step of the parent has just had judged.
  private var judged: RowID?

  init(_ view: FilteredView<Parent>, _ store: ExtensionStore) throws {
    self.view = view
    self.store = store
    parent = try store.writer(of: view.parent.name, as: Parent.self).followed.storage
    storage = try ViewStorage(store)
    reader = try ViewReader(store, view.descriptions)
    parent.add(self)
  }

  private func passes(_ group: String, _ rowID: RowID) throws -> Bool {
    try view.filter.isIncluded(group, reader.row(of: rowID))
  }

  /// This view's entry of a row in a group.
  private func entry(_ rowID: RowID, _ group: String) throws -> ViewEntry? {
    guard let id = try storage.group(group) else { return nil }
    return try storage.trees.entries(of: rowID).first { $0.group == id }
  }

  private func insert(_ rowID: RowID, _ key: RowKey, _ group: String, _ entry: ViewEntry) throws {
    try storage.insert(rowID, key, group, order: entry.order, others: try storage.trees.entries(of: rowID))
  }

  // MARK: The parent's steps

  func didInsert(_ rowID: RowID, _ key: RowKey, group: String, _ entry: ViewEntry) throws {
    judged = rowID
    if try passes(group, rowID) { try insert(rowID, key, group, entry) }
  }

  func didRemove(_ rowID: RowID, _ key: RowKey, group: String) throws {
    if let entry = try entry(rowID, group) { try storage.remove(rowID, key, group, entry) }
  }

  func didMove(_ rowID: RowID, _ key: RowKey, group: String, _ entry: ViewEntry) throws {
    if let old = try self.entry(rowID, group) {
      try storage.move(rowID, key, group, from: old, order: entry.order)
      moved = rowID
    }
  }

  func didRelabel(_ rowID: RowID, group: String, _ entry: ViewEntry) throws {
    if let old = try self.entry(rowID, group) { try storage.relabel(rowID, group, from: old, order: entry.order) }
  }

  func didReset(group: String) throws { try storage.reset(group) }

  /// The row that a step of the parent has just moved: that tells of its change already.
  private var moved: RowID?

  // MARK: Hooks

  public func build(_ row: RowChange) throws {
    storage.isRecording = false
    defer { storage.isRecording = true }
    guard let rowID = row.rowID else { return }
    try judge(rowID, row.rowKey, mayDiffer: true, aspects: [])
  }

  public func didChange(_ change: RowChange) throws {
    defer { (judged, moved) = (nil, nil) }
    guard let rowID = change.rowID, change.kind != .remove else { return }
    let isJudged = judged == rowID
    try judge(
      rowID, change.rowKey, mayDiffer: !isJudged && change.kind.changes(view.filter.parts),
      aspects: isJudged || moved == rowID ? [] : change.kind.aspects)
  }

  /// Brings a row in or takes it out, in each group of the parent that it is in; tells of its change if it stays.
  private func judge(_ rowID: RowID, _ key: RowKey, mayDiffer: Bool, aspects: ViewAspects) throws {
    for parentEntry in try parent.trees.entries(of: rowID) {
      guard let id = parentEntry.group else { throw ViewTrees.damaged() }
      let group = try parent.trees.name(of: id)
      let current = try entry(rowID, group)
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

  public func makeMark() -> Any? { storage.makeMark() }

  public func restore(_ mark: Any?) {
    (judged, moved) = (nil, nil)
    storage.restore(mark as? Int ?? 0)
  }
}
