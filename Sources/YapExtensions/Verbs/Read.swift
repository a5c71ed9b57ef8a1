// Verbs of a reader: `Item.read(connection).byKey(key)`.

/// Where a reader reads: a transaction that runs, or a connection that runs one for each call.
public protocol ReadSource {
  /// The type of the transactions.
  associatedtype Transaction: ReadTransactionType
  /// What a call throws: nothing in a transaction, which fails instead.
  associatedtype Failure: Error
  /// Hands a transaction to `block`.
  func sync<Result>(_ block: (Transaction) -> Result) throws(Failure) -> Result
}

/// A transaction that runs.
public struct TransactionSource<Transaction: ReadTransactionType>: ReadSource {
  let transaction: Transaction

  public func sync<Result>(_ block: (Transaction) -> Result) throws(Never) -> Result { block(transaction) }
}

/// A connection that runs a transaction for each call.
public struct ConnectionSource<Connection: ConnectionType>: ReadSource {
  let connection: Connection

  public func sync<Result>(
    _ block: (Connection.ReadTransaction) -> Result
  ) throws(any Error) -> Result {
    try connection.read { block($0) }
  }
}

/// Reads items of one type from a transaction or a connection.
///
/// ```swift
/// let product = try Product.read(connection).byKey("vodka-123")
/// try connection.read { transaction in
///   let all = Product.read(transaction).all()
///   print(all.count)
/// }
/// ```
///
/// What it reads, at what cost, and what fails is the same as of `ReadTransactionType`'s verbs.
public struct Read<Item: Persistable, Source: ReadSource> {
  let source: Source

  /// The item of a row; nil if there is no such row.
  public func atIndex(_ index: YapDB.Index) throws(Source.Failure) -> Item? {
    try source.sync { $0.readAtIndex(index) }
  }

  /// The items of the rows that exist, in the order of `indexes`.
  public func atIndexes(_ indexes: some Sequence<YapDB.Index>) throws(Source.Failure) -> [Item] {
    try source.sync { $0.readAtIndexes(indexes) }
  }

  /// The item under a key; nil if there is none.
  public func byKey(_ key: String) throws(Source.Failure) -> Item? { try source.sync { $0.readByKey(key) } }

  /// The items under the keys that exist, in the order of `keys`.
  public func byKeys(_ keys: some Sequence<String>) throws(Source.Failure) -> [Item] {
    try source.sync { $0.readByKeys(keys) }
  }

  /// All items of the type, in the order of their keys' bytes.
  public func all() throws(Source.Failure) -> [Item] { try source.sync { $0.readAll() } }

  /// The items under the keys that exist, and the keys that have none.
  public func filterExisting(
    _ keys: some Sequence<String>
  ) throws(Source.Failure) -> (existing: [Item], missing: [String]) {
    try source.sync { $0.filterExisting(keys) }
  }
}

extension Persistable {
  /// Reads items in a transaction.
  public static func read<Transaction: ReadTransactionType>(
    _ transaction: Transaction
  ) -> Read<Self, TransactionSource<Transaction>> {
    Read(source: TransactionSource(transaction: transaction))
  }

  /// Reads items through a connection, in a transaction for each call.
  public static func read<Connection: ConnectionType>(
    _ connection: Connection
  ) -> Read<Self, ConnectionSource<Connection>> {
    Read(source: ConnectionSource(connection: connection))
  }
}
