// The listings about change feeds: those of “Change feeds”, `ChangeFeed`, `nextChanges` and `bootstrap`.

import Quire

/// What the rows hold.
struct FeedListingSong: Codable, Sendable { var title: String }

extension RowCollection where Object == FeedListingSong, Metadata == NoMetadata {
  fileprivate static var songs: Self { .init("songs") }
}

/// Another store, which takes over rows and cursor in one transaction.
protocol FeedListingSink {
  func take(_ batch: FeedBatch) async throws
  func expire() async throws
}

enum FeedListings {
  static func open(_ path: String) throws -> (Database, ChangeFeed) {
    let feed = ChangeFeed("sql", over: .except(["cache"]), keeping: .newValues)
    let db = try Database(at: path, options: .init(feeds: [feed]))
    return (db, feed)
  }

  static func pull(
    _ db: Database, _ feed: ChangeFeed, _ first: FeedCursor?,
    copy: (RowFeedChange<FeedListingSong, NoMetadata>) throws -> Void
  ) throws -> FeedCursor? {
    var cursor = first
    while let batch = try db.nextChanges(of: feed, after: cursor) {
      for change in try batch.changes(in: .songs) { try copy(change) }
      cursor = batch.cursor
    }
    return cursor
  }

  static func bootstrap(
    _ db: Database, _ feed: ChangeFeed, copy: (RowFeedChange<FeedListingSong, NoMetadata>) throws -> Void
  ) throws -> FeedCursor? {
    var cursor: FeedCursor?
    var position: BootstrapPosition?
    repeat {
      let batch = try db.bootstrap(of: feed, after: position)
      for row in try batch.rows(in: .songs) { try copy(row) }
      position = batch.position
    } while position?.isComplete == false
    cursor = position?.cursor
    return cursor
  }

  static func follow(
    _ db: Database, _ feed: ChangeFeed, after cursor: FeedCursor?, _ sink: any FeedListingSink
  )
    async throws
  {
    for try await batch in db.changes(of: feed, after: cursor, limit: .rows(5000)) {
      try await sink.take(batch)
      try db.release(feed, upTo: batch.cursor)
    }
  }

  static func audit(_ db: Database, _ feed: ChangeFeed, after cursor: FeedCursor?) throws {
    guard let batch = try db.nextChanges(of: feed, after: cursor, mode: .log) else { return }
    for change in try batch.changes(in: .songs) {
      print(change.csn, change.kind, change.key, try change.old?.object.title ?? "", try change.new?.object.title ?? "")
    }
  }

  static func ask(_ db: Database, _ feed: ChangeFeed, at cursor: FeedCursor) throws {
    let status = try db.status(of: feed, at: cursor)
    print("\(status.behind.commits) commits behind, the oldest \(status.behind.age) old")
  }
}
