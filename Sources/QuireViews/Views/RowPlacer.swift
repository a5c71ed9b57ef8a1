// Where grouping and sorting put rows.

internal import QuireDatabase

/// Places the rows of a view in the groups and the order that closures give.
///
/// For the thread and the life of a transaction. Each call leaves the rows of all groups in order, if they were before.
final class RowPlacer<Object: Sendable, Metadata: Sendable> {
  var grouping: ViewGrouping<Object, Metadata>
  var sorting: ViewSorting<Object, Metadata>
  private let store: ExtensionStore
  let storage: ViewStorage
  private let reader: ViewReader<Object, Metadata>
  let labels: LabelledOrder
  /// The rows that the row of this call was compared with, some log2(n): each is decoded once for it. Empty between
  /// calls.
  private var compared: [(rowID: RowID, row: ViewRow<Object, Metadata>)] = []

  init(
    _ storage: ViewStorage, _ reader: ViewReader<Object, Metadata>, _ grouping: ViewGrouping<Object, Metadata>,
    _ sorting: ViewSorting<Object, Metadata>
  ) {
    (self.storage, self.reader, self.grouping, self.sorting) = (storage, reader, grouping, sorting)
    store = storage.store
    labels = LabelledOrder(storage)
  }

  /// Whether no row is kept of a call that is over.
  var isAtRest: Bool { compared.isEmpty }

  /// Puts a row that is in no group into those that it belongs to.
  func insert(_ change: RowChange) throws {
    guard let rowID = change.rowID, let row = reader.row(change) else { return }
    defer { compared.removeAll(keepingCapacity: true) }
    try insert(row, rowID, into: unique(grouping.groups(row)), others: [])
  }

  /// Brings a row that was stored or touched to its place.
  func place(_ change: RowChange) throws {
    guard let rowID = change.rowID, let row = reader.row(change) else { return }
    defer { compared.removeAll(keepingCapacity: true) }
    try place(row, rowID, change)
  }

  /// The row of an id, to be compared with.
  func viewRow(_ rowID: RowID) throws -> ViewRow<Object, Metadata> {
    guard let change = try store.row(rowID), let row = reader.row(change) else { throw storage.trees.damaged() }
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

  private func place(_ row: ViewRow<Object, Metadata>, _ rowID: RowID, _ change: RowChange) throws {
    let aspects = change.kind.aspects
    let old = try storage.trees.entries(of: rowID)
    let isRegrouped = change.kind == .insert || change.kind.changes(grouping.halves)
    let isResorted = change.kind.changes(sorting.halves)
    if old.isEmpty {
      // Not in the view, and what decides about that has not changed.
      guard isRegrouped else { return }
      return try insert(row, rowID, into: unique(grouping.groups(row)), others: [])
    }
    var current: [(name: String, entry: ViewEntry)] = []
    for entry in old {
      guard let group = entry.group else { throw storage.trees.damaged() }
      current.append((try storage.trees.name(of: group), entry))
    }
    let wanted = isRegrouped ? unique(try grouping.groups(row)) : current.map(\.name)
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
    switch sorting.order {
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
    switch sorting.order {
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
