// A read transaction as apps see it.

/// A view of the database as of one commit. Readers never wait for another transaction to end.
///
/// Lives as long as the closure that it was handed to, and is for the thread that runs that closure.
public struct ReadTransaction {
  @usableFromInline let state: TransactionState

  /// Where the transaction stands among the commits: to ask a ``PinnedStep`` what came since. Nil if nobody keeps the
  /// commits that came after it.
  ///
  /// In a read of a pinned snapshot it tells apart commits that only touched rows, which `csn` does not do; in others
  /// it has none of those with the transaction's own number behind it. O(1) in a pinned snapshot, else O(commits kept).
  public var position: CommitPosition? { state.position ?? state.historyPosition }
}
