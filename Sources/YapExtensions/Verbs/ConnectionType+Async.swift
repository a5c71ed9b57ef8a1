// Reading and writing items in transactions that are waited for. In asynchronous functions these are what the names of
// the blocking verbs mean.

internal import Dispatch

extension ConnectionType where Self: Sendable {
  /// The item of a row; nil if there is no such row. Errors as of the verb that blocks.
  public func readAtIndex<Item: Persistable & Sendable>(_ index: YapDB.Index) async throws -> Item? {
    try await apart { try $0.readAtIndex(index) }
  }

  /// The items of the rows that exist, in the order of `indexes`. Errors as of the verb that blocks.
  public func readAtIndexes<Indexes: Sequence, Item: Persistable & Sendable>(
    _ indexes: Indexes
  ) async throws -> [Item] where Indexes.Element == YapDB.Index {
    let indexes = Array(indexes)
    return try await apart { try $0.readAtIndexes(indexes) }
  }

  /// The item under a key; nil if there is none. Errors as of the verb that blocks.
  public func readByKey<Item: Persistable & Sendable>(_ key: String) async throws -> Item? {
    try await apart { try $0.readByKey(key) }
  }

  /// The items under the keys that exist, in the order of `keys`. Errors as of the verb that blocks.
  public func readByKeys<Keys: Sequence, Item: Persistable & Sendable>(_ keys: Keys) async throws -> [Item]
  where Keys.Element == String {
    let keys = Array(keys)
    return try await apart { try $0.readByKeys(keys) }
  }

  /// All items of the type, in the order of their keys' bytes. Errors as of the verb that blocks.
  public func readAll<Item: Persistable & Sendable>() async throws -> [Item] { try await apart { try $0.readAll() } }

  /// The items under the keys that exist, and the keys that have none. Errors as of the verb that blocks.
  public func filterExisting<Keys: Sequence, Item: Persistable & Sendable>(
    _ keys: Keys
  ) async throws -> (existing: [Item], missing: [String]) where Keys.Element == String {
    let keys = Array(keys)
    return try await apart { try $0.filterExisting(keys) }
  }

  /// Stores an item, and returns it with the metadata that the row has, when its commit is durable. Errors as of the
  /// verb that blocks.
  @discardableResult
  public func write<Item: Persistable & Sendable>(_ item: Item) async throws -> Item {
    try await apart { try $0.write(item) }
  }

  /// Stores items in one transaction. Errors as of the verb that blocks.
  @discardableResult
  public func write<Items: Sequence>(_ items: Items) async throws -> [Items.Element]
  where Items.Element: Persistable & Sendable {
    let items = Array(items)
    return try await apart { try $0.write(items) }
  }

  /// Removes a row, if there is one. Errors as of the verb that blocks.
  public func removeAtIndex(_ index: YapDB.Index) async throws { try await apart { try $0.removeAtIndex(index) } }

  /// Removes rows in one transaction. Errors as of the verb that blocks.
  public func removeAtIndexes<Indexes: Sequence>(_ indexes: Indexes) async throws
  where Indexes.Element == YapDB.Index {
    let indexes = Array(indexes)
    try await apart { try $0.removeAtIndexes(indexes) }
  }

  /// Removes an item's row, with its metadata. Errors as of the verb that blocks.
  public func remove<Item: Persistable>(_ item: Item) async throws { try await removeAtIndex(item.index) }

  /// Removes the rows of items in one transaction. Errors as of the verb that blocks.
  public func remove<Items: Sequence>(_ items: Items) async throws where Items.Element: Persistable {
    try await removeAtIndexes(items.map(\.index))
  }

  /// Runs a verb that blocks its thread on one that may be blocked.
  private func apart<Result: Sendable>(_ body: @escaping @Sendable (Self) throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(with: .init { try body(self) }) }
    }
  }
}
