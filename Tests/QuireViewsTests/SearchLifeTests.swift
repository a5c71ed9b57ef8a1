// Search views over openings, in savepoints, and where a selection fails.

import QuireDatabase
import QuireTesting
import Testing

@testable import QuireViews

@Suite struct SearchLifeTests {
  typealias Search = SearchView<Int, String>
  private struct Wrong: Error {}
  private struct Undo: Error {}

  private let disk = SimulatedDisk()

  private func order(_ version: String = "1") -> AutoView<Int, String> {
    AutoView("order", over: [.numbers], version: version, grouping: .all(), sorting: .byObject { $0 })
  }

  private func search(
    _ isParent: Bool, version: String = "", isPersistent: Bool = true, order: AutoView<Int, String>? = nil,
    restoring: Search.Restoring? = Picked.restored
  ) -> Search {
    isParent
      ? Search(
        "found", of: order ?? self.order(), version: version, isPersistent: isPersistent, restoring: restoring)
      : Search(
        "found", over: [.numbers], version: version, isPersistent: isPersistent, grouping: .all(),
        sorting: .byObject { $0 }, restoring: restoring)
  }

  private func fill(_ db: Database, _ numbers: some Sequence<Int>) throws {
    try db.write { tx throws in for number in numbers { try tx[.numbers].set(number, for: "k\(number)") } }
  }

  /// A database in which something was searched for, closed.
  private func begin(_ search: Search, _ selection: Picked = .multiples(of: 5)) throws {
    let db = try openSimulated(disk, seed: 1)
    try db.register(order())
    try db.register(search)
    try fill(db, 0..<12)
    try db.write { tx throws in try tx.access(to: search).search(selection) }
    #expect(try numbers(db, search).count == 3)
    try db.close()
  }

  private func reopen(_ search: Search, _ order: AutoView<Int, String>? = nil) throws -> Database {
    let db = try openSimulated(disk, seed: 2)
    try db.register(order ?? self.order())
    try db.register(search)
    return db
  }

  private func numbers(_ db: Database, _ search: Search) throws -> [Int] {
    try db.read { tx throws in
      try tx.view(search).trees.checkInvariants()
      return try tx.view(search).numbers()
    }
  }

  // MARK: Openings

  @Test(arguments: [true, false]) func aStoredSearchGoesOn(_ isParent: Bool) throws {
    let search = search(isParent)
    try begin(search)
    let db = try reopen(search)
    #expect(try numbers(db, search) == [0, 5, 10])
    #expect(try db.read { tx in try tx.view(search).store.life.isKept })
    try db.write { tx throws in
      #expect(try tx.access(to: search).selection?.name == "multiples of 5")
      try tx[.numbers].set(15, for: "k1")
      try tx[.numbers].set(16, for: "k0")
    }
    #expect(try numbers(db, search) == [5, 10, 15])
    let stored = try db.read { tx in try tx.storedViews().first { $0.status.name == "found" } }
    #expect(stored?.kind == .found(search: "5") && stored?.count == 3)
  }

  @Test(arguments: [true, false]) func rowsThatChangeMeanwhileAreSearched(_ isParent: Bool) throws {
    let search = search(isParent)
    try begin(search)
    let other = try openSimulated(disk, seed: 3)
    try fill(other, [20, 21])
    try other.write { tx throws in try tx[.numbers].remove("k5") }
    try other.close()
    let db = try reopen(search)
    #expect(try numbers(db, search) == [0, 10, 20])
    try fill(db, [25])
    #expect(try numbers(db, search) == [0, 10, 20, 25])
  }

  @Test(arguments: [true, false]) func anotherVersionSearchesAgain(_ isParent: Bool) throws {
    try begin(search(isParent))
    // The other version multiplies by ten.
    let other = search(isParent, version: "2") { text in Int(text).map { Picked.multiples(of: 2 * $0) } }
    let db = try reopen(other)
    #expect(try numbers(db, other) == [0, 10])
  }

  @Test func aParentThatIsBuiltAnewIsSearchedAgain() throws {
    try begin(search(true))
    let order = AutoView<Int, String>(
      "order", over: [.numbers], version: "2", grouping: .all(), sorting: .byObject { Descending($0) })
    let search = search(true, order: order)
    let db = try reopen(search, order)
    #expect(try numbers(db, search) == [10, 5, 0])
  }

  @Test(arguments: [true, false]) func aSearchThatCannotBeMadeAgainIsEmptied(_ hasForm: Bool) throws {
    let without = search(false, restoring: nil)
    try begin(without, hasForm ? .multiples(of: 5) : Picked(isFound: { $0 % 5 == 0 }))
    let search = hasForm ? without : search(false)
    let db = try reopen(search)
    #expect(try numbers(db, search) == [])
    #expect(try db.read { tx in try tx.view(search).shownSearch } == nil)
    try fill(db, [15])
    #expect(try numbers(db, search) == [])
  }

  @Test func aSearchThatFailsAtTheOpeningLeavesTheViewEmpty() throws {
    try begin(search(false))
    let other = search(false, version: "2") { _ in
      Picked { _ in throw Wrong() }
    }
    let db = try reopen(other)
    #expect(try numbers(db, other) == [] && db.read { tx in try tx.view(other).shownSearch } == nil)
    try fill(db, [15])
    try db.write { tx throws in try tx.access(to: other).search(Picked.multiples(of: 3)) }
    #expect(try numbers(db, other) == [0, 3, 6, 9, 15])
  }

  /// Nobody can empty it there.
  @Test func aReadOnlyDatabaseShowsWhatWasFound() throws {
    let search = search(false, restoring: nil)
    try begin(search)
    let db = try disk.openDatabase(seed: 2, .init(isReadOnly: true))
    try db.register(search)
    #expect(try numbers(db, search) == [0, 5, 10])
    #expect(try db.read { tx in try tx.view(search).shownSearch?.storedForm } == "5")
  }

  @Test func inMemoryItBeginsEmpty() throws {
    let search = search(true, isPersistent: false)
    try begin(search)
    let db = try reopen(search)
    #expect(try numbers(db, search) == [])
  }

  @Test func anOldSnapshotShowsItsSearch() throws {
    let search = search(true)
    try begin(search)
    let db = try reopen(search)
    let pin = try db.pin()
    try db.write { tx throws in try tx.access(to: search).search(Picked.multiples(of: 7)) }
    try pin.read { tx throws in
      #expect(try tx.view(search).numbers() == [0, 5, 10])
      #expect(try tx.view(search).shownSearch?.storedForm == "5")
    }
    #expect(try numbers(db, search) == [0, 7])
  }

  // MARK: Undoing

  @Test(arguments: [true, false]) func anUndoneSearchLeavesTheOldOne(_ isParent: Bool) throws {
    let search = search(isParent)
    try begin(search)
    let db = try reopen(search)
    func change(_ tx: WriteTransaction) throws {
      try tx.access(to: search).search(Picked.multiples(of: 4))
      try tx[.numbers].set(40, for: "k1")
      #expect(try tx.view(search).numbers() == [0, 4, 8, 40])
      throw Undo()
    }
    #expect(throws: Undo.self) { try db.write { tx throws in try change(tx) } }
    try db.write { tx throws in
      try tx[.numbers].set(15, for: "k2")
      #expect(throws: Undo.self) { try tx.savepoint { try change(tx) } }
      #expect(try tx.view(search).numbers() == [0, 5, 10, 15])
      try tx[.numbers].set(20, for: "k3")
    }
    #expect(try numbers(db, search) == [0, 5, 10, 15, 20])
    #expect(try db.read { tx in try tx.view(search).shownSearch?.storedForm } == "5")
  }

  /// A look inside of an undone part has asked about rows, which are as they were before afterwards.
  @Test func rowsAreAskedAboutAgainAfterAnUndoneLook() throws {
    let search = search(false, isPersistent: false)
    let db = try openSimulated(disk, seed: 1)
    try db.register(search)
    for selection: any RowSelection in [Picked.multiples(of: 5), Smallest(count: 3)] {
      try db.write { tx throws in
        try tx[.numbers].removeAll()
        try begin(selection, tx)
        try tx[.numbers].set(5, for: "a")
        try? tx.savepoint {
          try tx[.numbers].set(6, for: "a")
          try tx[.numbers].set(10, for: "b")
          _ = try tx.view(search).numbers()
          throw Undo()
        }
      }
      #expect(try numbers(db, search) == [5])
    }
    func begin(_ selection: some RowSelection, _ tx: WriteTransaction) throws {
      try tx.access(to: search).search(selection)
    }
  }

  // MARK: Errors

  @Test(arguments: [true, false]) func aSearchThatFailsChangesNothing(_ isParent: Bool) throws {
    let search = search(isParent)
    try begin(search)
    let db = try reopen(search)
    try db.write { tx throws in
      #expect(throws: Wrong.self) {
        try tx.access(to: search).search(Picked { if $0 == 7 { throw Wrong() } else { true } })
      }
      #expect(try tx.view(search).numbers() == [0, 5, 10])
      try tx[.numbers].set(15, for: "k7")
    }
    #expect(try numbers(db, search) == [0, 5, 10, 15])
  }

  @Test(arguments: [true, false]) func aSelectionThatFailsLaterFailsTheTransaction(_ isRead: Bool) throws {
    let search = search(true)
    try begin(search)
    let db = try reopen(search)
    try db.write { tx throws in
      try tx.access(to: search).search(Picked { if $0 == 99 { throw Wrong() } else { $0 % 2 == 0 } })
    }
    #expect {
      try db.write { tx throws in
        try tx[.numbers].set(98, for: "k2")
        try tx[.numbers].set(99, for: "new")
        if isRead { _ = try tx.view(search) }
      }
    } throws: { error in
      guard let error = error as? DatabaseError else { return error is Wrong }
      return error.cause is Wrong
    }
    #expect(try numbers(db, search) == [0, 2, 4, 6, 8, 10])
    try fill(db, [12])
    #expect(try numbers(db, search) == [0, 2, 4, 6, 8, 10, 12])
  }
}
