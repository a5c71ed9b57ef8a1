// A database that gives its file up and takes it again, with and without others who write meanwhile.

import Foundation
import QuireDatabase
import QuireTesting
import Testing

@Suite("Suspending and resuming") struct SuspensionTests {
  let folder: TestFolder

  init() throws { folder = try TestFolder() }

  /// Lets somebody else open the file, write, and close it.
  private func writeElsewhere(_ text: String, for key: String) throws {
    let other = try folder.open()
    try other.store(text, for: key)
    try other.close()
  }

  @Test("The file can be opened by others, and the database refuses reads and writes and says what helps")
  func givesUp() throws {
    let db = try folder.open()
    try db.store("mine", for: "k")
    #expect(errorCode { _ = try folder.open() } == .alreadyOpen)
    #expect(!db.isSuspended)
    try db.suspendHere()
    #expect(db.isSuspended)
    // Once more is no harm.
    try db.suspend(timeout: .zero)
    let other = try folder.open()
    // A commit that was not durable is there.
    #expect(try other.text("k") == "mine")
    let calls: [() throws -> Void] = [
      { _ = try db.text("k") }, { try db.store("x", for: "y") }, { try db.flush() }, { try db.checkpoint() },
    ]
    for refused in calls {
      let error = #expect(throws: DatabaseError.self) { try refused() }
      #expect(error?.code == .suspended && error?.message.contains("resume()") == true, "\(String(describing: error))")
    }
    #expect(errorCode { _ = try db.pin() } == .suspended)
    let error = #expect(throws: DatabaseError.self) { try db.resumeHere() }
    #expect(error?.code == .alreadyOpen && error?.message.contains("this process") == true)
    #expect(db.isSuspended)
    try other.close()
    #expect(try !db.resumeHere())
    #expect(!db.isSuspended)
    #expect(try !db.resumeHere())
    #expect(try db.text("k") == "mine")
    try db.store("more", for: "l")
    try db.verify()
    try db.checkInvariants()
    try db.close()
    let again = try folder.open()
    #expect(try again.text("l") == "more")
  }

  @Test("If nobody else has written, pins of the newest commit and streams go on, and nobody is told anything")
  func unchanged() async throws {
    let db = try folder.open()
    try db.store("1", for: "k")
    let old = try db.pin()
    try db.store("2", for: "k")
    let newest = try db.pin()
    let commits = db.commits
    for round in 0..<3 {
      try db.suspendHere()
      #expect(errorCode { _ = try newest.text("k") } == .suspended)
      #expect(errorCode { try newest.advance() } == .suspended)
      #expect(try !db.resumeHere(), "round \(round)")
      #expect(try newest.text("k") == "2")
      let error = #expect(throws: DatabaseError.self) { _ = try old.text("k") }
      #expect(error?.code == .snapshotGone && error?.message.contains("advance()") == true)
      #expect(try newest.advance().isEmpty)
    }
    #expect(try old.advance().map(\.changes.isUnknown) == [false])
    #expect(try old.text("k") == "2")
    try db.store("3", for: "k")
    #expect(try newest.advance().count == 1)
    var iterator = commits.makeAsyncIterator()
    let told = try #require(try await iterator.next())
    #expect(!told.changes.isUnknown && told.csn == newest.csn)
    try db.checkInvariants()
  }

  @Test("If somebody else has written, everything is found anew, and those who follow are told")
  func changed() async throws {
    let db = try folder.open(Database.Options(durability: .relaxed, objectCache: ObjectCacheOptions()))
    try db.store("1", for: "k")
    for _ in 0..<3 { #expect(try db.text("k") == "1") }
    let pin = try db.pin()
    let before = pin.csn
    let commits = db.commits
    try db.suspendHere()
    try writeElsewhere("2", for: "k")
    #expect(try db.resumeHere())
    #expect(try db.text("k") == "2")
    #expect(errorCode { _ = try pin.text("k") } == .snapshotGone)
    #expect(pin.csn == before)
    #expect(try pin.advance().map(\.changes.isUnknown) == [true])
    #expect(try pin.text("k") == "2")
    var iterator = commits.makeAsyncIterator()
    let first = try #require(try await iterator.next())
    #expect(first.changes.isUnknown && first.csn == pin.csn)
    try db.store("3", for: "k")
    let next = try #require(try await iterator.next())
    #expect(!next.changes.isUnknown)
    #expect(try db.text("k") == "3")
    try db.checkInvariants()
  }

  @Test("Collections that others have made and removed are found") func collections() throws {
    let db = try folder.open()
    try db.store("1", for: "k")
    try db.suspendHere()
    let other = try folder.open()
    try other.write { tx throws in
      try tx[.texts("t")].removeAll()
      try tx[.texts("u")].set("new", for: "k")
    }
    try other.close()
    #expect(try db.resumeHere())
    #expect(try db.read { tx in Array(tx.collections) } == ["u"])
    #expect(try db.read { tx in try tx[.texts("u")].get("k") } == "new")
    try db.store("back", for: "k")
    try db.checkInvariants()
    try db.verify()
  }

  @Test("Observers run again if somebody else has written") func observers() async throws {
    let db = try folder.open()
    try db.store("1", for: "k")
    let results = db.observe { tx in try tx[.texts("t")].get("k") }
    var iterator = results.makeAsyncIterator()
    #expect(try await iterator.next() == "1")
    try db.suspendHere()
    try writeElsewhere("2", for: "k")
    try db.resumeHere()
    #expect(try await iterator.next() == "2")
    // What they have to read while it is suspended they read afterwards.
    let seen = Shared<String?>(nil)
    let consumer = Task { for try await value in results { seen.withLock { $0 = value } } }
    for round in 0..<20 {
      try db.store("round \(round)", for: "k")
      try db.suspendHere()
      if round % 2 == 0 { try await Task.sleep(for: .milliseconds(2)) }
      try db.resumeHere()
      let deadline = ContinuousClock.now + .seconds(20)
      while seen.withLock({ $0 }) != "round \(round)", ContinuousClock.now < deadline {
        try await Task.sleep(for: .milliseconds(1))
      }
      #expect(seen.withLock { $0 } == "round \(round)")
    }
    try db.store("late", for: "k")
    try db.suspendHere()
    try await Task.sleep(for: .milliseconds(2))
    try db.close()
    // It has ended, and not with an error.
    try await consumer.value
  }

  @Test("A file that is gone, or older than what was seen, is refused, and the database stays suspended")
  func otherFile() throws {
    let db = try folder.open()
    try db.store("1", for: "k")
    let copy = folder.url.appendingPathComponent("copy").path
    try db.suspendHere()
    let aside = folder.url.appendingPathComponent("aside")
    let file = URL(fileURLWithPath: folder.path)
    try FileManager.default.moveItem(at: file, to: aside)
    #expect(errorCode { try db.resumeHere() } == .notFound)
    #expect(db.isSuspended && !FileManager.default.fileExists(atPath: folder.path))
    let stranger = try Database(at: copy)
    try stranger.close()
    try FileManager.default.moveItem(atPath: copy, toPath: folder.path)
    #expect(throws: DatabaseError.self) { try db.resumeHere() }
    #expect(db.isSuspended)
    try FileManager.default.removeItem(at: file)
    try FileManager.default.moveItem(at: aside, to: file)
    #expect(try !db.resumeHere())
    // An older state of the same database.
    try db.checkpoint()
    try db.suspendHere()
    let saved = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
      .filter { $0.hasPrefix("test.quire") }
      .map { name in (name, try Data(contentsOf: folder.url.appendingPathComponent(name))) }
    try db.resumeHere()
    for number in 0..<4 { try db.store("\(number)", for: "k") }
    try db.suspendHere()
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
    for name in names where name.hasPrefix("test.quire") {
      try FileManager.default.moveItem(
        at: folder.url.appendingPathComponent(name), to: folder.url.appendingPathComponent("newer-\(name)"))
    }
    for (name, bytes) in saved { try bytes.write(to: folder.url.appendingPathComponent(name)) }
    #expect(errorCode { try db.resumeHere() } == .fileChanged)
    #expect(db.isSuspended)
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.url.path) where name.hasPrefix("test.quire")
    {
      try FileManager.default.removeItem(at: folder.url.appendingPathComponent(name))
    }
    for name in names where name.hasPrefix("test.quire") {
      try FileManager.default.moveItem(
        at: folder.url.appendingPathComponent("newer-\(name)"), to: folder.url.appendingPathComponent(name))
    }
    #expect(try !db.resumeHere())
    #expect(try db.text("k") == "3")
  }

  @Test("A database in memory has nothing to give up, and goes on") func inMemory() async throws {
    let db = try Database.inMemory()
    try db.store("1", for: "k")
    try db.suspendHere()
    #expect(!db.isSuspended)
    #expect(try db.text("k") == "1")
    #expect(try !db.resumeHere())
    try await db.waitUntilResumed()
  }

  @Test("A database that is only read gives its shared lock up, and sees afterwards what others have written")
  func readOnly() throws {
    let first = try folder.open()
    try first.store("1", for: "k")
    try first.close()
    let reader = try folder.open(Database.Options(isReadOnly: true))
    #expect(try reader.text("k") == "1")
    #expect(errorCode { _ = try folder.open() } == .alreadyOpen)
    try reader.suspendHere()
    try writeElsewhere("2", for: "k")
    #expect(errorCode { _ = try reader.text("k") } == .suspended)
    #expect(try reader.resumeHere())
    #expect(try reader.text("k") == "2")
    try reader.suspendHere()
    #expect(try !reader.resumeHere())
    try reader.close()
  }

  @Test("Closed while suspended, it cannot be resumed") func closedMeanwhile() async throws {
    let db = try folder.open()
    try db.store("1", for: "k")
    try db.suspendHere()
    try db.close()
    #expect(!db.isSuspended)
    #expect(errorCode { try db.resumeHere() } == .closed)
    #expect(errorCode { try db.suspendHere() } == .closed)
    #expect(errorCode { _ = try db.text("k") } == .closed)
    await #expect(throws: DatabaseError.self) { try await db.waitUntilResumed() }
    try db.close()
    let again = try folder.open()
    #expect(try again.text("k") == "1")
  }

  @Test("One that goes while it is suspended has given its file up already") func gone() throws {
    do {
      let db = try folder.open()
      try db.store("1", for: "k")
      try db.suspendHere()
    }
    let again = try folder.open()
    #expect(try again.text("k") == "1")
  }

  @Test("Tasks may wait for the end of a suspension, and be cancelled") func waiting() async throws {
    let db = try folder.open()
    try await db.waitUntilResumed()
    try await db.suspend(timeout: .seconds(10))
    let patient = Task { try await db.waitUntilResumed() }
    let cancelled = Task { try await db.waitUntilResumed() }
    let closed = Task { try await db.waitUntilResumed() }
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    #expect(try await db.resume() == false)
    try await patient.value
    try await closed.value
  }
}
