// What notifications say about collections and keys.

public import Foundation
internal import Quire

extension YapDatabaseConnection {
  // MARK: Collections

  /// Whether any row of a collection was stored, touched or removed. New call:
  /// `Commit.changes.contains(collectionNamed:)`.
  public func hasChange(forCollection collection: String, in notifications: [Notification]) -> Bool {
    notifications.contains { $0.changes?.contains(collectionNamed: collection) ?? false }
  }

  /// Whether the object of any row of a collection was stored or touched, or the row removed. New call:
  /// `Commit.changes.contains(collectionNamed:_:)` with `.object`.
  public func hasObjectChange(forCollection collection: String, in notifications: [Notification]) -> Bool {
    notifications.contains { $0.changes?.contains(collectionNamed: collection, .object) ?? false }
  }

  /// Whether the metadata of any row of a collection were stored or touched, or the row removed. New call:
  /// `Commit.changes.contains(collectionNamed:_:)` with `.metadata`.
  public func hasMetadataChange(forCollection collection: String, in notifications: [Notification]) -> Bool {
    notifications.contains { $0.changes?.contains(collectionNamed: collection, .metadata) ?? false }
  }

  // MARK: Keys

  /// Whether a row was stored, touched or removed, also with all of its collection. New call:
  /// `Commit.changes.contains(_:in:)`.
  public func hasChange(
    forKey key: String, inCollection collection: String, in notifications: [Notification]
  ) -> Bool {
    notifications.contains { $0.changes?.contains(key, inCollection: collection) ?? false }
  }

  /// Whether a row's object was stored or touched, or the row removed. New call: `Commit.changes.contains(_:in:_:)`
  /// with `.object`.
  public func hasObjectChange(
    forKey key: String, inCollection collection: String, in notifications: [Notification]
  ) -> Bool {
    notifications.contains { $0.changes?.contains(key, inCollection: collection, .object) ?? false }
  }

  /// Whether a row's metadata were stored or touched, or the row removed. New call: `Commit.changes.contains(_:in:_:)`
  /// with `.metadata`.
  public func hasMetadataChange(
    forKey key: String, inCollection collection: String, in notifications: [Notification]
  ) -> Bool {
    notifications.contains { $0.changes?.contains(key, inCollection: collection, .metadata) ?? false }
  }

  /// Whether any of some rows was stored, touched or removed. New call: `Commit.changes.contains(anyOf:in:)`.
  public func hasChange(
    forAnyKeys keys: Set<String>, inCollection collection: String, in notifications: [Notification]
  ) -> Bool {
    keys.contains { hasChange(forKey: $0, inCollection: collection, in: notifications) }
  }

  /// Whether the object of any of some rows was stored or touched, or the row removed. New call:
  /// `Commit.changes.contains(anyOf:in:_:)` with `.object`.
  public func hasObjectChange(
    forAnyKeys keys: Set<String>, inCollection collection: String, in notifications: [Notification]
  ) -> Bool {
    keys.contains { hasObjectChange(forKey: $0, inCollection: collection, in: notifications) }
  }

  /// Whether the metadata of any of some rows were stored or touched, or the row removed. New call:
  /// `Commit.changes.contains(anyOf:in:_:)` with `.metadata`.
  public func hasMetadataChange(
    forAnyKeys keys: Set<String>, inCollection collection: String, in notifications: [Notification]
  ) -> Bool {
    keys.contains { hasMetadataChange(forKey: $0, inCollection: collection, in: notifications) }
  }

  // MARK: Clearing

  /// Whether all rows of a collection were removed at once, alone or with those of all others. Their keys are not
  /// enumerated. New call: `Commit.changes.isCleared(_:)`.
  public func didClearCollection(_ collection: String, in notifications: [Notification]) -> Bool {
    notifications.contains { $0.changes?.isCleared(collectionNamed: collection) ?? false }
  }

  /// Whether all rows of all collections were removed at once. New call: `Commit.changes.isAllCleared`.
  public func didClearAllCollections(in notifications: [Notification]) -> Bool {
    notifications.contains { $0.changes?.isAllCleared ?? false }
  }

  // MARK: Enumerating

  /// Calls `block` with each key of a collection whose row was stored, touched or removed one by one, once, in the
  /// order of their bytes. New call: `Commit.changes.keys(in:)`.
  public func enumerateChangedKeys(
    inCollection collection: String, in notifications: [Notification],
    using block: (_ key: String, _ stop: YapDatabaseStop) -> Void
  ) {
    let keys = notifications.flatMap { $0.changes?.keys(inCollection: collection) ?? [] }
    let stop = YapDatabaseStop()
    for key in Set(keys.map(ByteName.init)).map(\.name).sortedByBytes() {
      block(key, stop)
      if stop.pointee { return }
    }
  }

  /// Calls `block` with each row that was stored, touched or removed one by one, once, in the order of collections and
  /// keys. New call: `Commit.changes.collections` and `Commit.changes.keys(inCollection:)`.
  public func enumerateChangedCollectionKeys(
    in notifications: [Notification], using block: (_ collectionKey: YapCollectionKey, _ stop: YapDatabaseStop) -> Void
  ) {
    var rows: Set<RowKey> = []
    for changes in notifications.compactMap(\.changes) {
      for collection in changes.collections {
        rows.formUnion(changes.keys(inCollection: collection).map { RowKey(collection, $0) })
      }
    }
    let stop = YapDatabaseStop()
    for row in rows.sorted() {
      block(YapCollectionKey(row), stop)
      if stop.pointee { return }
    }
  }
}

extension Sequence<String> {
  /// In the order of their bytes.
  func sortedByBytes() -> [String] { sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) } }
}
