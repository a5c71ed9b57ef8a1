// Whole rows of a collection, one or many, without knowing their types.

internal import QuireStorage

extension OpenedCollection {
  /// Calls `body` with the row under `key`; does nothing if there is none. Touches one page per level of key index and
  /// row tree.
  func withRow(_ key: String, _ body: (RowID, RowView) throws -> Void) throws(DatabaseError) {
    try check()
    noteRead(key, [.object, .metadata])
    guard let id, let rowID = try transaction.rowID(id, key) else { return }
    let isFound: Void?
    do {
      isFound = try transaction.withValue(rowID.rawValue, in: transaction.trees.rows) { bytes in
        try unsafe bytes.withUnsafeBytes { try body(rowID, unsafe RowView($0)) }
      }
    } catch {
      throw failure(error, key)
    }
    if isFound == nil { throw missingRow(rowID, key) }
  }

  /// The number of the row under `key`, or nil. Touches one page per level of the key index.
  @usableFromInline func rowID(_ key: String) throws(DatabaseError) -> RowID? {
    try check()
    noteRead(key, [])
    guard let id else { return nil }
    do throws(DatabaseError) { return try transaction.rowID(id, key) } catch { throw error.at(name, key) }
  }

  /// The number of rows. O(log n). An error is thrown by the transaction's next call.
  @usableFromInline var count: Int {
    transaction.recorder?.noteAll(of: name, [])
    return noting(0) { (id) throws(DatabaseError) in try transaction.count(id) }
  }

  /// The number of rows whose keys lie within bounds. O(log n).
  func count(_ bounds: (CollectionID) -> KeyBounds) throws(DatabaseError) -> Int {
    try check()
    let bounds = id.map(bounds)
    noteRead(bounds, [])
    return try bounds.map { (bounds) throws(DatabaseError) in try transaction.count(bounds) } ?? 0
  }

  /// The numbers of the rows under `keys` that exist, with their keys, in the order of `keys`.
  ///
  /// - Parameter halves: those that are going to be looked at.
  func entries(_ keys: [String], _ halves: RowHalves) throws(DatabaseError) -> [IndexEntry] {
    let transaction = transaction
    try check()
    if transaction.recorder != nil {
      for key in keys { noteRead(key, halves) }
    }
    guard let id else { return [] }
    var found: [IndexEntry] = []
    found.reserveCapacity(keys.count)
    for key in keys {
      if let rowID = try transaction.rowID(id, key) { found.append(IndexEntry(key: key, rowID: rowID)) }
    }
    return found
  }

  /// Calls `body` with the rows of `entries`, in their order.
  @inline(__always)
  func forEachRow(of entries: [IndexEntry], _ body: (Int, IndexEntry, RowView) throws -> Void) throws(DatabaseError) {
    do {
      try transaction.withValues(count: entries.count, in: transaction.trees.rows, { entries[$0].rowID.rawValue }) {
        index, bytes in
        let entry = entries[index]
        guard let bytes else { throw missingRow(entry.rowID, entry.key) }
        try unsafe bytes.withUnsafeBytes { try body(index, entry, unsafe RowView($0)) }
      }
    } catch {
      throw failure(error, nil)
    }
  }

  // MARK: Halves

  /// Calls `body` with the encoded object of a row.
  func withObject(
    of row: RowView, _ key: String, _ protections: RowProtections,
    _ body: (UnsafeRawBufferPointer, Unmanaged<RowCodingContext>) throws -> Void
  ) throws {
    let context = unsafe reference._withUnsafeGuaranteedRef { unsafe $0.objectContext }
    do { try unsafe withHalf(row.object, .object, key, protections) { try unsafe body($0, context) } } catch {
      throw undecodable("object", key, error)
    }
  }

  /// Calls `body` with the encoded metadata of a row, if it has some.
  func withMetadata(
    of row: RowView, _ key: String, _ protections: RowProtections,
    _ body: (UnsafeRawBufferPointer, Unmanaged<RowCodingContext>) throws -> Void
  ) throws {
    guard let metadata = unsafe row.metadata else { return }
    let context = unsafe reference._withUnsafeGuaranteedRef { unsafe $0.metadataContext }
    do { try unsafe withHalf(metadata, .metadata, key, protections) { try unsafe body($0, context) } } catch {
      throw undecodable("metadata", key, error)
    }
  }

  @inline(__always)
  private func withHalf(
    _ stored: UnsafeRawBufferPointer, _ half: RowHalf, _ key: String, _ protections: RowProtections,
    _ body: (UnsafeRawBufferPointer) throws -> Void
  ) throws {
    // A plain value stands behind its tag.
    if unsafe stored.first == 0, unsafe protections[half] == nil {
      return try unsafe body(UnsafeRawBufferPointer(rebasing: stored.dropFirst()))
    }
    try unsafe withDecoded(stored, half, key, protections[half], body)
  }
}
