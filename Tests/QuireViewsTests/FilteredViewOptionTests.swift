// Filtered views of some collections only, and of rows to come.

import QuireDatabase
import QuireTesting
import Testing

@testable import QuireViews

@Suite("Filtered views of some collections, and of rows to come") struct FilteredViewOptionTests {
  private typealias Rows = RowCollection<Item, Int>
  private typealias Order = AutoView<Item, Int>
  private typealias Filter = FilteredView<Order>

  private let folder: TestFolder

  init() throws { folder = try TestFolder() }

  private static func order(version: String = "1", isPersistent: Bool = true, _ names: [String]? = nil) -> Order {
    Order(
      "order", over: (names ?? ["items", "more"]).map { Rows($0) }, version: version, isPersistent: isPersistent,
      grouping: .byObject { $0.group }, sorting: .byObject { $0.rank })
  }

  /// The rows of even rank.
  private static func filter(
    _ collections: CollectionFilter = .all, of order: Order? = nil, isPersistent: Bool = true,
    takesExistingRows: Bool = true, version: String = "1"
  ) -> Filter {
    Filter(
      "filter", of: order ?? Self.order(isPersistent: isPersistent), version: version, isPersistent: isPersistent,
      collections: collections, takesExistingRows: takesExistingRows, filter: .byObject { $0.rank % 2 == 0 })
  }

  private func set(
    _ db: Database, _ ranks: some Sequence<Int>, in collection: String = "items", group: String? = "a"
  ) throws {
    try db.write { tx throws in
      for rank in ranks { try tx[Rows(collection)].set(Item(group: group, rank: rank), for: "\(rank)") }
    }
  }

  /// The keys that a view shows, by group; checks its trees and that it agrees with its closures.
  private func shown(_ db: Database, _ view: Filter) throws -> [String: [String]] {
    try db.verify(view)
    return try db.read { tx throws in
      let reader = try tx.view(view)
      try reader.trees.checkInvariants()
      return try reader.shown().mapValues {
        $0.map { $0.collection == "items" ? $0.key : "\($0.collection) \($0.key)" }
      }
    }
  }

  // MARK: Collections

  @Test("Rows of other collections are not shown, and not asked about", arguments: [true, false])
  func collections(isPersistent: Bool) throws {
    let db = try folder.open()
    let view = Filter(
      "filter", of: Self.order(isPersistent: isPersistent), isPersistent: isPersistent, collections: .except(["more"]),
      filter: .byRow { _, row in
        #expect(row.collection == "items")
        return try row.object.rank % 2 == 0
      })
    try set(db, 0..<4)
    try set(db, 10..<14, in: "more")
    try db.register(Self.order(isPersistent: isPersistent))
    try db.register(view)
    #expect(try shown(db, view) == ["a": ["0", "2"]])
    try set(db, 4..<6)
    try set(db, 14..<16, in: "more")
    let pin = try db.pin()
    try db.write { tx throws in
      let order = try tx.access(to: Self.order(isPersistent: isPersistent))
      // Others among them, in other groups, under another filter; one that becomes another's neighbour.
      try order.setGrouping(.byObject { "\($0.rank % 3)" }, sorting: .byObject { Descending($0.rank) }, version: "2")
      try tx[Rows("more")].removeAll()
      try tx.access(to: view).setFilter(
        .byRow { _, row in
          #expect(row.collection == "items")
          return try row.object.rank > 2
        }, version: "2")
      try tx[Rows("more")].set(Item(group: "b", rank: 16), for: "16")
    }
    #expect(
      try db.read { tx in try tx.view(view).shown().mapValues { $0.map(\.key) } } == [
        "0": ["3"], "1": ["4"], "2": ["5"],
      ])
    let told = try pin.advance().flatMap { $0.changes(of: view)?.operations ?? [] }
    #expect(!told.isEmpty && told.allSatisfy { $0.key.map { $0.collection == "items" } ?? true })
  }

  @Test("Other collections than it is stored for have it built anew; the same ones do not") func otherCollections()
    throws
  {
    func opened(_ view: Filter) throws -> (shown: [String: [String]], builds: Int) {
      let db = try folder.open()
      defer { try? db.close() }
      var builds = 0
      try db.register(Self.order())
      try db.register(view) { _ in builds += 1 }
      return (try shown(db, view), builds)
    }
    let db = try folder.open()
    try set(db, 0..<3)
    try set(db, 10..<13, in: "more")
    try db.close()
    let (all, one) = (["a": ["0", "2", "more 10", "more 12"]], ["a": ["0", "2"]])
    #expect(try opened(Self.filter()) == (all, 1))
    #expect(try opened(Self.filter()) == (all, 0))
    #expect(try opened(Self.filter(.only(["items"]))) == (one, 1))
    // By a closure as well: what counts are the collections.
    #expect(try opened(Self.filter(.matching { $0 == "items" })) == (one, 0))
    #expect(try opened(Self.filter(.except(["items"]))).shown == ["a": ["more 10", "more 12"]])
    #expect(try opened(Self.filter(.only(["nobody"]))).shown == [:])
  }

  // MARK: Rows to come

  @Test(
    "It begins empty, and takes in what is stored, touched, or comes into a group of the parent",
    arguments: [true, false])
  func rowsToCome(isPersistent: Bool) throws {
    let db = try folder.open()
    let view = Self.filter(isPersistent: isPersistent, takesExistingRows: false)
    try set(db, 0..<10)
    try set(db, 20..<22, group: nil)
    try db.register(Self.order(isPersistent: isPersistent))
    var builds = 0
    try db.register(view) { progress in builds += progress.done }
    #expect(try shown(db, view) == [:])
    try set(db, 10..<13)
    try db.write { tx throws in
      // Metadata are none of the filter's matters.
      try tx[Rows("items")].replaceMetadata(1, for: "0")
      try tx[Rows("items")].touch("2")
      try tx[Rows("items")].set(Item(group: "a", rank: 4), for: "4")
    }
    #expect(try shown(db, view) == ["a": ["2", "4", "10", "12"]])
    try db.write { tx throws in
      let order = try tx.access(to: Self.order(isPersistent: isPersistent))
      // A row that stays in its group stays out: 6, 8. The others come into groups: 0, 20.
      try order.setGrouping(.byObject { [0, 20].contains($0.rank) ? "b" : "a" }, version: "2")
      try tx[Rows("items")].remove("10")
      try tx[Rows("items")].set(Item(group: "a", rank: 3), for: "12")
    }
    #expect(
      try db.read { tx in try tx.view(view).shown().mapValues { $0.map(\.key) } } == [
        "a": ["2", "4"], "b": ["0", "20"],
      ])
    // What comes again is taken in; another filter looks at all.
    try set(db, [10, 12])
    try db.write { tx throws in
      #expect(try tx.view(view).count(in: "a") == 4)
      try tx.access(to: view).setFilter(.byObject { $0.rank > 5 }, version: "2")
      #expect(try tx.view(view).count(in: "a") == 8)
    }
  }

  @Test("Registered anew it keeps its rows as the parent has them now") func registeredAnew() throws {
    let view = Self.filter(takesExistingRows: false)
    var db = try folder.open()
    try set(db, 0..<4)
    try db.register(Self.order())
    try db.register(view)
    try set(db, 4..<12)
    #expect(try shown(db, view) == ["a": ["4", "6", "8", "10"]])
    try db.close()
    // As it was.
    db = try folder.open()
    try db.register(Self.order())
    try db.register(view)
    #expect(try shown(db, view) == ["a": ["4", "6", "8", "10"]])
    try db.close()
    // After changes that it has not seen.
    db = try folder.open()
    try set(db, [2, 12])
    try db.write { tx throws in
      try tx[Rows("items")].remove("4")
      try tx[Rows("items")].set(Item(group: "b", rank: 6), for: "6")
      try tx[Rows("items")].set(Item(group: "a", rank: 1), for: "8")
    }
    try db.register(Self.order())
    try db.register(view)
    #expect(try shown(db, view) == ["a": ["10"], "b": ["6"]])
    try db.close()
    // After the parent was built anew, by another version and over fewer collections.
    db = try folder.open()
    try set(db, [30], in: "more")
    try db.register(Self.order())
    try db.register(view)
    try set(db, [32], in: "more")
    try db.close()
    db = try folder.open()
    let other = Order(
      "order", over: [Rows("items"), Rows("more")], version: "2", grouping: .byObject { _ in "all" },
      sorting: .byObject { Descending($0.rank) })
    let otherView = Self.filter(of: other, takesExistingRows: false)
    try db.register(other)
    try db.register(otherView)
    #expect(try shown(db, otherView) == ["all": ["more 32", "10", "6"]])
    try db.close()
    db = try folder.open()
    let narrow = Self.order(["items"])
    let narrowView = Self.filter(of: narrow, takesExistingRows: false)
    try db.register(narrow)
    try db.register(narrowView)
    #expect(try shown(db, narrowView) == ["a": ["10"], "b": ["6"]])
    try db.close()
  }

  @Test("Other collections leave it its rows of those that are left; it is stored, so it takes none of before")
  func rowsToComeOfOtherCollections() throws {
    func open(_ view: Filter) throws -> Database {
      let db = try folder.open()
      try db.register(Self.order())
      try db.register(view)
      return db
    }
    let all = Self.filter(takesExistingRows: false)
    let one = Self.filter(.only(["items"]), takesExistingRows: false)
    var db = try open(all)
    try set(db, 0..<3)
    try set(db, 10..<13, in: "more")
    #expect(try shown(db, all) == ["a": ["0", "2", "more 10", "more 12"]])
    try db.close()
    db = try open(one)
    #expect(try shown(db, one) == ["a": ["0", "2"]])
    try db.close()
    db = try open(all)
    #expect(try shown(db, all) == ["a": ["0", "2"]])
    try set(db, [12], in: "more")
    #expect(try shown(db, all) == ["a": ["0", "2", "more 12"]])
    try db.close()
    // Another version keeps them as well, as far as they pass; one that takes all is built of all.
    let other = Self.filter(takesExistingRows: false, version: "2")
    db = try open(other)
    #expect(try shown(db, other) == ["a": ["0", "2", "more 12"]])
    try db.close()
    let full = Self.filter(version: "2")
    db = try open(full)
    #expect(try shown(db, full) == ["a": ["0", "2", "more 10", "more 12"]])
    try db.close()
  }
}
