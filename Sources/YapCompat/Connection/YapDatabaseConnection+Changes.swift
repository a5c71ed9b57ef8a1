// What notifications say about collections and keys.

public import Foundation
internal import Quire

extension YapDatabaseConnection {
  /// The commits that notifications tell of; those of others are passed over.
  private func commits(_ notifications: [Notification]) -> [Commit] { notifications.compactMap(\.commit) }

  // MARK: Collections

  /// Whether any row of a collection was stored, touched or removed. New call:
  /// `[Commit].hasChanges(in:)`.
  public func hasChange(forCollection collection: String, in notifications: [Notification]) -> Bool {
    commits(notifications).hasChanges(inCollection: collection)
  }

  /// Whether the object of any row of a collection was stored or touched, or the row removed. New call:
  /// `[Commit].hasChanges(in:_:)` with `.object`.
  public func hasObjectChange(forCollection collection: String, in notifications: [Notification]) -> Bool {
    commits(notifications).hasChanges(inCollection: collection, .object)
  }

  /// Whether the metadata of any row of a collection were stored or touched, or the row removed. New call:
  /// `[Commit].hasChanges(in:_:)` with `.metadata`.
  public func hasMetadataChange(forCollection collection: String, in notifications: [Notification]) -> Bool {
    commits(notifications).hasChanges(inCollection: collection, .metadata)
  }

  // MARK: Keys

  /// Whether a row was stored, touched or removed, also with all of its collection. New call:
  /// `[Commit].hasChanges(forKey:in:)`.
  public func hasChange(
    forKey key: String, inCollection collection: String, in notifications: [Notification]
  ) -> Bool {
    commits(notifications).hasChanges(forKey: key, inCollection: collection)
  }

  /// Whether a row's object was stored or touched, or the row removed. New call: `[Commit].hasChanges(forKey:in:_:)`
  /// with `.object`.
  public func hasObjectChange(
    forKey key: String, inCollection collection: String, in notifications: [Notification]
  ) -> Bool {
    commits(notifications).hasChanges(forKey: key, inCollection: collection, .object)
  }

  /// Whether a row's metadata were stored or touched, or the row removed. New call: `[Commit].hasChanges(forKey:in:_:)`
  /// with `.metadata`.
  public func hasMetadataChange(
    forKey key: String, inCollection collection: String, in notifications: [Notification]
  ) -> Bool {
    commits(notifications).hasChanges(forKey: key, inCollection: collection, .metadata)
  }

  /// Whether any of some rows was stored, touched or removed. New call: `[Commit].hasChanges(forAnyOf:in:)`.
  public func hasChange(
    forAnyKeys keys: Set<String>, inCollection collection: String, in notifications: [Notification]
  ) -> Bool {
    commits(notifications).hasChanges(forAnyOf: keys, inCollection: collection)
  }

  /// Whether the object of any of some rows was stored or touched, or the row removed. New call:
  /// `[Commit].hasChanges(forAnyOf:in:_:)` with `.object`.
  public func hasObjectChange(
    forAnyKeys keys: Set<String>, inCollection collection: String, in notifications: [Notification]
  ) -> Bool {
    commits(notifications).hasChanges(forAnyOf: keys, inCollection: collection, .object)
  }

  /// Whether the metadata of any of some rows were stored or touched, or the row removed. New call:
  /// `[Commit].hasChanges(forAnyOf:in:_:)` with `.metadata`.
  public func hasMetadataChange(
    forAnyKeys keys: Set<String>, inCollection collection: String, in notifications: [Notification]
  ) -> Bool {
    commits(notifications).hasChanges(forAnyOf: keys, inCollection: collection, .metadata)
  }

  // MARK: Clearing

  /// Whether all rows of a collection were removed at once, alone or with those of all others. Their keys are not
  /// enumerated. New call: `[Commit].didClear(_:)`.
  public func didClearCollection(_ collection: String, in notifications: [Notification]) -> Bool {
    commits(notifications).didClear(collectionNamed: collection)
  }

  /// Whether all rows of all collections were removed at once. New call: `[Commit].didClearAll`.
  public func didClearAllCollections(in notifications: [Notification]) -> Bool {
    commits(notifications).didClearAll
  }

  // MARK: Enumerating

  /// Calls `block` with each key of a collection whose row was stored, touched or removed one by one, once, in the
  /// order of their bytes. New call: `[Commit].changedKeys(in:)`.
  public func enumerateChangedKeys(
    inCollection collection: String, in notifications: [Notification],
    using block: (_ key: String, _ stop: YapDatabaseStop) -> Void
  ) {
    let stop = YapDatabaseStop()
    for key in commits(notifications).changedKeys(inCollection: collection) {
      block(key, stop)
      if stop.pointee { return }
    }
  }

  /// Calls `block` with each row that was stored, touched or removed one by one, once, in the order of collections and
  /// keys. New call: `[Commit].changedRows`.
  public func enumerateChangedCollectionKeys(
    in notifications: [Notification], using block: (_ collectionKey: YapCollectionKey, _ stop: YapDatabaseStop) -> Void
  ) {
    let stop = YapDatabaseStop()
    for row in commits(notifications).changedRows {
      block(YapCollectionKey(row), stop)
      if stop.pointee { return }
    }
  }
}

extension Sequence<String> {
  /// In the order of their bytes.
  func sortedByBytes() -> [String] { sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) } }
}
