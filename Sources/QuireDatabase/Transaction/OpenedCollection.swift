// Finding rows without knowing their types: what generic code is a thin skin over, so that little of it is compiled for
// each type, and none of it asks at run time what type it is for.

internal import QuireStorage

/// A collection in a transaction.
///
/// Two words, one of them counted: the transaction, whose count only its own thread touches. A get through a
/// transaction that somebody else holds counts nothing.
///
/// Invariant: `reference` is owned by `transaction`, which keeps it to its own end; or else the transaction is over,
/// and whatever is asked throws before it is looked at.
@safe @usableFromInline struct OpenedCollection {
  @usableFromInline let transaction: TransactionState
  @usableFromInline let reference: Unmanaged<CollectionState>

  @inlinable @inline(__always) init(_ transaction: TransactionState, _ reference: Unmanaged<CollectionState>) {
    self.transaction = transaction
    unsafe self.reference = unsafe reference
  }

  init(_ transaction: TransactionState, _ state: CollectionState) {
    unsafe self.init(transaction, .passUnretained(state))
  }

  /// What the transaction knows of the collection.
  var state: CollectionState { unsafe reference.takeUnretainedValue() }
  /// The collection's id, unless it does not exist. Counts no reference.
  @inline(__always) var id: CollectionID? { unsafe reference._withUnsafeGuaranteedRef { $0.id } }
  /// Its name.
  var name: String { state.name }

  // MARK: Checks

  /// Throws if the transaction is over, if an earlier call failed that could not throw, or if the collection could not
  /// be opened.
  @inline(__always) func check() throws(DatabaseError) {
    try transaction.check()
    if id == nil { try checkOpened() }
  }

  /// Throws unless the transaction may change the collection now.
  @inline(__always) func checkWriting() throws(DatabaseError) {
    try transaction.checkWriting()
    if id == nil { try checkOpened() }
  }

  @inline(never) private func checkOpened() throws(DatabaseError) {
    if let failure = state.failure { throw failure }
  }

  /// The number of its rows. O(log n).
  func rowCount() throws(DatabaseError) -> Int {
    guard let id else { return 0 }
    return try transaction.count(id)
  }

  /// Runs a call that cannot throw, on a collection that exists; an error is thrown by the transaction's next call.
  func noting<Result>(_ fallback: Result, _ body: (CollectionID) throws(DatabaseError) -> Result) -> Result {
    transaction.noting(fallback) { () throws(DatabaseError) in
      try check()
      guard let id else { return fallback }
      return try body(id)
    }
  }

  // MARK: One object

  /// Calls `body` with the encoded object under `key`, and `note` with the row's number before; does nothing if there
  /// is none. Touches one page per level of key index and row tree.
  @inline(__always)
  func withObject(
    _ key: String, _ protections: RowProtections, _ note: (RowID) -> Void,
    _ body: (UnsafeRawBufferPointer, Unmanaged<RowCodingContext>) throws -> Void
  ) throws(DatabaseError) {
    try transaction.check()
    noteRead(key, .object)
    guard let id else { return try checkOpened() }
    guard let rowID = try transaction.rowID(id, key) else { return }
    note(rowID)
    let value: BorrowedValue?
    do throws(StorageError) {
      value = try transaction.lend(SearchKey(rowID.rawValue), in: transaction.trees.rows)
    } catch {
      throw failure(error, key)
    }
    guard let value else { throw missingRow(rowID, key) }
    defer { transaction.endLoan(value) }
    guard !value.isExtent else { return try unsafe withLongObject(rowID, key, protections, body) }
    let row = unsafe UnsafeRawBufferPointer(start: value.base, count: value.count)
    // A plain value stands behind its tag.
    guard let frame = unsafe RowFrame(row), frame.objectOffset < row.count, unsafe row[frame.objectOffset] == 0,
      unsafe protections.object == nil
    else { return try unsafe decode(row, key, protections, body) }
    do {
      try unsafe body(
        UnsafeRawBufferPointer(rebasing: row[(frame.objectOffset &+ 1)...]),
        reference._withUnsafeGuaranteedRef { unsafe $0.objectContext })
    } catch {
      throw undecodable("object", key, error)
    }
  }

  @inline(never)
  private func withLongObject(
    _ rowID: RowID, _ key: String, _ protections: RowProtections,
    _ body: (UnsafeRawBufferPointer, Unmanaged<RowCodingContext>) throws -> Void
  ) throws(DatabaseError) {
    do {
      _ = try transaction.withValue(rowID.rawValue, in: transaction.trees.rows) { bytes in
        try unsafe bytes.withUnsafeBytes { try unsafe decode($0, key, protections, body) }
      }
    } catch {
      throw failure(error, key)
    }
  }

  /// Calls `body` with the object of a row, however it is stored.
  @inline(never)
  private func decode(
    _ bytes: UnsafeRawBufferPointer, _ key: String, _ protections: RowProtections,
    _ body: (UnsafeRawBufferPointer, Unmanaged<RowCodingContext>) throws -> Void
  ) throws(DatabaseError) {
    let row: RowView
    do throws(DatabaseError) { row = try unsafe RowView(bytes) } catch { throw error.at(name, key) }
    let context = unsafe state.objectContext
    do {
      try unsafe withDecoded(row.object, .object, key, protections.object) { try unsafe body($0, context) }
    } catch {
      throw undecodable("object", key, error)
    }
  }
}
