// What the tests of YapDatabase ask of its core, and the traps of the original that a successor falls into most easily.

import Foundation
import QuireDatabase
import QuireTesting
import Testing

/// YapDatabase's names for its test rows.
private func key(_ number: Int) -> String { "key\(number)" }

@Suite struct YapDatabaseTests {
  let folder: TestFolder
  let db: Database
  let second: Connection

  init() throws {
    folder = try TestFolder()
    db = try folder.open()
    second = db.makeConnection()
  }

  // test1 (a): everything about rows that are not there.
  @Test func nothingIsThereAtFirst() throws {
    func check(_ rows: some RowReading<String, String>) throws {
      #expect(try rows.get("non-existant") == nil && rows.metadata("non-existant") == nil)
      #expect(try rows.row("non-existant") == nil && rows.rowID("non-existant") == nil)
      #expect(try !rows.contains("non-existant") && rows.count == 0 && rows.isEmpty)
      #expect(rows.keys.map { $0 }.isEmpty && rows.metadata.map(\.key).isEmpty && rows.rows.map(\.key).isEmpty)
      #expect(try rows.rows(for: ["non-existant"]).isEmpty && rows.objects(for: ["a", "b"]).isEmpty)
    }
    try db.write { tx throws in
      #expect(tx.collections.isEmpty && tx.count == 0)
      #expect(try tx.rawRows("").row("non-existant") == nil)
      let rows = tx[.texts("")]
      try check(rows)
      #expect(try !rows.remove("non-existant") && rows.remove(["a", "b"]) == 0 && rows.removeAll() == 0)
      #expect(try !rows.replace("v", for: "a") && !rows.replaceMetadata("m", for: "a"))
      #expect(try !rows.touch("a") && !rows.touchObject("a") && !rows.touchMetadata("a"))
      #expect(try tx.removeAll() == 0)
      try check(rows)
    }
    try second.read { tx throws in
      try check(tx[.texts("")])
      #expect(tx.collections.isEmpty)
    }
    // Nothing was changed, so nothing is told.
    #expect(try db.pin().advance().isEmpty)
  }

  // test1 (b) to (d), seen through the second connection (g).
  @Test(arguments: [nil, "metadata"]) func aRowComesAndGoes(_ metadata: String?) throws {
    try db.write { tx throws in try tx[.texts("")].set("object", metadata: metadata, for: "key1") }
    try second.read { tx throws in
      let rows = tx[.texts("")]
      #expect(tx.collections == [""] && rows.count == 1 && tx.count == 1)
      #expect(try rows.get("key1") == "object" && rows.metadata("key1") == metadata && rows.contains("key1"))
      #expect(try (tx.rawRows("").row("key1")?.metadata == nil) == (metadata == nil))
      #expect(rows.rows.map(\.metadata) == [metadata] && rows.metadata.map(\.metadata) == [metadata])
      #expect(rows.rows.map(\.object) == ["object"])
    }
    try db.write { tx throws in #expect(try tx[.texts("")].remove("key1")) }
    try second.read { tx throws in
      #expect(tx.collections.isEmpty && tx[.texts("")].count == 0)
      #expect(try tx[.texts("")].get("key1") == nil && tx[.texts("")].metadata("key1") == nil)
    }
  }

  // test1 (e)
  @Test func countsFollowRemovals() throws {
    try db.write { tx throws in
      for name in ["", "test"] {
        for number in 1...5 { try tx[.texts(name)].set("object", metadata: "metadata", for: key(number)) }
        #expect(tx[.texts(name)].count == 5)
      }
      #expect(tx.count == 10)
      for name in ["", "test"] { #expect(try tx[.texts(name)].remove([key(1), key(2), key(3)]) == 3) }
    }
    try second.read { tx throws in
      #expect(tx.count == 4 && tx[.texts("")].count == 2 && tx[.texts("test")].count == 2)
      for name in ["", "test"] {
        #expect(try tx[.texts(name)].get(key(1)) == nil && tx[.texts(name)].get(key(5)) == "object")
      }
    }
    try db.write { tx throws in
      #expect(try tx.removeAll() == 4)
      #expect(tx.count == 0 && tx.collections.isEmpty && tx[.texts("test")].count == 0)
    }
    #expect(try second.read { tx in tx.count } == 0)
  }

  // test2: uncommitted rows are nobody's business.
  @Test func othersSeeARowOnceItIsCommitted() throws {
    let (set, go, done) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let db = db
    func seen() throws -> String? { try second.read { tx in try tx[.texts("")].get("key") } }
    #expect(try seen() == nil)
    Thread.detachNewThread {
      try? db.write { tx throws in
        try tx[.texts("")].set("object", for: "key")
        set.signal()
        go.wait()
      }
      done.signal()
    }
    set.wait()
    #expect(try seen() == nil)
    go.signal()
    done.wait()
    #expect(try seen() == "object")
  }

  // test3 and testVFS: the snapshot is that of the transaction's beginning, and the writer does not wait for its end.
  @Test func readersKeepTheirSnapshotAndNobodyWaits() throws {
    let (begun, committed, ended) = (
      DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
    )
    let seen = Recorder()
    let second = second
    Thread.detachNewThread {
      try? second.read { tx throws in
        begun.signal()
        committed.wait()
        seen.append("\(tx.collections) \(try tx[.texts("")].get("key") ?? "nil")")
      }
      seen.append((try? second.read { tx in try tx[.texts("")].get("key") }) ?? "nil")
      ended.signal()
    }
    begun.wait()
    try db.write { tx throws in try tx[.texts("")].set("object", for: "key") }
    // The commit has returned, and the reader is still there.
    #expect(seen.values.isEmpty)
    committed.signal()
    ended.wait()
    #expect(seen.values == ["[] nil", "object"])
  }

  // testPropertyListSerializer and testTimestampSerializer
  @Test func propertyListsAndTimestampsComeBackExactly() throws {
    struct Record: Codable, Sendable, Equatable { var date: Date, string: String }
    let record = Record(date: Date(timeIntervalSince1970: 1_234_567_890.123), string: "string")
    let lists = RowCollection<Record, NoMetadata>("lists", coder: .propertyList)
    let dates = RowCollection<Date, NoMetadata>("dates", coder: .timestamp)
    try db.write { tx throws in
      try tx[lists].set(record, for: "k")
      try tx[dates].set(record.date, for: "k")
    }
    try second.read { tx throws in
      #expect(try tx[lists].get("k") == record && tx[dates].get("k") == record.date)
      #expect(try tx.rawRows("dates").row("k")?.object.count == 8)
    }
  }

  // testPermittedTransactions: refused before anything begins, the async forms too.
  @Test func permissionsAreAskedFirst() async throws {
    let reader = db.makeConnection(.init(name: "reader", permits: .reads))
    let ran = Recorder()
    await #expect(throws: DatabaseError.self) { try await reader.write { _ in ran.append("write") } }
    let writer = db.makeConnection(.init(permits: .asynchronousWrites))
    await #expect(throws: DatabaseError.self) { try await writer.read { _ in ran.append("read") } }
    try await writer.write { _ in ran.append("permitted") }
    #expect(ran.values == ["permitted"])
  }

  // MARK: The traps

  // Trap 3
  @Test func aTouchIsToldAndWritesNothing() throws {
    try db.write { tx throws in try tx[.texts("t")].set("v", metadata: "m", for: "k") }
    let pin = try db.pin()
    let logBytes = db.statistics.logBytes
    try db.write { tx throws in #expect(try tx[.texts("t")].touchMetadata("k")) }
    #expect(db.statistics.logBytes == logBytes)
    let changes = try #require(try pin.advance().first).changes
    #expect(
      changes.changedKeys(in: .texts("t"), .metadata) == ["k"] && changes.changedKeys(in: .texts("t"), .object).isEmpty)
    #expect(changes.insertedKeys(in: .texts("t")).isEmpty)
  }

  // Traps 4 to 6
  @Test func changesSwallowEachOther() throws {
    try db.write { tx throws in for number in 1...3 { try tx[.texts("t")].set("v", for: key(number)) } }
    let pin = try db.pin()
    try db.write { tx throws in
      let rows = tx[.texts("t")]
      try rows.set("w", for: key(1))
      try rows.removeAll()
      try rows.set("x", for: key(2))
      try rows.set("y", for: "new")
      try rows.remove("new")
      try tx[.texts("u")].set("z", for: "back")
      try tx[.texts("u")].remove("back")
      try tx[.texts("u")].set("z", for: "back")
    }
    let changes = try #require(try pin.advance().first).changes
    #expect(changes.didClear(.texts("t")) && changes.hasChanges(forKey: key(1), in: .texts("t")))
    #expect(changes.changedKeys(in: .texts("t")) == [key(2), "new"] && changes.removedKeys(in: .texts("t")) == ["new"])
    #expect(changes.changedKeys(in: .texts("u")) == ["back"] && changes.removedKeys(in: .texts("u")) == ["back"])
    #expect(changes.insertedKeys(in: .texts("u")) == ["back"])
  }

  // Trap 7
  @Test func nothingRunsAfterARollback() throws {
    let ran = Recorder()
    #expect(
      errorCode {
        try db.write { tx -> Void in
          tx.onCommit { ran.append("never") }
          try tx.rollback()
        }
      } == .rolledBack)
    #expect(ran.values.isEmpty && db.statistics.commits >= 0)
  }

  // Trap 8
  @Test func idsOfARollbackAreNotRemembered() throws {
    #expect(
      errorCode {
        try db.write { tx -> Void in
          try tx[.texts("t")].set("v", for: "k")
          try tx.rollback()
        }
      } == .rolledBack)
    try db.write { tx throws in
      #expect(try tx[.texts("t")].rowID("k") == nil)
      try tx[.texts("other")].set("v", for: "other")
      #expect(try tx[.texts("t")].get("k") == nil && tx.key(of: RowID(1))?.key != "k")
    }
    try db.checkInvariants()
  }

  // Trap 9
  @Test func rowIDsOutliveTheirRowsAndReopening() throws {
    func insert(_ db: Database) throws -> RowID {
      try db.write { tx throws in
        try tx[.texts("t")].set("v", for: "k")
        let id = try tx[.texts("t")].rowID("k")
        try tx[.texts("t")].remove("k")
        return id!
      }
    }
    let first = try insert(db)
    let next = try insert(db)
    #expect(next > first)
    try db.close()
    let again = try folder.open()
    #expect(try insert(again) > next)
  }

  // Trap 15: the original counts mutations of the whole transaction, and so does this.
  @Test func aLoopEndsWithChangesElsewhereToo() throws {
    try db.write { tx throws in for number in 1...3 { try tx[.texts("t")].set("v", for: key(number)) } }
    let code = errorCode {
      try db.write { tx throws in for _ in tx[.texts("t")].keys { try tx[.texts("u")].set("v", for: "k") } }
    }
    #expect(code == .mutatedDuringIteration)
    #expect(try db.read { tx in tx.collections } == ["t"])
  }

  // Keys are bytes: two spellings of one letter, and what is empty, are keys of their own.
  @Test func keysAndCollectionsAreBytes() throws {
    let (composed, decomposed) = ("\u{e9}", "e\u{301}")
    try db.write { tx throws in
      for name in [composed, decomposed, ""] {
        for key in [composed, decomposed, "", "E\u{301}"] { try tx[.texts(name)].set(name + key, for: key) }
      }
    }
    try second.read { tx throws in
      #expect(tx.collections.map { Array($0.utf8) } == ["", decomposed, composed].map { Array($0.utf8) })
      for name in [composed, decomposed, ""] {
        #expect(tx[.texts(name)].count == 4)
        for key in [composed, decomposed, ""] {
          let stored = try #require(try tx[.texts(name)].get(key))
          #expect(Array(stored.utf8) == Array((name + key).utf8))
        }
      }
    }
    let pin = try db.pin()
    try db.write { tx throws in try tx[.texts(composed)].set("v", for: decomposed) }
    let changes = try #require(try pin.advance().first).changes
    #expect(changes.hasChanges(forKey: decomposed, in: .texts(composed)))
    #expect(!changes.hasChanges(forKey: composed, in: .texts(composed)) && !changes.hasChanges(in: .texts(decomposed)))
  }
}
