// Lists of some of another list's rows, seen inside the transaction and afterwards on two connections.

import QuireDatabase
import Testing

@testable import QuireViews

@Suite struct FilteredViewTests {
  typealias Numbers = AutoView<Int, String>

  private func order(_ isPersistent: Bool) -> Numbers {
    AutoView(
      "order", over: [.numbers], isPersistent: isPersistent, grouping: .all(), sorting: .byObject { $0 < $1 })
  }

  private func filter<Parent: ViewExtension>(
    _ name: String = "filter", of parent: Parent, _ isPersistent: Bool
  )
    -> FilteredView<Parent>
  where Parent: CollectionShowing<Int, String> {
    FilteredView(name, of: parent, version: "even", isPersistent: isPersistent, filter: .byObject { $0 % 2 == 0 })
  }

  private func fill(_ db: Database, _ numbers: Range<Int>) throws {
    try db.write { tx throws in for number in numbers { try tx[.numbers].set(number, for: "key\(number)") } }
  }

  /// Checks what a view shows on two connections and in a write transaction.
  private func expect<View: ViewExtension>(
    _ db: Database, _ view: View, _ expected: [Int], sourceLocation: SourceLocation = #_sourceLocation
  ) throws where View.Object == Int, View.Metadata == String {
    for connection in [db.makeConnection(), db.makeConnection()] {
      try connection.read { tx throws in
        #expect(try tx.view(view).numbers() == expected, sourceLocation: sourceLocation)
      }
    }
    let shown = try db.write { tx in try tx.view(view).numbers() }
    #expect(shown == expected, sourceLocation: sourceLocation)
  }

  @Test(arguments: [true, false]) func showsTheParentsRowsThatPass(_ isPersistent: Bool) throws {
    let db = try Database.inMemory()
    let order = order(isPersistent)
    let filter = filter(of: order, isPersistent)
    try db.register(order)
    try db.register(filter)
    try fill(db, 0..<100)
    try expect(db, order, Array(0..<100))
    try expect(db, filter, Array(stride(from: 0, to: 100, by: 2)))
    try db.read { tx throws in
      let view = try tx.view(filter)
      for number in 0..<100 {
        let position = try view.position(of: "key\(number)")
        #expect(position?.index == (number % 2 == 0 ? number / 2 : nil))
      }
    }
    // A row that passes no more, one that does now, and one that moves.
    try db.write { tx throws in
      try tx[.numbers].set(1, for: "key0")
      try tx[.numbers].set(2, for: "key1")
      try tx[.numbers].set(200, for: "key4")
      try tx[.numbers].remove("key6")
    }
    try expect(db, filter, [2, 2] + Array(stride(from: 8, to: 100, by: 2)) + [200])
  }

  @Test(arguments: [true, false]) func isBuiltFromTheRowsThatAreThere(_ isPersistent: Bool) throws {
    let db = try Database.inMemory()
    let order = order(isPersistent)
    let filter = filter(of: order, isPersistent)
    try db.register(order)
    try fill(db, 0..<100)
    try db.register(filter)
    try expect(db, filter, Array(stride(from: 0, to: 100, by: 2)))
    try fill(db, 100..<110)
    try expect(db, filter, Array(stride(from: 0, to: 110, by: 2)))
  }

  @Test(arguments: [true, false]) func goesWithItsParent(_ isPersistent: Bool) throws {
    let db = try Database.inMemory()
    let order = order(isPersistent)
    let filter = filter(of: order, isPersistent)
    #expect(throws: DatabaseError.self) { try db.register(filter) }
    try db.register(order)
    try db.register(filter)
    try fill(db, 0..<10)
    #expect(try Set(db.unregister(extensionNamed: "order")) == ["order", "filter"])
    #expect(throws: DatabaseError.self) { try db.read { tx in _ = try tx.view(filter) } }
    #expect(try db.extensions().isEmpty)
    try fill(db, 10..<12)
  }

  @Test(arguments: [true, false]) func aFilterOfAFilterFollowsItsChange(_ isPersistent: Bool) throws {
    let db = try Database.inMemory()
    let order = order(isPersistent)
    let first = filter("first", of: order, isPersistent)
    let second = FilteredView("second", of: first, isPersistent: isPersistent, filter: .byObject { $0 < 100 })
    try db.register(order)
    try db.register(first)
    try db.register(second)
    try fill(db, 0..<200)
    func expectAll(_ isShown: (Int) -> Bool, sourceLocation: SourceLocation = #_sourceLocation) throws {
      try expect(db, order, Array(0..<200), sourceLocation: sourceLocation)
      try expect(db, first, (0..<200).filter(isShown), sourceLocation: sourceLocation)
      try expect(db, second, (0..<100).filter(isShown), sourceLocation: sourceLocation)
    }
    try expectAll { $0 % 2 == 0 }
    let pin = try db.pin()
    func change(_ version: String, _ isIncluded: @escaping @Sendable (Int) -> Bool) throws -> [String: Int] {
      try db.write { tx throws in
        #expect(try tx.access(to: first).setFilter(.byObject { isIncluded($0) }, version: version))
        #expect(try tx.access(to: first).version == version)
        // The same version again: nothing to do.
        #expect(try !tx.access(to: first).setFilter(.byObject { _ in false }, version: version))
      }
      let commits = try pin.advance()
      #expect(commits.count == 1)
      var counts: [String: Int] = [:]
      for name in ["order", "first", "second"] {
        counts[name] = (commits.first?.changes(ofExtensionNamed: name) as? ViewChanges)?.operations.count
      }
      return counts
    }
    // What stays is told nothing of.
    #expect(try change("all") { _ in true } == ["first": 100, "second": 50])
    try expectAll { _ in true }
    #expect(try change("odd") { $0 % 2 == 1 } == ["first": 100, "second": 50])
    try expectAll { $0 % 2 == 1 }
    // Later rows are filtered by the new one.
    try fill(db, 200..<203)
    try expect(db, first, (0..<203).filter { $0 % 2 == 1 })
    let versions = try db.extensions().filter { $0.name == "first" }.map(\.version)
    #expect(versions == ["odd"])
  }

  /// Each change is one commit for those who follow, also if all rows go or come.
  @Test(arguments: [true, false]) func mappingsFollowAFilterThatLetsNothingThrough(_ isPersistent: Bool) throws {
    let db = try Database.inMemory()
    let order = order(isPersistent)
    let filter = filter(of: order, isPersistent)
    try db.register(order)
    try db.register(filter)
    try fill(db, 0..<20)
    let pin = try db.pin()
    var mappings = ViewMappings(view: "filter") { _ in true }
    func counts() throws -> [(group: String, count: Int)] {
      try pin.read { tx throws in
        let view = try tx.view(filter)
        return view.groups.map { ($0, view.count(in: $0)) }
      }
    }
    mappings.update(counts: try counts(), csn: 1)
    #expect(mappings.count(inSection: 0) == 10)
    let writers = [db.makeConnection(), db.makeConnection()]
    for round in 0..<4 {
      let showsSome = round % 2 == 1
      try writers[round % 2].write { tx throws in
        let isChanged = try tx.access(to: filter).setFilter(
          showsSome ? .byObject { $0 % 2 == 0 } : .byKey { _ in false }, version: "\(round)")
        #expect(isChanged)
      }
      let commits = try pin.advance()
      #expect(commits.count == 1 && commits[0].hasChanges(in: filter) && !commits[0].hasChanges(in: order))
      let operations = commits.flatMap { $0.changes(of: filter)?.operations ?? [] }
      let diff = ViewDiff.make(operations, &mappings, newCounts: try counts(), csn: UInt64(round + 2))
      #expect(!diff.isReload && diff.sections.count == 1 && mappings.count == (showsSome ? 10 : 0))
    }
    try db.unregister(extensionNamed: "order")
  }

  /// A row that comes into one group by a change that matters to the filter in another one, too.
  @Test func eachGroupOfARowIsJudged() throws {
    let db = try Database.inMemory()
    let order = AutoView<Int, String>(
      "order", over: [.numbers], grouping: .severalByRow { row in try row.object > 5 ? ["a", "b"] : ["a"] },
      sorting: .byKey())
    let filter = FilteredView("filter", of: order, filter: .byObject { $0 % 2 == 0 })
    try db.register(order)
    try db.register(filter)
    func shown() throws -> [[Int]] {
      try db.read { tx throws in [try tx.view(filter).numbers("a"), try tx.view(filter).numbers("b")] }
    }
    try db.write { tx throws in try tx[.numbers].set(2, for: "k") }
    #expect(try shown() == [[2], []])
    try db.write { tx throws in try tx[.numbers].set(7, for: "k") }
    #expect(try shown() == [[], []])
    try db.write { tx throws in try tx[.numbers].set(4, for: "k") }
    #expect(try shown() == [[4], []])
    let pin = try db.pin()
    try db.write { tx throws in try tx[.numbers].set(8, for: "k") }
    #expect(try shown() == [[8], [8]])
    // In the group that it was in it is drawn anew.
    let told = try pin.advance().flatMap { $0.changes(of: filter)?.operations ?? [] }
    let key = RowKey("numbers", "k")
    #expect(told.contains(.update(key, group: "a", index: 0, [.object, .metadata])))
    #expect(told.contains(.insert(key, group: "b", index: 0)))
  }

  /// A row that the app puts into the list, and changes in the same transaction so that it passes no more.
  @Test func aRowIsJudgedAgainAfterItsInsertion() throws {
    let db = try Database.inMemory()
    let list = ManualView<Int, String>("list", over: .numbers)
    let filter = filter(of: list, true)
    try db.register(list)
    try db.register(filter)
    try db.write { tx throws in
      try tx[.numbers].set(2, for: "k")
      try tx.access(to: list).append("k", to: "")
      try tx[.numbers].set(3, for: "k")
    }
    try expect(db, list, [3])
    try expect(db, filter, [])
  }

  /// A row that gets another sort key between the same neighbours has it for rows that come later, too.
  @Test(arguments: [true, false]) func aKeyThatChangesInItsPlaceIsTheParents(_ isPersistent: Bool) throws {
    let db = try Database.inMemory()
    let order = Numbers(
      "order", over: [.numbers], isPersistent: isPersistent, grouping: .all(), sorting: .byObject { $0 })
    let filter = filter(of: order, isPersistent)
    try db.register(order)
    try db.register(filter)
    try db.write { tx throws in for number in [10, 20, 30] { try tx[.numbers].set(number, for: "key\(number)") } }
    try db.write { tx throws in try tx[.numbers].set(26, for: "key20") }
    try db.write { tx throws in try tx[.numbers].set(24, for: "key24") }
    try expect(db, order, [10, 24, 26, 30])
    try expect(db, filter, [10, 24, 26, 30])
    try db.write { tx throws in try tx[.numbers].set(14, for: "key26") }
    try expect(db, filter, [10, 14, 24, 26, 30])
    try db.read { tx throws in
      #expect(try tx.view(filter).position(of: "key20")?.index == 3)
      try tx.view(filter).trees.checkInvariants()
    }
  }
}
