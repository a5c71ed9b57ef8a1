// Views of all kinds beside lists that are grouped and sorted from all rows.
//
//     QUIRE_VIEW_STEPS=100000 QUIRE_VIEW_SEED=7 swift test --filter ViewModelTests

import Foundation
import QuireDatabase
import QuireTesting
import QuireViews
import Testing

/// One random life of eight views over two collections.
final class ViewHistory {
  struct Undo: Error {}

  let seed: UInt64
  var random: SeededRandom
  var disk = SimulatedDisk()
  var db: Database
  let isPersistent: Bool
  var shown: [String: Shown] = [:]
  /// Lags behind; nil between two openings.
  var pin: PinnedSnapshot?
  var steps = 0
  var views: ModelViews
  /// The number of the last version that was given to a view.
  var lastVersion = 0
  /// How often what has happened, to see that all of it does.
  var counts: [String: Int] = [:]

  init(seed: UInt64, isPersistent: Bool) throws {
    self.seed = seed
    self.isPersistent = isPersistent
    random = SeededRandom(seed: seed)
    views = ModelViews(ViewSettings(), isPersistent: isPersistent)
    db = try openSimulated(disk, seed: seed)
    // Some rows first, which the views are built from.
    for _ in 0..<5 { try db.write { tx throws in for _ in 0..<10 { try self.change(tx) } } }
    try views.register(in: db)
    // A crash may take back what follows, but not that they are registered.
    try db.flush()
    try begin()
  }

  func begin() throws {
    pin = try db.pin()
    try check()
    shown = try db.read { tx in try views.shown(tx) }
  }

  // MARK: Steps

  func run(_ count: Int) throws {
    for _ in 0..<count {
      steps += 1
      do {
        try db.write { tx throws in
          for _ in 0..<1 + random.below(8) { try self.step(tx, depth: 0) }
          if random.oneIn(6) { throw Undo() }
        }
      } catch is Undo {}
      // An old snapshot goes on showing what it showed.
      if random.oneIn(4) { try expectPin() }
      if random.oneIn(3) { continue }
      try advance()
      if steps % 5 == 0 { try check() }
      if random.oneIn(30) { try reopen(isCrash: random.oneIn(2)) }
    }
    try advance()
    try check()
  }

  func step(_ tx: WriteTransaction, depth: Int) throws {
    switch random.below(26) {
    case 0...13: try change(tx)
    case 14...18: try arrange(tx)
    case 19: if random.oneIn(6) { try tx[.items(randomCollection())].removeAll() }
    case 20:
      guard random.oneIn(10) else { return }
      let settings = try tx[.settings].get("now") ?? ViewSettings()
      try tx.removeAll()
      try tx[.settings].set(settings, for: "now")
    case 21...22: try changeViews(tx)
    default:
      guard depth < 2 else { return }
      do {
        try tx.savepoint {
          for _ in 0..<1 + random.below(5) { try self.step(tx, depth: depth + 1) }
          if random.oneIn(2) { throw Undo() }
        }
      } catch is Undo { counts["undone", default: 0] += 1 }
    }
  }

  private func randomCollection() -> String { random.oneIn(3) ? "others" : "items" }

  func change(_ tx: WriteTransaction) throws {
    let rows = tx[.items(randomCollection())]
    let key = "k\(random.below(60))"
    let item = Item(group: random.oneIn(6) ? nil : ["a", "b", "", "ü"][random.below(4)], rank: random.below(12))
    switch random.below(10) {
    case 0...3: try rows.set(item, metadata: random.oneIn(3) ? nil : random.below(30), for: key)
    case 4: try rows.replace(item, for: key)
    case 5: try rows.replaceMetadata(random.below(30), for: key)
    case 6: try rows.touch(key)
    case 7: try rows.remove([key, "k\(random.below(60))"])
    default: try rows.remove(key)
    }
  }

  private func arrange(_ tx: WriteTransaction) throws {
    let writer = try tx.access(to: views.list)
    let group = ["x", "y"][random.below(2)]
    let count = writer.reader.count(in: group)
    let key = RowKey(randomCollection(), "k\(random.below(60))")
    switch random.below(8) {
    case 0...4:
      do { try writer.insert(key, at: random.oneIn(2) ? count : random.below(count + 1), in: group) } catch let error
        as DatabaseError where error.code == .viewRefused
      {}
    case 5: if count > 0 { try writer.remove(at: random.below(count), in: group) }
    case 6: if count > 1 { try writer.move(from: random.below(count), to: random.below(count), in: group) }
    default: if random.oneIn(8) { try writer.removeAll(in: group) }
    }
  }

  // MARK: Checks

  /// The old lists and the steps that the commits tell make the new lists.
  func advance() throws {
    guard let pin else { return }
    let commits = try pin.advance()
    for commit in commits {
      for name in shown.keys {
        guard let changes = commit.changes(ofExtensionNamed: name) as? ViewChanges else { continue }
        do { try apply(changes.operations, to: &shown[name, default: [:]]) } catch {
          throw ModelError("\(name): \(error), step \(steps) of seed \(seed)")
        }
      }
    }
    let now = try pin.read { tx in try views.shown(tx) }
    for (name, expected) in now where shown[name] != expected {
      throw ModelError("\(name): the steps do not lead to what is shown, step \(steps) of seed \(seed)")
    }
  }
}

struct ModelRow {
  let key: RowKey
  let rowID: RowID
  let item: Item
  let metadata: Int?
}

struct ModelError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

func grouped(
  _ rows: [ModelRow], _ groups: (ModelRow) -> [String], by isBefore: (ModelRow, ModelRow) -> Bool
) -> Shown {
  var shown: [String: [ModelRow]] = [:]
  for row in rows { for group in groups(row) { shown[group, default: []].append(row) } }
  return shown.mapValues { $0.sorted(by: isBefore).map(\.key) }
}

@Suite struct ViewModelTests {
  private static func number(_ name: String) -> Int? { ProcessInfo.processInfo.environment[name].flatMap(Int.init) }

  @Test(arguments: [true, false]) func viewsAreWhatGroupingAndSortingMake(_ isPersistent: Bool) throws {
    let steps = Self.number("QUIRE_VIEW_STEPS") ?? 400
    let history = try ViewHistory(seed: UInt64(Self.number("QUIRE_VIEW_SEED") ?? 1), isPersistent: isPersistent)
    try history.run(steps)
    if steps < 400 { return }
    for what in ["undone", "live", "same version", "reopened", "crashed"] {
      #expect(history.counts[what, default: 0] > 0, "\(what)")
    }
  }
}
