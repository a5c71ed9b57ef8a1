// What consumers ask of a database's feeds. What they are handed is in files of its own.

internal import QuireStorage

extension Database {
  /// The next changes of a feed behind a cursor; nil if there are none yet. See ``FeedBatch``.
  ///
  /// Costs a page per level of a few trees, and what is told; keeps nothing. Waits for the disk if there are commits
  /// that it does not have: what is told is durable. From any thread, but in no transaction; async code has `changes`.
  ///
  /// - Parameters:
  ///   - feed: the feed, as it was named at the opening.
  ///   - cursor: how far the consumer has come; nil if it has nothing: then the feed must tell of all, or throws
  ///     `cursorExpired`. See ``FeedStatus/isComplete``.
  ///   - limit: how much at a time.
  ///   - mode: how the feed is followed.
  /// - Throws: `cursorForeign`, `cursorExpired`, `feedNotFound`, `nestedTransaction`, `closed`, `failStop`,
  ///   `damagedRow`, and what reading pages throws.
  public func nextChanges(
    of feed: ChangeFeed, after cursor: FeedCursor?, limit: FeedLimit = .rows(5000), mode: FeedMode = .state
  ) throws(DatabaseError) -> FeedBatch? { try FeedReader(core, feed).next(after: cursor, limit, mode) }

  /// The changes behind a cursor, batch by batch, and those to come, until the database is closed or the task
  /// cancelled. Nothing is read before it is asked for, and that throws as `nextChanges`.
  public func changes(
    of feed: ChangeFeed, after cursor: FeedCursor?, limit: FeedLimit = .rows(5000), mode: FeedMode = .state
  ) -> FeedBatches { FeedBatches(database: self, feed: feed, cursor: cursor, limit: limit, mode: mode) }

  /// The next rows of a feed's collections, for a consumer that has none yet. See ``BootstrapBatch``.
  ///
  /// - Throws: as `nextChanges`; begin anew, with no rows, after `cursorForeign` and `cursorExpired`: the changes since
  ///   the beginning are no longer there, or a collection was renamed.
  public func bootstrap(
    of feed: ChangeFeed, after position: BootstrapPosition? = nil, limit: FeedLimit = .rows(10_000)
  ) throws(DatabaseError) -> BootstrapBatch {
    try FeedBootstrap(reader: FeedReader(core, feed), limit: limit).next(after: position)
  }

  /// The newest cursor, for a consumer that wants nothing of what was. Throws as `nextChanges`.
  public func newestCursor(of feed: ChangeFeed) throws(DatabaseError) -> FeedCursor {
    try FeedReader(core, feed).newestCursor()
  }

  /// Says that no consumer needs what was told up to a cursor: it may expire, but for what the feed keeps of that all
  /// the same. One write transaction; nothing if it has expired already.
  ///
  /// - Throws: `cursorForeign`, `feedNotFound`, and what a write throws.
  public func release(_ feed: ChangeFeed, upTo cursor: FeedCursor) throws(DatabaseError) {
    try FeedReader(core, feed).release(upTo: cursor)
  }

  /// How much a feed keeps, and how far behind a cursor is, or where the feed begins. Throws as `nextChanges`.
  public func status(of feed: ChangeFeed, at cursor: FeedCursor? = nil) throws(DatabaseError) -> FeedStatus {
    try FeedReader(core, feed).status(at: cursor)
  }
}

/// How much a feed keeps, and how far behind a consumer is.
public struct FeedStatus: Hashable, Sendable {
  /// An amount of what a feed tells.
  public struct Amount: Hashable, Sendable {
    /// So many commits.
    public let commits: Int
    /// So many changes.
    public let changes: Int
    /// So many bytes of the file.
    public let bytes: Int
    /// How old the first of them is.
    public let age: Duration

    init(_ newest: FeedMark, since mark: FeedMark, age: Duration) {
      commits = Int(clamping: newest.commits &- mark.commits)
      changes = Int(clamping: newest.changes &- mark.changes)
      bytes = Int(clamping: newest.bytes &- mark.bytes)
      self.age = age
    }
  }

  /// Whether the feed tells of all since its collections had no row: nothing has expired, and it was there in time.
  /// Otherwise nobody can follow it without a cursor: who has nothing gets the rows first, by `bootstrap`.
  public let isComplete: Bool
  /// The cursor in front of all that is kept.
  public let oldest: FeedCursor
  /// The cursor behind all that is kept.
  public let newest: FeedCursor
  /// What is kept.
  public let kept: Amount
  /// What a consumer has not been told yet that is at the cursor.
  public let behind: Amount
}

/// The changes of a feed as an asynchronous sequence. One consumer at a time; each iterator begins at the same cursor.
public struct FeedBatches: AsyncSequence, Sendable {
  /// What is delivered.
  public typealias Element = FeedBatch
  /// A `DatabaseError`, or `CancellationError`.
  public typealias Failure = any Error

  let database: Database
  let feed: ChangeFeed
  let cursor: FeedCursor?
  let limit: FeedLimit
  let mode: FeedMode

  /// Begins to read.
  public func makeAsyncIterator() -> Iterator {
    let core = database.core
    // One commit that waits is enough to know that there is something to read.
    let commits = CommitStream(core.history, limit: 1, tells: .none, wantsAll: false) { [core] in core.publishedCSN }
    return Iterator(sequence: self, cursor: cursor, commits: commits.makeAsyncIterator())
  }

  /// Takes one batch after the other.
  public struct Iterator: AsyncIteratorProtocol {
    let sequence: FeedBatches
    var cursor: FeedCursor?
    var commits: CommitStream.Iterator

    /// The next batch; waits for it. Nil when the database was closed, or the task cancelled.
    public mutating func next() async throws -> FeedBatch? {
      while !Task.isCancelled {
        let batch: FeedBatch?
        do {
          batch = try await FeedReader(sequence.database.core, sequence.feed)
            .waiting(after: cursor, sequence.limit, sequence.mode)
        } catch let error as DatabaseError where error.code == .closed {
          // The consumer was busy when the database was closed.
          return nil
        }
        if let batch {
          cursor = batch.cursor
          return batch
        }
        guard try await commits.next() != nil else { return nil }
      }
      return nil
    }
  }
}
