// Reading items in a transaction.

internal import Quire

extension ReadTransactionType {
  /// The item of a row, with its metadata; nil if there is no such row. Two lookups, O(log n) each, or one if the type
  /// has no metadata.
  ///
  /// The transaction fails if the type was not registered, or if the row is of another type.
  public func readAtIndex<Item: Persistable>(_ index: YapDB.Index) -> Item? {
    permits(Item.self) ? item(index) : nil
  }

  /// The items of the rows that exist, in the order of `indexes`. Like `readAtIndex` for each.
  public func readAtIndexes<Indexes: Sequence, Item: Persistable>(_ indexes: Indexes) -> [Item]
  where Indexes.Element == YapDB.Index {
    permits(Item.self) ? indexes.compactMap(item) : []
  }

  /// The item under a key; nil if there is none. Like `readAtIndex`.
  public func readByKey<Item: Persistable>(_ key: String) -> Item? { readAtIndex(Item.indexWithKey(key)) }

  /// The items under the keys that exist, in the order of `keys`. Like `readAtIndex` for each.
  public func readByKeys<Keys: Sequence, Item: Persistable>(_ keys: Keys) -> [Item] where Keys.Element == String {
    readAtIndexes(Item.indexesWithKeys(keys))
  }

  /// All items of the type, in the order of their keys' bytes. Like `readAtIndex` for each.
  public func readAll<Item: Persistable>() -> [Item] {
    permits(Item.self) ? Item.indexesWithKeys(keysInCollection(Item.collection)).compactMap(item) : []
  }

  /// The items under the keys that exist, and the keys that have none, both in the order of `keys`. Like `readAtIndex`
  /// for each.
  public func filterExisting<Keys: Sequence, Item: Persistable>(
    _ keys: Keys
  ) -> (existing: [Item], missing: [String]) where Keys.Element == String {
    var (existing, missing): ([Item], [String]) = ([], [])
    guard permits(Item.self) else { return (existing, missing) }
    for key in keys {
      if let item: Item = item(Item.indexWithKey(key)) { existing.append(item) } else { missing.append(key) }
    }
    return (existing, missing)
  }

  // MARK: Rows

  /// Whether items of the type can be stored; if not, the transaction hears why.
  func permits<Item: Persistable>(_ type: Item.Type) -> Bool {
    do { try checkRegistration(of: type) } catch {
      fail(error)
      return false
    }
    return true
  }

  private func item<Item: Persistable>(_ index: YapDB.Index) -> Item? {
    guard let stored: Any = readAtIndex(index) else { return nil }
    guard var item: Item = loaded(stored, "object", Item.itemPattern, Item.self, index) else { return nil }
    if Item.metadataPattern.half.isStored { item.metadata = metadata(of: Item.self, index) }
    return item
  }

  /// The metadata of an item's row.
  func metadata<Item: Persistable>(of type: Item.Type, _ index: YapDB.Index) -> Item.MetadataType? {
    guard let stored = readMetadataAtIndex(index) else { return nil }
    return loaded(stored, "metadata", Item.metadataPattern, Item.self, index)
  }

  private func loaded<Value, Item: Persistable>(
    _ stored: Any, _ name: String, _ pattern: YapDB.Pattern, _ type: Item.Type, _ index: YapDB.Index
  ) -> Value? {
    if let value = pattern.half.load(stored) as? Value { return value }
    fail(
      DatabaseError(
        .collectionMismatch,
        """
        The \(name) is of type \(Swift.type(of: stored)), but that of an item of type \(Item.self) is \
        \(pattern.half.storedType). Give each type of items a collection of its own.
        """, collection: index.collection, key: index.key))
    return nil
  }
}
