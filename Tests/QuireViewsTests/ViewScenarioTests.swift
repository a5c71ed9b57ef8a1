// Lists that are grouped and sorted, seen inside the transaction and afterwards on two connections.

import QuireDatabase
import QuireTesting
import Testing

@testable import QuireViews

/// A database with numbers and a view of them: all in the group "" in ascending order, but the row "keyX".
struct NumberScenario {
  let db: Database
  let connections: [Connection]
  let order: AutoView<Int, String>

  init(isPersistent: Bool, takesExistingRows: Bool = true, isRegistered: Bool = true) throws {
    db = try Database.inMemory()
    connections = [db.makeConnection(), db.makeConnection()]
    order = AutoView(
      "order", over: [.numbers], version: "1", isPersistent: isPersistent, takesExistingRows: takesExistingRows,
      grouping: .byKey { $0 == "keyX" ? nil : "" }, sorting: .byObject { $0 < $1 })
    if isRegistered { try db.register(order) }
  }

  typealias Reader = ViewReader<Int, String>

  /// Changes rows; `check` sees the outcome before the commit, and on each connection after it.
  func write(_ body: (WritableRows<Int, String>) throws -> Void, check: (Reader) throws -> Void) throws {
    try db.write { tx throws in
      try body(tx[.numbers])
      try check(tx.view(order))
    }
    for connection in connections + [db.makeConnection()] {
      try connection.read { tx in try check(tx.view(order)) }
    }
  }

  /// Stores the numbers of a range under "key" and the number.
  func fill(_ numbers: some Sequence<Int>) throws {
    try db.write { tx throws in for number in numbers { try tx[.numbers].set(number, for: "key\(number)") } }
  }
}

extension RowCollection where Object == Int, Metadata == String {
  static var numbers: Self { .init("numbers") }
}

extension ViewReader where Object == Int {
  func keys(_ group: String = "") -> [String] { rows(in: group).map(\.row.key) }

  /// The numbers of a group, by walking it and by asking for each index.
  func numbers(_ group: String = "") throws -> [Int] {
    let walked = try rows(in: group).map { try $0.row.object }
    #expect(try (0..<count(in: group)).map { try object(at: $0, in: group) } == walked)
    return walked
  }
}

@Suite struct ViewScenarioTests {
  @Test(arguments: [true, false]) func rowsComeGoAndMove(_ isPersistent: Bool) throws {
    let scenario = try NumberScenario(isPersistent: isPersistent)
    try scenario.write { _ in
    } check: { view throws in
      #expect(view.groupCount == 0 && view.groups == [] && view.count(in: "") == 0 && view.isEmpty)
      #expect(try view.key(at: 0, in: "") == nil && view.position(of: "key0") == nil && !view.hasGroup(""))
      #expect(try view.firstObject(in: "") == nil && view.lastObject(in: "") == nil)
    }
    try scenario.write {
      try $0.set(0, for: "key0")
    } check: { view throws in
      #expect(view.groups == [""] && view.groupCount == 1 && view.count(in: "") == 1 && view.count == 1)
      #expect(try view.key(at: 0, in: "") == "key0" && view.position(of: "key0")?.group == "")
    }
    try scenario.write { rows in
      for number in 1...4 { try rows.set(number, for: "key\(number)") }
      try rows.set(9, for: "keyX")
    } check: { view throws in
      #expect(view.keys() == ["key0", "key1", "key2", "key3", "key4"])
      #expect(try view.position(of: "keyX") == nil && view.firstObject(in: "") == 0 && view.lastObject(in: "") == 4)
    }
    try scenario.write { rows in
      for number in 0...4 { try rows.replaceMetadata("m", for: "key\(number)") }
    } check: { view throws in
      #expect(try view.numbers() == [0, 1, 2, 3, 4] && view.metadata(at: 2, in: "") == "m")
    }
    try scenario.write {
      try $0.set(5, for: "key1")
    } check: { view throws in
      #expect(view.keys() == ["key0", "key2", "key3", "key4", "key1"])
    }
    try scenario.write {
      try $0.remove("key1")
    } check: {
      #expect($0.count(in: "") == 4)
    }
    try scenario.write {
      _ = try $0.remove(["key2", "key3"])
    } check: {
      #expect($0.keys() == ["key0", "key4"])
    }
    try scenario.db.write { tx throws in _ = try tx.removeAll() }
    try scenario.write { _ in
    } check: {
      #expect($0.groupCount == 0 && $0.isEmpty)
    }
    try scenario.write { rows in
      for number in [3, 0, 4, 1, 2] { try rows.set(number, for: "key\(number)") }
    } check: { view throws in
      #expect(try view.numbers() == [0, 1, 2, 3, 4])
    }
    try scenario.write { rows in
      try rows.removeAll()
      for number in 0...1 { try rows.set(number, for: "key\(number)") }
    } check: { view throws in
      #expect(try view.numbers() == [0, 1])
    }
  }

  @Test(arguments: [true, false]) func rangesAndDirections(_ isPersistent: Bool) throws {
    let scenario = try NumberScenario(isPersistent: isPersistent)
    try scenario.fill(0..<5)
    try scenario.write { _ in
    } check: { view throws in
      #expect(view.rows(in: "").map(\.index) == [0, 1, 2, 3, 4])
      #expect(view.rows(in: "").reversed().map(\.index) == [4, 3, 2, 1, 0])
      #expect(view.rows(in: "", 1..<4).map(\.row.key) == ["key1", "key2", "key3"])
      #expect(view.rows(in: "", 1..<4).reversed().map(\.row.key) == ["key3", "key2", "key1"])
      #expect(view.rows(in: "", 3..<99).map(\.index) == [3, 4] && view.rows(in: "x").map(\.index) == [])
      #expect(try view.range(in: "") { try $0.object < 1 ? -1 : $0.object > 3 ? 1 : 0 } == 1..<4)
      #expect(try view.range(in: "") { try $0.object < 7 ? -1 : 0 } == nil)
    }
  }

  /// So many that all trees have several pages, which fill, split and merge.
  @Test(arguments: [true, false]) func manyPages(_ isPersistent: Bool) throws {
    let third = TestSize.trials(500, divisor: 8)
    let (count, few) = (3 * third, third / 5)
    let scenario = try NumberScenario(isPersistent: isPersistent)
    var present: Set<Int> = []
    func change(adding new: some Sequence<Int> = [], removing old: [Int] = [], isBatch: Bool = true) throws {
      present.formUnion(new)
      present.subtract(old)
      try scenario.write { rows in
        for number in new { try rows.set(number, for: "key\(number)") }
        if isBatch { try rows.remove(old.map { "key\($0)" }) } else { for key in old { try rows.remove("key\(key)") } }
      } check: { view throws in
        #expect(try view.numbers() == present.sorted())
        #expect(try view.key(at: present.count, in: "") == nil)
      }
    }
    try change(adding: 0..<count)
    try change(removing: Array(third..<2 * third))
    try change(adding: third..<2 * third)
    for isBatch in [false, true] {
      let fifths = Array(stride(from: 5, to: count, by: 5))
      try change(removing: fifths, isBatch: isBatch)
      try scenario.write { _ in
      } check: { view throws in
        for number in 0..<count where number % 5 > 0 {
          #expect(try view.position(of: "key\(number)")?.index == number - number / 5)
        }
      }
      try change(adding: fifths)
    }
    try change(removing: Array(0..<count))
    try change(adding: Array(0..<third) + Array(2 * third..<count))
    try change(adding: third..<third + few, removing: Array(third - few..<third))
    try change(removing: Array(0..<count))
    try change(adding: third..<count)
    try change(adding: 0..<few, removing: Array(2 * third..<2 * third + few))
  }

  @Test(arguments: [true, false], [true, false]) func rowsThatAreThereAreTakenInOrNot(
    _ isPersistent: Bool, _ takesThem: Bool
  ) throws {
    let scenario = try NumberScenario(isPersistent: isPersistent, takesExistingRows: takesThem, isRegistered: false)
    try scenario.fill(0..<150)
    try scenario.db.register(scenario.order)
    try scenario.write { _ in
    } check: {
      #expect($0.count(in: "") == (takesThem ? 150 : 0))
    }
    try scenario.fill(150..<152)
    try scenario.write { _ in
    } check: {
      #expect($0.count(in: "") == (takesThem ? 152 : 2))
    }
  }

  @Test(arguments: [true, false]) func anUnregisteredViewIsGone(_ isPersistent: Bool) throws {
    let scenario = try NumberScenario(isPersistent: isPersistent)
    try scenario.fill(0..<10)
    #expect(try scenario.db.unregister(extensionNamed: "order") == ["order"])
    for connection in scenario.connections {
      #expect(throws: DatabaseError.self) { try connection.read { tx in _ = try tx.view(scenario.order) } }
    }
    #expect(throws: DatabaseError.self) { try scenario.db.write { tx in _ = try tx.view(scenario.order) } }
    #expect(try scenario.db.extensions().isEmpty)
  }

  /// Rows that are there before and after are told nothing of, where YapDatabase tells a move for each: five changes
  /// instead of ten.
  @Test(arguments: [true, false]) func anotherGroupingTellsOnlyWhatComes(_ isPersistent: Bool) throws {
    let scenario = try NumberScenario(isPersistent: isPersistent, isRegistered: false)
    let order = AutoView(
      "order", over: [.numbers], version: "1", isPersistent: isPersistent,
      grouping: .byObject { $0 % 2 == 0 ? "" : nil }, sorting: .byObject { $0 < $1 })
    try scenario.db.register(order)
    try scenario.fill(0..<10)
    let pin = try scenario.db.pin()
    var mappings = ViewMappings(view: "order", groups: [""])
    try pin.read { tx in try mappings.update(counts: [("", tx.view(order).count(in: ""))], csn: 1) }
    #expect(mappings.count(inSection: 0) == 5)
    let isChanged = try scenario.db.write { tx in
      try tx.access(to: order).setGrouping(.all(), version: "2")
    }
    #expect(isChanged)
    // The old snapshot shows what it showed.
    #expect(try pin.read { tx in try tx.view(order).numbers() } == [0, 2, 4, 6, 8])
    let operations = try pin.advance().flatMap { $0.changes(of: order)?.operations ?? [] }
    let diff = ViewDiff.make(operations, &mappings, newCounts: [("", 10)], csn: 2)
    #expect(diff.sections == [] && !diff.isReload && diff.rows.allSatisfy { $0.kind == .insert })
    #expect(diff.rows.map(\.finalPath) == [1, 3, 5, 7, 9].map { ViewPath(section: 0, row: $0) })
    #expect(try pin.read { tx in try tx.view(order).numbers() } == Array(0..<10))
  }

  @Test(arguments: [true, false]) func insertedAndRemovedInOneTransaction(_ isPersistent: Bool) throws {
    let scenario = try NumberScenario(isPersistent: isPersistent)
    try scenario.write { rows in
      try rows.set(1, for: "key1")
      try rows.remove("key1")
    } check: {
      #expect($0.isEmpty && $0.groupCount == 0)
    }
    try scenario.write { rows in
      for number in 0..<10 { try rows.set(number, for: "key\(number)") }
      try rows.remove((0..<10).map { "key\($0)" })
    } check: {
      #expect($0.isEmpty && $0.groupCount == 0)
    }
  }
}
