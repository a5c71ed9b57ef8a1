// Reading and writing items in transactions that call back. What fails is told to the database's `onError`, and not
// completed.

public import Dispatch

extension ConnectionType {
  /// Reads the item of a row, and runs `completion` with it on `queue`.
  @preconcurrency public func asyncReadAtIndex<Item: Persistable & Sendable>(
    _ index: YapDB.Index, queue: DispatchQueue = .main, completion: @escaping @Sendable (Item?) -> Void
  ) {
    asyncRead({ $0.readAtIndex(index) }, queue: queue, completion: completion)
  }

  /// Reads the items of the rows that exist, and runs `completion` with them on `queue`.
  @preconcurrency public func asyncReadAtIndexes<Indexes: Sequence, Item: Persistable & Sendable>(
    _ indexes: Indexes, queue: DispatchQueue = .main, completion: @escaping @Sendable ([Item]) -> Void
  ) where Indexes.Element == YapDB.Index {
    let indexes = Array(indexes)
    asyncRead({ $0.readAtIndexes(indexes) }, queue: queue, completion: completion)
  }

  /// Reads the item under a key, and runs `completion` with it on `queue`.
  @preconcurrency public func asyncReadByKey<Item: Persistable & Sendable>(
    _ key: String, queue: DispatchQueue = .main, completion: @escaping @Sendable (Item?) -> Void
  ) {
    asyncRead({ $0.readByKey(key) }, queue: queue, completion: completion)
  }

  /// Reads the items under the keys that exist, and runs `completion` with them on `queue`.
  @preconcurrency public func asyncReadByKeys<Keys: Sequence, Item: Persistable & Sendable>(
    _ keys: Keys, queue: DispatchQueue = .main, completion: @escaping @Sendable ([Item]) -> Void
  ) where Keys.Element == String {
    let keys = Array(keys)
    asyncRead({ $0.readByKeys(keys) }, queue: queue, completion: completion)
  }

  /// Reads all items of the type, and runs `completion` with them on `queue`.
  @preconcurrency public func asyncReadAll<Item: Persistable & Sendable>(
    queue: DispatchQueue = .main, completion: @escaping @Sendable ([Item]) -> Void
  ) {
    asyncRead({ $0.readAll() }, queue: queue, completion: completion)
  }

  /// Reads the items under the keys that exist, and runs `completion` with them, and the keys that have none.
  @preconcurrency public func asyncFilterExisting<Keys: Sequence, Item: Persistable & Sendable>(
    _ keys: Keys, queue: DispatchQueue = .main,
    completion: @escaping @Sendable ((existing: [Item], missing: [String])) -> Void
  ) where Keys.Element == String {
    let keys = Array(keys)
    asyncRead({ $0.filterExisting(keys) }, queue: queue, completion: completion)
  }

  /// Stores an item, and runs `completion` on `queue` when its commit is durable, with what was written.
  @preconcurrency public func asyncWrite<Item: Persistable & Sendable>(
    _ item: Item, queue: DispatchQueue = .main, completion: (@Sendable (Item) -> Void)? = nil
  ) {
    asyncWrite({ $0.write(item) }, queue: queue, completion: completion)
  }

  /// Stores items in one transaction, and runs `completion` on `queue` when its commit is durable, with what was
  /// written.
  @preconcurrency public func asyncWrite<Items: Sequence>(
    _ items: Items, queue: DispatchQueue = .main, completion: (@Sendable ([Items.Element]) -> Void)? = nil
  ) where Items.Element: Persistable & Sendable {
    let items = Array(items)
    asyncWrite({ $0.write(items) }, queue: queue, completion: completion)
  }

  /// Removes a row, and runs `completion` on `queue` when the commit is durable.
  @preconcurrency public func asyncRemoveAtIndex(
    _ index: YapDB.Index, queue: DispatchQueue = .main, completion: (@Sendable () -> Void)? = nil
  ) {
    asyncRemoveAtIndexes(CollectionOfOne(index), queue: queue, completion: completion)
  }

  /// Removes rows in one transaction, and runs `completion` on `queue` when its commit is durable.
  @preconcurrency public func asyncRemoveAtIndexes<Indexes: Sequence>(
    _ indexes: Indexes, queue: DispatchQueue = .main, completion: (@Sendable () -> Void)? = nil
  ) where Indexes.Element == YapDB.Index {
    let indexes = Array(indexes)
    asyncWrite({ $0.removeAtIndexes(indexes) }, queue: queue, completion: { completion?() })
  }

  /// Removes an item's row, and runs `completion` on `queue` when the commit is durable.
  @preconcurrency public func asyncRemove<Item: Persistable>(
    _ item: Item, queue: DispatchQueue = .main, completion: (@Sendable () -> Void)? = nil
  ) {
    asyncRemoveAtIndex(item.index, queue: queue, completion: completion)
  }

  /// Removes the rows of items in one transaction, and runs `completion` on `queue` when its commit is durable.
  @preconcurrency public func asyncRemove<Items: Sequence>(
    _ items: Items, queue: DispatchQueue = .main, completion: (@Sendable () -> Void)? = nil
  ) where Items.Element: Persistable {
    asyncRemoveAtIndexes(items.map(\.index), queue: queue, completion: completion)
  }
}
