// Removing rows: row tree, key index and change log in step, with hooks or without.

internal import QuireStorage

/// Removes rows of one write transaction.
struct RowRemoval {
  let transaction: TransactionState

  init(_ transaction: TransactionState) { self.transaction = transaction }

  /// Removes a row. Returns whether there was one.
  func removeRow(_ collection: CollectionState, _ key: String) throws(DatabaseError) -> Bool {
    guard let session = try transaction.session() else { return try deleteRow(collection, key) != nil }
    try transaction.finishRounds(before: key, of: collection)
    guard let id = collection.id, let existing = try transaction.rowID(id, key) else { return false }
    try session.will(.remove, existing, key, collection, .stored)
    // Unless a hook has done it.
    guard let removed = try deleteRow(collection, key) else { return true }
    try session.did(.remove, removed, key, collection, .gone)
    return true
  }

  /// Removes the rows under `keys`; extensions are told of many at a time. Returns how many there were.
  func removeRows(_ collection: CollectionState, _ keys: [String]) throws(DatabaseError) -> Int {
    guard keys.count > 1, let session = try transaction.session() else {
      var count = 0
      for key in keys where try removeRow(collection, key) { count += 1 }
      return count
    }
    var count = 0
    var start = 0
    while start < keys.count {
      try transaction.finishRounds(before: nil, of: collection)
      let end = min(start + Limits.removalBatchCount, keys.count)
      var seen: Set<ByteString> = []
      var rows: [(key: String, rowID: RowID)] = []
      for key in keys[start..<end] {
        guard let id = collection.id, let found = try transaction.rowID(id, key), seen.insert(ByteString(key)).inserted
        else {
          continue
        }
        rows.append((key, found))
      }
      count += rows.count
      try removeTogether(rows, collection, session, isClearing: false)
      start = end
    }
    return count
  }

  /// Removes rows with one call of each hook.
  func removeTogether(
    _ rows: [(key: String, rowID: RowID)], _ collection: CollectionState, _ session: ExtensionSession, isClearing: Bool
  ) throws(DatabaseError) {
    guard !rows.isEmpty else { return }
    try session.willRemove(rows, collection, isClearing: isClearing)
    var removed: [(key: String, rowID: RowID)] = []
    for row in rows {
      // Only the row that the hooks were told of: one of them may have put another in its place.
      guard let id = collection.id, try transaction.rowID(id, row.key) == row.rowID,
        try deleteRow(collection, row.key, isReported: !isClearing) != nil
      else { continue }
      removed.append(row)
    }
    try session.didRemove(removed, collection, isClearing: isClearing)
  }

  /// Deletes a row from the transaction.trees. Returns its id, if there was one.
  private func deleteRow(
    _ collection: CollectionState, _ key: String, isReported: Bool = true
  ) throws(DatabaseError) -> RowID? {
    guard let writer = transaction.writer else { throw transaction.notWriting() }
    guard let id = collection.id, let rowID = try transaction.rowID(id, key),
      let indexKey = transaction.indexKey(id, key)
    else { return nil }
    transaction.mutationCount &+= 1
    collection.hasRemoved = true
    try transaction.wrapping(collection.name, key) { () throws(StorageError) in
      try transaction.delete(indexKey, in: transaction.database.trees.keys)
      try transaction.delete(SearchKey(rowID.rawValue), in: transaction.database.trees.rows)
    }
    if isReported { unsafe writer.changes.append(.removed, id, rowID, key) }
    return rowID
  }

  /// Removes all rows of a collection. Returns how many there were.
  ///
  /// Reads the collection's part of the key index for the rows' ids; these are removed in runs of neighbours, unless an
  /// extension wants to see them.
  func removeAll(_ collection: CollectionState) throws -> Int {
    try transaction.finishRounds(before: nil, of: collection)
    guard let id = collection.id else { return 0 }
    let count = try transaction.count(id)
    guard count > 0 else { return 0 }
    guard let session = try transaction.session() else {
      try deleteAllRows(collection, id, count)
      return count
    }
    try session.willClear(collection.name)
    var left: [(key: String, rowID: RowID)] = []
    if let id = collection.id {
      if session.wantsRows(of: collection.name) {
        unsafe transaction.writer?.changes.clear(id)
        try session.clearing(id) { try removeInBatches(collection, id, session) }
        left = try allRows(of: id)
      } else {
        try deleteAllRows(collection, id, try transaction.count(id))
      }
    }
    try session.didClear(collection, left: left)
    return count
  }

  /// Removes all rows of a collection that are there now, some at a time, with hooks. What hooks insert meanwhile
  /// stays.
  private func removeInBatches(_ collection: CollectionState, _ id: CollectionID, _ session: ExtensionSession) throws {
    let end = try transaction.allocateRowID()
    var start = id.prefix
    while true {
      var rows: [(key: String, rowID: RowID)] = []
      var next: [UInt8]?
      try unsafe forEachKey(of: id, from: start) { (bytes, rowID) throws(DatabaseError) in
        let key = try unsafe key(bytes)
        if rows.count == Limits.removalBatchCount {
          next = unsafe Array(bytes)
          return false
        }
        if RowID(rowID) < end { rows.append((key, RowID(rowID))) }
        return true
      }
      try removeTogether(rows, collection, session, isClearing: true)
      guard let next else { return }
      start = next
    }
  }

  /// Key and id of each row of a collection.
  private func allRows(of id: CollectionID) throws -> [(key: String, rowID: RowID)] {
    var rows: [(key: String, rowID: RowID)] = []
    try unsafe forEachKey(of: id, from: id.prefix) { bytes, rowID in
      rows.append((try unsafe key(bytes), RowID(rowID)))
      return true
    }
    return rows
  }

  /// The key of a row in its entry of the key index.
  private func key(_ bytes: UnsafeRawBufferPointer) throws(DatabaseError) -> String {
    guard let key = unsafe String(validating: bytes.dropFirst(CollectionID.byteCount), as: UTF8.self) else {
      throw RowView.damaged()
    }
    return key
  }

  private func deleteAllRows(_ collection: CollectionState, _ id: CollectionID, _ count: Int) throws {
    guard let writer = transaction.writer else { throw transaction.notWriting() }
    guard count > 0 else { return }
    transaction.mutationCount &+= 1
    collection.hasRemoved = true
    let total = try transaction.wrapping { () throws(StorageError) in
      try transaction.count(of: transaction.database.trees.keys)
    }
    if total == count {
      try transaction.wrapping(collection.name) { () throws(StorageError) in
        try transaction.deleteAll(in: transaction.database.trees.keys)
        try transaction.deleteAll(in: transaction.database.trees.rows)
      }
    } else {
      try deleteRows(of: id, count)
    }
    unsafe writer.changes.clear(id)
  }

  private func deleteRows(of id: CollectionID, _ count: Int) throws {
    var rowIDs = try collectRowIDs(id, count)
    rowIDs.sort()
    var first = 0
    while first < rowIDs.count {
      var end = first + 1
      while end < rowIDs.count, rowIDs[end] == rowIDs[end - 1] + 1 { end += 1 }
      // A run of neighbours goes as one, without a look at its leaves.
      _ = try transaction.deleteRange(rowIDs[first]..<rowIDs[end - 1] + 1, in: transaction.trees.rows)
      first = end
    }
    _ = try transaction.deleteRange(from: id.prefix, to: id.end, in: transaction.database.trees.keys)
  }

  private func collectRowIDs(_ id: CollectionID, _ count: Int) throws -> [Int64] {
    var rowIDs: [Int64] = []
    // The count comes from the disk, so it is no reason to ask for any amount of memory.
    rowIDs.reserveCapacity(min(count, 1 << 16))
    try unsafe forEachKey(of: id, from: id.prefix) { _, rowID in
      rowIDs.append(rowID)
      return true
    }
    return rowIDs
  }

  /// Calls `body` with the entries of a collection in the key index from `start` on, until it returns false. The bytes
  /// begin with the collection's id.
  private func forEachKey(
    of id: CollectionID, from start: [UInt8], _ body: (UnsafeRawBufferPointer, Int64) throws -> Bool
  ) throws {
    var cursor = try transaction.cursor(transaction.database.trees.keys)
    let end = id.end
    var isOnEntry = try cursor.seek(start) || cursor.isOnEntry
    while isOnEntry, try unsafe lend(cursor, upTo: end, body) { isOnEntry = try cursor.next() }
  }

  /// Calls `body` with the entry of the key index that the cursor is on, unless it is one of another collection.
  /// Returns whether the walk goes on.
  private func lend(
    _ cursor: borrowing Cursor, upTo end: [UInt8], _ body: (UnsafeRawBufferPointer, Int64) throws -> Bool
  ) throws -> Bool {
    guard let (found, value) = try cursor.borrowedEntry else { return false }
    cursor.beginLoan()
    defer { cursor.endLoan() }
    guard let rowID = transaction.rowID(value) else { throw RowView.damaged() }
    let key = unsafe UnsafeRawBufferPointer(start: found.base, count: found.count)
    guard unsafe key.lexicographicallyPrecedes(end) else { return false }
    return try unsafe body(key, rowID.rawValue)
  }

  /// Removes all rows of all collections. Returns how many there were.
  func removeAll() throws(DatabaseError) -> Int {
    guard let writer = transaction.writer else { throw transaction.notWriting() }
    try transaction.finishRounds(before: nil, of: nil)
    let trees = transaction.trees
    let count = try transaction.wrapping { () throws(StorageError) in try transaction.count(of: trees.keys) }
    guard count > 0 else { return 0 }
    let session = try transaction.session()
    try session?.willClearAll()
    let names = try transaction.overview.collectionNames()
    transaction.mutationCount &+= 1
    try transaction.wrapping { () throws(StorageError) in
      try transaction.deleteAll(in: transaction.trees.keys)
      try transaction.deleteAll(in: transaction.trees.rows)
    }
    for name in names { transaction.open(name).hasRemoved = true }
    unsafe writer.changes.clearAll()
    try session?.didClearAll()
    return count
  }
}
