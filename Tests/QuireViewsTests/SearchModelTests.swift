// Search views beside what their selections find among all rows, over random lives.
//
//     QUIRE_SEARCH_STEPS=100000 QUIRE_SEARCH_SEED=7 swift test --filter SearchModelTests

import QuireDatabase
import QuireTesting
import Testing

@testable import QuireViews

/// One random life of eight search views.
final class SearchHistory {
  struct Undo: Error {}

  let isPersistent: Bool
  private var random: SeededRandom
  private var disk = SimulatedDisk()
  private var db: Database
  private let trap = Trap()
  private var model: SearchModel
  private var settings = ViewSettings()
  /// Nil between two openings, like the screens.
  private var pin: PinnedSnapshot?
  private var shown: [String: Shown] = [:]
  private var screens: SearchScreens?
  private var version = 0
  private(set) var steps = 0
  /// How often what has happened, to see that all of it does.
  private(set) var counts: [String: Int] = [:]

  init(seed: UInt64, isPersistent: Bool) throws {
    self.isPersistent = isPersistent
    random = SeededRandom(seed: seed)
    model = SearchModel(settings, isPersistent: isPersistent, trap)
    db = try openSimulated(disk, seed: seed)
    try db.write { tx throws in
      for number in 0..<30 { try tx[.items()].set(Item(group: "a", rank: number % 12), for: "k\(number)") }
    }
    for view in model.all { try db.register(view) }
    try db.flush()
    try begin()
  }

  private func begin() throws {
    (pin, screens) = (try db.pin(), try SearchScreens(db))
    shown = try db.read { tx throws in
      try check(tx)
      return try model.shown(tx)
    }
  }

  func run(_ count: Int) throws {
    for _ in 0..<count {
      steps += 1
      try write()
      if random.oneIn(3) { continue }
      try advance()
      if random.oneIn(30) { try reopen(isCrash: random.oneIn(2)) }
    }
  }

  // MARK: Steps

  /// A transaction, which may fail by itself, by a selection, or by a search that is given up: nothing of it remains
  /// then.
  private func write() throws {
    let before = random.oneIn(8) ? try db.read { tx in try model.shown(tx) } : nil
    if before != nil { trap.set(random.below(10)) }
    defer { trap.set(nil) }
    let old = settings
    do {
      try db.write { tx throws in
        for _ in 0..<1 + random.below(8) { try step(tx, depth: 0) }
        if random.oneIn(8) { throw Undo() }
      }
      return
    } catch is Undo {
    } catch is Trap.Sprung where before != nil {
      counts["search failed", default: 0] += 1
    } catch let error as DatabaseError where error.code == .rolledBack {
      counts["rolled back", default: 0] += 1
    } catch let error as DatabaseError where before != nil && error.isSprung {
      counts["commit failed", default: 0] += 1
    }
    settings = old
    trap.set(nil)
    guard let before, try db.read({ tx in try model.shown(tx) }) != before else { return }
    throw ModelError("a transaction that failed has left something")
  }

  private func step(_ tx: WriteTransaction, depth: Int) throws {
    switch random.below(24) {
    case 0...11: try change(tx)
    case 12...14: try arrange(tx)
    case 15...17: try search(tx)
    case 18:
      guard random.oneIn(2) else { return }
      try check(tx)
      counts["looked inside", default: 0] += 1
    case 19: try changeParent(tx)
    case 20:
      guard random.oneIn(8) else { return }
      try tx[.items(random.oneIn(2) ? "items" : "others")].removeAll()
    case 21:
      guard random.oneIn(20) else { return }
      let picks = try tx[.picks].get("now")
      try tx.removeAll()
      try tx[.picks].set(picks ?? [:], for: "now")
    default:
      guard depth < 2 else { return }
      let old = settings
      do {
        try tx.savepoint {
          for _ in 0..<1 + random.below(5) { try step(tx, depth: depth + 1) }
          if random.oneIn(2) { throw Undo() }
        }
      } catch is Undo {
        settings = old
        counts["undone", default: 0] += 1
      }
    }
  }

  private func change(_ tx: WriteTransaction) throws {
    let rows = tx[.items(random.oneIn(3) ? "others" : "items")]
    let key = "k\(random.below(50))"
    let item = Item(group: random.oneIn(6) ? nil : ["a", "b", "", "ü"][random.below(4)], rank: random.below(12))
    switch random.below(9) {
    case 0...3: try rows.set(item, metadata: random.oneIn(3) ? nil : random.below(30), for: key)
    case 4: try rows.replace(item, for: key)
    case 5: try rows.replaceMetadata(random.below(30), for: key)
    case 6: try rows.touch(key)
    case 7: try rows.remove([key, "k\(random.below(50))"])
    default: try rows.remove(key)
    }
  }

  private func arrange(_ tx: WriteTransaction) throws {
    let writer = try tx.access(to: model.list)
    let group = ["x", "y"][random.below(2)]
    let count = writer.reader.count(in: group)
    switch random.below(6) {
    case 0...2:
      let key = RowKey(random.oneIn(2) ? "items" : "others", "k\(random.below(50))")
      do { try writer.insert(key, at: random.below(count + 1), in: group) } catch let error as DatabaseError {
        guard error.code == .viewRefused else { throw error }
      }
    case 3: if count > 0 { try writer.remove(at: random.below(count), in: group) }
    case 4: if count > 1 { try writer.move(from: random.below(count), to: random.below(count), in: group) }
    default: if random.oneIn(5) { try writer.removeAll(in: group) }
    }
  }

  private func search(_ tx: WriteTransaction) throws {
    let name = SearchModel.names[random.below(SearchModel.names.count)]
    guard let view = model.searches[name] else { return }
    let writer = try tx.access(to: view)
    var picks = try tx[.picks].get("now") ?? [:]
    if random.oneIn(10) {
      try writer.endSearch()
      picks[name] = nil
    } else {
      let kind = ItemPick.Kind.allCases[random.below(5)]
      let pick = ItemPick(kind, random.below(8), isStored: !random.oneIn(4))
      counts["\(kind)", default: 0] += 1
      let selection = ItemSelection(pick: pick, trap: trap)
      if random.oneIn(3) {
        let queue = SearchQueue()
        queue.enqueue(selection)
        let isAborted = random.oneIn(4)
        if isAborted { queue.abort(rollingBack: random.oneIn(4)) }
        if try writer.search(from: queue) == isAborted { throw ModelError("\(name): the queue was not heard") }
        if isAborted { return counts["given up", default: 0] += 1 }
      } else {
        try writer.search(selection)
      }
      picks[name] = pick
    }
    try tx[.picks].set(picks, for: "now")
  }

  private func changeParent(_ tx: WriteTransaction) throws {
    version += 1
    let name = random.oneIn(2) ? "keyed" : "compared"
    let writer = try tx.access(to: name == "keyed" ? model.keyed : model.compared)
    (settings.version[name], settings.sorting[name]) = (version, random.below(6))
    let sorting = ViewSettings.sorting(settings.sorting[name] ?? 0, Trap())
    counts["parent changed", default: 0] += 1
    if random.oneIn(2) { return _ = try writer.setSorting(sorting, version: "v\(version)") }
    settings.grouping[name] = random.below(4)
    try writer.setGrouping(
      ViewSettings.grouping(settings.grouping[name] ?? 0, Trap()), sorting: sorting, version: "v\(version)")
  }

  // MARK: Checks

  /// Each search view shows what its selection finds, and tells what it is.
  private func check(_ tx: some TransactionReading) throws {
    // What is looked at first is brought up to date with it.
    let now = try model.shown(tx)
    let rows = tx.modelRows()
    let picks = try tx.rows(of: .picks).get("now") ?? [:]
    for name in SearchModel.names {
      guard let view = model.searches[name] else { continue }
      let expected = model.expected(name, now, rows, picks[name])
      var (shown, wanted) = (now[name] ?? [:], expected)
      if name == "ownCompared" {
        let ranks = Dictionary(uniqueKeysWithValues: rows.map { ($0.key, $0.item.rank) })
        for (group, keys) in shown where keys.map({ ranks[$0] ?? 0 }) != keys.map({ ranks[$0] ?? 0 }).sorted() {
          throw ModelError("\(name): “\(group)” is not in order")
        }
        func sorted(_ keys: [RowKey]) -> [RowKey] { keys.sorted { "\($0)" < "\($1)" } }
        (shown, wanted) = (shown.mapValues(sorted), wanted.mapValues(sorted))
      }
      guard shown == wanted else { throw ModelError("\(name) shows \(shown), and is to show \(wanted)") }
      let search = try tx.view(view).shownSearch
      let name = picks[name].map { "\($0.kind):\($0.number)" }
      guard search?.name == name, search?.isPartial ?? false == false else {
        throw ModelError("\(view.name) tells that it was searched for \(search?.name ?? "nothing"), not \(name ?? "")")
      }
    }
    let ranks = Dictionary(uniqueKeysWithValues: rows.map { ($0.key, $0.item.rank) })
    let even = (now["ofKeyed"] ?? [:]).mapValues { $0.filter { (ranks[$0] ?? 1) % 2 == 0 } }.filter { !$1.isEmpty }
    guard now["filtered"] == even else { throw ModelError("filtered shows other rows") }
  }

  /// The old lists and the steps that the commits tell make the new lists.
  private func advance() throws {
    guard let pin else { return }
    for commit in try pin.advance() {
      for view in model.all {
        guard let changes = commit.changes(ofExtensionNamed: view.name) as? ViewChanges else { continue }
        do { try apply(changes.operations, to: &shown[view.name, default: [:]]) } catch {
          throw ModelError("\(view.name): \(error)")
        }
      }
    }
    try pin.read { tx throws in
      let now = try model.shown(tx)
      for (name, expected) in now where shown[name] ?? [:] != expected {
        throw ModelError("\(name): the steps do not lead to what is shown")
      }
      try model.checkInvariants(tx)
      try check(tx)
      shown = now
    }
    try screens?.advance(shown)
  }

  // MARK: Openings

  private func reopen(isCrash: Bool) throws {
    counts[isCrash ? "crashed" : "reopened", default: 0] += 1
    try db.flush()
    (pin, screens) = (nil, nil)
    if isCrash {
      let image = disk.crashImage(.random(random.next()))
      try db.close()
      disk = image
    } else {
      try db.close()
    }
    db = try openSimulated(disk, seed: random.next())
    model = SearchModel(settings, isPersistent: isPersistent, trap)
    if random.oneIn(2) {
      counts["registered late", default: 0] += 1
      try db.write { tx throws in for _ in 0..<1 + random.below(6) { try change(tx) } }
    }
    try db.write { tx throws in
      // What can be made again goes on.
      let picks = try tx[.picks].get("now") ?? [:]
      let kept = picks.filter { isPersistent && $0.key != "best" && $0.value.isStored }
      if kept != picks { counts["forgotten", default: 0] += 1 }
      if !kept.isEmpty { counts["went on", default: 0] += 1 }
      try tx[.picks].set(kept, for: "now")
    }
    for view in model.all { try db.register(view) }
    try begin()
  }
}

/// Screens over the search views, which nothing but change sets brings forward.
struct SearchScreens {
  private let pin: PinnedSnapshot
  private var mappings: [ViewMappings]
  private var lists: [[[RowKey]]]

  init(_ db: Database) throws {
    pin = try db.pin()
    var all = (SearchModel.names + ["filtered"]).map { ViewMappings(view: $0) }
    lists = try pin.read { tx throws in
      try all.indices.map { index in
        try all[index].update(tx)
        let shown = try Self.reader(tx, all[index]).shown()
        return all[index].visibleGroups.map { shown[$0] ?? [] }
      }
    }
    mappings = all
  }

  private static func reader(_ tx: ReadTransaction, _ mappings: ViewMappings) throws -> ViewReader<Item, Int> {
    guard let view = try tx.registeredExtension(named: mappings.viewName) as? any ViewExtension<Item, Int> else {
      throw ModelError("\(mappings.viewName) is no view of items")
    }
    return try reader(tx, view)
  }

  private static func reader(
    _ tx: ReadTransaction, _ view: some ViewExtension<Item, Int>
  ) throws -> ViewReader<Item, Int> { try tx.view(view) }

  /// Goes on, carries the change sets out, and compares with what is shown.
  mutating func advance(_ shown: [String: Shown]) throws {
    let diffs = try pin.advance(&mappings)
    let (mappings, old) = (mappings, lists)
    lists = try pin.read { tx throws in
      try mappings.indices.map { index in
        let reader = try Self.reader(tx, mappings[index])
        return try diffs[index].applied(to: old[index]) { path in
          guard let key = try reader.rowKey(at: path, mappings[index]) else { throw ModelError("no row at \(path)") }
          return key
        }
      }
    }
    for (list, one) in zip(lists, mappings) where list != one.visibleGroups.map({ shown[one.viewName]?[$0] ?? [] }) {
      throw ModelError("the screen of \(one.viewName) shows other rows")
    }
  }
}

@Suite struct SearchModelTests {
  @Test(.enabled(if: TestSize.hasSlowTests, "slow"), arguments: [true, false])
  func searchViewsShowWhatTheirSelectionsFind(_ isPersistent: Bool) throws {
    let steps = environmentNumber("QUIRE_SEARCH_STEPS") ?? TestSize.trials(600, divisor: 10)
    let seed = UInt64(environmentNumber("QUIRE_SEARCH_SEED") ?? 1)
    let history = try SearchHistory(seed: seed, isPersistent: isPersistent)
    do { try history.run(steps) } catch {
      throw ModelError("\(error) (stored: \(isPersistent), seed \(seed), step \(history.steps))")
    }
    if steps < 600 { return }
    var expected = [
      "search failed", "rolled back", "commit failed", "undone", "looked inside", "given up", "parent changed",
      "reopened", "crashed", "registered late", "forgotten",
    ]
    expected += ItemPick.Kind.allCases.map(\.rawValue)
    if isPersistent { expected.append("went on") }
    for what in expected { #expect(history.counts[what, default: 0] > 0, "\(what)") }
  }
}
