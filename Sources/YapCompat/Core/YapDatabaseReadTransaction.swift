// A read transaction under its original name: what it stands on, its errors, and its extensions.

internal import Quire

/// YapDatabase's read transaction: a view of the database as of one commit. New call: `ReadTransaction`.
///
/// Its calls need no `try`. The first one that fails makes the transaction fail: those that follow do nothing and
/// answer nil, 0 or false, and `read` throws the error. Lives as long as the block that it was handed to, and is for
/// the thread that runs that block; what is called later answers the same, and tells the database's `onError`.
///
/// Collections named nil are the collection "", as in the original. Names and keys are the same if their bytes are.
public class YapDatabaseReadTransaction {
  /// The connection that it belongs to; in the blocks of extensions one that nobody else has. New call: none.
  public var connection: YapDatabaseConnection {
    if let ownConnection { return ownConnection }
    let made = database.newConnection()
    ownConnection = made
    return made
  }
  /// Anything that code inside the block wants to hand to other code inside it. New call: a variable.
  public var userInfo: Any?

  let database: YapDatabase
  let access: TransactionAccess
  /// Nil in a block of an extension that has not asked for it: most do not, and such blocks run for every row.
  private(set) var ownConnection: YapDatabaseConnection?
  /// The error that made the transaction fail; nil as long as all calls have succeeded. Not in the original. New call:
  /// none is needed, as calls throw.
  public private(set) var failure: (any Error)?
  private(set) var isOver = false
  /// Counts the calls that have changed rows: an enumeration must not go on after one.
  var changeCount = 0
  /// What extensions have in this transaction, by their names.
  private var extensionTransactions: [ByteName: YapDatabaseExtensionTransaction] = [:]

  init(_ database: YapDatabase, _ connection: YapDatabaseConnection?, _ access: TransactionAccess) {
    self.database = database
    ownConnection = connection
    self.access = access
  }

  /// The block has returned.
  func end() {
    assert(!isOver, "a transaction ends twice")
    isOver = true
    extensionTransactions.removeAll()
  }

  // MARK: Errors

  /// Runs a call; its error is noted, and `fallback` is the answer.
  func attempt<Result>(_ fallback: Result, _ body: () throws -> Result) -> Result {
    guard !isOver else {
      database.report(DatabaseError.usedTooLate())
      return fallback
    }
    guard failure == nil else { return fallback }
    do { return try body() } catch {
      note(error)
      return fallback
    }
  }

  /// Makes the transaction fail, unless it has failed already.
  func note(_ error: any Error) {
    if failure == nil { failure = error }
  }

  /// Makes the transaction fail as a call inside it would: all is rolled back, and `read` or `readWrite` throws
  /// `error`, unless another one was first. Not in the original. New call: throwing out of the closure.
  public func fail(_ error: any Error) { attempt(()) { throw error } }

  // MARK: Extensions

  /// What an extension has in this transaction: of a view a `YapDatabaseViewTransaction`, for example. Nil if nothing
  /// is registered under the name, or was not yet in this snapshot. New call: `tx.view(_:)`, `tx.relationship(_:)`,
  /// `tx.access(to:)`.
  public func `extension`(_ name: String) -> YapDatabaseExtensionTransaction? {
    attempt(nil) {
      if let known = extensionTransactions[ByteName(name)] { return known }
      guard let registered = database.extensions[name] else { return nil }
      do {
        let made = try registered.makeTransaction(self)
        extensionTransactions[ByteName(name)] = made
        return made
      } catch let error as DatabaseError
        where error.code == .extensionNotReady || error.code == .extensionNotRegistered
      {
        return nil
      }
    }
  }

  /// Short for `extension(_:)`. New call: `tx.view(_:)`, `tx.relationship(_:)`, `tx.access(to:)`.
  public func ext(_ name: String) -> YapDatabaseExtensionTransaction? { `extension`(name) }
}
