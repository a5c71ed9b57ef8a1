// Mappings on readers of views that they are not of.

import QuireDatabase
import QuireTesting
import QuireViews
import Testing

@Suite("Mappings on readers of other views") struct ForeignMappingsTests {
  private typealias Order = AutoView<Item, Int>
  private typealias List = ManualView<Item, Int>

  private static func order(_ name: String, isPersistent: Bool) -> Order {
    Order(
      name, over: [.items()], isPersistent: isPersistent, grouping: .byObject { $0.group },
      sorting: .byObject { $0.rank })
  }

  /// What each call that takes mappings answers: the error's code, or nil.
  private static func codes<Object, Metadata>(
    _ reader: ViewReader<Object, Metadata>, _ mappings: ViewMappings
  ) -> [DatabaseError.Code?] {
    let path = ViewPath(section: 0, row: 0)
    let calls: [() throws -> Bool] = [
      { try reader.rowID(at: path, mappings) != nil }, { try reader.rowKey(at: path, mappings) != nil },
      { try reader.object(at: path, mappings) != nil },
      { try reader.path(of: RowKey("items", "k0"), mappings) == path },
    ]
    return calls.map { call in
      do { #expect(try call()) } catch { return (error as? DatabaseError)?.code }
      return nil
    }
  }

  @Test("Each kind of view refuses those of each other one, in reads and in writes", arguments: [true, false])
  func kinds(isPersistent: Bool) throws {
    let db = try Database.inMemory()
    // The first two are the same name to look at, in other bytes.
    let first = Self.order("caf\u{e9}", isPersistent: isPersistent)
    let second = Self.order("cafe\u{301}", isPersistent: isPersistent)
    let list = List("list", over: [.items()], isPersistent: isPersistent)
    let filter = FilteredView("filter", of: first, isPersistent: isPersistent, filter: .byKey { _ in true })
    try db.register(first)
    try db.register(second)
    try db.register(list)
    try db.register(filter)
    try db.write { tx throws in
      try tx[.items()].set(Item(group: "a", rank: 0), for: "k0")
      try tx.access(to: list).append("k0", to: "a")
    }
    var mappings = [
      ViewMappings(first, groups: ["a"]), ViewMappings(view: second.name, groups: ["a"]),
      ViewMappings(list, groups: ["a"]), ViewMappings(filter, groups: ["a"]),
    ]
    func check(_ codes: (ViewMappings) throws -> [[DatabaseError.Code?]]) throws {
      for (place, one) in mappings.enumerated() {
        for (other, answers) in try codes(one).enumerated() {
          let expected: DatabaseError.Code? = place == other ? nil : .viewRefused
          #expect(answers == Array(repeating: expected, count: 4), "\(place) on \(other)")
        }
      }
    }
    try db.read { tx throws in
      for place in mappings.indices { try mappings[place].update(tx) }
      let readers = try (tx.view(first), tx.view(second), tx.view(list), tx.view(filter))
      try check { one in
        [
          Self.codes(readers.0, one), Self.codes(readers.1, one), Self.codes(readers.2, one),
          Self.codes(readers.3, one),
        ]
      }
    }
    // Whose they are is told, not that the view was built anew.
    let error = #expect(throws: DatabaseError.self) {
      try db.read { tx in try tx.view(second).rowID(at: ViewPath(section: 0, row: 0), mappings[0]) }
    }
    #expect(error?.message.unicodeScalars.contains("\u{e9}") == true)
    try db.write { tx throws in
      let readers = try (tx.view(first), tx.view(second), tx.view(list), tx.view(filter))
      try check { one in
        [
          Self.codes(readers.0, one), Self.codes(readers.1, one), Self.codes(readers.2, one),
          Self.codes(readers.3, one),
        ]
      }
    }
  }

  @Test("A filtered view refuses those from before its parent came again, and goes on after a live change")
  func livesOfAParent() throws {
    let db = try Database.inMemory()
    let order = Self.order("order", isPersistent: true)
    let filter = FilteredView("filter", of: order, filter: .byKey { _ in true })
    try db.register(order)
    try db.register(filter)
    try db.write { tx throws in try tx[.items()].set(Item(group: "a", rank: 0), for: "k0") }
    var mappings = ViewMappings(filter, groups: ["a"])
    try db.read { tx in try mappings.update(tx) }
    try db.write { tx throws in try tx.access(to: filter).setFilter(.byObject { $0.rank == 0 }, version: "2") }
    #expect(try db.read { tx in try Self.codes(tx.view(filter), mappings) } == [nil, nil, nil, nil])
    // The filtered view goes with its parent.
    try db.unregister(extensionNamed: "order")
    try db.register(order)
    try db.register(filter)
    let refused = Array(repeating: DatabaseError.Code?.some(.viewRefused), count: 4)
    #expect(try db.read { tx in try Self.codes(tx.view(filter), mappings) } == refused)
    try db.read { tx in try mappings.update(tx) }
    #expect(try db.read { tx in try Self.codes(tx.view(filter), mappings) } == [nil, nil, nil, nil])
  }
}
