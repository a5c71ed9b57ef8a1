// Live queries: errors, and how they end.

import Foundation
import Observation
import QuireDatabase
import QuireObservation
import QuireTesting
import Synchronization
import Testing

@MainActor @Suite struct LiveQueryEndTests {
  let folder: TestFolder
  let db: Database

  init() throws {
    folder = try TestFolder()
    db = try folder.open()
    try db.write { tx throws in try tx[.songs].set(Song(title: "Naima"), metadata: 1, for: "s1") }
  }

  @Test func anErrorOfTheClosureGoesWithTheNextRunThatSucceeds() async throws {
    let query = LiveQuery(db, initial: "") { tx in
      let song = try tx[.songs].get("s1")
      guard let song, song.rating > 0 else { throw Refusal() }
      return song.title
    }
    try await until { query.value == "Naima" }
    try await db.write { tx in try tx[.songs].set(Song(title: "Bad", rating: 0), for: "s1") }
    try await until { query.error is Refusal }
    #expect(query.value == "Naima" && query.isLoaded && query.isLive)
    try await db.write { tx in try tx[.songs].set(Song(title: "Good"), for: "s1") }
    try await until { query.value == "Good" }
    #expect(query.error == nil)
  }

  @Test func anErrorOfTheFirstRunIsNoValue() async throws {
    let query = LiveQuery(db, initial: 0) { tx in
      guard let song = try tx[.songs].get("s2") else { throw Refusal() }
      return song.rating
    }
    try await until { query.error is Refusal }
    #expect(!query.isLoaded && query.value == 0)
    try await db.write { tx in try tx[.songs].set(Song(title: "t"), for: "s2") }
    try await until { query.isLoaded }
    #expect(query.value == 3 && query.error == nil)
  }

  /// Cannot be read if it is below zero.
  private struct Fussy: Codable, Sendable {
    let number: Int

    init(number: Int) { self.number = number }

    init(from decoder: any Decoder) throws {
      number = try decoder.singleValueContainer().decode(Int.self)
      if number < 0 { throw Refusal() }
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(number)
    }
  }

  @Test func anErrorOfACallThatCannotThrowIsMendedByACommit() async throws {
    let runs = Mutex(0)
    let fussy = RowCollection<Fussy, NoMetadata>("fussy")
    let query = LiveQuery(db, initial: -1, minimumInterval: .zero) { tx in
      runs.withLock { $0 += 1 }
      return tx[fussy].rows.reduce(0) { $0 + $1.object.number }
    }
    try await until { query.value == 0 }
    try await db.write { tx in try tx[fussy].set(Fussy(number: -1), for: "k") }
    try await until { (query.error as? DatabaseError)?.code == .decodingFailed }
    #expect(query.isLive && query.value == 0)
    // It runs for commits, and not in between.
    try await until { db.observerCount == 0 }
    try await Task.sleep(for: .milliseconds(20))
    let failed = runs.withLock { $0 }
    try await Task.sleep(for: .milliseconds(30))
    #expect(runs.withLock { $0 } == failed)
    try await db.write { tx in try tx[fussy].set(Fussy(number: 7), for: "k") }
    try await until { query.value == 7 }
    #expect(query.error == nil)
    try await settle(db)
  }

  @Test func aVariableIsReadAgainWhenAsked() async throws {
    let factor = Mutex(1)
    let query = LiveQuery(db, initial: 0) { tx in
      let factor = factor.withLock { $0 }
      guard factor != 0 else { throw Refusal() }
      return factor * tx[.songs].count
    }
    try await until { query.value == 1 }
    factor.withLock { $0 = 0 }
    query.refresh()
    try await until { query.error is Refusal }
    factor.withLock { $0 = 7 }
    query.refresh()
    try await until { query.value == 7 }
    #expect(query.error == nil)
    try await settle(db)
  }

  @Test func stops() async throws {
    let query = LiveQuery(db, initial: 0, minimumInterval: .zero) { tx in tx[.songs].count }
    try await until { query.value == 1 }
    query.stop()
    #expect(!query.isLive)
    try await until { db.observerCount == 0 }
    try await db.write { tx in try tx[.songs].set(Song(title: "t"), for: "s2") }
    try await Task.sleep(for: .milliseconds(5))
    #expect(query.value == 1)
    query.refresh()
    #expect(query.isLive)
    try await until { query.value == 2 }
  }

  @Test("What was read before the stop is not delivered after it") func resultOnItsWay() async throws {
    let gate = Gate()
    let query = LiveQuery(db, initial: 0) { tx in
      gate.pass()
      return tx[.songs].count
    }
    try await Task.sleep(for: .milliseconds(5))
    query.stop()
    gate.open()
    try await until { db.observerCount == 0 }
    try await Task.sleep(for: .milliseconds(5))
    #expect(query.value == 0 && !query.isLoaded)
  }

  @Test func endsWhenTheDatabaseIsClosed() async throws {
    let query = LiveQuery(db, initial: 0) { tx in tx[.songs].count }
    try await settle(db)
    try close()
    try await until { !query.isLive }
    #expect(query.value == 1 && query.error == nil)
    query.load()
    #expect((query.error as? DatabaseError)?.code == .closed && query.value == 1)
    query.refresh()
    try await until { !query.isLive }
    // Opened again, another one shows what is there.
    let db = try folder.open()
    let other = LiveQuery(db, initial: 0) { tx in tx[.songs].count }
    try await until { other.value == 1 }
  }

  private func close() throws { try db.close() }

  @Test func goesWhenNobodyHoldsIt() async throws {
    weak var gone: LiveQuery<Int>?
    do {
      let query = LiveQuery(db, initial: 0) { tx in tx[.songs].count }
      gone = query
      try await settle(db)
    }
    try await until { gone == nil && db.observerCount == 0 }
    // And while it pauses, waits after a failed run, or has not begun.
    do {
      let query = LiveQuery(db, initial: 0, minimumInterval: .seconds(60)) { tx in tx[.songs].count }
      gone = query
      try await until { query.isLoaded }
    }
    try await until { gone == nil && db.observerCount == 0 }
    do {
      let query = LiveQuery(db, initial: 0, minimumInterval: .zero) { tx in
        tx[RowCollection<String, String>("songs")].count
      }
      gone = query
      try await until { query.error != nil }
    }
    try await until { gone == nil && db.observerCount == 0 }
    do { gone = begun() }
    try await until { gone == nil && db.observerCount == 0 }
  }

  private func begun() -> LiveQuery<Int> { LiveQuery(db, initial: 0) { tx in tx[.songs].count } }

  @Test func doesNotKeepTheDatabaseWhenItHasGone() async throws {
    let folder = try TestFolder()
    do {
      let query = LiveQuery(try opened(folder), initial: -1) { tx in tx[.songs].count }
      try await until { query.isLoaded }
    }
    // Nobody holds the file's lock any more.
    try await until { (try? opened(folder)) != nil }
  }

  private func opened(_ folder: TestFolder) throws -> Database { try folder.open() }
}
