// YapCompat's classes as what the verbs need.

public import Dispatch
internal import Foundation
public import YapCompat

extension YapDatabase: DatabaseType {
  public func makeNewConnection() -> YapDatabaseConnection { newConnection() }
}

extension YapDatabaseConnection: ConnectionType {
  // Disfavored: code that could mean either gets the connection's own, which notes the place of the call.
  @_disfavoredOverload
  public func read<Result>(_ block: (YapDatabaseReadTransaction) throws -> Result) throws -> Result {
    try read(fileID: #fileID, line: #line, block)
  }

  @_disfavoredOverload @discardableResult
  public func write<Result>(_ block: (YapDatabaseReadWriteTransaction) throws -> Result) throws -> Result {
    try readWrite(block)
  }

  /// Runs `block` as the only write transaction, commits it, and returns what it returns: the original's name of
  /// `readWrite(_:)`, with its cost and its errors.
  @discardableResult
  public func write<Result>(
    fileID: StaticString = #fileID, line: UInt = #line, _ block: (YapDatabaseReadWriteTransaction) throws -> Result
  ) throws -> Result {
    try readWrite(fileID: fileID, line: line, block)
  }

  /// Runs `block` on a snapshot when its turn has come, and then `completion`, with what it returned. Errors go to the
  /// database's `onError`, and nothing is completed then.
  @preconcurrency public func asyncRead<Result: Sendable>(
    _ block: @escaping @Sendable (YapDatabaseReadTransaction) -> Result, queue: DispatchQueue = .main,
    completion: @escaping @Sendable (Result) -> Void
  ) {
    let outcome = Outcome<Result>()
    asyncRead(
      { transaction in
        let result = block(transaction)
        if transaction.failure == nil { outcome.set(result) }
      }, completionQueue: queue, completionBlock: { if let result = outcome.value { completion(result) } })
  }

  /// Runs `block` as the only write transaction when its turn has come, and `completion` when its commit is durable,
  /// with what it returned. Errors go to the database's `onError`; nothing is completed then, or after a rollback.
  @preconcurrency public func asyncWrite<Result: Sendable>(
    _ block: @escaping @Sendable (YapDatabaseReadWriteTransaction) -> Result, queue: DispatchQueue = .main,
    completion: (@Sendable (Result) -> Void)? = nil
  ) {
    asyncReadWrite { transaction in
      let result = block(transaction)
      if let completion { transaction.addCompletionQueue(queue) { completion(result) } }
    }
  }
}

/// What a block returned, for the block that is told of it.
private final class Outcome<Value: Sendable>: @unchecked Sendable {
  // Sendable: safe because the value is touched under the lock only.
  private let lock = NSLock()
  private var stored: Value?

  var value: Value? { lock.withLock { stored } }
  func set(_ value: Value) { lock.withLock { stored = value } }
}

extension YapDatabaseReadTransaction: ReadTransactionType {
  public func keysInCollection(_ collection: String) -> [String] { allKeys(inCollection: collection) }

  public func readAtIndex(_ index: YapDB.Index) -> Any? { object(forKey: index.key, inCollection: index.collection) }

  public func readMetadataAtIndex(_ index: YapDB.Index) -> Any? {
    metadata(forKey: index.key, inCollection: index.collection)
  }

  public func checkRegistration<Item: Persistable>(of type: Item.Type) throws {
    try RegisteredItems.shared.check(type, in: connection.database)
  }
}

extension YapDatabaseReadWriteTransaction: WriteTransactionType {
  public func writeAtIndex(_ index: YapDB.Index, object: Any, metadata: Any?) {
    let (key, collection) = (index.key, index.collection)
    if metadata == nil, hasObject(forKey: key, inCollection: collection) {
      replace(object, forKey: key, inCollection: collection)
    } else {
      setObject(object, forKey: key, inCollection: collection, withMetadata: metadata)
    }
  }

  public func removeAtIndexes<Indexes: Sequence>(_ indexes: Indexes) where Indexes.Element == YapDB.Index {
    for index in indexes { removeObject(forKey: index.key, inCollection: index.collection) }
  }
}
