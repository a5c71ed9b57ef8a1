// What is asked of a feed beside its changes: where it ends, how much it keeps, and to let go of some of it.

internal import QuireStorage

extension FeedReader {
  /// The cursor behind all that is kept.
  func newestCursor() throws(DatabaseError) -> FeedCursor {
    try withDurableSnapshot { _, tree, record in record.cursor((try tree.newest() ?? record.base).position) }
  }

  /// How much is kept, and how far behind a cursor is.
  func status(at cursor: FeedCursor?) throws(DatabaseError) -> FeedStatus {
    let clock = core.options.wallClock
    return try withDurableSnapshot { _, tree, record in
      let mark = try cursor.map { try start($0, &tree, record) } ?? record.base
      return try Self.status(record, at: mark, &tree, now: clock())
    }
  }

  /// How much a feed keeps, and how far behind one of its marks is.
  static func status(_ record: FeedRecord, at mark: FeedMark, _ tree: inout FeedTree, now: Int64) throws -> FeedStatus {
    let newest = try tree.newest() ?? record.base
    let oldest = try tree.oldest()
    let next = try tree.seek(behind: mark.position) ? try tree.mark() : nil
    func age(_ mark: FeedMark?) -> Duration { .microseconds(mark.map { max(0, now &- $0.time) } ?? 0) }
    return FeedStatus(
      isComplete: !record.lacksBeginning, oldest: record.cursor(record.base.position),
      newest: record.cursor(newest.position),
      kept: .init(newest, since: record.base, age: age(oldest)), behind: .init(newest, since: mark, age: age(next)))
  }

  /// Lets what was told up to a cursor expire.
  func release(upTo cursor: FeedCursor) throws(DatabaseError) {
    let mark: FeedMark
    do throws(DatabaseError) {
      mark = try withDurableSnapshot { _, tree, record in try start(cursor, &tree, record) }
    } catch {
      if error.code == .cursorExpired { return }
      throw error
    }
    do {
      try core.write(nil) { tx in
        guard case .writing(let handle) = tx.state.storage else { throw tx.state.notWriting() }
        var state = feed.current
        try unsafe FeedRetention(feed).release(upTo: mark, &state, handle.pointee)
        tx.state.writer?.feedUpdates = [FeedUpdate(feed: feed, state: state)]
      }
    } catch {
      throw error as? DatabaseError ?? DatabaseError(.inputOutput, "The feed could not be trimmed.", cause: error)
    }
  }

  /// The next changes behind a cursor, read on a thread of the database's that is there for what waits for the disk.
  func waiting(after cursor: FeedCursor?, _ limit: FeedLimit, _ mode: FeedMode) async throws -> FeedBatch? {
    let job = PlainJob<FeedBatch?> { _ in try next(after: cursor, limit, mode) }
    return try await job.result {
      try core.wrapping { () throws(StorageError) in try core.storage.threads.runWaiting { job.run() } }
    }
  }
}
