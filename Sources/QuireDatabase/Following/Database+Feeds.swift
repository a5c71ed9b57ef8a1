// What consumers ask of a database's feeds.

internal import QuireStorage

extension Database {
  /// The next changes of a feed behind a cursor; nil if there are none yet. Waits for the disk if commits are not on it
  /// yet: what is told is durable, whatever the durability of the commits.
  ///
  /// ```swift
  /// while let batch = try db.nextChanges(of: feed, after: cursor) {
  ///   for change in try batch.changes(in: .songs) { try copy(change) }
  ///   cursor = batch.cursor
  /// }
  /// ```
  ///
  /// Costs a page per level of a few trees, and what is told; keeps nothing. Following states, each row is looked up as
  /// well. May be called from any thread, but in no transaction.
  ///
  /// - Parameters:
  ///   - feed: the feed, as it was named at the opening.
  ///   - cursor: how far the consumer has come; nil where the feed began.
  ///   - limit: how much at a time.
  ///   - mode: how the feed is followed.
  /// - Throws: `cursorForeign`, `cursorExpired`, `feedNotFound`, `nestedTransaction`, `closed`, `failStop`,
  ///   `damagedRow`, and what reading pages throws.
  public func nextChanges(
    of feed: ChangeFeed, after cursor: FeedCursor?, limit: FeedLimit = .rows(5000), mode: FeedMode = .state
  ) throws(DatabaseError) -> FeedBatch? {
    try FeedReader(core, feed).next(after: cursor, limit, mode)
  }

  /// The same on a thread of the database's.
  ///
  /// - Throws: as the other form, and `CancellationError`.
  @concurrent
  public func nextChanges(
    of feed: ChangeFeed, after cursor: FeedCursor?, limit: FeedLimit = .rows(5000), mode: FeedMode = .state
  ) async throws -> FeedBatch? {
    try await feeding { core throws(DatabaseError) in try FeedReader(core, feed).next(after: cursor, limit, mode) }
  }

  /// The changes of a feed behind a cursor, batch by batch, and those to come: a loop over them ends when the database is
  /// closed or the task cancelled. Pull only: nothing is read before it is asked for.
  ///
  /// Throws as ``nextChanges(of:after:limit:mode:)-(_,FeedCursor?,_,_)`` where a batch is asked for.
  public func changes(
    of feed: ChangeFeed, after cursor: FeedCursor?, limit: FeedLimit = .rows(5000), mode: FeedMode = .state
  ) -> FeedBatches {
    FeedBatches(database: self, feed: feed, cursor: cursor, limit: limit, mode: mode)
  }

  /// The newest cursor of a feed, for a consumer that wants nothing of what was.
  ///
  /// - Throws: `feedNotFound`, `nestedTransaction`, `closed`, `failStop`, `damagedRow`, and what reading pages throws.
  public func newestCursor(of feed: ChangeFeed) throws(DatabaseError) -> FeedCursor {
    try FeedReader(core, feed).withDurableSnapshot { _, tree, record in
      record.cursor((try tree.newest() ?? record.base).position)
    }
  }

  /// Says that no consumer needs what a feed has told up to a cursor. It may expire then, but for what the feed keeps of
  /// that all the same; see ``ChangeFeed/Retention``. One write transaction; nothing if it has expired already.
  ///
  /// - Throws: `cursorForeign`, `feedNotFound`, and what a write throws.
  public func release(_ feed: ChangeFeed, upTo cursor: FeedCursor) throws(DatabaseError) {
    let reader = try FeedReader(core, feed)
    let mark: FeedMark
    do throws(DatabaseError) {
      mark = try reader.withDurableSnapshot { _, tree, record in try reader.start(cursor, &tree, record) }
    } catch {
      if error.code == .cursorExpired { return }
      throw error
    }
    do {
      try core.write(nil) { tx in
        guard case .writing(let handle) = tx.state.storage else { throw tx.state.notWriting() }
        var state = reader.feed.current
        try unsafe FeedRetention(reader.feed).release(upTo: mark, &state, handle.pointee)
        tx.state.writer?.feedUpdates = [FeedUpdate(feed: reader.feed, state: state)]
      }
    } catch {
      throw error as? DatabaseError ?? DatabaseError(.inputOutput, "The feed could not be trimmed.", cause: error)
    }
  }

  /// How much a feed keeps, and how far behind a cursor is.
  ///
  /// - Parameter cursor: how far a consumer has come; nil where the feed begins.
  /// - Throws: `cursorForeign` and `cursorExpired` for the cursor, `feedNotFound`, `nestedTransaction`, `closed`,
  ///   `failStop`, `damagedRow`, and what reading pages throws.
  public func status(of feed: ChangeFeed, at cursor: FeedCursor? = nil) throws(DatabaseError) -> FeedStatus {
    let reader = try FeedReader(core, feed)
    let clock = core.options.wallClock
    return try reader.withDurableSnapshot { _, tree, record in
      let newest = try tree.newest() ?? record.base
      let oldest = try tree.oldest()
      let mark = try cursor.map { try reader.start($0, &tree, record) } ?? record.base
      let next = try tree.seek(behind: mark.position) ? try tree.mark() : nil
      let now = clock()
      func age(_ mark: FeedMark?) -> Duration { .microseconds(mark.map { max(0, now &- $0.time) } ?? 0) }
      return FeedStatus(
        oldest: record.cursor(record.base.position), newest: record.cursor(newest.position),
        kept: .init(newest, since: record.base, age: age(oldest)), behind: .init(newest, since: mark, age: age(next)))
    }
  }

  /// Runs what waits for the disk on a thread of the database's that is there for it.
  func feeding<Result: Sendable>(
    _ body: @escaping @Sendable (DatabaseCore) throws(DatabaseError) -> Result
  ) async throws -> Result {
    let job = AsyncJob<Result>()
    return try await job.result {
      try core.wrapping { () throws(StorageError) in
        try core.storage.threads.runWaiting { [core] in job.run { try body(core) } }
      }
    }
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
    /// So many bytes of keys and entries.
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
    let commits = CommitStream(core.history, limit: 1, tells: .none) { [core] in core.publishedCSN }
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
        let batch = try await sequence.database.nextChanges(
          of: sequence.feed, after: cursor, limit: sequence.limit, mode: sequence.mode)
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
