// What transactions promise: isolation, rollback, savepoints, and errors in place of deadlocks and wrong results.

import Foundation
import QuireDatabase
import QuireTesting
import Testing

@Suite struct TransactionTests {
  let folder: TestFolder
  let db: Database

  init() throws {
    folder = try TestFolder()
    db = try folder.open()
  }

  private struct Failure: Error, Equatable {}

  @Test func throwingRollsBack() throws {
    try db.write { tx throws in try tx[.texts("t")].set("kept", for: "k") }
    #expect(throws: Failure.self) {
      try db.write { tx throws in
        try tx[.texts("t")].set("lost", for: "k")
        try tx[.texts("new")].set("lost", for: "k")
        throw Failure()
      }
    }
    #expect(errorCode { try db.write { tx -> Void in try tx.rollback() } } == .rolledBack)
    try db.read { tx throws in
      #expect(try tx[.texts("t")].get("k") == "kept")
      #expect(tx.collections == ["t"])
    }
    try db.write { tx throws in try tx[.texts("new")].set("there", for: "k") }
    #expect(try db.read { tx in try tx[.texts("new")].get("k") } == "there")
  }

  @Test func savepointsUndoTheirPart() throws {
    let commits = Recorder()
    try db.write { tx throws in
      tx.commitInfo = "outer"
      try tx[.songs].set(Song("kept"), for: "s1")
      #expect(throws: Failure.self) {
        try tx.savepoint {
          tx.commitInfo = "inner"
          tx.onCommit { commits.append("inner") }
          try tx[.songs].set(Song("lost"), for: "s1")
          try tx[.albums].set(Album(name: "lost"), for: "a1")
          try tx[.texts("t")].set("lost", for: "k")
          throw Failure()
        }
      }
      tx.onCommit { commits.append("outer") }
      #expect(tx.commitInfo as? String == "outer")
      #expect(try tx[.songs].get("s1") == Song("kept"))
      #expect(try tx[.albums].get("a1") == nil)
      try tx.savepoint { try tx[.albums].set(Album(name: "kept"), for: "a2") }
      #expect(tx.collections == ["albums", "songs"])
    }
    #expect(commits.values == ["outer"])
    try db.close()
    let reopened = try folder.open()
    try reopened.read { tx throws in
      #expect(tx.collections == ["albums", "songs"])
      #expect(try tx[.songs].get("s1") == Song("kept"))
      #expect(try tx[.albums].get("a2") == Album(name: "kept"))
    }
  }

  @Test func snapshotsBeginWithTheClosure() throws {
    let begun = DispatchSemaphore(value: 0)
    let written = DispatchSemaphore(value: 0)
    let ended = DispatchSemaphore(value: 0)
    let seen = Recorder()
    let db = db
    Thread.detachNewThread {
      try? db.read { tx throws in
        begun.signal()
        written.wait()
        // Nothing was read before the commit, and yet it is not seen.
        seen.append("\(tx.collections)")
      }
      ended.signal()
    }
    begun.wait()
    try db.write { tx throws in try tx[.texts("t")].set("v", for: "k") }
    written.signal()
    ended.wait()
    #expect(seen.values == ["[]"])
    #expect(try db.read { tx in tx.collections } == ["t"])
  }

  @Test func nestingIsAnErrorAndNoDeadlock() throws {
    let other = db.makeConnection()
    try db.write { tx throws in
      #expect(errorCode { try db.write { _ in } } == .nestedTransaction)
      #expect(errorCode { try db.read { _ in } } == .nestedTransaction)
      #expect(errorCode { try other.write { _ in } } == .nestedTransaction)
      try tx[.texts("t")].set("v", for: "k")
    }
    let pin = try db.pin()
    try db.read { tx throws in
      #expect(errorCode { try db.write { _ in } } == .nestedTransaction)
      #expect(errorCode { try db.read { _ in } } == .nestedTransaction)
      #expect(try pin.read { tx in try tx[.texts("t")].get("k") } == "v")
    }
    #expect(try db.read { tx in try tx[.texts("t")].get("k") } == "v")
  }

  @Test func transactionsEndWithTheirClosures() throws {
    var leaked: WriteTransaction?
    var rows: WritableRows<String, String>?
    var iterator: RowSequence<String, String>.Iterator?
    try db.write { tx throws in
      leaked = tx
      rows = tx[.texts("t")]
      try rows?.set("v", for: "k")
      iterator = rows?.rows.makeIterator()
    }
    #expect(errorCode { try rows?.set("w", for: "k") } == .transactionClosed)
    #expect(errorCode { _ = try rows?.get("k") } == .transactionClosed)
    #expect(errorCode { try leaked?.removeAll() } == .transactionClosed)
    #expect(errorCode { _ = try leaked?[.songs].get("k") } == .transactionClosed)
    #expect(iterator?.next() == nil)
    #expect(rows?.count == 0)
    #expect(try db.read { tx in try tx[.texts("t")].get("k") } == "v")
  }

  @Test(arguments: [0, 1, 2, 3])
  func mutationDuringIterationIsReported(_ kind: Int) throws {
    try db.write { tx throws in
      for key in 1...5 { try tx[.texts("t")].set("v", metadata: "m", for: "key\(key)") }
    }
    func iterate(_ tx: WriteTransaction, _ body: () throws -> Bool) throws {
      let texts = tx[.texts("t")]
      switch kind {
      case 0: for _ in texts.rows where try body() { return }
      case 1: for _ in texts.keys where try body() { return }
      case 2: for _ in texts.metadata.reversed() where try body() { return }
      default: for _ in tx.rawRows("t") where try body() { return }
      }
    }
    let code = errorCode {
      try db.write { tx throws in
        try iterate(tx) {
          try tx[.texts("t")].set("w", for: "key5")
          return false
        }
      }
    }
    #expect(code == .mutatedDuringIteration)
    #expect(try db.read { tx in try tx[.texts("t")].get("key5") } == "v")
    try db.write { tx throws in
      try iterate(tx) {
        try tx[.texts("t")].set("w", for: "key5")
        return true
      }
      var count = 0
      try iterate(tx) {
        try tx[.texts("t")].touch("key1")
        count += 1
        return false
      }
      #expect(count == 5)
    }
    #expect(try db.read { tx in try tx[.texts("t")].get("key5") } == "w")
  }

  @Test func loopsMayBeNested() throws {
    try db.write { tx throws in
      for team in ["brs", "nyy"] {
        try tx[.texts("teams")].set(team, for: team)
        for player in 1...2 { try tx[.texts(team)].set("player", for: "\(player)") }
      }
    }
    let steps = try db.read { tx in
      var steps = 0
      for team in tx[.texts("teams")].keys {
        for _ in tx[.texts(team)].keys { steps += 1 }
      }
      return steps
    }
    #expect(steps == 4)
  }

  @Test func aFailingCoderFailsTheCallAndNamesTheRow() throws {
    struct Refused: Error {}
    let coder = RowCoder<String>(
      encode: { if $0 == "bad" { throw Refused() } else { Array($0.utf8) } },
      decode: { bytes in
        let text = String(decoding: bytes.withUnsafeBytes { Array($0) }, as: UTF8.self)
        if text == "rotten" { throw Refused() }
        return text
      })
    let collection = RowCollection<String, NoMetadata>("custom", coder: coder)
    try db.write { tx throws in
      try tx[collection].set("good", for: "a")
      do {
        try tx[collection].set("bad", for: "b")
        Issue.record("stored what could not be encoded")
      } catch let error as DatabaseError {
        #expect(error.code == .encodingFailed && error.collection == "custom" && error.key == "b")
        #expect(error.cause is Refused)
      }
      try tx[collection].set("rotten", for: "c")
      try tx[collection].set("good", for: "d")
    }
    try db.read { tx throws in
      #expect(tx[collection].count == 3)
      #expect(errorCode { _ = try tx[collection].get("c") } == .decodingFailed)
    }
    // A loop cannot throw: the rows in front of the bad one, and then the error.
    var seen: [String] = []
    let code = errorCode {
      try db.read { tx in for row in tx[collection].rows { seen.append(row.key) } }
    }
    #expect(code == .decodingFailed && seen == ["a"])
    #expect(errorCode { _ = try db.write { tx in try tx[collection].set("bad", for: "x") } } == .encodingFailed)
    #expect(try db.read { tx in tx[collection].keys.map { $0 } } == ["a", "c", "d"])
  }

  @Test func sanitizersPutObjectsIntoShape() throws {
    let stored = Recorder()
    let collection = RowCollection<String, String>("shaped")
      .sanitizing { _, text in text.isEmpty ? nil : text.uppercased() }
      .sanitizingMetadata { _, text in text == "none" ? nil : text + "!" }
      .afterStoring { key, text in stored.append("\(key)=\(text)") }
    try db.write { tx throws in
      try tx[collection].set("a", metadata: "m", for: "1")
      try tx[collection].set("b", metadata: "none", for: "2")
      #expect(try tx[collection].replace("c", for: "2"))
      try tx[collection].set("d", for: "3")
      try tx[collection].set("", for: "3")
      #expect(try tx[collection].row("1") == Row(key: "1", rowID: RowID(1), object: "A", metadata: "M!".lowercased()))
      #expect(try tx[collection].row("2")?.metadata == nil)
      #expect(try tx[collection].get("2") == "C")
      #expect(try !tx[collection].contains("3"))
    }
    #expect(stored.values == ["1=A", "2=B", "2=C", "3=D"])
  }

  @Test func connectionsPermitWhatTheyAreTold() async throws {
    func codes(_ permits: Connection.Permissions) async -> [Bool] {
      let connection = db.makeConnection(.init(name: "test", permits: permits))
      let read = synchronously { try connection.read { _ in } }
      let write = synchronously { try connection.write { _ in } }
      let asyncRead = await allows { try await connection.read { _ in } }
      let asyncWrite = await allows { try await connection.write { _ in } }
      return [read, asyncRead, write, asyncWrite]
    }
    #expect(await codes(.all) == [true, true, true, true])
    #expect(await codes(.reads) == [true, true, false, false])
    #expect(await codes(.writes) == [false, false, true, true])
    #expect(await codes([.synchronousReads, .synchronousWrites]) == [true, false, true, false])
    #expect(await codes([.asynchronousReads, .asynchronousWrites]) == [false, true, false, true])
  }

  private func synchronously(_ body: () throws -> Void) -> Bool { errorCode(body) != .notPermitted }
  private func allows(_ body: () async throws -> Void) async -> Bool {
    do { try await body() } catch { return (error as? DatabaseError)?.code != .notPermitted }
    return true
  }

  @Test func rollbackActionsRunWhenNothingRemains() async throws {
    struct Undo: Error {}
    let db = try Database.inMemory()
    let ran = Recorder()
    do {
      try await db.write { tx in
        tx.onCommit { ran.append("committed") }
        tx.onRollback { ran.append("first") }
        tx.onRollback { ran.append("second") }
        try tx[.texts("t")].set("x", for: "k")
        throw Undo()
      }
    } catch is Undo {}
    #expect(ran.values == ["first", "second"])
    // What an error that was gone over undoes.
    do {
      try await db.write { tx in
        tx.onRollback { ran.append("refused") }
        _ = tx[.texts(String(repeating: "n", count: 2000))].count
      }
    } catch is DatabaseError {}
    await db.drain()
    #expect(ran.values == ["first", "second", "refused"])
    // A savepoint that is undone in a transaction that commits.
    try await db.write { tx in
      tx.onRollback { ran.append("never") }
      do {
        try tx.savepoint {
          tx.onRollback { ran.append("undone") }
          tx.onCommit { ran.append("not") }
          throw Undo()
        }
      } catch is Undo {}
      try tx[.texts("t")].set("x", for: "k")
      tx.onCommit { ran.append("committed") }
    }
    // `write` waits for none of them.
    await db.drain()
    #expect(ran.values == ["first", "second", "refused", "undone", "committed"])
  }
}
