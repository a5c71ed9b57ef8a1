// Verbs of the item: `item.write(connection)`.

public import Dispatch

extension Persistable {
  /// Stores the item, and returns it with the metadata that the row has. See `WriteTransactionType.write(_:)`.
  @discardableResult
  public func write(_ transaction: some WriteTransactionType) -> Self { transaction.write(self) }

  /// Stores the item in a transaction of its own. Errors as `ConnectionType.write(_:)`.
  @discardableResult
  public func write(_ connection: some ConnectionType) throws -> Self { try connection.write { $0.write(self) } }

  /// Stores the item, and runs `completion` on `queue` when its commit is durable, with what was written.
  @preconcurrency public func asyncWrite(
    _ connection: some ConnectionType, queue: DispatchQueue = .main, completion: (@Sendable (Self) -> Void)? = nil
  ) where Self: Sendable {
    connection.asyncWrite({ $0.write(self) }, queue: queue, completion: completion)
  }

  /// Removes the item's row, with its metadata.
  public func remove(_ transaction: some WriteTransactionType) { transaction.remove(self) }

  /// Removes the item's row in a transaction of its own. Errors as `ConnectionType.write(_:)`.
  public func remove(_ connection: some ConnectionType) throws { try connection.write { $0.remove(self) } }

  /// Removes the item's row, and runs `completion` on `queue` when the commit is durable.
  @preconcurrency public func asyncRemove(
    _ connection: some ConnectionType, queue: DispatchQueue = .main, completion: (@Sendable () -> Void)? = nil
  ) {
    connection.asyncRemove(self, queue: queue, completion: completion)
  }
}

extension Sequence where Element: Persistable {
  /// Stores the items, and returns them with the metadata that their rows have.
  @discardableResult
  public func write(_ transaction: some WriteTransactionType) -> [Element] { transaction.write(self) }

  /// Stores the items in one transaction. Errors as `ConnectionType.write(_:)`.
  @discardableResult
  public func write(_ connection: some ConnectionType) throws -> [Element] {
    try connection.write { $0.write(self) }
  }

  /// Stores the items in one transaction, and runs `completion` on `queue` when its commit is durable, with what was
  /// written.
  @preconcurrency public func asyncWrite(
    _ connection: some ConnectionType, queue: DispatchQueue = .main,
    completion: (@Sendable ([Element]) -> Void)? = nil
  ) where Element: Sendable {
    connection.asyncWrite(self, queue: queue, completion: completion)
  }

  /// Removes the items' rows, with their metadata.
  public func remove(_ transaction: some WriteTransactionType) { transaction.remove(self) }

  /// Removes the items' rows in one transaction. Errors as `ConnectionType.write(_:)`.
  public func remove(_ connection: some ConnectionType) throws { try connection.write { $0.remove(self) } }

  /// Removes the items' rows in one transaction, and runs `completion` on `queue` when its commit is durable.
  @preconcurrency public func asyncRemove(
    _ connection: some ConnectionType, queue: DispatchQueue = .main, completion: (@Sendable () -> Void)? = nil
  ) {
    connection.asyncRemove(self, queue: queue, completion: completion)
  }
}
