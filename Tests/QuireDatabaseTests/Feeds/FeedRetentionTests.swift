// Feeds that have no room, or no time: what writers are told, and what consumers have in the end.

import Foundation
import QuireTesting
import Synchronization
import Testing

@testable import QuireDatabase

@Suite("Retention of change feeds") struct FeedRetentionTests {
  private func options(_ feeds: [ChangeFeed]) -> Database.Options {
    Database.Options(durability: .relaxed, maintainsWhenIdle: false, feeds: feeds)
  }

  // MARK: Refusing writes

  /// Writes rows until a feed is full; returns how many there are then.
  private func fill(_ db: Database, from first: Int) throws -> Int {
    var number = first
    let error = #expect(throws: DatabaseError.self) {
      while number < first + 10_000 {
        try db.write { tx throws in try tx[.texts("a")].set("text \(number)", for: "key \(number)") }
        number += 1
      }
    }
    #expect(error?.code == .feedFull && error?.message.contains("“strict”") == true)
    #expect(error?.message.contains("`release`") == true)
    return number
  }

  @Test(
    "A writer that a full feed refuses is told so and loses nothing; a consumer makes room, also after a reopening",
    .enabled(if: TestSize.hasSlowTests, "slow"))
  func refusesAndGoesOn() throws {
    let strict = ChangeFeed(
      "strict", over: .except(["free"]), keeping: .newValues,
      retention: .init(bytes: 64 << 10, whenFull: .refuseWrites, releasedBytes: 0, releasedCommits: 0))
    let other = ChangeFeed("other")
    let folder = try TestFolder()
    var db = try folder.open(options([strict, other]))
    var consumers = [FeedMode.log, .state].map { FeedConsumer(strict, $0) }
    var count = 0
    for turn in 0..<4 {
      let before = count
      count = try fill(db, from: count)
      #expect(count > before + 50, "turn \(turn)")
      let rows = try FeedRows(db)
      let newest = try db.newestCursor(of: other)
      // All kinds of changes are refused, whoever makes them, and nothing of them stays, in other feeds either.
      #expect(errorCode { _ = try db.write { tx throws in try tx[.texts("a")].remove("key 1") } } == .feedFull)
      #expect(errorCode { try db.write { tx throws in _ = try tx[.texts("a")].removeAll() } } == .feedFull)
      #expect(try FeedRows(db) == rows && db.newestCursor(of: other) == newest)
      // What the feed does not tell of goes on.
      try db.write { tx throws in try tx[.texts("free")].set("\(turn)", for: "k") }
      if turn % 2 == 1 {
        try db.verify()
        try db.close()
        db = try folder.open(options([strict, other]))
        #expect(errorCode { try db.write { tx throws in try tx[.texts("a")].set("", for: "k") } } == .feedFull)
      }
      for index in consumers.indices {
        while let batch = try consumers[index].pull(db, rows: 10) {
          // What both have.
          if index == 1 { try db.release(strict, upTo: batch.cursor) }
        }
        #expect(try consumers[index].rows == FeedRows(db, without: ["free"]), "turn \(turn), consumer \(index)")
      }
      #expect(try db.status(of: strict, at: consumers[1].cursor).behind.commits == 0)
    }
    #expect(try db.read { tx in tx[.texts("a")].count } == count)
    var all = FeedConsumer(other, .state)
    try all.pullAll(db)
    #expect(try all.rows == FeedRows(db))
    try db.verify()
    try db.close()
  }

  @Test("Of several async writers those are told who were refused, and the rows of the others are there")
  func refusesAsyncWriters() async throws {
    let strict = ChangeFeed("strict", retention: .init(bytes: 64 << 10, whenFull: .refuseWrites))
    let db = try Database.inMemory(options: options([strict]))
    let rows = RowCollection<String, String>.texts("a")
    let stored = try await withThrowingTaskGroup(of: [String].self) { group in
      for task in 0..<4 {
        group.addTask {
          var keys: [String] = []
          for number in 0..<1_000 {
            let key = "key \(task) \(number)"
            do {
              try await db.write { tx throws in try tx[rows].set("text", for: key) }
            } catch let error as DatabaseError where error.code == .feedFull {
              return keys
            }
            keys.append(key)
          }
          throw FeedRows.Lacking(change: "a refusal")
        }
      }
      return try await group.reduce(into: Set<String>()) { $0.formUnion($1) }
    }
    let keys = try await db.read { tx in Set(tx[rows].keys) }
    #expect(keys == stored && !keys.isEmpty)
    var consumer = FeedConsumer(strict, .state)
    try consumer.pullAll(db)
    #expect(consumer.rows.collections["a"].map { Set($0.keys) } == keys)
  }

  // MARK: Clocks

  @Test(
    "However far a clock jumps back, consumers are told all or refused, and the feed stays within its age afterwards",
    .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: [20, 50, 99, 150, 100_000], [ChangeFeed.WhenFull.expireOldest, .refuseWrites])
  func outlivesClocksThatJumpBack(seconds: Int64, whenFull: ChangeFeed.WhenFull) throws {
    let now = Shared<Int64>(1_000_000_000_000)
    let aging = ChangeFeed("aging", keeping: .newValues, retention: .init(age: .seconds(100), whenFull: whenFull))
    var options = options([aging])
    options.wallClock = { now.withLock { $0 } }
    let folder = try TestFolder()
    var db = try folder.open(options)
    var number = 0
    var cursors: [(FeedCursor, next: Int)] = []
    var mayExpire = whenFull == .expireOldest
    func write(_ count: Int) throws {
      for _ in 0..<count {
        cursors.append((try db.newestCursor(of: aging), number))
        try db.write { tx throws in try tx[.texts("a")].set("\(number)", for: "key \(number)") }
        number += 1
        now.withLock { $0 += 5_000_000 }
        // From wherever a consumer stands: nothing is left out, or it is told.
        for (cursor, next) in cursors where number % 5 == 0 && next % 4 == 0 {
          do throws(DatabaseError) {
            var told: [String] = []
            var cursor = cursor
            while let batch = try db.nextChanges(of: aging, after: cursor, limit: .rows(7), mode: .log) {
              told += batch.changes.map(\.key)
              cursor = batch.cursor
            }
            #expect(told == (next..<number).map { "key \($0)" })
          } catch {
            #expect(error.code == .cursorExpired && mayExpire)
          }
        }
      }
    }
    try write(15)
    now.withLock { $0 -= seconds * 1_000_000 }
    try write(5)
    // Nothing is too old by any reckoning.
    if seconds < 100 { #expect(try db.status(of: aging).kept.commits == 20) }
    try db.verify()
    try db.close()
    db = try folder.open(options)
    try write(5)
    now.withLock { $0 -= seconds * 1_000_000 }
    try write(45)
    let kept = try db.status(of: aging).kept
    if whenFull == .expireOldest {
      #expect(kept.commits >= 20 && kept.commits <= 23 && kept.age <= .seconds(110))
    } else {
      #expect(kept.commits == number)
      mayExpire = true
      try db.release(aging, upTo: db.newestCursor(of: aging))
      try write(1)
      #expect(try db.status(of: aging).kept.commits <= 23)
    }
    // Right again: what was written meanwhile looks old.
    now.withLock { $0 += 2 * seconds * 1_000_000 }
    try write(5)
    try db.verify()
    try db.close()
  }

  // MARK: Types

  private struct Track: Codable, Sendable, Equatable { var title: String }

  @Test(
    "A row that a consumer's type does not fit is told with collection and key, and passed", arguments: [false, true])
  func tellsMisfits(isLog: Bool) throws {
    let feed = ChangeFeed("typed", keeping: .newValues)
    let tracks = RowCollection<Track, NoMetadata>("tracks")
    let db = try Database.inMemory(options: options([feed]))
    try db.write { tx throws in
      for number in 0..<6 { try tx[tracks].set(Track(title: "\(number)"), for: "t\(number)") }
      try tx.values(in: "tracks").set(["title": 7], for: "t2")
      try tx.values(in: "tracks").set(["name": "x"], for: "t4")
    }
    var (titles, misfits, cursor): ([String], [String], FeedCursor?) = ([], [], nil)
    while let batch = try db.nextChanges(of: feed, after: cursor, limit: .rows(2), mode: isLog ? .log : .state) {
      for change in try batch.changes(in: tracks) {
        do throws(DatabaseError) {
          titles.append(try change.new?.object.title ?? "-")
        } catch {
          #expect(error.code == .decodingFailed && error.collection == "tracks" && error.key == change.key)
          misfits.append(change.key)
        }
      }
      // Another coder: the batch is refused as a whole, and passed all the same.
      let json = RowCollection<Track, NoMetadata>("tracks", coder: .json)
      #expect(errorCode { _ = try batch.changes(in: json) } == .collectionMismatch)
      #expect(try batch.changes.allSatisfy { try $0.newRow() != nil })
      cursor = batch.cursor
    }
    #expect(Set(titles) == ["0", "1", "3", "5"] && Set(misfits) == ["t2", "t4"])
    #expect(try cursor == db.newestCursor(of: feed))
    try db.write { tx throws in try tx[tracks].set(Track(title: "fits"), for: "t2") }
    let next = try #require(try db.nextChanges(of: feed, after: cursor, mode: isLog ? .log : .state))
    #expect(try next.changes(in: tracks).map { try $0.new?.object.title } == ["fits"])
  }
}
