// YapDatabase's test of its hooks (5.2 of its inventory), and what hooks may do.

import QuireDatabase
import QuireTesting
import Synchronization
import Testing

@Suite struct HooksTests {
  private struct Calls: Sendable {
    var willModify = 0, didModify = 0, willRemove = 0, didRemove = 0, willRemoveAll = 0, didRemoveAll = 0
    var flags: [Hooks.Flags] = []
  }

  @Test func hooksAreCalledAsInYapDatabase() throws {
    let db = try Database.inMemory()
    let calls = Shared(Calls())
    var hooks = Hooks("hooks", collections: .only(["+", "-"]))
    hooks.willModify = { _, _, _ in calls.withLock { $0.willModify += 1 } }
    hooks.didModify = { tx, change, flags throws in
      calls.withLock {
        $0.didModify += 1
        $0.flags.append(flags)
      }
      let (object, metadata) = (
        try change.object(in: .texts(change.collection)), try change.metadata(in: .texts(change.collection))
      )
      #expect(object == (try tx[.texts(change.collection)].get(change.key)))
      #expect(metadata == (try tx[.texts(change.collection)].metadata(change.key)))
      #expect(flags.contains(.inserted) != flags.contains(.updated))
    }
    hooks.willRemove = { tx, change throws in
      calls.withLock { $0.willRemove += 1 }
      #expect(try tx[.texts(change.collection)].contains(change.key))
      #expect(try change.object(in: .texts(change.collection)) != nil)
    }
    hooks.didRemove = { tx, change throws in
      calls.withLock { $0.didRemove += 1 }
      #expect(try !tx[.texts(change.collection)].contains(change.key))
      #expect(try change.object(in: .texts(change.collection)) == nil)
    }
    hooks.willRemoveAll = { tx throws in
      calls.withLock { $0.willRemoveAll += 1 }
      #expect(tx.count > 0)
    }
    hooks.didRemoveAll = { tx throws in
      calls.withLock { $0.didRemoveAll += 1 }
      #expect(tx.count == 0)
    }
    try db.register(hooks)
    try db.write { tx throws in
      for key in ["0", "1", "2", "3"] { try tx[.texts("+")].set("object", metadata: "metadata", for: key) }
      try tx[.texts("-")].set("object", metadata: "metadata", for: "4")
      try tx[.texts("x")].set("object", for: "5")
      for key in ["0", "1", "2"] { try tx[.texts("+")].set("other", for: key) }
      #expect(try tx[.texts("+")].replace("another", for: "3"))
      #expect(try tx[.texts("-")].replaceMetadata("other", for: "4"))
      try tx[.texts("x")].set("other", for: "5")
      try tx[.texts("x")].replace("another", for: "5")
    }
    let inserted: Hooks.Flags = [.inserted, .changedObject, .changedMetadata]
    let updated: Hooks.Flags = [.updated, .changedObject, .changedMetadata]
    var expected = Array(repeating: inserted, count: 5) + Array(repeating: updated, count: 3)
    expected += [[.updated, .changedObject], [.updated, .changedMetadata]]
    #expect(calls.withLock { $0.flags } == expected)
    try db.write { tx throws in
      try tx[.texts("")].remove("0")
      try tx[.texts("x")].remove("5")
      try tx[.texts("")].remove(["1", "2"])
      try tx[.texts("+")].removeAll()
      #expect(try tx.removeAll() == 1)
    }
    let result = calls.withLock { $0 }
    #expect(result.willModify == 10 && result.didModify == 10)
    #expect(result.willRemove == 4 && result.didRemove == 4)
    #expect(result.willRemoveAll == 1 && result.didRemoveAll == 1)
  }

  @Test func touchesHaveFlagsOfTheirOwn() throws {
    let db = try Database.inMemory()
    let flags = Shared<[Hooks.Flags]>([])
    var hooks = Hooks("hooks")
    hooks.didModify = { _, _, new in flags.withLock { $0.append(new) } }
    var objectHooks = Hooks("object hooks", halves: .object)
    objectHooks.didModify = { _, _, new in flags.withLock { $0.append(new) } }
    try db.register(hooks)
    try db.register(objectHooks)
    try db.write { tx throws in
      try tx[.texts("t")].set("one", for: "1")
      flags.withLock { $0 = [] }
      try tx[.texts("t")].touch("1")
      try tx[.texts("t")].touchObject("1")
      try tx[.texts("t")].touchMetadata("1")
      try tx[.texts("t")].replaceMetadata("m", for: "1")
    }
    let (both, object): (Hooks.Flags, Hooks.Flags) = ([.touchedObject, .touchedMetadata], .touchedObject)
    #expect(
      flags.withLock { $0 } == [both, both, object, object, .touchedMetadata, [.updated, .changedMetadata]])
  }

  @Test func hooksMayChangeRowsAlsoTheOneThatIsStored() throws {
    let db = try Database.inMemory()
    var hooks = Hooks("hooks", collections: .only(["t"]))
    hooks.willModify = { tx, change, flags throws in
      // The row itself, in front of its insertion, and a row elsewhere.
      if change.key == "self", flags.contains(.inserted), try !tx[.texts("t")].contains("self") {
        try tx[.texts("other")].set("seen", for: change.key)
        try tx[.texts("t")].set("from the hook", metadata: "hook", for: "once")
      }
    }
    hooks.didModify = { tx, change, _ throws in
      if change.key == "count" { try tx[.texts("t")].set("made", for: "made by count") }
    }
    try db.register(hooks)
    try db.write { tx throws in
      try tx[.texts("t")].set("from the app", for: "self")
      try tx[.texts("t")].set("c", for: "count")
    }
    try db.read { tx throws in
      #expect(Array(tx[.texts("t")].keys) == ["count", "made by count", "once", "self"])
      #expect(try tx[.texts("t")].get("self") == "from the app")
      #expect(try tx[.texts("other")].get("self") == "seen")
    }
    try db.checkInvariants()
  }

  @Test func aHookThatRemovesWhatIsReplacedWins() throws {
    let db = try Database.inMemory()
    var hooks = Hooks("hooks")
    hooks.willModify = { tx, change, flags throws in
      if flags == [.updated, .changedObject] { try tx[.texts("t")].remove(change.key) }
    }
    hooks.willRemove = { tx, change throws in
      if change.key == "twice", try tx[.texts("t")].get("twice") == "one" {
        try tx[.texts("t")].set("two", for: "twice")
      }
    }
    try db.register(hooks)
    try db.write { tx throws in
      try tx[.texts("t")].set("one", for: "1")
      #expect(try !tx[.texts("t")].replace("two", for: "1"))
      #expect(try !tx[.texts("t")].contains("1"))
      try tx[.texts("t")].set("one", for: "twice")
      #expect(try tx[.texts("t")].remove("twice"))
      #expect(try !tx[.texts("t")].contains("twice"))
    }
    try db.checkInvariants()
  }

  @Test func endlessHooksEndWithAnError() throws {
    let db = try Database.inMemory()
    var hooks = Hooks("chain")
    hooks.didModify = { tx, change, _ throws in
      try tx[.texts("t")].set("next", for: change.key + "+")
    }
    try db.register(hooks)
    do {
      try db.write { tx throws in try tx[.texts("t")].set("first", for: "k") }
      Issue.record("nothing was thrown")
    } catch let error as DatabaseError {
      #expect(error.code == .hooksTooDeep)
      #expect(error.message.contains("chain → chain"))
    }
    #expect(try db.read { tx in tx.count } == 0)
    try db.unregister(extensionNamed: "chain")
    try db.write { tx throws in try tx[.texts("t")].set("first", for: "k") }
  }

  private struct Refused: Error {}

  @Test func aHookThatThrowsFailsTheTransaction() throws {
    let db = try Database.inMemory()
    try db.write { tx throws in try tx[.texts("t")].set("kept", for: "old") }
    var hooks = Hooks("guard")
    hooks.didModify = { _, change, _ in if change.key == "bad" { throw Refused() } }
    hooks.willRemove = { _, change in if change.key == "old" { throw Refused() } }
    try db.register(hooks)
    // Also if the app goes over it: the first error counts.
    let swallowed = Shared(0)
    do {
      try db.write { tx throws in
        try tx[.texts("t")].set("good", for: "good")
        do { try tx[.texts("t")].set("bad", for: "bad") } catch { swallowed.withLock { $0 += 1 } }
      }
      Issue.record("nothing was thrown")
    } catch let error as DatabaseError {
      #expect(error.code == .extensionFailed && error.cause is Refused)
      #expect(error.message.contains("“guard”") && error.key == "bad" && error.collection == "t")
    }
    #expect(swallowed.withLock { $0 } == 1)
    #expect(errorCode { try db.write { tx throws in _ = try tx[.texts("t")].remove("old") } } == .extensionFailed)
    #expect(errorCode { try db.write { tx throws in _ = try tx[.texts("t")].removeAll() } } == .extensionFailed)
    // A savepoint takes it back, and the transaction goes on.
    try db.write { tx throws in
      do {
        try tx.savepoint { try tx[.texts("t")].set("bad", for: "bad") }
        Issue.record("nothing was thrown")
      } catch let error as DatabaseError {
        #expect(error.code == .extensionFailed)
      }
      try tx[.texts("t")].set("good", for: "good")
    }
    #expect(try db.read { tx in Array(tx[.texts("t")].keys) } == ["good", "old"])
  }

  @Test func rollingBackInAHookIsARollback() throws {
    let db = try Database.inMemory()
    var hooks = Hooks("hooks")
    hooks.didModify = { tx, _, _ in try tx.rollback() }
    try db.register(hooks)
    #expect(errorCode { try db.write { tx throws in try tx[.texts("t")].set("x", for: "k") } } == .rolledBack)
    #expect(try db.read { tx in tx.count } == 0)
  }

  @Test func whatHooksStoreWhileACollectionIsClearedStays() throws {
    let db = try Database.inMemory()
    var hooks = Hooks("hooks", collections: .only(["t"]))
    hooks.didRemove = { tx, change throws in
      // In front of where the walk is, and behind all rows.
      if change.key == "1000" { for key in ["0", "z"] { try tx[.texts("t")].set("stays", for: key) } }
    }
    try db.register(hooks)
    try db.write { tx throws in for number in 1000..<2500 { try tx[.texts("t")].set("goes", for: "\(number)") } }
    try db.write { tx throws in _ = try tx[.texts("t")].removeAll() }
    let left = try db.read { tx throws in tx[.texts("t")].keys.map { $0 } }
    #expect(left == ["0", "z"])
    try db.verify()
  }

  @Test func whoComesLaterIsToldWhatIsThere() throws {
    let db = try Database.inMemory()
    let told = Shared<[String]>([])
    var first = Hooks("first", collections: .only(["t"]))
    first.didModify = { tx, change, _ throws in
      if try change.object(in: .texts("t")) == "the app's" { try tx[.texts("t")].set("the hook's", for: change.key) }
    }
    var second = Hooks("second", collections: .only(["t"]))
    second.didModify = { _, change, _ throws in
      let object = try change.object(in: .texts("t"))
      told.withLock { $0.append(object ?? "nothing") }
    }
    try db.register(first)
    try db.register(second)
    try db.write { tx throws in try tx[.texts("t")].set("the app's", for: "row") }
    #expect(told.withLock { $0.last } == "the hook's")
    try db.write { tx throws in try tx[.texts("t")].replace("the app's", for: "row") }
    #expect(told.withLock { $0.last } == "the hook's")
  }

  @Test func whoComesLaterIsToldOfTheRowAtHandAfterAnUndoneSavepoint() throws {
    struct Stop: Error {}
    let db = try Database.inMemory()
    let told = Shared<[String]>([])
    var first = Hooks("first", collections: .only(["t"]))
    first.didModify = { tx, change, _ throws in
      guard change.key == "row" else { return }
      do {
        try tx.savepoint {
          try tx[.texts("t")].set("undone", for: "other")
          throw Stop()
        }
      } catch is Stop {}
    }
    var second = Hooks("second", collections: .only(["t"]))
    second.didModify = { _, change, _ throws in told.withLock { $0.append(change.key) } }
    try db.register(first)
    try db.register(second)
    try db.write { tx throws in try tx[.texts("t")].set("object", for: "row") }
    #expect(told.withLock { $0.last } == "row")
    #expect(try db.read { tx throws in tx[.texts("t")].keys.map { $0 } } == ["row"])
  }
}
