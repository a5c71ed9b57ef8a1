// What is there after a registration that failed.

import Quire
import QuireTesting
import Testing

private struct Poison: Error {}

@Suite("Registrations of relationships that fail") struct FailedRegistrationTests {
  private let folder: TestFolder
  private let own = EdgeRules.deleteDestinationIfSourceDeleted

  init() throws { folder = try TestFolder() }

  /// A relationship that fails at one object.
  private func failing(version: String = "") -> Relationship<Node> {
    Relationship("graph", over: .nodes, version: version) { node in
      if node.links.contains(where: { $0.name == "poison" }) { throw Poison() }
      return try node.edges()
    }
  }

  private func fill() throws {
    let db = try folder.open()
    try db.register(nodeGraph())
    try db.write { tx throws in
      try tx[.nodes].set(Node(Link("derived", "b")), for: "a")
      try tx[.nodes].set(Node(), for: "b")
      try tx[.nodes].set(Node(Link("poison", "b")), for: "c")
      try tx.relationship(nodeGraph()).add(Edge("by hand", from: .nodes, "a", to: .nodes, "b", rules: own))
    }
    try db.close()
  }

  private func names(_ db: Database) throws -> [String] {
    try db.read { tx throws in
      let graph = try tx.relationship(nodeGraph())
      try graph.checkInvariants()
      return graph.edges().map(\.name).sorted()
    }
  }

  @Test("Edges by hand outlive a failed registration", arguments: ["", "2"], [false, true])
  func edgesByHandStay(version: String, writesBefore: Bool) throws {
    try fill()
    var db = try folder.open()
    // With the same version it is built anew only if something was written without it.
    if version.isEmpty || writesBefore {
      try db.write { tx throws in try tx[.nodes].set(Node(), for: "d") }
    }
    let error = #expect(throws: DatabaseError.self) { try db.register(failing(version: version)) }
    #expect(error?.code == .extensionFailed && error?.cause is Poison)
    #expect(try db.extensions().map(\.state) == [.stale])
    #expect(try db.extensions().map(\.version) == [""])
    try db.close()
    db = try folder.open()
    try db.register(nodeGraph())
    #expect(try names(db) == ["by hand", "derived", "poison"])
    // The rule of the edge that was made by hand holds.
    try db.write { tx throws in try tx[.nodes].remove("a") }
    #expect(try db.read { tx throws in try tx[.nodes].get("b") } == nil)
    try db.close()
  }

  @Test("A registration that fails after several steps keeps what was made by hand") func lateFailure() throws {
    try fill()
    var db = try folder.open()
    try db.write { tx throws in
      try tx[.nodes].remove("c")
      for index in 0..<9000 { try tx[.others].set(Node(), for: "\(index)") }
      try tx[.nodes].set(Node(Link("poison", "b")), for: "z")
    }
    var steps = 0
    #expect(throws: DatabaseError.self) { try db.register(failing()) { _ in steps += 1 } }
    #expect(steps > 0)
    #expect(try db.extensions().map(\.state) == [.stale])
    try db.register(nodeGraph())
    #expect(try names(db) == ["by hand", "derived", "poison"])
    try db.close()
    db = try folder.open()
    try db.register(nodeGraph())
    #expect(try names(db) == ["by hand", "derived", "poison"])
    try db.close()
  }
}
