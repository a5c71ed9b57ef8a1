// What a read transaction tells of collections and of single rows.

public import Foundation
internal import Quire

extension YapDatabaseReadTransaction {
  /// The bridge to read a collection by; nil if there is nothing that could be read.
  ///
  /// That is a collection without rows which nobody registered. One with rows fails a read transaction. A write
  /// transaction goes on, as it did in the original, and `onError` is told: the rows of other collections that it
  /// stores are not lost for it.
  ///
  /// - Throws: `collectionNotRegistered`.
  func readable(_ collection: String?) throws(DatabaseError) -> (any CollectionBridge)? {
    let name = collection ?? ""
    let bridge = database.registry.find(name)
    if let bridge, bridge.readsObjects {
      let policies = database.registry.policies(name)
      if !bridge.takesBytes, policies.object != .copy, policies.metadata != .copy { return bridge }
      return bridge.reading(by: ownConnection?.caches, database.sharedCaches, policies)
    }
    if access.rawRows(name).count == 0 { return nil }
    guard case .writing = access else {
      if let bridge { return bridge }
      throw DatabaseError.notRegistered(name)
    }
    database.report(DatabaseError.notRegistered(name, missing: bridge == nil ? "type" : "object deserializer"))
    return nil
  }

  // MARK: Counts

  /// The number of collections that have rows. New call: `ReadTransaction.collections`, counted.
  public func numberOfCollections() -> UInt { attempt(0) { UInt(access.collections.count) } }

  /// The number of rows of a collection; 0 for one that does not exist. O(log n). New call: `tx[…].count`.
  public func numberOfKeys(inCollection collection: String?) -> UInt {
    attempt(0) { UInt(access.rawRows(collection ?? "").count) }
  }

  /// The number of rows of all collections. New call: `ReadTransaction.count`.
  public func numberOfKeysInAllCollections() -> UInt { attempt(0) { UInt(access.count) } }

  // MARK: Lists

  /// The names of the collections that have rows, in the order of their bytes. New call: `ReadTransaction.collections`.
  public func allCollections() -> [String] { attempt([]) { access.collections } }

  /// The keys of a collection, in the order of their bytes. New call: `tx[…].keys`.
  public func allKeys(inCollection collection: String?) -> [String] {
    var keys: [String] = []
    iterateKeys(inCollection: collection) { key, _ in keys.append(key) }
    return keys
  }

  // MARK: Rows

  /// Whether there is a row. New call: `tx[…].contains(_:)`.
  public func hasObject(forKey key: String, inCollection collection: String?) -> Bool {
    attempt(false) { try access.contains(RowKey(collection ?? "", key)) }
  }

  /// The object of a row, of the type that was registered; nil if there is no such row. New call: `tx[…].get(_:)`.
  public func object(forKey key: String, inCollection collection: String?) -> Any? {
    attempt(nil) { try readable(collection)?.object(key, access) }
  }

  /// The metadata of a row; nil if there is no such row, or if it has none. Reads no object. New call:
  /// `tx[…].metadata(_:)`.
  public func metadata(forKey key: String, inCollection collection: String?) -> Any? {
    attempt(nil) { try readable(collection)?.metadata(key, access) }
  }

  /// Object and metadata of a row as these types; nil if there is no such row. The original answered nil for other
  /// types, too: here that is an error. New call: `tx[…].row(_:)`.
  public func row<Object, Metadata>(
    forKey key: String, inCollection collection: String?
  ) -> (object: Object, metadata: Metadata?)? {
    attempt(nil) {
      guard let row = try readable(collection)?.row(key, access) else { return nil }
      return (
        try cast(row.object, "object", collection, key),
        try row.metadata.map { try cast($0, "metadata", collection, key) }
      )
    }
  }

  /// Sets `object` and `metadata` to those of a row; both to nil if there is no such row. Returns whether there is one.
  /// New call: `tx[…].row(_:)`.
  @discardableResult
  public func getObject(
    _ object: inout Any?, metadata: inout Any?, forKey key: String, inCollection collection: String?
  ) -> Bool {
    let row = attempt(nil) { try readable(collection)?.row(key, access) }
    (object, metadata) = (row?.object, row?.metadata)
    return row != nil
  }

  /// A value as the type that a caller names.
  ///
  /// - Throws: `collectionMismatch` if it is of another one.
  func cast<Value>(_ value: Any, _ half: String, _ collection: String?, _ key: String) throws -> Value {
    if let value = value as? Value { return value }
    throw DatabaseError(
      .collectionMismatch,
      "The \(half) is of type \(type(of: value)), but \(Value.self) was asked for. Ask for the registered type.",
      collection: collection ?? "", key: key)
  }

  // MARK: Bytes

  /// The object of a row as its coder made it, decompressed; nil if there is no such row. New call:
  /// `ReadTransaction.rawRows(_:)`.
  ///
  /// The compact form of typed collections numbers the fields of each collection by itself: it is not for other
  /// collections or databases.
  public func serializedObject(forKey key: String, inCollection collection: String?) -> Data? {
    attempt(nil) { try access.rawRows(collection ?? "").row(key).map { Data($0.object) } }
  }

  /// The metadata of a row as their coder made them; nil if there are none. New call: `ReadTransaction.rawRows(_:)`.
  public func serializedMetadata(forKey key: String, inCollection collection: String?) -> Data? {
    attempt(nil) { try access.rawRows(collection ?? "").row(key)?.metadata.map { Data($0) } }
  }

  /// Sets both to those of a row as their coders made them; to nil if there is no such row. Returns whether there is
  /// one. New call: `ReadTransaction.rawRows(_:)`.
  @discardableResult
  public func getSerializedObject(
    _ object: inout Data?, serializedMetadata metadata: inout Data?, forKey key: String,
    inCollection collection: String?
  ) -> Bool {
    let row = attempt(nil) { try access.rawRows(collection ?? "").row(key) }
    (object, metadata) = (row.map { Data($0.object) }, row?.metadata.map { Data($0) })
    return row != nil
  }
}
