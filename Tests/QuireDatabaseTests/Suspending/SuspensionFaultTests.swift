// Suspensions on a disk that refuses calls or loses power: what was acknowledged is there, and a resumption heals.
//
//     QUIRE_SUSPENSION_CRASHES=20000 swift test --filter SuspensionFaultTests

import QuireDatabase
import QuireStorage
import QuireTesting
import Testing

@Suite("Suspensions on a disk that fails") struct SuspensionFaultTests {
  /// What a system says of a file whose keys are gone while the device is locked.
  private static let notPermitted: Int32 = 1

  private static func options(_ durability: Durability = .full) -> Database.Options {
    Database.Options(durability: durability, cacheSize: 2 << 20, logLimit: 128 << 10, maintainsWhenIdle: false)
  }

  @Test("Files that the system does not let be written stop writing; suspended and resumed, the database goes on")
  func refusedWrites() async throws {
    let disk = SimulatedDisk()
    let db = try disk.openDatabase(seed: 1, Self.options())
    try db.store("1", for: "k")
    let commits = db.commits
    disk.failNext(.write, with: .error(Self.notPermitted))
    let first = #expect(throws: DatabaseError.self) { try db.store("2", for: "k") }
    #expect(first?.code == .outcomeUnknown || first?.code == .failStop || first?.code == .inputOutput)
    #expect(errorCode { try db.store("3", for: "k") } == .failStop)
    // What was acknowledged can be read.
    #expect(try db.text("k") == "1")
    #expect(errorCode { try db.suspendHere() } == .failStop)
    #expect(db.isSuspended)
    // Still locked.
    disk.failNext(.open, with: .error(Self.notPermitted))
    let refused = #expect(throws: DatabaseError.self) { try db.resumeHere() }
    #expect((refused?.cause as? StorageError)?.systemError?.code == Self.notPermitted, "\(String(describing: refused))")
    #expect(db.isSuspended)
    _ = try db.resumeHere()
    let found = try db.text("k")
    #expect(found == "1" || found == "2")
    try db.store("4", for: "k")
    #expect(try db.text("k") == "4")
    // Streams that ended with the failure have ended; new ones begin.
    await #expect(throws: DatabaseError.self) { for try await _ in commits {} }
    var iterator = db.commits.makeAsyncIterator()
    try db.store("5", for: "k")
    #expect(try await iterator.next() != nil)
    try db.close()
  }

  @Test("A read that the system refuses is told, and the next one finds everything") func refusedReads() throws {
    let disk = SimulatedDisk()
    let db = try disk.openDatabase(seed: 1, Self.options())
    for number in 0..<200 { try db.store(String(repeating: "\(number) ", count: 800), for: "\(number)") }
    try db.suspendHere()
    try db.resumeHere()
    try db.checkpoint()
    try db.suspendHere()
    try db.resumeHere()
    disk.failNext(.read, with: .error(Self.notPermitted))
    let error = #expect(throws: DatabaseError.self) { _ = try db.allTexts() }
    #expect(error?.code == .inputOutput && "\(String(describing: error))".contains("pread"))
    #expect(try db.read { tx in tx[.texts("t")].rows.map(\.key).count } == 200)
    try db.close()
  }

  @Test("A flush that fails is told, and the file is given up all the same") func failedFlush() throws {
    let disk = SimulatedDisk()
    let db = try disk.openDatabase(seed: 1, Self.options(.relaxed))
    try db.store("1", for: "k")
    try db.flush()
    try db.store("2", for: "k")
    disk.refuse(.sync)
    #expect(errorCode { try db.suspendHere() } == .failStop)
    #expect(db.isSuspended)
    let other = try disk.openDatabase(seed: 2, Self.options())
    #expect(try ["1", "2"].contains(other.text("k")))
    try other.close()
    // A commit that was seen, and not durable, may be gone: then only another object can go on.
    if errorOf({ try db.resumeHere() }) == nil { try db.store("3", for: "k") } else { #expect(db.isSuspended) }
    try db.close()
  }

  @Test(
    "What was made of a commit that the disk has not kept is forgotten", arguments: [SyncFailure.reverts, .forgets])
  func lostCommit(failure: SyncFailure) async throws {
    let feed = ChangeFeed("sink", keeping: .newValues)
    var options = Self.options()
    options.feeds = [feed]
    options.objectCache = ObjectCacheOptions()
    let disk = SimulatedDisk()
    let db = try disk.openDatabase(seed: 1, options)
    try db.store("1", for: "k")
    let pin = try db.pin()
    // It makes a collection and trees, and an entry of the feed.
    disk.failNext(.synchronize, with: .failedSync(failure, 5, survivorsOneIn: 0))
    #expect(errorOf { try Self.storeInTwo(db) } != nil)
    #expect(errorCode { try db.suspendHere() } == .failStop)
    let isKept = try db.resumeHere()
    #expect(isKept == (failure == .forgets))
    #expect(try db.allTexts() == (isKept ? ["k": "1", "l": "lost"] : ["k": "1"]))
    if !isKept { #expect(try pin.text("k") == "1") }
    #expect(try pin.advance().map(\.changes.isUnknown).contains(true))
    var iterator = db.commits.makeAsyncIterator()
    try db.store("2", for: "k")
    let told = try #require(try await iterator.next())
    #expect(!told.changes.isUnknown)
    #expect(try pin.advance().count == 1)
    try db.registerHere(letterIndex())
    try db.checkInvariants()
    var consumer = FeedConsumer(feed, .log)
    try consumer.pullAll(db)
    #expect(try consumer.rows == FeedRows(db))
  }

  /// Stores rows in the collection that is there, and in one that is not.
  private static func storeInTwo(_ db: Database) throws {
    try db.write { tx throws in
      try tx[.texts("t")].set("lost", for: "l")
      try tx[.texts("new")].set("lost", for: "l")
    }
  }

  /// A life of a database with suspensions and others who write; ends when the power goes.
  private func live(
    _ disk: SimulatedDisk, _ db: Database, _ random: inout SeededRandom, _ sure: inout [String: String],
    _ maybe: inout (key: String, text: String)?
  ) throws {
    func store(_ db: Database, _ random: inout SeededRandom) throws {
      let key = "\(random.below(30))"
      let text = String(repeating: "x\(random.below(1 << 20)) ", count: 1 + random.below(300))
      maybe = (key, text)
      try db.store(text, for: key)
      sure[key] = text
      maybe = nil
    }
    for _ in 0..<60 {
      switch random.below(8) {
      case 0..<5: try store(db, &random)
      case 5: try db.checkpoint()
      default:
        try db.suspendHere()
        let isChanged = random.oneIn(2)
        if isChanged {
          let other = try disk.openDatabase(seed: random.next(), Self.options())
          let error = errorOf { for _ in 0...random.below(3) { try store(other, &random) } }
          if random.oneIn(2) { try? other.close() } else { try? other.suspendHere() }
          if let error { throw error }
        }
        #expect(try db.resumeHere() == isChanged)
        let found = try db.allTexts()
        #expect(found == sure)
      }
    }
  }

  @Test("Power cuts at any call, suspensions among them: what was acknowledged is there")
  func crashes() throws {
    let count = environmentNumber("QUIRE_SUSPENSION_CRASHES") ?? TestSize.trials(800, divisor: 20)
    var cuts = 0
    for seed in 0..<UInt64(count) {
      var random = SeededRandom(seed: seed)
      var sure: [String: String] = [:]
      var maybe: (key: String, text: String)?
      let disk = SimulatedDisk()
      let db = try disk.openDatabase(seed: seed, Self.options())
      disk.powerOff(beforeChange: disk.changeCount + 1 + random.below(400))
      do { try live(disk, db, &random, &sure, &maybe) } catch { cuts += 1 }
      let image = disk.crashImage(.random(random.next()))
      try? db.close()
      let again = try image.openDatabase(seed: seed, Self.options())
      let found = try again.allTexts()
      var other = sure
      if let maybe { other[maybe.key] = maybe.text }
      #expect(found == sure || found == other, "seed \(seed)")
      try again.verify()
      try again.close()
    }
    #expect(cuts > count / 2)
  }

  @Test("Each call of a suspension and a resumption fails once: what is told is true, and nothing is lost")
  func everyCallFails() throws {
    func prepared(_ seed: UInt64) throws -> (SimulatedDisk, Database) {
      let disk = SimulatedDisk()
      let db = try disk.openDatabase(seed: seed, Self.options())
      for number in 0..<20 { try db.store("\(number)", for: "\(number)") }
      return (disk, db)
    }
    let (calm, db) = try prepared(1)
    let start = calm.operationCount
    try db.suspendHere()
    try db.resumeHere()
    let length = calm.operationCount - start
    try db.close()
    for offset in 0..<length {
      let (disk, db) = try prepared(1)
      disk.fail(operation: disk.operationCount + offset, with: .error(Self.notPermitted))
      let suspending = errorOf { try db.suspendHere() }
      if suspending != nil { #expect((suspending as? DatabaseError)?.code == .failStop && db.isSuspended) }
      if errorOf({ try db.resumeHere() }) != nil {
        #expect(db.isSuspended, "call \(offset)")
        #expect(errorCode { try db.store("x", for: "x") } == .suspended)
        try db.resumeHere()
      }
      #expect(try db.read { tx in tx[.texts("t")].count } == 20)
      try db.store("more", for: "more")
      try db.checkInvariants()
      try db.close()
      let again = try disk.openDatabase(seed: 3, Self.options())
      #expect(try again.read { tx in tx[.texts("t")].count } == 21)
      try again.close()
    }
    #expect(length > 8)
  }
}
