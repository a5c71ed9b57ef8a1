// The cache of objects: what it finds, what it must not find, and how much of it there is.

import QuireDatabase
import QuireTesting
import Synchronization
import Testing

@Suite struct ObjectCacheTests {
  private struct Undo: Error {}

  /// An object that is told from its equals.
  private final class Box: Codable, Sendable {
    let text: String
    init(_ text: String) { self.text = text }
  }

  private static let boxes = RowCollection<Box, String>("boxes")

  private func open(_ cache: ObjectCacheOptions? = ObjectCacheOptions()) throws -> Database {
    try Database.inMemory(options: Database.Options(objectCache: cache))
  }

  private func figures(_ db: Database) throws -> ObjectCacheStatistics {
    try db.checkInvariants()
    return try #require(db.objectCacheStatistics)
  }

  @Test func theSecondReadFindsTheObjectOfTheFirst() throws {
    let db = try open()
    try db.write { tx throws in try tx[Self.boxes].set(Box("a"), metadata: "m", for: "k") }
    let first = try #require(try db.read { tx in try tx[Self.boxes].get("k") })
    try db.read { tx throws in
      let rows = tx[Self.boxes]
      #expect(try rows.get("k") === first)
      #expect(try rows.objects(for: ["x", "k", "k"]).map { $0 === first } == [true, true])
      // A get knows of no metadata: the row is read whole once, and then found.
      #expect(try rows.metadata("k") == "m")
      let row = try #require(try rows.row("k"))
      #expect(row.metadata == "m" && row.object !== first)
      #expect(try rows.row("k")?.object === row.object && rows.get("k") === row.object)
      #expect(try rows.metadata("k") == "m")
      #expect(try rows.rows(for: ["k", "x"]).map { $0.object === row.object } == [true])
      #expect(try rows.rows(for: ["k"]).first?.rowID == rows.rowID("k"))
      #expect(try rows.get("x") == nil && rows.row("x") == nil && rows.metadata("x") == nil)
    }
    let figures = try figures(db)
    #expect(figures.count == 1 && figures.insertions == 2 && figures.hits > 6 && figures.hitRatio > 0.4)
    #expect(figures.byteCount > 192 && figures.byteCount < 264)
  }

  @Test func rowsAreFoundByTheirNumbers() throws {
    let db = try open()
    let others = RowCollection<Box, String>("others")
    try db.write { tx throws in
      try tx[Self.boxes].set(Box("a"), for: "k")
      try tx[others].set(Box("b"), for: "k")
    }
    let (number, other) = try db.read { tx throws in
      (try #require(try tx[Self.boxes].rowID("k")), try #require(try tx[others].rowID("k")))
    }
    func find(_ tx: ReadTransaction, _ rowID: RowID) -> Box? { tx[Self.boxes].handle.objectCached(rowID) }
    #expect(try db.read { tx in find(tx, number) } == nil, "Nobody has read it.")
    let box = try #require(try db.read { tx in try tx[Self.boxes].get("k") })
    _ = try db.read { tx in try tx[others].row("k") }
    let pin = try db.pin()
    try db.read { tx throws in
      #expect(find(tx, number) === box && find(tx, RowID(number.rawValue + 1 << 40)) == nil)
      #expect(find(tx, other) == nil && tx[others].handle.objectCached(other)?.text == "b")
    }
    try db.write { tx throws in
      #expect(tx[Self.boxes].handle.objectCached(number) == nil, "A transaction that writes does without the cache.")
      try tx[Self.boxes].remove("k")
      try tx[Self.boxes].set(Box("c"), for: "k")
    }
    let next = try #require(try db.read { tx in try tx[Self.boxes].rowID("k") })
    try db.read { tx throws in
      #expect(next != number && find(tx, number) == nil && find(tx, next) == nil)
      #expect(try tx[Self.boxes].get("k")?.text == "c" && find(tx, next)?.text == "c" && find(tx, number) == nil)
    }
    // The new row has taken the place of the old one, which the older snapshot has to read anew.
    try pin.read { tx throws in
      #expect(find(tx, next) == nil)
      #expect(try tx[Self.boxes].get("k")?.text == "a")
    }
    try db.write { tx throws in try tx[Self.boxes].removeAll() }
    #expect(try db.read { tx in find(tx, next) } == nil)
    _ = try figures(db)
  }

  @Test func aLimitThatIsNoneAsksForNoMemory() throws {
    let db = try open(ObjectCacheOptions(countLimit: .max, byteLimit: 64 << 10))
    try db.write { tx throws in try tx[Self.boxes].set(Box("a"), for: "k") }
    for _ in 0..<2 { try db.read { tx throws in _ = try tx[Self.boxes].get("k") } }
    #expect(try figures(db).hits == 1)
    try db.close()
  }

  @Test func thereIsNoneUnlessAskedFor() throws {
    let db = try open(nil)
    try db.write { tx throws in try tx[Self.boxes].set(Box("a"), for: "k") }
    try db.read { tx throws in #expect(try tx[Self.boxes].get("k") !== tx[Self.boxes].get("k")) }
    #expect(db.objectCacheStatistics == nil)
    db.flushMemory()
  }

  @Test func onlyTheChosenCollectionsAreKept() throws {
    let db = try open(ObjectCacheOptions(collections: .only(["texts"])))
    try db.write { tx throws in
      try tx[Self.boxes].set(Box("a"), for: "k")
      try tx[.texts("texts")].set("a", for: "k")
    }
    try db.read { tx throws in
      for _ in 0..<3 { _ = try (tx[Self.boxes].get("k"), tx[.texts("texts")].get("k")) }
      #expect(try tx[Self.boxes].get("k") !== tx[Self.boxes].get("k"))
    }
    let figures = try figures(db)
    #expect(figures.count == 1 && figures.hits == 2 && figures.misses == 1)
  }

  // MARK: Snapshots

  /// What `get` says now, and in the snapshots of pins.
  private func texts(_ db: Database, _ pins: [PinnedSnapshot], _ key: String = "k") throws -> [String?] {
    var texts = [try db.read { tx in try tx[Self.boxes].get(key)?.text }]
    for pin in pins { texts.append(try pin.read { tx in try tx[Self.boxes].get(key)?.text }) }
    return texts
  }

  @Test func everySnapshotFindsItsOwn() throws {
    let db = try open()
    try db.write { tx throws in try tx[Self.boxes].set(Box("1"), for: "k") }
    var pins = [try db.pin()]
    #expect(try texts(db, pins) == ["1", "1"])
    try db.write { tx throws in
      try tx[Self.boxes].set(Box("2"), for: "k")
      #expect(try tx[Self.boxes].get("k")?.text == "2")
    }
    pins.append(try db.pin())
    // The old one may use what was kept for it, and must not take the place of what is newer.
    for _ in 0..<3 { #expect(try texts(db, pins) == ["2", "1", "2"]) }
    try db.write { tx throws in try tx[Self.boxes].remove("k") }
    pins.append(try db.pin())
    for _ in 0..<3 { #expect(try texts(db, pins) == [nil, "1", "2", nil]) }
    try db.write { tx throws in try tx[Self.boxes].set(Box("4"), for: "k") }
    for _ in 0..<3 { #expect(try texts(db, pins) == ["4", "1", "2", nil]) }
    try pins[0].advance()
    #expect(try texts(db, pins) == ["4", "4", "2", nil])
    _ = try figures(db)
  }

  /// A snapshot that is older than an entry uses it if nothing has changed in between.
  @Test func anOldSnapshotUsesWhatANewerOneHasFound() throws {
    let db = try open()
    try db.write { tx throws in try tx[Self.boxes].set(Box("1"), for: "k") }
    let pin = try db.pin()
    try db.write { tx throws in try tx[.texts("other")].set("x", for: "y") }
    let found = try #require(try db.read { tx in try tx[Self.boxes].get("k") })
    #expect(try pin.read { tx in try tx[Self.boxes].get("k") } === found)
  }

  @Test func whatIsUndoneIsNeverFound() throws {
    let db = try open()
    try db.write { tx throws in try tx[Self.boxes].set(Box("1"), for: "k") }
    _ = try texts(db, [])
    #expect(throws: Undo.self) {
      try db.write { tx throws in
        try tx[Self.boxes].set(Box("2"), for: "k")
        #expect(try tx[Self.boxes].get("k")?.text == "2")
        throw Undo()
      }
    }
    #expect(try texts(db, []) == ["1"])
    try db.write { tx throws in
      do {
        try tx.savepoint {
          try tx[Self.boxes].remove("k")
          throw Undo()
        }
      } catch is Undo {}
      try tx[Self.boxes].set(Box("other"), for: "l")
    }
    #expect(try texts(db, []) == ["1"])
    // A collection whose number was given in a transaction that was undone, and is given again.
    let other = RowCollection<String, String>.texts("other")
    #expect(throws: Undo.self) {
      try db.write { tx throws in
        try tx[other].set("undone", for: "k")
        _ = try tx[other].get("k")
        throw Undo()
      }
    }
    try db.write { tx throws in try tx[.texts("third")].set("third", for: "k") }
    #expect(try db.read { tx in try tx[other].get("k") } == nil)
    #expect(try db.read { tx in try tx[.texts("third")].get("k") } == "third")
    _ = try figures(db)
  }

  @Test func clearedCollectionsAreGone() throws {
    let db = try open()
    func fill(_ text: String) throws {
      try db.write { tx throws in for key in ["k", "l", "m"] { try tx[Self.boxes].set(Box(text), for: key) } }
    }
    try fill("1")
    var pins = [try db.pin()]
    #expect(try texts(db, pins) == ["1", "1"])
    // The collection stays, with one row less than it had.
    try db.write { tx throws in
      try tx[Self.boxes].removeAll()
      try tx[Self.boxes].set(Box("2"), for: "l")
    }
    pins.append(try db.pin())
    for _ in 0..<2 {
      #expect(try texts(db, pins) == [nil, "1", nil])
      #expect(try texts(db, pins, "l") == ["2", "1", "2"])
    }
    try db.write { tx throws in try tx[Self.boxes].removeAll() }
    #expect(try texts(db, pins, "l") == [nil, "1", "2"])
    try fill("3")
    #expect(try texts(db, pins, "l") == ["3", "1", "2"])
    try db.write { tx throws in try tx.removeAll() }
    for _ in 0..<2 { #expect(try texts(db, pins) == [nil, "1", nil]) }
    try fill("4")
    for _ in 0..<2 { #expect(try texts(db, pins) == ["4", "1", nil]) }
    _ = try figures(db)
  }

  /// One transaction with more changes than there are places.
  @Test func manyChangesAtOnceAreNotMissed() throws {
    let db = try open(ObjectCacheOptions(countLimit: 64))
    func fill(_ text: String) throws {
      try db.write { tx throws in for key in 0..<2000 { try tx[Self.boxes].set(Box(text), for: "\(key)") } }
    }
    try fill("1")
    for key in 0..<50 { #expect(try texts(db, [], "\(key)") == ["1"]) }
    let pin = try db.pin()
    try fill("2")
    for key in 0..<50 { #expect(try texts(db, [pin], "\(key)") == ["2", "1"]) }
    _ = try figures(db)
  }

  // MARK: Keys and types

  @Test func keysAreBytes() throws {
    let db = try open()
    let keys = ["", "\u{e9}", "e\u{301}", "k", "k\0", String(repeating: "long", count: 100), "\u{10ffff}"]
    try db.write { tx throws in
      for (number, key) in keys.enumerated() {
        try tx[.texts("a")].set("a\(number)", for: key)
        try tx[.texts("b")].set("b\(number)", for: key)
      }
    }
    for _ in 0..<2 {
      try db.read { tx throws in
        for (number, key) in keys.enumerated() {
          // Made anew, as keys that come from elsewhere are.
          let copy = String(decoding: Array(key.utf8), as: UTF8.self)
          #expect(try tx[.texts("a")].get(copy) == "a\(number)")
          #expect(try tx[.texts("b")].get(copy) == "b\(number)")
        }
        let all = try tx[.texts("a")].objects(for: keys.reversed())
        #expect(all == (0..<keys.count).reversed().map { "a\($0)" })
      }
    }
    #expect(try figures(db).count == 2 * keys.count)
  }

  @Test func damageIsFoundAndNotKept() throws {
    let db = try open()
    let throwing = RowCollection<String, NoMetadata>(
      "t", coder: RowCoder(encode: { Array($0.utf8) }, decode: { _ in throw Undo() }))
    try db.write { tx throws in try tx[throwing].set("x", for: "k") }
    for _ in 0..<2 {
      #expect(errorCode { _ = try db.read { tx in try tx[throwing].get("k") } } == .decodingFailed)
      #expect(errorCode { _ = try db.read { tx in try tx[throwing].objects(for: ["k"]) } } == .decodingFailed)
    }
    #expect(try figures(db).count == 0)
    var kept: ReadableRows<Box, String>?
    try db.write { tx throws in try tx[Self.boxes].set(Box("1"), for: "k") }
    try db.read { tx throws in
      kept = tx[Self.boxes]
      _ = try kept?.get("k")
    }
    #expect(errorCode { _ = try kept?.get("k") } == .transactionClosed)
    #expect(errorCode { _ = try kept?.rows(for: ["k"]) } == .transactionClosed)
  }

  // MARK: Limits

  @Test(arguments: [1, 5, 100, 1000]) func neitherLimitIsExceeded(_ countLimit: Int) throws {
    let db = try open(ObjectCacheOptions(countLimit: countLimit, byteLimit: 1 << 30))
    let keyCount = TestSize.trials(3000, divisor: 4, least: 3 * countLimit / 2)
    try db.write { tx throws in for key in 0..<keyCount { try tx[Self.boxes].set(Box("text"), for: "\(key)") } }
    for key in 0..<keyCount { #expect(try texts(db, [], "\(key)") == ["text"]) }
    var found = try figures(db)
    #expect(found.count <= countLimit && found.count >= countLimit / 2)
    #expect(found.insertions - found.evictions <= 2 * countLimit + 2)
    // What is asked for again and again stays, though others pass by.
    let passingCount = TestSize.trials(2000, divisor: 4)
    for key in 0..<passingCount { _ = try (texts(db, [], "\(key)"), texts(db, [], "0")) }
    let hits = found.hits
    found = try figures(db)
    #expect(countLimit < 100 || found.hits - hits >= passingCount * 95 / 100)
    db.flushMemory(.buffers)
    #expect(try figures(db).count == found.count)
    db.flushMemory(.objects)
    let empty = try figures(db)
    #expect(empty.count == 0 && empty.byteCount == 0 && empty.hits == found.hits)
    #expect(try texts(db, [], "0") == ["text"])
  }

  @Test func bytesAreLimited() throws {
    let limit = 200_000
    let db = try open(ObjectCacheOptions(countLimit: 10_000, byteLimit: limit))
    var random = SeededRandom(seed: 4)
    try db.write { tx throws in
      for key in 0..<500 {
        let text = String(repeating: "x", count: key == 7 ? 2 * limit : random.below(4000))
        try tx[Self.boxes].set(Box(text), for: "\(key)")
      }
    }
    for _ in 0..<2000 {
      let key = "\(random.below(500))"
      #expect(try texts(db, [], key)[0] != nil)
    }
    let found = try figures(db)
    #expect(found.byteCount <= limit && found.byteCount > limit / 3 && found.evictions > 100 && found.hits > 20)
    // Something larger than all of it is read, and not kept.
    #expect(try texts(db, [], "7")[0]?.utf8.count == 2 * limit)
    #expect(try figures(db).insertions == found.insertions)
  }

  @Test func whatGoesMayUseTheDatabase() throws {
    final class Caller: Codable, Sendable {
      let number: Int
      init(_ number: Int) { self.number = number }
      init(from decoder: any Decoder) throws { number = try decoder.singleValueContainer().decode(Int.self) }
      func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(number)
      }
      deinit { ended.withLock { $0?.flushMemory(.buffers) } }
    }
    let callers = RowCollection<Caller, NoMetadata>("callers")
    let db = try open(ObjectCacheOptions(countLimit: 4))
    ended.withLock { $0 = db }
    try db.write { tx throws in for key in 0..<40 { try tx[callers].set(Caller(key), for: "\(key)") } }
    for key in 0..<40 { #expect(try db.read { tx in try tx[callers].get("\(key)")?.number } == key) }
    db.flushMemory()
    ended.withLock { $0 = nil }
  }
}

/// The database that objects call when they go.
private let ended = Shared<Database?>(nil)
