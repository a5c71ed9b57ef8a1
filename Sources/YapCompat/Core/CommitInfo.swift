// What the notification of a commit says.

internal import Foundation
internal import Quire

/// A commit in the original's words.
struct CommitInfo {
  /// Under which the commit itself stands.
  static let commitKey = "YapCompat.commit"

  let commit: Commit
  /// The extensions whose changes are told.
  let extensionNames: [String]

  /// All of it. O(changes).
  var dictionary: [AnyHashable: Any] {
    let changes = commit.changes
    var info: [AnyHashable: Any] = [Self.commitKey: commit, YapDatabaseSnapshotKey: commit.csn.rawValue]
    if let own = commit.info as? YapDatabaseCommitInfo {
      info[YapDatabaseConnectionKey] = own.connection
      info[YapDatabaseCustomKey] = own.customObject
    } else if let other = commit.info {
      info[YapDatabaseCustomKey] = other
    }
    if changes.isUnknown {
      info[YapDatabaseModifiedExternallyKey] = true
    } else {
      add(changes, to: &info)
    }
    let told = extensionNames.compactMap { name in commit.changes(ofExtensionNamed: name).map { (name, $0) } }
    if !told.isEmpty {
      info[YapDatabaseExtensionsKey] = Dictionary(told, uniquingKeysWith: { first, _ in first })
    }
    return info
  }

  private func add(_ changes: ChangeSet, to info: inout [AnyHashable: Any]) {
    var (inBoth, inObject, inMetadata) = ([YapCollectionKey](), [YapCollectionKey](), [YapCollectionKey]())
    var (inserted, removed) = ([YapCollectionKey](), [YapCollectionKey]())
    changes.forEachRow { rowKey, summary in
      let row = YapCollectionKey(rowKey)
      if summary.isInserted { inserted.append(row) }
      if summary.isRemoved { removed.append(row) }
      // A row that was removed counts as changed in both halves; one that came back has really changed.
      if summary.isRemoved, !summary.isInserted { return }
      switch (summary.concerns(.object), summary.concerns(.metadata)) {
      case (true, true): inBoth.append(row)
      case (true, false): inObject.append(row)
      default: inMetadata.append(row)
      }
    }
    let both = Set(inBoth)
    let objects = inObject.isEmpty ? both : both.union(inObject)
    let metadata = inMetadata.isEmpty ? both : both.union(inMetadata)
    let cleared = changes.didClearAll ? [] : Set(changes.collections.filter { changes.didClear(collectionNamed: $0) })
    if !objects.isEmpty { info[YapDatabaseObjectChangesKey] = objects }
    if !metadata.isEmpty { info[YapDatabaseMetadataChangesKey] = metadata }
    // Often all are new: one set says it then.
    if !inserted.isEmpty { info[YapDatabaseInsertedKeysKey] = inserted == inBoth ? both : Set(inserted) }
    if !removed.isEmpty { info[YapDatabaseRemovedKeysKey] = Set(removed) }
    if !cleared.isEmpty { info[YapDatabaseRemovedCollectionsKey] = cleared }
    if changes.didClearAll { info[YapDatabaseAllKeysRemovedKey] = true }
  }
}
