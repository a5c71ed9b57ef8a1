// A write transaction as apps see it.

/// The one write transaction that runs. It sees its own changes; everybody else does once it has committed, which it
/// does when its closure returns. A closure that throws rolls everything back.
///
/// Lives as long as the closure that it was handed to, and is for the thread that runs that closure.
public struct WriteTransaction {
  @usableFromInline let state: TransactionState

  /// Has `action` run once the commit is durable, in the order of the calls; never after a rollback, nor when the
  /// commit fails.
  ///
  /// It may open transactions. For a `write` that blocks its thread it runs there, before `write` returns. For an async
  /// one it runs on a thread of the database's that does nothing else, after those of the commits before it; `write`
  /// may return earlier. `drain` waits for it, and so does `close`.
  public func onCommit(_ action: @escaping @Sendable () -> Void) {
    // Nothing follows a transaction that is over.
    if state.isOpen { state.writer?.actions.append(action) }
  }

  /// Has `action` run if the transaction is rolled back, whatever for, after that and before `write` throws, in the
  /// order of the calls; also at the end of a transaction that commits, if the savepoint that this was called in was
  /// undone. Not if nobody knows whether the commit is on the disk (`outcomeUnknown`).
  ///
  /// It runs on the thread that wrote, or, for async writes, on one of the database's, and may open transactions.
  public func onRollback(_ action: @escaping @Sendable () -> Void) {
    if state.isOpen { state.writer?.rollbackActions.append(action) }
  }

  /// What is delivered with the commit to those who follow commits: where it came from, for example. Any value; nil at
  /// first.
  public var commitInfo: (any Sendable & Codable)? {
    get { state.writer?.commitInfo }
    nonmutating set { state.writer?.commitInfo = newValue }
  }

  /// Undoes the whole transaction by throwing out of its closure; `write` rethrows the error, whose code is
  /// `rolledBack`.
  public func rollback() throws(DatabaseError) -> Never {
    throw DatabaseError(.rolledBack, "The transaction asked to be rolled back.", path: state.database.path)
  }
}
