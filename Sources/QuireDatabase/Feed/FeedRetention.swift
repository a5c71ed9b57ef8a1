// Keeping a feed within its bounds. Whole ranges of entries go, which takes a look at a page per level of the tree.

internal import QuireStorage

/// The bounds of one feed.
struct FeedRetention {
  private let feed: OpenFeed
  private let bounds: ChangeFeed.Retention

  /// By so much of a bound a feed may pass it before something expires: one part of so many.
  private static let slack: UInt64 = 16

  init(_ feed: OpenFeed) {
    self.feed = feed
    bounds = feed.definition.retention
  }

  // MARK: At a commit

  /// Lets entries expire as far as bounds demand it, once a transaction has added some.
  ///
  /// - Throws: `feedFull` if the feed is not to forget what was not released.
  func keepBounds(
    _ state: inout OpenFeed.State, now: Int64, _ tx: borrowing QuireStorage.WriteTransaction
  ) throws {
    let limit = UInt64(bounds.bytes)
    let isOver = state.keptBytes > limit + limit / Self.slack
    let oldest = bounds.ageMicroseconds.map { now &- $0 }
    let slack = (bounds.ageMicroseconds ?? 0) / Int64(Self.slack)
    let oldestTime = state.oldestTime ?? now
    let isOld = oldest.map { oldestTime < $0 &- slack } ?? false
    guard isOver || isOld || bounds.isAhead(oldestTime, of: now) else { return }
    try expireBeyondBounds(&state, now: now, oldest: oldest, tx)
    if bounds.isAhead(state.oldestTime ?? now, of: now) { state.oldestTime = now }
  }

  /// - Parameter oldest: when entries were written that are as old as they may be; nil if they may have any age.
  private func expireBeyondBounds(
    _ state: inout OpenFeed.State, now: Int64, oldest: Int64?, _ tx: borrowing QuireStorage.WriteTransaction
  ) throws {
    let limit = UInt64(bounds.bytes)
    let newest = state.newest.bytes
    func isOld(_ mark: FeedMark) -> Bool? {
      bounds.isAhead(mark.time, of: now) ? nil : oldest.map { mark.time < $0 } ?? false
    }
    switch bounds.whenFull {
    case .expireOldest:
      try expire(&state, tx) { mark in newest - mark.bytes >= limit ? true : isOld(mark) }
    case .refuseWrites:
      let released = state.record.released
      // Nothing to look for where all that was released has gone.
      if state.record.base.position.isBefore(released) {
        try expire(&state, tx) { mark in
          if released.isBefore(mark.position) { return false }
          return newest - mark.bytes >= limit / 2 ? true : isOld(mark)
        }
      }
      guard state.keptBytes > limit else { return }
      let added = newest &- feed.current.newest.bytes
      if added > limit { throw tooLong(added, limit) }
      throw DatabaseError(
        .feedFull,
        """
        The feed “\(feed.definition.name)” keeps \(state.keptBytes) of \(limit) bytes, which no consumer has released, \
        and is to refuse writes rather than to forget. Let a consumer catch up, and call `release`.
        """)
    }
  }

  /// The error of a transaction that no release makes room for.
  private func tooLong(_ byteCount: UInt64, _ limit: UInt64) -> DatabaseError {
    DatabaseError(
      .feedFull,
      """
      One transaction has \(byteCount) bytes of changes for the feed “\(feed.definition.name)”, which keeps \(limit) \
      bytes and is to refuse writes rather than to forget. Make smaller transactions, or let the feed keep more bytes.
      """)
  }

  // MARK: When something is released

  /// Lets entries expire that were released, but for those that are kept for consumers that go back.
  func release(
    upTo mark: FeedMark, _ state: inout OpenFeed.State, _ tx: borrowing QuireStorage.WriteTransaction
  ) throws {
    if state.record.released.isBefore(mark.position) {
      state.record.released = FeedPosition(csn: mark.position.csn, part: mark.position.part, chain: 0)
      state.released = mark
    }
    let (released, newest) = (state.record.released, state.newest)
    try expire(&state, tx) { mark in
      !released.isBefore(mark.position)
        && (newest.bytes - mark.bytes >= UInt64(bounds.releasedBytes)
          || newest.commits - mark.commits >= UInt64(bounds.releasedCommits))
    }
    try tx.upsert(state.record.bytes, for: FeedKeys.record, in: feed.tree)
  }

  /// Removes the entries for which `isDue` is true. Where it is for one, it is for all before; nil says that it is
  /// known of the entries behind alone.
  private func expire(
    _ state: inout OpenFeed.State, _ tx: borrowing QuireStorage.WriteTransaction, _ isDue: (FeedMark) -> Bool?
  ) throws {
    let places = try tx.rank(of: FeedKeys.entries, in: feed.tree)..<tx.count(of: feed.tree)
    var reader = FeedTree(try tx.cursor(feed.tree))
    var found = try lastDue(&reader, places, state.newest, looksBehind: true, isDue)
    if found == nil { found = try lastDue(&reader, places, state.newest, looksBehind: false, isDue) }
    guard let (last, place) = found else { return }
    state.oldestTime = try reader.mark(at: place + 1)?.time
    let end = FeedKeys.entry(last.position.csn, last.position.part) + [0]
    _ = try tx.deleteRange(from: FeedKeys.entries, to: end, in: feed.tree)
    state.record.base = last
    state.record.lacksBeginning = true
    try tx.upsert(state.record.bytes, for: FeedKeys.record, in: feed.tree)
  }

  /// The last entry for which `isDue` is true, as a binary search finds it, and its place. One of which it is nil is
  /// none, and so are all behind it unless the search `looksBehind` it.
  private func lastDue(
    _ reader: inout FeedTree, _ places: Range<Int>, _ newest: FeedMark, looksBehind: Bool, _ isDue: (FeedMark) -> Bool?
  ) throws -> (FeedMark, Int)? {
    var (low, high) = (places.lowerBound, places.upperBound)
    var last: (FeedMark, Int)?
    while low < high {
      let middle = low + (high - low) / 2
      guard let mark = try reader.mark(at: middle) else { throw FeedEntryHead.damaged("An entry is missing.") }
      // Whatever a file says: totals that do not grow must not make a negative number.
      let isSound = mark.bytes <= newest.bytes && mark.commits <= newest.commits
      guard isSound else { throw FeedEntryHead.damaged("The totals of an entry are above those of a later one.") }
      let isThisDue = isDue(mark)
      if isThisDue == true { last = (mark, middle) }
      if isThisDue ?? looksBehind { low = middle + 1 } else { high = middle }
    }
    return last
  }
}
