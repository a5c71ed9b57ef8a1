// Consumers of feeds on a disk that loses power: nothing is missed, and nothing is told twice.
//
//     QUIRE_FEED_CRASHES=20000 swift test --filter FeedCrashTests

import QuireDatabase
import QuireTesting
import Testing

@Suite("Change feeds across power cuts") struct FeedCrashTests {
  private static let feed = ChangeFeed("sink", keeping: .newValues, retention: .init(bytes: 1 << 20))

  private static func options(_ durability: Durability) -> Database.Options {
    Database.Options(
      durability: durability, cacheSize: 2 << 20, logLimit: 128 << 10, maintainsWhenIdle: false, feeds: [feed])
  }

  /// Takes a commit's changes over that touches each key once: one that is told twice, or not at all, is noticed.
  private func applyStrictly(_ batch: FeedBatch, to consumer: inout FeedConsumer) throws {
    for change in batch.changes {
      #expect(consumer.cursor.map { $0.csn < change.csn || $0.part < batch.cursor.part } ?? true)
      let isThere = consumer.rows.collections[change.collection]?[change.key] != nil
      #expect(isThere == (change.kind != .inserted), "\(change.kind) of \(change.key) at \(change.csn)")
      try consumer.rows.apply(change)
    }
    consumer.cursor = batch.cursor
  }

  /// Writes and reads until the power goes.
  private func live(
    _ db: Database, _ random: inout SeededRandom, _ log: inout FeedConsumer, _ states: inout FeedConsumer
  ) throws {
    for _ in 0..<80 {
      switch random.below(8) {
      case 0..<5:
        var keys = Set((0...random.below(12)).map { _ in random.below(40) }).sorted()
        let text = random.oneIn(10) ? String(repeating: "long ", count: 3_000) : "t\(random.below(1 << 20))"
        if random.oneIn(9) { keys += 100..<160 }
        let removes = random.oneIn(3)
        try db.write { tx throws in
          for key in keys {
            if removes { try tx[.texts("a")].remove("\(key)") } else { try tx[.texts("a")].set(text, for: "\(key)") }
          }
        }
      case 5..<7:
        let limit = 1 + random.below(100)
        if let batch = try db.nextChanges(of: Self.feed, after: log.cursor, limit: .rows(limit), mode: .log) {
          try applyStrictly(batch, to: &log)
        }
        _ = try states.pull(db, rows: limit)
      default: if random.oneIn(3) { try db.checkpoint() } else { try db.flush() }
      }
    }
  }

  /// Lives of one database, each of which ends with a power cut or the lack of one; returns how many were cut.
  private func liveAndDie(_ durability: Durability, _ seed: UInt64, lives: Int, _ replay: String) throws -> Int {
    var cuts = 0
    var random = SeededRandom(seed: seed)
    var disk = SimulatedDisk()
    var (log, states) = (FeedConsumer(Self.feed, .log), FeedConsumer(Self.feed, .state))
    for life in 0..<lives {
      // What has to be prepared does not count.
      let db = try disk.openDatabase(seed: seed << 8 + UInt64(life), Self.options(durability))
      // Whatever the crash has left: all that was told is there, and is told on.
      var (one, other) = (log, states)
      while let batch = try db.nextChanges(of: Self.feed, after: one.cursor, limit: .rows(20), mode: .log) {
        try applyStrictly(batch, to: &one)
      }
      try other.pullAll(db, rows: 50)
      let rows = try FeedRows(db)
      try #require(one.rows == rows, "life \(life): the log; \(replay)")
      try #require(other.rows == rows, "life \(life): the states; \(replay)")
      if random.oneIn(2) { (log, states) = (one, other) }
      disk.powerOff(beforeChange: disk.changeCount + 1 + random.below(260))
      do { try live(db, &random, &log, &states) } catch { cuts += 1 }
      let image = disk.crashImage(.random(random.next()))
      try? db.close()
      disk = image
    }
    return cuts
  }

  /// How many crashes there are is for all durabilities together.
  @Test(
    "A consumer with its own durable cursor goes on after power cuts, in every durability",
    arguments: [Durability.full, .interval(.milliseconds(5)), .relaxed])
  func goesOn(durability: Durability) throws {
    let lives = 4
    let crashes = environmentNumber("QUIRE_FEED_CRASHES") ?? TestSize.trials(1_920, divisor: 80)
    let first = environmentNumber("QUIRE_FEED_SEED").map { UInt64($0) }
    let seeds = first.map { $0..<$0 + 1 } ?? 0..<UInt64((crashes + 3 * lives - 1) / (3 * lives))
    var cuts = 0
    for seed in seeds {
      let replay = "again with: QUIRE_FEED_SEED=\(seed) swift test --filter FeedCrashTests"
      do { cuts += try liveAndDie(durability, seed, lives: lives, replay) } catch {
        Issue.record("\(durability), seed \(seed): \(error); \(replay)")
        return
      }
    }
    #expect(cuts > seeds.count / 2)
    if crashes > 5_000 { print("\(durability): \(seeds.count * lives) crashes, of them \(cuts) while it was written") }
  }

  @Test("What a power cut can take back is told to nobody")
  func tellsWhatIsDurable() throws {
    for durability in [Durability.relaxed, .interval(.seconds(60))] {
      let disk = SimulatedDisk()
      let db = try disk.openDatabase(seed: 1, Self.options(durability))
      try db.write { tx throws in try tx[.texts("a")].set("1", for: "k") }
      var consumer = FeedConsumer(Self.feed, .log)
      try consumer.pullAll(db)
      #expect(consumer.rows.collections["a"]?["k"] == "1|-")
      let image = disk.crashImage(.allOld)
      let again = try image.openDatabase(seed: 2, Self.options(durability))
      #expect(try again.read { tx in try tx[.texts("a")].get("k") } == "1")
      #expect(try again.nextChanges(of: Self.feed, after: consumer.cursor) == nil)
      try again.close()
      try db.close()
    }
  }
}
