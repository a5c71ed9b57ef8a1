// Live queries: what they show, when, and what they tell.

import Foundation
import Observation
import QuireDatabase
import QuireFullText
import QuireIndexes
import QuireObservation
import QuireTesting
import QuireText
import Synchronization
import Testing

@MainActor @Suite struct LiveQueryTests {
  let folder: TestFolder
  let db: Database

  init() throws {
    folder = try TestFolder()
    db = try folder.open()
    try db.write { tx throws in
      for number in 10..<20 { try tx[.songs].set(Song(title: "\(number)"), metadata: number, for: "s\(number)") }
    }
  }

  @Test func showsTheInitialValueAndThenResults() async throws {
    let query = LiveQuery(db, initial: -1) { tx in tx[.songs].count }
    #expect(query.value == -1 && !query.isLoaded && query.isLive && query.error == nil)
    try await until { query.isLoaded }
    #expect(query.value == 10)
    try await db.write { tx in try tx[.songs].remove("s10") }
    try await until { query.value == 9 }
  }

  @Test func loadsAtOnceIfAsked() throws {
    let query = LiveQuery(db, initial: -1) { tx in tx[.songs].count }
    query.load()
    #expect(query.value == 10 && query.isLoaded)
  }

  @Test func runsAgainForWhatWasReadAlone() async throws {
    let runs = Mutex(0)
    let query = LiveQuery(db, initial: nil, minimumInterval: .zero) { tx in
      runs.withLock { $0 += 1 }
      return try tx[.songs].get("s10")?.title
    }
    try await settle(db)
    for _ in 0..<3 { try await db.write { tx in try tx[.songs].set(Song(title: "x"), for: "s11") } }
    try await settle(db)
    #expect(runs.withLock { $0 } == 1)
    try await db.write { tx in try tx[.songs].set(Song(title: "new"), for: "s10") }
    try await until { query.value == "new" }
    #expect(runs.withLock { $0 } == 2)
  }

  @Test func valuesThatAreEqualAreNotTold() async throws {
    let query = LiveQuery(db, initial: 0, minimumInterval: .zero) { tx in try tx[.songs].get("s10")?.rating ?? -1 }
    try await settle(db)
    let values = ChangeCounter { _ = query.value }
    let others = ChangeCounter { _ = (query.isLoaded, query.isLive, query.error == nil) }
    try await db.write { tx in try tx[.songs].set(Song(title: "another title"), for: "s10") }
    try await settle(db)
    #expect(values.count == 0)
    try await db.write { tx in try tx[.songs].set(Song(title: "t", rating: 5), for: "s10") }
    try await until { query.value == 5 }
    #expect(values.count == 1 && others.count == 0)
  }

  @Test func valuesThatCannotBeComparedAreTold() async throws {
    struct Count { var value: Int }
    let query = LiveQuery(db, initial: Count(value: 0), minimumInterval: .zero) { tx in
      Count(value: try tx[.songs].get("s10")?.rating ?? -1)
    }
    try await settle(db)
    let values = ChangeCounter { _ = query.value }
    try await db.write { tx in try tx[.songs].touch("s10") }
    try await until { values.count == 1 }
  }

  @Test func deliversToObservations() async throws {
    guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
    let query = LiveQuery(db, initial: 0) { tx in tx[.songs].count }
    let counts = Observations { query.value }
    var seen: [Int] = []
    for await count in counts {
      seen.append(count)
      if count == 10 { try await db.write { tx in try tx[.songs].removeAll() } }
      if seen.contains(10), count == 0 { break }
    }
    #expect(seen.filter { $0 == 10 }.count == 1)
  }

  @Test("A burst of commits is a few runs, and the last state") func bursts() async throws {
    let runs = Mutex(0)
    let query = LiveQuery(db, initial: nil, minimumInterval: .milliseconds(20)) { tx in
      runs.withLock { $0 += 1 }
      return try tx[.songs].metadata("s10")
    }
    try await until { query.isLoaded }
    let began = ContinuousClock.now
    for plays in 1...1000 { try await db.write { tx in try tx[.songs].replaceMetadata(plays, for: "s10") } }
    try await until { query.value == 1000 }
    let frames = (ContinuousClock.now - began) / .milliseconds(20)
    #expect(Double(runs.withLock { $0 }) <= frames + 3)
  }

  @Test("Threads that write and a main actor that loads: no older state follows a newer one")
  func threads() async throws {
    let query = LiveQuery(db, initial: 0, minimumInterval: .zero) { tx in try tx[.songs].metadata("s10") ?? 0 }
    let isDone = Mutex(0)
    for _ in 0..<2 {
      Thread.detachNewThread { [db] in
        for _ in 0..<200 {
          do {
            try db.write { tx throws in
              let plays = try tx[.songs].metadata("s10") ?? 0
              try tx[.songs].replaceMetadata(plays + 1, for: "s10")
            }
          } catch {
            Issue.record(error)
          }
        }
        isDone.withLock { $0 += 1 }
      }
    }
    var last = 0
    while isDone.withLock({ $0 }) < 2 || query.value != 410 {
      if Int.random(in: 0..<4) == 0 { query.load() }
      #expect(query.value >= last)
      last = query.value
      guard query.error == nil else { break }
      await Task.yield()
    }
    #expect(query.value == 410 && query.error == nil)
  }

  // MARK: Other reads

  @Test func followsAnotherClosure() async throws {
    let query = LiveQuery(db, initial: nil) { tx in try tx[.songs].get("s10")?.title }
    try await until { query.isLoaded }
    let key = "s11"
    query.follow { tx in try tx[.songs].get(key)?.title }
    #expect(query.value == "10" && !query.isLoaded)
    try await until { query.isLoaded }
    #expect(query.value == "11")
    try await db.write { tx in try tx[.songs].set(Song(title: "new"), for: "s10") }
    try await db.write { tx in try tx[.songs].set(Song(title: "newer"), for: "s11") }
    try await until { query.value == "newer" }
    try await settle(db)
  }

  @Test func followsQueries() async throws {
    try await db.register(Indexes<Song, Int>("songs.indexes", over: .songs) { Index("rating", \.rating) })
    let query = LiveQuery(db, RowCollection.songs.query { $0.rating >= 4 }.order(by: \.title))
    try await until { query.isLoaded }
    #expect(query.value.isEmpty)
    try await db.write { tx in
      for key in ["s12", "s11"] { try tx[.songs].update(key) { $0.rating = 5 } }
    }
    try await until { query.value.map(\.key) == ["s11", "s12"] }
    query.follow(RowCollection.songs.query { $0.rating < 4 }.limit(1))
    try await until { query.value.map(\.key) == ["s10"] }
  }

  @Test func followsSearches() async throws {
    let words = SearchSelection<Song, Int>("train")
    let query = LiveQuery(db, RowCollection.songs.query { _ in .rows(words) })
    try await until { query.isLoaded || query.error != nil }
    let texts = FullText<Song, Int>("songs.text", over: .songs, tokenizer: .words) { SearchField("title", \.title) }
    try await db.register(texts)
    try await until { query.isLoaded && query.error == nil }
    try await db.write { tx in try tx[.songs].set(Song(title: "Blue Train"), for: "s10") }
    try await until { query.value.map(\.key) == ["s10"] }
  }
}
