// Extensions that change edges while a transaction settles.

import Quire
import QuireDatabase
@testable import QuireRelationships
import QuireTesting
import Testing

/// Does something when a transaction settles rows, or trees, once each.
private final class LateWriter: ExtensionWriter {
  let store: ExtensionStore
  private let late: Late
  private var isDone = false

  init(_ store: ExtensionStore, _ late: Late) { (self.store, self.late) = (store, late) }

  func willBuild(_ reason: ExtensionBuildReason) throws {}

  func settleRows() throws {
    guard late.settlesRows, let tx = store.writeTransaction else { return }
    if isDone, !late.isEndless { return }
    isDone = true
    try late.body(tx)
  }

  func settleTrees() throws {
    guard !late.settlesRows, let tx = store.writeTransaction else { return }
    try late.body(tx)
  }
}

private struct Late: DatabaseExtension {
  static let kind = "test.late"
  let name = "late"
  var settlesRows = true
  var isEndless = false
  var isBuiltFromRows: Bool { false }
  let body: @Sendable (WriteTransaction) throws -> Void

  func makeReader(_ store: ExtensionStore) -> ExtensionStore { store }
  func makeWriter(_ store: ExtensionStore) -> LateWriter { LateWriter(store, self) }
}

@Suite("Edges that extensions change while a transaction settles") struct SettlingTests {
  private static let edge = Edge(
    "hand", from: .nodes, "a", to: .nodes, "b", rules: .deleteSourceIfDestinationDeleted)

  /// Nodes “a” and “b”, with an edge by hand, and an extension that settles behind or in front of the relationship.
  private func open(
    isBehind: Bool = true, withEdge: Bool, _ late: (Relationship<Node>) -> Late
  ) throws -> NodeDatabase {
    let graph = nodeGraph()
    let db = try Database.inMemory()
    let late = late(graph)
    let isOn = Recorder()
    let quiet = Late(settlesRows: late.settlesRows, isEndless: late.isEndless) { tx in
      if !isOn.values.isEmpty { try late.body(tx) }
    }
    if !isBehind { try db.register(quiet) }
    try db.register(graph)
    if isBehind { try db.register(quiet) }
    try db.write { tx throws in
      for key in ["a", "b"] { try tx[.nodes].set(Node(), for: key) }
      if withEdge { try tx.relationship(graph).add(Self.edge) }
    }
    isOn.append("on")
    return NodeDatabase(db, graph)
  }

  @Test("The rules of an edge that is taken away behind the relationship are applied", arguments: [true, false])
  func edgeIsTakenAway(isBehind: Bool) throws {
    let nodes = try open(isBehind: isBehind, withEdge: true) { graph in
      Late { tx in _ = try tx.relationship(graph).remove(Self.edge, as: .destinationDeleted) }
    }
    try nodes.write { rows, _ throws in try rows.set(Node(), for: "x") }
    #expect(try nodes.keys() == ["b", "x"] && nodes.edges().isEmpty)
    try nodes.db.checkInvariants()
  }

  @Test("An edge that is added behind the relationship stands", arguments: [true, false])
  func edgeIsAdded(isBehind: Bool) throws {
    let nodes = try open(isBehind: isBehind, withEdge: false) { graph in
      Late { tx in try tx.relationship(graph).add(Self.edge) }
    }
    try nodes.write { rows, _ throws in try rows.set(Node(), for: "x") }
    #expect(try nodes.keys() == ["a", "b", "x"] && nodes.edges() == ["hand"])
    try nodes.write { rows, _ throws in _ = try rows.remove("b") }
    #expect(try nodes.keys() == ["x"])
    try nodes.db.checkInvariants()
  }

  @Test("An edge to a row that never comes goes, and is nobody else's later", arguments: [true, false])
  func edgeToNothing(isBehind: Bool) throws {
    let nodes = try open(isBehind: isBehind, withEdge: false) { graph in
      Late { tx in
        guard try tx[.nodes].get("c") == nil else { return }
        try tx.relationship(graph).add(Edge("none", from: .nodes, "a", to: .nodes, "c"))
      }
    }
    try nodes.write { rows, _ throws in try rows.set(Node(), for: "x") }
    #expect(try nodes.edges().isEmpty)
    try nodes.write { rows, _ throws in try rows.set(Node(), for: "c") }
    #expect(try nodes.edges().isEmpty && nodes.keys() == ["a", "b", "c", "x"])
    try nodes.db.checkInvariants()
  }

  @Test("Edges cannot be changed while trees are settled, on either side", arguments: [true, false], [true, false])
  func treesAreSettled(isBehind: Bool, adds: Bool) throws {
    let nodes = try open(isBehind: isBehind, withEdge: !adds) { graph in
      Late(settlesRows: false) { tx in
        let graph = try tx.relationship(graph)
        if adds { try graph.add(Self.edge) } else { _ = try graph.remove(Self.edge) }
      }
    }
    #expect(
      errorCode { try nodes.db.write { tx throws in try tx[.nodes].set(Node(), for: "x") } } == .transactionFailed)
    #expect(try nodes.keys() == ["a", "b"] && nodes.edges() == (adds ? [] : ["hand"]))
    try nodes.db.checkInvariants()
  }

  @Test("Extensions that change edges for ever are an error that names them") func endless() throws {
    let nodes = try open(withEdge: false) { graph in
      Late(isEndless: true) { tx in
        let graph = try tx.relationship(graph)
        if try !graph.remove(Self.edge) { try graph.add(Self.edge) }
      }
    }
    let error = #expect(throws: DatabaseError.self) {
      try nodes.db.write { tx throws in try tx[.nodes].set(Node(), for: "x") }
    }
    #expect(error?.code == .hooksTooDeep && error?.message.contains("late") == true)
    #expect(try nodes.keys() == ["a", "b"])
  }

  // MARK: Savepoints

  private struct Undo: Error {}

  @Test("Savepoints that are undone while much is noted leave what was noted", arguments: [0, 1, 8, 9, 16, 17, 40])
  func undoneWhileFull(noted: Int) throws {
    var graph = nodeGraph()
    graph.settings.notedCount = noted
    let nodes = try NodeDatabase(graph)
    try nodes.write { rows, _ throws in
      try rows.set(Node(), for: "hub")
      for index in 0..<20 {
        try rows.set(Node(Link("e", "hub", .deleteDestinationIfSourceDeleted)), for: "c\(index)")
      }
    }
    try nodes.db.write { tx throws in
      let (rows, graph) = (tx[.nodes], try tx.relationship(nodes.graph))
      // Each names its edge no more.
      for index in 0..<8 { try rows.set(Node(Link("other", "hub")), for: "c\(index)") }
      for index in 8..<20 {
        #expect(throws: Undo.self) {
          try tx.savepoint {
            try rows.set(Node(), for: "c\(index)")
            try graph.checkInvariants()
            throw Undo()
          }
        }
        try graph.checkInvariants()
      }
      #expect(graph.count() == 20)
    }
    // The rule of the edges that have gone was applied, and nothing of what was undone.
    #expect(try nodes.keys().contains("hub") == false)
    #expect(try nodes.keys().count == 20 && nodes.edges().isEmpty)
    try nodes.db.checkInvariants()
  }

  @Test("A name that lost its last edge before a clearing that is undone is forgotten") func namesAreForgotten() throws
  {
    let nodes = try NodeDatabase()
    try nodes.write { rows, graph throws in
      for key in ["a", "b"] { try rows.set(Node(), for: key) }
      try graph.add(Edge("brief", from: .nodes, "a", to: .nodes, "b"))
    }
    try nodes.db.write { tx throws in
      let graph = try tx.relationship(nodes.graph)
      #expect(try graph.remove(Edge("brief", from: .nodes, "a", to: .nodes, "b")))
      try graph.flush()
      #expect(throws: Undo.self) {
        try tx.savepoint {
          try tx.removeAll()
          throw Undo()
        }
      }
    }
    try nodes.db.write { tx throws in #expect(try tx.relationship(nodes.graph).writer.trees.nameTexts.count == 0) }
  }
}
