// What a transaction tells about all collections.

internal import HashTreeCollections
internal import QuireStorage

/// What a transaction tells about all collections, and about rows by their ids.
struct DatabaseOverview {
  let transaction: TransactionState

  /// Calls `body` with every collection of the tree, in the order of the bytes of the names that they are stored under.
  func forEachCollection(
    _ body: (String, CollectionID) throws(DatabaseError) -> Void
  ) throws(DatabaseError) {
    try transaction.check()
    do {
      var cursor = try transaction.cursor(transaction.trees.collections)
      while try cursor.next() {
        guard let key = try cursor.readKey(), let value = try cursor.value,
          let name = String(validating: key, as: UTF8.self)
        else { throw RowView.damaged() }
        try body(transaction.database.aliases.shownName(name), try CollectionFormat(value, name: name).id)
      }
    } catch {
      throw transaction.wrap(error)
    }
  }

  /// The names of the collections that have rows.
  func collectionNames() throws(DatabaseError) -> [String] {
    transaction.recorder?.noteNames()
    var names: [String] = []
    try forEachCollection { (name, id) throws(DatabaseError) in
      // Inside a write transaction a collection may have lost its last row, or not have got its first one yet.
      let hasRows = transaction.isWriting ? try transaction.count(id) > 0 : true
      if hasRows { names.append(name) }
    }
    return names.inByteOrder
  }

  /// The names of the collections that have a row under `key`.
  func collectionNames(containing key: String) throws(DatabaseError) -> [String] {
    transaction.recorder?.noteNames()
    var names: [String] = []
    try forEachCollection { (name, id) throws(DatabaseError) in
      transaction.recorder?.note(key, in: name, [])
      if try transaction.rowID(id, key) != nil { names.append(name) }
    }
    return names.inByteOrder
  }

  /// The number of rows.
  func rowCount() throws(DatabaseError) -> Int {
    transaction.recorder?.noteAllRows()
    return try transaction.wrapping { () throws(StorageError) in try transaction.count(of: transaction.trees.rows) }
  }

  /// Where a row is.
  func key(of rowID: RowID) throws(DatabaseError) -> RowKey? {
    try transaction.check()
    var found: (id: CollectionID, key: String)?
    do {
      found = try transaction.withValue(rowID.rawValue, in: transaction.trees.rows) { bytes in
        try unsafe bytes.withUnsafeBytes { bytes in
          let row = try unsafe RowView(bytes)
          guard let key = unsafe String(storedUTF8: row.key) else { throw RowView.damaged() }
          return (row.collection, key)
        }
      }
    } catch {
      throw transaction.wrap(error)
    }
    guard let found else {
      transaction.recorder?.noteAllRows()
      return nil
    }
    let name = try transaction.name(of: found.id)
    // The row of an id is at this key as long as there is one.
    transaction.recorder?.note(found.key, in: name, [])
    return RowKey(name, found.key)
  }

  /// The id of the row at a key.
  func rowID(of row: RowKey) throws(DatabaseError) -> RowID? {
    try transaction.check()
    // No collection has such a name.
    guard row.collection.utf8.count <= Limits.collectionNameByteCount else { return nil }
    let collection = transaction.open(row.collection)
    try transaction.check()
    transaction.recorder?.note(row.key, in: row.collection, [])
    guard let id = collection.id else { return nil }
    do throws(DatabaseError) { return try transaction.rowID(id, row.key) } catch {
      throw error.at(row.collection, row.key)
    }
  }
}

extension TransactionState {
  var overview: DatabaseOverview { DatabaseOverview(transaction: self) }

  /// The name of a collection.
  func name(of id: CollectionID) throws(DatabaseError) -> String {
    if let name = collections.name(of: id) { return name }
    if let name = database.table.name(of: id, at: csn) ?? pinnedCollections?.name(of: id) {
      collections.note(name, of: id)
      return name
    }
    try noteAllNames()
    guard let name = collections.name(of: id) else { throw RowView.damaged() }
    return name
  }

  /// Notes the names of all collections: a look for each of many would go through all of them each time.
  private func noteAllNames() throws(DatabaseError) {
    var names = TreeDictionary<CollectionID, String>()
    try overview.forEachCollection { (name, id) throws(DatabaseError) in
      // A file may give a number to two collections.
      guard names.updateValue(name, forKey: id) == nil, collections.name(of: id)?.hasSameBytes(as: name) ?? true else {
        throw RowView.damaged()
      }
      collections.note(name, of: id)
    }
    pinnedCollections?.remember(names)
    // Collections that this very transaction has just made are not for others.
    if mutationCount == 0 { database.table.remember(names, at: csn) }
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
