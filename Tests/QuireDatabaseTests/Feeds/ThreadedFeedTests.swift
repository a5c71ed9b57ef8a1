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

  @Test("Whatever writers do meanwhile, a consumer shows the state of one commit", arguments: [true, false])
  func sumsStayZero(isRelaxed: Bool) throws {
    let folder = try TestFolder()
    let db = try folder.open(Database.Options(durability: isRelaxed ? .relaxed : .full, feeds: [Self.feed]))
    let (isDone, counts, errors) = (Shared(false), Shared<[Int]>([]), Shared<[String]>([]))
    let (writers, readers) = (DispatchGroup(), DispatchGroup())
    func start(_ group: DispatchGroup, _ body: @escaping @Sendable () throws -> Void) {
      group.enter()
      Thread.detachNewThread {
        do { try body() } catch { errors.withLock { $0.append("\(error)") } }
        group.leave()
      }
    }
    for seed in 0..<2 as Range<UInt64> {
      start(writers) {
        var random = SeededRandom(seed: seed)
        for _ in 0..<TestSize.trials(2_000, divisor: 20) { try Self.transfer(db, &random) }
      }
    }
    for mode in [FeedMode.state, .log] {
      start(readers) {
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
}
