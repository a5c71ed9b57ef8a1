// Collections that have other names than they had.

import QuireDatabase
import QuireTesting
import Testing

@Suite struct RenameTests {
  private static let renamed = ["tracks": "songs", "titles": "songs", "discs": "albums"]
  let folder: TestFolder

  init() throws { folder = try TestFolder() }

  private func options(_ names: [String: String] = renamed, isReadOnly: Bool = false) -> Database.Options {
    Database.Options(durability: .relaxed, isReadOnly: isReadOnly, renamedCollections: names)
  }

  private func fill(_ db: Database, _ names: [String] = ["tracks", "discs", "other"]) throws {
    try db.write { tx throws in
      for name in names {
        for number in 0..<20 { try tx[.texts(name)].set("\(name) \(number)", metadata: "m", for: "k\(number)") }
      }
    }
  }

  private func check(_ db: Database) throws {
    try db.checkInvariants()
    try db.verify()
    try db.read { tx throws in
      #expect(tx.collections == ["albums", "other", "songs"])
      #expect(try tx.collections(containing: "k3") == ["albums", "other", "songs"])
      #expect(tx[.texts("tracks")].isEmpty && tx[.texts("titles")].isEmpty && tx[.texts("discs")].isEmpty)
      #expect(try tx[.texts("songs")].get("k3") == "tracks 3" && tx[.texts("albums")].metadata("k3") == "m")
      #expect(tx[.texts("songs")].count == 20 && tx.rawRows("songs").count == 20 && tx.rawRows("tracks").count == 0)
      let rowID = try #require(try tx[.texts("songs")].rowID("k7"))
      #expect(try tx.key(of: rowID) == RowKey("songs", "k7"))
      #expect(try tx.rowID(of: RowKey("songs", "k7")) == rowID)
      #expect(try tx.rowID(of: RowKey("tracks", "k7")) == nil)
    }
  }

  @Test func rowsAreFoundUnderTheNewName() throws {
    var db = try folder.open()
    try fill(db)
    let ids = try db.read { tx in tx[.texts("tracks")].rows.map(\.rowID) }
    try db.close()
    db = try folder.open(options())
    try check(db)
    #expect(try db.read { tx in tx[.texts("songs")].rows.map(\.rowID) } == ids)
    let csn = try db.read { tx in tx.csn }
    try db.close()
    // Once is enough.
    db = try folder.open(options())
    try check(db)
    #expect(try db.read { tx in tx.csn } == csn)
    try db.write { tx throws in
      try tx[.texts("songs")].set("new", for: "new")
      // The old name is free.
      try tx[.texts("tracks")].set("other", for: "k")
    }
    #expect(try db.read { tx in tx.collections } == ["albums", "other", "songs", "tracks"])
    try db.checkInvariants()
    try db.close()
    // An older program does not know the new name; its own collection is empty.
    let older = try folder.open()
    #expect(try older.read { tx in tx[.texts("tracks")].count } == 1)
  }

  @Test func aDatabaseThatIsOnlyReadIsNotChanged() throws {
    let db = try folder.open()
    try fill(db)
    let csn = try db.read { tx in tx.csn }
    try db.close()
    let reader = try folder.open(options(isReadOnly: true))
    try check(reader)
    #expect(try reader.read { tx in tx.csn } == csn)
    // By order of the new names, though they are stored by that of the old ones.
    try reader.close()
    let swapped = try folder.open(options(["discs": "z", "tracks": "a"], isReadOnly: true))
    #expect(try swapped.read { tx in tx.collections } == ["a", "other", "z"])
    try swapped.close()
    let plain = try folder.open()
    #expect(try plain.read { tx in tx.collections } == ["discs", "other", "tracks"])
  }

  @Test func extensionsGoOn() throws {
    func index(_ name: String, builds: Recorder) -> ValueIndex<String, String> {
      var index = ValueIndex<String, String>("index", { .texts($0) }) { object, _ in
        builds.append(object)
        return object
      }
      index.collections = .only([name])
      return index
    }
    var db = try folder.open()
    try fill(db)
    let first = index("tracks", builds: Recorder())
    try db.register(first)
    let before = try db.read { tx in try tx.access(to: first).all() }
    #expect(before.count == 20)
    try db.close()
    db = try folder.open(options())
    let builds = Recorder()
    let second = index("songs", builds: builds)
    try db.register(second)
    #expect(builds.values.isEmpty, "the extension was built anew")
    #expect(try db.read { tx in try tx.access(to: second).all() } == before)
    try db.write { tx throws in
      try tx[.texts("songs")].set("changed", for: "k1")
      try tx[.texts("tracks")].set("not its own", for: "k1")
    }
    #expect(builds.values == ["changed"])
    #expect(try db.read { tx in try tx.access(to: second).rows("changed").count } == 1)
  }

  @Test func extensionsOfEmptyCollectionsGoOn() throws {
    func index(_ names: [String], builds: Recorder) -> ValueIndex<String, String> {
      var index = ValueIndex<String, String>("index", { .texts($0) }) { object, _ in
        builds.append(object)
        return object
      }
      index.collections = .only(names)
      return index
    }
    var db = try folder.open()
    try fill(db, ["other"])
    try db.register(index(["tracks", "other"], builds: Recorder()))
    try db.close()
    for _ in 0..<2 {
      db = try folder.open(options())
      let builds = Recorder()
      try db.register(index(["songs", "other"], builds: builds))
      #expect(builds.values.isEmpty, "the extension was built anew")
      try db.close()
    }
    // Of a name that has rows already nobody knows which of them the extension has.
    db = try folder.open()
    try db.register(index(["tracks", "other"], builds: Recorder()))
    try db.write { tx throws in try tx[.texts("songs")].set("new", for: "k") }
    try db.close()
    db = try folder.open(options())
    let builds = Recorder()
    let last = index(["songs", "other"], builds: builds)
    try db.register(last)
    #expect(try db.read { tx in try tx.access(to: last).rows("new").count } == 1)
    try db.close()
  }

  @Test func twoCollectionsDoNotBecomeOne() throws {
    var db = try folder.open()
    try fill(db, ["tracks", "titles", "discs"])
    try db.close()
    for isReadOnly in [false, true] {
      #expect(errorCode { _ = try folder.open(options(isReadOnly: isReadOnly)) } == .collectionExists)
    }
    #expect(errorCode { _ = try folder.open(options(["tracks": "titles"])) } == .collectionExists)
    db = try folder.open()
    #expect(try db.read { tx in tx.collections } == ["discs", "titles", "tracks"], "something was renamed")
    // One without rows is none.
    try db.write { tx throws in try tx[.texts("titles")].removeAll() }
    try db.close()
    db = try folder.open(options())
    #expect(try db.read { tx in tx.collections } == ["albums", "songs"])
    try db.close()
  }

  @Test func namesThatMakeNoSenseAreRefused() throws {
    try folder.open().close()
    #expect(errorCode { _ = try folder.open(options(["a": "b", "b": "c"])) } == .invalidOption)
    #expect(errorCode { _ = try folder.open(options(["a": "a"])) } == .invalidOption)
    let long = String(repeating: "x", count: Limits.collectionNameByteCount + 1)
    #expect(errorCode { _ = try folder.open(options(["a": long])) } == .nameTooLong)
    let db = try folder.open(options([long: "a"]))
    try db.close()
  }

  @Test func aCrashLeavesTheOldNamesOrTheNewOnes() throws {
    var random = SeededRandom(seed: 3)
    let start = SimulatedDisk()
    func open(_ disk: SimulatedDisk, _ names: [String: String]) throws -> Database {
      try disk.openDatabase(seed: 1, Database.Options(maintainsWhenIdle: false, renamedCollections: names))
    }
    let db = try open(start, [:])
    try fill(db)
    try db.close()
    let whole = start.copy()
    let first = whole.changeCount
    try open(whole, Self.renamed).close()
    let changeCount = whole.changeCount - first
    var names: Set<[String]> = []
    for cut in 0...changeCount {
      let disk = start.copy()
      disk.powerOff(beforeChange: disk.changeCount + cut)
      if let db = try? open(disk, Self.renamed) { try? db.close() }
      let image = disk.crashImage(.random(random.next()))
      let found = try open(image, [:])
      names.insert(try found.read { tx in tx.collections })
      try found.checkInvariants()
      try found.close()
      let again = try open(image, Self.renamed)
      try check(again)
      try again.close()
    }
    #expect(names == [["discs", "other", "tracks"], ["albums", "other", "songs"]])
  }
}
