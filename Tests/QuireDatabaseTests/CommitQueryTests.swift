// Questions to commits, as YapDatabase's connections answer them of notifications (`hasChange…`, `didClear…`,
// `enumerateChanged…`): of one, and of several that a pin has jumped over.

import QuireDatabase
import QuireTesting
import Testing

@Suite struct CommitQueryTests {
  let folder: TestFolder
  let db: Database
  let pin: PinnedSnapshot

  init() throws {
    folder = try TestFolder()
    db = try folder.open()
    try db.write { tx throws in
      for key in ["a", "b", "c", "d"] { try tx[.texts("t")].set("1", metadata: "1", for: key) }
      try tx[.texts("u")].set("1", for: "a")
    }
    pin = try db.pin()
  }

  /// The commits of writes, one for each.
  private func commits(_ writes: (WriteTransaction) throws -> Void...) throws -> [Commit] {
    for write in writes { try db.write { tx throws in try write(tx) } }
    return try pin.advance()
  }

  @Test func ofNoCommitEverythingIsDenied() {
    let none: [Commit] = []
    #expect(!none.hasChanges(forKey: "a", in: .texts("t")) && !none.hasChanges(in: .texts("t")))
    #expect(!none.didClearAll && !none.didClear(.texts("t")) && !none.haveUnknownChanges)
    #expect(none.changedRows.isEmpty && none.changedKeys(in: .texts("t")).isEmpty)
  }

  @Test func keysCollectionsAndSetsOfKeys() throws {
    let commits = try commits(
      { tx in try tx[.texts("t")].set("2", metadata: "2", for: "a") }, { tx in try tx[.texts("t")].touch("b") })
    #expect(commits.count == 2)
    #expect(commits.hasChanges(forKey: "a", in: .texts("t")) && commits.hasChanges(forKey: "b", in: .texts("t")))
    #expect(!commits.hasChanges(forKey: "c", in: .texts("t")) && !commits.hasChanges(forKey: "a", in: .texts("u")))
    #expect(commits.hasChanges(forAnyOf: ["x", "c", "b"], in: .texts("t")))
    #expect(!commits.hasChanges(forAnyOf: ["x", "c"], in: .texts("t")))
    #expect(!commits.hasChanges(forAnyOf: [], in: .texts("t")))
    #expect(commits.hasChanges(in: .texts("t")) && !commits.hasChanges(in: .texts("u")))
    #expect(commits[1].hasChanges(forKey: "b", in: .texts("t")) && !commits[1].hasChanges(forKey: "a", in: .texts("t")))
    #expect(commits[0].hasChanges(forAnyOf: ["a", "c"], in: .texts("t")) && commits[0].hasChanges(in: .texts("t")))
    #expect(commits.hasChanges(forKey: "a", inCollection: "t") && commits.hasChanges(inCollection: "t", .object))
    #expect(commits.changedKeys(in: .texts("t")) == ["a", "b"])
    #expect(commits.changedRows == [RowKey("t", "a"), RowKey("t", "b")])
  }

  @Test func halvesOfRows() throws {
    let commits = try commits(
      { tx in try tx[.texts("t")].replace("2", for: "a") },
      { tx in try tx[.texts("t")].replaceMetadata("2", for: "b") },
      { tx in try tx[.texts("t")].touchObject("c") }, { tx in try tx[.texts("u")].touchMetadata("a") })
    #expect(commits.changedKeys(in: .texts("t"), .object) == ["a", "c"])
    #expect(commits.changedKeys(in: .texts("t"), .metadata) == ["b"])
    #expect(commits.hasChanges(forKey: "a", in: .texts("t"), .object))
    #expect(!commits.hasChanges(forKey: "a", in: .texts("t"), .metadata))
    #expect(commits.hasChanges(forAnyOf: ["a", "b"], in: .texts("t"), .metadata))
    #expect(!commits.hasChanges(forAnyOf: ["a", "c"], in: .texts("t"), .metadata))
    #expect(commits.hasChanges(in: .texts("u"), .metadata) && !commits.hasChanges(in: .texts("u"), .object))
    #expect(!commits[0].hasChanges(in: .texts("t"), .metadata) && commits[1].hasChanges(in: .texts("t"), .metadata))
  }

  @Test func whatIsRemovedHasChangedInEveryHalf() throws {
    let commits = try commits(
      { tx in try tx[.texts("t")].remove("a") }, { tx in try tx[.texts("t")].remove(["b", "c"]) })
    for aspect in [RowHalves.any, .object, .metadata] {
      #expect(commits.changedKeys(in: .texts("t"), aspect) == ["a", "b", "c"])
      #expect(commits.hasChanges(forKey: "a", in: .texts("t"), aspect) && commits.hasChanges(in: .texts("t"), aspect))
    }
    #expect(!commits.didClear(.texts("t")))
  }

  @Test func whatIsClearedHasChangedForEveryKey() throws {
    let commits = try commits({ tx in
      try tx[.texts("t")].removeAll()
      try tx[.texts("t")].set("new", for: "n")
    })
    for aspect in [RowHalves.any, .object, .metadata] {
      #expect(commits.hasChanges(forKey: "a", in: .texts("t"), aspect))
      #expect(commits.hasChanges(forKey: "never there", in: .texts("t"), aspect))
      #expect(commits.hasChanges(in: .texts("t"), aspect) && !commits.hasChanges(in: .texts("u"), aspect))
    }
    #expect(commits.didClear(.texts("t")) && commits.didClear(collectionNamed: "t"))
    #expect(!commits.didClear(.texts("u")) && !commits.didClearAll)
    // What went with the collection is not listed.
    #expect(commits.changedKeys(in: .texts("t")) == ["n"])
  }

  @Test func clearingAllClearsEveryCollection() throws {
    let commits = try commits({ tx in try tx[.texts("t")].set("2", for: "a") }, { tx in try tx.removeAll() })
    #expect(commits.didClearAll && commits.didClear(.texts("t")) && commits.didClear(.texts("never there")))
    #expect(commits.hasChanges(forKey: "x", in: .texts("u"), .metadata) && commits.hasChanges(in: .albums))
    #expect(!commits[0].changes.didClearAll && commits[1].changes.didClearAll)
    #expect(commits.changedRows == [RowKey("t", "a")])
  }

  @Test func aRowThatIsPutBackHasChangedOnce() throws {
    let commits = try commits(
      { tx in
        try tx[.texts("t")].remove("a")
        try tx[.texts("t")].set("2", for: "a")
      }, { tx in try tx[.texts("t")].set("3", for: "a") })
    #expect(commits.changedRows == [RowKey("t", "a")])
    #expect(commits[0].changes.insertedKeys(in: .texts("t")) == ["a"])
    #expect(commits[0].changes.removedKeys(in: .texts("t")) == ["a"])
    #expect(commits[1].changes.insertedKeys(in: .texts("t")).isEmpty)
  }

  @Test func ofUnknownChangesEverythingIsAffirmed() throws {
    let key = String(repeating: "k", count: 1000)
    let touch = { (tx: WriteTransaction) throws in
      try tx[.texts("t")].set("", for: key)
      for _ in 0..<(Limits.historyByteCount / 1800) { try tx[.texts("t")].touch(key) }
    }
    let commits = try commits(touch, touch, { tx in try tx[.texts("t")].touch("a") })
    #expect(commits.haveUnknownChanges)
    #expect(commits.hasChanges(forKey: "never there", in: .albums, .metadata) && commits.hasChanges(in: .albums))
    #expect(commits.didClearAll && commits.didClear(.albums))
  }

  /// One commit may be more than all that is kept.
  @Test func oneCommitThatCouldNotBeKeptIsUnknown() throws {
    try db.register(LargeTeller())
    try pin.advance()
    let commits = try commits({ tx in try tx[.texts(LargeTeller.collection)].set("1", for: "k") })
    #expect(commits.count == 1 && commits.haveUnknownChanges)
    #expect(commits.hasChanges(forKey: "k", in: .texts(LargeTeller.collection)))
    #expect(try pin.advance().isEmpty)
  }
}
