// Views of one collection, described without a list of it.

import QuireDatabase
import QuireViews
import Testing

@Suite struct ViewFormTests {
  private static let words = RowCollection<String, NoMetadata>("words")

  /// What two views have in their one group, in their order.
  private static func shown<First: ViewExtension<String, NoMetadata>, Second: ViewExtension<String, NoMetadata>>(
    _ first: First, _ second: Second, _ change: (WriteTransaction) throws -> Void = { _ in }
  ) throws -> ([String], [String]) {
    let db = try Database.inMemory(extensions: [first, second])
    try db.write { tx throws in for word in ["c", "a", "b"] { try tx[words].set(word, for: word) } }
    try db.write(change)
    return try db.read { tx throws in
      (
        try tx.view(first).rows(in: "").map { try $0.row.object },
        try tx.view(second).rows(in: "").map { try $0.row.object }
      )
    }
  }

  @Test("An automatic view of one collection is that of a list with it")
  func automatic() throws {
    let one = AutoView(
      "one", over: Self.words, isPersistent: false, grouping: .all(), sorting: .byObject { left, right in left > right }
    )
    let list = AutoView(
      "list", over: [Self.words], isPersistent: false, grouping: .all(),
      sorting: .byObject { left, right in left > right })
    #expect(!one.isPersistent)
    #expect(try Self.shown(one, list) == (["c", "b", "a"], ["c", "b", "a"]))
  }

  @Test("A list of one collection may be in memory alone")
  func manual() throws {
    let one = ManualView("one", over: Self.words, isPersistent: false)
    let list = ManualView("list", over: [Self.words], isPersistent: false)
    #expect(!one.isPersistent)
    let found = try Self.shown(one, list) { tx in
      for key in ["b", "a"] {
        try tx.access(to: one).append(key, to: "")
        try tx.access(to: list).append(key, to: "")
      }
    }
    #expect(found == (["b", "a"], ["b", "a"]))
  }

  @Test("So are views of what a search finds, grouped or by score")
  func search() throws {
    let grouped = SearchView("one", over: Self.words, grouping: .all(), sorting: .byKey())
    let best = SearchView("best", over: Self.words, bestRows: 2)
    let lists = (
      SearchView("one", over: [Self.words], grouping: .all(), sorting: .byKey()),
      SearchView("best", over: [Self.words], bestRows: 2)
    )
    #expect(grouped.collections.contains("words") && !grouped.collections.contains("others"))
    #expect(best.collections.contains("words") && !best.collections.contains("others"))
    #expect(grouped.version == lists.0.version && best.isPersistent == lists.1.isPersistent)
    _ = try Database.inMemory(extensions: [grouped, best])
  }

  @Test("The object of a row under another description of its collection is there, as the row is")
  func otherDescription() throws {
    let view = AutoView(
      "lengths", over: Self.words,
      grouping: .byRow { row in try row.object(in: Self.words).count == 1 ? "" : nil }, sorting: .byKey())
    let other = AutoView("all", over: Self.words, grouping: .all(), sorting: .byKey())
    #expect(try Self.shown(view, other) == (["a", "b", "c"], ["a", "b", "c"]))
  }

  @Test("A pinned snapshot brings mappings to what it shows") func mappings() throws {
    let view = AutoView("all", over: Self.words, grouping: .all(), sorting: .byKey())
    let db = try Database.inMemory(extensions: [view])
    try db.write { tx in try tx[Self.words].set("a", for: "a") }
    let screen = try db.pin()
    try db.write { tx in try tx[Self.words].set("b", for: "b") }
    var mappings = ViewMappings(view, groups: [""])
    try screen.update(&mappings)
    #expect(mappings.count == 1)
    #expect(try screen.advance(&mappings).rows.map(\.kind) == [.insert])
  }
}
