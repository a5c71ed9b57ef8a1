// Keeping the entries of indexes as the records of rows are.

internal import QuireDatabase

/// The indexes of a collection in one write transaction, without the types of the rows.
///
/// Invariants, after each hook:
/// 1. The entries of every index that is ready are those that the records of the rows have, and each row that the
///    extension follows has a record.
/// 2. Of an index that is being built, the tree of changes says of every key that was put or taken out since the tree
///    was emptied whether it has an entry now.
final class IndexUpkeep {
  let list: IndexList
  let store: ExtensionStore
  private(set) var catalog: IndexCatalog
  private(set) var map: IndexMap
  private(set) var trees: IndexTrees
  /// For each index that is being built what changes meanwhile.
  private var deltas: [ExtensionTree<[UInt8]>?]
  /// Values of unique indexes that got another row: to be checked before the commit.
  private var gained: [(index: Int, prefix: [UInt8])] = []

  init(_ list: IndexList, _ store: ExtensionStore, _ cache: MapCache) throws {
    self.list = list
    self.store = store
    let known = try cache.known(list, store)
    (catalog, map) = (known.catalog, known.map)
    trees = try IndexTrees(store, list.names, map.trees)
    deltas = []
    try adopt()
  }

  /// Takes in the declared indexes, if the catalog has others.
  private func adopt() throws {
    if map.isCurrent {
      try trees.openAll()
      return try openDeltas()
    }
    var adopted = catalog
    for tree in adopted.adopt(list, map) {
      try store.tree(IndexTrees.entriesName(tree), of: [UInt8].self).removeAll()
      try store.tree(IndexTrees.deltaName(tree), of: [UInt8].self).removeAll()
    }
    try keep(adopted)
  }

  /// Stores another catalog.
  func keep(_ new: IndexCatalog) throws {
    assert(new.nextTree >= catalog.nextTree && new.nextPlace >= catalog.nextPlace, "a tree or a place is given again")
    try store.set(new.bytes, for: IndexTrees.catalogName)
    catalog = new
    map = IndexMap(list, new)
    trees = try IndexTrees(store, list.names, map.trees)
    try trees.openAll()
    try openDeltas()
    assert(map.isWhole, "an index that is declared is not stored")
  }

  private func openDeltas() throws {
    deltas = try map.trees.indices.map { number in
      guard !map.isReady[number], let tree = map.trees[number] else { return nil }
      return try store.tree(IndexTrees.deltaName(tree), of: [UInt8].self)
    }
    assert(zip(deltas, map.isReady).allSatisfy { $0 == nil || !$1 }, "changes of an index that is ready are put off")
  }

  /// The indexes as they are in the transaction, its own changes included.
  var view: IndexView { IndexView(list: list, map: map, trees: trees) }

  /// What has changed of an index that is being built; nil if it is ready.
  func delta(_ number: Int) -> ExtensionTree<[UInt8]>? { deltas[number] }

  // MARK: Building

  /// Begins anew, with nothing built.
  func begin() throws {
    try store.removeEverything()
    catalog = IndexCatalog()
    map = IndexMap(list, catalog)
    trees = try IndexTrees(store, list.names, map.trees)
    try adopt()
  }

  /// Takes in the record of a row that was there before.
  func take(_ record: RowRecord, _ rowID: RowID) throws { try trees.records.put(record.bytes, for: rowID) }

  // MARK: Changes

  /// The row has another record now; nil if it is gone.
  func change(_ rowID: RowID, to new: RowRecord?, isInsert: Bool) throws {
    // The first that is heard of a row is its insert, whatever hooks have done to it meanwhile; a record that is there
    // all the same is nobody's, and is replaced.
    let old = isInsert ? nil : try trees.records.value(for: rowID)
    if old == new?.bytes { return }
    // Before the entries: what is unique is told by records.
    if let new { try trees.records.put(new.bytes, for: rowID) } else { try trees.records.remove(rowID) }
    try replace(old, with: new, rowID)
  }

  /// Takes the entries of one record out, and puts those of another in, as far as they differ.
  private func replace(_ old: [UInt8]?, with new: RowRecord?, _ rowID: RowID) throws {
    try unsafe (old ?? []).withUnsafeBytes { oldBytes in
      guard let before = unsafe RecordView(oldBytes) else {
        throw IndexError.damaged(index: list.name, detail: "the record of \(rowID) breaks the format")
      }
      try unsafe (new?.bytes ?? []).withUnsafeBytes { newBytes in
        guard let after = unsafe RecordView(newBytes) else { preconditionFailure("a record is put together wrongly") }
        for number in list.indexes.indices {
          if old != nil, new != nil, list.isSame(before, as: after, in: number, map) { continue }
          try replace(
            old == nil ? [] : try list.keys(of: before, in: number, map, rowID),
            with: new == nil ? [] : try list.keys(of: after, in: number, map, rowID), in: number,
            isUnique: list.indexes[number].uniqueness != nil && new != nil && !list.isExempt(after, in: number, map))
        }
      }
    }
  }

  private func replace(_ before: [[UInt8]], with after: [[UInt8]], in number: Int, isUnique: Bool) throws {
    if let delta = deltas[number] {
      for key in before where !after.contains(key) { try delta.put([0], for: key) }
      for key in after where !before.contains(key) { try delta.put([1], for: key) }
      return
    }
    let tree = try trees.tree(number)
    for key in before where !after.contains(key) { try tree.remove(key) }
    for key in after {
      let isNew = !before.contains(key)
      if isNew { try tree.put([], for: key) }
      guard isUnique else { continue }
      let prefix = Array(key.dropLast(IndexKey.rowIDByteCount))
      // Of a value that is cut the rest alone may be another.
      guard isNew || prefix.count >= IndexKey.columnByteCount else { continue }
      if list.indexes[number].uniqueness == .immediate {
        try view.checkUnique(prefix, in: number)
      } else {
        gained.append((number, prefix))
      }
    }
  }

  /// Checks what has changed in unique indexes.
  func settle() throws {
    for (index, prefix) in gained { try view.checkUnique(prefix, in: index) }
    gained = []
  }

  // MARK: Checking

  /// Throws `damaged` unless the invariants hold, as far as records tell. Takes memory for the keys of all indexes that
  /// are being built. O(n log n).
  func checkInvariants() throws {
    var counts = [Int](repeating: 0, count: list.indexes.count)
    var unreadyKeys = [Set<[UInt8]>](repeating: [], count: list.indexes.count)
    try trees.records.forEach(from: nil) { rowID, bytes in
      try view.withRecord(rowID, bytes) { record in
        for number in list.indexes.indices {
          let keys = try list.keys(of: record, in: number, map, rowID)
          counts[number] += keys.count
          guard map.isReady[number] else {
            unreadyKeys[number].formUnion(keys)
            continue
          }
          for key in keys where try !trees.tree(number).contains(key) { throw broken(1, number) }
        }
      }
      return true
    }
    for number in list.indexes.indices {
      if map.isReady[number] {
        guard try trees.tree(number).count == counts[number] else { throw broken(1, number) }
      } else if let delta = deltas[number] {
        let cursor = try delta.cursor()
        while try cursor.next(), let entry = try cursor.entry {
          guard entry.value == [unreadyKeys[number].contains(entry.key) ? 1 : 0] else { throw broken(2, number) }
        }
      }
    }
  }

  private func broken(_ invariant: Int, _ number: Int) -> IndexError {
    .damaged(index: list.indexes[number].name, detail: "invariant \(invariant) of its upkeep is broken")
  }

  // MARK: Clearing and savepoints

  /// All rows were removed at once.
  func clear() throws {
    // What was gained stays to be checked: a savepoint may bring the rows back.
    try store.removeAllEntries()
    guard !map.unready.isEmpty else { return }
    var cleared = catalog
    cleared.countClear()
    try keep(cleared)
  }

  /// What `restore` goes back to.
  func makeMark() -> Any? { Mark(gained: gained.count, catalog: catalog) }

  /// Goes back to a mark of a savepoint.
  func restore(_ mark: Any?) {
    guard let mark = mark as? Mark else { return }
    assert(mark.gained <= gained.count, "values were checked that a savepoint goes back to")
    assert(mark.catalog.entries == catalog.entries, "an index has come or become ready inside a savepoint")
    if mark.gained < gained.count { gained.removeLast(gained.count - mark.gained) }
    // Trees and places are given out outside of savepoints; only the count of clears can go back.
    catalog = mark.catalog
  }

  private struct Mark {
    let gained: Int
    let catalog: IndexCatalog
  }
}
