// What changes of rows begin and end with.

internal import QuireStorage

extension TransactionState {
  /// Throws unless the transaction may change something now.
  @inline(__always) func checkWriting() throws(DatabaseError) {
    try check()
    if !isWriting { throw notWriting() }
    if lentCount > 0 { throw changeWhileLent() }
  }

  /// Reports a row as changed; nothing is written, so that iterators may go on.
  func noteTouch(
    _ collection: CollectionState, _ id: CollectionID, _ key: String, _ rowID: RowID, _ halves: RowHalves
  ) {
    unsafe writer?.changes.append(.touched(halves), id, rowID, key)
  }

  /// Brings what is noted about collections up to date; called once the closure has returned.
  func settleCollections() throws(DatabaseError) {
    for collection in collections.all {
      try collection.storeFields(in: self)
      // A collection exists as long as it has a row. One that was made for a row that then could not be stored has
      // none.
      guard collection.hasRemoved || collection.isNew, let id = collection.id, try count(id) == 0 else { continue }
      try wrapping(collection.name) { () throws(StorageError) in
        try removeCollection(collection.name)
        try dictionaries.removeAll(of: id)
      }
      collection.forget()
    }
  }
}
