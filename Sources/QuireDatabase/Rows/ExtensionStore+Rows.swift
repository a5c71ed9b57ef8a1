// What an extension finds of the rows by their ids, and of the objects that are in memory.

extension ExtensionStore {
  /// The rows of these ids, in their order, each as `row` gives it. Looked up side by side. Touches one page per level
  /// of the row tree for each.
  ///
  /// - Throws: `damagedRow` if one of them is not there.
  public func rows(_ rowIDs: [RowID]) throws -> [RowChange] { try state.extensions.rowChanges(rowIDs) }

  /// Whether a walk may fetch rows ahead of who asks for them: the transaction changes nothing, and nobody observes
  /// which rows it reads.
  public var mayFetchAhead: Bool { !state.isWriting && state.recorder == nil }

  /// Whether the transaction goes on: it is open, and nothing that could not throw has failed in it.
  public var isUsable: Bool { state.isUsable }

  /// The object of the row of an id, if it is a row of `collection` and in the cache of objects; nil says nothing about
  /// the row. Touches no page. A transaction that writes, or is observed, finds nothing: `row` is always right.
  ///
  /// - Throws: `collectionMismatch` if the collection was used with other types or coders before.
  public func cachedObject<Object, Metadata>(
    of rowID: RowID, in collection: RowCollection<Object, Metadata>
  ) throws(DatabaseError) -> Object? {
    guard state.database.objectCache != nil, !state.isWriting else { return nil }
    let handle = state.open(collection)
    try handle.opened.check()
    return handle.objectCached(rowID)
  }
}
