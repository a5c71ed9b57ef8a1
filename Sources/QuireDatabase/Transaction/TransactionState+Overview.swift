// What a transaction tells about all collections.

internal import QuireStorage

extension TransactionState {
  /// Calls `body` with every collection of the tree, in the order of the bytes of the names that they are stored under.
  private func forEachCollection(
    _ body: (String, CollectionID) throws(DatabaseError) -> Void
  ) throws(DatabaseError) {
    try check()
    do {
      var cursor = try cursor(trees.collections)
      while try cursor.next() {
        guard let key = cursor.key, let value = try cursor.value, let name = String(validating: key, as: UTF8.self)
        else { throw RowView.damaged() }
        try body(database.aliases.shownName(name), try CollectionFormat(value, name: name).id)
      }
    } catch {
      throw wrap(error)
    }
  }

  /// The names of the collections that have rows.
  func collectionNames() throws(DatabaseError) -> [String] {
    recorder?.noteNames()
    var names: [String] = []
    try forEachCollection { (name, id) throws(DatabaseError) in
      // Inside a write transaction a collection may have lost its last row, or not have got its first one yet.
      let hasRows = isWriting ? try count(id) > 0 : true
      if hasRows { names.append(name) }
    }
    return names.inByteOrder
  }

  /// The names of the collections that have a row under `key`.
  func collectionNames(containing key: String) throws(DatabaseError) -> [String] {
    recorder?.noteNames()
    var names: [String] = []
    try forEachCollection { (name, id) throws(DatabaseError) in
      recorder?.note(key, in: name, [])
      if try rowID(id, key) != nil { names.append(name) }
    }
    return names.inByteOrder
  }

  /// The number of rows.
  func rowCount() throws(DatabaseError) -> Int {
    recorder?.noteAllRows()
    return try wrapping { () throws(StorageError) in try count(of: trees.rows) }
  }

  /// Where a row is.
  func key(of rowID: RowID) throws(DatabaseError) -> RowKey? {
    try check()
    var found: (id: CollectionID, key: String)?
    do {
      found = try withValue(rowID.rawValue, in: trees.rows) { bytes in
        try unsafe bytes.withUnsafeBytes { bytes in
          let row = try unsafe RowView(bytes)
          guard let key = unsafe String(validating: row.key, as: UTF8.self) else { throw RowView.damaged() }
          return (row.collection, key)
        }
      }
    } catch {
      throw wrap(error)
    }
    guard let found else {
      recorder?.noteAllRows()
      return nil
    }
    let name = try name(of: found.id)
    // The row of an id is at this key as long as there is one.
    recorder?.note(found.key, in: name, [])
    return RowKey(name, found.key)
  }

  /// The id of the row at a key.
  func rowID(of row: RowKey) throws(DatabaseError) -> RowID? {
    try check()
    // No collection has such a name.
    guard row.collection.utf8.count <= Limits.collectionNameByteCount else { return nil }
    let collection = open(row.collection)
    try check()
    recorder?.note(row.key, in: row.collection, [])
    guard let id = collection.id else { return nil }
    do throws(DatabaseError) { return try rowID(id, row.key) } catch { throw error.at(row.collection, row.key) }
  }

  /// The name of a collection.
  func name(of id: CollectionID) throws(DatabaseError) -> String {
    if let name = collections.name(of: id) { return name }
    // All at once, or a look for each of many collections would go through all of them each time.
    try forEachCollection { (name, id) throws(DatabaseError) in collections.note(name, of: id) }
    guard let name = collections.name(of: id) else { throw RowView.damaged() }
    return name
  }

  /// Any error as one of ours.
  func wrap(_ error: any Error) -> DatabaseError {
    switch error {
    case let error as DatabaseError: error
    case let error as StorageError: DatabaseError(error)
    default: DatabaseError(.transactionFailed, "A closure of the app's failed.", path: database.path, cause: error)
    }
  }
}

extension [String] {
  /// In the order of their bytes, in which they nearly always are.
  fileprivate var inByteOrder: [String] {
    zip(self, dropFirst()).allSatisfy { $0.utf8.lexicographicallyPrecedes($1.utf8) }
      ? self : sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }
}
