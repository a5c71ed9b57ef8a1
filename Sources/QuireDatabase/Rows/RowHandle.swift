// Rows of one collection in one transaction: decoding what the trees hold.

internal import QuireStorage

/// A collection opened in a transaction; what stands behind `ReadableRows` and `WritableRows`.
public struct RowHandle<Object: Sendable, Metadata: Sendable> {
  @usableFromInline let state: CollectionState
  @usableFromInline let collection: RowCollection<Object, Metadata>

  @inlinable init(state: CollectionState, collection: RowCollection<Object, Metadata>) {
    self.state = state
    self.collection = collection
  }

  var transaction: TransactionState { state.transaction }

  // MARK: Decoding

  /// The object of a row.
  @inline(__always)
  func object(_ row: RowView, _ key: String) throws -> Object {
    do {
      return try unsafe ValueCompression.withDecoded(row.object.bytes) { bytes in
        try unsafe bytes.withUnsafeBytes { bytes in try unsafe collection.coder.decode(bytes, state.contexts.object) }
      }
    } catch {
      throw undecodable("object", key, error)
    }
  }

  /// The metadata of a row, if it has some.
  @inline(__always)
  func metadata(_ row: RowView, _ key: String) throws -> Metadata? {
    guard let metadata = unsafe row.metadata else { return nil }
    do {
      return try unsafe ValueCompression.withDecoded(metadata.bytes) { bytes in
        try unsafe bytes.withUnsafeBytes { bytes in
          try unsafe collection.metadataCoder.decode(bytes, state.contexts.metadata)
        }
      }
    } catch {
      throw undecodable("metadata", key, error)
    }
  }

  private func undecodable(_ half: String, _ key: String, _ cause: any Error) -> DatabaseError {
    state.undecodable(half, key, cause)
  }

  // MARK: One row

  /// Calls `body` with the parts of the row under `key`. Touches one page per level of key index and row tree.
  @inline(__always)
  func withRow<Result>(_ key: String, _ body: (RowID, RowView) throws -> Result) throws(DatabaseError) -> Result? {
    let transaction = transaction
    try transaction.check()
    guard let id = state.id, let rowID = try transaction.rowID(id, key) else { return nil }
    do {
      let result = try transaction.withValue(rowID.rawValue, in: transaction.database.trees.rows) { bytes in
        try unsafe bytes.withUnsafeBytes { try body(rowID, unsafe RowView($0)) }
      }
      if let result { return result }
    } catch {
      throw failure(error, key)
    }
    throw missingRow(rowID, key)
  }

  /// The error for an entry of the key index whose row is not there.
  func missingRow(_ rowID: RowID, _ key: String) -> DatabaseError { state.missingRow(rowID, key) }

  /// `error` with the row that it happened to.
  func failure(_ error: any Error, _ key: String?) -> DatabaseError { state.failure(error, key) }

  /// The row of a view.
  @inline(__always)
  func row(_ key: String, _ rowID: RowID, _ view: RowView) throws -> Row<Object, Metadata> {
    Row(key: key, rowID: rowID, object: try object(view, key), metadata: try metadata(view, key))
  }
}
