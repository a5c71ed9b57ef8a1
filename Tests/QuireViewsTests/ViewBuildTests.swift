// A view that is built from rows shows what it shows when they come one by one.

import Foundation
import QuireDatabase
import QuireTesting
import Testing

@testable import QuireViews

@Suite("Views built in steps") struct ViewBuildTests {
  private struct Refused: Error {}
  private typealias View = AutoView<Item, Int>

  /// A database whose views are built so many rows at a time.
  private func open(_ folder: TestFolder, stepRowCount: Int) throws -> Database {
    var options = Database.Options(durability: .relaxed)
    options.buildStepRowCount = stepRowCount
    return try folder.open(options)
  }

  private func fill(_ db: Database, seed: UInt64, count: Int = 300) throws {
    var random = SeededRandom(seed: seed)
    try db.write { tx throws in
      for number in 0..<count {
        // Equal strings of other bytes are groups of their own.
        let group = ["a", "b", "e\u{301}", "\u{e9}", "", nil][random.below(6)]
        try tx[.items()].set(Item(group: group, rank: random.below(40) - 20), for: "k\(random.below(10))-\(number)")
      }
    }
  }

  private static func views(_ prefix: String) -> (several: View, small: FilteredView<View>, byKey: View) {
    let several = View(
      "\(prefix)several", over: [.items()],
      grouping: .severalByRow { row in
        let item = try row.object
        return (0..<(abs(item.rank) % 4)).map { "\(item.group ?? "none")\($0 % 3)" }
      }, sorting: .byObject { String(repeating: "long ", count: 3) + "\($0.rank)" })
    let small = FilteredView(
      "\(prefix)small", of: several,
      filter: .byRow { group, row in
        try !group.hasSuffix("1") && row.object.rank % 3 == 0
      })
    let byKey = View("\(prefix)byKey", over: [.items()], grouping: .byObject { $0.group }, sorting: .byKey())
    return (several, small, byKey)
  }

  @Test(arguments: [1, 7, 2048], TestSize.some([1, 2] as [UInt64], of: 1))
  func same(stepRowCount: Int, seed: UInt64) throws {
    let (before, after) = (Self.views("before "), Self.views("after "))
    let folder = try TestFolder()
    let db = try open(folder, stepRowCount: stepRowCount)
    try db.register(before.several)
    try db.register(before.small)
    try db.register(before.byKey)
    let count = TestSize.trials(300, divisor: 3)
    try fill(db, seed: seed, count: count)
    try db.register(after.several)
    try db.register(after.small)
    try db.register(after.byKey)
    func expectSame() throws {
      try db.read { tx throws in
        #expect(try tx.view(before.several).shown() == tx.view(after.several).shown())
        #expect(try tx.view(before.small).shown() == tx.view(after.small).shown())
        #expect(try tx.view(before.byKey).shown() == tx.view(after.byKey).shown())
        try tx.view(after.several).trees.checkInvariants()
        try tx.view(after.small).trees.checkInvariants()
        try tx.view(after.byKey).trees.checkInvariants()
        #expect(try !tx.view(after.small).isEmpty)
      }
    }
    try expectSame()
    // They are kept up to date like views that rows came into.
    try fill(db, seed: seed + 10, count: count)
    try expectSame()
    try db.close()
  }

  @Test(
    "A closure that throws half-way leaves nothing, is told with its row, and building begins anew",
    arguments: [3, 50])
  func failingClosures(stepRowCount: Int) throws {
    let folder = try TestFolder()
    let db = try open(folder, stepRowCount: stepRowCount)
    try db.write { tx throws in
      for number in 0..<20 { try tx[.items()].set(Item(group: "g\(number % 3)", rank: -number), for: "k\(number)") }
    }
    func view(failing: String?, inFilter: Bool) -> (View, FilteredView<View>) {
      let parent = View(
        "parent", over: [.items()], grouping: .byRow { try $0.object.group },
        sorting: .byRow { row in
          if !inFilter, row.key == failing { throw Refused() }
          return try row.object.rank
        })
      let child = FilteredView(
        "child", of: parent,
        filter: .byRow { _, row in
          if inFilter, row.key == failing { throw Refused() }
          return try row.object.rank % 2 == 0
        })
      return (parent, child)
    }
    for inFilter in [false, true] {
      let (parent, child) = view(failing: "k7", inFilter: inFilter)
      var failure: DatabaseError?
      do {
        try db.register(parent)
        try db.register(child)
      } catch { failure = error as? DatabaseError }
      #expect(failure?.code == .extensionFailed && failure?.cause is Refused && failure?.key == "k7")
      #expect(failure?.collection == "items")
      #expect(try db.extensions().map(\.name) == (inFilter ? ["parent"] : []))
    }
    let (parent, child) = view(failing: nil, inFilter: false)
    try db.register(child)
    try db.read { tx throws in
      #expect(try tx.view(parent).shown()["g1"]?.map(\.key) == ["k19", "k16", "k13", "k10", "k7", "k4", "k1"])
      #expect(try tx.view(child).shown()["g1"]?.map(\.key) == ["k16", "k10", "k4"])
      try tx.view(child).trees.checkInvariants()
    }
    try db.close()
  }

  /// Stores, changes and removes some rows, also such that are there.
  private func change(_ db: Database, _ random: inout SeededRandom) throws {
    try db.write { tx throws in
      let rows = tx[.items()]
      let keys = Array(rows.keys)
      for _ in 0..<12 {
        let key = keys[random.below(keys.count)]
        let item = Item(group: ["a", "b", nil][random.below(3)], rank: random.below(40) - 20)
        switch random.below(4) {
        case 0: try rows.remove(key)
        case 1: try rows.set(item, for: "new \(random.below(1000))")
        case 2: try rows.replace(item, for: key)
        default: try rows.set(item, for: key)
        }
      }
    }
  }

  @Test(
    "Rows that change between the steps of building are shown as if they had changed before",
    arguments: [1, 7, 40], TestSize.some([1, 2] as [UInt64], of: 1))
  func changesBetweenSteps(stepRowCount: Int, seed: UInt64) throws {
    let (before, after) = (Self.views("before "), Self.views("after "))
    let folder = try TestFolder()
    let db = try open(folder, stepRowCount: stepRowCount)
    try db.register(before.several)
    try db.register(before.small)
    // So many that there are some steps, however large they are.
    try fill(db, seed: seed, count: stepRowCount > 7 ? 300 : TestSize.trials(300, divisor: 2))
    let changedStepCount = TestSize.trials(100, divisor: 4)
    var random = SeededRandom(seed: seed)
    var stepCount = 0
    func changing() throws {
      stepCount += 1
      // Rows that come behind those that are built let it go on: not for ever.
      if stepCount < changedStepCount { try change(db, &random) }
    }
    try db.register(after.several) { _ in try changing() }
    try db.register(after.small) { _ in try changing() }
    #expect(stepCount > 10)
    for _ in 0..<2 {
      try db.read { tx throws in
        #expect(try tx.view(before.several).shown() == tx.view(after.several).shown())
        #expect(try tx.view(before.small).shown() == tx.view(after.small).shown())
        #expect(try !tx.view(after.small).isEmpty)
        try tx.view(after.small).trees.checkInvariants()
      }
      try change(db, &random)
    }
    try db.close()
  }

  @Test("Building that is stopped goes on where it was, with rows that have come meanwhile", arguments: [false, true])
  func stopped(isFiltered: Bool) throws {
    let folder = try TestFolder()
    let db = try open(folder, stepRowCount: 10)
    try fill(db, seed: 5, count: 95)
    let views = Self.views("")
    if isFiltered { try db.register(views.several) }
    var random = SeededRandom(seed: 9)
    var steps = 0
    func register(_ db: Database, _ progress: @escaping () throws -> Void) throws {
      if isFiltered {
        try db.register(views.small) { _ in try progress() }
      } else {
        try db.register(views.several) { _ in try progress() }
      }
    }
    #expect(throws: Refused.self) {
      try register(db) {
        steps += 1
        if steps == 2 || steps == 5 { try change(db, &random) }
        if steps == 6 { throw Refused() }
      }
    }
    try db.close()
    let again = try open(folder, stepRowCount: 10)
    if isFiltered { try again.register(views.several) }
    let stepsBefore = steps
    try register(again) { steps += 1 }
    #expect(stepsBefore == 6 && steps < 6 + 7, "it has begun anew: \(steps)")
    let same = Self.views("same ")
    try again.register(same.several)
    try again.register(same.small)
    try again.read { tx throws in
      if isFiltered {
        #expect(try tx.view(views.small).shown() == tx.view(same.small).shown())
        try tx.view(views.small).trees.checkInvariants()
      } else {
        #expect(try tx.view(views.several).shown() == tx.view(same.several).shown())
        try tx.view(views.several).trees.checkInvariants()
      }
    }
    try again.close()
  }
}
