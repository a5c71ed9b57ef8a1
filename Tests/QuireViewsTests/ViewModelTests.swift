// Views of all kinds beside lists that are grouped and sorted from all rows.
//
//     QUIRE_VIEW_STEPS=100000 QUIRE_VIEW_SEED=7 swift test --filter ViewModelTests

import Foundation
import QuireDatabase
import QuireTesting
import QuireViews
import Testing

/// One random life of five views over two collections.
final class ViewHistory {
  struct Undo: Error {}

  let seed: UInt64
  var random: SeededRandom
  var db: Database
  let isPersistent: Bool
  var shown: [String: Shown] = [:]
  var manual: Shown = [:]
  var pin: PinnedSnapshot
  var steps = 0

  let keyed: AutoView<Item, Int>
  let compared: AutoView<Item, Int>
  let several: AutoView<Item, Int>
  let list: ManualView<Item, Int>
  let even: FilteredView<AutoView<Item, Int>>
  let few: FilteredView<FilteredView<AutoView<Item, Int>>>
  let favourites: FilteredView<ManualView<Item, Int>>

  init(seed: UInt64, isPersistent: Bool) throws {
    self.seed = seed
    self.isPersistent = isPersistent
    random = SeededRandom(seed: seed)
    let both: [RowCollection<Item, Int>] = [.items(), .items("others")]
    keyed = AutoView(
      "keyed", over: both, isPersistent: isPersistent, grouping: .byObject { $0.group },
      sorting: .byObject { SortKeys($0.rank, Descending($0.group ?? "")) })
    compared = AutoView(
      "compared", over: both, isPersistent: isPersistent, grouping: .byRow { row in try row.object.group },
      sorting: .byRow { _, left, right in try (left.object.rank, left.key) < (right.object.rank, right.key) })
    several = AutoView(
      "several", over: [.items()], isPersistent: isPersistent,
      grouping: .severalByRow { row in try ["all"] + (row.metadata.map { ["m\($0 % 3)", "all"] } ?? []) },
      sorting: .byMetadata { $0 })
    list = ManualView("list", over: both, isPersistent: isPersistent)
    even = FilteredView("even", of: compared, isPersistent: isPersistent, filter: .byObject { $0.rank % 2 == 0 })
    few = FilteredView("few", of: even, isPersistent: isPersistent, filter: .byMetadata { ($0 ?? 0) % 5 == 1 })
    favourites = FilteredView(
      "favourites", of: list, isPersistent: isPersistent, filter: .byRow { _, row in try row.object.group != nil })
    db = try Database.inMemory()
    pin = try db.pin()
    try register()
  }

  private func register() throws {
    // Some rows first, which the views are built from.
    for _ in 0..<5 { try db.write { tx throws in for _ in 0..<10 { try self.change(tx) } } }
    try db.register(keyed)
    try db.register(compared)
    try db.register(several)
    try db.register(list)
    try db.register(even)
    try db.register(few)
    try db.register(favourites)
    pin = try db.pin()
    try check()
    shown = try db.read { tx in try self.read(tx) }
  }

  // MARK: Steps

  func run(_ count: Int) throws {
    for _ in 0..<count {
      steps += 1
      let (before, beforeList) = (steps, manual)
      do {
        try db.write { tx throws in
          for _ in 0..<1 + random.below(8) { try self.step(tx, depth: 0) }
          if random.oneIn(6) { throw Undo() }
        }
      } catch is Undo { manual = beforeList }
      try advance()
      if before % 5 == 0 { try check() }
    }
    try check()
  }

  private func step(_ tx: WriteTransaction, depth: Int) throws {
    switch random.below(24) {
    case 0...13: try change(tx)
    case 14...18: try arrange(tx)
    case 19: if random.oneIn(6) { try tx[.items(randomCollection())].removeAll() }
    case 20:
      if random.oneIn(10) {
        try tx.removeAll()
      }
    default:
      guard depth < 2 else { return }
      do {
        try tx.savepoint {
          for _ in 0..<1 + random.below(5) { try self.step(tx, depth: depth + 1) }
          if random.oneIn(2) { throw Undo() }
        }
      } catch is Undo {}
    }
  }

  private func randomCollection() -> String { random.oneIn(3) ? "others" : "items" }

  private func change(_ tx: WriteTransaction) throws {
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
    guard let writer = try? tx.access(to: list) else { return }
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

  private func read(_ tx: ReadTransaction) throws -> [String: Shown] {
    [
      "keyed": try tx.view(keyed).shown(), "compared": try tx.view(compared).shown(),
      "several": try tx.view(several).shown(), "list": try tx.view(list).shown(), "even": try tx.view(even).shown(),
      "few": try tx.view(few).shown(), "favourites": try tx.view(favourites).shown(),
    ]
  }

  /// The old lists and the steps that the commits tell make the new lists.
  private func advance() throws {
    let commits = try pin.advance()
    for commit in commits {
      for name in shown.keys {
        guard let changes = commit.changes(ofExtensionNamed: name) as? ViewChanges else { continue }
        do { try apply(changes.operations, to: &shown[name, default: [:]]) } catch {
          throw ModelError("\(name): \(error), step \(steps) of seed \(seed)")
        }
      }
    }
    let now = try pin.read { tx in try self.read(tx) }
    for (name, expected) in now where shown[name] != expected {
      throw ModelError("\(name): the steps do not lead to what is shown, step \(steps) of seed \(seed)")
    }
  }

  private func check() throws {
    try db.read { tx throws in
      let reader = try tx.view(keyed)
      var rows: [ModelRow] = []
      for name in ["items", "others"] {
        for row in tx[.items(name)].rows {
          rows.append(ModelRow(key: RowKey(name, row.key), rowID: row.rowID, item: row.object, metadata: row.metadata))
        }
      }
      let now = try self.read(tx)
      func expect(_ name: String, _ expected: Shown) throws {
        if now[name] != expected {
          throw ModelError("\(name) shows other rows, step \(self.steps) of seed \(self.seed)")
        }
      }
      try expect(
        "keyed",
        grouped(rows) {
          $0.item.group.map { [$0] } ?? []
        } by: {
          ($0.item.rank, $0.rowID) < ($1.item.rank, $1.rowID)
        })
      let isBefore: (ModelRow, ModelRow) -> Bool = { ($0.item.rank, $0.key.key) < ($1.item.rank, $1.key.key) }
      // Equal rows of two collections stand in any order.
      let compared = now["compared"] ?? [:]
      let ranks = Dictionary(uniqueKeysWithValues: rows.map { ($0.key, $0) })
      for (group, keys) in compared {
        let found = keys.compactMap { ranks[$0] }
        guard found.count == keys.count, zip(found, found.dropFirst()).allSatisfy({ !isBefore($1, $0) }),
          Set(keys) == Set(rows.filter { $0.item.group == group }.map(\.key))
        else { throw ModelError("compared shows other rows, step \(self.steps) of seed \(self.seed)") }
      }
      #expect(Set(compared.keys) == Set(rows.compactMap(\.item.group)))
      try expect(
        "several",
        grouped(rows.filter { $0.key.collection == "items" }) {
          ["all"] + ($0.metadata.map { ["m\($0 % 3)"] } ?? [])
        } by: {
          ($0.metadata ?? -1, $0.rowID) < ($1.metadata ?? -1, $1.rowID)
        })
      let even = compared.mapValues { $0.filter { (ranks[$0]?.item.rank ?? 1) % 2 == 0 } }.filter { !$0.value.isEmpty }
      try expect("even", even)
      try expect(
        "few", even.mapValues { $0.filter { (ranks[$0]?.metadata ?? 0) % 5 == 1 } }.filter { !$0.value.isEmpty })
      let list = now["list"] ?? [:]
      try expect(
        "favourites", list.mapValues { $0.filter { ranks[$0]?.item.group != nil } }.filter { !$0.value.isEmpty })
      // Positions lead back.
      if let (group, keys) = now["keyed"]?.first, let key = keys.randomElement(using: &self.random) {
        let position = try reader.position(of: key)
        #expect(position?.group == group && position.map { keys[$0.index] } == key)
        #expect(try reader.rowKey(at: keys.count, in: group) == nil && reader.rowKey(at: -1, in: group) == nil)
      }
    }
  }
}

private struct ModelRow {
  let key: RowKey
  let rowID: RowID
  let item: Item
  let metadata: Int?
}

struct ModelError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

private func grouped(
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
  }
}
