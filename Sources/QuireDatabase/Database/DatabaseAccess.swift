// What a database and its connections have in common.

/// A way to run transactions: a database or one of its connections. For code that is to work with either.
public protocol DatabaseAccess: Sendable {
  /// Runs `body` on the newest snapshot; see `Database.read`.
  func read<Result>(_ body: (ReadTransaction) throws -> Result) throws -> Result

  /// Runs `body` on the newest snapshot, on a thread of the database's; see `Database.read`.
  @concurrent
  func read<Result: Sendable>(_ body: @escaping @Sendable (ReadTransaction) throws -> Result) async throws -> Result

  /// Runs `body` as the only write transaction; see `Database.write`.
  @discardableResult
  func write<Result>(_ body: (WriteTransaction) throws -> Result) throws -> Result

  /// Runs `body` as the only write transaction, on a thread of the database's; see `Database.write`.
  @concurrent @discardableResult
  func write<Result: Sendable>(_ body: @escaping @Sendable (WriteTransaction) throws -> Result) async throws -> Result
}

extension Database: DatabaseAccess {}
extension Connection: DatabaseAccess {}
