// Extensions and change feeds of a database that others write while it is suspended.

import QuireDatabase
import QuireTesting
import Testing

@Suite("Extensions and feeds across a suspension") struct SuspendedExtensionTests {
  let folder: TestFolder

  init() throws { folder = try TestFolder() }

  private var unstored: ValueIndex<String, String> {
    var index = letterIndex("unstored")
    index.isPersistent = false
    return index
  }

  private var dependent: ValueIndex<String, String> {
    var index = letterIndex("dependent")
    index.dependencies = ["letters"]
    return index
  }

  private func count(_ db: Database, _ index: ValueIndex<String, String>, _ letter: String) throws -> Int {
    try db.read { tx in try tx.access(to: index).rows(letter).count }
  }

  @Test("What the other process has kept up is ready at once; what it has not, and what is in memory, is built")
  func extensions() throws {
    let db = try folder.open()
    for number in 0..<50 { try db.store("a\(number)", for: "\(number)") }
    let all = [letterIndex(), dependent, unstored, letterIndex("other")]
    for one in all { try db.register(one) }
    // Nobody else: they stay as they are.
    try db.suspendHere()
    #expect(try !db.resumeHere())
    for one in all { #expect(try count(db, one, "a") == 50) }
    for knowsLetters in [true, false] {
      try db.suspendHere()
      let other = try folder.open()
      if knowsLetters { for one in [letterIndex(), dependent] { try other.register(one) } }
      try other.store("b", for: "b\(knowsLetters)")
      try other.close()
      #expect(try db.resumeHere())
      for one in all {
        #expect(try count(db, one, "a") == 50, "\(one.name)")
        #expect(try count(db, one, "b") == (knowsLetters ? 1 : 2), "\(one.name)")
      }
      #expect(try db.extensions().map(\.name) == ["letters", "dependent", "unstored", "other"])
      #expect(try db.extensions().allSatisfy { $0.isRegistered && $0.state == .ready })
      // They follow what comes.
      try db.store("c", for: "c\(knowsLetters)")
      for one in all { #expect(try count(db, one, "c") == (knowsLetters ? 1 : 2), "\(one.name)") }
      try db.checkInvariants()
      try db.verify()
    }
  }

  @Test("An extension that cannot be registered again is told, and the database is resumed with the others")
  func refusedExtension() throws {
    struct Refusal: Error {}
    let isRefused = Shared(false)
    let db = try folder.open()
    try db.store("a", for: "1")
    var fragile = ValueIndex<String, String>("fragile", { .texts($0) }) { object, _ in
      if isRefused.withLock({ $0 }) { throw Refusal() }
      return String(object.prefix(1))
    }
    fragile.version = "1"
    try db.register(fragile)
    try db.register(letterIndex())
    try db.suspendHere()
    let other = try folder.open()
    try other.store("b", for: "2")
    try other.close()
    isRefused.withLock { $0 = true }
    let error = #expect(throws: DatabaseError.self) { try db.resumeHere() }
    #expect(error?.code == .extensionFailed && error?.cause is Refusal)
    #expect(!db.isSuspended)
    #expect(try count(db, letterIndex(), "b") == 1)
    #expect(errorCode { _ = try count(db, fragile, "b") } == .extensionNotRegistered)
    isRefused.withLock { $0 = false }
    try db.register(fragile)
    #expect(try count(db, fragile, "b") == 1)
  }

  @Test("The cursor of a feed goes on if the other process has named it, and is refused if not")
  func feeds() throws {
    let feed = ChangeFeed("sink", keeping: .newValues)
    let options = Database.Options(durability: .relaxed, feeds: [feed])
    let db = try folder.open(options)
    var consumer = FeedConsumer(feed, .log)
    try db.store("1", for: "k")
    try consumer.pullAll(db)
    try db.suspendHere()
    #expect(errorCode { _ = try db.nextChanges(of: feed, after: consumer.cursor) } == .suspended)
    #expect(try !db.resumeHere())
    try db.store("2", for: "k")
    try consumer.pullAll(db)
    #expect(consumer.rows.collections["t"] == ["k": "2|-"])
    try db.suspendHere()
    let other = try folder.open(options)
    try other.store("3", for: "k")
    try other.close()
    #expect(try db.resumeHere())
    try db.store("4", for: "l")
    try consumer.pullAll(db)
    #expect(try consumer.rows == FeedRows(db))
    // A program that does not name it ends it.
    try db.suspendHere()
    let stranger = try folder.open()
    try stranger.store("5", for: "k")
    try stranger.close()
    #expect(try db.resumeHere())
    #expect(errorCode { _ = try db.nextChanges(of: feed, after: consumer.cursor) } == .cursorForeign)
    var fresh = FeedConsumer(feed, .log, try db.newestCursor(of: feed))
    fresh.rows = try FeedRows(db)
    try db.store("6", for: "k")
    try fresh.pullAll(db)
    #expect(try fresh.rows == FeedRows(db))
    try db.checkInvariants()
  }
}
