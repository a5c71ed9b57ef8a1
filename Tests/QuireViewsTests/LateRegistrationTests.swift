// What a view that is not made of rows keeps when it is registered after commits that it has not seen.

import Foundation
import QuireDatabase
import QuireTesting
import Testing

@testable import QuireViews

@Suite("Views that are registered late") struct LateRegistrationTests {
  private let folder: TestFolder
  private let list = ManualView("list", over: [RowCollection<Item, Int>.items(), .items("more")])

  init() throws { folder = try TestFolder() }

  /// Reopens the database and lets `body` change it before anything is registered.
  private func reopen(_ body: (WriteTransaction) throws -> Void) throws -> Database {
    let db = try folder.open()
    try db.write { tx throws in try body(tx) }
    return db
  }

  private func makeList() throws {
    let db = try folder.open()
    try db.register(list)
    try db.write { tx throws in
      for number in 0..<5 { try tx[.items()].set(Item(group: nil, rank: number), for: "k\(number)") }
      let view = try tx.access(to: list)
      for number in [3, 1, 4, 0, 2] { try view.append("k\(number)", to: "a") }
      try tx[.items("more")].set(Item(group: nil, rank: 9), for: "m")
      try view.insert(RowKey("more", "m"), at: 2, in: "a")
    }
    try db.close()
  }

  private func keys(_ db: Database) throws -> [String] {
    try db.read { tx throws in
      let view = try tx.view(list)
      try view.trees.checkInvariants()
      return view.rows(in: "a").map(\.row.key)
    }
  }

  @Test("A commit to another collection leaves the order that a user has made, and nothing is stale")
  func otherCollection() throws {
    try makeList()
    let db = try reopen { tx in try tx[.items("elsewhere")].set(Item(group: nil, rank: 1), for: "x") }
    #expect(try db.extensions().map(\.state) == [.ready])
    try db.register(list)
    #expect(try keys(db) == ["k3", "k1", "m", "k4", "k0", "k2"])
    try db.close()
  }

  @Test("Rows that were changed stay where they are, and rows that have gone leave") func ownCollections() throws {
    try makeList()
    let db = try reopen { tx in
      try tx[.items()].set(Item(group: nil, rank: 100), for: "k4")
      try tx[.items()].remove("k1")
      try tx[.items("more")].remove("m")
      try tx[.items()].remove("k0")
      // Another row, under the key of one that has gone.
      try tx[.items()].set(Item(group: nil, rank: 0), for: "k0")
    }
    #expect(try db.extensions().map(\.state) == [.stale])
    try db.register(list)
    #expect(try keys(db) == ["k3", "k4", "k2"])
    #expect(try db.extensions().map(\.state) == [.ready])
    try db.write { tx throws in try tx.access(to: list).insert("k0", at: 1, in: "a") }
    #expect(try keys(db) == ["k3", "k0", "k4", "k2"])
    try db.close()
  }

  @Test("Training a dictionary changes no row, and makes nothing stale") func training() throws {
    try makeList()
    let db = try folder.open()
    try db.write { tx throws in
      let rows = tx[.items("elsewhere")]
      for number in 0..<3000 { try rows.set(Item(group: "group \(number)", rank: number), for: "\(number)") }
    }
    _ = try db.trainDictionary(for: RowCollection<Item, Int>("elsewhere", compression: .dictionary(above: 16)))
    #expect(try db.extensions().map(\.state) == [.ready])
    try db.register(list)
    #expect(try keys(db).count == 6)
    try db.close()
  }

  @Test("A savepoint that was rolled back makes nothing stale") func savepoint() throws {
    try makeList()
    struct Undone: Error {}
    let db = try reopen { tx in
      try? tx.savepoint {
        try tx[.items()].remove("k1")
        throw Undone()
      }
      try tx[.items("elsewhere")].set(Item(group: nil, rank: 1), for: "x")
    }
    #expect(try db.extensions().map(\.state) == [.ready])
    try db.close()
  }

  @Test("A filter of a list that changes is stale, also if the list has changed first in a savepoint that was undone")
  func filterOfChangedList() throws {
    struct Undone: Error {}
    let filter = FilteredView("filter", of: list, filter: .byKey { $0 != "k4" })
    try makeList()
    var db = try folder.open()
    try db.register(list)
    try db.register(filter)
    try db.close()
    db = try folder.open()
    try db.register(list)
    // No row changes, and the filter is not there to follow.
    try db.write { tx throws in
      let view = try tx.access(to: list)
      #expect(throws: Undone.self) {
        try tx.savepoint {
          try view.remove("k0")
          throw Undone()
        }
      }
      try view.remove("k3")
    }
    #expect(try db.extensions().map(\.state) == [.ready, .stale])
    try db.register(filter)
    let shown = try db.read { tx throws in try tx.view(filter).rows(in: "a").map(\.row.key) }
    #expect(shown == ["k1", "m", "k0", "k2"])
    try db.close()
  }

  @Test("All rows removed: the list is empty") func allRemoved() throws {
    try makeList()
    let db = try reopen { tx in try tx.removeAll() }
    #expect(try db.extensions().map(\.state) == [.stale])
    try db.register(list)
    #expect(try keys(db) == [])
    try db.close()
  }

  @Test("A list is not registered over fewer collections than it has rows of, and is as it was after that")
  func fewerCollections() throws {
    try makeList()
    let db = try folder.open()
    let narrow = ManualView("list", over: [RowCollection<Item, Int>.items()])
    let error = #expect(throws: DatabaseError.self) { try db.register(narrow) }
    #expect((error?.cause as? DatabaseError)?.code == .viewRefused)
    #expect(try db.extensions().map(\.state) == [.ready])
    try db.register(list)
    #expect(try keys(db) == ["k3", "k1", "m", "k4", "k0", "k2"])
    try db.unregister(extensionNamed: "list")
    try db.register(narrow)
    #expect(try keys(db) == [])
    try db.close()
  }

  @Test("What is committed between the steps of a registration is followed") func betweenSteps() throws {
    try makeList()
    let db = try reopen { tx in try tx[.items()].set(Item(group: nil, rank: 100), for: "k4") }
    #expect(try db.extensions().map(\.state) == [.stale])
    let end = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      for number in 0..<5 { try? db.write { tx throws in _ = try tx[.items()].remove("k\(number)") } }
      end.signal()
    }
    try db.register(list)
    end.wait()
    let left = try db.read { tx throws in Set(tx[.items()].keys) }
    #expect(try Set(keys(db)) == left.union(["m"]))
    try db.close()
  }

  @Test("A view of rows to come that is to show all is built anew") func allRowsAfterAll() throws {
    func view(_ takesExistingRows: Bool) -> AutoView<Item, Int> {
      AutoView(
        "new", over: [RowCollection<Item, Int>.items()], takesExistingRows: takesExistingRows,
        grouping: .byObject(\.group), sorting: .byObject { $0.rank < $1.rank })
    }
    var db = try folder.open()
    try db.write { tx throws in try tx[.items()].set(Item(group: "a", rank: 0), for: "before") }
    try db.register(view(false))
    #expect(try db.read { tx throws in try tx.view(view(false)).count } == 0)
    try db.close()
    db = try folder.open()
    try db.register(view(true))
    #expect(try db.read { tx throws in try tx.view(view(true)).count } == 1)
    try db.close()
  }

  @Test("A view of rows to come keeps the rows that it has, each where it belongs now") func rowsToCome() throws {
    let view = AutoView(
      "new", over: [RowCollection<Item, Int>.items()], takesExistingRows: false, grouping: .byObject(\.group),
      sorting: .byObject { $0.rank < $1.rank })
    var db = try folder.open()
    try db.write { tx throws in try tx[.items()].set(Item(group: "a", rank: 0), for: "before") }
    try db.register(view)
    try db.write { tx throws in
      for number in 0..<6 { try tx[.items()].set(Item(group: "a", rank: number), for: "k\(number)") }
    }
    try db.close()
    db = try reopen { tx in
      try tx[.items()].set(Item(group: "a", rank: 9), for: "k0")
      try tx[.items()].set(Item(group: "b", rank: 1), for: "k1")
      try tx[.items()].set(Item(group: nil, rank: 1), for: "k2")
      try tx[.items()].remove("k3")
      try tx[.items()].set(Item(group: "a", rank: 1), for: "unseen")
    }
    try db.register(view)
    try db.read { tx throws in
      let shown = try tx.view(view)
      try shown.trees.checkInvariants()
      #expect(try shown.shown().mapValues { $0.map(\.key) } == ["a": ["k4", "k5", "k0"], "b": ["k1"]])
    }
    try db.close()
    // Another version asks them anew, and takes in no others.
    let other = AutoView(
      "new", over: [RowCollection<Item, Int>.items()], version: "2", takesExistingRows: false,
      grouping: .byObject { $0.rank == 1 ? nil : "all" }, sorting: .byObject { $0.rank > $1.rank })
    db = try folder.open()
    try db.register(other)
    let shown = try db.read { tx in try tx.view(other).shown().mapValues { $0.map(\.key) } }
    #expect(shown == ["all": ["k0", "k5", "k4"]])
    try db.close()
  }

  @Test("An extension of another kind does not drop a list that a user has made") func otherKind() throws {
    try makeList()
    var db = try folder.open()
    let sorted = AutoView(
      "list", over: RowCollection<Item, Int>.items(), group: { _ in "a" }, sortKey: { $0.rank })
    let error = #expect(throws: DatabaseError.self) { try db.register(sorted) }
    #expect(error?.code == .extensionMismatch)
    try db.close()
    db = try folder.open()
    try db.register(list)
    #expect(try keys(db).count == 6)
    // Asked for, it goes.
    try db.unregister(extensionNamed: "list")
    try db.register(sorted)
    #expect(try db.read { tx throws in try tx.view(sorted).count } == 5)
    try db.close()
  }
}
