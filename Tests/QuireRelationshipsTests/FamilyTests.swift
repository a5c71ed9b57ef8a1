// Relationships over collections that are made at run time.

import Quire
import QuireTesting
import Testing

@Suite("Relationships over families of collections") struct FamilyTests {
  /// A thread of messages in a collection of its own, and people who wrote them.
  private struct Message: Codable, Sendable, Equatable {
    var author: String
    var isOrphan = false
  }

  private static func thread(_ name: String) -> RowCollection<Message, NoMetadata> { .init("thread/\(name)") }
  private static let threads = CollectionFamily<Message, NoMetadata>(.matching { $0.hasPrefix("thread/") })

  private static func written(
    _ rules: EdgeRules, _ family: CollectionFamily<Message, NoMetadata> = threads
  ) -> Relationship<Never> {
    Relationship("written").deriving(over: family) { message, row in
      row.key == "skip" ? [] : [Edge("author", to: .nodes, key: message.author, rules: rules)]
    }.notifying(family) { message, row, edge, _ in
      #expect(edge.source == row)
      var copy = message
      copy.isOrphan = true
      return copy
    }
  }

  private func fill(_ db: Database, _ threads: [String]) throws {
    try db.write { tx throws in
      try tx[.nodes].set(Node(), for: "ann")
      for name in threads {
        try tx[Self.thread(name)].set(Message(author: "ann"), for: "m")
        try tx[Self.thread(name)].set(Message(author: "ann"), for: "skip")
      }
    }
  }

  @Test("Collections that come after the registration are asked, and told") func laterCollections() throws {
    let db = try Database.inMemory()
    let graph = Self.written(.notifyIfDestinationDeleted)
    try fill(db, ["a"])
    try db.register(graph)
    try fill(db, ["b", "ü"])
    try db.read { tx throws in #expect(try tx.relationship(graph).count(to: .nodes, "ann") == 3) }
    _ = try db.write { tx throws in try tx[.nodes].remove("ann") }
    try db.read { tx throws in
      for name in ["a", "b", "ü"] {
        #expect(try tx[Self.thread(name)].get("m")?.isOrphan == true)
        #expect(try tx[Self.thread(name)].get("skip")?.isOrphan == false)
      }
    }
  }

  @Test("Rules reach them, and other collections are left alone") func rules() throws {
    let db = try Database.inMemory()
    let graph = Self.written(.deleteSourceIfDestinationDeleted)
    try db.register(graph)
    try fill(db, ["a", "b"])
    let elsewhere = RowCollection<Message, NoMetadata>("elsewhere")
    try db.write { tx throws in
      try tx[elsewhere].set(Message(author: "ann"), for: "m")
      try tx[.nodes].remove("ann")
    }
    try db.read { tx throws in
      #expect(tx[Self.thread("a")].count == 1 && tx[Self.thread("b")].count == 1 && tx[elsewhere].count == 1)
    }
  }

  @Test("Collections made while the relationship is not registered are asked at the next opening, others are not")
  func opening() throws {
    let folder = try TestFolder()
    var db = try folder.open()
    let graph = Self.written([])
    try db.register(graph)
    try fill(db, ["a"])
    try db.close()
    db = try folder.open()
    try db.register(graph) { _ in Issue.record("nothing has changed, and it is built anew") }
    try db.close()
    db = try folder.open()
    try fill(db, ["b"])
    try db.register(graph)
    try db.read { tx throws in #expect(try tx.relationship(graph).count() == 2) }
    try db.close()
  }

  @Test("A family of given collections is these, the first description of a name counts")
  func namedFamily() throws {
    let family = CollectionFamily([Self.thread("a"), Self.thread("b"), Self.thread("a")])
    #expect(family.named.map(\.name) == ["thread/a", "thread/b", "thread/a"])
    #expect(family.collection(named: "thread/b")?.name == "thread/b" && family.collection(named: "thread/c") == nil)
    #expect(Self.threads.collection(named: "thread/c")?.name == "thread/c")
    #expect(Self.threads.collection(named: "other") == nil && Self.threads.named.isEmpty)
    let none = CollectionFamily<Message, NoMetadata>([])
    #expect(none.collection(named: "") == nil && !none.filter.contains(""))

    let db = try Database.inMemory()
    let graph = Self.written([], family)
    try db.register(graph)
    try fill(db, ["a", "b", "c"])
    try db.read { tx throws in #expect(try tx.relationship(graph).count() == 2) }
  }

  @Test("Several families and collections add their edges up") func several() throws {
    let db = try Database.inMemory()
    let graph = Self.written([]).deriving(over: Self.thread("a")) { [Edge("also", to: .nodes, key: $0.author)] }
      .deriving(over: Self.threads) { message, _ in [Edge("third", to: .nodes, key: message.author)] }
    try db.register(graph)
    try fill(db, ["a", "b"])
    try db.read { tx throws in
      let edges = try tx.relationship(graph)
      #expect(edges.count(from: Self.thread("a"), "m") == 3 && edges.count(from: Self.thread("a"), "skip") == 2)
      #expect(edges.count(from: Self.thread("b"), "m") == 2 && edges.count(from: Self.thread("b"), "skip") == 1)
    }
  }
}
