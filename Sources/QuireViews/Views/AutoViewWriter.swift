// An AutoView in a write transaction.

public import QuireDatabase

/// Follows the rows of a transaction for an `AutoView`.
public final class AutoViewWriter<Object: Sendable, Metadata: Sendable>: ViewWriting {
  public let store: ExtensionStore
  public let reader: ViewReader<Object, Metadata>
  var view: AutoView<Object, Metadata>
  let storage: ViewStorage
  let labels: LabelledOrder
  /// The rows that the row of this hook was compared with, some log2(n): each is decoded once for it. Empty between
  /// hooks.
  private var compared: [(rowID: RowID, row: ViewRow<Object, Metadata>)] = []

  init(_ view: AutoView<Object, Metadata>, _ store: ExtensionStore) throws {
    self.view = view
    self.store = store
    storage = try ViewStorage(store)
    labels = LabelledOrder(storage)
    reader = try ViewReader(store, view.family)
  }

  // MARK: Hooks

  public var needsWillChange: Bool { false }

  public func build(_ row: RowChange) throws {
    storage.isRecording = false
    defer {
      storage.isRecording = true
      compared.removeAll(keepingCapacity: true)
    }
    guard let rowID = row.rowID, let shown = viewRow(row) else { return }
    try insert(shown, rowID, into: unique(view.grouping.groups(shown)), others: [])
  }

  public func didChange(_ change: RowChange) throws {
    guard let rowID = change.rowID else { return }
    if change.kind == .remove { return try remove(rowID, change.rowKey) }
    guard let row = viewRow(change) else { return }
    defer { compared.removeAll(keepingCapacity: true) }
    try place(row, rowID, change)
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
    assert(compared.isEmpty, "rows of a hook are kept that is over")
    return storage.operations.isEmpty ? nil : ViewChanges(operations: storage.operations)
  }

  public func makeMark() -> Any? { (storage.makeMark(), view) }

  public func restore(_ mark: Any?) {
    guard let (mark, view) = mark as? (Int, AutoView<Object, Metadata>) else { return }
    storage.restore(mark)
    self.view = view
  }

  // MARK: Placing rows

  private func viewRow(_ change: RowChange) -> ViewRow<Object, Metadata>? { reader.row(change) }

  /// The row of an id, to be compared with.
  func viewRow(_ rowID: RowID) throws -> ViewRow<Object, Metadata> {
    guard let change = try store.row(rowID), let row = viewRow(change) else { throw storage.trees.damaged() }
    return row
  }

  /// The row of an id that the row of this hook is compared with.
  private func comparedRow(_ rowID: RowID) throws -> ViewRow<Object, Metadata> {
    for known in compared where known.rowID == rowID { return known.row }
    let row = try viewRow(rowID)
    compared.append((rowID, row))
    return row
  }

  func unique(_ names: [String]) -> [String] {
    guard names.count > 1 else { return names }
    var seen: Set<[UInt8]> = []
    return names.filter { seen.insert(Array($0.utf8)).inserted }
  }

  private func remove(_ rowID: RowID, _ key: RowKey) throws {
    for entry in try storage.trees.entries(of: rowID) {
      guard let group = entry.group else { throw storage.trees.damaged() }
      try storage.remove(rowID, key, try storage.trees.name(of: group), entry)
    }
  }

  /// Brings a row that was stored or touched to its place.
  private func place(_ row: ViewRow<Object, Metadata>, _ rowID: RowID, _ change: RowChange) throws {
    let aspects = change.kind.aspects
    let old = try storage.trees.entries(of: rowID)
    let isRegrouped = change.kind == .insert || change.kind.changes(view.grouping.halves)
    let isResorted = change.kind.changes(view.sorting.halves)
    if old.isEmpty {
      // Not in the view, and what decides about that has not changed.
      guard isRegrouped else { return }
      return try insert(row, rowID, into: unique(view.grouping.groups(row)), others: [])
    }
    var current: [(name: String, entry: ViewEntry)] = []
    for entry in old {
      guard let group = entry.group else { throw storage.trees.damaged() }
      current.append((try storage.trees.name(of: group), entry))
    }
    let wanted = isRegrouped ? unique(try view.grouping.groups(row)) : current.map(\.name)
    for (name, entry) in current where !wanted.contains(where: { $0.utf8.elementsEqual(name.utf8) }) {
      try storage.remove(rowID, change.rowKey, name, entry)
    }
    for (name, entry) in current where wanted.contains(where: { $0.utf8.elementsEqual(name.utf8) }) {
      if try isResorted && reposition(row, rowID, name, entry) { continue }
      guard let now = try storage.trees.entries(of: rowID).first(where: { $0.group == entry.group }) else { continue }
      try storage.update(change.rowKey, name, now, aspects)
    }
    let new = wanted.filter { name in !current.contains { $0.name.utf8.elementsEqual(name.utf8) } }
    try insert(row, rowID, into: new, others: try storage.trees.entries(of: rowID))
  }

  private func insert(
    _ row: ViewRow<Object, Metadata>, _ rowID: RowID, into names: [String], others: [ViewEntry]
  ) throws {
    var others = others
    for name in names {
      let order = try order(row, rowID, in: name)
      others.append(
        try storage.insert(rowID, RowKey(row.collection, row.key), name, order: order, others: others))
    }
  }

  /// What places a row in a group that it is not in.
  private func order(_ row: ViewRow<Object, Metadata>, _ rowID: RowID, in name: String) throws -> [UInt8] {
    switch view.sorting.order {
    case .keyed(let key): return try ViewEntry.order(key(row), rowID)
    case .compared(let isBefore):
      guard let group = try storage.group(name) else { return OrderLabel.first }
      let index = try labels.insertionIndex(in: group) { other in try isBefore(name, comparedRow(other), row) }
      return try labels.label(at: index, in: group, name)
    }
  }

  /// Moves a row within its group if it does not stand right any more. Returns whether it did.
  private func reposition(
    _ row: ViewRow<Object, Metadata>, _ rowID: RowID, _ name: String, _ entry: ViewEntry
  ) throws -> Bool {
    guard let group = try storage.group(name) else { throw storage.trees.damaged() }
    let key = RowKey(row.collection, row.key)
    switch view.sorting.order {
    case .keyed(let makeKey):
      let order = try ViewEntry.order(makeKey(row), rowID)
      guard order != entry.order else { return false }
      let index = try storage.trees.index(of: entry, in: group)
      let target = try storage.trees.index(of: ViewEntry(group, order), in: group)
      // Between its neighbours still, with another key.
      if target == index || target == index + 1 {
        try storage.relabel([ViewStorage.Relabelling(rowID: rowID, from: entry, order: order)], name)
        return false
      }
      try storage.move(rowID, key, name, from: entry, order: order)
    case .compared(let isBefore):
      let index = try storage.trees.index(of: entry, in: group)
      if try stands(row, at: index, in: group, name, isBefore) { return false }
      let target = try labels.insertionIndex(in: group, leavingOut: index) { other in
        try isBefore(name, comparedRow(other), row)
      }
      let order = try labels.label(at: target, in: group, name, leavingOut: index)
      guard let now = try storage.trees.entries(of: rowID).first(where: { $0.group == group }) else {
        throw storage.trees.damaged()
      }
      try storage.move(rowID, key, name, from: now, order: order)
    }
    return true
  }

  /// Whether a row at an index stands right between its neighbours.
  private func stands(
    _ row: ViewRow<Object, Metadata>, at index: Int, in group: GroupID, _ name: String,
    _ isBefore: (String, ViewRow<Object, Metadata>, ViewRow<Object, Metadata>) throws -> Bool
  ) throws -> Bool {
    if let left = try storage.trees.entry(at: index - 1, in: group), try isBefore(name, row, comparedRow(left.rowID)) {
      return false
    }
    if let right = try storage.trees.entry(at: index + 1, in: group),
      try isBefore(name, comparedRow(right.rowID), row)
    {
      return false
    }
    return true
  }
}

extension RowChange.Kind {
  /// The halves of the row that were stored or touched.
  var aspects: ViewAspects {
    switch self {
    case .insert, .update, .touchRow: [.object, .metadata]
    case .replaceObject, .touchObject: .object
    case .replaceMetadata, .touchMetadata: .metadata
    case .remove: []
    }
  }

  /// Whether what depends on `halves` may be different now.
  func changes(_ halves: ChangedHalves) -> Bool { !halves.isDisjoint(with: self.halves) }
}
