// Views over collections that are made at run time.

import QuireDatabase
import QuireTesting
@testable import QuireViews
import Testing

@Suite("Views over families of collections") struct ViewFamilyTests {
  private static func thread(_ name: String) -> RowCollection<Item, Int> { .items("thread/\(name)") }
  private static let threads = CollectionFamily<Item, Int>(.matching { $0.hasPrefix("thread/") })
  private static let view = AutoView(
    "all", over: threads, grouping: .byRow { $0.collection }, sorting: .byObject { $0.rank })
  private static let even = FilteredView("even", of: view, filter: .byObject { $0.rank % 2 == 0 })
  private static let list = ManualView("list", over: threads)

  private let folder: TestFolder

  init() throws { folder = try TestFolder() }

  private func fill(_ db: Database, _ names: [String], _ ranks: Range<Int> = 0..<3) throws {
    try db.write { tx throws in
      for name in names {
        for rank in ranks { try tx[Self.thread(name)].set(Item(group: name, rank: rank), for: "k\(rank)") }
      }
      try tx[.items("elsewhere")].set(Item(group: "x", rank: 0), for: "k0")
    }
  }

  private func shown(_ db: Database, _ view: some ViewExtension<Item, Int>) throws -> [String: [String]] {
    try db.read { tx throws in
      let reader = try tx.view(view)
      try reader.trees.checkInvariants()
      return try reader.shown().mapValues { $0.map(\.key) }
    }
  }

  @Test("Rows of collections that come after the registration are shown, and filtered") func laterCollections() throws {
    let db = try Database.inMemory()
    try fill(db, ["a"])
    try db.register(Self.view)
    try db.register(Self.even)
    try fill(db, ["b", "ü"])
    let all = ["k0", "k1", "k2"]
    #expect(try shown(db, Self.view) == ["thread/a": all, "thread/b": all, "thread/ü": all])
    #expect(
      try shown(db, Self.even) == ["thread/a": ["k0", "k2"], "thread/b": ["k0", "k2"], "thread/ü": ["k0", "k2"]])
    try db.write { tx throws in
      try tx[Self.thread("b")].removeAll()
      try tx[Self.thread("c")].set(Item(group: nil, rank: 4), metadata: 1, for: "x")
    }
    #expect(try shown(db, Self.even)["thread/c"] == ["x"] && shown(db, Self.view)["thread/b"] == nil)
    try db.read { tx throws in
      let reader = try tx.view(Self.view)
      #expect(try reader.object(at: 0, in: "thread/c") == Item(group: nil, rank: 4))
      #expect(try reader.metadata(at: 0, in: "thread/c") == 1)
      #expect(try reader.position(of: RowKey("thread/c", "x"))?.index == 0)
      // There is no first collection to look for a bare key in.
      #expect(try reader.position(of: "x") == nil)
    }
    #expect(try db.differences(of: Self.view).isEmpty && db.differences(of: Self.even).isEmpty)
  }

  @Test("A list takes rows of collections that come later, by their whole keys") func lists() throws {
    let db = try Database.inMemory()
    try db.register(Self.list)
    try fill(db, ["a", "b"])
    try db.write { tx throws in
      let writer = try tx.access(to: Self.list)
      try writer.insert(RowKey("thread/b", "k1"), at: 0, in: "top")
      try writer.insert(RowKey("thread/a", "k1"), at: 0, in: "top")
      for wrong in [
        { try writer.append("k1", to: "top") }, { try writer.insert(RowKey("elsewhere", "k0"), at: 0, in: "top") },
      ] {
        let error = #expect(throws: DatabaseError.self) { try wrong() }
        #expect(error?.code == .viewRefused)
      }
    }
    #expect(
      try db.read { tx in try tx.view(Self.list).shown() } == [
        "top": [RowKey("thread/a", "k1"), RowKey("thread/b", "k1")]
      ])
  }

  @Test("Stored views go on where they were, and take in what came without them") func reopening() throws {
    var db = try folder.open()
    try db.register(Self.view)
    try fill(db, ["a"])
    try db.close()
    db = try folder.open()
    try db.register(Self.view) { _ in Issue.record("nothing has changed, and it is built anew") }
    try db.close()
    db = try folder.open()
    try fill(db, ["b"])
    try db.register(Self.view)
    #expect(try shown(db, Self.view).keys.sorted() == ["thread/a", "thread/b"])
    // Live changes look at all of them.
    try db.write { tx throws in
      _ = try tx.access(to: Self.view).setGrouping(.byObject { $0.rank == 0 ? "zero" : nil }, version: "2")
    }
    try db.close()
  }

  @Test("A filtered view may show some of the family") func someOfThem() throws {
    let db = try Database.inMemory()
    try db.register(Self.view)
    let some = FilteredView(
      "some", of: Self.view, collections: .except(["thread/a"]), filter: .byObject { $0.rank > 0 })
    try db.register(some)
    try fill(db, ["a", "b"])
    #expect(try shown(db, some) == ["thread/b": ["k1", "k2"]])
    let one = FilteredView("one", of: some, collections: .only(["thread/a", "thread/c"]), filter: .byKey { _ in true })
    try db.register(one)
    try fill(db, ["c"])
    #expect(try shown(db, one) == ["thread/c": ["k1", "k2"]])
  }

  @Test("Filters are narrowed without forgetting what is known by name") func intersections() {
    let (all, some) = (CollectionFilter.all, CollectionFilter.matching { $0.count == 1 })
    for (filter, expected) in [
      (all.intersection(some), "abc"), (some.intersection(all), "abc"),
      (CollectionFilter.only(["a", "long"]).intersection(some), "a"), (some.intersection(.only(["b", "long"])), "b"),
      (CollectionFilter.except(["a"]).intersection(.except(["b"])), "c+"),
      (CollectionFilter.except(["a"]).intersection(some), "bc"),
      (CollectionFilter.only(["a"]).intersection(.only(["b"])), ""),
    ] {
      let found = ["a", "b", "c"].filter(filter.contains).joined() + (filter.contains("long") ? "+" : "")
      #expect(found == expected || expected == "abc" && found == "abc")
    }
  }
}
