// What both kinds of transactions can be asked.

public import QuireStorage

/// What can be read in a transaction, of either kind: `ReadTransaction` and `WriteTransaction` are all that conform.
///
/// For functions of an app that are called in both, which see a write transaction's own changes there:
///
/// ```swift
/// func title(of key: String, in tx: some TransactionReading) throws -> String? {
///   try tx.rows(of: .songs).get(key)?.title
/// }
/// ```
public protocol TransactionReading {
  /// The transaction, whichever of the two it is.
  var handle: TransactionHandle { get }
}

/// A transaction of either kind. For the thread and the life of its closure.
public struct TransactionHandle {
  @usableFromInline let state: TransactionState

  @inlinable @inline(__always) init(_ state: TransactionState) { self.state = state }

  /// The transaction, if it is one that writes.
  public var writeTransaction: WriteTransaction? { state.isWriting ? WriteTransaction(state: state) : nil }

  /// The transaction, as a reading one: also in a write transaction, whose changes of rows it shows. What extensions
  /// have in mind and have not written yet it does not show; `WriteTransaction.access(to:)` does.
  public var readTransaction: ReadTransaction { ReadTransaction(state: state) }
}

extension TransactionReading {
  /// The commit that the transaction sees; one that writes builds on it.
  public var csn: CSN { handle.state.csn }

  /// The names of the collections, which are those that have a row, in the order of their bytes. O(collections), in a
  /// write transaction O(collections · log n). An error is thrown by the transaction's next call.
  public var collections: [String] {
    let state = handle.state
    return state.noting([]) { () throws(DatabaseError) in try state.overview.collectionNames() }
  }

  /// The names of the collections that have a row under `key`, in the order of their bytes. O(collections · log n).
  public func collections(containing key: String) throws(DatabaseError) -> [String] {
    try handle.state.overview.collectionNames(containing: key)
  }

  /// The number of rows of all collections. O(1). An error is thrown by the transaction's next call.
  public var count: Int {
    let state = handle.state
    return state.noting(0) { () throws(DatabaseError) in try state.overview.rowCount() }
  }

  /// Where the row of an id is; nil if it is gone. Touches one page per level of the row tree.
  public func key(of rowID: RowID) throws(DatabaseError) -> RowKey? { try handle.state.overview.key(of: rowID) }

  /// The id of the row at a key, whatever its types; nil if there is none. Touches one page per level of the key index.
  public func rowID(of row: RowKey) throws(DatabaseError) -> RowID? { try handle.state.overview.rowID(of: row) }
}

extension ReadTransaction: TransactionReading {
  public var handle: TransactionHandle { TransactionHandle(state) }
}

extension WriteTransaction: TransactionReading {
  public var handle: TransactionHandle { TransactionHandle(state) }
}
