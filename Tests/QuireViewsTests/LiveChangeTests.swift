// Another grouping, order or filter for a view that is registered.

import QuireDatabase
import QuireTesting
import Testing

@testable import QuireViews

@Suite struct LiveChangeTests {
  private struct Undo: Error {}
  typealias Numbers = AutoView<Int, String>

  private func order(_ version: String = "1", isPersistent: Bool = true) -> Numbers {
    AutoView(
      "order", over: [.numbers], version: version, isPersistent: isPersistent, grouping: .all(),
      sorting: .byObject { $0 })
  }

  private func even(_ order: Numbers, isPersistent: Bool = true) -> FilteredView<Numbers> {
    FilteredView("even", of: order, version: "1", isPersistent: isPersistent, filter: .byObject { $0 % 2 == 0 })
  }

  private func fill(_ db: Database, _ numbers: some Sequence<Int>) throws {
    try db.write { tx throws in for number in numbers { try tx[.numbers].set(number, for: "k\(number)") } }
  }

  private func numbers<View: ViewExtension>(
    _ db: Database, _ view: View, _ group: String = ""
  ) throws -> [Int] where View.Object == Int, View.Metadata == String {
    try db.read { tx in try tx.view(view).numbers(group) }
  }

  // MARK: Undoing

  @Test(arguments: [true, false]) func nothingOfAnUndoneChangeRemains(_ isPersistent: Bool) throws {
    let db = try Database.inMemory()
    let order = order(isPersistent: isPersistent)
    let even = even(order, isPersistent: isPersistent)
    try db.register(order)
    try db.register(even)
    try fill(db, 0..<10)
    func change(_ tx: WriteTransaction) throws {
      try tx.access(to: order).setGrouping(
        .byObject { "\($0 % 3)" }, sorting: .byObject { Descending($0) }, version: "2")
      try tx.access(to: even).setFilter(.byObject { $0 > 4 }, version: "2")
      #expect(try tx.view(order).numbers("2") == [8, 5, 2] && tx.view(even).numbers("2") == [8, 5])
    }
    #expect(throws: Undo.self) {
      try db.write { tx throws in
        try change(tx)
        throw Undo()
      }
    }
    let pin = try db.pin()
    try db.write { tx throws in
      #expect(throws: Undo.self) {
        try tx.savepoint {
          try change(tx)
          throw Undo()
        }
      }
      #expect(try tx.access(to: order).version == "1" && tx.access(to: even).version == "1")
      try tx[.numbers].set(10, for: "k10")
    }
    #expect(try numbers(db, order) == Array(0...10) && numbers(db, even) == [0, 2, 4, 6, 8, 10])
    #expect(try pin.advance().flatMap { $0.changes(of: order)?.operations ?? [] }.count == 1)
    #expect(try db.extensions().map(\.version) == ["1", "1"])
    try db.write { tx throws in try change(tx) }
    #expect(try db.extensions().map(\.version) == ["2", "2"])
    try fill(db, [11])
    #expect(try numbers(db, order, "2") == [11, 8, 5, 2] && numbers(db, even, "2") == [11, 8, 5])
  }

  @Test func aClosureThatThrowsChangesNothing() throws {
    let db = try Database.inMemory()
    let order = order()
    let even = even(order)
    try db.register(order)
    try db.register(even)
    try fill(db, 0..<10)
    try db.write { tx throws in
      let (writer, filtered) = (try tx.access(to: order), try tx.access(to: even))
      #expect(throws: Undo.self) { try writer.setGrouping(.byObject { $0 == 7 ? try fail() : "x" }, version: "2") }
      #expect(throws: Undo.self) { try writer.setSorting(.byObject { _, _ in try fail() }, version: "2") }
      #expect(throws: Undo.self) { try filtered.setFilter(.byObject { _ in try fail() }, version: "2") }
      let long = String(repeating: "v", count: Limits.extensionNameByteCount + 1)
      #expect(throws: DatabaseError.self) { try writer.setSorting(.byKey(), version: long) }
      #expect(writer.version == "1" && filtered.version == "1")
    }
    #expect(try numbers(db, order) == Array(0..<10) && numbers(db, even) == [0, 2, 4, 6, 8])
    @Sendable func fail<Result>() throws -> Result { throw Undo() }
  }

  // MARK: Steps

  /// A change of order moves what lies outside of a longest increasing subsequence, and nothing else; the filtered view
  /// finds its own.
  @Test(arguments: [true, false], [true, false]) func theFewestRowsMove(_ isKeyed: Bool, _ wasKeyed: Bool) throws {
    var random = SeededRandom(seed: 11)
    for count in [0, 1, 2, 3, 7, 60] {
      let db = try Database.inMemory()
      let ranks = (0..<count).map { _ in random.below(count + count / 2) }
      let order = Numbers(
        "order", over: [.numbers], version: "1", grouping: .all(),
        sorting: wasKeyed ? .byObject { $0 } : .byObject { $0 < $1 })
      let even = even(order)
      try db.register(order)
      try db.register(even)
      try fill(db, 0..<count)
      let pin = try db.pin()
      try db.write { tx throws in
        let writer = try tx.access(to: order)
        try writer.setSorting(
          isKeyed ? .byObject { ranks[$0] } : .byObject { ranks[$0] < ranks[$1] }, version: "2")
      }
      let now = try numbers(db, order)
      #expect(now.map { ranks[$0] } == ranks.sorted())
      let commits = try pin.advance()
      for (told, shown) in [
        (commits.flatMap { $0.changes(of: order)?.operations ?? [] }, now),
        (commits.flatMap { $0.changes(of: even)?.operations ?? [] }, try numbers(db, even)),
      ] {
        #expect(told.count == 2 * (shown.count - longestIncreasing(shown)))
      }
    }
  }

  /// The length of a longest increasing subsequence, the slow way.
  private func longestIncreasing(_ numbers: [Int]) -> Int {
    var lengths: [Int] = []
    for (index, number) in numbers.enumerated() {
      lengths.append(1 + ((0..<index).filter { numbers[$0] < number }.map { lengths[$0] }.max() ?? 0))
    }
    return lengths.max() ?? 0
  }

  /// A row that changes its group leaves the one before it enters the other; a group that keeps no row but gets others
  /// does not vanish in between.
  @Test func groupsThatGetOtherRowsStay() throws {
    let db = try Database.inMemory()
    let order = Numbers(
      "order", over: [.numbers], version: "1", grouping: .byObject { $0 < 2 ? "a" : "b" }, sorting: .byObject { $0 })
    try db.register(order)
    try fill(db, 0..<4)
    let pin = try db.pin()
    try db.write { tx throws in
      _ = try tx.access(to: order).setGrouping(.byObject { $0 < 2 ? "b" : "a" }, version: "2")
    }
    let told = try pin.advance().flatMap { $0.changes(of: order)?.operations ?? [] }
    let keys = (0..<4).map { RowKey("numbers", "k\($0)") }
    #expect(
      told == [
        .remove(keys[1], group: "a", index: 1), .remove(keys[0], group: "a", index: 0),
        .remove(keys[3], group: "b", index: 1), .remove(keys[2], group: "b", index: 0),
        .insert(keys[2], group: "a", index: 0), .insert(keys[3], group: "a", index: 1),
        .insert(keys[0], group: "b", index: 0), .insert(keys[1], group: "b", index: 1),
      ])
  }

  // MARK: Other openings

  @Test func theNewVersionIsWhatIsStored() throws {
    let disk = SimulatedDisk()
    var db = try openSimulated(disk, seed: 1)
    try db.register(order())
    try db.register(even(order()))
    try fill(db, 0..<10)
    try db.write { tx throws in _ = try tx.access(to: order()).setSorting(.byObject { Descending($0) }, version: "2") }
    try db.close()
    func builds(_ view: Numbers) throws -> Int {
      var builds = 0
      try db.register(view) { _ in builds += 1 }
      try db.register(even(view)) { _ in builds += 1 }
      return builds
    }
    db = try openSimulated(disk, seed: 2)
    #expect(try builds(order("2")) == 0)
    #expect(try numbers(db, order("2")) == (0..<10).reversed() && numbers(db, even(order())) == [8, 6, 4, 2, 0])
    try db.close()
    db = try openSimulated(disk, seed: 3)
    #expect(try builds(order("1")) > 0)
    #expect(try numbers(db, order()) == Array(0..<10) && numbers(db, even(order())) == [0, 2, 4, 6, 8])
    try db.close()
  }

  /// A filtered view that is stored, but not registered in this opening, does not hear of what its parent does.
  @Test(arguments: [true, false]) func aFilteredViewThatDidNotFollowIsBuiltAnew(_ isManual: Bool) throws {
    let disk = SimulatedDisk()
    let list = ManualView<Int, String>("list", over: .numbers)
    let some = FilteredView("some", of: list, filter: .byObject { $0 > 0 })
    var db = try openSimulated(disk, seed: 1)
    try fill(db, 0..<4)
    try db.register(order())
    try db.register(even(order()))
    try db.register(list)
    try db.register(some)
    try db.close()
    db = try openSimulated(disk, seed: 2)
    try db.register(order())
    try db.register(list)
    try db.write { tx throws in
      if isManual {
        try tx.access(to: list).append("k2", to: "")
      } else {
        _ = try tx.access(to: order()).setSorting(.byObject { Descending($0) }, version: "2")
      }
    }
    try db.close()
    db = try openSimulated(disk, seed: 3)
    try db.register(order(isManual ? "1" : "2"))
    try db.register(even(order()))
    try db.register(list)
    try db.register(some)
    #expect(try numbers(db, some) == (isManual ? [2] : []))
    #expect(try numbers(db, even(order())) == (isManual ? [0, 2] : [2, 0]))
    try db.close()
  }

  @Test func aSnapshotReadsTheViewThroughManyChanges() throws {
    let db = try Database.inMemory()
    let order = order()
    try db.register(order)
    try fill(db, 0..<3)
    let pins = try (2..<20).map { number in
      let pin = try db.pin()
      try db.write { tx throws in
        let writer = try tx.access(to: order)
        _ = try writer.setSorting(.byObject { number % 2 == 0 ? -$0 : $0 }, version: "\(number)")
      }
      return pin
    }
    for (index, pin) in pins.enumerated() {
      #expect(try pin.read { tx in try tx.view(order).numbers() } == (index % 2 == 0 ? [0, 1, 2] : [2, 1, 0]))
    }
  }
}
