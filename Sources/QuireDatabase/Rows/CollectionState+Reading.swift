// Finding rows without knowing their types: what generic code is a thin skin over, so that little of it is compiled for
// each type, and none of it asks at run time what type it is for.

internal import QuireStorage

extension CollectionState {
  /// Calls `body` with the encoded object under `key`; does nothing if there is none. Touches one page per level of key
  /// index and row tree.
  @usableFromInline
  func withObject(
    _ key: String, _ body: (UnsafeRawBufferPointer, RowCodingContext) throws -> Void
  ) throws(DatabaseError) {
    let transaction = transaction
    try transaction.check()
    guard let id, let rowID = try transaction.rowID(id, key) else { return }
    let rows = transaction.database.trees.rows
    let value: BorrowedValue?
    do throws(StorageError) { value = try transaction.lend(SearchKey(rowID.rawValue), in: rows) } catch {
      throw failure(error, key)
    }
    guard let value else { throw missingRow(rowID, key) }
    defer { transaction.endLoan(value) }
    guard !value.isExtent else { return try unsafe withLongObject(rowID, key, body) }
    let row: RowView
    do throws(DatabaseError) {
      row = try unsafe RowView(UnsafeRawBufferPointer(start: value.base, count: value.count))
    } catch { throw error.at(name, key) }
    // A plain value stands behind its tag.
    guard unsafe row.object.first == 0 else { return try unsafe decode(row, key, body) }
    do { try unsafe body(UnsafeRawBufferPointer(rebasing: row.object.dropFirst()), contexts.object) } catch {
      throw undecodable("object", key, error)
    }
  }

  @inline(never)
  private func withLongObject(
    _ rowID: RowID, _ key: String, _ body: (UnsafeRawBufferPointer, RowCodingContext) throws -> Void
  ) throws(DatabaseError) {
    do {
      _ = try transaction.withValue(rowID.rawValue, in: transaction.database.trees.rows) { bytes in
        try unsafe bytes.withUnsafeBytes { try unsafe decode(RowView($0), key, body) }
      }
    } catch {
      throw failure(error, key)
    }
  }

  /// Calls `body` with the object of a row, however it is stored.
  @inline(never)
  private func decode(
    _ row: RowView, _ key: String, _ body: (UnsafeRawBufferPointer, RowCodingContext) throws -> Void
  ) throws(DatabaseError) {
    do {
      try unsafe ValueCompression.withDecoded(row.object.bytes) { bytes in
        try unsafe bytes.withUnsafeBytes { try unsafe body($0, contexts.object) }
      }
    } catch {
      throw undecodable("object", key, error)
    }
  }

  // MARK: Errors

  @inline(never)
  func undecodable(_ half: String, _ key: String, _ cause: any Error) -> DatabaseError {
    if let cause = cause as? DatabaseError { return cause.at(name, key) }
    return DatabaseError(
      .decodingFailed,
      """
      The \(half) of a row does not decode. If its type has changed, give new fields a default or an optional type, or \
      use `upgrading(from:)`.
      """, path: transaction.database.path, collection: name, key: key, cause: cause)
  }

  /// The error for an entry of the key index whose row is not there.
  @inline(never)
  func missingRow(_ rowID: RowID, _ key: String) -> DatabaseError {
    DatabaseError(
      .damagedRow, "The key index leads to \(rowID), which does not exist. Verify the database.",
      path: transaction.database.path, collection: name, key: key)
  }

  /// `error` with the row that it happened to.
  @inline(never)
  func failure(_ error: any Error, _ key: String?) -> DatabaseError {
    switch error {
    case let error as DatabaseError: error.at(name, key)
    case let error as StorageError: DatabaseError(error, collection: name, key: key)
    default:
      DatabaseError(
        .decodingFailed, "A row could not be read.", path: transaction.database.path, collection: name, key: key,
        cause: error)
    }
  }
}
