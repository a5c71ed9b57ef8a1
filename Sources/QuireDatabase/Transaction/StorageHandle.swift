// The engine's calls, for either kind of transaction.

internal import QuireStorage

/// The engine's transaction behind one of ours, in memory of `TransactionScratch`: a transaction within an object would
/// be taken apart and put together for each call.
@safe enum StorageHandle {
  case reading(UnsafeMutablePointer<QuireStorage.ReadTransaction>)
  case writing(UnsafeMutablePointer<QuireStorage.WriteTransaction>)
  /// The closure has returned. Every call of an app's is refused before it comes here.
  case ended

  /// The error of a call that needs another kind of transaction.
  static func unfit() -> StorageError {
    StorageError(.transactionFailed, "The transaction is over, or cannot change anything. Begin another one.")
  }
}

extension StorageHandle {
  /// Stores an entry unless there is one already: then lends the value of that one until `endLoan`; the
  /// caller counts it.
  func insertOrFind(
    _ key: SearchKey, _ value: UnsafeRawBufferPointer, in tree: Tree
  ) throws(StorageError) -> BorrowedValue? {
    guard case .writing(let tx) = self else { throw Self.unfit() }
    return unsafe try tx.pointee.insertOrFind(key, value, in: tree)
  }

  /// Whether storing a row either succeeds or leaves a transaction that can only be rolled back.
  func isStoredWhole(_ row: borrowing RowBuilder) -> Bool {
    guard case .writing(let tx) = self else { return false }
    return unsafe row.bytes.withUnsafeBytes { unsafe tx.pointee.standsBesideKey(SearchKey(Int64(0)), $0) }
  }

  /// The row id that is reserved next.
  var nextRowID: RowID {
    guard case .writing(let tx) = self else { return RowID(0) }
    return RowID(unsafe tx.pointee.nextRowID)
  }
}
