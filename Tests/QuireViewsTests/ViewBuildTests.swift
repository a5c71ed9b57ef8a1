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

  @Test(arguments: [1, 7, 2048], [1, 2] as [UInt64]) func same(stepRowCount: Int, seed: UInt64) throws {
    let (before, after) = (Self.views("before "), Self.views("after "))
    let folder = try TestFolder()
    let db = try open(folder, stepRowCount: stepRowCount)
    try db.register(before.several)
    try db.register(before.small)
    try db.register(before.byKey)
    try fill(db, seed: seed)
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
    try fill(db, seed: seed + 10)
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

  @Test("Building that is stopped goes on where it was, with rows that have come meanwhile") func stopped() throws {
    let folder = try TestFolder()
    let db = try open(folder, stepRowCount: 10)
    try fill(db, seed: 5, count: 95)
    let view = View("byRank", over: .items(), group: { $0.group }, sortKey: { $0.rank })
    var steps = 0
    #expect(throws: Refused.self) {
      try db.register(view) { _ in
        steps += 1
        if steps == 4 { throw Refused() }
      }
    }
    try db.close()
    let again = try open(folder, stepRowCount: 10)
    try again.register(view)
    let same = View("same", over: .items(), group: { $0.group }, sortKey: { $0.rank })
    try again.register(same)
    try again.read { tx throws in
      #expect(try tx.view(view).shown() == tx.view(same).shown())
      try tx.view(view).trees.checkInvariants()
    }
    try again.close()
  }
}
