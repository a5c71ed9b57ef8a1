// Storing whole rows: the key index is walked once, to find the row under a key or to enter a new one.

internal import QuireStorage

extension OpenedCollection {
  /// Stores a row that is put together, new or in the place of the one under `key`, which stays if it is not to be
  /// replaced. Returns the id of the row under `key` and whether it is new. Walks the key index once.
  func insertOrReplace(
    _ row: borrowing RowBuilder, _ key: String, replaces: Bool
  ) throws -> (rowID: RowID, isNew: Bool) {
    guard let id, let writer = transaction.writer else { throw transaction.notWriting() }
    // A long row may be refused by the disk and leave the transaction as it was: it goes first, and has its key entered
    // afterwards.
    guard transaction.isStoredWhole(row) else { return try insertOrReplaceLong(row, key, id, replaces) }
    transaction.mutationCount &+= 1
    let next = transaction.nextRowID
    // The last id is not given: refused before the key is entered.
    if next.rawValue == .max { _ = try transaction.allocateRowID() }
    if let existing = try rowID(id, key, orEnter: next) {
      guard replaces else { return (existing, false) }
      try put(row, existing)
      unsafe writer.changes.append(.changed([.object, .metadata]), id, existing, key)
      return (existing, false)
    }
    let given = try transaction.allocateRowID()
    assert(given == next, "another number was entered than is given")
    try put(row, next)
    unsafe writer.changes.append(.inserted, id, next, key)
    return (next, true)
  }

  @inline(never)
  private func insertOrReplaceLong(
    _ row: borrowing RowBuilder, _ key: String, _ id: CollectionID, _ replaces: Bool
  ) throws -> (rowID: RowID, isNew: Bool) {
    if let existing = try transaction.rowID(id, key) {
      if replaces { try replace(row, key, existing, [.object, .metadata]) }
      return (existing, false)
    }
    transaction.mutationCount &+= 1
    let rowID = try transaction.allocateRowID()
    try put(row, rowID)
    _ = try self.rowID(id, key, orEnter: rowID)
    unsafe transaction.writer?.changes.append(.inserted, id, rowID, key)
    return (rowID, true)
  }

  /// Stores a row that is put together in the place of `existing`.
  func replace(_ row: borrowing RowBuilder, _ key: String, _ existing: RowID, _ halves: RowHalves) throws {
    guard let id, let writer = transaction.writer else { throw transaction.notWriting() }
    transaction.mutationCount &+= 1
    try put(row, existing)
    unsafe writer.changes.append(.changed(halves), id, existing, key)
  }

  private func put(_ row: borrowing RowBuilder, _ rowID: RowID) throws(StorageError) {
    try unsafe row.bytes.withValueBytes { (bytes) throws(StorageError) in
      try unsafe transaction.put(SearchKey(rowID.rawValue), bytes, in: transaction.trees.rows)
    }
  }

  // MARK: The key index

  /// The id of the row under a key, which the index can have; if there is none, enters `new` there and returns nil. One
  /// walk of the index.
  @inline(__always)
  private func rowID(_ id: CollectionID, _ key: String, orEnter new: RowID) throws -> RowID? {
    guard let indexKey = transaction.indexKey(id, key) else { throw RowView.damaged() }
    return try rowID(indexKey, orEnter: new)
  }

  /// The same for a key that stands in a row: it is short enough.
  func rowID(_ id: CollectionID, _ key: UnsafeRawBufferPointer, orEnter new: RowID) throws -> RowID? {
    let base = unsafe transaction.scratch.key
    unsafe base.storeBytes(of: id.rawValue.bigEndian, as: UInt32.self)
    if let bytes = key.baseAddress {
      unsafe (base + CollectionID.byteCount).copyMemory(from: bytes, byteCount: key.count)
    }
    let indexKey = unsafe UnsafeRawBufferPointer(start: base, count: CollectionID.byteCount + key.count)
    return try rowID(unsafe SearchKey(indexKey), orEnter: new)
  }

  @inline(__always) private func rowID(_ indexKey: SearchKey, orEnter new: RowID) throws -> RowID? {
    let transaction = transaction
    let found = try unsafe withUnsafeBytes(of: new.rawValue.littleEndian) { (bytes) throws(StorageError) in
      try unsafe transaction.insertOrFind(indexKey, bytes, in: transaction.trees.keys)
    }
    guard let found else { return nil }
    defer { transaction.endLoan(found) }
    guard let rowID = transaction.rowID(found) else { throw RowView.damaged() }
    return rowID
  }
}
