// What feeds do where nobody looks: waiting for the disk, expiring, and being opened and closed.

import QuireTesting
import Synchronization
import Testing

@testable import QuireDatabase
@testable import QuireStorage

@Suite("Upkeep of change feeds") struct FeedUpkeepTests {
  private func options(_ feeds: [ChangeFeed]) -> Database.Options {
    Database.Options(durability: .relaxed, maintainsWhenIdle: false, feeds: feeds)
  }

  private func set(_ db: Database, _ text: String, in name: String = "a") throws {
    try db.write { tx throws in try tx[.texts(name)].set(text, for: "k") }
  }

  @Test("Asking waits for the disk if there is something to tell, and not because others have committed")
  func waitsForTheDiskWhenItTells() throws {
    let feed = ChangeFeed("a", over: .only(["a"]))
    let folder = try TestFolder()
    let db = try folder.open(options([feed]))
    let cursor = try db.newestCursor(of: feed)
    try set(db, "1", in: "b")
    var before = db.statistics.flushes
    #expect(try db.nextChanges(of: feed, after: cursor) == nil)
    #expect(db.statistics.flushes == before)
    try set(db, "1")
    before = db.statistics.flushes
    #expect(try db.nextChanges(of: feed, after: cursor)?.changes.count == 1)
    #expect(db.statistics.flushes > before)
    try db.close()
  }

  @Test("A feed whose name begins with a combining mark is found again, and ends as others do")
  func findsNamesByTheirBytes() throws {
    let feed = ChangeFeed("\u{301}x", keeping: .newValues)
    let folder = try TestFolder()
    var db = try folder.open(options([feed]))
    try set(db, "1")
    let cursor = try db.newestCursor(of: feed)
    try db.verify()
    try db.close()
    db = try folder.open(options([feed]))
    #expect(try db.newestCursor(of: feed) == cursor)
    try db.close()
    db = try folder.open(options([]))
    try set(db, "2")
    try db.close()
    db = try folder.open(options([feed]))
    #expect(errorCode { _ = try db.nextChanges(of: feed, after: cursor) } == .cursorForeign)
    try db.close()
  }

  @Test("A feed that refuses writes lets go of what was released once it is too old, and of nothing else")
  func expiresReleasedByAge() throws {
    let now = Shared<Int64>(1_000_000_000)
    let strict = ChangeFeed("strict", retention: .init(age: .seconds(100), whenFull: .refuseWrites))
    var options = options([strict])
    options.wallClock = { now.withLock { $0 } }
    let db = try Database.inMemory(options: options)
    var middle: FeedCursor?
    for number in 0..<100 {
      try set(db, "\(number)")
      now.withLock { $0 += 10_000_000 }
      if number == 49 { middle = try db.newestCursor(of: strict) }
    }
    #expect(try db.status(of: strict).kept.commits == 100)
    let cursor = try #require(middle)
    try db.release(strict, upTo: cursor)
    try set(db, "old ones go")
    #expect(try db.status(of: strict).kept.commits == 51)
    try set(db, "no others")
    let status = try db.status(of: strict, at: cursor)
    #expect(status.kept.commits == 52 && status.behind.commits == 52)
    try db.verify()
  }

  @Test("A transaction that alone is longer than a strict feed is told so, and not to release anything")
  func refusesLongTransactions() throws {
    let strict = ChangeFeed("strict", retention: .init(bytes: 64 << 10, whenFull: .refuseWrites))
    let db = try Database.inMemory(options: options([strict]))
    func write(_ count: Int) throws {
      try db.write { tx throws in
        for number in 0..<count { try tx[.texts("a")].set("text", for: "key \(number)") }
      }
    }
    let long = #expect(throws: DatabaseError.self) { try write(20_000) }
    #expect(long?.code == .feedFull && long?.message.contains("smaller transactions") == true)
    #expect(long?.message.contains("release") == false)
    let short = #expect(throws: DatabaseError.self) { for _ in 0..<100 { try write(500) } }
    #expect(short?.code == .feedFull && short?.message.contains("`release`") == true)
  }

  @Test("Entries of a clock that was ahead by a year become too old with those after it was set right")
  func expiresBehindAClockThatWasAhead() throws {
    let year: Int64 = 365 * 86_400_000_000
    let now = Shared<Int64>(1_000_000_000)
    let aging = ChangeFeed("aging", retention: .init(age: .seconds(100)))
    var options = options([aging])
    options.wallClock = { now.withLock { $0 } }
    let folder = try TestFolder()
    var db = try folder.open(options)
    func write(_ count: Int) throws {
      for number in 0..<count {
        try set(db, "\(number)")
        now.withLock { $0 += 10_000_000 }
      }
    }
    try write(2)
    now.withLock { $0 += year }
    try write(5)
    #expect(try db.status(of: aging).kept.commits == 5)
    now.withLock { $0 -= year }
    // Nothing is lost because the clock is set; an opening does not begin to wait anew.
    for _ in 0..<2 {
      try write(3)
      try db.verify()
      try db.close()
      db = try folder.open(options)
    }
    #expect(try db.status(of: aging).kept.commits == 11)
    try write(30)
    let status = try db.status(of: aging)
    #expect(status.kept.commits >= 10 && status.kept.commits <= 12 && status.kept.age <= .seconds(110))
    try db.verify()
    try db.close()
  }

  @Test("A sequence of batches ends when the database is closed while its consumer is busy")
  func endsWithTheDatabase() async throws {
    let feed = ChangeFeed("x")
    let db = try Database.inMemory(options: options([feed]))
    try set(db, "1")
    var batches = db.changes(of: feed, after: nil).makeAsyncIterator()
    #expect(try await batches.next()?.changes.count == 1)
    try db.close()
    #expect(try await batches.next() == nil)
    #expect(errorCode { _ = try db.nextChanges(of: feed, after: nil) } == .closed)
  }

  @Test("A feed whose record is damaged is told with what helps, and that does help")
  func tellsTheRemedyOfDamage() throws {
    let feed = ChangeFeed("worn")
    let folder = try TestFolder()
    var db = try folder.open(options([feed]))
    try set(db, "1")
    let cursor = try db.newestCursor(of: feed)
    try db.core.engine.write { tx in
      let found = tx.tree(named: FeedKeys.treePrefix + feed.name)
      try tx.put([9], for: FeedKeys.record, in: try #require(found))
    }
    try db.close()
    let error = #expect(throws: DatabaseError.self) { _ = try folder.open(options([feed])) }
    #expect(error?.code == .damagedRow && error?.message.contains("“worn”") == true)
    #expect(error?.message.contains("without this feed, and change a row") == true)
    db = try folder.open(options([]))
    try set(db, "2")
    try db.close()
    db = try folder.open(options([feed]))
    #expect(errorCode { _ = try db.nextChanges(of: feed, after: cursor) } == .cursorForeign)
    var consumer = FeedConsumer(feed, .state)
    try consumer.bootstrap(db)
    #expect(try consumer.rows == FeedRows(db))
    try db.close()
  }

  @Test("Following states, a row whose metadata changed, and that was stored anew then, has changed as a whole")
  func tellsAllHalvesOfRowsThatCameBack() throws {
    let folder = try TestFolder()
    let feed = ChangeFeed("f")
    let db = try folder.open(options([feed]))
    let rows = RowCollection<String, String>.texts("a")
    try db.write { tx throws in
      try tx[rows].set("old", metadata: "m", for: "k")
      try tx[rows].set("other", for: "o")
    }
    let cursor = try db.newestCursor(of: feed)
    try db.write { tx throws in try tx[rows].replaceMetadata("n", for: "k") }
    try db.write { tx throws in try tx[rows].remove("k") }
    try db.write { tx throws in try tx[rows].set("new", metadata: "n", for: "k") }
    #expect(try db.nextChanges(of: feed, after: cursor)?.changes.map(\.kind) == [.changed(.any)])
    try db.close()
  }

  @Test("A feed outlives compactions that move pages, in programs that name it and in others")
  func outlivesCompaction() throws {
    let folder = try TestFolder()
    let feed = ChangeFeed("f")
    var db = try folder.open(options([feed]))
    let rows = RowCollection<String, String>("a", compression: .none)
    let text = String(repeating: "0123456789", count: 200)
    try db.write { tx throws in for number in 0..<3000 { try tx[rows].set("\(text)\(number)", for: "\(number)") } }
    try db.write { tx throws in try tx[rows].remove((0..<3000).filter { $0 % 25 != 0 }.map { "\($0)" }) }
    try db.checkpoint()
    let cursor = try db.newestCursor(of: feed)
    let before = try db.read { tx in tx.csn }
    try db.compact()
    #expect(try db.read { tx in tx.csn } > before, "nothing was moved")
    try db.close()
    for feeds in [[feed], [], [feed]] as [[ChangeFeed]] {
      db = try folder.open(options(feeds))
      if !feeds.isEmpty { #expect(errorCode { _ = try db.nextChanges(of: feed, after: cursor) } == nil) }
      try db.compact()
      try db.close()
    }
  }
}
