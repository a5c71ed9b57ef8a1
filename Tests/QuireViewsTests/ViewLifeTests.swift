// Views that go, come again, and are built anew, under screens and old snapshots that have seen them before.

import QuireDatabase
import QuireTesting
import QuireViews
import Testing

@Suite struct ViewLifeTests {
  private typealias View = AutoView<Item, Int>

  private static func view(
    version: String = "", isPersistent: Bool = true, isDescending: Bool = false, group: String? = nil
  ) -> AutoView<Item, Int> {
    AutoView(
      "view", over: [.items()], version: version, isPersistent: isPersistent,
      grouping: .byObject { group ?? $0.group },
      sorting: isDescending ? .byObject { Descending($0.rank) } : .byObject { $0.rank })
  }

  private static func fill(_ db: Database, _ count: Int = 4) throws {
    try db.write { tx throws in
      for rank in 0..<count { try tx[.items()].set(Item(group: "a", rank: rank), for: "k\(rank)") }
    }
  }

  private static func keys(_ tx: ReadTransaction, _ view: some ViewExtension) throws -> [String] {
    try tx.view(view).rows(in: "a").map(\.row.key)
  }

  private static func code(_ body: () throws -> Void) -> DatabaseError.Code? {
    do { try body() } catch { return (error as? DatabaseError)?.code }
    return nil
  }

  // MARK: Screens

  @Test("Mappings of another view, or of another life, tell no places") func foreignMappings() throws {
    let db = try Database.inMemory()
    let (view, other) = (
      Self.view(isDescending: true), View("other", over: .items(), group: { _ in "a" }, sortKey: \.rank)
    )
    try Self.fill(db)
    try db.register(view)
    try db.register(other)
    var mappings = (ViewMappings(view, groups: ["a"]), ViewMappings(other, groups: ["a"]))
    try db.read { tx throws in
      try mappings.0.update(tx)
      try mappings.1.update(tx)
    }
    func codes(_ mappings: ViewMappings) throws -> [DatabaseError.Code?] {
      let path = ViewPath(section: 0, row: 0)
      return try db.read { tx throws in
        let reader = try tx.view(view)
        return [
          Self.code { _ = try reader.rowID(at: path, mappings) },
          Self.code { _ = try reader.rowKey(at: path, mappings) },
          Self.code { _ = try reader.object(at: path, mappings) },
          Self.code { _ = try reader.path(of: RowKey("items", "k0"), mappings) },
        ]
      }
    }
    #expect(try codes(mappings.0) == [nil, nil, nil, nil])
    #expect(try codes(mappings.1) == Array(repeating: .viewRefused, count: 4))
    try db.unregister(extensionNamed: "view")
    try db.register(view)
    #expect(try codes(mappings.0) == Array(repeating: .viewRefused, count: 4))
    try db.read { tx throws in try mappings.0.update(tx) }
    #expect(try codes(mappings.0) == [nil, nil, nil, nil])
  }

  /// The list after an advance of the mappings over whatever `change` does, with what the change set asks for.
  private static func follow(
    _ db: Database, _ old: some ViewExtension, _ new: some ViewExtension, _ mappings: ViewMappings,
    _ change: () throws -> Void
  ) throws -> (diff: ViewDiff, list: [[String]], shown: [[String]]) {
    var mappings = mappings
    let screen = try db.pin()
    try screen.read { tx in try mappings.update(tx) }
    var list = [try screen.read { tx in try keys(tx, old) }]
    try change()
    let diff = try screen.advance(&mappings)
    return try screen.read { tx throws in
      let reader = try tx.view(new)
      try diff.apply(to: &list) { path in try reader.rowKey(at: path, mappings)?.key ?? "?" }
      return (diff, list, [try keys(tx, new)])
    }
  }

  @Test(arguments: [true, false]) func aScreenLoadsAViewAnewThatWasRegisteredInAnotherOrder(
    _ isPersistent: Bool
  ) throws {
    let db = try Database.inMemory()
    try Self.fill(db)
    let (old, new) = (
      Self.view(isPersistent: isPersistent), Self.view(isPersistent: isPersistent, isDescending: true)
    )
    try db.register(old)
    let (diff, list, shown) = try Self.follow(db, old, new, ViewMappings(old, groups: ["a"])) {
      try db.unregister(extensionNamed: "view")
      try db.register(new)
    }
    #expect(diff.isReload)
    #expect(list == [["k3", "k2", "k1", "k0"]] && list == shown)
  }

  @Test func aScreenLoadsAViewAnewThatWasBuiltForAnotherVersion() throws {
    let disk = SimulatedDisk()
    let (old, new) = (Self.view(version: "1"), Self.view(version: "2", isDescending: true))
    let first = try openSimulated(disk, seed: 1)
    try Self.fill(first)
    try first.register(old)
    try first.close()
    let db = try openSimulated(disk, seed: 1)
    // What is stored shows from the moment on that its version is registered: another version is built anew, and a
    // screen that is there already has to load it.
    var mappings = ViewMappings(new, groups: ["a"])
    let screen = try db.pin()
    try screen.read { tx in try mappings.update(tx) }
    #expect(mappings.isEmpty)
    try db.register(new)
    let diff = try screen.advance(&mappings)
    #expect(diff.isReload && diff.rowCounts == [4])
  }

  @Test func aPlainRelaunchIsTheSameLife() throws {
    let disk = SimulatedDisk()
    let view = Self.view(version: "1")
    let first = try openSimulated(disk, seed: 1)
    try Self.fill(first)
    try first.register(view)
    try first.close()
    let db = try openSimulated(disk, seed: 1)
    try db.register(view)
    let (diff, list, shown) = try Self.follow(db, view, view, ViewMappings(view, groups: ["a"])) {
      try db.write { tx throws in try tx[.items()].set(Item(group: "a", rank: -1), for: "new") }
    }
    #expect(!diff.isReload && diff.rows.map(\.kind) == [.insert] && list == shown)
  }

  @Test("A life of an earlier opening is none of this one") func livesOfOpenings() throws {
    let disk = SimulatedDisk()
    var mappings = ViewMappings(Self.view(version: "1"), groups: ["a"])
    for version in ["1", "2"] {
      let db = try openSimulated(disk, seed: 1)
      if version == "1" { try Self.fill(db) }
      // Built by this opening, each time.
      let view = Self.view(version: version)
      try db.register(view)
      let code = Self.code {
        try db.read { tx throws in _ = try tx.view(view).object(at: ViewPath(section: 0, row: 0), mappings) }
      }
      #expect(code == (version == "1" ? nil : .viewRefused))
      try db.read { tx throws in try mappings.update(tx) }
      try db.close()
    }
  }

  @Test func aScreenOfAViewThatWentIsEmptyAndStaysSo() throws {
    let db = try Database.inMemory()
    try Self.fill(db)
    let view = Self.view()
    try db.register(view)
    let screen = try db.pin()
    var mappings = ViewMappings(view, groups: ["a"])
    try screen.read { tx in try mappings.update(tx) }
    try db.unregister(extensionNamed: "view")
    #expect(try screen.advance(&mappings).isReload && mappings.isEmpty)
    try Self.fill(db, 6)
    #expect(try screen.advance(&mappings).isEmpty)
    try db.register(view)
    #expect(try screen.advance(&mappings).isReload && mappings.count == 6)
    #expect(try screen.advance(&mappings).isEmpty)
  }

  @Test func aScreenOfTheNameLoadsAViewOfAnotherKind() throws {
    let db = try Database.inMemory()
    try Self.fill(db)
    let view = Self.view()
    let list = ManualView("view", over: RowCollection<Item, Int>.items())
    try db.register(view)
    let screen = try db.pin()
    var mappings = [ViewMappings(view: "view", groups: ["a"]), ViewMappings(view, groups: ["a"])]
    try screen.read { tx throws in for index in mappings.indices { try mappings[index].update(tx) } }
    #expect(mappings.map(\.count) == [4, 4])
    try db.unregister(extensionNamed: "view")
    try db.register(list)
    try db.write { tx throws in
      for key in ["k2", "k0", "k3", "k1"] { try tx.access(to: list).append(key, to: "a") }
    }
    let diffs = try screen.advance(&mappings)
    #expect(diffs.map(\.isReload) == [true, true] && mappings.map(\.count) == [4, 4])
    #expect(Self.code { try screen.read { tx in _ = try tx.view(view) } } == .extensionMismatch)
    try db.write { tx throws in try tx.access(to: list).move(from: 0, to: 1, in: "a") }
    #expect(try screen.advance(&mappings).map(\.rows.count) == [1, 1])
  }

  @Test(arguments: [true, false]) func aFilteredViewWhoseParentIsBuiltAnewIsLoadedAnew(_ isPersistent: Bool) throws {
    let db = try Database.inMemory()
    try Self.fill(db)
    func make(_ isDescending: Bool) -> (View, FilteredView<View>) {
      let parent = Self.view(isPersistent: isPersistent, isDescending: isDescending)
      return (parent, FilteredView("few", of: parent, isPersistent: isPersistent, filter: .byObject { $0.rank > 0 }))
    }
    let (old, new) = (make(false), make(true))
    try db.register(old.0)
    try db.register(old.1)
    let (diff, list, shown) = try Self.follow(db, old.1, new.1, ViewMappings(old.1, groups: ["a"])) {
      try db.unregister(extensionNamed: "view")
      try db.register(new.0)
      try db.register(new.1)
    }
    #expect(diff.isReload && list == [["k3", "k2", "k1"]] && list == shown)
  }

  @Test func eachOfSeveralMappingsKnowsItsView() throws {
    let db = try Database.inMemory()
    try Self.fill(db)
    let view = Self.view()
    let other = AutoView("other", over: RowCollection<Item, Int>.items(), group: { $0.group }, sortKey: { $0.rank })
    try db.register(view)
    try db.register(other)
    let screen = try db.pin()
    var mappings = [ViewMappings(view, groups: ["a"]), ViewMappings(other), ViewMappings(view)]
    try screen.read { tx throws in for index in mappings.indices { try mappings[index].update(tx) } }
    try db.unregister(extensionNamed: "view")
    try db.write { tx throws in try tx[.items()].set(Item(group: "a", rank: 9), for: "k9") }
    try db.register(view)
    let diffs = try screen.advance(&mappings)
    #expect(diffs.map(\.isReload) == [true, false, true] && diffs[1].rows.map(\.kind) == [.insert])
    #expect(mappings.map(\.count) == [5, 5, 5])
  }

  @Test func updatesTellThatAViewWentAndCameAgain() async throws {
    let db = try Database.inMemory()
    try Self.fill(db)
    let view = Self.view()
    try await db.register(view)
    var updates = try db.updates(of: ViewMappings(view, groups: ["a"])).makeAsyncIterator()
    #expect(try await updates.next()?.mappings.count == 4)
    try await db.unregister(extensionNamed: "view")
    let gone = try #require(try await updates.next())
    #expect(gone.diff.isReload && gone.mappings.isEmpty)
    try await db.register(Self.view(isDescending: true))
    let back = try #require(try await updates.next())
    #expect(back.diff.isReload && back.mappings.count == 4)
    #expect(try await back.snapshot.read { tx in try tx.view(view).key(at: 0, in: "a") } == "k3")
  }

  // MARK: Old snapshots

  @Test(arguments: [true, false]) func anOldSnapshotShowsAViewThatWasUnregistered(_ isPersistent: Bool) throws {
    let db = try Database.inMemory()
    try Self.fill(db)
    let view = Self.view(isPersistent: isPersistent)
    try db.register(view)
    let old = try db.pin()
    try db.unregister(extensionNamed: "view")
    for _ in 0..<3 { try Self.fill(db, 8) }
    #expect(try old.read { tx in try Self.keys(tx, view) } == ["k0", "k1", "k2", "k3"])
    #expect(Self.code { try db.read { tx in _ = try tx.view(view) } } == .extensionNotRegistered)
    // Going on from there is going to a place without the view.
    try old.advance()
    #expect(Self.code { try old.read { tx in _ = try tx.view(view) } } == .extensionNotRegistered)
  }

  @Test func anOldSnapshotShowsTheViewThatItHad() throws {
    let db = try Database.inMemory()
    try Self.fill(db)
    let (first, second) = (Self.view(version: "1"), Self.view(version: "2", isDescending: true))
    let third = ManualView("view", over: RowCollection<Item, Int>.items())
    try db.register(first)
    let old = try db.pin()
    try db.unregister(extensionNamed: "view")
    try db.register(second)
    let middle = try db.pin()
    try db.unregister(extensionNamed: "view")
    try db.register(third)
    for _ in 0..<3 { try Self.fill(db, 8) }
    #expect(try old.read { tx in try Self.keys(tx, first) } == ["k0", "k1", "k2", "k3"])
    #expect(try middle.read { tx in try Self.keys(tx, second) } == ["k3", "k2", "k1", "k0"])
    #expect(try db.read { tx in try Self.keys(tx, third) } == [])
    for (snapshot, view) in [(old, second), (middle, first)] {
      #expect(Self.code { try snapshot.read { tx in _ = try tx.view(view) } } == .extensionMismatch)
    }
    #expect(Self.code { try old.read { tx in _ = try tx.view(third) } } == .extensionMismatch)
  }

  @Test func whatWentIsLetGoWhenNobodySeesIt() throws {
    final class Held: Sendable {}
    let db = try Database.inMemory()
    weak var held: Held?
    func register() throws {
      let object = Held()
      held = object
      try db.register(
        AutoView(
          "view", over: RowCollection<Item, Int>.items(),
          group: { item in withExtendedLifetime(object) { item.group } }, sortKey: { $0.rank }))
    }
    try register()
    #expect(held != nil)
    try db.unregister(extensionNamed: "view")
    #expect(held == nil)
    try register()
    var pin: PinnedSnapshot? = try db.pin()
    try db.unregister(extensionNamed: "view")
    try Self.fill(db)
    #expect(held != nil && pin != nil)
    pin = nil
    try Self.fill(db)
    #expect(held == nil)
  }

  @Test func asyncWritesLetGoOfWhatNobodySees() async throws {
    final class Held: Sendable {}
    struct Watch {
      weak var object: Held?
    }
    let db = try Database.inMemory()
    func register() throws -> Watch {
      let object = Held()
      try db.register(
        AutoView(
          "view", over: RowCollection<Item, Int>.items(),
          group: { item in withExtendedLifetime(object) { item.group } }, sortKey: { $0.rank }))
      return Watch(object: object)
    }
    let watch = try register()
    var pin: PinnedSnapshot? = try db.pin()
    try await db.unregister(extensionNamed: "view")
    try await db.write { tx in try tx[.items()].set(Item(group: "a", rank: 1), for: "1") }
    #expect(watch.object != nil && pin != nil)
    pin = nil
    try await db.write { tx in try tx[.items()].set(Item(group: "a", rank: 2), for: "2") }
    #expect(watch.object == nil)
  }

  // MARK: Another version than the registered one

  private static func message(_ body: () throws -> Void) -> String {
    do { try body() } catch { return "\(error)" }
    return ""
  }

  @Test(arguments: [true, false]) func askingForAnotherVersionIsAnError(_ isAskedBefore: Bool) throws {
    let db = try Database.inMemory()
    let (view, other) = (Self.view(version: "1.5"), Self.view(version: "1.6"))
    let list = ManualView("view", over: RowCollection<Item, Int>.items(), version: "1.5")
    try db.register(view)
    try db.read { tx throws in
      if isAskedBefore { _ = try tx.view(view) }
      let text = Self.message { _ = try tx.view(other) }
      #expect(text.contains("extensionMismatch") && text.contains("“1.5”") && text.contains("“1.6”"), "\(text)")
      #expect(Self.code { _ = try tx.view(list) } == .extensionMismatch)
      _ = try tx.view(view)
    }
    try db.write { tx throws in
      if isAskedBefore { _ = try tx.view(view) }
      let text = Self.message { _ = try tx.view(other) }
      #expect(text.contains("extensionMismatch") && text.contains("“1.5”") && text.contains("“1.6”"), "\(text)")
      #expect(Self.code { _ = try tx.view(list) } == .extensionMismatch)
      _ = try tx.view(view)
    }
  }

  @Test func aViewThatWasChangedLiveIsFoundByBothVersions() throws {
    let db = try Database.inMemory()
    let (old, new) = (Self.view(version: "1"), Self.view(version: "2"))
    try db.register(old)
    try db.write { tx throws in
      #expect(Self.code { _ = try tx.view(new) } == .extensionMismatch)
      try tx.access(to: old).setSorting(.byObject { Descending($0.rank) }, version: "2")
      _ = try tx.view(old)
      _ = try tx.view(new)
    }
    for number in 3..<400 {
      try db.write { tx throws in _ = try tx.access(to: old).setSorting(.byObject { $0.rank }, version: "\(number)") }
    }
    try db.read { tx throws in
      _ = try tx.view(old)
      _ = try tx.view(Self.view(version: "399"))
    }
  }

  // MARK: Mappings by the name

  @Test func mappingsKnowTheirViewByItsName() throws {
    let db = try Database.inMemory()
    try Self.fill(db)
    var (fixed, chosen) = (ViewMappings(view: "view", groups: ["a"]), ViewMappings(view: "view"))
    try db.read { tx throws in
      try fixed.update(tx)
      try chosen.update(tx)
    }
    #expect(fixed.isEmpty && chosen.isEmpty)
    try db.register(Self.view())
    let screen = try db.pin()
    try screen.read { tx throws in
      try fixed.update(tx)
      try chosen.update(tx)
    }
    #expect(fixed.count(in: "a") == 4 && chosen.groups == ["a"])
    try db.write { tx throws in try tx[.items()].set(Item(group: "b", rank: 0), for: "b") }
    var both = [fixed, chosen]
    #expect(try screen.advance(&both).map(\.rows.count) == [0, 1])
    try db.register(Hooks("hooks"))
    var wrong = ViewMappings(view: "hooks", groups: [])
    #expect(Self.code { try db.read { tx in try wrong.update(tx) } } == .viewRefused)
  }
}
