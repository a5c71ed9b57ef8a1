// Views of all kinds beside lists that are grouped and sorted from all rows.
//
//     QUIRE_VIEW_STEPS=100000 QUIRE_VIEW_SEED=7 swift test --filter ViewModelTests

import Foundation
import QuireDatabase
import QuireTesting
import QuireViews
import Testing

/// One random life of ten views over two collections.
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
  /// The views that the pinned snapshot has, which is asked by them.
  var pinned: (views: ModelViews, names: Set<String>)
  /// What is registered.
  var names = Set(ModelViews.names)
  /// The views that have begun another life since the pinned snapshot.
  var restarted: Set<String> = []
  let trap = Trap()
  var screens: ViewScreens?
  var steps = 0
  var views: ModelViews
  /// What the collections are called.
  var collections = ItemCollections()
  /// The number of the last version that was given to a view.
  var lastVersion = 0
  /// How often what has happened, to see that all of it does.
  var counts: [String: Int] = [:]

  init(seed: UInt64, isPersistent: Bool) throws {
    self.seed = seed
    self.isPersistent = isPersistent
    random = SeededRandom(seed: seed)
    views = ModelViews(ViewSettings(), collections, isPersistent: isPersistent, trap)
    pinned = (views, [])
    db = try openSimulated(disk, seed: seed)
    // Some rows first, which the views are built from.
    for _ in 0..<5 { try db.write { tx throws in for _ in 0..<10 { try self.change(tx) } } }
    for name in ModelViews.names {
      try enterFresh(name, nil)
      try db.register(views.view(name))
    }
    // A crash may take back what follows, but not that they are registered.
    try db.flush()
    try begin()
  }

  func begin() throws {
    pin = try db.pin()
    try check()
    shown = try db.read { tx in try views.shown(tx, names) }
    (pinned, restarted) = ((views, names), [])
    screens = try ViewScreens(db)
  }

  // MARK: Steps

  func run(_ count: Int) throws {
    for _ in 0..<count {
      steps += 1
      try write()
      if random.oneIn(12) { try live() }
      // An old snapshot goes on showing what it showed.
      if random.oneIn(4) { try expectPin() }
      if random.oneIn(3) { continue }
      try advance()
      if steps % 5 == 0 { try check() }
      if random.oneIn(30) { try reopen(isCrash: random.oneIn(2)) }
    }
    try registerAll()
    try advance()
    try check()
  }

  /// A transaction, which may fail by itself or by a closure of the views: nothing of it remains then.
  func write() throws {
    let before = random.oneIn(20) ? try db.read { tx in try views.shown(tx, names) } : nil
    if before != nil { trap.set(random.below(12)) }
    defer { trap.set(nil) }
    do {
      try db.write { tx throws in
        for _ in 0..<1 + random.below(8) { try self.step(tx, depth: 0) }
        if random.oneIn(6) { throw Undo() }
      }
      return
    } catch is Undo {
    } catch is Trap.Sprung where before != nil {
      // Of a live change, which throws what the closure threw.
      counts["closure failed", default: 0] += 1
    } catch let error as DatabaseError where before != nil && error.isSprung {
      counts["closure failed", default: 0] += 1
    }
    trap.set(nil)
    guard let before else { return }
    if try db.read({ tx in try views.shown(tx, names) }) != before {
      throw ModelError("a transaction that failed has left something, step \(steps) of seed \(seed)")
    }
  }

  func step(_ tx: WriteTransaction, depth: Int) throws {
    switch random.below(26) {
    case 0...13: try follow(tx, judged: change(tx))
    case 14...18: try arrange(tx)
    case 19:
      guard random.oneIn(6) else { return }
      try tx[.items(randomCollection())].removeAll()
      try follow(tx, judged: nil)
    case 20:
      guard random.oneIn(10) else { return }
      let settings = try tx[.settings].get("now") ?? ViewSettings()
      try tx.removeAll()
      try tx[.settings].set(settings, for: "now")
      try follow(tx, judged: nil)
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

  private func randomCollection() -> String { random.oneIn(3) ? collections.others : collections.items }

  /// Returns the row whose object was stored or touched, if there is one.
  @discardableResult
  func change(_ tx: WriteTransaction) throws -> RowKey? {
    let collection = randomCollection()
    let rows = tx[.items(collection)]
    let key = "k\(random.below(60))"
    let item = Item(group: random.oneIn(6) ? nil : ["a", "b", "", "ü"][random.below(4)], rank: random.below(12))
    switch random.below(10) {
    case 0...3: try rows.set(item, metadata: random.oneIn(3) ? nil : random.below(30), for: key)
    case 4: try rows.replace(item, for: key)
    case 5:
      try rows.replaceMetadata(random.below(30), for: key)
      return nil
    case 6: try rows.touch(key)
    case 7:
      try rows.remove([key, "k\(random.below(60))"])
      return nil
    default:
      try rows.remove(key)
      return nil
    }
    return RowKey(collection, key)
  }

  private func arrange(_ tx: WriteTransaction) throws {
    guard names.contains("list") else { return }
    let writer = try tx.access(to: views.list)
    let group = ["x", "y"][random.below(2)]
    let count = writer.reader.count(in: group)
    let key = RowKey(randomCollection(), "k\(random.below(60))")
    switch random.below(8) {
    case 0...4:
      let index = random.oneIn(2) ? count : random.below(count + 1)
      do {
        try writer.insert(key, at: index, in: group)
      } catch let error as DatabaseError where error.code == .viewRefused { return }
      try model(tx) { try $0.insert(self.collections.first(key), tx.rowID(of: key), at: index, in: group) }
    case 5:
      guard count > 0 else { return }
      let index = random.below(count)
      try writer.remove(at: index, in: group)
      try model(tx) { $0.remove(at: index, in: group) }
    case 6:
      guard count > 1 else { return }
      let (from, target) = (random.below(count), random.below(count))
      try writer.move(from: from, to: target, in: group)
      try model(tx) { $0.move(from: from, to: target, in: group) }
    default:
      guard random.oneIn(8) else { return }
      try writer.removeAll(in: group)
      try model(tx) { $0.groups[group] = nil }
    }
  }

  // MARK: Checks

  /// The old lists and the steps that the commits tell make the new lists.
  func advance() throws {
    guard let pin else { return }
    let commits = try pin.advance()
    for commit in commits {
      for name in shown.keys where !restarted.contains(name) {
        guard let changes = commit.changes(ofExtensionNamed: name) as? ViewChanges else { continue }
        do { try apply(changes.operations, to: &shown[name, default: [:]]) } catch {
          throw ModelError("\(name): \(error), step \(steps) of seed \(seed)")
        }
      }
    }
    let now = try pin.read { tx in try views.shown(tx, names) }
    for (name, expected) in now where shown[name] != expected && !restarted.contains(name) {
      throw ModelError("\(name): the steps do not lead to what is shown, step \(steps) of seed \(seed)")
    }
    (shown, pinned, restarted) = (now, (views, names), [])
    do { try screens?.advance(now, &random) } catch {
      throw ModelError("\(error), step \(steps) of seed \(seed)")
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
  @Test(.enabled(if: TestSize.hasSlowTests, "slow"), arguments: [true, false])
  func viewsAreWhatGroupingAndSortingMake(_ isPersistent: Bool) throws {
    let steps = environmentNumber("QUIRE_VIEW_STEPS") ?? TestSize.trials(600, divisor: 2)
    let seed = UInt64(environmentNumber("QUIRE_VIEW_SEED") ?? 1)
    let history = try ViewHistory(seed: seed, isPersistent: isPersistent)
    do { try history.run(steps) } catch {
      let place = "stored: \(isPersistent), after \(history.steps) steps"
      let replay = "QUIRE_VIEW_STEPS=\(steps) QUIRE_VIEW_SEED=\(seed) swift test --filter ViewModelTests"
      throw ModelError("\(error) (\(place)); again with: \(replay)")
    }
    if steps < 600 { return }
    var expected = [
      "undone", "live", "same version", "reopened", "crashed", "closure failed", "unregistered", "registered anew",
      "registered late", "registration failed", "other kind", "fresh: begun", "fresh: shown", "screen: reload",
      "screen: rows",
      "screen: nothing",
    ]
    if isPersistent { expected += ["renamed", "retyped", "registered with changes", "fresh: swept"] }
    for what in expected { #expect(history.counts[what, default: 0] > 0, "\(what)") }
  }
}
