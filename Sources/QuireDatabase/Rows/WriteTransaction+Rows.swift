// The rows of collections in a write transaction.

extension WriteTransaction {
  /// The rows of a collection. Costs next to nothing after the first time.
  @inlinable @inline(__always)
  public subscript<Object, Metadata>(_ collection: RowCollection<Object, Metadata>) -> WritableRows<Object, Metadata> {
    WritableRows(handle: state.open(collection))
  }

  /// Removes all rows of all collections. Returns how many there were. Reported as one change: `isAllCleared`.
  @discardableResult
  public func removeAll() throws(DatabaseError) -> Int {
    try state.checkWriting()
    return try RowRemoval(state).removeAll()
  }

  /// Removes the row at a key, whatever its types. Returns whether there was one.
  @discardableResult
  public func remove(_ row: RowKey) throws(DatabaseError) -> Bool {
    try state.checkWriting()
    guard row.collection.utf8.count <= Limits.collectionNameByteCount else { return false }
    let collection = state.open(row.collection)
    try state.check()
    return try RowRemoval(state).removeRow(collection, row.key)
  }
}
