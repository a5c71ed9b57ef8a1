// The write transaction under its original name.

public import Foundation
internal import Quire

/// YapDatabase's read-write transaction: the one that runs. New call: `WriteTransaction`.
///
/// It sees its own changes; everybody else does when its block has returned and its commit is durable. Its calls need
/// no `try`: the first one that fails has everything rolled back, and `readWrite` throws its error.
public final class YapDatabaseReadWriteTransaction: YapDatabaseReadTransaction {
  let writing: WriteTransaction
  /// Whether nothing of the transaction is to remain.
  private(set) var isRolledBack = false

  init(_ database: YapDatabase, _ connection: YapDatabaseConnection?, _ tx: WriteTransaction) {
    writing = tx
    super.init(database, connection, .writing(tx))
  }

  // MARK: The transaction

  /// Undoes everything that the transaction did and will do, when its block returns; `readWrite` throws no error
  /// for that. New call: `WriteTransaction.rollback()`, which leaves the closure at once.
  public func rollback() { attempt(()) { isRolledBack = true } }

  /// What is handed to those who follow commits, as `YapDatabaseCustomKey` of the notification. To be of a type that
  /// may be used from any thread. New call: `WriteTransaction.commitInfo`.
  public var yapDatabaseModifiedNotificationCustomObject: Any? {
    get { attempt(nil) { (writing.commitInfo as? YapDatabaseCommitInfo)?.customObject } }
    set {
      attempt(()) {
        // In a hook this may be a second transaction over one that knows its connection.
        let writer = (writing.commitInfo as? YapDatabaseCommitInfo)?.connection
        writing.commitInfo = YapDatabaseCommitInfo(writer ?? connection, newValue)
      }
    }
  }

  /// Runs `completionBlock` when the commit is durable, in the order of the calls. Never if the transaction fails or
  /// is rolled back, where the original ran it all the same. New call: `WriteTransaction.onCommit(_:)`.
  ///
  /// - Parameters:
  ///   - completionQueue: where it runs; nil for the main queue.
  ///   - completionBlock: what runs.
  @preconcurrency public func addCompletionQueue(
    _ completionQueue: DispatchQueue?, completionBlock: @escaping @Sendable () -> Void
  ) {
    attempt(()) {
      writing.onCommit { [database] in
        database.postCommits()
        (completionQueue ?? .main).async(execute: completionBlock)
      }
    }
  }

  // MARK: Storing

  /// Stores an object **without metadata**, in the place of what was there; nil removes the row. New call:
  /// `tx[…].set(_:for:)`.
  ///
  /// Fails with `collectionMismatch`, which names collection, key and both types, if the object is of another type than
  /// the collection's.
  public func setObject(_ object: Any?, forKey key: String, inCollection collection: String?) {
    setObject(object, forKey: key, inCollection: collection, withMetadata: nil)
  }

  /// Stores an object and its metadata, in the place of what was there; a nil object removes the row. New call:
  /// `tx[…].set(_:metadata:for:)`.
  public func setObject(
    _ object: Any?, forKey key: String, inCollection collection: String?, withMetadata metadata: Any?
  ) {
    setObject(
      object, forKey: key, inCollection: collection, withMetadata: metadata, serializedObject: nil,
      serializedMetadata: nil)
  }

  /// The same with what the serializers would make of them. New call:
  /// `tx[…].set(_:encoded:metadata:encodedMetadata:for:)`.
  ///
  /// Spares the serializers of collections that have such blocks, and the coders of typed collections that are
  /// self-contained, such as `RowCoder.json` and `RowCoder.propertyList`. The compact form, `RowCoder.binary`, numbers
  /// fields anew in each collection: there, and where a sanitizer has its say, the values are encoded all the same. The
  /// bytes are not looked at.
  public func setObject(
    _ object: Any?, forKey key: String, inCollection collection: String?, withMetadata metadata: Any?,
    serializedObject: Data?, serializedMetadata: Data?
  ) {
    guard let object else { return removeObject(forKey: key, inCollection: collection) }
    change {
      let bridge = try bridge(collection)
      let (objects, metadatas) = sanitizers(bridge)
      guard let stored = try objects.before(object, bridge.name, key) else { return try bridge.remove([key], writing) }
      let storedMetadata = try metadata.flatMap { try metadatas.before($0, bridge.name, key) }
      // What a sanitizer has changed is not what was encoded before.
      let encoded = EncodedRow(
        object: objects.pre == nil ? serializedObject : nil, metadata: metadatas.pre == nil ? serializedMetadata : nil)
      try bridge.set(stored, storedMetadata, encoded, key, writing)
      try objects.post?(bridge.name, key, stored)
      if let storedMetadata { try metadatas.post?(bridge.name, key, storedMetadata) }
    }
  }

  /// Stores an object in the place of that of a row, if there is one; its metadata stay. Nil removes the row. New call:
  /// `tx[…].replace(_:for:)`.
  public func replace(_ object: Any?, forKey key: String, inCollection collection: String?) {
    replace(object, forKey: key, inCollection: collection, withSerializedObject: nil)
  }

  /// The same with what the serializer would make of the object; see `setObject`. New call:
  /// `tx[…].replace(_:encoded:for:)`.
  public func replace(
    _ object: Any?, forKey key: String, inCollection collection: String?, withSerializedObject serializedObject: Data?
  ) {
    guard let object else { return removeObject(forKey: key, inCollection: collection) }
    change {
      guard try access.contains(RowKey(collection ?? "", key)) else { return }
      let bridge = try bridge(collection)
      let objects = sanitizers(bridge).objects
      guard let stored = try objects.before(object, bridge.name, key) else { return try bridge.remove([key], writing) }
      let isReplaced = try bridge.replace(stored, objects.pre == nil ? serializedObject : nil, key, writing)
      if isReplaced { try objects.post?(bridge.name, key, stored) }
    }
  }

  /// Stores metadata with a row, if there is one; its object stays. Nil takes the metadata away. New call:
  /// `tx[…].replaceMetadata(_:for:)`.
  public func replaceMetadata(_ metadata: Any?, forKey key: String, inCollection collection: String?) {
    replaceMetadata(metadata, forKey: key, inCollection: collection, withSerializedMetadata: nil)
  }

  /// The same with what the serializer would make of the metadata; see `setObject`. New call:
  /// `tx[…].replaceMetadata(_:encoded:for:)`.
  public func replaceMetadata(
    _ metadata: Any?, forKey key: String, inCollection collection: String?,
    withSerializedMetadata serializedMetadata: Data?
  ) {
    change {
      guard try access.contains(RowKey(collection ?? "", key)) else { return }
      let bridge = try bridge(collection)
      let metadatas = sanitizers(bridge).metadata
      let stored = try metadata.flatMap { try metadatas.before($0, bridge.name, key) }
      let encoded = metadatas.pre == nil ? serializedMetadata : nil
      let isReplaced = try bridge.replaceMetadata(stored, encoded, key, writing)
      if isReplaced, let stored { try metadatas.post?(bridge.name, key, stored) }
    }
  }

  // MARK: Touching

  /// Reports a row's object as changed, and writes nothing; may be called inside of enumerations. New call:
  /// `tx[…].touchObject(_:)`.
  public func touchObject(forKey key: String, inCollection collection: String?) { touch(.object, key, collection) }

  /// Reports a row's metadata as changed, and writes nothing. New call: `tx[…].touchMetadata(_:)`.
  public func touchMetadata(forKey key: String, inCollection collection: String?) { touch(.metadata, key, collection) }

  /// Reports a row's object and metadata as changed, and writes nothing. New call: `tx[…].touch(_:)`.
  public func touchRow(forKey key: String, inCollection collection: String?) { touch(.row, key, collection) }

  private func touch(_ part: TouchedPart, _ key: String, _ collection: String?) {
    attempt(()) {
      guard try access.contains(RowKey(collection ?? "", key)) else { return }
      try bridge(collection).touch(part, key, writing)
    }
  }

  // MARK: Removing

  /// Removes a row, if there is one; needs no registered type. New call: `tx[…].remove(_:)`.
  public func removeObject(forKey key: String, inCollection collection: String?) {
    change { _ = try writing.remove(RowKey(collection ?? "", key)) }
  }

  /// Removes rows; keys without one are passed over. New call: `tx[…].remove(_:)` with a sequence.
  public func removeObjects(forKeys keys: [String], inCollection collection: String?) {
    change { try remove(keys, collection ?? "") }
  }

  /// Removes all rows of a collection, which is reported as one change. New call: `tx[…].removeAll()`.
  public func removeAllObjects(inCollection collection: String?) {
    change {
      let name = collection ?? ""
      if let bridge = database.registry.find(name) { return try bridge.removeAll(writing) }
      // Without types there is no call that clears: rows go one by one, and are reported so.
      try remove(access.rawRows(name).map(\.key), name)
    }
  }

  /// Removes all rows of all collections, which is reported as one change. New call: `WriteTransaction.removeAll()`.
  public func removeAllObjectsInAllCollections() { change { _ = try writing.removeAll() } }

  private func remove(_ keys: [String], _ name: String) throws {
    if let bridge = database.registry.find(name) { return try bridge.remove(keys, writing) }
    for key in keys { _ = try writing.remove(RowKey(name, key)) }
  }

  // MARK: Changes

  /// Runs a call that changes rows.
  private func change(_ body: () throws -> Void) {
    attempt(()) {
      changeCount += 1
      try body()
    }
  }

  private func bridge(_ collection: String?) throws(DatabaseError) -> any CollectionBridge {
    try database.registry.bridge(collection ?? "")
  }

  private func sanitizers(_ bridge: any CollectionBridge) -> (objects: SanitizerPair, metadata: SanitizerPair) {
    database.registry.sanitizers(bridge.name)
  }
}
