// What search views show, in all their forms.

import QuireDatabase
import QuireTesting
import Testing

@testable import QuireViews

@Suite struct SearchViewTests {
  typealias Numbers = AutoView<Int, String>
  typealias Search = SearchView<Int, String>

  /// The forms that show everything that is found, with the view that they take it from.
  enum Form: CaseIterable { case parent, keyed, compared }

  private func order(_ isPersistent: Bool = true) -> Numbers {
    AutoView("order", over: [.numbers], isPersistent: isPersistent, grouping: .all(), sorting: .byObject { $0 < $1 })
  }

  private func search(_ form: Form, _ isPersistent: Bool = false) -> Search {
    switch form {
    case .parent: Search("found", of: order(), isPersistent: isPersistent, restoring: Picked.restored)
    case .keyed:
      Search(
        "found", over: [.numbers], isPersistent: isPersistent, grouping: .all(), sorting: .byObject { $0 },
        restoring: Picked.restored)
    case .compared:
      Search(
        "found", over: [.numbers], isPersistent: isPersistent, grouping: .all(), sorting: .byObject { $0 < $1 },
        restoring: Picked.restored)
    }
  }

  private func database(_ search: Search, _ numbers: some Sequence<Int> = 0..<20) throws -> Database {
    let db = try Database.inMemory()
    try fill(db, numbers)
    try db.register(order())
    try db.register(search)
    return db
  }

  private func fill(_ db: Database, _ numbers: some Sequence<Int>) throws {
    try db.write { tx throws in for number in numbers { try tx[.numbers].set(number, for: "k\(number)") } }
  }

  private func numbers(_ db: Database, _ view: some ViewExtension<Int, String>, _ group: String = "") throws -> [Int] {
    try db.read { tx throws in
      try tx.view(view).trees.checkInvariants()
      return try tx.view(view).numbers(group)
    }
  }

  // MARK: Searching

  @Test(arguments: Form.allCases) func isEmptyUntilTheFirstSearch(_ form: Form) throws {
    let search = search(form)
    let db = try database(search)
    #expect(try numbers(db, search) == [])
    #expect(try db.read { tx in try tx.view(search).shownSearch } == nil)
    try db.write { tx throws in
      try tx.access(to: search).search(Picked.multiples(of: 5))
      #expect(try tx.view(search).numbers() == [0, 5, 10, 15])
    }
    #expect(try numbers(db, search) == [0, 5, 10, 15])
    let shown = try db.read { tx in try tx.view(search).shownSearch }
    #expect(shown == ShownSearch(name: "multiples of 5", storedForm: "5", isPartial: false))
    try db.write { tx throws in
      #expect(try tx.access(to: search).selection?.name == "multiples of 5")
      try tx.access(to: search).endSearch()
      #expect(try tx.access(to: search).selection == nil)
    }
    #expect(try numbers(db, search) == [] && db.read { tx in try tx.view(search).shownSearch } == nil)
  }

  @Test(arguments: Form.allCases) func anotherSearchTellsOnlyWhatComesAndGoes(_ form: Form) throws {
    let search = search(form)
    let db = try database(search)
    try db.write { tx throws in try tx.access(to: search).search(Picked.multiples(of: 4)) }
    let pin = try db.pin()
    try db.write { tx throws in try tx.access(to: search).search(Picked.multiples(of: 6)) }
    #expect(try numbers(db, search) == [0, 6, 12, 18])
    // 0 and 12 stay.
    let told = try pin.advance().flatMap { $0.changes(of: search)?.operations ?? [] }
    #expect(told.count == 5)
    #expect(told.allSatisfy { $0.key.map { !["k0", "k12"].contains($0.key) } ?? false })
    try db.write { tx throws in try tx.access(to: search).search(Picked.multiples(of: 6)) }
    #expect(try pin.advance().allSatisfy { !$0.hasChanges(in: search) })
  }

  @Test(arguments: Form.allCases) func rowsComeAndGoAsTheyChange(_ form: Form) throws {
    let search = search(form)
    let db = try database(search)
    let asked = Tally()
    var selection = Picked.multiples(of: 5)
    selection.onAsk = { asked.note($0) }
    try db.write { [selection] tx throws in try tx.access(to: search).search(selection) }
    #expect(asked.take() == [20])
    let pin = try db.pin()
    try db.write { tx throws in
      try tx[.numbers].set(25, for: "k1")
      try tx[.numbers].set(26, for: "k5")
      try tx[.numbers].set(100, for: "k0")
      try tx[.numbers].remove("k10")
      try tx[.numbers].set(30, for: "new")
      #expect(try tx.view(search).numbers() == [15, 25, 30, 100])
      try tx[.numbers].set(31, for: "new")
    }
    #expect(try numbers(db, search) == [15, 25, 100])
    // All changed rows of a look at once.
    #expect(asked.take() == [4, 1])
    var shown: Shown = ["": ["k0", "k5", "k10", "k15"].map { RowKey("numbers", $0) }]
    try apply(pin.advance().flatMap { $0.changes(of: search)?.operations ?? [] }, to: &shown)
    #expect(shown[""]?.map(\.key) == ["k15", "k1", "k0"])
  }

  @Test(arguments: Form.allCases) func aChangeThatLeavesARowInPlaceIsTold(_ form: Form) throws {
    let search = search(form)
    let db = try database(search)
    try db.write { tx throws in try tx.access(to: search).search(Picked.multiples(of: 5)) }
    let pin = try db.pin()
    try db.write { tx throws in
      try tx[.numbers].replaceMetadata("x", for: "k5")
      try tx[.numbers].touch("k1")
    }
    let told = try pin.advance().flatMap { $0.changes(of: search)?.operations ?? [] }
    #expect(told == [.update(RowKey("numbers", "k5"), group: "", index: 1, .metadata)])
  }

  /// A row that goes with its number, and by it out of what is found, while others come.
  @Test(arguments: Form.allCases) func rowsThatMoveInOneTransactionStandRight(_ form: Form) throws {
    let search = search(form)
    let db = try database(search, stride(from: 0, to: 100, by: 10))
    try db.write { tx throws in
      try tx.access(to: search).search(Picked(isFound: { $0 % 10 == 0 }))
      for number in stride(from: 0, to: 100, by: 10) { try tx[.numbers].set(990 - number, for: "k\(number)") }
      try tx[.numbers].set(3, for: "k50")
      try tx[.numbers].set(-10, for: "late")
    }
    let expected = [-10] + stride(from: 900, to: 1_000, by: 10).filter { $0 != 940 }
    #expect(try numbers(db, search) == expected)
  }

  @Test(arguments: Form.allCases) func removingAllRowsKeepsTheSearch(_ form: Form) throws {
    let search = search(form)
    let db = try database(search)
    try db.write { tx throws in try tx.access(to: search).search(Picked.multiples(of: 5)) }
    try db.write { tx throws in try tx[.numbers].removeAll() }
    #expect(try numbers(db, search) == [])
    try fill(db, 4..<12)
    #expect(try numbers(db, search) == [5, 10])
    try db.write { tx throws in try tx.removeAll() }
    #expect(try numbers(db, search) == [])
    try fill(db, 14..<22)
    #expect(try numbers(db, search) == [15, 20])
  }

  // MARK: Other rows

  @Test(arguments: Form.allCases) func whatDependsOnOtherRowsIsSearchedAgain(_ form: Form) throws {
    let search = search(form)
    let db = try database(search)
    try db.write { tx throws in try tx.access(to: search).search(Smallest(count: 3)) }
    #expect(try numbers(db, search) == [0, 1, 2])
    try db.write { tx throws in
      try tx[.numbers].remove("k1")
      #expect(try tx.view(search).numbers() == [0, 2, 3])
      try tx[.numbers].set(-1, for: "new")
    }
    #expect(try numbers(db, search) == [-1, 0, 2])
    // Also if what changes is no row of the view.
    let outside = try Database.inMemory()
    try outside.register(order())
    let limited = Search("found", of: order(), allowedGroups: ["other"])
    try outside.register(limited)
    try outside.write { tx throws in try tx.access(to: limited).search(Smallest(count: 3)) }
    try fill(outside, 0..<4)
    #expect(try outside.read { tx in try tx.view(limited).count } == 0)
  }

  @Test func theBestRowsStandByTheirScores() throws {
    let best = Search("found", over: [.numbers], bestRows: 4, in: "best")
    let db = try database(best)
    try db.write { tx throws in try tx.access(to: best).search(Smallest(count: 10)) }
    #expect(try numbers(db, best, "best") == [0, 1, 2, 3])
    let pin = try db.pin()
    try db.write { tx throws in
      try tx[.numbers].set(50, for: "k2")
      try tx[.numbers].replaceMetadata("x", for: "k3")
    }
    #expect(try numbers(db, best, "best") == [0, 1, 3, 4])
    var shown: Shown = ["best": ["k0", "k1", "k2", "k3"].map { RowKey("numbers", $0) }]
    let told = try pin.advance().flatMap { $0.changes(of: best)?.operations ?? [] }
    try apply(told, to: &shown)
    #expect(shown["best"]?.map(\.key) == ["k0", "k1", "k3", "k4"])
    #expect(told.contains(.update(RowKey("numbers", "k3"), group: "best", index: 3, .metadata)))
    try db.write { tx throws in
      #expect {
        try tx.access(to: best).search(Picked.multiples(of: 5))
      } throws: { ($0 as? DatabaseError)?.code == .viewRefused }
    }
    #expect(try numbers(db, best, "best") == [0, 1, 3, 4])
  }

  // MARK: Views above and below

  @Test func onlyAllowedGroupsAreShown() throws {
    let byRest = Numbers(
      "rest", over: [.numbers], grouping: .byObject { "\($0 % 3)" }, sorting: .byObject { Descending($0) })
    let search = Search("found", of: byRest, allowedGroups: ["1", "2"])
    let db = try Database.inMemory()
    try db.register(byRest)
    try db.register(search)
    try fill(db, 0..<12)
    func shown() throws -> [String: [Int]] {
      try db.read { tx throws in
        let view = try tx.view(search)
        return try Dictionary(uniqueKeysWithValues: view.groups.map { ($0, try view.numbers($0)) })
      }
    }
    try db.write { tx throws in try tx.access(to: search).search(Picked(isFound: { $0 % 2 == 0 })) }
    #expect(try shown() == ["1": [10, 4], "2": [8, 2]])
    try db.write { tx throws in
      try tx[.numbers].set(6, for: "k4")
      try tx[.numbers].set(14, for: "k0")
    }
    #expect(try shown() == ["1": [10], "2": [14, 8, 2]])
    // The parent is grouped anew, and the search with it.
    let pin = try db.pin()
    try db.write { tx throws in
      try tx.access(to: byRest).setGrouping(.byObject { "\($0 % 2 + 1)" }, version: "2")
    }
    #expect(try shown() == ["1": [14, 10, 8, 6, 6, 2]])
    #expect(try pin.advance().count == 1)
    try db.write { tx throws in try tx.access(to: byRest).setSorting(.byObject { $0 }, version: "3") }
    #expect(try shown() == ["1": [2, 6, 6, 8, 10, 14]])
  }

  /// A row that gets another sort key between the same neighbours has it for rows that come later, too.
  @Test func aKeyThatChangesInItsPlaceIsTheParents() throws {
    let order = AutoView<Int, String>("order", over: [.numbers], grouping: .all(), sorting: .byObject { $0 })
    let search = Search("found", of: order)
    let db = try Database.inMemory()
    try db.register(order)
    try db.register(search)
    try fill(db, [10, 20, 30])
    try db.write { tx throws in try tx.access(to: search).search(Picked.multiples(of: 2)) }
    try db.write { tx throws in try tx[.numbers].set(26, for: "k20") }
    try fill(db, [24])
    #expect(try numbers(db, search) == [10, 24, 26, 30])
    try db.write { tx throws in try tx[.numbers].set(14, for: "k26") }
    #expect(try numbers(db, search) == [10, 14, 24, 26, 30])
  }

  @Test func rowsAreAskedAboutWhenAListTakesThem() throws {
    let list = ManualView<Int, String>("list", over: .numbers)
    let search = Search("found", of: list)
    let db = try Database.inMemory()
    try db.register(list)
    try db.register(search)
    try fill(db, 0..<10)
    try db.write { tx throws in
      try tx.access(to: search).search(Picked.multiples(of: 2))
      for number in [4, 3, 2, 8] { try tx.access(to: list).append("k\(number)", to: "a") }
    }
    #expect(try numbers(db, search, "a") == [4, 2, 8])
    try db.write { tx throws in
      try tx.access(to: list).move(from: 3, to: 0, in: "a")
      try tx.access(to: list).append("k6", to: "b")
    }
    #expect(try numbers(db, search, "a") == [8, 4, 2] && numbers(db, search, "b") == [6])
    try db.write { tx throws in try tx.access(to: list).removeAll(in: "a") }
    #expect(try numbers(db, search, "a") == [])
  }

  @Test func viewsOfASearchFollowIt() throws {
    let search = search(.keyed)
    let small = FilteredView("small", of: search, isPersistent: false, filter: .byObject { $0 < 10 })
    let again = Search("again", of: search)
    let db = try database(search)
    try db.register(small)
    try db.register(again)
    try db.write { tx throws in
      try tx.access(to: search).search(Picked.multiples(of: 2))
      try tx.access(to: again).search(Picked.multiples(of: 3))
    }
    #expect(try numbers(db, small) == [0, 2, 4, 6, 8])
    #expect(try numbers(db, again) == [0, 6, 12, 18])
    try db.write { tx throws in
      try tx[.numbers].set(30, for: "k1")
      try tx[.numbers].set(-2, for: "k8")
      #expect(try tx.view(again).numbers() == [0, 6, 12, 18, 30])
    }
    #expect(try numbers(db, small) == [-2, 0, 2, 4, 6])
    try db.write { tx throws in try tx.access(to: search).search(Picked.multiples(of: 4)) }
    #expect(try numbers(db, small) == [0, 4] && numbers(db, again) == [0, 12])
    #expect(try Set(db.unregister(extensionNamed: "found")) == ["found", "small", "again"])
  }
}
