// Changing rows: the one place where row tree, key index and change log are kept in step.

internal import QuireStorage

extension TransactionState {
  /// Throws unless the transaction may change something now.
  @inline(__always) func checkWriting() throws(DatabaseError) {
    try check()
    if !isWriting { throw notWriting() }
    if lentCount > 0 { throw changeWhileLent() }
  }

  /// Stores a row that is put together, new or in the place of `existing`.
  func write(
    _ row: borrowing RowBuilder, _ key: String, _ collection: CollectionState, _ existing: RowID?,
    _ aspects: ChangeAspects
  ) throws {
    guard let id = collection.id, let writer else { throw notWriting() }
    mutationCount &+= 1
    let trees = database.trees
    let rowID = try existing ?? allocateRowID()
    try unsafe row.bytes.withValueBytes { (bytes) throws(StorageError) in
      try unsafe put(SearchKey(rowID.rawValue), bytes, in: trees.rows)
    }
    if existing == nil, let indexKey = indexKey(id, key) {
      try unsafe withUnsafeBytes(of: rowID.rawValue.littleEndian) { try unsafe put(indexKey, $0, in: trees.keys) }
    }
    writer.changes.append(existing == nil ? .inserted : .changed(aspects), id, rowID, key)
  }

  /// Reports a row as changed; nothing is written, so that iterators may go on.
  func noteTouch(
    _ collection: CollectionState, _ id: CollectionID, _ key: String, _ rowID: RowID, _ aspects: ChangeAspects
  ) {
    writer?.changes.append(.touched(aspects), id, rowID, key)
  }

  /// Removes a row. Returns whether there was one.
  func removeRow(_ collection: CollectionState, _ key: String) throws(DatabaseError) -> Bool {
    guard let writer else { throw notWriting() }
    guard let id = collection.id, let rowID = try rowID(id, key), let indexKey = indexKey(id, key) else { return false }
    mutationCount &+= 1
    collection.hasRemoved = true
    try wrapping(collection.name, key) { () throws(StorageError) in
      try delete(indexKey, in: database.trees.keys)
      try delete(SearchKey(rowID.rawValue), in: database.trees.rows)
    }
    writer.changes.append(.removed, id, rowID, key)
    return true
  }

  /// Removes all rows of a collection. Returns how many there were.
  ///
  /// Reads the collection's part of the key index for the rows' ids; these are removed in runs of neighbours.
  func removeAll(_ collection: CollectionState) throws -> Int {
    guard let writer else { throw notWriting() }
    guard let id = collection.id else { return 0 }
    let count = try count(id)
    guard count > 0 else { return 0 }
    mutationCount &+= 1
    collection.hasRemoved = true
    let total = try wrapping { () throws(StorageError) in try self.count(of: database.trees.keys) }
    if total == count {
      try wrapping(collection.name) { () throws(StorageError) in
        try deleteAll(in: database.trees.keys)
        try deleteAll(in: database.trees.rows)
      }
    } else {
      try removeRows(id, count)
    }
    writer.changes.clear(id)
    return count
  }

  private func removeRows(_ id: CollectionID, _ count: Int) throws {
    var rowIDs = try collectRowIDs(id, count)
    rowIDs.sort()
    var first = 0
    while first < rowIDs.count {
      var end = first + 1
      while end < rowIDs.count, rowIDs[end] == rowIDs[end - 1] + 1 { end += 1 }
      // A run of neighbours goes as one, without a look at its leaves.
      _ = try deleteRows(rowIDs[first]..<rowIDs[end - 1] + 1)
      first = end
    }
    _ = try deleteRange(from: id.prefix, to: id.end, in: database.trees.keys)
  }

  private func collectRowIDs(_ id: CollectionID, _ count: Int) throws -> [Int64] {
    var rowIDs: [Int64] = []
    // The count comes from the disk, so it is no reason to ask for any amount of memory.
    rowIDs.reserveCapacity(min(count, 1 << 16))
    var cursor = try cursor(database.trees.keys)
    let end = id.end
    var isOnEntry = try cursor.seek(id.prefix) || cursor.isOnEntry
    while isOnEntry {
      let isWithin = cursor.withKey { key in
        unsafe key.withUnsafeBytes { unsafe $0.lexicographicallyPrecedes(end) }
      }
      guard isWithin == true else { break }
      let rowID = try cursor.withValue { value -> Int64 in
        guard value.byteCount == 8 else { throw RowView.damaged() }
        let rowID = Int64(littleEndian: unsafe value.unsafeLoadUnaligned(as: Int64.self))
        guard rowID > 0, rowID < .max else { throw RowView.damaged() }
        return rowID
      }
      if let rowID { rowIDs.append(rowID) }
      isOnEntry = try cursor.next()
    }
    return rowIDs
  }

  /// Removes all rows of all collections. Returns how many there were.
  func removeAll() throws(DatabaseError) -> Int {
    guard let writer else { throw notWriting() }
    let trees = database.trees
    let count = try wrapping { () throws(StorageError) in try self.count(of: trees.keys) }
    guard count > 0 else { return 0 }
    let names = try collectionNames()
    mutationCount &+= 1
    try wrapping { () throws(StorageError) in
      try deleteAll(in: trees.keys)
      try deleteAll(in: trees.rows)
    }
    for name in names { open(name).hasRemoved = true }
    writer.changes.clearAll()
    return count
  }

  // MARK: Before the commit

  /// Brings what is noted about collections up to date; called once the closure has returned.
  func settleCollections() throws(DatabaseError) {
    for collection in collections {
      try collection.storeFields()
      // A collection exists as long as it has a row. One that was made for a row that then could not be stored has
      // none.
      guard collection.hasRemoved || collection.isNew, let id = collection.id, try count(id) == 0 else { continue }
      try wrapping(collection.name) { () throws(StorageError) in try removeCollection(collection.name) }
      collection.forget()
    }
  }
}
