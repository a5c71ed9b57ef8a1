// Reads that are repeated when what they have read has changed, and only then.

import Foundation
import QuireDatabase
import QuireTesting
import Synchronization
import Testing

@Suite struct ObservationTests {
  let folder: TestFolder
  let db: Database

  init() throws {
    folder = try TestFolder()
    db = try folder.open()
    try Self.fill(db)
  }

  private static func fill(_ db: Database) throws {
    try db.write { tx throws in
      for number in 10..<30 {
        try tx[.songs].set(Song("\(number)"), metadata: PlayState(plays: number), for: "s\(number)")
      }
      try tx[.texts("other")].set("0", for: "k")
    }
  }

  // MARK: What is read

  /// With a cache of objects and without one; in the short size one of them for each.
  private static let readings: [(ObservedReading, Bool)] = ObservedReading.all.enumerated().flatMap { number, reading in
    [false, true].filter { TestSize.isFull || $0 == (number % 2 == 1) }.map { (reading, $0) }
  }

  @Test("Runs again for what was read, and for nothing else", arguments: readings)
  func runsAgain(reading: ObservedReading, cachesObjects: Bool) async throws {
    let folder = try TestFolder()
    let db = try opened(folder, cachesObjects)
    // What others have read is in the cache.
    _ = try await db.read { tx in try reading.body(tx) }
    let runs = Shared(0)
    let body = reading.body
    let observation = db.observe { tx in
      runs.withLock { $0 += 1 }
      return try body(tx)
    }
    let newest = Shared("")
    // Asks for the next result at once, so that each run that is due takes place.
    let consumer = Task { for try await result in observation { newest.withLock { $0 = result } } }
    try await settle(db)
    let first = try await db.read { tx in try body(tx) }
    #expect(runs.withLock { $0 } == 1 && newest.withLock { $0 } == first)
    // A few times, as what was read may be in the cache by then.
    for _ in 0..<3 { try await db.write(reading.unrelated) }
    try await settle(db)
    #expect(runs.withLock { $0 } == 1)
    try await db.write(reading.related)
    try await settle(db)
    let second = try await db.read { tx in try body(tx) }
    #expect(runs.withLock { $0 } == 2 && newest.withLock { $0 } == second)
    consumer.cancel()
    try await consumer.value
    try db.checkObservers()
  }

  @Test("Touches that come while the closure runs are not missed, even if they are too many to be kept")
  func manyTouchesDuringARun() async throws {
    let runs = Shared(0)
    let observation = db.observe { [db] tx in
      let run = runs.withLock { runs in
        runs += 1
        return runs
      }
      _ = try tx[.songs].get("s10")
      guard run == 1 else { return run }
      // They have the number of the snapshot that this reads.
      let done = DispatchSemaphore(value: 0)
      let failure = Shared<(any Error)?>(nil)
      Thread.detachNewThread {
        do {
          for _ in 0..<1100 { try db.write { tx throws in try tx[.songs].touch("s10") } }
        } catch {
          failure.withLock { $0 = error }
        }
        done.signal()
      }
      done.wait()
      if let failure = failure.withLock({ $0 }) { throw failure }
      return run
    }
    let consumer = Task { for try await run in observation where run == 2 { return } }
    while runs.withLock({ $0 }) < 2 {
      // Nobody waits for a change while one is due.
      if db.observerCount == 1, db.areObserversWaiting, runs.withLock({ $0 }) == 1 { break }
      try await Task.sleep(for: .milliseconds(1))
    }
    #expect(runs.withLock { $0 } == 2)
    consumer.cancel()
    try await consumer.value
  }

  private func opened(_ folder: TestFolder, _ cachesObjects: Bool) throws -> Database {
    let cache = cachesObjects ? ObjectCacheOptions() : nil
    let db = try folder.open(Database.Options(durability: .relaxed, objectCache: cache))
    try Self.fill(db)
    return db
  }

  /// Returns when all that was committed has been looked at, and the one consumer waits for more.
  private func settle(_ db: Database) async throws {
    while !(db.observerCount == 1 && db.areObserversWaiting) { try await Task.sleep(for: .milliseconds(1)) }
  }

  /// Returns when all that was committed has been looked at, if nobody waits.
  private func settle() async throws {
    // By an observer that does: commits are looked at in their order.
    var sentinel = db.observe { tx in try tx[.texts("sentinel")].get("k") }.makeAsyncIterator()
    _ = try await sentinel.next()
    try await db.write { tx in try tx[.texts("sentinel")].set("1", for: "k") }
    _ = try await sentinel.next()
  }

  // MARK: Extensions

  private static func makeIndex() -> ValueIndex<String, String> {
    var index = ValueIndex("byTitle", { RowCollection<String, String>.texts($0) }) { text, _ in text }
    index.collections = .only(["other"])
    return index
  }

  @Test func runsAgainWhenAnExtensionHasChanged() async throws {
    let byTitle = Self.makeIndex()
    try await db.register(byTitle)
    let runs = Shared(0)
    let observation = db.observe { tx in
      runs.withLock { $0 += 1 }
      return try tx.access(to: byTitle).all().count
    }
    var iterator = observation.makeAsyncIterator()
    #expect(try await iterator.next() == 1)
    try await db.write { tx in try tx[.songs].remove("s10") }
    try await settle()
    #expect(runs.withLock { $0 } == 1)
    try await db.write { tx in try tx[.texts("other")].set("1", for: "new") }
    #expect(try await iterator.next() == 2)
  }

  @Test func runsAgainWhenAnExtensionIsRegistered() async throws {
    let byTitle = Self.makeIndex()
    let observation = db.observe { tx in (try? tx.access(to: byTitle).all().count) ?? -1 }.removingDuplicates()
    var iterator = observation.makeAsyncIterator()
    #expect(try await iterator.next() == -1)
    try await db.register(byTitle)
    #expect(try await iterator.next() == 1)
    try await db.unregister(extensionNamed: "byTitle")
    #expect(try await iterator.next() == -1)
  }

  @Test func runsAgainWhenAnExtensionThatWasLookedForByItsTypeComesOrGoes() async throws {
    let names = db.observe { tx in try tx.registeredExtensions(ValueIndex<String, String>.self).map(\.name) }
    var iterator = names.makeAsyncIterator()
    #expect(try await iterator.next() == [])
    let serving = db.observe { tx in try tx.access(ValueIndex<String, String>.self, serving: "other") == nil }
    var second = serving.makeAsyncIterator()
    #expect(try await second.next() == true)
    try await db.register(Self.makeIndex())
    #expect(try await iterator.next() == ["byTitle"])
    #expect(try await second.next() == true)
    try await db.unregister(extensionNamed: "byTitle")
    #expect(try await iterator.next() == [])
  }

  @Test func commitsOfExtensionsAloneAreNotTold() async throws {
    let pin = try db.pin()
    let stream = db.commits
    try await db.register(Self.makeIndex())
    #expect(try pin.advance().isEmpty)
    try await db.write { tx in try tx[.texts("other")].set("1", for: "k") }
    var iterator = stream.makeAsyncIterator()
    #expect(try await iterator.next()?.changes.changedKeys(in: .texts("other")) == ["k"])
    #expect(try pin.advance().count == 1)
  }

  // MARK: When it runs

  @Test func aSlowConsumerGetsTheNewestState() async throws {
    let runs = Shared(0)
    let observation = db.observe { tx in
      runs.withLock { $0 += 1 }
      return try tx[.texts("other")].get("k")
    }
    var iterator = observation.makeAsyncIterator()
    #expect(try await iterator.next() == "0")
    for value in 1...50 { _ = try await db.write { tx in try tx[.texts("other")].set("\(value)", for: "k") } }
    #expect(runs.withLock { $0 } == 1)
    #expect(try await iterator.next() == "50")
    #expect(runs.withLock { $0 } == 2)
  }

  @Test func keepsNoSnapshotBetweenResults() async throws {
    var iterator = db.observe { tx in tx[.songs].count }.makeAsyncIterator()
    #expect(try await iterator.next() == 20)
    #expect(db.statistics.readers == 0)
    try await db.write { tx in try tx[.songs].remove("s10") }
    try await settle()
    #expect(db.statistics.readers == 0)
    #expect(try await iterator.next() == 19)
  }

  @Test func aChangeDuringARunIsNotMissed() async throws {
    let runs = Shared(0)
    let observation = db.observe { [db] tx in
      let run = runs.withLock { runs in
        runs += 1
        return runs
      }
      let value = try tx[.texts("other")].get("k")
      // Committed by another thread while this snapshot stays.
      if run == 1 {
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
          try? db.write { tx throws in try tx[.texts("other")].set("1", for: "k") }
          done.signal()
        }
        done.wait()
      }
      return value
    }
    var iterator = observation.makeAsyncIterator()
    #expect(try await iterator.next() == "0")
    #expect(try await iterator.next() == "1")
    #expect(runs.withLock { $0 } == 2)
  }

  @Test(.enabled(if: TestSize.hasSlowTests, "slow")) func runsAgainWhenTheHistoryWasOutrun() async throws {
    let folder = try TestFolder()
    let db = try folder.open(Database.Options(durability: .relaxed, readerThreadCount: 1))
    let key = String(repeating: "k", count: 1000)
    try await db.write { tx in
      try tx[.texts("long")].set("", for: key)
      try tx[.texts("other")].set("0", for: "k")
    }
    let runs = Shared(0)
    let observation = db.observe { tx in
      runs.withLock { $0 += 1 }
      return try tx[.texts("other")].get("k")
    }
    var iterator = observation.makeAsyncIterator()
    #expect(try await iterator.next() == "0")
    // Nobody can look at commits while the one thread that does is busy.
    let gate = Gate()
    try db.runLook { gate.pass() }
    // The third one finds that the history is too long.
    for _ in 0..<3 {
      try await db.write { tx in for _ in 0..<(Limits.historyByteCount / 1800) { try tx[.texts("long")].touch(key) } }
    }
    gate.open()
    #expect(try await iterator.next() == "0")
    #expect(!gate.hasTimedOut)
    #expect(runs.withLock { $0 } == 2)
  }

  @Test func resultsThatRepeatCanBeLeftOut() async throws {
    let observation = db.observe { tx in try tx[.texts("other")].get("k") }.removingDuplicates()
    var iterator = observation.makeAsyncIterator()
    #expect(try await iterator.next() == "0")
    try await db.write { tx in try tx[.texts("other")].touch("k") }
    try await settle()
    let next = Task { [db] in
      try await db.write { tx in try tx[.texts("other")].set("0", for: "k") }
      try await db.write { tx in try tx[.texts("other")].set("1", for: "k") }
    }
    #expect(try await iterator.next() == "1")
    try await next.value
  }
}
