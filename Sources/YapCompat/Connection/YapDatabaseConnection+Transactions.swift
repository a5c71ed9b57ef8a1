// Running transactions, one after the other.

internal import Quire

extension YapDatabaseConnection {
  // MARK: Blocking its thread

  /// Runs `block` on a snapshot. Calls inside need no `try`: the first one that fails makes this throw, and those after
  /// it do nothing. New call: `Database.read(_:)`, `Connection.read(_:)`.
  ///
  /// - Throws: the first error of a call inside, what `block` throws, `nestedTransaction` inside a transaction of this
  ///   connection, `notPermitted`, `closed`.
  @discardableResult
  public func read<Result>(
    fileID: StaticString = #fileID, line: UInt = #line, _ block: (YapDatabaseReadTransaction) throws -> Result
  ) throws -> Result {
    try check(.syncReadTransaction)
    return try inTurn { try runRead(at: CallSite(fileID: fileID, line: line), block) }
  }

  /// Runs `block` as the only write transaction and commits it; returns when the commit is durable. If a call inside
  /// fails, all of it is rolled back and the first error is thrown. New call: `Database.write(_:)`,
  /// `Connection.write(_:)`.
  ///
  /// - Throws: as `read(_:)` and `Database.write(_:)`; `nestedTransaction` inside any transaction on the same thread;
  ///   `notPermitted` in a long-lived read, see `enableExceptionsForImplicitlyEndingLongLivedReadTransaction()`.
  @discardableResult
  public func readWrite<Result>(
    fileID: StaticString = #fileID, line: UInt = #line, _ block: (YapDatabaseReadWriteTransaction) throws -> Result
  ) throws -> Result {
    try check(.syncReadWriteTransaction)
    guard !database.threads.state(self).isInside else { throw nested() }
    return try inTurn { try runWrite(at: CallSite(fileID: fileID, line: line), block) }
  }

  // MARK: Asynchronously

  /// Runs `block` on a snapshot when its turn has come. Errors go to the database's `onError`. New call:
  /// `Database.read` with `await`.
  ///
  /// - Parameters:
  ///   - fileID: who asks, for messages.
  ///   - line: as well.
  ///   - block: reads.
  ///   - completionQueue: where the completion block runs; nil for the main queue.
  ///   - completionBlock: runs when the transaction is over, also if it has failed.
  @preconcurrency public func asyncRead(
    fileID: StaticString = #fileID, line: UInt = #line,
    _ block: @escaping @Sendable (YapDatabaseReadTransaction) -> Void, completionQueue: DispatchQueue? = nil,
    completionBlock: (@Sendable () -> Void)? = nil
  ) {
    let site = CallSite(fileID: fileID, line: line)
    begin(.asyncReadTransaction, completionQueue, completionBlock) { connection in
      try connection.runRead(at: site, block)
    }
  }

  /// Runs `block` as the only write transaction when its turn has come, and commits it. Errors go to the database's
  /// `onError`, after everything was rolled back. New call: `Database.write` with `await`.
  ///
  /// - Parameters:
  ///   - fileID: who asks, for messages.
  ///   - line: as well.
  ///   - block: reads and writes.
  ///   - completionQueue: where the completion block runs; nil for the main queue.
  ///   - completionBlock: runs when the commit is durable, and also when the transaction has failed or was rolled back,
  ///     after `onError`; the commit's notification was sent to the main queue before. What is to run after commits
  ///     only goes to `YapDatabaseReadWriteTransaction.addCompletionQueue(_:completionBlock:)`.
  @preconcurrency public func asyncReadWrite(
    fileID: StaticString = #fileID, line: UInt = #line,
    _ block: @escaping @Sendable (YapDatabaseReadWriteTransaction) -> Void, completionQueue: DispatchQueue? = nil,
    completionBlock: (@Sendable () -> Void)? = nil
  ) {
    let site = CallSite(fileID: fileID, line: line)
    begin(.asyncReadWriteTransaction, completionQueue, completionBlock) { connection in
      try connection.runWrite(at: site, block)
    }
  }

  /// Runs `completionBlock` when every transaction that was called on this connection before is over. New call:
  /// `Connection.drain()`.
  @preconcurrency public func flushTransactions(
    withCompletionQueue completionQueue: DispatchQueue?, completionBlock: (@Sendable () -> Void)?
  ) {
    queue.async {
      if let completionBlock { (completionQueue ?? .main).async(execute: completionBlock) }
    }
  }

  // MARK: Turns

  func nested() -> DatabaseError {
    DatabaseError(
      .nestedTransaction,
      "A transaction was opened inside another on the same thread. Pass the transaction along instead.",
      path: database.quire.path)
  }

  /// Throws unless the connection permits such a transaction from this thread.
  func check(_ kind: YapDatabasePermittedTransactions) throws(DatabaseError) {
    let permitted = permittedTransactions
    guard permitted.contains(kind) else { throw notPermitted("such a transaction; see `permittedTransactions`") }
    guard !permitted.contains(.mainThreadOnly) || MainQueue.isCurrent else {
      throw notPermitted("transactions outside of the main thread; see `permittedTransactions`")
    }
  }

  /// Runs `body` on the calling thread when those before it are done.
  func inTurn<Result>(_ body: () throws -> Result) throws -> Result {
    let (isInside, isInsideOwn) = database.threads.state(self)
    guard !isInsideOwn else { throw nested() }
    countPending(1)
    defer { countPending(-1) }
    // A thread that is inside of another connection's transaction never waits: two that waited for each other's
    // connections would do so for ever. It reads a snapshot that needs no turn.
    return isInside ? try body() : try queue.sync(execute: body)
  }

  private func countPending(_ change: Int64) {
    state.withLock { state in
      assert(Int64(state.pendingCount) + change >= 0, "more transactions have ended than begun")
      state.pendingCount = UInt64(max(0, Int64(state.pendingCount) + change))
    }
  }

  /// Runs `body` when those before it are done; its error goes to `onError`.
  func begin(
    _ kind: YapDatabasePermittedTransactions, _ completionQueue: DispatchQueue?,
    _ completionBlock: (@Sendable () -> Void)?,
    _ body: @escaping @Sendable (YapDatabaseConnection) throws -> Void
  ) {
    let database = database
    begin(kind, body) { error in
      database.postCommits()
      if let error { database.report(error) }
      if let completionBlock { (completionQueue ?? .main).async(execute: completionBlock) }
    }
  }

  /// Runs `body` when those before it are done, and then `finish`, with its error.
  func begin(
    _ kind: YapDatabasePermittedTransactions,
    _ body: @escaping @Sendable (YapDatabaseConnection) throws -> Void,
    finish: @escaping @Sendable ((any Error)?) -> Void
  ) {
    do throws(DatabaseError) { try check(kind) } catch { return finish(error) }
    countPending(1)
    queue.async { [self] in
      var failure: (any Error)?
      do { try body(self) } catch { failure = error }
      countPending(-1)
      finish(failure)
    }
  }

  // MARK: Blocks

  /// Runs a reading block on the snapshot of the long-lived read, or on the newest.
  func runRead<Result>(
    at site: CallSite, _ block: (YapDatabaseReadTransaction) throws -> Result
  ) throws -> Result {
    let perform = { (tx: ReadTransaction) in
      try self.perform(YapDatabaseReadTransaction(self.database, self, .reading(tx)), block)
    }
    if let pin = state.withLock({ $0.pin }) { return try pin.read(perform) }
    // Inside of another transaction the thread may not open one in the plain way, but look at a pinned snapshot.
    if database.threads.state(self).isInside {
      return try database.quire.pin(fileID: site.fileID, line: site.line).read(perform)
    }
    return try state.withLock { $0.quire }.read(at: site, perform)
  }

  /// Runs a writing block; everything is rolled back if something fails in it, or if it asks for that.
  func runWrite<Result>(
    at site: CallSite, _ block: (YapDatabaseReadWriteTransaction) throws -> Result
  ) throws -> Result {
    try endPinForWriting()
    var outcome: Result?
    var isRolledBack = false
    do {
      return try state.withLock { $0.quire }.write(at: site) { tx in
        // Notes in the commit which connection made it.
        tx.commitInfo = YapDatabaseCommitInfo(self, nil)
        let transaction = YapDatabaseReadWriteTransaction(database, self, tx)
        let result = try perform(transaction, block)
        guard transaction.isRolledBack else {
          // For those who send something to the main queue when this has returned.
          tx.onCommit { [database] in database.postCommits() }
          return result
        }
        (outcome, isRolledBack) = (result, true)
        try tx.rollback()
      }
    } catch {
      // Objects that the block has changed in place are not what the file has.
      caches.removeAll()
      if isRolledBack, (error as? DatabaseError)?.code == .rolledBack, let outcome { return outcome }
      throw error
    }
  }

  private func perform<Transaction: YapDatabaseReadTransaction, Result>(
    _ transaction: Transaction, _ block: (Transaction) throws -> Result
  ) throws -> Result {
    database.threads.enter(self)
    let outer = state.withLock { state in
      defer { state.runningSnapshot = transaction.access.csn.rawValue }
      return state.runningSnapshot
    }
    defer {
      assert(database.threads.state(self).isInsideOwn, "a transaction ends on another thread than it began on")
      transaction.end()
      state.withLock { $0.runningSnapshot = outer }
      database.threads.leave()
    }
    let result = try block(transaction)
    if let failure = transaction.failure { throw failure }
    return result
  }
}
