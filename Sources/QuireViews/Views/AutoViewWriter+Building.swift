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

/// Over more collections than these, going through the rows of a step once for each takes longer than decoding them.
private let mostCollections = 4

extension CollectionFamily {
  /// Its collections in a transaction; nil if they are too many for fields to be read.
  func fewCollections(in store: ExtensionStore) -> [RowCollection<Object, Metadata>]? {
    let names = names(in: store.readTransaction)
    return names.count <= mostCollections ? names.compactMap { collection(named: $0) } : nil
  }
}
