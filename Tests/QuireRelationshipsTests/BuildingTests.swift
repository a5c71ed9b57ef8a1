// Relationships over rows that are there already.

import Quire
import QuireTesting
import Testing

@Suite("Building relationships") struct BuildingTests {
  private let folder: TestFolder
  private let own = EdgeRules.deleteDestinationIfSourceDeleted
  private let last = EdgeRules.deleteDestinationIfAllSourcesDeleted

  init() throws { folder = try TestFolder() }

  private func keys(_ db: Database) throws -> [String] { try db.read { tx throws in Array(tx[.nodes].keys) } }

  private func check<Object>(_ db: Database, _ graph: Relationship<Object>, count: Int) throws {
    try db.read { tx throws in
      let graph = try tx.relationship(graph)
      try graph.checkInvariants()
      #expect(graph.count() == count)
    }
    try db.verify()
  }

  @Test("Rows that are there are asked, and edges to missing ones count as edges to deleted ones") func existingRows()
    throws
  {
    let db = try folder.open()
    try db.write { tx throws in
      try tx[.nodes].set(Node(Link("e", "b", own)), for: "a")
      try tx[.nodes].set(Node(), for: "b")
      try tx[.nodes].set(Node(Link("e", "nobody", .deleteSourceIfDestinationDeleted)), for: "c")
    }
    try db.register(nodeGraph())
    #expect(try keys(db) == ["a", "b"])
    try check(db, nodeGraph(), count: 1)
    try db.close()
  }

  @Test("Another version asks anew, without consequences, and keeps edges by hand and pending files")
  func otherVersion() throws {
    var db = try folder.open()
    let graph = nodeGraph()
    try db.register(graph)
    try db.write { tx throws in
      try tx[.nodes].set(Node(Link("old", "b", own), Link("both", "b")), for: "a")
      try tx[.nodes].set(Node(), for: "b")
      try tx.relationship(graph).add(Edge("by hand", from: .nodes, "b", to: .nodes, "a", rules: own))
    }
    try db.close()
    db = try folder.open()
    let second = Relationship<Node>("graph", over: .nodes, version: "2") { node in
      node.links.filter { $0.name != "old" }.map(\.edge) + node.links.map { Edge("new", to: .nodes, key: $0.target) }
    }
    try db.register(second)
    try check(db, second, count: 3)
    #expect(try keys(db) == ["a", "b"])
    let names = try db.read { tx throws in try tx.relationship(second).edges().map(\.name).sorted() }
    #expect(names == ["both", "by hand", "new"])
    try db.close()
    // A version that derives nothing.
    db = try folder.open()
    let third = Relationship("graph")
    try db.register(third)
    try check(db, third, count: 1)
    try db.close()
  }

  @Test("A version without derived edges drops those of before") func nothingDerived() throws {
    var db = try folder.open()
    try db.register(nodeGraph(version: "1"))
    try db.write { tx throws in
      try tx[.nodes].set(Node(links: (0..<3000).map { Link("e\($0)", "b", own) }), for: "a")
      try tx[.nodes].set(Node(), for: "b")
      try tx.relationship(nodeGraph(version: "1")).add(Edge("by hand", from: .nodes, "a", to: .nodes, "b"))
    }
    try db.close()
    db = try folder.open()
    try db.register(Relationship("graph"))
    try check(db, Relationship("graph"), count: 1)
    #expect(try keys(db) == ["a", "b"])
    try db.close()
  }

  @Test("Rows that changed while it was not registered are caught up with, by the rules") func staleness() throws {
    var db = try folder.open()
    let graph = nodeGraph()
    try db.register(graph)
    try db.write { tx throws in
      for key in ["a", "b", "c", "d", "e", "f", "x"] { try tx[.nodes].set(Node(), for: key) }
      try tx[.nodes].set(Node(Link("e", "b", own)), for: "a")
      try tx[.nodes].set(Node(Link("e", "d", own)), for: "c")
      try tx.relationship(graph).add(Edge("by hand", from: .nodes, "e", to: .nodes, "f", rules: own))
      try tx.relationship(graph).add(Edge("by hand", from: .nodes, "x", to: .nodes, "x"))
    }
    try db.close()
    db = try folder.open()
    try db.write { tx throws in
      try tx[.nodes].remove("a")
      try tx[.nodes].set(Node(), for: "c")
      try tx[.nodes].remove("e")
    }
    try db.register(graph)
    #expect(try keys(db) == ["c", "x"])
    try check(db, graph, count: 1)
    try db.close()
  }

  @Test("What rules count is counted when all edges are known, whatever happens while they are collected")
  func changesWhileBuilding() throws {
    let db = try Database.inMemory(options: shortSteps())
    let count = TestSize.trials(10_000, divisor: 8)
    func key(_ index: Int) -> String { "n\(100_000 + index)" }
    try db.write { tx throws in
      try tx[.nodes].set(Node(), for: "hub")
      try tx[.nodes].set(Node(), for: "doomed hub")
      try tx[.nodes].set(Node(), for: "late hub")
      for index in 0..<count {
        let second = index < 10 ? Link("doomed", "doomed hub", last) : Link("pair", key(count - 1 - index), own)
        var links = [Link("e", "hub", last), second]
        // The first ones are removed before the last ones are known.
        if index < 10 || index > count - 10 { links.append(Link("late", "late hub", last)) }
        try tx[.nodes].set(Node(links: links), for: key(index))
      }
    }
    let graph = nodeGraph()
    var steps = 0
    try db.register(graph) { _ in
      steps += 1
      guard steps == 1 else { return }
      try db.write { tx throws in
        // Taken in already: the only sources of one hub, and some of those of the other one.
        try tx[.nodes].remove((0..<20).map(key))
        // Not yet, though edges may lead there.
        try tx[.nodes].remove(key(count - 30))
        try tx[.nodes].set(Node(Link("e", "hub", last), Link("e", "nobody")), for: "late")
        try tx[.nodes].set(Node(Link("e", "hub", last)), for: key(25))
        #expect(try tx[.nodes].contains("doomed hub"))
      }
    }
    #expect(steps > 3)
    try check(db, graph, count: try db.read { tx throws in try expectedCount(tx[.nodes]) })
    let left = try keys(db)
    #expect(left.contains("hub") && left.contains("late hub") && !left.contains("doomed hub"))
    // Ten to twenty took their pairs with them, and so did the one that was removed before it was taken in.
    #expect(!left.contains(key(count - 1 - 15)) && !left.contains(key(29)))
    try db.read { tx throws in
      #expect(try tx.relationship(graph).count(named: "e", to: .nodes, "hub") == left.count - 2)
    }
  }

  /// Steps that are as short as what the short size has to build.
  private func shortSteps(_ options: Database.Options = Database.Options()) -> Database.Options {
    var options = options
    options.buildStepRowCount = TestSize.trials(options.buildStepRowCount, divisor: 8)
    return options
  }

  /// How many edges the nodes that are left derive to nodes that are left.
  private func expectedCount(_ nodes: ReadableRows<Node, NoMetadata>) throws -> Int {
    let keys = Set(nodes.keys)
    return nodes.rows.reduce(0) { $0 + $1.object.links.filter { keys.contains($0.target) }.count }
  }

  @Test("Building that was stopped goes on, and edges of both parts are there") func stoppedBuilding() throws {
    struct Stop: Error {}
    var db = try folder.open(shortSteps(Database.Options(durability: .relaxed)))
    let count = TestSize.trials(6000, divisor: 4)
    try db.write { tx throws in
      for index in 0..<count { try tx[.nodes].set(Node(Link("e", "\((index + 1) % count)", own)), for: "\(index)") }
    }
    var steps = 0
    #expect(throws: Stop.self) {
      try db.register(nodeGraph()) { _ in
        steps += 1
        if steps == 2 { throw Stop() }
      }
    }
    try db.close()
    db = try folder.open()
    #expect(try db.extensions().map(\.state) == [.building])
    try db.register(nodeGraph())
    try check(db, nodeGraph(), count: count)
    _ = try db.write { tx throws in try tx[.nodes].remove("17") }
    #expect(try keys(db).isEmpty)
    try db.close()
  }

  @Test(
    "A crash while it is built, after changes in between, loses no edge", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: TestSize.some(1...3, of: 2))
  func crashWhileBuilding(_ step: Int) throws {
    struct Stop: Error {}
    let disk = SimulatedDisk()
    let options = shortSteps(Database.Options(durability: .full, cacheSize: 4 << 20, maintainsWhenIdle: false))
    let db = try disk.openDatabase(seed: 1, options)
    let count = TestSize.trials(6000, divisor: 4)
    func key(_ index: Int) -> String { "\(index % count)" }
    try db.write { tx throws in
      for index in 0..<count {
        try tx[.nodes].set(Node(Link("e", key(index + 1)), Link("f", key(index * 7))), for: key(index))
      }
    }
    var image: SimulatedDisk?
    var steps = 0
    #expect(throws: Stop.self) {
      try db.register(nodeGraph()) { _ in
        steps += 1
        guard steps == step else { return }
        try db.write { tx throws in
          for index in 0..<TestSize.trials(200, divisor: 4) {
            try tx[.nodes].remove(key(index * 31 + 5))
            try tx[.nodes].replace(Node(Link("g", key(index * 13))), for: key(index * 29 + 3))
          }
        }
        image = disk.crashImage(.random(UInt64(step)))
        throw Stop()
      }
    }
    try db.close()
    let reopened = try #require(image).openDatabase(seed: 2, options)
    #expect(try reopened.extensions().map(\.state) != [.stale])
    try reopened.register(nodeGraph())
    let expected = try reopened.read { tx throws in try expectedCount(tx[.nodes]) }
    #expect(expected > count * 11 / 6)
    try check(reopened, nodeGraph(), count: expected)
    try reopened.close()
  }

  @Test("A snapshot from before the registration has no edges to ask for") func oldSnapshots() throws {
    let db = try Database.inMemory()
    try db.write { tx throws in try tx[.nodes].set(Node(), for: "a") }
    let pin = try db.pin()
    try db.register(nodeGraph())
    #expect(errorCode { try pin.read { tx throws in _ = try tx.relationship(nodeGraph()) } } == .extensionNotReady)
    #expect(
      errorCode { try db.read { tx throws in _ = try tx.relationship(Relationship("none")) } }
        == .extensionNotRegistered)
    #expect(
      errorCode { try db.read { tx throws in _ = try tx.relationship(Relationship("graph")) } } == .extensionMismatch)
  }

  @Test("A database that is only read shows its edges") func readOnly() throws {
    var db = try folder.open()
    try db.register(nodeGraph())
    try db.write { tx throws in try tx[.nodes].set(Node(Link("e", "a")), for: "a") }
    try db.close()
    db = try Database(at: folder.path, options: Database.Options(isReadOnly: true))
    try db.register(nodeGraph())
    #expect(try db.read { tx throws in try tx.relationship(nodeGraph()).count() } == 1)
    try db.close()
  }
}
