// Several screens that follow one pinned snapshot by its steps.

import QuireDatabase
import QuireTesting
import QuireViews
import Testing

@Suite struct ScreenStepTests {
  private static let view = AutoView(
    "view", over: RowCollection<Item, Int>.items(), group: { $0.group }, sortKey: { $0.rank })

  /// A screen that follows change sets only, and what it shows by them.
  private struct Screen {
    var mappings: ViewMappings
    var list: [[RowKey]] = []
    /// The steps that it has not taken yet, as one.
    var way: PinnedStep?
    var reloads = 0
    var diffs = 0

    mutating func take(_ diff: ViewDiff, _ tx: ReadTransaction) throws {
      let reader = try tx.view(ScreenStepTests.view)
      try diff.apply(to: &list) { path in try #require(try reader.rowKey(at: path, mappings)) }
      reloads += diff.isReload ? 1 : 0
      diffs += 1
    }

    func check(_ tx: ReadTransaction, _ comment: Comment) throws {
      let reader = try tx.view(ScreenStepTests.view)
      let shown = try (0..<mappings.sectionCount).map { section in
        try (0..<mappings.count(inSection: section)).map { row in
          try #require(try reader.rowKey(at: ViewPath(section: section, row: row), mappings))
        }
      }
      #expect(list == shown, comment)
    }
  }

  private func change(_ tx: WriteTransaction, _ random: inout SeededRandom) throws {
    let key = "k\(random.below(40))"
    let group = ["a", "b", "c", nil][random.below(4)]
    switch random.below(6) {
    case 0: try tx[.items()].remove(key)
    default: try tx[.items()].set(Item(group: group, rank: random.below(20)), metadata: 1, for: key)
    }
  }

  private func write(_ db: Database, _ random: inout SeededRandom) throws {
    if random.oneIn(4) { return try db.write { tx throws in _ = try tx[.items()].touch("k\(random.below(40))") } }
    try db.write { tx throws in for _ in 0..<1 + random.below(4) { try self.change(tx, &random) } }
  }

  /// Screens ask in any order, skip steps and take them together, or are loaded in whatever transaction.
  @Test(arguments: TestSize.some(1...20 as ClosedRange<UInt64>, of: 4)) func everyScreenFollows(_ seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let db = try Database.inMemory()
    try db.register(Self.view)
    try write(db, &random)
    let pin = try db.pin()
    var screens = [["a"], ["b", "a"], ["c"]].map { Screen(mappings: ViewMappings(Self.view, groups: $0)) }
    screens.append(Screen(mappings: ViewMappings(Self.view)))
    screens[1].mappings.isReversed["a"] = true
    for _ in 0..<80 {
      for _ in 0..<random.below(3) { try write(db, &random) }
      let place = random.below(screens.count)
      if random.oneIn(8) {
        // Loaded elsewhere, at times ahead of the pin.
        try db.read { tx throws in
          let diff = try screens[place].mappings.reload(tx)
          try screens[place].take(diff, tx)
        }
        screens[place].way = nil
        continue
      }
      try pin.advance { step, tx throws in
        for index in screens.indices.shuffled(using: &random) {
          screens[index].way = screens[index].way?.followed(by: step) ?? step
          guard !random.oneIn(3), let way = screens[index].way else { continue }
          #expect(way.leads(to: tx), "seed \(seed)")
          try screens[index].take(try screens[index].mappings.advance(way, tx), tx)
          screens[index].way = nil
          try screens[index].check(tx, "seed \(seed)")
        }
      }
    }
    // The first of each, those ahead of the pin or loaded anew; by far not all.
    for screen in screens { #expect(screen.reloads < screen.diffs / 2, "seed \(seed)") }
  }

  @Test func aTouchIsToldToEveryScreenOnce() throws {
    let db = try Database.inMemory()
    try db.register(Self.view)
    try db.write { tx throws in try tx[.items()].set(Item(group: "a", rank: 1), metadata: 1, for: "k") }
    let pin = try db.pin()
    var (first, second) = (ViewMappings(Self.view, groups: ["a"]), ViewMappings(Self.view, groups: ["a"]))
    try pin.read { tx throws in try first.update(tx) }
    // Outside of the pinned snapshot as well.
    try db.read { tx throws in try second.update(tx) }
    try db.write { tx throws in _ = try tx[.items()].touch("k") }
    try pin.advance { step, tx throws in
      for diff in [try first.advance(step, tx), try second.advance(step, tx)] {
        #expect(diff.rows.map(\.kind) == [.update] && !diff.isReload)
      }
      #expect(try first.advance(step, tx).isEmpty && second.advance(step, tx).isEmpty)
    }
  }

  @Test func stepsOfOthersLeadNowhere() throws {
    let (db, other) = (try Database.inMemory(), try Database.inMemory())
    for one in [db, other] {
      try one.register(Self.view)
      try one.write { tx throws in try tx[.items()].set(Item(group: "a", rank: 1), metadata: 1, for: "k") }
    }
    let (pin, foreign) = (try db.pin(), try other.pin())
    var mappings = ViewMappings(Self.view, groups: ["a"])
    try pin.read { tx throws in try mappings.update(tx) }
    let wrong = try foreign.advance { step, _ in step }
    try pin.read { tx throws in
      #expect(!wrong.leads(to: tx))
      #expect(try mappings.advance(wrong, tx).isReload)
    }
    let first = try pin.advance { step, _ in step }
    try db.write { tx throws in try tx[.items()].set(Item(group: "a", rank: 2), metadata: 1, for: "l") }
    let second = try pin.advance { step, _ in step }
    #expect(first.followed(by: second) != nil && second.followed(by: first) == nil && wrong.followed(by: second) == nil)
    // The step before the last leads no further than it did.
    try pin.read { tx throws in
      #expect(!first.leads(to: tx) && second.leads(to: tx))
      #expect(try mappings.advance(first, tx).isReload)
      #expect(mappings.count == 2)
    }
  }
}
