// Screens that go on with a view: pinned snapshots, mappings, change sets, and the sequence of them.

import QuireDatabase
import QuireTesting
import QuireViews
import Testing

@Suite struct ScreenTests {
  private static let view = AutoView(
    "view", over: RowCollection<Item, Int>.items(), group: { $0.group }, sortKey: { $0.rank })

  private func read(
    _ screen: PinnedSnapshot, _ view: AutoView<Item, Int>, _ mappings: ViewMappings
  ) throws -> [[RowKey]] {
    try screen.read { tx throws in
      let reader = try tx.view(view)
      return try (0..<mappings.sectionCount).map { section in
        try (0..<mappings.count(inSection: section)).compactMap { row in
          let path = ViewPath(section: section, row: row)
          let key = try reader.rowKey(at: path, mappings)
          if let key { #expect(try reader.path(of: key, mappings) == path) }
          return key
        }
      }
    }
  }

  private func change(_ tx: WriteTransaction, _ random: inout SeededRandom) throws {
    let key = "k\(random.below(80))"
    let group = ["a", "b", "c", nil][random.below(4)]
    switch random.below(8) {
    case 0: try tx[.items()].remove(key)
    case 1: try tx[.items()].touch(key)
    case 2 where random.oneIn(30): try tx[.items()].removeAll()
    default: try tx[.items()].set(Item(group: group, rank: random.below(20)), metadata: 1, for: key)
    }
  }

  /// What the change sets make of the old list is what the view shows.
  @Test(arguments: TestSize.some(1...20 as ClosedRange<UInt64>, of: 5)) func theListFollows(_ seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let db = try Database.inMemory()
    try db.register(Self.view)
    try db.write { tx throws in for _ in 0..<60 { try self.change(tx, &random) } }
    var mappings = random.oneIn(3) ? ViewMappings(Self.view) : ViewMappings(Self.view, groups: ["b", "a"])
    mappings.hidesEmpty.all = random.oneIn(2)
    if random.oneIn(2) { mappings.window["a"] = .fixed(5) }
    if random.oneIn(3) { mappings.window["b"] = .flexible(4) }
    if random.oneIn(3) { mappings.isReversed["b"] = true }
    let screen = try db.pin()
    try screen.read { tx in try mappings.update(tx) }
    var list = try read(screen, Self.view, mappings)
    for _ in 0..<60 {
      for _ in 0..<1 + random.below(3) {
        try db.write { tx throws in for _ in 0..<1 + random.below(6) { try self.change(tx, &random) } }
      }
      let diff = try screen.advance(&mappings)
      #expect(!diff.isReload, "seed \(seed)")
      try screen.read { tx throws in
        let reader = try tx.view(Self.view)
        try diff.apply(to: &list) { path in try #require(try reader.rowKey(at: path, mappings)) }
      }
      let shown = try read(screen, Self.view, mappings)
      #expect(list == shown, "seed \(seed)")
    }
  }

  @Test func mappingsGoOnFromTheirOwnSnapshotOnly() throws {
    let db = try Database.inMemory()
    try db.register(Self.view)
    try db.write { tx throws in try tx[.items()].set(Item(group: "a", rank: 1), for: "1") }
    let screen = try db.pin()
    var mappings = ViewMappings(Self.view, groups: ["a"])
    func code(_ body: () throws -> Void) -> DatabaseError.Code? {
      do { try body() } catch { return (error as? DatabaseError)?.code }
      return nil
    }
    #expect(code { try screen.advance(&mappings) } == .viewRefused)
    try screen.read { tx in try mappings.update(tx) }
    #expect(mappings.count(in: "a") == 1)
    try db.write { tx throws in try tx[.items()].set(Item(group: "a", rank: 2), for: "2") }
    // Of another state than the pin's.
    var other = mappings
    try db.read { tx in try other.update(tx) }
    #expect(code { try screen.advance(&other) } == .viewRefused)
    // Two screens over one pin.
    var both = [mappings, ViewMappings(Self.view)]
    try screen.read { tx in try both[1].update(tx) }
    let diffs = try screen.advance(&both)
    #expect(diffs.map(\.rows.count) == [1, 1])
    #expect(both.map { $0.count(in: "a") } == [2, 2])
  }

  @Test func aViewThatGoesTakesItsRowsAlong() throws {
    let db = try Database.inMemory()
    try db.register(Self.view)
    try db.write { tx throws in try tx[.items()].set(Item(group: "a", rank: 1), for: "1") }
    let screen = try db.pin()
    var mappings = ViewMappings(Self.view, groups: ["a"])
    try screen.read { tx in try mappings.update(tx) }
    try db.unregister(extensionNamed: "view")
    try db.write { tx throws in try tx[.items()].set(Item(group: "a", rank: 2), for: "2") }
    let diff = try screen.advance(&mappings)
    #expect(diff.isReload && mappings.count(in: "a") == 0)
  }

  @Test func changeSetsComeAsASequence() async throws {
    let db = try Database.inMemory()
    try await db.register(Self.view)
    try await db.write { tx in try tx[.items()].set(Item(group: "a", rank: 1), for: "1") }
    let updates = try db.updates(of: ViewMappings(Self.view, groups: ["a"]))
    var iterator = updates.makeAsyncIterator()
    let first = try #require(try await iterator.next())
    #expect(first.diff.isReload && first.mappings.count(in: "a") == 1)
    try await db.write { tx in try tx[.items()].set(Item(group: "z", rank: 5), for: "9") }
    try await db.write { tx in try tx[.items()].set(Item(group: "a", rank: 0), for: "2") }
    let second = try #require(try await iterator.next())
    #expect(second.diff.rows.map(\.kind) == [.insert] && second.mappings.count(in: "a") == 2)
    let key = try await second.snapshot.read { tx throws in
      try tx.view(Self.view).key(at: 0, in: "a")
    }
    #expect(key == "2")
    try await db.write { tx in try tx[.items()].remove("1") }
    let third = try #require(try await iterator.next())
    #expect(third.diff.rows.map(\.kind) == [.delete])
  }
}
