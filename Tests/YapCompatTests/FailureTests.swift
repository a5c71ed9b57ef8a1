// What fails, how it is told, and that nothing of it remains.

import Foundation
import Quire
import QuireTesting
import Testing
import YapCompat

private struct Failed: Error {}

/// One of the calls whose blocks must not change rows and go on.
struct Enumeration: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let run: @Sendable (YapDatabaseReadWriteTransaction, (YapDatabaseStop) -> Void) -> Void

  private init(
    _ name: String, _ run: @escaping @Sendable (YapDatabaseReadWriteTransaction, (YapDatabaseStop) -> Void) -> Void
  ) {
    testDescription = name
    self.run = run
  }

  private static let keys = ["key1", "key2", "key3"]

  static let all = [
    Self("keys") { t, change in t.enumerateKeys(inCollection: nil) { _, stop in change(stop) } },
    Self("keys of all") { t, change in t.enumerateKeysInAllCollections { _, _, stop in change(stop) } },
    Self("metadata for keys") { t, change in
      t.enumerateMetadata(forKeys: keys, inCollection: nil) { _, _, stop in change(stop) }
    },
    Self("objects for keys") { t, change in
      t.enumerateObjects(forKeys: keys, inCollection: nil) { _, _, stop in change(stop) }
    },
    Self("rows for keys") { t, change in
      t.enumerateRows(forKeys: keys, inCollection: nil) { _, _, _, stop in change(stop) }
    },
    Self("metadata") { t, change in
      t.enumerateKeysAndMetadata(inCollection: nil, using: { _, _, stop in change(stop) })
    },
    Self("objects") { t, change in
      t.enumerateKeysAndObjects(inCollection: nil, using: { _, _, stop in change(stop) })
    },
    Self("metadata of all") { t, change in
      t.enumerateKeysAndMetadataInAllCollections({ _, _, _, stop in change(stop) })
    },
    Self("objects of all") { t, change in
      t.enumerateKeysAndObjectsInAllCollections({ _, _, _, stop in change(stop) })
    },
    Self("rows") { t, change in t.enumerateRows(inCollection: nil, using: { _, _, _, stop in change(stop) }) },
    Self("rows of all") { t, change in t.enumerateRowsInAllCollections({ _, _, _, _, stop in change(stop) }) },
  ]
}

@Suite struct FailureTests {
  let fixture: YapFixture
  let connection: YapDatabaseConnection

  init() throws {
    fixture = try YapFixture()
    connection = fixture.connection
  }

  // MARK: Types

  @Test func anObjectOfAnotherTypeIsAnError() throws {
    let error = databaseError {
      try connection.readWrite { transaction in
        transaction.setObject(Song(title: "Luka"), forKey: "s1", inCollection: "songs")
        transaction.setObject("no song", forKey: "s2", inCollection: "songs")
        // After the first error nothing is done any more.
        transaction.setObject(Song(title: "Gypsy"), forKey: "s3", inCollection: "songs")
        #expect(transaction.object(forKey: "s1", inCollection: "songs") == nil)
        #expect(transaction.numberOfKeys(inCollection: "songs") == 0)
      }
    }
    #expect(error?.code == .collectionMismatch && error?.collection == "songs" && error?.key == "s2")
    #expect(error?.message.contains("String") == true && error?.message.contains("Song") == true)
    #expect(try connection.read { $0.numberOfKeysInAllCollections() } == 0)
  }

  @Test func metadataOfAnotherTypeAreAnError() throws {
    let calls: [(YapDatabaseReadWriteTransaction) -> Void] = [
      { $0.setObject(Song(title: "x"), forKey: "s1", inCollection: "songs", withMetadata: 7) },
      { $0.replaceMetadata(7, forKey: "s1", inCollection: "songs") },
      { $0.replace(7, forKey: "s1", inCollection: "songs") },
    ]
    try connection.readWrite { $0.setObject(Song(title: "x"), forKey: "s1", inCollection: "songs") }
    for call in calls {
      let error = databaseError { try connection.readWrite { call($0) } }
      #expect(error?.code == .collectionMismatch && error?.key == "s1" && error?.message.contains("Int") == true)
    }
    #expect(try connection.read { $0.metadata(forKey: "s1", inCollection: "songs") } == nil)
  }

  @Test func askingForAnotherTypeIsAnError() throws {
    try connection.readWrite { $0.setObject(Song(title: "x"), forKey: "s1", inCollection: "songs") }
    let asked: [(YapDatabaseReadTransaction) -> Void] = [
      { transaction in
        let row: (object: String, metadata: String?)? = transaction.row(forKey: "s1", inCollection: "songs")
        #expect(row == nil)
      },
      { $0.iterateKeysAndObjects(inCollection: "songs") { (_, _: String, _) in Issue.record("not a string") } },
      { $0.iterateRows(inCollection: "songs") { (_, _: Int, _: String?, _) in Issue.record("not a number") } },
    ]
    for ask in asked {
      let error = databaseError { try connection.read { ask($0) } }
      #expect(error?.code == .collectionMismatch && error?.collection == "songs" && error?.key == "s1")
      #expect(error?.message.contains("Song") == true)
    }
  }

  // What the original answered, too; a write that reads what is not there loses nothing of what it stores elsewhere.
  @Test func readingACollectionWithoutTypesSparesAWrite() throws {
    let folder = try TestFolder()
    let errors = Recorder()
    let database = try YapDatabase(path: folder.path) { error in
      errors.append((error as? DatabaseError).map { "\($0.code) \($0.collection ?? "")" } ?? "\(error)")
    }
    database.registerCodableSerialization(String.self, forCollection: "known")
    database.registerSerializer({ _, _, _ in Data() }, forCollection: "half")
    try database.quire.write { tx throws in
      for name in ["unknown", "half"] { try tx[.texts(name)].set("v", for: "k") }
    }
    let connection = database.newConnection()
    let reads: [(String, (YapDatabaseReadTransaction, String) -> Void)] = [
      ("object", { #expect($0.object(forKey: "k", inCollection: $1) == nil) }),
      ("metadata", { #expect($0.metadata(forKey: "k", inCollection: $1) == nil) }),
      (
        "row",
        { transaction, name in
          let row: (object: String, metadata: String?)? = transaction.row(forKey: "k", inCollection: name)
          #expect(row == nil)
        }
      ),
      (
        "get",
        { transaction, name in
          var (object, metadata): (Any?, Any?) = (1, 1)
          let isThere = transaction.getObject(&object, metadata: &metadata, forKey: "k", inCollection: name)
          #expect(!isThere && object == nil && metadata == nil)
        }
      ),
      ("iterate", { $0.iterateKeysAndObjects(inCollection: $1) { (_, _: String, _) in Issue.record("no type") } }),
      (
        "keys",
        { transaction, name in
          var count = 0
          transaction.enumerateObjects(forKeys: ["k", "l"], inCollection: name) { _, object, _ in
            if object == nil { count += 1 }
          }
          #expect(count == 2)
        }
      ),
    ]
    for (what, read) in reads {
      try connection.readWrite { transaction in
        transaction.setObject(what, forKey: what, inCollection: "known")
        for name in ["unknown", "half"] { read(transaction, name) }
        // A collection without rows has nothing that would need a type.
        read(transaction, "empty")
      }
      try connection.read { transaction in
        #expect(transaction.object(forKey: what, inCollection: "known") as? String == what)
        read(transaction, "empty")
      }
      #expect(
        errorCode {
          try connection.read { transaction in
            transaction.iterateKeysAndObjects(inCollection: "unknown") { (_, _: String, _) in }
          }
        } == .collectionNotRegistered)
    }
    #expect(
      errors.values == reads.flatMap { _ in ["collectionNotRegistered unknown", "collectionNotRegistered half"] })
    var keys: [String] = []
    try connection.readWrite { transaction in
      transaction.iterateRowsInAllCollections { name, key, _, _, _ in keys.append("\(name)/\(key)") }
    }
    #expect(keys.count == reads.count && keys.allSatisfy { $0.hasPrefix("known/") })
  }

  @Test func aCollectionWithoutTypesIsAnError() throws {
    let folder = try TestFolder()
    let database = try YapDatabase(path: folder.path)
    let connection = database.newConnection()
    let error = databaseError {
      try connection.readWrite { $0.setObject("object", forKey: "key", inCollection: "unknown") }
    }
    #expect(error?.code == .collectionNotRegistered && error?.collection == "unknown")
    // What needs no type works without.
    try database.quire.write { tx throws in
      for number in 1...3 { try tx[.texts("unknown")].set("v", for: "key\(number)") }
    }
    try connection.readWrite { transaction in
      #expect(transaction.numberOfKeys(inCollection: "unknown") == 3)
      #expect(transaction.allKeys(inCollection: "unknown") == ["key1", "key2", "key3"])
      #expect(transaction.hasObject(forKey: "key2", inCollection: "unknown"))
      transaction.removeObject(forKey: "key1", inCollection: "unknown")
      transaction.removeObjects(forKeys: ["key2"], inCollection: "unknown")
      transaction.iterateKeysAndObjectsInAllCollections(
        { _, _, _, _ in Issue.record("nothing was wanted") }, filter: { _, _ in false })
    }
    let calls: [(YapDatabaseReadTransaction) -> Void] = [
      { #expect($0.object(forKey: "key3", inCollection: "unknown") == nil) },
      { $0.iterateRowsInAllCollections { _, _, _, _, _ in Issue.record("no type") } },
      { $0.iterateKeysAndMetadataInAllCollections { _, _, _, _ in Issue.record("no type") } },
    ]
    for call in calls {
      #expect(errorCode { try connection.read { call($0) } } == .collectionNotRegistered)
    }
    try connection.readWrite { $0.removeAllObjects(inCollection: "unknown") }
    #expect(try connection.read { $0.numberOfCollections() } == 0)
  }

  @Test func twoTypesForOneCollectionAreAnError() throws {
    try connection.readWrite { $0.setObject(Song(title: "x"), forKey: "s1", inCollection: "songs") }
    fixture.database.registerCodableSerialization(Int.self, metadata: String.self, forCollection: "songs")
    #expect(errorCode { try connection.read { _ = $0.object(forKey: "s1", inCollection: "songs") } } != nil)
    YapFixture.register(fixture.database)
    #expect(try connection.read { $0.object(forKey: "s1", inCollection: "songs") } as? Song == Song(title: "x"))
  }

  // MARK: Rolling back

  @Test func anErrorRollsBackAndTheNextTransactionIsFine() throws {
    try fixture.fill("a", 2)
    #expect(throws: Failed.self) {
      try connection.readWrite { transaction in
        transaction.setObject("new", forKey: "key1", inCollection: "a")
        transaction.removeAllObjects(inCollection: "a")
        throw Failed()
      }
    }
    #expect(throws: Failed.self) { try connection.read { _ in throw Failed() } }
    #expect(
      errorCode {
        try connection.readWrite { $0.setObject("v", forKey: String(repeating: "k", count: 5000), inCollection: "a") }
      } == .keyTooLong)
    #expect(try connection.read { $0.object(forKey: "key1", inCollection: "a") as? String } == "object")
    try connection.readWrite { $0.setObject("new", forKey: "key1", inCollection: "a") }
    #expect(try connection.read { $0.object(forKey: "key1", inCollection: "a") as? String } == "new")
  }

  // Trap 8 with it: nothing is remembered of what was rolled back.
  @Test func codeInsideMakesTheTransactionFail() throws {
    var seen: (any Error)?
    #expect(throws: Failed.self) {
      try connection.readWrite { transaction in
        transaction.setObject("object", forKey: "key", inCollection: nil)
        #expect(transaction.failure == nil)
        transaction.fail(Failed())
        // The first one counts.
        transaction.fail(DatabaseError(.notFound, "later"))
        transaction.setObject("object", forKey: "key2", inCollection: nil)
        seen = transaction.failure
      }
    }
    #expect(seen is Failed)
    try connection.read { transaction in #expect(transaction.numberOfKeysInAllCollections() == 0) }
    #expect(throws: Failed.self) { try connection.read { transaction in transaction.fail(Failed()) } }
  }

  @Test func rollingBackIsNoError() throws {
    try fixture.fill("a", 1)
    let screen = fixture.database.newConnection()
    try screen.beginLongLivedReadTransaction()
    let answer = try connection.readWrite { transaction -> String in
      transaction.setObject("new", forKey: "before", inCollection: "a")
      transaction.rollback()
      transaction.setObject("new", forKey: "after", inCollection: "a")
      // The block goes on, as in the original.
      #expect(transaction.hasObject(forKey: "after", inCollection: "a"))
      return "returned"
    }
    #expect(answer == "returned")
    #expect(try screen.beginLongLivedReadTransaction().isEmpty)
    try connection.readWrite { transaction in
      #expect(transaction.allKeys(inCollection: "a") == ["key1"])
      #expect(!transaction.hasObject(forKey: "before", inCollection: "a"))
    }
  }

  @Test func asynchronousErrorsGoToOnError() async throws {
    let done = Gate()
    connection.asyncReadWrite(
      { transaction in
        transaction.setObject("object", forKey: "key", inCollection: nil)
        transaction.setObject(7, forKey: "key2", inCollection: nil)
      }, completionQueue: .global()
    ) { done.open() }
    await done.wait()
    #expect(fixture.errors.values == ["collectionMismatch"])
    #expect(try connection.read { $0.numberOfCollections() } == 0)
  }

  // MARK: Too late

  @Test func usingATransactionTooLateIsTold() throws {
    try fixture.fill("a", 1)
    var kept: YapDatabaseReadWriteTransaction?
    try connection.readWrite { kept = $0 }
    let transaction = try #require(kept)
    transaction.setObject("new", forKey: "key1", inCollection: "a")
    #expect(transaction.object(forKey: "key1", inCollection: "a") == nil)
    #expect(transaction.numberOfKeys(inCollection: "a") == 0)
    transaction.iterateKeys(inCollection: "a") { _, _ in Issue.record("it is over") }
    transaction.addCompletionQueue(nil) { Issue.record("it is over") }
    #expect(fixture.errors.values == Array(repeating: "transactionClosed", count: 5))
    #expect(try connection.read { $0.object(forKey: "key1", inCollection: "a") as? String } == "object")
  }

  // MARK: Enumerations

  // testMutationDuringEnumerationProtection
  @Test(arguments: Enumeration.all) func changingInsideAnEnumerationIsAnError(_ enumeration: Enumeration) throws {
    let enumerate = enumeration.run
    try fixture.fill(nil)
    // Going on after a change.
    let code = errorCode {
      try connection.readWrite { transaction in
        enumerate(transaction) { _ in transaction.setObject("new", forKey: "key5", inCollection: nil) }
      }
    }
    #expect(code == .mutatedDuringIteration)
    #expect(try connection.read { $0.object(forKey: "key5", inCollection: nil) as? String } == "object")
    // Ending with it.
    try connection.readWrite { transaction in
      enumerate(transaction) { stop in
        transaction.setObject("new", forKey: "key5", inCollection: nil)
        stop.pointee = true
      }
    }
    #expect(try connection.read { $0.object(forKey: "key5", inCollection: nil) as? String } == "new")
    // Touching is no change.
    try connection.readWrite { transaction in
      enumerate(transaction) { _ in transaction.touchObject(forKey: "key5", inCollection: nil) }
    }
  }

  // MARK: Permissions

  // testPermittedTransactions
  @Test func onlyPermittedTransactionsBegin() async throws {
    func outcomes(_ permitted: YapDatabasePermittedTransactions) async -> [Bool] {
      let connection = fixture.database.newConnection()
      connection.permittedTransactions = permitted
      var outcomes = [errorCode { try connection.read { _ in } } == nil]
      outcomes.append(errorCode { try connection.readWrite { _ in } } == nil)
      let (ran, done) = (Recorder(), Gate())
      connection.asyncRead({ _ in ran.append("read") }, completionQueue: .global()) { done.open() }
      await done.wait()
      connection.asyncReadWrite({ _ in ran.append("write") }, completionQueue: .global()) { done.open() }
      await done.wait()
      return outcomes + [ran.values.contains("read"), ran.values.contains("write")]
    }
    #expect(await outcomes(.anyTransaction) == [true, true, true, true])
    #expect(await outcomes(.anyReadTransaction) == [true, false, true, false])
    #expect(await outcomes(.anyReadWriteTransaction) == [false, true, false, true])
    #expect(await outcomes(.anySyncTransaction) == [true, true, false, false])
    #expect(await outcomes(.anyAsyncTransaction) == [false, false, true, true])
    #expect(await outcomes([]) == [false, false, false, false])
    #expect(await outcomes([.YDB_AnyReadTransaction, .YDB_AsyncReadWriteTransaction]) == [true, false, true, true])
    let inMain = fixture.database.newConnection()
    inMain.name = "screen"
    inMain.permittedTransactions = [.anyTransaction, .mainThreadOnly]
    let elsewhere = await Task.detached { databaseError { try inMain.read { _ in } } }.value
    #expect(elsewhere?.code == .notPermitted && elsewhere?.message.contains("screen") == true)
    try await MainActor.run { try inMain.read { _ in } }
  }
}
