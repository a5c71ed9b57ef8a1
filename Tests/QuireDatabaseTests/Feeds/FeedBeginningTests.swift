// Where feeds begin: what a consumer without a cursor is told, and what is committed while a database is opened.

import Foundation
import QuireTesting
import Synchronization
import Testing

@testable import QuireDatabase
@testable import QuireStorage

@Suite("Beginnings of change feeds") struct FeedBeginningTests {
  private let feed = ChangeFeed("sql", over: .except(["cache"]), keeping: .newValues)

  private func options(_ feeds: [ChangeFeed], renamed: [String: String] = [:]) -> Database.Options {
    Database.Options(durability: .relaxed, maintainsWhenIdle: false, renamedCollections: renamed, feeds: feeds)
  }

  private func set(_ db: Database, _ text: String, in name: String = "a") throws {
    try db.write { tx throws in try tx[.texts(name)].set(text, for: "k") }
  }

  /// That a consumer without a cursor is refused, and is told what helps; that this does help.
  private func expectRefusal(_ db: Database, at line: SourceLocation = #_sourceLocation) throws {
    let error = #expect(throws: DatabaseError.self, sourceLocation: line) {
      _ = try db.nextChanges(of: feed, after: nil)
    }
    #expect(error?.code == .cursorExpired && error?.message.contains("`bootstrap(of:)`") == true, sourceLocation: line)
    let status = try db.status(of: feed)
    #expect(!status.isComplete && error?.oldestCursor == status.oldest, sourceLocation: line)
    #expect(try db.nextChanges(of: feed, after: status.oldest) == nil, sourceLocation: line)
    var consumer = FeedConsumer(feed, .state)
    try consumer.bootstrap(db)
    try consumer.pullAll(db)
    #expect(try consumer.rows == FeedRows(db, without: ["cache"]), sourceLocation: line)
  }

  @Test("Without a cursor all rows of a feed's collections are told, where it was there before them")
  func tellsAllFromTheBeginning() throws {
    let folder = try TestFolder()
    var db = try folder.open(options([]))
    try set(db, "not of the feed", in: "cache")
    try db.close()
    db = try folder.open(options([feed]))
    #expect(try db.nextChanges(of: feed, after: nil) == nil && db.status(of: feed).isComplete)
    try set(db, "1")
    for _ in 0..<2 {
      #expect(try db.nextChanges(of: feed, after: nil)?.changes.map(\.key) == ["k"])
      #expect(try db.status(of: feed).isComplete)
      try db.close()
      db = try folder.open(options([feed]))
    }
    try db.close()
  }

  @Test("Without a cursor a feed that began when there were rows is refused, and so is the waiting for it")
  func refusesLateBeginnings() async throws {
    let folder = try TestFolder()
    var db = try folder.open(options([]))
    try set(db, "early")
    try db.close()
    db = try folder.open(options([feed]))
    try expectRefusal(db)
    try db.close()
    db = try folder.open(options([feed]))
    try expectRefusal(db)
    var batches = db.changes(of: feed, after: nil).makeAsyncIterator()
    let error = await #expect(throws: DatabaseError.self) { _ = try await batches.next() }
    #expect(error?.code == .cursorExpired)
    try db.close()
  }

  @Test("A consumer that was told nothing yet is refused when the feed is made anew, and misses no row in silence")
  func refusesNewLives() throws {
    let folder = try TestFolder()
    var db = try folder.open(options([feed]))
    #expect(try db.nextChanges(of: feed, after: nil) == nil)
    try db.close()
    // A program that does not name it.
    db = try folder.open(options([]))
    try set(db, "unheard")
    try db.close()
    db = try folder.open(options([feed]))
    try expectRefusal(db)
    try db.write { tx throws in _ = try tx[.texts("a")].removeAll() }
    try db.close()
    // A life that told of rows which are gone, and that ends as the feed keeps something else.
    db = try folder.open(options([ChangeFeed("sql", over: .except(["cache"]))]))
    let error = #expect(throws: DatabaseError.self) { _ = try db.nextChanges(of: feed, after: nil) }
    #expect(error?.code == .cursorExpired)
    try db.close()
  }

  // MARK: Openings

  /// Opens the database; `whenMade` gets the engine before anything is known of feeds.
  private func open(
    _ disk: SimulatedDisk, _ options: Database.Options, _ whenMade: (StorageEngine) throws(StorageError) -> Void
  ) throws -> Database {
    let environment = StorageEnvironment(fileSystem: disk, scheduling: .stepped)
    return Database(
      try DatabaseOpening.open("/db", options, environment) { environment throws(StorageError) in
        let engine = try StorageEngine(at: "/db", options: options.storage, environment: environment)
        try whenMade(engine)
        return engine
      })
  }

  @Test("Feeds have heard of what the engine commits while the database is opened", arguments: [false, true])
  func hearsDuringOpenings(isLate: Bool) throws {
    let disk = SimulatedDisk()
    let quiet = ChangeFeed("quiet", over: .only(["b"]))
    var db = try open(disk, options([feed, quiet])) { _ in }
    try set(db, "1", in: "old")
    let cursors = try [feed, quiet].map { try db.newestCursor(of: $0) }
    try db.close()
    let made = Shared<StorageEngine?>(nil)
    let count = Shared(0)
    @Sendable func rearrange(_ engine: StorageEngine) {
      do throws(StorageError) { try engine.core.rearrange { _, _ in true } } catch { return }
      count.withLock { $0 += 1 }
    }
    // When the renaming is flushed, the feeds have been found, and nothing else follows.
    disk.interceptOnce(where: { operation in
      guard operation.kind == .synchronize, let engine = made.withLock({ $0 }) else { return false }
      return !engine.core.writerLock.isHeldByThisThread
    }) { _ in
      if let engine = made.withLock({ $0 }) {
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
          rearrange(engine)
          done.signal()
        }
        _ = done.wait(timeout: .now() + 10)
      }
      return nil
    }
    // One feed is named, the other is not.
    db = try open(disk, options([feed], renamed: isLate ? ["old": "new"] : [:])) { engine in
      if isLate { made.withLock { $0 = engine } } else { rearrange(engine) }
    }
    made.withLock { $0 = nil }
    #expect(count.withLock { $0 } == 1, "nothing was committed")
    try db.close()
    disk.removeInterceptors()
    db = try open(disk, options([feed, quiet])) { _ in }
    for (feed, cursor) in zip([feed, quiet], cursors) where !isLate || feed.name == "sql" {
      #expect(errorCode { _ = try db.nextChanges(of: feed, after: cursor) } == nil, "\(feed.name)")
    }
    try db.verify()
    try db.close()
  }
}
