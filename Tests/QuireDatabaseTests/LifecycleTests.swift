// Collections and fields through rollbacks and reopening; databases, connections and streams that come and go.

import Foundation
import Logging
import QuireDatabase
import QuireTesting
import Testing

private struct Small: Codable, Sendable, Equatable { var a = 1 }
private struct Large: Codable, Sendable, Equatable { var a = 1, b = 2, c: String? = "c" }

@Suite struct LifecycleTests {
  private struct Undo: Error {}
  let folder: TestFolder

  init() throws { folder = try TestFolder() }

  /// A type whose fields depend on its value, as an enumeration's do.
  private enum Shape: Codable, Sendable, Equatable {
    case circle(radius: Int)
    case square(side: Int)
    case text(content: String, size: Int)
  }

  @Test func fieldsThatWereRolledBackAreLearntAgain() throws {
    let shapes = RowCollection<Shape, NoMetadata>("shapes")
    let db = try folder.open()
    try db.write { tx throws in try tx[shapes].set(.circle(radius: 1), for: "1") }
    #expect(throws: Undo.self) {
      try db.write { tx throws in
        try tx[shapes].set(.square(side: 2), for: "2")
        throw Undo()
      }
    }
    try db.write { tx throws in
      do {
        try tx.savepoint {
          try tx[shapes].set(.square(side: 2), for: "2")
          #expect(try tx[shapes].get("2") == .square(side: 2))
          throw Undo()
        }
      } catch is Undo {}
      // The number that the savepoint gave «square» goes to another field.
      try tx[shapes].set(.text(content: "t", size: 3), for: "3")
      #expect(try tx[shapes].get("3") == .text(content: "t", size: 3))
    }
    try db.write { tx throws in try tx[shapes].set(.square(side: 4), for: "4") }
    try db.checkInvariants()
    try db.close()
    let again = try folder.open()
    try again.read { tx throws in
      #expect(
        tx[shapes].rows.map(\.object) == [.circle(radius: 1), .text(content: "t", size: 3), .square(side: 4)])
    }
  }

  @Test func collectionsMayGoAndComeBackInOneTransaction() throws {
    let db = try folder.open()
    let texts = RowCollection<String, String>.texts("t")
    try db.write { tx throws in try tx[texts].set("1", for: "k") }
    try db.write { tx throws in
      try tx[texts].removeAll()
      #expect(tx.collections == [])
      try tx[texts].set("2", for: "k")
      try tx[texts].remove("k")
      try tx[texts].set("3", for: "l")
    }
    try db.checkInvariants()
    try db.write { tx throws in
      do {
        try tx.savepoint {
          try tx.removeAll()
          try tx[.texts("u")].set("u", for: "k")
          throw Undo()
        }
      } catch is Undo {}
      #expect(tx.collections == ["t"])
      try tx.removeAll()
    }
    try db.checkInvariants()
    #expect(try db.read { tx in tx.collections } == [])
    try db.write { tx throws in try tx[texts].set("4", for: "k") }
    try db.checkInvariants()
    try db.close()
    #expect(try folder.open().read { tx in try tx[texts].get("k") } == "4")
  }

  @Test func aCollectionWhoseOnlyRowCannotBeStoredDoesNotExist() throws {
    struct Refused: Error {}
    let refusing = RowCollection<String, NoMetadata>(
      "refusing", coder: RowCoder(encode: { _ in throw Refused() }, decode: { _ in "" }))
    let db = try folder.open()
    try db.write { tx throws in
      #expect(errorCode { try tx[refusing].set("v", for: "k") } == .encodingFailed)
      #expect(tx.collections == [])
    }
    try db.checkInvariants()
  }

  @Test func readersOfOldSnapshotsKeepTheirFields() throws {
    let db = try folder.open()
    let shapes = RowCollection<Shape, NoMetadata>("shapes")
    try db.write { tx throws in try tx[shapes].set(.circle(radius: 1), for: "1") }
    let pin = try db.pin()
    try db.write { tx throws in try tx[shapes].set(.square(side: 2), for: "1") }
    let second = try db.pin()
    try db.write { tx throws in
      try tx[shapes].removeAll()
      try tx[shapes].set(.text(content: "t", size: 3), for: "1")
    }
    try db.write { tx throws in try tx[shapes].removeAll() }
    for _ in 0..<3 {
      #expect(try pin.read { tx in try tx[shapes].get("1") } == .circle(radius: 1))
      #expect(try second.read { tx in try tx[shapes].get("1") } == .square(side: 2))
      #expect(try db.read { tx in try tx[shapes].get("1") } == nil)
    }
    #expect(try pin.advance().count == 3)
    #expect(try pin.read { tx in tx.collections } == [])
  }

  // MARK: Coming and going

  @Test func writesThatAreUnderWayOutliveTheDatabase() async throws {
    let writes = try startWrites()
    var sum = 0
    for write in writes { sum += try await write.value }
    #expect(sum == (0..<50).reduce(0, +))
    var again: Database?
    // The last of them lets go of the file a moment after it has returned.
    for _ in 0..<500 where again == nil {
      again = try? folder.open()
      if again == nil { try await Task.sleep(for: .milliseconds(10)) }
    }
    #expect(try await again?.read { tx in tx[.texts("t")].count } == 50)
  }

  private func startWrites() throws -> [Task<Int, any Error>] {
    let db = try folder.open(Database.Options(durability: .full))
    return (0..<50).map { number in
      Task { [db] in
        try await db.write { tx in
          try tx[.texts("t")].set("v", for: "\(number)")
          return number
        }
      }
    }
  }

  @Test func closingAnswersEverybody() async throws {
    let db = try folder.open(Database.Options(durability: .full))
    let stream = db.commits
    let writes = (0..<40).map { number in
      Task { () -> Bool in
        do {
          try await db.write { tx in try tx[.texts("t")].set("v", for: "\(number)") }
          return true
        } catch let error as DatabaseError {
          #expect(error.code == .closed)
          return false
        }
      }
    }
    _ = try await writes[0].value
    try closeNow(db)
    var count = 0
    for write in writes where try await write.value { count += 1 }
    var told = 0
    for try await commit in stream { told += commit.changes.isUnknown ? 1000 : 1 }
    #expect(told == count)
    #expect(try countRows() == count)
  }

  private func closeNow(_ db: Database) throws { try db.close() }
  private func countRows() throws -> Int { try folder.open().read { tx in tx[.texts("t")].count } }

  @Test func streamsLiveAsLongAsAConnection() async throws {
    var db: Database? = try folder.open()
    let connection = try #require(db).makeConnection()
    let stream = try #require(db).commits
    db = nil
    try await connection.write { tx in try tx[.texts("t")].set("v", for: "k") }
    for try await commit in stream {
      #expect(commit.changes.changedKeys(in: .texts("t")) == ["k"])
      break
    }
  }

  @Test func aCancelledConsumerLeavesTheStreamToOthers() async throws {
    let db = try folder.open()
    let stream = db.commits
    let first = Task { for try await _ in stream { Issue.record("a commit for a cancelled task") } }
    first.cancel()
    try await first.value
    try await db.write { tx in try tx[.texts("t")].set("v", for: "k") }
    for try await commit in stream {
      #expect(commit.changes.changedKeys(in: .texts("t")) == ["k"])
      break
    }
  }

  @Test func synchronousCallsFromAllTasksDoNotDeadlock() async throws {
    let db = try folder.open(Database.Options(durability: .full))
    let tasks = ProcessInfo.processInfo.activeProcessorCount + 1
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<tasks {
        group.addTask {
          try Self.blocking(db, task)
          try await db.write { tx in try tx[.texts("t")].set("async", for: "a\(task)") }
        }
      }
      try await group.waitForAll()
    }
    #expect(try await db.read { tx in tx[.texts("t")].count } == 11 * tasks)
  }

  private static func blocking(_ db: Database, _ task: Int) throws {
    for number in 0..<10 {
      try db.write { tx throws in try tx[.texts("t")].set("v", for: "\(task) \(number)") }
      #expect(try db.read { tx in try tx[.texts("t")].get("\(task) \(number)") } == "v")
    }
  }

  // MARK: Messages

  private struct Handler: LogHandler {
    let messages: Recorder
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }
    func log(event: LogEvent) { messages.append("\(event.level): \(event.message)") }
  }

  @Test func messagesTellOfRecoveryAndMissedCommits() throws {
    let messages = Recorder()
    let logger = Logger(label: "test") { _ in Handler(messages: messages) }
    let db = try folder.open(Database.Options(durability: .full, commitBuffer: 2, logger: logger))
    let stream = db.commits
    for number in 0..<5 { try db.write { tx throws in try tx[.texts("t")].set("\(number)", for: "k") } }
    _ = stream
    #expect(messages.values.filter { $0.hasPrefix("warning: A follower") }.count == 1 && messages.values.count == 1)
  }
}
