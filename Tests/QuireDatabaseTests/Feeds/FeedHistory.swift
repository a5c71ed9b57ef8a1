// Random transactions, openings and consumers of feeds, held against what the database was at each commit.

import Foundation
import QuireDatabase
import QuireTesting
import Testing

/// One history, from its seed.
struct FeedHistory {
  struct Undone: Error {}

  private static let names = ["a", "b", "c", "cache"]
  static let feeds = [
    ChangeFeed("keys", over: .except(["cache"])),
    ChangeFeed("new", over: .except(["cache"]), keeping: .newValues),
    ChangeFeed("both", over: .except(["cache"]), keeping: .bothValues),
  ]

  private let folder: TestFolder
  private var db: Database
  private var random: SeededRandom
  /// The rows at each commit.
  private var states: [UInt64: FeedRows] = [:]
  private var consumers: [FeedConsumer] = []
  private(set) var counts: [String: Int] = [:]

  init(seed: UInt64) throws {
    random = SeededRandom(seed: seed)
    folder = try TestFolder()
    db = try folder.open(Self.options())
    for feed in Self.feeds {
      consumers.append(FeedConsumer(feed, .state))
      if feed.keeping != .keys { consumers.append(FeedConsumer(feed, .log)) }
    }
    try note()
    try register()
  }

  /// Registers the extension, which takes several commits, of which the first that changes rows changes all it does.
  private mutating func register() throws {
    let before = try db.read { tx in tx.csn.rawValue }
    try db.register(Cascade())
    let (csn, rows) = (try db.read { tx in tx.csn.rawValue }, try FeedRows(db, without: ["cache"]))
    for csn in (before..<csn).dropFirst() { states[csn] = rows }
    states[csn] = rows
  }

  private static func options(_ renamed: [String: String] = [:]) -> Database.Options {
    Database.Options(
      durability: .relaxed, cacheSize: 2 << 20, maintainsWhenIdle: false, renamedCollections: renamed, feeds: feeds)
  }

  private mutating func count(_ what: String) { counts[what, default: 0] += 1 }

  private mutating func note() throws {
    states[try db.read { tx in tx.csn.rawValue }] = try FeedRows(db, without: ["cache"])
  }

  // MARK: Steps

  mutating func run(steps: Int) throws {
    for _ in 0..<steps {
      switch random.below(20) {
      case 0..<9: try transact()
      case 9..<17: try pull(random.below(consumers.count))
      case 17: try db.compact()
      case 18: try reopen()
      default: try beginAnew()
      }
    }
    for index in consumers.indices { while try pull(index) {} }
    try db.checkInvariants()
    try db.verify()
  }

  private mutating func transact() throws {
    var random = random.fork()
    let isUndone = random.oneIn(8)
    var counts = counts
    do {
      try db.write { tx throws in
        for _ in 0...random.below(6) { try Self.change(tx, &random, &counts) }
        if isUndone { throw Undone() }
      }
      try note()
    } catch is Undone { counts["undone", default: 0] += 1 }
    self.counts = counts
  }

  private static func change(
    _ tx: WriteTransaction, _ random: inout SeededRandom, _ counts: inout [String: Int]
  ) throws {
    let name = random.pick(names)
    let rows = tx[.texts(name)]
    let key = "k\(random.below(12))"
    let isLong = random.oneIn(20)
    let text = isLong ? String(repeating: "long \(random.below(9)) ", count: 15_000) : "t\(random.below(1000))"
    switch random.below(24) {
    case 0..<10: try rows.set(text, metadata: random.oneIn(2) ? "m\(random.below(99))" : nil, for: key)
    case 10..<12: _ = try rows.replace(text, for: key)
    case 12..<14: _ = try rows.replaceMetadata(random.oneIn(2) ? text : nil, for: key)
    case 14..<17:
      if name == "a", try rows.contains(key), try tx[.texts("b")].contains(key) { counts["cascade", default: 0] += 1 }
      _ = try rows.remove(key)
    case 17: _ = try rows.remove((0..<6).map { "k\($0)" })
    case 18:
      counts["cleared", default: 0] += try rows.removeAll() > 0 ? 1 : 0
    case 19:
      if random.oneIn(4) { counts["cleared all", default: 0] += try tx.removeAll() > 0 ? 1 : 0 }
    case 20: for number in 0..<40 { try rows.set("\(text.prefix(50))\(number)", for: "many \(number)") }
    case 21: try rows.touch(key)
    default:
      var inner = random.fork()
      let isUndone = inner.oneIn(2)
      var copy = counts
      do {
        try tx.savepoint {
          for _ in 0...inner.below(4) { try change(tx, &inner, &copy) }
          if isUndone { throw Undone() }
        }
      } catch is Undone { copy["savepoint", default: 0] += 1 }
      counts = copy
    }
  }

  private mutating func reopen() throws {
    count("reopened")
    try db.close()
    var renamed: [String: String] = [:]
    let there = Set(try lastRows().collections.keys)
    let (old, new) = (random.pick(["a", "b", "c"]), random.pick(["a", "b", "c"]))
    if old != new, there.contains(old), !there.contains(new) {
      renamed[old] = new
      count("renamed")
    }
    db = try folder.open(Self.options(renamed))
    try note()
    try register()
  }

  private func lastRows() throws -> FeedRows {
    let newest = try #require(states.keys.max())
    return try #require(states[newest])
  }

  /// A consumer that begins with all rows, while others are written.
  private mutating func beginAnew() throws {
    let index = random.below(consumers.count)
    consumers[index].rows = FeedRows()
    var position: BootstrapPosition?
    repeat {
      let batch: BootstrapBatch
      let limit = FeedLimit.rows(1 + random.below(20))
      do throws(DatabaseError) {
        batch = try db.bootstrap(of: consumers[index].feed, after: position, limit: limit)
      } catch {
        // A collection was renamed meanwhile.
        #expect(error.code == .cursorForeign && position != nil)
        (position, consumers[index].rows) = (nil, FeedRows())
        continue
      }
      for row in batch.rows { try consumers[index].rows.apply(row) }
      position = batch.position
      if random.oneIn(3) { try transact() }
      if random.oneIn(20) { try reopen() }
    } while position?.isComplete != true
    consumers[index].cursor = position?.cursor
    count("bootstrap")
    // What was read too new is told once more: commits in between are a mixture.
    while let batch = try consumers[index].pull(db, rows: 3) { if !batch.isCatchingUp { break } }
    try expectRows(index, try FeedRows(db, without: ["cache"]))
  }

  // MARK: Consumers

  /// One batch for a consumer; returns whether there was one.
  @discardableResult private mutating func pull(_ index: Int) throws -> Bool {
    let limit = random.oneIn(3) ? 1 : 1 + random.below(60)
    // Through text, as a consumer keeps it.
    let cursor = consumers[index].cursor.flatMap { FeedCursor($0.description) }
    let (feed, mode) = (consumers[index].feed, consumers[index].mode)
    // Few bytes: following states, batches end inside entries.
    let bytes = random.oneIn(3) ? 1 + random.below(400) : 16 << 20
    let bounds = FeedLimit(rows: limit, bytes: bytes)
    guard let batch = try db.nextChanges(of: feed, after: cursor, limit: bounds, mode: mode) else {
      try expectRows(index, try FeedRows(db, without: ["cache"]))
      return false
    }
    count("\(mode)")
    if mode == .state, !batch.endsCommit { count("inside a commit") }
    if mode == .state {
      for change in batch.changes { try consumers[index].rows.apply(change) }
      if !batch.isCatchingUp { try expectRows(index, try FeedRows(db, without: ["cache"])) }
    } else {
      try replay(batch, index)
    }
    consumers[index].cursor = batch.cursor
    return true
  }

  private mutating func replay(_ batch: FeedBatch, _ index: Int) throws {
    var before = consumers[index].rows
    for (place, change) in batch.changes.enumerated() {
      let previous = place == 0 ? consumers[index].cursor?.csn : batch.changes[place - 1].csn
      if let old = try change.oldRow(), previous != change.csn {
        let text = "\(old.object.text)|\(old.metadata?.text ?? "-")"
        #expect(before.collections[change.collection]?[change.key] == text)
      }
      if change.kind == .removed, consumers[index].feed.keeping == .bothValues { #expect(try change.oldRow() != nil) }
      try consumers[index].rows.apply(change)
      let isLast = place + 1 == batch.changes.count
      guard isLast ? batch.endsCommit : batch.changes[place + 1].csn != change.csn else { continue }
      before = consumers[index].rows
      try expectRows(index, try #require(states[change.csn.rawValue], "no commit \(change.csn)"))
    }
  }

  private func expectRows(_ index: Int, _ rows: FeedRows) throws {
    let consumer = consumers[index]
    guard consumer.rows != rows else { return }
    Issue.record("consumer \(index), \(consumer.feed.name) by \(consumer.mode), has other rows than the database")
    throw Undone()
  }
}

@Suite("Random histories of change feeds") struct FeedHistoryTests {
  @Test("Replaying a feed gives the database at every commit, following states gives it at every batch")
  func replays() throws {
    var counts: [String: Int] = [:]
    for seed in TestSize.some(0..<200 as Range<UInt64>, of: 2) {
      var history = try FeedHistory(seed: seed)
      do { try history.run(steps: TestSize.isFull ? 300 : 50) } catch {
        Issue.record("seed \(seed): \(error)")
        return
      }
      counts.merge(history.counts) { $0 + $1 }
    }
    for what in [
      "undone", "savepoint", "cleared", "reopened", "bootstrap", "state", "log", "inside a commit", "cascade",
    ] {
      #expect(counts[what, default: 0] > 0, "\(what) did not happen")
    }
    if TestSize.isFull { #expect(counts["renamed", default: 0] > 10 && counts["cleared all", default: 0] > 10) }
  }
}
