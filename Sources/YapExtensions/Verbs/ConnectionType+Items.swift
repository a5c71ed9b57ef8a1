// Reading and writing items in transactions of their own.

extension ConnectionType {
  /// The item of a row; nil if there is no such row. See `ReadTransactionType`.
  ///
  /// - Throws: as `read(_:)`; `collectionNotRegistered`, `collectionMismatch`, `decodingFailed`.
  public func readAtIndex<Item: Persistable>(_ index: YapDB.Index) throws -> Item? {
    try read { $0.readAtIndex(index) }
  }

  /// The items of the rows that exist, in the order of `indexes`. Errors as `readAtIndex`.
  public func readAtIndexes<Indexes: Sequence, Item: Persistable>(_ indexes: Indexes) throws -> [Item]
  where Indexes.Element == YapDB.Index {
    try read { $0.readAtIndexes(indexes) }
  }

  /// The item under a key; nil if there is none. Errors as `readAtIndex`.
  public func readByKey<Item: Persistable>(_ key: String) throws -> Item? { try read { $0.readByKey(key) } }

  /// The items under the keys that exist, in the order of `keys`. Errors as `readAtIndex`.
  public func readByKeys<Keys: Sequence, Item: Persistable>(_ keys: Keys) throws -> [Item]
  where Keys.Element == String {
    try read { $0.readByKeys(keys) }
  }

  /// All items of the type, in the order of their keys' bytes. Errors as `readAtIndex`.
  public func readAll<Item: Persistable>() throws -> [Item] { try read { $0.readAll() } }

  /// The items under the keys that exist, and the keys that have none. Errors as `readAtIndex`.
  public func filterExisting<Keys: Sequence, Item: Persistable>(
    _ keys: Keys
  ) throws -> (existing: [Item], missing: [String]) where Keys.Element == String {
    try read { $0.filterExisting(keys) }
  }

  /// Stores an item in its row, and returns it with the metadata that the row has. Durable when it returns.
  ///
  /// - Throws: as `write(_:)`; `collectionNotRegistered`, `encodingFailed`.
  @discardableResult
  public func write<Item: Persistable>(_ item: Item) throws -> Item { try write { $0.write(item) } }

  /// Stores items in one transaction. Errors as of `write` for one.
  @discardableResult
  public func write<Items: Sequence>(_ items: Items) throws -> [Items.Element] where Items.Element: Persistable {
    try write { $0.write(items) }
  }

  /// Removes a row, if there is one. Errors as `write(_:)`.
  public func removeAtIndex(_ index: YapDB.Index) throws { try write { $0.removeAtIndex(index) } }

  /// Removes rows in one transaction. Errors as `write(_:)`.
  public func removeAtIndexes<Indexes: Sequence>(_ indexes: Indexes) throws where Indexes.Element == YapDB.Index {
    try write { $0.removeAtIndexes(indexes) }
  }

  /// Removes an item's row, with its metadata. Errors as `write(_:)`.
  public func remove<Item: Persistable>(_ item: Item) throws { try write { $0.remove(item) } }

  /// Removes the rows of items in one transaction. Errors as `write(_:)`.
  public func remove<Items: Sequence>(_ items: Items) throws where Items.Element: Persistable {
    try write { $0.remove(items) }
  }
}
