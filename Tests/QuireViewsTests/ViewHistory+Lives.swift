// Views that come and go in a random life, the list as its calls make it, and screens over all of it.

import QuireDatabase
import QuireTesting
import Testing

@testable import QuireViews

/// The list that the app orders, as plain calls on plain lists make it. Stored beside the rows, like the settings.
struct ListModel: Codable, Sendable, Equatable {
  /// A row that is gone leaves the list, also if another one gets its key.
  struct Entry: Codable, Sendable, Equatable {
    let collection: String
    let key: String
    let rowID: Int64
  }

  var groups: [String: [Entry]] = [:]

  mutating func insert(_ key: RowKey, _ rowID: RowID?, at index: Int, in group: String) {
    let entry = Entry(collection: key.collection, key: key.key, rowID: rowID?.rawValue ?? 0)
    groups[group, default: []].insert(entry, at: index)
  }

  mutating func remove(at index: Int, in group: String) { groups[group]?.remove(at: index) }

  mutating func move(from index: Int, to target: Int, in group: String) {
    guard let entry = groups[group]?.remove(at: index) else { return }
    groups[group]?.insert(entry, at: target)
  }

  /// Without rows that are gone.
  func swept(_ rowID: (RowKey) throws -> RowID?) rethrows -> ListModel {
    ListModel(
      groups: try groups.mapValues { entries in
        try entries.filter { try rowID(RowKey($0.collection, $0.key))?.rawValue == $0.rowID }
      })
  }

  var shown: Shown { groups.filter { !$1.isEmpty }.mapValues { $0.map { RowKey($0.collection, $0.key) } } }
}

extension RowCollection where Object == ListModel, Metadata == Int {
  static var lists: Self { .init("lists") }
}

extension DatabaseError {
  /// Whether a closure of the views threw.
  var isSprung: Bool { cause is Trap.Sprung || (cause as? DatabaseError)?.isSprung == true }
}

extension ViewHistory {
  // MARK: The list

  /// Does with the model of the list what was done with the list.
  func model(_ tx: WriteTransaction, _ body: (inout ListModel) throws -> Void) throws {
    var model = try (tx[.lists].get("now") ?? ListModel()).swept { try tx.rowID(of: self.collections.today($0)) }
    try body(&model)
    try tx[.lists].set(model, for: "now")
  }

  func checkList(_ tx: ReadTransaction, _ now: [String: Shown]) throws {
    let model = try (tx[.lists].get("now") ?? ListModel()).swept { try tx.rowID(of: collections.today($0)) }
    try expect("list", now, model.shown.mapValues { $0.map(collections.today) })
  }

  func endScreens() {
    for (what, count) in screens?.counts ?? [:] { counts["screen: \(what)", default: 0] += count }
    screens = nil
  }

  // MARK: Lives

  /// A view goes, with those that depend on it, or those that are gone come back.
  func live() throws {
    if names.count < ModelViews.names.count, !random.oneIn(3) { return try registerAll() }
    let name = ModelViews.names[random.below(ModelViews.names.count)]
    guard names.contains(name) else { return }
    let gone = Set(try db.unregister(extensionNamed: name))
    counts["unregistered", default: 0] += 1
    names.subtract(gone)
    restarted.formUnion(gone)
    if gone.contains("list") { try db.write { tx throws in try tx[.lists].set(ListModel(), for: "now") } }
    try expectPin()
    if random.oneIn(3) { try registerOtherKind(name) }
    // Others take its place: another order, another version.
    if ["keyed", "compared"].contains(name) {
      lastVersion += 1
      try db.write { tx throws in
        var settings = try tx[.settings].get("now") ?? ViewSettings()
        settings.version[name] = self.lastVersion
        if random.oneIn(2) { settings.grouping[name] = random.below(4) }
        settings.sorting[name] = random.below(6)
        try tx[.settings].set(settings, for: "now")
      }
      try takeSettings()
    }
    if !random.oneIn(4) { try registerAll() }
  }

  /// Another kind of view under the name, for a while.
  private func registerOtherKind(_ name: String) throws {
    counts["other kind", default: 0] += 1
    let other = ManualView(
      name, over: [RowCollection<Item, Int>.items(collections.items)], version: "other", isPersistent: isPersistent)
    try db.register(other)
    try db.write { tx throws in
      if let key = tx[.items(self.collections.items)].keys.first(where: { _ in true }) {
        try tx.access(to: other).append(key, to: "other")
      }
    }
    // An old snapshot shows the view that it had.
    try expectPin()
    try screens?.advance(nil, &random)
    try db.unregister(extensionNamed: name)
  }

  /// The views as the settings have them.
  func takeSettings() throws {
    let settings = try db.read { tx in try tx[.settings].get("now") ?? ViewSettings() }
    views = ModelViews(settings, collections, isPersistent: isPersistent, trap)
    // A crash may have kept that the list went, and lost that its model did.
    guard try isPersistent ? !db.extensions().contains(where: { $0.name == "list" }) : !names.contains("list") else {
      return
    }
    try db.write { tx throws in try tx[.lists].set(ListModel(), for: "now") }
  }

  func registerAll() throws {
    // Settings may have been changed live since the views were made.
    try takeSettings()
    for name in ModelViews.names where !names.contains(name) { try register(name, mayBuild: true) }
  }

  /// Changes rows before the views are registered.
  func writeBeforeRegistering() throws {
    counts["registered late", default: 0] += 1
    if random.oneIn(2) {
      try db.write { tx throws in try tx[.items("elsewhere")].set(Item(group: nil, rank: 1), for: "k") }
      return
    }
    counts["registered with changes", default: 0] += 1
    try db.write { tx throws in for _ in 0..<1 + random.below(8) { try self.change(tx) } }
  }

  /// Registers a view, now and then after an attempt that fails.
  func register(_ name: String, mayBuild: Bool) throws {
    var status = try db.extensions().first { $0.name == name }
    if name != "list", status?.kind == ManualView<Item, Int>.kind {
      // A crash has kept that another kind came, and lost that it went.
      try db.unregister(extensionNamed: name)
      status = nil
    }
    let view = views.view(name)
    try enterFresh(name, status)
    if mayBuild, random.oneIn(4) {
      trap.set(random.below(40))
      defer { trap.set(nil) }
      do {
        try db.register(view)
        return didRegister(name)
      } catch let error as DatabaseError where error.isSprung { counts["registration failed", default: 0] += 1 }
    }
    var builds = 0
    try db.register(view) { _ in builds += 1 }
    let isKept = status?.state == .ready && status?.version == view.version
    if !mayBuild, isPersistent, isKept, builds > 0 {
      throw ModelError("\(name) was stored, and is built anew, step \(steps) of seed \(seed)")
    }
    didRegister(name)
  }

  private func didRegister(_ name: String) {
    names.insert(name)
    restarted.insert(name)
    counts["registered anew", default: 0] += 1
  }
}

/// Screens over all views, each with its list, which nothing but change sets brings forward.
struct ViewScreens {
  private let pin: PinnedSnapshot
  private var mappings: [ViewMappings]
  private var lists: [[[RowKey]]]
  /// For those that show fixed groups.
  private static let groups = ["a", "b", "", "ü", "none", "r0", "r1", "r2", "x", "y", "all", "m0", "m1", "m2"]
  private(set) var counts = ["reload": 0, "rows": 0, "nothing": 0]

  init(_ db: Database) throws {
    pin = try db.pin()
    var all = ModelViews.names.flatMap { [ViewMappings(view: $0), ViewMappings(view: $0, groups: Self.groups)] }
    try pin.read { tx throws in for index in all.indices { try all[index].update(tx) } }
    mappings = all
    lists = try pin.read { tx throws in
      try all.map { one in try one.visibleGroups.map { try Self.rows(tx, one, $0) } }
    }
  }

  /// The view of the mappings, whatever it is.
  private static func reader(_ tx: ReadTransaction, _ mappings: ViewMappings) throws -> ViewReader<Item, Int>? {
    guard let found = try? tx.registeredExtension(named: mappings.viewName) else { return nil }
    guard let view = found as? any ViewExtension<Item, Int> else { throw ModelError("\(found) is no view of items") }
    return try reader(tx, view)
  }

  private static func reader(
    _ tx: ReadTransaction, _ view: some ViewExtension<Item, Int>
  ) throws -> ViewReader<Item, Int> { try tx.view(view) }

  private static func rows(_ tx: ReadTransaction, _ mappings: ViewMappings, _ group: String) throws -> [RowKey] {
    try reader(tx, mappings)?.rows(in: group).map { RowKey($0.row.collection, $0.row.key) } ?? []
  }

  /// Goes on, carries the change sets out, and compares with what is shown, if that is known. Some are left behind for
  /// a while.
  mutating func advance(_ shown: [String: Shown]?, _ random: inout SeededRandom) throws {
    if shown != nil, random.oneIn(4) { return }
    let diffs = try pin.advance(&mappings)
    let (mappings, old) = (mappings, lists)
    lists = try pin.read { tx throws in
      try mappings.indices.map { index in
        let reader = try Self.reader(tx, mappings[index])
        return try diffs[index].applied(to: old[index]) { path in
          guard let key = try reader?.rowKey(at: path, mappings[index]) else { throw ModelError("no row at \(path)") }
          return key
        }
      }
    }
    for (index, diff) in diffs.enumerated() {
      counts[diff.isReload ? "reload" : diff.isEmpty ? "nothing" : "rows", default: 0] += 1
      guard let shown else { continue }
      let content = shown[mappings[index].viewName] ?? [:]
      let present = content.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
      let groups = mappings[index].groupsAreDynamic ? present : Self.groups
      guard lists[index] == groups.map({ content[$0] ?? [] }), mappings[index].visibleGroups == groups else {
        throw ModelError("the screen of \(mappings[index].viewName) shows other rows; reload: \(diff.isReload)")
      }
    }
  }
}
