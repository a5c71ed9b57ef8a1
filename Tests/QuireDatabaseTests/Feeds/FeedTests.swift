// What consumers of feeds are told, and when they are refused.

import Foundation
import QuireDatabase
import QuireTesting
import Synchronization
import Testing

@Suite("Change feeds") struct FeedTests {
  private let feed = ChangeFeed("sql", over: .except(["cache"]), keeping: .newValues)
  private let keys = ChangeFeed("keys")
  private let both = ChangeFeed("both", keeping: .bothValues)

  private func options(_ feeds: [ChangeFeed], renamed: [String: String] = [:]) -> Database.Options {
    Database.Options(durability: .relaxed, renamedCollections: renamed, feeds: feeds)
  }

  private func kinds(_ batch: FeedBatch?) -> [String] {
    batch?.changes.map { "\($0.kind) \($0.collection)/\($0.key)" } ?? []
  }

  @Test("A feed tells commit by commit, in order, with the values that rows had and have")
  func tellsCommits() throws {
    let db = try Database.inMemory(options: options([feed, keys, both]))
    try db.write { tx throws in
      try tx[.songs].set(Song("one"), metadata: PlayState(plays: 1), for: "s1")
      try tx[.albums].set(Album(name: "first"), for: "a1")
      try tx[.texts("cache")].set("unheard", for: "x")
    }
    try db.write { tx throws in
      try tx[.songs].replace(Song("uno"), for: "s1")
      try tx[.albums].remove("a1")
      try tx[.songs].touch("s1")
    }
    let told = try #require(try db.nextChanges(of: feed, after: nil, mode: .log))
    #expect(
      kinds(told) == [
        "inserted songs/s1", "inserted albums/a1", "changed(QuireDatabase.RowHalves(rawValue: 1)) songs/s1",
        "removed albums/a1",
      ])
    #expect(told.endsCommit && !told.isCatchingUp)
    let songs = try told.changes(in: .songs)
    #expect(try songs[0].new == Row(key: "s1", rowID: RowID(1), object: Song("one"), metadata: PlayState(plays: 1)))
    #expect(try songs[1].new?.object == Song("uno") && songs[1].old == nil)
    let changed = try #require(try db.nextChanges(of: both, after: nil, mode: .log)).changes(in: .songs)
    #expect(try changed[0].old == nil && changed[1].old?.object == Song("one"))
    let albums = try #require(try db.nextChanges(of: both, after: nil, mode: .log)).changes(in: .albums)
    #expect(try albums.last?.kind == .removed && albums.last?.old?.object == Album(name: "first"))
    #expect(try db.nextChanges(of: feed, after: told.cursor) == nil)
    let states = try #require(try db.nextChanges(of: keys, after: nil))
    #expect(kinds(states) == ["inserted songs/s1", "removed albums/a1", "inserted cache/x"])
    #expect(try states.changes(in: .songs)[0].new?.metadata == PlayState(plays: 1))
  }

  @Test("Nothing is told of transactions that failed, of savepoints that were undone, and of rows that were touched")
  func tellsNothing() throws {
    struct Undone: Error {}
    let db = try Database.inMemory(options: options([feed]))
    try db.write { tx throws in try tx[.texts("a")].set("1", for: "k") }
    let cursor = try db.newestCursor(of: feed)
    #expect(throws: Undone.self) {
      try db.write { tx throws in
        try tx[.texts("a")].set("2", for: "k")
        throw Undone()
      }
    }
    try db.write { tx throws in
      #expect(throws: Undone.self) {
        try tx.savepoint {
          try tx[.texts("a")].set("2", for: "k")
          throw Undone()
        }
      }
      try tx[.texts("a")].touch("k")
    }
    #expect(try db.nextChanges(of: feed, after: cursor) == nil)
    #expect(try db.newestCursor(of: feed) == cursor)
  }

  @Test(
    "A transaction of many rows is told in several entries, and a cursor may stand between them",
    .enabled(if: TestSize.hasSlowTests, "slow"))
  func tellsManyRows() throws {
    let db = try Database.inMemory(options: options([feed, keys]))
    let count = 20_000
    try db.write { tx throws in
      for number in 0..<count { try tx[.texts("a")].set("\(number)", for: "key \(number)") }
    }
    for feed in [feed, keys] {
      for mode in [FeedMode.log, .state] where feed.keeping != .keys || mode == .state {
        var consumer = FeedConsumer(feed, mode)
        var batches = 0
        while let batch = try consumer.pull(db, rows: 1000) {
          batches += 1
          #expect(batch.isCatchingUp == (consumer.rows.collections["a"]?.count != count))
          #expect(mode == .state || batch.endsCommit == !batch.isCatchingUp)
        }
        #expect(batches >= 4 && batches < 40)
        #expect(try consumer.rows == FeedRows(db))
      }
    }
  }

  @Test("A value that is longer than an entry has one of its own, which ends its commit if nothing follows")
  func tellsLongValues() throws {
    let db = try Database.inMemory(options: options([feed, both]))
    var random = SeededRandom(seed: 1)
    let long = (0..<20_000).map { _ in String(random.next(), radix: 36) }.joined()
    try db.write { tx throws in
      try tx[.texts("a")].set("short", for: "0")
      try tx[.texts("a")].set(long, for: "1")
      try tx[.texts("a")].set("gone", for: "2")
      try tx[.texts("a")].remove("2")
    }
    try db.write { tx throws in try tx[.texts("a")].set(long + "!", for: "1") }
    for feed in [feed, both] {
      var consumer = FeedConsumer(feed, .log)
      var ends: [Bool] = []
      while let batch = try consumer.pull(db, rows: 1) { ends.append(batch.endsCommit) }
      #expect(ends.filter { $0 }.count == 2 && ends.last == true && ends.count >= 3)
      #expect(try consumer.rows == FeedRows(db))
    }
    let last = try #require(try db.nextChanges(of: both, after: nil, limit: .rows(1000), mode: .log)?.changes.last)
    #expect(try last.oldRow()?.object.text == long && last.newRow()?.object.text == long + "!")
  }

  // MARK: Cursors

  @Test("A cursor is refused by a backup, by a copy that went another way, and where the feed was not named")
  func refusesForeignCursors() throws {
    let folder = try TestFolder()
    let path = folder.path
    func set(_ db: Database, _ text: String) throws { try db.write { tx in try tx[.texts("a")].set(text, for: "k") } }
    var db = try Database(at: path, options: options([feed]))
    try set(db, "1")
    let early = try db.newestCursor(of: feed)
    let backup = folder.url.appendingPathComponent("backup").path
    try db.backup(to: backup)
    try db.close()
    let copy = folder.url.appendingPathComponent("copy").path
    try FileManager.default.copyItem(atPath: path, toPath: copy)
    db = try Database(at: path, options: options([feed]))
    try set(db, "2")
    let late = try db.newestCursor(of: feed)
    // The same commit with the same content, in a copy.
    let other = try Database(at: copy, options: options([feed]))
    #expect(try other.nextChanges(of: feed, after: early) == nil)
    #expect(errorCode { _ = try other.nextChanges(of: feed, after: late) } == .cursorForeign)
    try set(other, "2")
    #expect(errorCode { _ = try other.nextChanges(of: feed, after: late) } == .cursorForeign)
    #expect(errorCode { try other.release(feed, upTo: late) } == .cursorForeign)
    #expect(try other.nextChanges(of: feed, after: early) != nil)
    let restored = try Database(at: backup, options: options([feed]))
    #expect(errorCode { _ = try restored.nextChanges(of: feed, after: early) } == .cursorForeign)
    let begun = BootstrapPosition(early, key: "")
    #expect(errorCode { _ = try restored.bootstrap(of: feed, after: begun) } == .cursorForeign)
    // Read only without the feed: nothing happens to it. Written: it ends.
    try db.close()
    try Database(at: path, options: options([])).close()
    db = try Database(at: path, options: options([feed]))
    #expect(try db.nextChanges(of: feed, after: early) != nil)
    try db.close()
    db = try Database(at: path, options: options([keys]))
    #expect(errorCode { _ = try db.nextChanges(of: feed, after: early) } == .feedNotFound)
    try set(db, "3")
    try db.close()
    db = try Database(at: path, options: options([feed]))
    #expect(errorCode { _ = try db.nextChanges(of: feed, after: late) } == .cursorForeign)
    #expect(errorCode { _ = try db.nextChanges(of: feed, after: nil) } == .cursorExpired)
    try db.close()
    // Described in another way, it is another feed.
    db = try Database(at: path, options: options([feed]))
    let again = try db.newestCursor(of: feed)
    try db.close()
    db = try Database(at: path, options: options([ChangeFeed("sql", over: .all, keeping: .newValues)]))
    #expect(errorCode { _ = try db.nextChanges(of: feed, after: again) } == .cursorForeign)
  }

  @Test("A dead consumer holds up nobody: the feed stays within its bound, and its cursor expires")
  func expires() throws {
    for keeping in [ChangeFeed.Keeping.keys, .bothValues] {
      let bound = TestSize.isFull ? 256 << 10 : 64 << 10
      let small = ChangeFeed("small", keeping: keeping, retention: .init(bytes: bound))
      let db = try Database.inMemory(options: options([small]))
      try db.write { tx throws in try tx[.texts("a")].set("1", for: "k") }
      var cursor = try db.newestCursor(of: small)
      var most = 0
      for number in 0..<TestSize.trials(2_000, divisor: 4) {
        try db.write { tx throws in
          for place in 0..<10 { try tx[.texts("a")].set("text \(number)", for: "a longer key \(place) \(number % 7)") }
        }
        if number % 10 == 0 { most = max(most, try db.status(of: small).kept.bytes) }
      }
      #expect(most > bound / 2 && most <= bound + bound / 10)
      var refusal: DatabaseError?
      do throws(DatabaseError) { _ = try db.nextChanges(of: small, after: cursor) } catch { refusal = error }
      #expect(refusal?.code == .cursorExpired)
      cursor = try #require(refusal?.oldestCursor)
      #expect(refusal?.message.contains("\(cursor.csn)") == true)
      #expect(errorCode { _ = try db.nextChanges(of: small, after: nil) } == .cursorExpired)
      var consumer = FeedConsumer(small, .state, cursor)
      try consumer.pullAll(db)
      try consumer.bootstrap(db, rows: 7)
      try consumer.pullAll(db)
      #expect(try consumer.rows == FeedRows(db))
      try db.checkInvariants()
    }
  }

  @Test("Entries expire by age, and what was released goes but for what is kept for consumers that go back")
  func expiresByAge() throws {
    let now = Shared<Int64>(1_000_000_000)
    let aging = ChangeFeed("aging", retention: .init(age: .seconds(100)))
    let released = ChangeFeed("released", retention: .init(releasedBytes: 1 << 30, releasedCommits: 10))
    var options = options([aging, released])
    options.wallClock = { now.withLock { $0 } }
    let db = try Database.inMemory(options: options)
    func set(_ number: Int) throws { try db.write { tx in try tx[.texts("a")].set("\(number)", for: "k") } }
    for number in 0..<100 {
      try set(number)
      now.withLock { $0 += 10_000_000 }
    }
    var status = try db.status(of: aging)
    #expect(status.kept.commits >= 10 && status.kept.commits <= 12 && status.kept.age <= .seconds(110))
    status = try db.status(of: released)
    #expect(status.kept.commits == 100 && status.kept.changes == 100)
    let cursor = try db.newestCursor(of: released)
    try db.release(released, upTo: cursor)
    status = try db.status(of: released, at: cursor)
    #expect(status.kept.commits == 10 && status.behind.commits == 0 && status.behind.bytes == 0)
    #expect(try db.nextChanges(of: released, after: status.oldest) != nil)
    try set(100)
    status = try db.status(of: released, at: cursor)
    #expect(status.behind.commits == 1 && status.behind.changes == 1 && status.behind.bytes > 0)
  }

  @Test("A feed that is not to forget refuses writes, until something is released")
  func refusesWrites() throws {
    let strict = ChangeFeed("strict", retention: .init(bytes: 64 << 10, whenFull: .refuseWrites))
    let db = try Database.inMemory(options: options([strict]))
    var count = 0
    let code = errorCode {
      while count < 10_000 {
        try db.write { tx throws in try tx[.texts("a")].set("\(count)", for: "key \(count)") }
        count += 1
      }
    }
    #expect(code == .feedFull && count > 100)
    #expect(try db.read { tx in tx[.texts("a")].count } == count)
    let batch = try #require(try db.nextChanges(of: strict, after: nil, limit: .rows(count)))
    #expect(batch.changes.count == count)
    try db.release(strict, upTo: batch.cursor)
    try db.write { tx throws in try tx[.texts("a")].set("more", for: "key") }
    #expect(try db.nextChanges(of: strict, after: batch.cursor)?.changes.count == 1)
  }

  // MARK: Openings

  @Test("A collection that is renamed is told as one, in both modes, with what came before and after")
  func tellsRenaming() throws {
    let folder = try TestFolder()
    func open(_ renamed: [String: String]) throws -> Database {
      try Database(at: folder.path, options: options([feed], renamed: renamed))
    }
    var db = try open([:])
    try db.write { tx throws in
      for key in ["1", "2", "3"] { try tx[.texts("old")].set(key, for: key) }
      try tx[.texts("new")].set("gone", for: "0")
    }
    let start = try db.newestCursor(of: feed)
    var consumers = [FeedMode.log, .state].flatMap { mode in
      (0..<2).map { _ in FeedConsumer(feed, mode) }
    }
    for index in [0, 2] { try consumers[index].pullAll(db) }
    try db.write { tx throws in
      try tx[.texts("old")].set("changed", for: "1")
      try tx[.texts("old")].remove("2")
      _ = try tx[.texts("new")].removeAll()
    }
    try db.close()
    db = try open(["old": "new"])
    try db.write { tx throws in try tx[.texts("new")].set("more", for: "4") }
    for index in consumers.indices {
      try consumers[index].pullAll(db)
      #expect(try consumers[index].rows == FeedRows(db), "consumer \(index)")
    }
    // One entry at a time: the rows are read under the number of the collection.
    var slow = FeedConsumer(feed, .state)
    try slow.pullAll(db, rows: 1)
    #expect(try slow.rows == FeedRows(db))
    // A bootstrap that began before cannot go on.
    #expect(errorCode { _ = try db.bootstrap(of: feed, after: BootstrapPosition(start, key: "x")) } == .cursorForeign)
    try db.close()
    // A renaming out of what a feed tells of ends it.
    db = try open(["new": "cache"])
    #expect(errorCode { _ = try db.nextChanges(of: feed, after: consumers[0].cursor) } == .cursorForeign)
  }

  @Test("Values are read long after the collection they were of is gone, and its fields with it")
  func outlivesCollections() throws {
    let db = try Database.inMemory(options: options([feed]))
    try db.write { tx throws in try tx[.songs].set(Song("one"), metadata: PlayState(plays: 3), for: "s1") }
    try db.write { tx throws in _ = try tx[.songs].removeAll() }
    try db.write { tx throws in try tx[.songs].set(Song("other"), for: "s2") }
    let batch = try #require(try db.nextChanges(of: feed, after: nil, mode: .log))
    #expect(kinds(batch) == ["inserted songs/s1", "cleared songs/", "inserted songs/s2"])
    #expect(try batch.changes[0].newRow()?.object.value?["title"] == .text("one"))
    #expect(errorCode { _ = try batch.changes(in: .albums) } == nil)
    #expect(try batch.changes(in: .songs).map { try $0.new?.object.title } == ["one", nil, "other"])
  }

  @Test("A sequence of batches tells what is there and what comes, and ends with the database")
  func streams() async throws {
    let db = try Database.inMemory(options: options([feed]))
    try await db.write { tx throws in try tx[.texts("a")].set("1", for: "k") }
    let reader = Task { [feed] in
      var texts: [String] = []
      for try await batch in db.changes(of: feed, after: nil, mode: .log) {
        texts += try batch.changes(in: .texts("a")).compactMap { try $0.new?.object }
        if texts.last == "3" { break }
      }
      return texts
    }
    try await db.write { tx throws in try tx[.texts("a")].set("2", for: "k") }
    try await db.write { tx throws in try tx[.texts("a")].set("3", for: "k") }
    #expect(try await reader.value == ["1", "2", "3"])
  }

  @Test("Feeds that cannot be kept are refused at the opening")
  func refusesDescriptions() {
    func code(_ feeds: [ChangeFeed]) -> DatabaseError.Code? {
      errorCode { _ = try Database.inMemory(options: options(feeds)) }
    }
    #expect(code([ChangeFeed("")]) == .invalidOption)
    #expect(code([ChangeFeed(String(repeating: "x", count: 201))]) == .invalidOption)
    #expect(code([keys, keys]) == .invalidOption)
    #expect(code([ChangeFeed("x", retention: .init(bytes: 10))]) == .invalidOption)
    #expect(code([ChangeFeed("x", retention: .init(age: .zero))]) == .invalidOption)
    #expect(code([keys, both]) == nil)
  }
}

extension BootstrapPosition {
  /// A position that nobody was given, with a made-up key.
  init(_ cursor: FeedCursor, key: String) { self.init(cursor, isComplete: false, Array(key.utf8)) }
}
