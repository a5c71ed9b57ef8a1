// Building a view of the rows that are there.

public import QuireDatabase

extension AutoViewWriter {
  /// Takes in the rows of a step of building: by their fields, if these tell groups and order.
  public func build(_ rows: UnbuiltRows) throws {
    if try !placeByFields(rows) { try rows.forEach { try build($0) } }
  }

  /// Takes in the rows of a step by their fields and keys. Returns false, with nothing done, where the rows have to be
  /// asked one by one.
  private func placeByFields(_ rows: UnbuiltRows) throws -> Bool {
    guard let group = view.grouping.told, let order = view.sorting.told, group.isField || order.isFields,
      !storage.isFollowed, let bounds = rows.bounds, try !storage.trees.hasRows(in: bounds),
      let collections = view.family.fewCollections(in: store)
    else { return false }
    storage.isRecording = false
    defer { storage.isRecording = true }
    let placers = collections.compactMap { collection in
      FieldPlacer(store.readTransaction[collection], group, order, makeGroup: storage.makeGroup)
    }
    guard placers.count == collections.count else { return false }
    var batch = EntryBatch()
    for placer in placers {
      try placer.forEachPlace(in: rows) { rowID, group, sortKey in batch.append(rowID, group, sortKey: sortKey) }
    }
    try batch.store(in: storage.trees, from: storage.trees)
    return true
  }
}

extension CollectionFamily {
  /// Its collections in a transaction; nil if they are so many that going through rows once for each takes longer than
  /// decoding the rows.
  func fewCollections(in store: ExtensionStore) -> [RowCollection<Object, Metadata>]? {
    let names = names(in: store.readTransaction)
    return names.count <= 4 ? names.compactMap { collection(named: $0) } : nil
  }
}
