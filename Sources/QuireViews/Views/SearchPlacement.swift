// How what is found comes into groups and an order.

internal import QuireDatabase

/// What a search view searches for in a write transaction, and what is to be asked of it still.
final class SearchState {
  let store: ExtensionStore
  /// What is searched for; nil if nothing is.
  var selection: (any RowSelection)?
  /// Whether changed rows are asked about one by one: another row decides on none of them.
  var asksRows: Bool { selection?.dependsOnOtherRows == false }
  /// Rows that may have come to be found, or not to be found any more.
  var changed: Set<RowID> = []

  init(_ store: ExtensionStore) { self.store = store }

  /// Those of some rows that are found; none if they are not asked about, and all are searched for again instead.
  func found(among rowIDs: [RowID]) throws -> Set<RowID> {
    guard asksRows, let selection, !rowIDs.isEmpty else { return [] }
    return Set(try selection.rows(in: store.readTransaction).filter(rowIDs)).intersection(rowIDs)
  }
}

/// How a search view puts what is found into groups.
protocol SearchPlacement: AnyObject {
  /// Whether one changed row may move all others.
  var searchesAnew: Bool { get }
  /// Has the view that it takes rows from show the changes so far.
  func settleSource() throws
  /// A row was stored or touched: one that is shown comes to its place, and its change is told.
  func update(_ change: RowChange) throws
  /// Those of some rows that may be shown, or are.
  func candidates(_ rowIDs: [RowID]) throws -> [RowID]
  /// Shows a row, or takes it out.
  func show(_ rowID: RowID, isFound: Bool) throws
  /// What all groups are to show of what is found. Changes nothing.
  func groups(_ selection: any RowSelection, _ watch: inout SearchWatch) throws -> [GroupArrangement]
}

extension SearchPlacement {
  var searchesAnew: Bool { false }
  func settleSource() throws {}
  func candidates(_ rowIDs: [RowID]) throws -> [RowID] { rowIDs }
}

/// Thrown to end a search, and caught where it began.
private struct StoppedSearch: Error {}

extension RowSelection {
  /// All rows that are found, or those that were when the search was stopped.
  func found(in tx: ReadTransaction, _ watch: inout SearchWatch) throws -> Set<RowID> {
    var found: Set<RowID> = []
    do {
      try rows(in: tx).forEachRowID { rowID in
        guard try watch.step() else { throw StoppedSearch() }
        found.insert(rowID)
      }
    } catch is StoppedSearch { watch.keepWhatIsFound() }
    return found
  }
}

/// Puts what is found where grouping and sorting have it.
final class GroupedPlacement<Object: Sendable, Metadata: Sendable>: SearchPlacement {
  private let storage: ViewStorage
  private let reader: ViewReader<Object, Metadata>
  private let placer: RowPlacer<Object, Metadata>

  init(_ storage: ViewStorage, _ reader: ViewReader<Object, Metadata>, _ placer: RowPlacer<Object, Metadata>) {
    (self.storage, self.reader, self.placer) = (storage, reader, placer)
  }

  private func isShown(_ rowID: RowID) throws -> Bool { try !storage.trees.entries(of: rowID).isEmpty }

  func update(_ change: RowChange) throws {
    // Until it is asked about it is as it was: in its place, so that others are compared with rows in order.
    if let rowID = change.rowID, try isShown(rowID) { try placer.place(change) }
  }

  func show(_ rowID: RowID, isFound: Bool) throws {
    assert(placer.isAtRest, "a row is shown while another one is placed")
    guard try isFound != isShown(rowID), let change = try storage.store.row(rowID) else { return }
    if isFound { try placer.insert(change) } else { try storage.removeFromAll(rowID, change.rowKey) }
  }

  func groups(_ selection: any RowSelection, _ watch: inout SearchWatch) throws -> [GroupArrangement] {
    let found = try selection.found(in: storage.store.readTransaction, &watch)
    var (kept, new, shown) = ([ByteString: [RowMember]](), [ByteString: [RowMember]](), Set<RowID>())
    for group in try storage.trees.allGroups() {
      let members = try storage.members(of: group.name)
      shown.formUnion(members.map(\.rowID))
      kept[ByteString(group.name)] = members.filter { found.contains($0.rowID) }.map {
        RowMember(rowID: $0.rowID, order: $0.entry.order)
      }
    }
    for rowID in found.subtracting(shown).sorted() {
      guard try watch.step() else { break }
      guard let change = try storage.store.row(rowID), let row = reader.row(change) else { continue }
      let groups = placer.unique(try placer.grouping.groups(row))
      if groups.isEmpty { continue }
      let member = RowMember(rowID: rowID, order: try placer.sortKey(row, rowID, placer.sorting))
      for name in groups { new[ByteString(name), default: []].append(member) }
    }
    return try Set(kept.keys).union(new.keys).map(\.string).inByteOrder.map { name in
      let (old, added) = (kept[ByteString(name)] ?? [], new[ByteString(name)] ?? [])
      return GroupArrangement(name: name, rows: try placer.merged(old, with: added, in: name))
    }
  }
}

/// Puts the best rows into one group.
final class BestPlacement<Object: Sendable, Metadata: Sendable>: SearchPlacement {
  private let storage: ViewStorage
  private let family: CollectionFamily<Object, Metadata>
  private let limit: Int
  private let group: String
  var searchesAnew: Bool { true }

  init(_ storage: ViewStorage, _ family: CollectionFamily<Object, Metadata>, limit: Int, group: String) {
    (self.storage, self.family, self.limit, self.group) = (storage, family, limit, group)
  }

  func update(_ change: RowChange) throws {
    guard let rowID = change.rowID, let entry = try storage.trees.entries(of: rowID).first else { return }
    try storage.update(change.rowKey, group, entry, change.kind.aspects)
  }

  func show(_ rowID: RowID, isFound: Bool) throws { assertionFailure("a single row is shown by its score") }

  func groups(_ selection: any RowSelection, _ watch: inout SearchWatch) throws -> [GroupArrangement] {
    guard let ranked = selection as? any RankedSelection else {
      throw DatabaseError(
        .viewRefused,
        """
        The view “\(storage.store.name)” shows the best rows, and \(selection.name) tells no scores. Search for a \
        ranked selection, or describe the view with an order of its own.
        """)
    }
    let tx = storage.store.readTransaction
    var (rows, known) = ([RowID](), Set<RowID>())
    for (rowID, _) in try ranked.rankedRowIDs(limit: limit, in: tx) where rows.count < limit {
      guard try watch.step() else { break }
      guard let key = try tx.key(of: rowID), family.filter.contains(key.collection) else { continue }
      if known.insert(rowID).inserted { rows.append(rowID) }
    }
    assert(rows.count <= limit, "more rows are shown than are wanted")
    let labels = try LabelledOrder(storage).labels(for: rows, in: group, keepsLabels: true)
    return [GroupArrangement(name: group, rows: Array(zip(rows, labels)))]
  }
}

extension [String] {
  /// In the order of their bytes.
  var inByteOrder: Self { sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) } }
}
