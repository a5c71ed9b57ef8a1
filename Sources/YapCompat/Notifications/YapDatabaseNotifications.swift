// Commits as notifications, with the original's names and keys.

public import Foundation
internal import Quire

extension Notification.Name {
  /// Posted on the main thread after each commit, in their order; the object is the `YapDatabase`. New call:
  /// `Database.commits`.
  ///
  /// It is on its way to the main queue when `readWrite` returns, and before any completion block of the transaction is
  /// sent to its queue: on the main queue the notification comes first, always.
  public static let YapDatabaseModified = Notification.Name("YapDatabaseModifiedNotification")
  /// Posted on the main thread when a database was closed. New call: `Database.close()` returns.
  public static let YapDatabaseClosed = Notification.Name("YapDatabaseClosedNotification")
}

/// The name of the notifications of commits, in the original's spelling. New call: `Database.commits`.
public let YapDatabaseModifiedNotification = Notification.Name.YapDatabaseModified
/// The name of the notification of a database that was closed. New call: `Database.close()` returns.
public let YapDatabaseClosedNotification = Notification.Name.YapDatabaseClosed

/// The number of the commit, a `UInt64`. New call: `Commit.csn`.
public let YapDatabaseSnapshotKey = "snapshot"
/// The `YapDatabaseConnection` that made the commit; absent for commits of the new API. New call: none.
public let YapDatabaseConnectionKey = "connection"
/// What extensions tell, by their names: of a view its `ViewChanges`. New call: `Commit.changes(of:)`.
public let YapDatabaseExtensionsKey = "extensions"
/// The custom object of the transaction. New call: `Commit.info`.
public let YapDatabaseCustomKey = "custom"
/// The rows whose objects were stored or touched, a `Set<YapCollectionKey>`. New call:
/// `Commit.changes.changedKeys(in:_:)`.
public let YapDatabaseObjectChangesKey = "objectChanges"
/// The rows whose metadata were stored or touched, a `Set<YapCollectionKey>`. New call:
/// `Commit.changes.changedKeys(in:_:)`.
public let YapDatabaseMetadataChangesKey = "metadataChanges"
/// The rows that are new, a `Set<YapCollectionKey>`. New call: `Commit.changes.insertedKeys(in:)`.
public let YapDatabaseInsertedKeysKey = "insertedKeys"
/// The rows that were removed one by one, a `Set<YapCollectionKey>`. One that was stored again afterwards is among
/// them. New call: `Commit.changes.removedKeys(in:)`.
public let YapDatabaseRemovedKeysKey = "removedKeys"
/// The collections that were cleared, a `Set<String>`. New call: `Commit.changes.didClear(_:)`.
public let YapDatabaseRemovedCollectionsKey = "removedCollections"
/// `true` if all rows were removed at once. New call: `Commit.changes.didClearAll`.
public let YapDatabaseAllKeysRemovedKey = "allKeysRemoved"
/// `true` if the changes are not known, as too many had piled up: read afresh. New call: `Commit.changes.isUnknown`.
public let YapDatabaseModifiedExternallyKey = "modifiedExternally"
/// The file of a database that was closed, a `URL`.
public let YapDatabaseUrlKey = "databaseURL"
/// The first file of the log of a database that was closed, a `URL`.
public let YapDatabaseUrlWalKey = "databaseURL_wal"
