// Who sees what, and who waits for whom.

import Foundation
import Quire
import QuireTesting
import Testing
import YapCompat

@Suite struct ConcurrencyTests {
  let fixture: YapFixture
  let connection: YapDatabaseConnection
  let second: YapDatabaseConnection

  init() throws {
    fixture = try YapFixture()
    connection = fixture.connection
    second = fixture.database.newConnection()
  }

  // test2: uncommitted rows are nobody's business.
  @Test func othersSeeARowOnceItIsCommitted() async throws {
    let (set, done) = (Gate(), Gate())
    let go = DispatchSemaphore(value: 0)
    func seen() throws -> String? { try second.read { $0.object(forKey: "key", inCollection: nil) as? String } }
    #expect(try seen() == nil)
    connection.asyncReadWrite(
      { transaction in
        transaction.setObject("object", forKey: "key", inCollection: nil)
        set.open()
        go.wait()
      }, completionQueue: .global()
    ) { done.open() }
    await set.wait()
    #expect(try seen() == nil)
    go.signal()
    await done.wait()
    #expect(try seen() == "object")
  }

  // test3 and testVFS: a snapshot begins with its transaction, and writers wait for no reader.
  @Test func readersKeepTheirSnapshotAndNobodyWaits() async throws {
    let (begun, ended) = (Gate(), Gate())
    let committed = DispatchSemaphore(value: 0)
    let seen = Recorder()
    second.asyncRead(
      { transaction in
        begun.open()
        committed.wait()
        seen.append("\(transaction.numberOfCollections())")
      }, completionQueue: .global()
    ) { ended.open() }
    await begun.wait()
    try connection.readWrite { transaction in
      transaction.setObject("object", forKey: "key", inCollection: nil)
      #expect(transaction.numberOfCollections() == 1)
    }
    // The commit has returned, and the reader is still there.
    #expect(seen.values.isEmpty)
    committed.signal()
    await ended.wait()
    #expect(seen.values == ["0"])
  }

  @Test func oneConnectionGoesInOrder() async throws {
    let (order, done) = (Recorder(), Gate())
    for number in 0..<50 {
      if number.isMultiple(of: 2) {
        connection.asyncReadWrite { transaction in
          transaction.setObject("\(number)", forKey: "key", inCollection: nil)
          order.append("\(number)")
        }
      } else {
        connection.asyncRead { transaction in
          #expect(transaction.object(forKey: "key", inCollection: nil) as? String == "\(number - 1)")
          order.append("\(number)")
        }
      }
    }
    #expect(connection.pendingTransactionCount <= 50)
    connection.flushTransactions(withCompletionQueue: .global()) { done.open() }
    await done.wait()
    #expect(order.values == (0..<50).map(String.init))
    #expect(connection.pendingTransactionCount == 0 && fixture.errors.values.isEmpty)
    // A blocking call waits for its turn, too.
    connection.asyncReadWrite { $0.setObject("last", forKey: "key", inCollection: nil) }
    #expect(try connection.read { $0.object(forKey: "key", inCollection: nil) as? String } == "last")
  }

  @Test func manyConnectionsAtOnce() async throws {
    let done = Gate()
    let database = fixture.database
    for writer in 0..<4 {
      let connection = database.newConnection()
      for number in 0..<25 {
        connection.asyncReadWrite(
          { transaction in
            transaction.setObject("v", forKey: "\(writer)-\(number)", inCollection: "many")
            let count = transaction.object(forKey: "count", inCollection: "counts") as? String ?? "0"
            transaction.setObject("\((Int(count) ?? 0) + 1)", forKey: "count", inCollection: "counts")
          }, completionQueue: .global()
        ) { done.open() }
      }
    }
    let reader = database.newConnection()
    for _ in 0..<50 {
      try reader.read { transaction in
        let count = transaction.object(forKey: "count", inCollection: "counts") as? String ?? "0"
        #expect(transaction.numberOfKeys(inCollection: "many") == UInt(count))
      }
    }
    await done.wait(100)
    #expect(try reader.read { $0.object(forKey: "count", inCollection: "counts") as? String } == "100")
    #expect(fixture.errors.values.isEmpty)
  }

  // Completion blocks: those of a transaction after its commit and in order, those of the call in any case.
  @Test func completionBlocksComeInOrder() async throws {
    let (order, done) = (Recorder(), Gate())
    let queue = DispatchQueue(label: "completion")
    let reader = second
    connection.asyncReadWrite(
      { transaction in
        transaction.setObject("object", forKey: "key", inCollection: nil)
        transaction.addCompletionQueue(queue) {
          let isThere = (try? reader.read { $0.hasObject(forKey: "key", inCollection: nil) }) ?? false
          order.append("first \(isThere)")
        }
        transaction.addCompletionQueue(queue) { order.append("second") }
        order.append("block")
      }, completionQueue: queue
    ) {
      order.append("call")
      done.open()
    }
    await done.wait()
    #expect(order.values == ["block", "first true", "second", "call"])
    connection.asyncReadWrite(
      { transaction in
        transaction.setObject("other", forKey: "key", inCollection: nil)
        transaction.addCompletionQueue(queue) { order.append("never") }
        transaction.rollback()
      }, completionQueue: queue
    ) {
      order.append("rolled back")
      done.open()
    }
    await done.wait()
    #expect(order.values.last == "rolled back" && !order.values.contains("never"))
    #expect(try second.read { $0.object(forKey: "key", inCollection: nil) as? String } == "object")
  }

  @Test(.timeLimit(.minutes(1))) func theMainQueueIsTheDefault() async throws {
    let (main, done) = (Recorder(), Gate())
    MainQueueProbe.install()
    connection.asyncRead({ _ in }) {
      main.append("\(MainQueueProbe.isCurrent)")
      done.open()
    }
    await done.wait()
    #expect(main.values == ["true"])
  }

  // testDeadlockDetection
  @Test func transactionsInsideTransactionsAreErrors() throws {
    try connection.readWrite { $0.setObject("object", forKey: "key", inCollection: nil) }
    let (connection, second) = (connection, second)
    try connection.read { _ in
      #expect(errorCode { try connection.read { _ in } } == .nestedTransaction)
      #expect(errorCode { try connection.readWrite { _ in } } == .nestedTransaction)
      // The original let a write on another connection wait here.
      #expect(errorCode { try second.readWrite { _ in } } == .nestedTransaction)
      #expect(errorCode { try connection.vacuum() } == .nestedTransaction)
      #expect((connection.backup(toPath: "/nowhere") as? DatabaseError)?.code == .nestedTransaction)
    }
    try connection.readWrite { transaction in
      transaction.setObject("new", forKey: "key", inCollection: nil)
      #expect(errorCode { try connection.readWrite { _ in } } == .nestedTransaction)
      #expect(errorCode { try connection.read { _ in } } == .nestedTransaction)
      #expect(errorCode { try second.readWrite { _ in } } == .nestedTransaction)
      // Reading on another connection is allowed, and shows the last commit.
      let seen = try? second.read { $0.object(forKey: "key", inCollection: nil) as? String }
      #expect(seen == "object")
    }
    #expect(try second.read { $0.object(forKey: "key", inCollection: nil) as? String } == "new")
  }

  // Two threads that look into each other's connections: with turns for nested reads they would wait for ever.
  @Test(.timeLimit(.minutes(1))) func nestedReadsNeverWait() async throws {
    let done = Gate()
    let (connection, second) = (connection, second)
    let (firstIsIn, secondIsIn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    connection.asyncRead(
      { _ in
        firstIsIn.signal()
        secondIsIn.wait()
        #expect(errorCode { try second.read { _ in } } == nil)
      }, completionQueue: .global()
    ) { done.open() }
    second.asyncRead(
      { _ in
        secondIsIn.signal()
        firstIsIn.wait()
        #expect(errorCode { try connection.read { _ in } } == nil)
      }, completionQueue: .global()
    ) { done.open() }
    await done.wait(2)
    #expect(fixture.errors.values.isEmpty)
  }
}
