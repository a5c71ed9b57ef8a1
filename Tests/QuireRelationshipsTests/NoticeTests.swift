// Rows that are told when an edge of theirs has gone.

import Quire
import QuireTesting
import Testing

@Suite("Telling rows of edges") struct NoticeTests {
  private let calls = Recorder()

  /// A relationship that records who was told what.
  private func recordingGraph(_ change: @escaping @Sendable (Node) -> Node? = { _ in nil }) -> Relationship<Node> {
    Relationship<Node>("graph", over: .nodes).notifying(.nodes) { [calls] node, edge, reason in
      calls.append("\(node.told.first ?? "?") \(edge.source?.key ?? "?")–\(edge.name)→\(edge.destination) \(reason)")
      return change(node)
    }
  }

  /// A node that tells its name to `calls`.
  private func node(_ name: String, _ links: Link...) -> Node {
    var node = Node(links: links)
    node.told = [name]
    return node
  }

  @Test("What is returned takes the object's place, for structs") func theObjectIsReplaced() throws {
    let nodes = try NodeDatabase()
    try nodes.write { rows, _ throws in
      try rows.set(Node(Link("e", "b", [.notifyIfSourceDeleted, .notifyIfDestinationDeleted])), for: "a")
      try rows.set(Node(Link("e", "a", .notifyIfDestinationDeleted)), for: "b")
    }
    try nodes.write { rows, graph throws in
      try rows.remove("a")
      #expect(try rows.get("b")?.told == [])
      try graph.flush()
      #expect(try Set(rows.get("b")?.told ?? []) == ["e sourceDeleted", "e destinationDeleted"])
    }
    #expect(try nodes.keys() == ["b"])
  }

  @Test("Nil leaves the object alone") func nilChangesNothing() throws {
    let nodes = try NodeDatabase(recordingGraph())
    try nodes.write { rows, _ throws in
      try rows.set(node("a", Link("e", "b", .notifyIfSourceDeleted)), for: "a")
      try rows.set(node("b"), for: "b")
    }
    let pin = try nodes.db.pin()
    _ = try nodes.write { rows, _ throws in _ = try rows.remove("a") }
    #expect(calls.values == ["b a–e→nodes/b sourceDeleted"])
    #expect(try pin.advance().flatMap { $0.changes.changedKeys(in: .nodes) } == ["a"])
  }

  @Test("A row that is about to go is told, and what it returns is ignored") func dyingRowsAreTold() throws {
    let nodes = try NodeDatabase(recordingGraph { $0 })
    try nodes.write { rows, _ throws in
      let rules: EdgeRules = [.deleteDestinationIfSourceDeleted, .notifyIfSourceDeleted]
      try rows.set(node("a", Link("e", "b", rules), Link("e", "c", rules)), for: "a")
      try rows.set(node("b"), for: "b")
      try rows.set(node("c"), for: "c")
    }
    _ = try nodes.write { rows, _ throws in _ = try rows.remove("a") }
    #expect(calls.values.sorted() == ["b a–e→nodes/b sourceDeleted", "c a–e→nodes/c sourceDeleted"])
    #expect(try nodes.keys().isEmpty)
  }

  @Test("Both ends that go in one transaction are told", arguments: [["a", "b"], ["b", "a"]])
  func bothEndsAreTold(_ order: [String]) throws {
    let nodes = try NodeDatabase(recordingGraph { $0 })
    try nodes.write { rows, _ throws in
      try rows.set(node("a", Link("e", "b", [.notifyIfSourceDeleted, .notifyIfDestinationDeleted])), for: "a")
      try rows.set(node("b"), for: "b")
    }
    try nodes.write { rows, _ throws in for key in order { try rows.remove(key) } }
    #expect(calls.values.sorted() == ["a a–e→nodes/b destinationDeleted", "b a–e→nodes/b sourceDeleted"])
    #expect(try nodes.keys().isEmpty)
  }

  @Test("An edge to a row that never came is told with its key") func missingRowsAreNamed() throws {
    let nodes = try NodeDatabase(recordingGraph())
    try nodes.write { rows, _ throws in
      try rows.set(node("a", Link("e", "nobody", .notifyIfDestinationDeleted)), for: "a")
    }
    #expect(calls.values == ["a a–e→nodes/nobody destinationDeleted"])
    #expect(try nodes.keys() == ["a"])
  }

  @Test("A replaced object is not asked for its edges, or it might be told for ever") func noEndlessTelling() throws {
    let nodes = try NodeDatabase(recordingGraph { $0 })
    try nodes.write { rows, _ throws in
      try rows.set(node("a", Link("e", "b", .notifyIfDestinationDeleted)), for: "a")
      try rows.set(node("b"), for: "b")
    }
    _ = try nodes.write { rows, _ throws in try rows.remove("b") }
    #expect(calls.values.count == 1)
    #expect(try nodes.edges().isEmpty)
  }

  @Test("Dropping a derived edge tells the destination that its source is gone") func droppedEdgesAreTold() throws {
    let nodes = try NodeDatabase(recordingGraph())
    try nodes.write { rows, _ throws in
      try rows.set(node("a", Link("e", "b", .notifyIfSourceDeleted)), for: "a")
      try rows.set(node("b"), for: "b")
    }
    try nodes.write { rows, _ throws in try rows.set(node("a"), for: "a") }
    #expect(calls.values == ["b a–e→nodes/b sourceDeleted"])
  }

  @Test("A rule that nobody could hear is refused") func unheardRules() throws {
    let nodes = try NodeDatabase()
    try nodes.db.write { tx throws in
      let graph = try tx.relationship(nodes.graph)
      for rule in [EdgeRules.notifyIfSourceDeleted, .notifyIfDestinationDeleted] {
        let code = errorCode {
          try graph.add(Edge("e", from: .nodes, "a", to: .others, "b", rules: rule))
          try graph.add(Edge("e", from: .others, "a", to: .nodes, "b", rules: rule))
        }
        #expect(code == .invalidEdge)
      }
    }
  }

  @Test("A relationship that says so takes rules that nobody can hear, and tells nobody") func untoldRows() throws {
    var graph = Relationship<Node>("graph", over: .nodes)
    graph.untoldRows = .leaveAlone
    let nodes = try NodeDatabase(graph)
    try nodes.write { rows, _ throws in
      try rows.set(node("a", Link("e", "b", [.notifyIfSourceDeleted, .notifyIfDestinationDeleted])), for: "a")
      try rows.set(node("b"), for: "b")
    }
    try nodes.write { rows, _ throws in _ = try rows.remove("a") }
    try nodes.db.read { tx throws in
      #expect(try tx[.nodes].get("b") == node("b") && tx[.nodes].count == 1)
      #expect(try tx.relationship(graph).count() == 0)
    }
  }

  @Test("Telling and replacing get the key of the row, and replacing stores") func ownReplacing() throws {
    let calls = Recorder()
    let graph = Relationship<Node>("graph", over: .nodes).notifying(
      .nodes,
      telling: { _, row, _, _ -> String? in
        calls.append("tell \(row)")
        return row.key
      },
      replacing: { told, row, tx in
        calls.append("replace \(row) \(told)")
        if told == "b" { try tx[.nodes].remove("b") }
      })
    let nodes = try NodeDatabase(graph)
    try nodes.write { rows, _ throws in
      try rows.set(node("a", Link("e", "b", .notifyIfSourceDeleted)), for: "a")
      try rows.set(node("b"), for: "b")
      try rows.set(node("c", Link("e", "a", .notifyIfDestinationDeleted)), for: "c")
    }
    try nodes.write { rows, _ throws in _ = try rows.remove("a") }
    #expect(calls.values.sorted() == ["replace nodes/b b", "replace nodes/c c", "tell nodes/b", "tell nodes/c"])
    try nodes.db.read { tx throws in #expect(Array(tx[.nodes].keys) == ["c"]) }
  }

  @Test("An error while telling fails the transaction, also if the app catches that of `flush`")
  func throwingObservers() throws {
    struct Refused: Error {}
    let graph = Relationship<Node>("graph", over: .nodes).notifying(.nodes) { _, _, _ in throw Refused() }
    let nodes = try NodeDatabase(graph)
    try nodes.write { rows, _ throws in
      try rows.set(Node(Link("e", "b", .notifyIfSourceDeleted)), for: "a")
      try rows.set(Node(), for: "b")
    }
    #expect(throws: DatabaseError.self) { try nodes.write { rows, _ throws in _ = try rows.remove("a") } }
    var caught: (any Error)?
    #expect(throws: DatabaseError.self) {
      try nodes.db.write { tx throws in
        try tx[.nodes].remove("a")
        do { try tx.relationship(graph).flush() } catch { caught = error }
      }
    }
    #expect(caught is Refused)
    #expect(try nodes.keys() == ["a", "b"])
  }

  @Test("Classes are told like structs") func classes() throws {
    final class Box: Codable, Sendable {
      let target: String?
      let wasTold: Bool
      init(_ target: String?, wasTold: Bool = false) {
        self.target = target
        self.wasTold = wasTold
      }
    }
    let boxes = RowCollection<Box, NoMetadata>("boxes")
    let graph = Relationship("graph", over: boxes) { box in
      box.target.map { [Edge("e", to: boxes, key: $0, rules: .notifyIfDestinationDeleted)] } ?? []
    }.notifying(boxes) { box, _, _ in Box(nil, wasTold: true) }
    let db = try Database.inMemory()
    try db.register(graph)
    try db.write { tx throws in
      try tx[boxes].set(Box("b"), for: "a")
      try tx[boxes].set(Box(nil), for: "b")
    }
    _ = try db.write { tx throws in try tx[boxes].remove("b") }
    #expect(try db.read { tx throws in try tx[boxes].get("a")?.wasTold } == true)
  }
}
