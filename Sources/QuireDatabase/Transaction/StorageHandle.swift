// The engine's transaction of either kind.

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
