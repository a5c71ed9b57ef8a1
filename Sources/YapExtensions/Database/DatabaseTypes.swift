// What the verbs need of a database, so that tests can take something else for it.

public import Dispatch

/// What makes connections: a `YapDatabase`, or what a test takes for one.
public protocol DatabaseType {
  /// The type of its connections.
  associatedtype Connection: ConnectionType
  /// A connection with the database's settings.
  func makeNewConnection() -> Connection
}

/// What runs transactions: a `YapDatabaseConnection`, or what a test takes for one.
public protocol ConnectionType: SendableMetatype {
  /// The type of the transactions that read.
  associatedtype ReadTransaction: ReadTransactionType
  /// The type of the transactions that write.
  associatedtype WriteTransaction: WriteTransactionType

  /// Runs `block` on a snapshot, and returns what it returns.
  ///
  /// - Throws: what `block` throws, and what makes the transaction fail.
  func read<Result>(_ block: (ReadTransaction) throws -> Result) throws -> Result

  /// Runs `block` as the only write transaction, commits it, and returns what it returns.
  ///
  /// - Throws: what `block` throws, and what makes the transaction fail; nothing is stored then.
  func write<Result>(_ block: (WriteTransaction) throws -> Result) throws -> Result

  /// Runs `block` on a snapshot when its turn has come, and then `completion` on `queue`, with what it returned; not if
  /// the transaction fails.
  func asyncRead<Result: Sendable>(
    _ block: @escaping @Sendable (ReadTransaction) -> Result, queue: DispatchQueue,
    completion: @escaping @Sendable (Result) -> Void)

  /// Runs `block` as the only write transaction when its turn has come, commits it, and then runs `completion` on
  /// `queue`, with what it returned; not if the transaction fails.
  func asyncWrite<Result: Sendable>(
    _ block: @escaping @Sendable (WriteTransaction) -> Result, queue: DispatchQueue,
    completion: (@Sendable (Result) -> Void)?)
}

/// What reads rows: a transaction, or what a test takes for one.
public protocol ReadTransactionType: SendableMetatype {
  /// The keys of a collection.
  func keysInCollection(_ collection: String) -> [String]

  /// The object of a row as it is stored: an object that is `NSCoding`, the coder of a value, or a `Codable` value. Nil
  /// if there is no such row.
  func readAtIndex(_ index: YapDB.Index) -> Any?

  /// The metadata of a row as they are stored; nil if there are none.
  func readMetadataAtIndex(_ index: YapDB.Index) -> Any?

  /// Throws unless items of this type can be stored. By default all can.
  func checkRegistration<Item: Persistable>(of type: Item.Type) throws

  /// Hears of what is wrong with an item; the verb that found it answers nil, or stores nothing. By default nothing
  /// happens.
  func fail(_ error: any Error)
}

/// What writes rows: a transaction, or what a test takes for one.
public protocol WriteTransactionType: ReadTransactionType {
  /// Stores an object in a row. Metadata that are nil leave those that the row has.
  func writeAtIndex(_ index: YapDB.Index, object: Any, metadata: Any?)

  /// Removes rows, with their metadata.
  func removeAtIndexes<Indexes: Sequence>(_ indexes: Indexes) where Indexes.Element == YapDB.Index
}

extension ReadTransactionType {
  public func checkRegistration<Item: Persistable>(of type: Item.Type) throws {}
  public func fail(_ error: any Error) {}
}
