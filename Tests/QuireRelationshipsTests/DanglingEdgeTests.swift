// Edges without one of their rows: what registering does about them, what it would do, and how to have them refused.

import Quire
@testable import QuireRelationships
import QuireTesting
import Testing

@Suite("Edges without a row") struct DanglingEdgeTests {
  private let folder: TestFolder
  private let needy = EdgeRules.deleteSourceIfDestinationDeleted

  init() throws { folder = try TestFolder() }

  private var strict: Relationship<Node> {
    var graph = nodeGraph()
    graph.missingEnds = .refuse
    return graph
  }

  /// Nodes of which `a` needs a row that is not there, and `c` needs `a`.
  private func fill() throws -> Database {
    let db = try folder.open()
    try db.write { tx throws in
      try tx[.nodes].set(Node(Link("e", "missing", needy)), for: "a")
      try tx[.nodes].set(Node(Link("e", "b", needy)), for: "d")
      try tx[.nodes].set(Node(), for: "b")
      try tx[.nodes].set(Node(Link("e", "a", needy)), for: "c")
      try tx[.nodes].set(Node(Link("e", "missing")), for: "f")
    }
    return db
  }

  private func keys(_ db: Database) throws -> [String] { try db.read { tx throws in Array(tx[.nodes].keys) } }

  @Test("Registering says what it has deleted, and a preview what it would delete") func reports() throws {
    let db = try fill()
    let expected = RelationshipReport(wasBuilt: true, edgeCount: 1, danglingEdgeCount: 2, deletedRowCount: 2)
    #expect(try db.previewRegistration(of: nodeGraph()) == expected)
    #expect(try keys(db) == ["a", "b", "c", "d", "f"])
    #expect(try db.extensions().isEmpty)
    #expect(try db.register(nodeGraph()) == expected)
    #expect(try keys(db) == ["b", "d", "f"])
    #expect(errorCode { _ = try db.previewRegistration(of: nodeGraph()) } == .extensionExists)
    try db.close()
    let again = try folder.open()
    #expect(try again.previewRegistration(of: nodeGraph()) == RelationshipReport())
    #expect(try again.register(nodeGraph()) == RelationshipReport(edgeCount: 1))
    try again.close()
  }

  @Test("The same without blocking a thread") func asyncReports() async throws {
    let db = try fill()
    let expected = RelationshipReport(wasBuilt: true, edgeCount: 1, danglingEdgeCount: 2, deletedRowCount: 2)
    #expect(try await db.previewRegistration(of: nodeGraph()) == expected)
    #expect(try await db.register(nodeGraph()) == expected)
    try db.close()
  }

  @Test("A preview of another version keeps what is stored, edges by hand too") func previewOfAnotherVersion() throws {
    var db = try folder.open()
    try db.register(nodeGraph())
    try db.write { tx throws in
      try tx[.nodes].set(Node(), for: "a")
      try tx[.nodes].set(Node(Link("e", "a")), for: "b")
      try tx.relationship(nodeGraph()).add(Edge("by hand", from: .nodes, "a", to: .nodes, "b"))
    }
    try db.close()
    db = try folder.open()
    try db.write { tx throws in try tx[.nodes].set(Node(Link("e", "gone", needy)), for: "c") }
    let report = try db.previewRegistration(of: nodeGraph(version: "2"))
    #expect(report == RelationshipReport(wasBuilt: true, edgeCount: 2, danglingEdgeCount: 1, deletedRowCount: 1))
    #expect(try keys(db) == ["a", "b", "c"])
    #expect(try db.extensions().map(\.version) == [""])
    #expect(try db.register(nodeGraph()) == report)
    try db.read { tx throws in
      let graph = try tx.relationship(nodeGraph())
      try graph.checkInvariants()
      #expect(graph.edges().map(\.name).sorted() == ["by hand", "e"])
    }
    try db.close()
  }

  @Test("A strict relationship refuses to be registered, and deletes nothing") func strictRegistration() throws {
    let db = try fill()
    let error = #expect(throws: DatabaseError.self) { try db.register(strict) }
    #expect(error?.code == .extensionFailed)
    let cause = error?.cause as? DatabaseError
    #expect(cause?.code == .danglingEdge && ["a", "f"].contains(cause?.key))
    #expect(cause?.description.contains("missing") == true)
    #expect(try keys(db) == ["a", "b", "c", "d", "f"])
    try db.write { tx throws in try tx[.nodes].set(Node(), for: "missing") }
    #expect(try db.register(strict).edgeCount == 4)
    try db.close()
  }

  @Test("A strict relationship fails a transaction that leaves an edge without a row", arguments: [false, true])
  func strictTransactions(isByHand: Bool) throws {
    let nodes = try NodeDatabase(strict)
    try nodes.write { rows, _ throws in try rows.set(Node(), for: "a") }
    let code = errorCode {
      try nodes.db.write { tx throws in
        try tx[.nodes].set(Node(), for: "b")
        if isByHand {
          try tx.relationship(strict).add(Edge("e", from: .nodes, "a", to: .nodes, "x"))
        } else {
          try tx[.nodes].set(Node(Link("e", "x", needy)), for: "a")
        }
      }
    }
    #expect(code == .danglingEdge)
    #expect(try nodes.keys() == ["a"])
    // The row may come later in the transaction; a removed one takes its edges along by their rules.
    try nodes.write { rows, _ throws in
      try rows.set(Node(Link("e", "x", needy)), for: "a")
      try rows.set(Node(), for: "x")
    }
    _ = try nodes.write { rows, _ throws in try rows.remove("x") }
    #expect(try nodes.keys().isEmpty)
    try nodes.write { rows, _ throws in
      try rows.set(Node(Link("e", "y", .deleteDestinationIfSourceDeleted)), for: "a")
      try rows.set(Node(), for: "y")
      try rows.remove("a")
    }
    #expect(try nodes.keys().isEmpty)
  }
}
