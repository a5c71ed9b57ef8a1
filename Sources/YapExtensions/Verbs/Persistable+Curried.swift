// Verbs of the type, as functions of a transaction: `connection.read(Item.readByKey(key))`.

extension Persistable {
  /// Reads the item of a row in the transaction that it is given.
  @preconcurrency public static func readAtIndex<Transaction: ReadTransactionType>(
    _ index: YapDB.Index
  ) -> @Sendable (Transaction) -> Self? {
    { $0.readAtIndex(index) }
  }

  /// Reads the items of the rows that exist in the transaction that it is given.
  @preconcurrency public static func readAtIndexes<Transaction: ReadTransactionType>(
    _ indexes: some Sequence<YapDB.Index>
  ) -> @Sendable (Transaction) -> [Self] {
    let indexes = Array(indexes)
    return { $0.readAtIndexes(indexes) }
  }

  /// Reads the item under a key in the transaction that it is given.
  @preconcurrency public static func readByKey<Transaction: ReadTransactionType>(
    _ key: String
  ) -> @Sendable (Transaction) -> Self? {
    { $0.readByKey(key) }
  }

  /// Reads the items under the keys that exist in the transaction that it is given.
  @preconcurrency public static func readByKeys<Transaction: ReadTransactionType>(
    _ keys: some Sequence<String>
  ) -> @Sendable (Transaction) -> [Self] {
    let keys = Array(keys)
    return { $0.readByKeys(keys) }
  }

  /// Reads all items in the transaction that it is given.
  @preconcurrency public static func readAll<Transaction: ReadTransactionType>() -> @Sendable (Transaction) -> [Self] {
    { $0.readAll() }
  }

  /// Reads the items under the keys that exist, and lists the others, in the transaction that it is given.
  @preconcurrency public static func filterExisting<Transaction: ReadTransactionType>(
    _ keys: some Sequence<String>
  ) -> @Sendable (Transaction) -> (existing: [Self], missing: [String]) {
    let keys = Array(keys)
    return { $0.filterExisting(keys) }
  }

  /// Stores the item in the transaction that it is given. Keeps the item until then.
  public func write<Transaction: WriteTransactionType>() -> (Transaction) -> Self { { $0.write(self) } }

  /// Removes the item's row in the transaction that it is given.
  @preconcurrency public func remove<Transaction: WriteTransactionType>() -> @Sendable (Transaction) -> Void {
    let index = index
    return { $0.removeAtIndex(index) }
  }
}

extension Persistable where Self: Sendable {
  /// Stores the item in the transaction that it is given, on any thread. Keeps the item until then.
  @preconcurrency public func write<Transaction: WriteTransactionType>() -> @Sendable (Transaction) -> Self {
    { $0.write(self) }
  }
}

extension Sequence where Element: Persistable {
  /// Stores the items in the transaction that it is given. Keeps the items until then.
  public func write<Transaction: WriteTransactionType>() -> (Transaction) -> [Element] { { $0.write(self) } }

  /// Removes the items' rows in the transaction that it is given.
  @preconcurrency public func remove<Transaction: WriteTransactionType>() -> @Sendable (Transaction) -> Void {
    let indexes = map(\.index)
    return { $0.removeAtIndexes(indexes) }
  }
}
