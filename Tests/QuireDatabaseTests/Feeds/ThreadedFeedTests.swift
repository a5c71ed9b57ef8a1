// Consumers of feeds beside writers: what they show is the state of one commit.

import Foundation
import QuireDatabase
import QuireTesting
import Synchronization
import Testing

@Suite("Change feeds beside writers") struct ThreadedFeedTests {
  private static let accounts = RowCollection<Int, NoMetadata>("accounts")
  private static let feed = ChangeFeed("sums", keeping: .newValues)
  private static let names = (0..<8).map { "account \($0)" }

  /// Moves money around; the sum stays as it is.
  private static func transfer(_ db: Database, _ random: inout SeededRandom) throws {
    let (from, to, amount) = (random.pick(names), random.pick(names), random.below(100))
    try db.write { tx throws in
      let before = try tx[accounts].get(from) ?? 0
      try tx[accounts].set(before - amount, for: from)
      let now = try tx[accounts].get(to) ?? 0
      try tx[accounts].set(now + amount, for: to)
    }
  }

  /// Follows until writers have ended and all is told; returns how many sums it has looked at.
  private static func follow(_ db: Database, _ mode: FeedMode, _ isDone: Shared<Bool>) throws -> Int {
    var (cursor, rows, count): (FeedCursor?, [String: Int], Int) = (nil, [:], 0)
    while true {
      let isLast = isDone.withLock { $0 }
      guard let batch = try db.nextChanges(of: feed, after: cursor, limit: .rows(20), mode: mode) else {
        if isLast { break }
        continue
      }
      for change in try batch.changes(in: accounts) { rows[change.key] = try change.new?.object }
      cursor = batch.cursor
      let isWhole = mode == .log ? batch.endsCommit : !batch.isCatchingUp
      guard isWhole else { continue }
      count += 1
      let sum = rows.values.reduce(0, +)
      if sum != 0 { throw Unequal(sum: sum, csn: batch.csn.description) }
    }
    let stored = try db.read { tx in
      Dictionary(uniqueKeysWithValues: tx[accounts].rows.map { ($0.key, $0.object) })
    }
    if stored != rows { throw Unequal(sum: 0, csn: "the end") }
    return count
  }

  struct Unequal: Error { let sum: Int, csn: String }

  /// Starts a thread; what `body` throws is added to `errors`.
  private static func start(
    _ group: DispatchGroup, _ errors: Shared<[String]>, _ body: @escaping @Sendable () throws -> Void
  ) {
    group.enter()
    Thread.detachNewThread {
      do { try body() } catch { errors.withLock { $0.append("\(error)") } }
      group.leave()
    }
  }

  @Test("Whatever writers do meanwhile, a consumer shows the state of one commit", arguments: [true, false])
  func sumsStayZero(isRelaxed: Bool) throws {
    let folder = try TestFolder()
    let db = try folder.open(Database.Options(durability: isRelaxed ? .relaxed : .full, feeds: [Self.feed]))
    let (isDone, counts, errors) = (Shared(false), Shared<[Int]>([]), Shared<[String]>([]))
    let (writers, readers) = (DispatchGroup(), DispatchGroup())
    for seed in 0..<2 as Range<UInt64> {
      Self.start(writers, errors) {
        var random = SeededRandom(seed: seed)
        for _ in 0..<TestSize.trials(2_000, divisor: 20) { try Self.transfer(db, &random) }
      }
    }
    for mode in [FeedMode.state, .log] {
      Self.start(readers, errors) {
        let count = try Self.follow(db, mode, isDone)
        counts.withLock { $0.append(count) }
      }
    }
    writers.wait()
    isDone.withLock { $0 = true }
    readers.wait()
    #expect(errors.withLock { $0 } == [])
    #expect(counts.withLock { $0.count { $0 > 0 } } == 2)
    try db.close()
  }

  // MARK: Several feeds

  /// Follows a feed as an app would: releases what it has if so wanted, and begins anew where it is refused.
  private static func follow(
    _ db: Database, _ feed: ChangeFeed, _ mode: FeedMode, releases: Bool, _ isDone: Shared<Bool>
  ) throws -> FeedRows {
    var consumer = FeedConsumer(feed, mode)
    while true {
      let isLast = isDone.withLock { $0 }
      do {
        if let batch = try consumer.pull(db, rows: 50) {
          if releases { try db.release(feed, upTo: batch.cursor) }
        } else if isLast {
          return consumer.rows
        }
      } catch let error as DatabaseError where error.code == .cursorExpired {
        try consumer.bootstrap(db, rows: 40)
      }
    }
  }

  @Test(
    "Several consumers of feeds that forget, refuse or keep all have the rows in the end, whoever writes and waits",
    .enabled(if: TestSize.hasSlowTests, "slow"))
  func consumersOfAllKindsAgree() throws {
    let folder = try TestFolder()
    let strict = ChangeFeed(
      "strict", over: .except(["free"]), keeping: .newValues,
      retention: .init(bytes: 64 << 10, whenFull: .refuseWrites, releasedBytes: 0, releasedCommits: 0))
    let small = ChangeFeed("small", keeping: .bothValues, retention: .init(bytes: 64 << 10))
    let keys = ChangeFeed("keys")
    let db = try folder.open(Database.Options(durability: .relaxed, feeds: [strict, small, keys]))
    let (isDone, errors, refusals) = (Shared(false), Shared<[String]>([]), Shared(0))
    let results = Shared<[(isStrict: Bool, rows: FeedRows)]>([])
    let (writers, readers) = (DispatchGroup(), DispatchGroup())
    for seed in 0..<3 as Range<UInt64> {
      Self.start(writers, errors) {
        var random = SeededRandom(seed: seed)
        var left = TestSize.trials(3_000, divisor: 10)
        while left > 0 {
          let (name, key) = (random.pick(["a", "b", "free"]), "\(random.below(60))")
          let text = (0..<20).map { _ in "\(random.next())" }.joined()
          let kind = random.below(60)
          do {
            try db.write { tx throws in
              if kind == 0 { _ = try tx[.texts(name)].removeAll() }
              if kind < 10 { try tx[.texts(name)].remove(key) } else { try tx[.texts(name)].set(text, for: key) }
            }
            left -= 1
          } catch let error as DatabaseError where error.code == .feedFull {
            refusals.withLock { $0 += 1 }
            Thread.sleep(forTimeInterval: 0.001)
          }
        }
      }
    }
    // Who releases begins when the feed was full once; the others are behind that, or begin anew.
    let consumers: [(feed: ChangeFeed, mode: FeedMode, releases: Bool)] = [
      (strict, .log, true), (strict, .state, false), (small, .log, false), (small, .state, false),
      (keys, .state, false), (keys, .state, true),
    ]
    for consumer in consumers {
      Self.start(readers, errors) {
        while consumer.releases, refusals.withLock({ $0 }) == 0, !isDone.withLock({ $0 }) {
          Thread.sleep(forTimeInterval: 0.001)
        }
        let rows = try Self.follow(db, consumer.feed, consumer.mode, releases: consumer.releases, isDone)
        results.withLock { $0.append((consumer.feed.name == "strict", rows)) }
      }
    }
    writers.wait()
    isDone.withLock { $0 = true }
    readers.wait()
    #expect(errors.withLock { $0 } == [])
    #expect(refusals.withLock { $0 } > 0)
    let (all, some) = (try FeedRows(db), try FeedRows(db, without: ["free"]))
    #expect(results.withLock { $0 }.count == consumers.count)
    for result in results.withLock({ $0 }) { #expect(result.rows == (result.isStrict ? some : all)) }
    try db.verify()
    try db.close()
  }
}
