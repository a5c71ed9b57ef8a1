// A read transaction as apps see it.

public import QuireStorage

/// A view of the database as of one commit. Readers never wait for another transaction to end.
///
/// Lives as long as the closure that it was handed to, and is for the thread that runs that closure.
public struct ReadTransaction {
  @usableFromInline let state: TransactionState

  /// The commit that the transaction sees.
  public var csn: CSN { state.csn }

  /// Where the transaction stands among the commits: to ask a ``PinnedStep`` what came since. Nil if nobody keeps the
  /// commits that came after it.
  ///
  /// In a read of a pinned snapshot it tells apart commits that only touched rows, which `csn` does not do; in others
  /// it has none of those with the transaction's own number behind it. O(1) in a pinned snapshot, else O(commits kept).
  public var position: CommitPosition? { state.position ?? state.historyPosition }
}

/// What both kinds of transactions tell about the database as a whole.
extension ReadTransaction {
  /// The names of the collections, which are those that have a row, in the order of their bytes. O(collections).
  public var collections: [String] {
    state.noting([]) { () throws(DatabaseError) in try state.overview.collectionNames() }
  }

  /// The names of the collections that have a row under `key`, in the order of their bytes. O(collections · log n).
  public func collections(containing key: String) throws(DatabaseError) -> [String] {
    try state.overview.collectionNames(containing: key)
  }

  /// The number of rows of all collections. O(1).
  public var count: Int { state.noting(0) { () throws(DatabaseError) in try state.overview.rowCount() } }

  /// Where the row of an id is; nil if it is gone. Touches one page per level of the row tree.
  public func key(of rowID: RowID) throws(DatabaseError) -> RowKey? { try state.overview.key(of: rowID) }

  /// The id of the row at a key, whatever its types; nil if there is none. Touches one page per level of the key index.
  public func rowID(of row: RowKey) throws(DatabaseError) -> RowID? { try state.overview.rowID(of: row) }
}
