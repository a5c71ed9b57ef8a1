// What is told of commits: change sets, streams, pinned snapshots.

import Foundation
import QuireDatabase
import QuireTesting
import Testing

@Suite struct CommitTests {
  let folder: TestFolder
  let db: Database

  init() throws {
    folder = try TestFolder()
    db = try folder.open()
  }

  @Test func changeSetsTellWhatHappened() throws {
    try db.write { tx throws in
      for key in ["set", "replaced", "meta", "touched", "removed", "still"] {
        try tx[.songs].set(Song(key), metadata: PlayState(plays: 1), for: key)
      }
      try tx[.texts("cleared")].set("v", for: "old")
    }
    let pin = try db.pin()
    try db.write { tx throws in
      let songs = tx[.songs]
      try songs.set(Song("2"), for: "set")
      try songs.set(Song("new"), for: "new")
      try songs.replace(Song("2"), for: "replaced")
      try songs.replaceMetadata(PlayState(plays: 2), for: "meta")
      try songs.touchObject("touched")
      try songs.remove("removed")
      try songs.set(Song("x"), for: "passing")
      try songs.remove("passing")
      try tx[.texts("cleared")].set("v", for: "forgotten")
      try tx[.texts("cleared")].removeAll()
      try tx[.texts("cleared")].set("v", for: "afterwards")
      tx.commitInfo = "sync"
    }
    let commits = try pin.advance()
    #expect(commits.count == 1)
    let commit = try #require(commits.first)
    let changes = commit.changes
    #expect(commit.info as? String == "sync")
    #expect(changes.collections == ["cleared", "songs"])
    #expect(changes.changedKeys(in: .songs) == ["meta", "new", "passing", "removed", "replaced", "set", "touched"])
    #expect(changes.changedKeys(in: .songs, .object) == ["new", "passing", "removed", "replaced", "set", "touched"])
    #expect(changes.changedKeys(in: .songs, .metadata) == ["meta", "new", "passing", "removed", "set"])
    #expect(changes.insertedKeys(in: .songs) == ["new"])
    #expect(changes.removedKeys(in: .songs) == ["passing", "removed"])
    #expect(
      changes.hasChanges(forKey: "meta", in: .songs, .metadata)
        && !changes.hasChanges(forKey: "meta", in: .songs, .object))
    #expect(
      !changes.hasChanges(forKey: "still", in: .songs) && changes.hasChanges(forAnyOf: ["still", "set"], in: .songs))
    #expect(changes.didClear(.texts("cleared")) && !changes.didClear(.songs) && !changes.didClearAll)
    #expect(
      changes.hasChanges(forKey: "old", in: .texts("cleared"))
        && changes.hasChanges(forKey: "never", in: .texts("cleared")))
    #expect(changes.changedKeys(in: .texts("cleared")) == ["afterwards"])
    #expect(!changes.hasChanges(in: .albums) && changes.hasChanges(in: .songs))
    #expect(try pin.advance().isEmpty)
  }

  @Test func clearingAllTakesBackWhatCameBefore() throws {
    try db.write { tx throws in try tx[.songs].set(Song("1"), for: "s1") }
    let pin = try db.pin()
    try db.write { tx throws in
      try tx[.songs].set(Song("2"), for: "s1")
      try tx.removeAll()
      try tx[.texts("t")].set("v", for: "k")
    }
    let changes = try #require(try pin.advance().first).changes
    #expect(changes.didClearAll && changes.didClear(.songs) && changes.hasChanges(forKey: "any", in: .albums))
    #expect(changes.collections == ["t"] && changes.changedKeys(in: .texts("t")) == ["k"])
    #expect(changes.changedKeys(in: .songs).isEmpty)
  }

  @Test func pinsStayPutAndAdvance() throws {
    try db.write { tx throws in try tx[.texts("t")].set("0", for: "k") }
    let pin = try db.pin()
    for value in 1...3 { try db.write { tx throws in try tx[.texts("t")].set("\(value)", for: "k") } }
    try db.write { _ in }
    #expect(throws: (any Error).self) { try db.write { tx -> Void in try tx.rollback() } }
    #expect(try pin.read { tx in try tx[.texts("t")].get("k") } == "0")
    let late = try db.pin()
    #expect(try pin.advance().count == 3)
    #expect(try pin.read { tx in try tx[.texts("t")].get("k") } == "3")
    #expect(try late.advance().isEmpty)
    // A touch writes nothing, and is told all the same, to those who were there before it.
    try db.write { tx throws in try tx[.texts("t")].touch("k") }
    #expect(try db.pin().advance().isEmpty)
    #expect(try pin.advance().map { $0.changes.changedKeys(in: .texts("t")) } == [["k"]])
    #expect(try late.advance().count == 1)
    #expect(errorCode { try db.close() } == .inUse)
  }

  // A touch has the number of the commit before it, and a place of its own.
  @Test func stepsSayWhatCameSinceAPlace() throws {
    try db.write { tx throws in for key in ["a", "b"] { try tx[.texts("t")].set("0", for: key) } }
    let (pin, other) = (try db.pin(), try db.pin())
    func place(_ pin: PinnedSnapshot) throws -> CommitPosition { try #require(try pin.read { tx in tx.position }) }
    func touch(_ key: String) throws { try db.write { tx throws in _ = try tx[.texts("t")].touch(key) } }
    func keys(_ commits: [Commit]?) -> [String]? { commits?.flatMap { $0.changes.changedKeys(in: .texts("t")) } }
    let (first, csn) = (try place(pin), pin.csn)
    try touch("a")
    #expect(try keys(pin.advance()) == ["a"])
    let second = try place(pin)
    #expect(pin.csn == csn && first != second)
    try touch("b")
    try pin.advance(reading: { step, tx throws in
      #expect(keys(step.commits) == ["b"] && keys(step.commits(since: second)) == ["b"])
      // What an earlier step has gone past without leaving the snapshot.
      #expect(keys(step.commits(since: first)) == ["a", "b"])
      #expect(tx.csn == csn && tx.position != second)
    })
    let third = try place(pin)
    try db.write { tx throws in try tx[.texts("t")].set("1", for: "a") }
    try touch("b")
    try pin.advance(reading: { step, tx throws in
      #expect(keys(step.commits(since: third)) == ["a", "b"] && keys(step.commits(since: second)) == ["b", "a", "b"])
      #expect(try tx[.texts("t")].get("a") == "1")
    })
    let fourth = try place(pin)
    try touch("a")
    try pin.advance(reading: { step, _ in
      #expect(keys(step.commits(since: fourth)) == ["a"])
      // Nobody keeps what came on snapshots that the pin has left.
      #expect(step.commits(since: third) == nil && step.commits(since: first) == nil)
    })
    // Another pin has gone past nothing yet, and another database has other places.
    try other.advance(reading: { step, _ in #expect(keys(step.commits(since: first))?.count == 5) })
    let elsewhere = try Database.inMemory()
    try elsewhere.pin().advance(reading: { step, _ in #expect(step.commits(since: first) == nil) })
  }

  @Test func streamsDeliverEveryCommitInOrder() async throws {
    let stream = db.commits
    let db = db
    let consumer = Task {
      var infos: [Int] = []
      for try await commit in stream {
        if let info = commit.info as? Int { infos.append(info) }
        if infos.count == 60 { break }
      }
      return infos
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<3 {
        group.addTask {
          for step in 0..<20 {
            try await db.write { tx in
              tx.commitInfo = writer * 100 + step
              try tx[.texts("t\(writer)")].set("\(step)", for: "k")
            }
          }
        }
      }
      try await group.waitForAll()
    }
    let infos = try await consumer.value
    #expect(infos.count == 60)
    for writer in 0..<3 {
      #expect(infos.filter { $0 / 100 == writer } == (0..<20).map { writer * 100 + $0 })
    }
  }

  @Test func aSlowConsumerIsToldThatItMissedSomething() async throws {
    let folder = try TestFolder()
    let db = try folder.open(Database.Options(durability: .relaxed, commitBuffer: 3))
    let stream = db.commits
    for value in 1...10 { _ = try await db.write { tx in try tx[.texts("t")].set("\(value)", for: "k") } }
    try synchronously { try db.close() }
    var unknown: [Bool] = []
    for try await commit in stream { unknown.append(commit.changes.isUnknown) }
    #expect(unknown == [false, false, false, true])
  }

  @Test(
    "Commits that nobody takes are kept up to 64 MiB, by streams and by pins, and the rest is unknown",
    .enabled(if: TestSize.hasSlowTests, "slow"))
  func memoryOfLateFollowers() async throws {
    let db = try Database.inMemory()
    let stream = db.commits
    var pin: PinnedSnapshot? = try synchronously { try db.pin() }
    let rowCount = 1000
    let keys = (0..<rowCount).map { String(repeating: "k", count: 900) + "\($0)" }
    // A few more than are kept.
    for value in 0..<TestSize.trials(120, least: 78) {
      try await db.write { tx in for key in keys { try tx[.texts("t")].set("\(value)", for: key) } }
    }
    let late = try synchronously { try #require(pin).advance() }
    pin = nil
    try synchronously { try db.close() }
    // A commit takes about a mebibyte: its keys, and what is there for more of them.
    #expect(late.first?.changes.isUnknown == true)
    #expect((31...74).contains(late.count - 1), "\(late.count)")
    var known = 0
    var unknown = 0
    for try await commit in stream {
      if commit.changes.isUnknown { unknown += 1 } else { known += 1 }
    }
    #expect((31...74).contains(known) && unknown == 1, "\(known) and \(unknown)")
  }

  @Test func streamsEndWithTheTaskAndTheDatabase() async throws {
    let stream = db.commits
    let waiting = Task { () -> Bool in
      for try await _ in stream { return false }
      return true
    }
    waiting.cancel()
    #expect(try await waiting.value)
    let second = db.commits
    try synchronously { try db.close() }
    for try await _ in second { Issue.record("a commit after the end") }
    #expect(errorCode { _ = try db.pin() } == .closed)
  }

  @Test func actionsRunAfterTheCommitAndMayWrite() throws {
    let order = Recorder()
    let db = db
    try db.write { tx throws in
      try tx[.texts("t")].set("1", for: "k")
      tx.onCommit {
        order.append("first \((try? db.read { tx in try tx[.texts("t")].get("k") }) ?? "nothing")")
        try? db.write { tx throws in try tx[.texts("t")].set("2", for: "k") }
      }
      tx.onCommit { order.append("second") }
    }
    #expect(order.values == ["first 1", "second"])
    #expect(try db.read { tx in try tx[.texts("t")].get("k") } == "2")
    #expect(throws: (any Error).self) {
      try db.write { tx throws -> Void in
        tx.onCommit { order.append("never") }
        try tx.rollback()
      }
    }
    #expect(order.values.count == 2)
  }

  @Test func cancelledWritersDoNotRun() async throws {
    let db = db
    let begun = AsyncStream.makeStream(of: Void.self)
    let gate = DispatchSemaphore(value: 0)
    let first = Task {
      try await db.write { tx in
        begun.continuation.yield()
        gate.wait()
        try tx[.texts("t")].set("first", for: "k")
      }
    }
    for await _ in begun.stream { break }
    let second = Task { try await db.write { tx in try tx[.texts("t")].set("second", for: "k") } }
    second.cancel()
    await #expect(throws: CancellationError.self) { try await second.value }
    gate.signal()
    try await first.value
    #expect(try await db.read { tx in try tx[.texts("t")].get("k") } == "first")
  }

  @Test func drainingWaitsForWhatWasBegun() async throws {
    let connection = db.makeConnection()
    let gate = DispatchSemaphore(value: 0)
    let begun = AsyncStream.makeStream(of: Void.self)
    let order = Recorder()
    let writer = Task {
      try await connection.write { tx in
        begun.continuation.yield()
        gate.wait()
        try tx[.texts("t")].set("v", for: "k")
      }
      order.append("written")
    }
    for await _ in begun.stream { break }
    let drain = Task {
      await connection.drain()
      order.append("drained")
    }
    // Nothing was begun on the database itself, so that this does not wait for the writer.
    await db.drain()
    order.append("idle")
    gate.signal()
    await drain.value
    try await writer.value
    #expect(order.values.first == "idle" && order.values.contains("drained"))
    #expect(try await db.read { tx in try tx[.texts("t")].get("k") } == "v")
    await connection.drain()
  }

  @Test func connectionsHaveDefaults() throws {
    let folder = try TestFolder()
    let options = Database.Options(
      durability: .relaxed, readerThreadCount: 3, connectionDefaults: Connection.Options(permits: .reads))
    let db = try folder.open(options)
    #expect(errorCode { try db.makeConnection().write { _ in } } == .notPermitted)
    #expect(errorCode { try db.makeConnection(Connection.Options()).write { _ in } } == nil)
    #expect(errorCode { try db.write { _ in } } == nil)
    #expect(errorCode { _ = try TestFolder().open(Database.Options(readerThreadCount: 0)) } == .invalidOption)
  }

  private func synchronously<Result>(_ body: () throws -> Result) throws -> Result { try body() }
}
