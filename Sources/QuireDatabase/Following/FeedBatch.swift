// What a consumer of a feed is handed.

public import QuireStorage

/// How a feed is followed.
public enum FeedMode: Hashable, Sendable {
  /// By states: each row that has changed since the cursor is told once, as it is in one snapshot. Where a consumer
  /// takes over a whole batch in one transaction, it shows the state of one commit at every moment, but while it is
  /// ``FeedBatch/isCatchingUp``.
  case state
  /// By commits: each change in its order, with the values of its commit, if the feed keeps them. A row that one
  /// transaction has changed several times may be told of as often, each time as the commit left it; of one that came
  /// and went in a transaction the removal alone may be told.
  case log
}

/// How much a batch holds. Following the log, a batch holds one entry of the feed at the least, which is 64 KiB or one
/// longer change. Following states, it holds one row at the least, and may end inside an entry.
public struct FeedLimit: Hashable, Sendable {
  /// No entry is added once there are so many changes.
  public var rows: Int
  /// Nothing is added once there are so many bytes, of keys and values; following the log, no entry.
  public var bytes: Int

  /// Bounds.
  public init(rows: Int, bytes: Int = 16 << 20) { (self.rows, self.bytes) = (rows, bytes) }

  /// So many changes, or 16 MiB.
  public static func rows(_ rows: Int) -> Self { Self(rows: rows) }
}

/// Changes that a consumer takes over together, and where it is when it has.
///
/// ```swift
/// while let batch = try db.nextChanges(of: feed, after: cursor) {
///   for change in try batch.changes(in: .songs) { try copy(change) }
///   cursor = batch.cursor
/// }
/// ```
public struct FeedBatch: Sendable {
  /// The name of the feed.
  public let feed: String
  /// How it is followed.
  public let mode: FeedMode
  /// Where a consumer is that has taken the batch over: to be stored with it, best in one transaction.
  public let cursor: FeedCursor
  /// The commit of the last change.
  public let csn: CSN
  /// The changes, in the order in which they are to be applied.
  public let changes: [FeedChange]
  /// Whether all of the last commit is told, and not the first changes of it alone.
  public let endsCommit: Bool
  /// Whether more is there already. Following states, a consumer shows a mixture of states until this is false.
  public let isCatchingUp: Bool
  let context: FeedContext

  /// The changes that concern a collection, with its types: those of its rows, and where it was emptied or renamed.
  /// Nothing is decoded before a change is asked for its rows.
  ///
  /// What was told before a renaming is there under the older name, if `Database.Options.renamedCollections` has that:
  /// ``RowFeedChange/collectionName`` says which name each change has.
  ///
  /// - Throws: `collectionMismatch` if the rows are of other coders than the collection says.
  public func changes<Object, Metadata>(
    in collection: RowCollection<Object, Metadata>
  ) throws(DatabaseError) -> [RowFeedChange<Object, Metadata>] {
    var found: [RowFeedChange<Object, Metadata>] = []
    let coders = StoredCoders(collection.untyped, metadata: Metadata.self as any Sendable.Type)
    var checked: CollectionRecord?
    let names = [collection.name] + context.olderNames(of: collection.name)
    for change in changes where names.contains(where: change.concerns) {
      for case let record? in [change.new?.record, change.old?.record] where checked !== record {
        try record.coders.check(readBy: coders, collection.name)
        checked = record
      }
      found.append(RowFeedChange(change: change, collection: collection))
    }
    return found
  }
}

/// What values of a batch have in common.
final class FeedContext: Sendable {
  let path: String
  let feed: String
  let keeping: ChangeFeed.Keeping
  let mode: FeedMode
  /// What keys of encrypted collections are derived with, if there are some.
  let salt: [UInt8]?
  /// Older names of collections, each with that of today.
  private let renamed: [String: String]

  init(_ core: DatabaseCore, feed: String, keeping: ChangeFeed.Keeping, mode: FeedMode, salt: [UInt8]?) {
    path = core.path
    self.feed = feed
    self.keeping = keeping
    self.mode = mode
    self.salt = salt
    renamed = core.options.renamedCollections
  }

  /// The names that a collection had in older versions of the program.
  func olderNames(of name: String) -> [String] {
    renamed.compactMap { old, new in new.hasSameBytes(as: name) ? old : nil }
  }
}
