// What a database and its connections have in common.

/// A way to run transactions: a database or one of its connections. For code that is to work with either.
///
/// Each form of `read` and `write` notes where it was called, for the log of slow transactions and for
/// `Database.heldSnapshots`; who wraps them in functions of its own may pass on where those were called.
public protocol DatabaseAccess: Sendable {
  /// Like `read(_:)`, with the place of the call for diagnostics.
  func read<Result>(at site: CallSite, _ body: (ReadTransaction) throws -> Result) throws -> Result

  /// Like `read(_:)`, with the place of the call for diagnostics.
  @concurrent
  func read<Result: Sendable>(
    at site: CallSite, _ body: @escaping @Sendable (ReadTransaction) throws -> Result
  ) async throws -> Result

  /// Like `write(_:)`, with the place of the call for diagnostics.
  @discardableResult
  func write<Result>(at site: CallSite, _ body: (WriteTransaction) throws -> Result) throws -> Result

  /// Like `write(_:)`, with the place of the call for diagnostics.
  @concurrent @discardableResult
  func write<Result: Sendable>(
    at site: CallSite, _ body: @escaping @Sendable (WriteTransaction) throws -> Result
  ) async throws -> Result
}

extension DatabaseAccess {
  /// Runs `body` on the newest snapshot, which stays as it is until `body` returns. Waits for no other
  /// transaction to end.
  ///
  /// - Throws: `closed`, `nestedTransaction` inside another transaction on the same thread, `notPermitted` if the
  ///   connection does not permit it, `limitReached` if there are 65,536 reads and pinned snapshots at one time, what
  ///   `body` throws, and what went wrong in a call of `body`'s that could not throw.
  @inlinable @inline(__always)
  public func read<Result>(
    fileID: StaticString = #fileID, line: UInt = #line, _ body: (ReadTransaction) throws -> Result
  ) throws -> Result {
    try read(at: CallSite(fileID: fileID, line: line), body)
  }

  /// Runs `body` on the newest snapshot, on a thread of the database's: whichever of those that read is idle takes the
  /// next read. A task that is cancelled before that gets a `CancellationError`, and `body` does not run.
  ///
  /// - Throws: as the form above, and `limitReached` if the system gives no thread.
  @inlinable @concurrent
  public func read<Result: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (ReadTransaction) throws -> Result
  ) async throws -> Result {
    try await read(at: CallSite(fileID: fileID, line: line), body)
  }

  /// Runs `body` as the only write transaction and commits what it did; with `Durability.full` returns when that is on
  /// the disk. If `body` throws, nothing of it remains.
  ///
  /// - Throws: `closed`, `nestedTransaction`, `notPermitted` if the connection does not permit it, `failStop`,
  ///   `outcomeUnknown`, `diskFull`, `transactionFailed`, what `body` throws, and what went wrong in a call of `body`'s
  ///   that could not throw.
  @inlinable @inline(__always) @discardableResult
  public func write<Result>(
    fileID: StaticString = #fileID, line: UInt = #line, _ body: (WriteTransaction) throws -> Result
  ) throws -> Result {
    try write(at: CallSite(fileID: fileID, line: line), body)
  }

  /// Runs `body` as the only write transaction, on a thread of the database's, and returns when its commit is
  /// acknowledged. A task that is cancelled while it waits for other writers gets a `CancellationError`, and `body`
  /// does not run. Waits for nothing that runs after other commits, nor for its own `onCommit` actions.
  ///
  /// - Throws: as the form above, and `limitReached` if the system gives no thread: nothing has been done then.
  @inlinable @concurrent @discardableResult
  public func write<Result: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (WriteTransaction) throws -> Result
  ) async throws -> Result {
    try await write(at: CallSite(fileID: fileID, line: line), body)
  }
}

extension Database: DatabaseAccess {}
extension Connection: DatabaseAccess {}
