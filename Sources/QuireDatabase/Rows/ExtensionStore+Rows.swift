// What an extension finds of the objects that are in memory.

extension ExtensionStore {
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
