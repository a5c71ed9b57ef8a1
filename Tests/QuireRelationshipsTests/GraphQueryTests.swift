// Asking for edges.

import Foundation
import Quire
@testable import QuireRelationships
import Testing

@Suite("Asking for edges") struct GraphQueryTests {
  @Test("Every question agrees with a look at all edges, counted and enumerated, in both kinds of transactions")
  func everyQuestion() throws {
    let nodes = try NodeDatabase()
    let keys = ["a", "b", "c", "d"]
    var all: [Edge] = []
    try nodes.db.write { tx throws in
      for key in keys {
        try tx[.nodes].set(Node(Link("x", "a"), Link("y", "b"), Link("x", "/f", isFile: true)), for: key)
        try tx[.others].set(Node(), for: key)
      }
      let graph = try tx.relationship(nodes.graph)
      for (name, key, other) in [("x", "a", "b"), ("y", "b", "a"), ("x", "c", "a"), ("z\u{e9}", "d", "d")] {
        try graph.add(Edge(name, from: .nodes, key, to: .nodes, other))
        try graph.add(Edge(name, from: .others, key, to: .nodes, other))
        try graph.add(Edge(name, from: .nodes, key, toFile: "/g"))
      }
      all = Array(graph.edges())
      #expect(all.count == 24 && Set(all).count == 24)
      check(graph, all)
    }
    try nodes.read { _, graph throws in check(graph, all) }
    func check(_ graph: some GraphReading, _ all: [Edge]) {
      let rows =
        keys.flatMap { [RowKey("nodes", $0), RowKey("others", $0)] } + [RowKey("nodes", "?"), RowKey("?", "a")]
      let ends = rows.map { EdgeDestination.row($0) } + [.file("/f"), .file("/g"), .file("/?")]
      for name in [nil, "x", "y", "z\u{e9}", "ze\u{301}", "?"] {
        for source in [nil] + rows.map(Optional.some) {
          for end in [nil] + ends.map(Optional.some) {
            let expected = all.filter { edge in
              (name.map { Array($0.utf8) == Array(edge.name.utf8) } ?? true)
                && (source.map { $0 == edge.source } ?? true) && (end.map { $0 == edge.destination } ?? true)
            }
            let found = Array(graph.edges(named: name, from: source, to: end))
            #expect(found.count == expected.count && Set(found) == Set(expected))
            #expect(graph.count(named: name, from: source, to: end) == expected.count)
          }
        }
      }
    }
  }

  @Test("Typed questions are the same questions") func typedQuestions() throws {
    let nodes = try NodeDatabase()
    try nodes.write { rows, graph throws in
      try rows.set(Node(Link("e", "b"), Link("e", "/f", isFile: true)), for: "a")
      try rows.set(Node(), for: "b")
      let file = URL(fileURLWithPath: "/f")
      for name in [nil, "e"] {
        #expect(graph.count(named: name, from: .nodes, "a") == 2 && graph.count(named: name, to: .nodes, "b") == 1)
        #expect(graph.count(named: name, from: .nodes, "a", to: .nodes, "b") == 1)
        #expect(graph.count(named: name, toFile: file) == 1 && graph.count(named: name, toFile: "/f") == 1)
        #expect(graph.count(named: name, from: .nodes, "a", toFile: file) == 1)
        #expect(Array(graph.edges(named: name, from: .nodes, "a", to: .nodes, "b")).count == 1)
        #expect(Array(graph.edges(named: name, from: .nodes, "a", toFile: file)).count == 1)
        #expect(Array(graph.edges(named: name, toFile: file)).count == 1)
        #expect(Array(graph.edges(named: name, to: .nodes, "b")).count == 1)
        #expect(Array(graph.edges(named: name, from: .nodes, "a")).count == 2)
      }
    }
  }

  @Test("The objects at the ends") func ends() throws {
    let nodes = try NodeDatabase()
    try nodes.write { rows, _ throws in
      try rows.set(Node(Link("e", "b"), Link("e", "/f", isFile: true)), for: "a")
      try rows.set(Node(Link("f", "a")), for: "b")
    }
    try nodes.read { rows, graph throws in
      for edge in graph.edges(named: "e") {
        #expect(try graph.source(of: edge, in: .nodes) == rows.get("a"))
        let isFile = if case .file = edge.destination { true } else { false }
        #expect(try graph.destination(of: edge, in: .nodes) == (isFile ? nil : rows.get("b")))
        #expect(try graph.source(of: edge, in: .others) == nil)
      }
    }
  }

  @Test("Enumerating is lazy, and ends when the transaction changes something") func mutationWhileEnumerating() throws {
    let nodes = try NodeDatabase()
    _ = try nodes.write { rows, _ throws in try rows.set(Node(links: (0..<100).map { Link("e\($0)", "a") }), for: "a") }
    let code = errorCode {
      try nodes.db.write { tx throws in
        var count = 0
        for _ in try tx.relationship(nodes.graph).edges() {
          count += 1
          try tx[.nodes].set(Node(), for: "b\(count)")
        }
        #expect(count == 1)
      }
    }
    #expect(code == .mutatedDuringIteration)
    try nodes.db.write { tx throws in
      for edge in try tx.relationship(nodes.graph).edges() {
        #expect(edge.isDerived)
        try tx[.nodes].set(Node(), for: "b")
        break
      }
    }
  }

  @Test("Used after the transaction, nothing is found, and changes throw") func usedTooLate() throws {
    let nodes = try NodeDatabase()
    var writable: WritableGraph?
    try nodes.write { rows, graph throws in
      try rows.set(Node(Link("e", "a")), for: "a")
      writable = graph
    }
    let graph = try #require(writable)
    #expect(graph.count() == 0 && Array(graph.edges()).isEmpty)
    #expect(errorCode { try graph.add(Edge("e", from: .nodes, "a", to: .nodes, "b")) } != nil)
    #expect(errorCode { try graph.flush() } != nil)
  }

  @Test("Names that no edge has any more are forgotten") func forgottenNames() throws {
    let nodes = try NodeDatabase()
    _ = try nodes.write { rows, _ throws in try rows.set(Node(links: (0..<100).map { Link("e\($0)", "a") }), for: "a") }
    _ = try nodes.write { rows, _ throws in try rows.set(Node(Link("e7", "a"), Link("new", "a")), for: "a") }
    try nodes.read { _, graph throws in
      #expect(try graph.graph.trees.names.count == 2 && graph.graph.trees.nameTexts.count == 2)
    }
    #expect(try nodes.edges() == ["e7", "new"])
  }

  @Test("Rows of collections that cannot be, and names that are too long") func strangeEnds() throws {
    let nodes = try NodeDatabase()
    let long = String(repeating: "x", count: 3000)
    try nodes.write { rows, graph throws in
      try rows.set(Node(), for: "a")
      let source = RowKey("nodes", "a")
      for edge in [
        Edge(long, from: source, to: .row(source)), Edge("e", from: RowKey(long, "a"), to: .row(source)),
        Edge("e", from: source, to: .row(RowKey("nodes", long))), Edge("e", to: .row(source)),
        Edge("e", from: source, to: .row(source), rules: EdgeRules(rawValue: 64)),
      ] {
        #expect(errorCode { try graph.add(edge) } == .invalidEdge)
      }
      #expect(graph.count(named: long) == 0 && graph.count(from: RowKey(long, "a")) == 0 && graph.count() == 0)
      try graph.add(Edge("", from: .nodes, "a", to: .nodes, "a"))
      #expect(graph.count(named: "") == 1)
    }
  }
}
