// Queries that are observed: they are run again for what they have read, and for nothing else.

import Foundation
import QuireDatabase
import QuireIndexes
import QuireTesting
import QuireViews
import Synchronization
import Testing

@Suite struct LiveQueryTests {
  private func track(year: Int, title: String = "t", rating: Double? = nil, tags: [String] = []) -> Track {
    Track(
      title: title, year: year, rating: rating, mood: .calm, tags: tags, album: .init(name: "a"),
      added: Date(timeIntervalSinceReferenceDate: 0), score: 0)
  }

  private func database() throws -> Database {
    let db = try Database.inMemory()
    try db.write { tx in
      for number in 0..<400 {
        try tx[.tracks].set(
          track(year: 1900 + number % 100, title: "t\(number)", rating: Double(number % 10)), for: "k\(number)")
      }
    }
    try db.register(Indexes.tracks())
    return db
  }

  /// Waits until every observer waits for a change.
  private func settle(_ db: Database) async throws {
    for _ in 0..<2000 {
      if !db.hasLooksDue, db.areObserversWaiting { return }
      try await Task.sleep(for: .milliseconds(2))
    }
    Issue.record("observers do not come to rest")
  }

  /// How often a query is run for each of some changes.
  private func runs<Value: Sendable>(
    _ query: @escaping @Sendable (ReadTransaction) throws -> Value,
    _ changes: [@Sendable (WriteTransaction) throws -> Void]
  ) async throws -> [Int] {
    let db = try database()
    let count = Atomic<Int>(0)
    let observation = db.observe { tx in
      count.wrappingAdd(1, ordering: .relaxed)
      return try query(tx)
    }
    let task = Task { for try await _ in observation {} }
    while count.load(ordering: .relaxed) == 0 { try await Task.sleep(for: .milliseconds(2)) }
    try await settle(db)
    var counts: [Int] = []
    for change in changes {
      let before = count.load(ordering: .relaxed)
      try await db.write { tx in try change(tx) }
      try await settle(db)
      counts.append(count.load(ordering: .relaxed) - before)
    }
    task.cancel()
    _ = try? await task.value
    try db.close()
    return counts
  }

  @Test("A commit outside of the ranges that a query has read does not run it")
  func wakesForRangesOnly() async throws {
    let counted = try await runs(
      { tx in try tx[.tracks].find { $0.year == 1950 }.count },
      [
        { tx in try tx[.tracks].set(track(year: 1951), for: "new") },
        { tx in try tx[.tracks].update("k7") { $0.title = "other" } },
        { tx in try tx[.tracks].remove("k9") },
        { tx in try tx[.tracks].set(track(year: 1950), for: "new") },
        { tx in try tx[.tracks].remove("k50") },
        // Of a row that is counted another field changes: the count is the same.
        { tx in try tx[.tracks].update("k150") { $0.title = "other" } },
      ])
    #expect(counted == [0, 0, 0, 1, 1, 0])
  }

  @Test("Rows that a query returns wake it when they change")
  func wakesForItsRows() async throws {
    let counted = try await runs(
      { tx in try tx[.tracks].find { $0.year == 1950 }.all.map(\.object) },
      [
        { tx in try tx[.tracks].update("k150") { $0.title = "other" } },
        { tx in try tx[.tracks].update("k151") { $0.title = "other" } },
      ])
    #expect(counted == [1, 0])
  }

  @Test("An ordered query with a limit reads, and watches, no more than its first rows")
  func watchesFirstRows() async throws {
    let counted = try await runs(
      { tx in try tx[.tracks].find { $0.year >= 1910 }.order(by: \.year).limit(3).keys },
      [
        { tx in try tx[.tracks].set(track(year: 1990), for: "late") },
        { tx in try tx[.tracks].set(track(year: 1905), for: "early") },
        { tx in try tx[.tracks].set(track(year: 1910), for: "fifth") },
        { tx in try tx[.tracks].remove("k110") },
      ])
    #expect(counted == [0, 0, 0, 1])
  }

  @Test("A query for keys is run for those alone that it has asked for")
  func wakesForItsKeys() async throws {
    let counted = try await runs(
      { tx in
        [
          try tx[.tracks].find { $0.key.hasPrefix("k39") }.count,
          try tx[.tracks].find { $0.key.isIn(["k1", "none"]) && $0.year == 1901 }.count,
        ]
      },
      [
        { tx in try tx[.tracks].set(track(year: 1951), for: "k4000") },
        { tx in try tx[.tracks].remove("k40") },
        { tx in try tx[.tracks].update("k390") { $0.year = 2001 } },
        { tx in try tx[.tracks].set(track(year: 1951), for: "k3999") },
        { tx in try tx[.tracks].remove("k391") },
        { tx in try tx[.tracks].update("k1") { $0.year = 2001 } },
        { tx in try tx[.tracks].set(track(year: 1901), for: "none") },
      ])
    #expect(counted == [0, 0, 0, 1, 1, 1, 1])
  }

  @Test("What an ordered walk tests and leaves out wakes the query when it changes")
  func watchesWhatIsLeftOut() async throws {
    let counted = try await runs(
      { tx in
        [
          try tx[.tracks].find { $0.title != "t99" }.order(by: .descending(\.year)).limit(1).keys,
          try tx[.tracks].find { $0.score != 5 && $0.title != "t98" }.order(by: .descending(\.year)).offset(4).limit(1)
            .keys,
        ]
      },
      [
        { tx in try tx[.tracks].update("k99") { $0.title = "other" } },
        { tx in try tx[.tracks].update("k98") { $0.title = "other" } },
        { tx in try tx[.tracks].update("k7") { $0.title = "other" } },
      ])
    #expect(counted == [1, 1, 0])
  }

  @Test("A query in the order of keys reads, and watches, no more than its limit says")
  func watchesFirstKeys() async throws {
    let counted = try await runs(
      { tx in
        let all = tx[.tracks].find(.all)
        return [
          try all.orderByKey().limit(3).keys, try all.orderByKey(descending: true).offset(2).limit(3).keys,
          try tx[.tracks].find { $0.key.hasPrefix("k2") }.orderByKey().limit(2).keys,
        ]
      },
      [
        { tx in try tx[.tracks].set(track(year: 1), for: "k3") },
        { tx in try tx[.tracks].remove("k150") },
        { tx in try tx[.tracks].set(track(year: 1), for: "k0a") },
        { tx in try tx[.tracks].remove("k99") },
        { tx in try tx[.tracks].remove("k20") },
        { tx in try tx[.tracks].set(track(year: 1), for: "k29a") },
      ])
    #expect(counted == [0, 0, 1, 1, 1, 0])
  }

  @Test("A query without an index is run for every row that comes, goes or changes")
  func scansWakeForAll() async throws {
    let counted = try await runs(
      { tx in try tx[.tracks].find { $0.title.satisfies { $0.hasSuffix("7") } }.count },
      [{ tx in try tx[.tracks].set(track(year: 1), for: "new") }, { tx in try tx[.tracks].remove("new") }])
    #expect(counted == [1, 1])
  }
}

@Suite struct QueryUpdatesTests {
  private static func track(_ random: inout SeededRandom) -> Track {
    Track(
      title: "t\(random.below(30))", year: 1990 + random.below(8), rating: nil, mood: .happy, tags: [],
      album: .init(name: "a"), added: Date(timeIntervalSinceReferenceDate: 0), score: Double(random.below(4)))
  }

  @Test(
    "Change sets lead from one list to the next, and commits that concern no row are none",
    arguments: seeds(TestSize.trials(8, divisor: 2)))
  func diffsLeadOn(seed: UInt64) async throws {
    var random = SeededRandom(seed: seed)
    let db = try Database.inMemory()
    if random.below(2) == 0 { try await db.register(Indexes.tracks()) }
    try await db.write { [random] tx in
      var random = random
      for number in 0..<40 { try tx[.tracks].set(Self.track(&random), for: "k\(number)") }
    }
    var query = RowCollection.tracks.query { $0.year >= 1994 }
    let isOrdered = random.below(4) != 0
    if isOrdered { query = query.order(by: random.below(2) == 0 ? .ascending(\.title) : .descending(\.score)) }
    if random.below(2) == 0 { query = query.limit(random.below(12)).offset(random.below(6)) }
    var iterator = try db.updates(of: query).makeAsyncIterator()
    var list: [[String]] = []
    let first = try #require(try await iterator.next())
    #expect(first.diff.isReload)
    try first.diff.apply(to: &list) { first.keys[$0.row] }
    for _ in 0..<steps(TestSize.trials(60, divisor: 3)) {
      let before = list.first ?? []
      let changes = 1 + random.below(3)
      for _ in 0..<changes {
        let (clears, own) = (random.below(40) == 0, random)
        try await db.write { tx in
          var random = own
          if clears {
            try tx[.tracks].removeAll()
            return
          }
          for _ in 0..<1 + random.below(5) {
            let key = "k\(random.below(50))"
            switch random.below(5) {
            case 0: try tx[.tracks].remove(key)
            case 1: try tx[.tracks].touch(key)
            case 2: try tx[.tracks].update(key) { $0.title += "" }
            default: try tx[.tracks].set(Self.track(&random), for: key)
            }
          }
        }
        _ = random.below(1000)
      }
      let expected = try await db.read { [query] tx in try tx.find(query).keys }
      if let changed = try iterator.nextIfReady() {
        try changed.diff.apply(to: &list) { changed.keys[$0.row] }
        #expect(changed.keys == expected, "seed \(seed)")
      } else {
        #expect(before == expected, "seed \(seed)")
      }
      #expect((list.first ?? []) == expected, "QUIRE_INDEX_SEED=\(seed) swift test --filter QueryUpdatesTests")
    }
  }

  private struct Refused: Error {}

  @Test("An error of a run loses no row: the next element has all of them")
  func anErrorLosesNoRows() async throws {
    @Sendable func track(_ title: String) -> Track {
      Track(
        title: title, year: 1, rating: nil, mood: .calm, tags: [], album: .init(name: "a"),
        added: Date(timeIntervalSinceReferenceDate: 0), score: 0)
    }
    let db = try Database.inMemory()
    let refuses = Mutex(true)
    let query = RowCollection.tracks.query {
      $0.title.satisfies { title in
        if title == "bad", refuses.withLock({ $0 }) { throw Refused() }
        return true
      }
    }
    var updates = try db.updates(of: query).makeAsyncIterator()
    let first = try await updates.next()
    #expect(first?.keys == [])
    try await db.write { tx in
      for number in 0..<20 { try tx[.tracks].set(track("ok"), for: "k\(number)") }
      try tx[.tracks].set(track("bad"), for: "x")
    }
    #expect(throws: Refused.self) { try updates.nextIfReady() }
    // As long as the row is there, each call says so.
    await #expect(throws: Refused.self) { try await updates.next() }
    refuses.withLock { $0 = false }
    let healed = try updates.nextIfReady()
    #expect(healed?.diff.isReload == true && healed?.keys.count == 21)
    #expect(try updates.nextIfReady() == nil)
    try await db.write { tx in try tx[.tracks].remove("k3") }
    let last = try await updates.next()
    #expect(last?.diff.isReload == false && last?.keys.count == 20)
  }
}
