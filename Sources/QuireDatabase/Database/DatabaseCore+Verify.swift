// Whether rows, key index and collections agree. That their pages are sound is the engine's to check.

internal import QuireStorage

extension DatabaseCore {
  /// Throws the first disagreement in the newest snapshot.
  func verifyRows() throws {
    try read(nil) { tx in try verifyRows(tx.state) }
  }

  /// Throws the first disagreement that a transaction sees: an entry of the key index whose row is missing or is that of
  /// another key, a row that no entry leads to, a collection without a row, a row of a collection without a name.
  ///
  /// Reads every row; O(rows · log rows), 16 look-ups side by side.
  func verifyRows(_ state: TransactionState) throws {
    var count = 0
    for name in try state.collectionNames() {
      let collection = state.open(name)
      let cursor = try RowCursor(RowScan(collection, .all)) { key, rowID, row in
        (key, rowID, row.collection, unsafe [UInt8](row.key))
      }
      guard let id = collection.id, let cursor else {
        throw disagreement("A collection has a name and no number.", name, nil)
      }
      var inCollection = 0
      while let (key, rowID, collectionID, storedKey) = try cursor.next() {
        guard collectionID == id, storedKey.elementsEqual(key.utf8) else {
          throw disagreement("The key index leads to \(rowID), which is another key's.", name, key)
        }
        inCollection += 1
      }
      guard inCollection > 0 else { throw disagreement("A collection has a name and no row.", name, nil) }
      count += inCollection
    }
    let (rows, keys) = (try state.count(of: trees.rows), try state.count(of: trees.keys))
    guard count == rows, count == keys else {
      throw disagreement("There are \(rows) rows and \(keys) keys, but \(count) in all collections.", nil, nil)
    }
  }

  private func disagreement(_ what: String, _ collection: String?, _ key: String?) -> DatabaseError {
    DatabaseError(
      .damagedRow, what + " Restore the database from a backup.", path: path, collection: collection, key: key)
  }
}
