// The feeds of an open database: those that were named, and those of the file that were not.

internal import QuireStorage
internal import Synchronization

/// The feeds of a database. There is none if none was named and the file has none: then nothing of this runs.
final class FeedSet: Sendable {
  let feeds: [OpenFeed]
  let lineage: DatabaseID
  /// Random bits of this opening, which tell its entries from those that a copy of the file has under the same numbers.
  let run: UInt64
  /// The engine below: another one after each suspension.
  var engine: StorageEngine { current.withLock { $0 } }
  private let current: Latch<StorageEngine>
  /// The time, in microseconds since 1970.
  let clock: @Sendable () -> Int64
  /// What entries take in the file.
  let space: FeedSpace
  /// The feeds that were not named, which the first change of a row ends.
  private let unnamed: Latch<[UnnamedFeed]>

  init(
    _ engine: StorageEngine, _ feeds: [OpenFeed], unnamed: [UnnamedFeed], run: UInt64,
    clock: @escaping @Sendable () -> Int64
  ) {
    current = Latch(engine)
    self.feeds = feeds
    lineage = engine.core.databaseID
    self.run = run
    space = FeedSpace(engine)
    self.clock = clock
    self.unnamed = Latch(unnamed)
  }

  /// The feed of this name; nil if it was not named at the opening.
  func feed(named name: String) -> OpenFeed? { feeds.first { $0.definition.name.hasSameBytes(as: name) } }

  /// How much of each feed was not released.
  var lags: [FeedLag] {
    feeds.map { feed in
      let state = feed.current
      let released = state.released ?? state.record.base
      let isBehind = released.position != state.newest.position
      return FeedLag(
        feed: feed.definition.name, commits: Int(clamping: state.newest.commits &- released.commits),
        bytes: Int(clamping: state.newest.bytes &- released.bytes),
        seconds: isBehind ? Double(max(0, clock() &- released.time)) / 1e6 : 0)
    }
  }

  /// Ends the feeds that were not named, as rows change which they do not hear of. Returns whether there were some.
  func endUnnamed(_ tx: borrowing QuireStorage.WriteTransaction) throws(StorageError) -> Bool {
    let unnamed = unnamed.withLock { $0 }
    for feed in unnamed { try tx.dropTree(feed.tree) }
    return !unnamed.isEmpty
  }

  /// Notes in the feeds that a transaction tells nothing that they have heard of it, if it changes anything: what
  /// a feed has not heard of was committed by a program that does not know feeds. At the end of the transaction.
  func noteHeard(_ outcome: FeedOutcome, _ tx: borrowing QuireStorage.WriteTransaction) throws(StorageError) {
    if engine.core.context.hasChanges { try noteHeardAlways(outcome, tx) }
  }

  private func noteHeardAlways(
    _ outcome: FeedOutcome, _ tx: borrowing QuireStorage.WriteTransaction
  ) throws(StorageError) {
    for feed in feeds {
      let isTold = outcome.updates.contains { $0.feed === feed && $0.state.newest.position.csn == tx.csn.rawValue }
      if !isTold { try FeedKeys.noteHeard(in: feed.tree, tx) }
    }
    guard !outcome.hasEndedUnnamed else { return }
    for feed in unnamed.withLock({ $0 }) where feed.hasHeardAll { try FeedKeys.noteHeard(in: feed.tree, tx) }
  }

  /// Has the feeds of a database, if it has any, hear of what the engine commits of its own accord, as it moves pages.
  /// Until then all feeds of the file do, by `noteHeardByAll`.
  static func hearOfRearrangements(_ feeds: FeedSet?, _ engine: StorageEngine) {
    feeds?.current.withLock { $0 = engine }
    engine.core.onRearrangement.withLock { note in
      guard let feeds else {
        note = nil
        return
      }
      note = { [weak feeds] (tx: borrowing QuireStorage.WriteTransaction) throws(StorageError) in
        try feeds?.noteHeardAlways(FeedOutcome(), tx)
      }
    }
  }

  /// Notes in each feed of the file that it has heard of the commit that the transaction makes, if it has of the one
  /// before. For a file that is being opened, whose feeds nobody knows yet: reads a few pages of each. One that cannot
  /// be read has heard of nothing that counts.
  static func noteHeardByAll(_ tx: borrowing QuireStorage.WriteTransaction) throws(StorageError) {
    for name in tx.treeNames where FeedKeys.feedName(name) != nil {
      guard let tree = tx.tree(named: name), let heard = try? newestHeard(in: tree, tx),
        heard &+ 1 == tx.csn.rawValue
      else { continue }
      try FeedKeys.noteHeard(in: tree, tx)
    }
  }

  /// The newest commit that a feed has heard of.
  private static func newestHeard(in tree: Tree, _ tx: borrowing QuireStorage.WriteTransaction) throws -> UInt64? {
    var reader = FeedTree(try tx.cursor(tree))
    guard let record = try reader.record() else { return nil }
    return max((try reader.newest() ?? record.base).position.csn, try reader.heard())
  }

  /// The transaction that has ended them is committed.
  func didEndUnnamed() { unnamed.withLock { $0 = [] } }
}

/// What a transaction has made of the feeds.
struct FeedOutcome {
  var updates: [FeedUpdate] = []
  var hasEndedUnnamed = false
}

extension FeedSet {
  /// A commit that has changed feeds is about to be seen. Under the writer lock.
  func apply(_ outcome: FeedOutcome) {
    for update in outcome.updates { update.feed.apply(update.state) }
    if outcome.hasEndedUnnamed { didEndUnnamed() }
  }
}

/// A feed of the file that was not named when the database was opened.
struct UnnamedFeed {
  let tree: Tree
  /// Whether there is no commit that it has not heard of.
  let hasHeardAll: Bool
}

extension FeedKeys {
  /// Notes in the tree of a feed that it has heard of the commit that the transaction makes.
  static func noteHeard(
    in tree: Tree, _ tx: borrowing QuireStorage.WriteTransaction
  ) throws(StorageError) {
    try tx.upsert(tx.csn.rawValue.littleEndianBytes, for: heard, in: tree)
  }
}
