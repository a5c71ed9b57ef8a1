// What feeds take: in memory while states are read, in the file behind a consumer that is dead, and in logs.
//
//     QUIRE_FEED_MEBIBYTES=10240 swift test -c release --filter FeedBoundTests

import Foundation
import Logging
import QuireTesting
import Synchronization
import Testing

@testable import QuireDatabase
@testable import QuireStorage

@Suite("Bounds of change feeds") struct FeedBoundTests {
  // MARK: Batches

  @Test("A feed of keys over long rows is told in batches of as many bytes as were asked for")
  func boundsBytesOfStates() throws {
    let keys = ChangeFeed("keys")
    let db = try Database.inMemory(options: .init(durability: .relaxed, maintainsWhenIdle: false, feeds: [keys]))
    let (count, byteCount) = (60, 40_000)
    var random = SeededRandom(seed: 3)
    let texts = (0..<count).map { _ in (0..<byteCount / 12).map { _ in "\(random.next())" }.joined() }
    try db.write { tx throws in
      for (number, text) in texts.enumerated() { try tx[.texts("a")].set(text, for: "key \(number)") }
    }
    var consumer = FeedConsumer(keys, .state)
    var batches = 0
    while true {
      let limit = FeedLimit(rows: 5000, bytes: 250_000)
      guard let batch = try db.nextChanges(of: keys, after: consumer.cursor, limit: limit) else { break }
      batches += 1
      #expect(batch.changes.count <= 10)
      for change in batch.changes { try consumer.rows.apply(change) }
      // Through text, as a consumer keeps it.
      consumer.cursor = FeedCursor(batch.cursor.description)
      #expect(batch.cursor.isCatchingUp == batch.isCatchingUp && batch.endsCommit == (batch.cursor.toldCount == 0))
      let status = try db.status(of: keys, at: consumer.cursor)
      #expect((status.behind.commits > 0) == batch.isCatchingUp)
      // Rows change where the consumer is inside an entry.
      if batches == 2 { try db.write { tx throws in try tx[.texts("a")].set("short", for: "key 1") } }
      // What is released behind such a cursor is still to be told.
      if batches == 3 { try db.release(keys, upTo: batch.cursor) }
    }
    #expect(batches >= 10 && batches <= 20)
    #expect(try consumer.rows == FeedRows(db))
    #expect(try consumer.cursor == db.newestCursor(of: keys))
  }

  @Test("A log goes on from a cursor inside an entry with the changes that were not told")
  func goesOnInsideAnEntry() throws {
    let feed = ChangeFeed("new", keeping: .newValues)
    let db = try Database.inMemory(options: .init(durability: .relaxed, maintainsWhenIdle: false, feeds: [feed]))
    try db.write { tx throws in for number in 0..<9 { try tx[.texts("a")].set("\(number)", for: "\(number)") } }
    let first = try #require(try db.nextChanges(of: feed, after: nil, limit: FeedLimit(rows: 50, bytes: 1)))
    #expect(first.changes.map(\.key) == ["0"] && first.cursor.toldCount == 1 && !first.endsCommit)
    let rest = try #require(try db.nextChanges(of: feed, after: first.cursor, mode: .log))
    #expect(rest.changes.map(\.key) == (1..<9).map { "\($0)" } && rest.endsCommit && !rest.cursor.isCatchingUp)
    // A cursor that claims more than there is.
    let forged = FeedCursor(
      first.cursor.lineage, first.cursor.epoch, first.cursor.position, toldCount: 10, seen: first.cursor.seen)
    #expect(errorCode { _ = try db.nextChanges(of: feed, after: forged) } == .cursorForeign)
  }

  @Test("A consumer that has values of commits which a copy never had is refused by the copy")
  func provesWhatWasSeen() throws {
    let feed = ChangeFeed("keys")
    let folder = try TestFolder()
    let options = Database.Options(durability: .relaxed, maintainsWhenIdle: false, feeds: [feed])
    func set(_ db: Database, _ numbers: Range<Int>, _ text: String) throws {
      for number in numbers { try db.write { tx throws in try tx[.texts("a")].set(text, for: "\(number)") } }
    }
    var db = try folder.open(options)
    try set(db, 0..<5, "old")
    try db.close()
    let copyPath = folder.url.appendingPathComponent("copy").path
    try FileManager.default.copyItem(atPath: folder.path, toPath: copyPath)
    db = try folder.open(options)
    // Only the original has these rows.
    let begun = try db.bootstrap(of: feed, limit: .rows(2)).position
    try set(db, 3..<9, "new")
    let batch = try #require(try db.nextChanges(of: feed, after: nil, limit: .rows(2)))
    #expect(batch.cursor.csn <= begun.cursor.csn && batch.cursor.isCatchingUp)
    let going = try db.bootstrap(of: feed, after: begun, limit: .rows(2)).position
    let copy = try Database(at: copyPath, options: options)
    #expect(errorCode { _ = try copy.nextChanges(of: feed, after: batch.cursor) } == .cursorForeign)
    #expect(try copy.bootstrap(of: feed, after: begun, limit: .rows(2)).rows.count == 2)
    #expect(errorCode { _ = try copy.bootstrap(of: feed, after: going) } == .cursorForeign)
    // The log carries what was seen until it comes past it.
    let next = try #require(try db.nextChanges(of: feed, after: batch.cursor, limit: .rows(1), mode: .log))
    #expect(next.cursor.isCatchingUp && next.cursor.seen == batch.cursor.seen)
    let last = try #require(try db.nextChanges(of: feed, after: next.cursor, mode: .log))
    #expect(!last.cursor.isCatchingUp)
    #expect(BootstrapPosition(going.description) == going && going.cursor.isCatchingUp)
    try copy.close()
    try db.close()
  }

  // MARK: The file

  /// Writes past a dead consumer, and returns the pages in use and the pages of the file, in bytes.
  private func fill(_ feeds: [ChangeFeed], _ byteCount: Int, isLong: Bool) throws -> (used: Int, file: Int) {
    let folder = try TestFolder()
    let db = try folder.open(
      Database.Options(
        durability: .relaxed, cacheSize: 4 << 20, logLimit: 256 << 10, maintainsWhenIdle: false, feeds: feeds))
    var random = SeededRandom(seed: 9)
    var written = 0
    while written < byteCount {
      try db.write { tx throws in
        for _ in 0..<(isLong ? 2 : 8) {
          let length = isLong ? 1_500 + random.below(12_000) : 20 + random.below(100)
          let bytes = (0..<(length + 10) / 11).map { _ in String(random.next() | 1 << 62, radix: 36) }.joined()
          try tx[.texts("a")].set(String(bytes.prefix(length)), for: "key \(random.below(isLong ? 60 : 2_000))")
          written += length
        }
      }
    }
    try db.checkpoint()
    try db.checkpoint()
    let statistics = db.statistics
    try db.verify()
    try db.close()
    return ((statistics.filePages - statistics.freePages) * 4096, statistics.filePages * 4096)
  }

  /// The pages that a feed adds to those in use are at most its bound and a tenth. The file is longer than without the
  /// feed by that and by what one turn of the log writes, which stands beside what it replaces until the checkpoint.
  @Test(
    "A dead consumer leaves the file within the bound and a tenth, whatever is written",
    .enabled(if: TestSize.hasSlowTests, "slow"), arguments: [false, true])
  func staysWithinBounds(isLong: Bool) throws {
    let size = environmentNumber("QUIRE_FEED_MEBIBYTES") ?? (TestSize.isFull ? 10 << 10 : 3)
    let bound = size >= 1024 ? 64 << 20 : 512 << 10
    // Small rows take a hundred times as many transactions.
    let written = isLong ? size << 20 : size << 17
    let without = try fill([], written, isLong: isLong)
    for keeping in [ChangeFeed.Keeping.keys, .newValues, .bothValues] {
      let feed = ChangeFeed("dead", keeping: keeping, retention: .init(bytes: bound))
      let with = try fill([feed], written, isLong: isLong)
      let (used, file) = (with.used - without.used, with.file - without.file)
      #expect(used <= bound + bound / 10, "\(keeping) \(isLong): \(used) in use, \(file) of the file")
      #expect(file <= bound + bound / 10 + 4 * (256 << 10), "\(keeping) \(isLong): \(file) of the file")
      if keeping == .bothValues { #expect(used >= bound / 2) }
    }
  }

  @Test("A transaction that is longer than a feed keeps no more of it than the bound while it is written")
  func expiresInsideATransaction() throws {
    let bound = 256 << 10
    let feed = ChangeFeed("small", keeping: .newValues, retention: .init(bytes: bound))
    let folder = try TestFolder()
    let options = Database.Options(durability: .relaxed, cacheSize: 32 << 20, maintainsWhenIdle: false, feeds: [feed])
    let db = try folder.open(options)
    var random = SeededRandom(seed: 4)
    let text = (0..<4_000).map { _ in String(random.next(), radix: 36) }.joined()
    let rowCount = 40
    // The same row over and over would be one change: many rows that are removed at the end.
    try db.write { tx throws in
      for number in 0..<rowCount { try tx[.texts("a")].set(text + "\(number)", for: "\(number)") }
    }
    #expect(try db.status(of: feed).kept.bytes <= bound + bound / 10)
    try db.checkpoint()
    let statistics = db.statistics
    let rows = rowCount * (text.utf8.count + 4096)
    #expect((statistics.filePages - statistics.freePages) * 4096 <= rows + 2 * bound)
    #expect(statistics.filePages * 4096 <= rows * 3 / 2)
    try db.verify()
    try db.close()
  }

  // MARK: Logs

  private struct Handler: LogHandler {
    let messages: Shared<[String]>
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }
    func log(event: LogEvent) { messages.withLock { $0.append("\(event.level): \(event.message)") } }
  }

  @Test("A consumer that waits for changes, and is slow, is worth no warning")
  func warnsOfNothing() async throws {
    let messages = Shared<[String]>([])
    let feed = ChangeFeed("x")
    let logger = Logger(label: "test") { _ in Handler(messages: messages) }
    let db = try Database.inMemory(options: .init(maintainsWhenIdle: false, feeds: [feed], logger: logger))
    var batches = db.changes(of: feed, after: nil).makeAsyncIterator()
    for turn in 0..<2 {
      for number in 0..<5 { try await db.write { tx throws in try tx[.texts("t")].set("\(number)", for: "k\(turn)") } }
      #expect(try await batches.next()?.changes.count == 1)
    }
    #expect(messages.withLock { $0 } == [])
  }

  // MARK: Programs without feeds

  @Test("What a program without feeds has committed is noticed by the numbers of commits, and nothing else is")
  func noticesWhoPassedBy() throws {
    let feed = ChangeFeed("x", over: .only(["a"]))
    let folder = try TestFolder()
    func options(_ feeds: [ChangeFeed]) -> Database.Options {
      .init(durability: .relaxed, maintainsWhenIdle: false, feeds: feeds)
    }
    var db = try folder.open(options([feed]))
    func set(_ name: String) throws { try db.write { tx throws in try tx[.texts(name)].set("1", for: "k") } }
    try set("a")
    let cursor = try db.newestCursor(of: feed)
    // Commits that the feed is not told of: others' rows, extensions, nothing at all, a compaction.
    try set("b")
    try db.register(Cascade())
    try db.write { _ in }
    try db.write { tx throws in try tx[.texts("a")].touch("k") }
    try db.compact()
    try db.close()
    for feeds in [[], [feed], []] as [[ChangeFeed]] {
      db = try folder.open(options(feeds))
      try db.register(Cascade())
      try db.close()
    }
    db = try folder.open(options([feed]))
    #expect(errorCode { _ = try db.nextChanges(of: feed, after: cursor) } == nil)
    try db.close()
    // One commit of the engine, which knows no feeds, as a version of the library would make it that knows none.
    let engine = try StorageEngine(at: folder.path)
    try engine.write { tx in
      let tree = tx.tree(named: DatabaseTrees.infoName)
      try tx.put([1], for: Array("passed by".utf8), in: try #require(tree))
    }
    try engine.close()
    // Who does not name the feed does not cover it up.
    db = try folder.open(options([]))
    try db.register(Cascade())
    try db.close()
    db = try folder.open(options([feed]))
    #expect(errorCode { _ = try db.nextChanges(of: feed, after: cursor) } == .cursorForeign)
    #expect(errorCode { _ = try db.nextChanges(of: feed, after: nil) } == .cursorExpired)
    try db.close()
  }
}
