// A read transaction under its original name: what it stands on, counts, and single rows.

public import Foundation
internal import Quire

/// YapDatabase's read transaction: a view of the database as of one commit. New call: `ReadTransaction`.
///
/// Its calls need no `try`. The first one that fails makes the transaction fail: those that follow do nothing and
/// answer nil, 0 or false, and `read` throws the error. Lives as long as the block that it was handed to, and is for
/// the thread that runs that block; what is called later answers the same, and tells the database's `onError`.
///
/// Collections named nil are the collection "", as in the original. Names and keys are the same if their bytes are.
public class YapDatabaseReadTransaction {
  /// The connection that it belongs to; in the blocks of extensions one that nobody else has. New call: none.
  public var connection: YapDatabaseConnection {
    if let ownConnection { return ownConnection }
    let made = database.newConnection()
    ownConnection = made
    return made
  }
  /// Anything that code inside the block wants to hand to other code inside it. New call: a variable.
  public var userInfo: Any?

  let database: YapDatabase
  let access: TransactionAccess
  /// Nil in a block of an extension that has not asked for it: most do not, and such blocks run for every row.
  private var ownConnection: YapDatabaseConnection?
  /// The error that made the transaction fail; nil as long as all calls have succeeded. Not in the original. New call:
  /// none is needed, as calls throw.
  public private(set) var failure: (any Error)?
  private(set) var isOver = false
  /// Counts the calls that have changed rows: an enumeration must not go on after one.
  var changeCount = 0
  /// What extensions have in this transaction, by their names.
  private var extensionTransactions: [ByteName: YapDatabaseExtensionTransaction] = [:]

  init(_ database: YapDatabase, _ connection: YapDatabaseConnection?, _ access: TransactionAccess) {
    self.database = database
    ownConnection = connection
    self.access = access
  }

  /// The block has returned.
  func end() {
    isOver = true
    extensionTransactions.removeAll()
  }

  // MARK: Errors

  /// Runs a call; its error is noted, and `fallback` is the answer.
  func attempt<Result>(_ fallback: Result, _ body: () throws -> Result) -> Result {
    guard !isOver else {
      database.report(DatabaseError.usedTooLate())
      return fallback
    }
    guard failure == nil else { return fallback }
    do { return try body() } catch {
      note(error)
      return fallback
    }
  }

  /// Makes the transaction fail, unless it has failed already.
  func note(_ error: any Error) {
    if failure == nil { failure = error }
  }

  /// Makes the transaction fail as a call inside it would: all is rolled back, and `read` or `readWrite` throws
  /// `error`, unless another one was first. Not in the original. New call: throwing out of the closure.
  public func fail(_ error: any Error) { attempt(()) { throw error } }

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

  // MARK: Extensions

  /// What an extension has in this transaction: of a view a `YapDatabaseViewTransaction`, for example. Nil if nothing
  /// is registered under the name, or was not yet in this snapshot. New call: `tx.view(_:)`, `tx.relationship(_:)`,
  /// `tx.access(to:)`.
  public func `extension`(_ name: String) -> YapDatabaseExtensionTransaction? {
    attempt(nil) {
      if let known = extensionTransactions[ByteName(name)] { return known }
      guard let registered = database.extensions[name] else { return nil }
      do {
        let made = try registered.makeTransaction(self)
        extensionTransactions[ByteName(name)] = made
        return made
      } catch let error as DatabaseError
        where error.code == .extensionNotReady || error.code == .extensionNotRegistered
      {
        return nil
      }
    }
  }

  /// Short for `extension(_:)`. New call: `tx.view(_:)`, `tx.relationship(_:)`, `tx.access(to:)`.
  public func ext(_ name: String) -> YapDatabaseExtensionTransaction? { `extension`(name) }
}
