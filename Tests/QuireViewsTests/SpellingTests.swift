// Names and groups that Unicode takes for the same, and the database does not.

import QuireDatabase
import QuireTesting
import QuireViews
import Testing

@Suite struct SpellingTests {
  private let one = "caf\u{E9}"
  private let two = "cafe\u{301}"

  @Test("Two views whose names differ in their bytes tell of their own changes") func viewNames() throws {
    let db = try Database.inMemory()
    let first = AutoView(one, over: RowCollection<Item, Int>.items(), group: \.group, sortKey: \.rank)
    let second = AutoView(two, over: RowCollection<Item, Int>.items("more"), group: \.group, sortKey: \.rank)
    try db.register(first)
    try db.register(second)
    let pin = try db.pin()
    try db.write { tx throws in
      try tx[.items()].set(Item(group: "a", rank: 1), for: "k")
      try tx[.items("more")].set(Item(group: "b", rank: 1), for: "k")
    }
    let commit = try #require(try pin.advance().last)
    #expect(commit.changes(of: first)?.operations.hasChanges(in: "a") == true)
    #expect(commit.changes(of: second)?.operations.hasChanges(in: "b") == true)
    #expect(commit.changes(of: first)?.operations.hasChanges(in: "b") == false)
  }

  @Test("Groups whose names differ in their bytes are told apart") func groupNames() throws {
    let db = try Database.inMemory()
    let view = AutoView("view", over: RowCollection<Item, Int>.items(), group: \.group, sortKey: \.rank)
    try db.register(view)
    let pin = try db.pin()
    try db.write { tx throws in try tx[.items()].set(Item(group: one, rank: 1), for: "k") }
    let commit = try #require(try pin.advance().last)
    #expect(commit.hasChanges(in: view, groups: [one]))
    #expect(!commit.hasChanges(in: view, groups: [two]))
    #expect(commit.hasChanges(in: view, groups: [two, one]) && commit.hasChanges(in: view, groups: [one, two]))
    let operations = try #require(commit.changes(of: view)?.operations)
    #expect(operations.hasChanges(in: [two, one]) && !operations.hasChanges(in: [two]))
  }

  @Test("Values in memory are told apart by the bytes of their names") func values() throws {
    let db = try Database.inMemory()
    let hooks = Hooks("hooks")
    try db.register(hooks)
    try db.write { tx throws in
      let store = try tx.access(to: hooks).store
      try store.set(1, for: one)
      try store.set(2, for: two)
      #expect(try store.value(one, as: Int.self) == 1)
      #expect(try store.value(two, as: Int.self) == 2)
      try store.tree(one, of: [UInt8].self).put([1], for: [1])
      #expect(try store.tree(two, of: [UInt8].self).count == 0)
    }
  }
}
