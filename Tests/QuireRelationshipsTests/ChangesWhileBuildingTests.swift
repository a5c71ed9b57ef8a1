// What becomes of rows and edges that change between the steps in which a relationship is built.

import Quire
import QuireDatabase
import QuireTesting
import Testing

@Suite("Changes while relationships are built") struct ChangesWhileBuildingTests {
  private let withParent = EdgeRules.deleteSourceIfDestinationDeleted
  private let own = EdgeRules.deleteDestinationIfSourceDeleted
  private let last = EdgeRules.deleteDestinationIfAllSourcesDeleted

  private static let kids = (10..<40).map { "kid\($0)" }

  private func open() throws -> Database {
    var options = Database.Options()
    options.buildStepRowCount = 5
    return try Database.inMemory(options: options)
  }

  /// Thirty kids that name a parent, which is stored before them or after them.
  private func openFamily(_ rules: EdgeRules, parentFirst: Bool) throws -> Database {
    let db = try open()
    if parentFirst { try db.write { tx throws in try tx[.nodes].set(Node(), for: "parent") } }
    try db.write { tx throws in
      for kid in Self.kids { try tx[.nodes].set(Node(Link("e", "parent", rules)), for: kid) }
    }
    if !parentFirst { try db.write { tx throws in try tx[.nodes].set(Node(), for: "parent") } }
    return db
  }

  /// Registers, and runs `change` after some step.
  private func register<Object>(
    _ graph: Relationship<Object>, _ db: Database, after step: Int, _ change: () throws -> Void
  ) throws {
    var steps = 0
    try db.register(graph) { _ in
      steps += 1
      if steps == step { try change() }
    }
    #expect(steps > step)
  }

  private func keys(_ db: Database) throws -> [String] { try db.read { tx throws in Array(tx[.nodes].keys) } }

  private func expectFamily(_ db: Database, _ count: Int = 30) throws {
    #expect(try keys(db) == Self.kids + ["parent"])
    try db.read { tx throws in
      let graph = try tx.relationship(nodeGraph())
      try graph.checkInvariants()
      #expect(graph.count(to: .nodes, "parent") == count)
    }
  }

  @Test("A parent that is stored anew keeps its kids and their edges", arguments: [true, false], [1, 3, 6])
  func renewedParent(parentFirst: Bool, step: Int) throws {
    for rules in [withParent, .deleteSourceIfAllDestinationsDeleted, []] {
      let db = try openFamily(rules, parentFirst: parentFirst)
      try register(nodeGraph(), db, after: step) {
        try db.write { tx throws in
          try tx[.nodes].remove("parent")
          try tx[.nodes].set(Node(), for: "parent")
        }
      }
      try expectFamily(db)
    }
  }

  @Test("So does one that is stored again in another transaction", arguments: [true, false], [1, 3])
  func renewedParentLater(parentFirst: Bool, step: Int) throws {
    let db = try openFamily(withParent, parentFirst: parentFirst)
    try register(nodeGraph(), db, after: step) {
      _ = try db.write { tx throws in try tx[.nodes].remove("parent") }
      try db.write { tx throws in try tx[.nodes].set(Node(), for: "parent") }
    }
    try expectFamily(db)
  }

  @Test("A parent that is stored for the first time gets the edges of all kids", arguments: [1, 3, 5])
  func newParent(step: Int) throws {
    for rules in [withParent, []] {
      let db = try open()
      try db.write { tx throws in
        for kid in Self.kids { try tx[.nodes].set(Node(Link("e", "parent", rules)), for: kid) }
      }
      try register(nodeGraph(), db, after: step) {
        try db.write { tx throws in try tx[.nodes].set(Node(), for: "parent") }
      }
      try expectFamily(db)
    }
  }

  @Test("A kid that is stored anew keeps its parent", arguments: [true, false], [true, false])
  func renewedKid(parentFirst: Bool, inOneTransaction: Bool) throws {
    for rules in [own, last] {
      let db = try openFamily(rules, parentFirst: parentFirst)
      try register(nodeGraph(), db, after: 2) {
        for kid in [Self.kids[0], Self.kids[29]] {
          if inOneTransaction {
            try db.write { tx throws in
              try tx[.nodes].remove(kid)
              try tx[.nodes].set(Node(Link("e", "parent", rules)), for: kid)
            }
          } else {
            _ = try db.write { tx throws in try tx[.nodes].remove(kid) }
            try db.write { tx throws in try tx[.nodes].set(Node(Link("e", "parent", rules)), for: kid) }
          }
        }
      }
      try expectFamily(db)
    }
  }

  @Test("Kids that name another parent in time stay when theirs is removed") func otherParent() throws {
    let db = try openFamily(withParent, parentFirst: true)
    try register(nodeGraph(), db, after: 3) {
      _ = try db.write { tx throws in try tx[.nodes].remove("parent") }
      try db.write { tx throws in
        try tx[.nodes].set(Node(), for: "stepparent")
        for kid in Self.kids { try tx[.nodes].set(Node(Link("e", "stepparent", withParent)), for: kid) }
      }
    }
    #expect(try keys(db) == Self.kids + ["stepparent"])
    #expect(try db.read { tx throws in try tx.relationship(nodeGraph()).count() } == 30)
  }

  @Test("A parent that is really removed takes its kids along at the end", arguments: [true, false], [1, 4])
  func removedParent(parentFirst: Bool, step: Int) throws {
    let db = try openFamily(withParent, parentFirst: parentFirst)
    try register(nodeGraph(), db, after: step) {
      _ = try db.write { tx throws in try tx[.nodes].remove("parent") }
    }
    let left = try keys(db)
    #expect(left.isEmpty)
  }

  @Test("Edges by hand survive another version while their rows are stored anew", arguments: [1, 3])
  func edgesByHand(step: Int) throws {
    let disk = SimulatedDisk()
    var options = Database.Options(maintainsWhenIdle: false)
    options.buildStepRowCount = 5
    let old = try disk.openDatabase(seed: 1, options)
    try old.write { tx throws in
      for kid in Self.kids { try tx[.nodes].set(Node(Link("e", "parent")), for: kid) }
      try tx[.nodes].set(Node(), for: "parent")
    }
    try old.register(nodeGraph(version: "1"))
    try old.write { tx throws in
      try tx.relationship(nodeGraph(version: "1")).add(
        Edge("by hand", from: .nodes, Self.kids[0], to: .nodes, "parent", rules: withParent))
    }
    try old.close()
    let db = try disk.openDatabase(seed: 2, options)
    try register(nodeGraph(version: "2"), db, after: step) {
      try db.write { tx throws in
        try tx[.nodes].remove("parent")
        try tx[.nodes].set(Node(), for: "parent")
      }
    }
    #expect(try keys(db) == Self.kids + ["parent"])
    try db.read { tx throws in
      let graph = try tx.relationship(nodeGraph(version: "2"))
      #expect(graph.count() == 31 && graph.count(named: "by hand") == 1)
    }
  }

  @Test("A removed row that is back when a stopped registration is begun anew was never missing", arguments: [1, 3])
  func stopped(step: Int) throws {
    struct Stop: Error {}
    let db = try openFamily(withParent, parentFirst: true)
    #expect(throws: Stop.self) {
      try register(nodeGraph(), db, after: step) {
        _ = try db.write { tx throws in try tx[.nodes].remove("parent") }
        throw Stop()
      }
    }
    try db.write { tx throws in try tx[.nodes].set(Node(), for: "parent") }
    try db.register(nodeGraph())
    try expectFamily(db)
  }

  @Test("Who is to be told of a removal while the relationship is built is told at its end")
  func notices() throws {
    let db = try openFamily(.notifyIfSourceDeleted, parentFirst: true)
    try register(nodeGraph(), db, after: 3) {
      _ = try db.write { tx throws in try tx[.nodes].remove(Self.kids[0]) }
    }
    #expect(try db.read { tx throws in try tx[.nodes].get("parent")?.told.count } == 1)
  }

  @Test("Who is built after the removal is told once") func noticesOfOtherVersion() throws {
    let folder = try TestFolder()
    var options = Database.Options()
    options.buildStepRowCount = 5
    var db = try folder.open(options)
    try db.register(nodeGraph())
    try db.write { tx throws in
      try tx[.nodes].set(Node(), for: "parent")
      for kid in Self.kids { try tx[.nodes].set(Node(Link("e", "parent", .notifyIfDestinationDeleted)), for: kid) }
    }
    try db.close()
    db = try folder.open(options)
    try register(nodeGraph(version: "2"), db, after: 3) {
      _ = try db.write { tx throws in try tx[.nodes].remove("parent") }
    }
    for kid in Self.kids { #expect(try db.read { tx throws in try tx[.nodes].get(kid)?.told.count } == 1, "\(kid)") }
    try db.close()
  }

  @Test("A source that was renewed while nobody looked does not take along what it names again")
  func renewedUnregistered() throws {
    let folder = try TestFolder()
    var db = try folder.open()
    try db.register(nodeGraph())
    try db.write { tx throws in
      try tx[.nodes].set(Node(Link("e", "owned", own)), for: "a")
      try tx[.nodes].set(Node(Link("e", "gone", own)), for: "b")
      for key in ["owned", "gone"] { try tx[.nodes].set(Node(), for: key) }
    }
    try db.close()
    db = try folder.open()
    try db.write { tx throws in
      try tx[.nodes].remove("a")
      try tx[.nodes].remove("b")
      try tx[.nodes].set(Node(Link("e", "owned", own)), for: "a")
    }
    try db.register(nodeGraph())
    #expect(try keys(db) == ["a", "owned"])
    try db.close()
  }
}
