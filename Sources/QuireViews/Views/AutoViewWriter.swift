// An AutoView in a write transaction.

public import QuireDatabase

/// Follows the rows of a transaction for an `AutoView`.
public final class AutoViewWriter<Object: Sendable, Metadata: Sendable>: ViewWriting {
  public let store: ExtensionStore
  public let reader: ViewReader<Object, Metadata>
  var view: AutoView<Object, Metadata> {
    didSet { (placer.grouping, placer.sorting) = (view.grouping, view.sorting) }
  }
  let storage: ViewStorage
  let placer: RowPlacer<Object, Metadata>

  init(_ view: AutoView<Object, Metadata>, _ store: ExtensionStore) throws {
    self.view = view
    self.store = store
    storage = try ViewStorage(store)
    reader = try ViewReader(store, view.family)
    placer = RowPlacer(storage, reader, view.grouping, view.sorting)
  }

  // MARK: Hooks

  public var needsWillChange: Bool { false }

  public func build(_ row: RowChange) throws {
    storage.isRecording = false
    defer { storage.isRecording = true }
    try placer.insert(row)
  }

  public func didChange(_ change: RowChange) throws {
    guard let rowID = change.rowID else { return }
    if change.kind == .remove {
      try storage.removeFromAll(rowID, change.rowKey)
    } else {
      try placer.place(change)
    }
  }

  public func willBuild(_ reason: ExtensionBuildReason) throws {
    guard reason.hasSameKind, !view.isBuiltFromRows else { return try store.removeEverything() }
    // Which rows were taken in nothing tells but the view itself. They are all placed anew: those that have changed
    // without it would not be found between their neighbours.
    let rows = try storage.trees.allRows()
    try store.removeEverything()
    for rowID in rows {
      if let row = try store.row(rowID), collectionsContain(row) { try build(row) }
    }
  }

  private func collectionsContain(_ row: RowChange) -> Bool { view.collections.contains(row.collection) }

  public func didClearAll() throws { try storage.resetAll() }

  public func takeChanges() -> ViewChanges? {
    assert(placer.isAtRest, "rows of a hook are kept that is over")
    return storage.operations.isEmpty ? nil : ViewChanges(operations: storage.operations)
  }

  public func makeMark() -> Any? { (storage.makeMark(), view) }

  public func restore(_ mark: Any?) {
    guard let (mark, view) = mark as? (Int, AutoView<Object, Metadata>) else { return }
    storage.restore(mark)
    self.view = view
  }
}
