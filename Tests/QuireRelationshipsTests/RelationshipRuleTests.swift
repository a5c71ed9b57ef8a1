// What is said of rules, sentence by sentence.

import Foundation
import Quire
import QuireTesting
import Testing

@Suite("Rules of edges") struct RelationshipRuleTests {
  private let nodes: NodeDatabase

  init() throws { nodes = try NodeDatabase() }

  /// Stores nodes with their links.
  private func set(_ content: [String: [Link]]) throws {
    try nodes.write { rows, _ throws in for (key, links) in content { try rows.set(Node(links: links), for: key) } }
  }

  private func remove(_ keys: String...) throws {
    _ = try nodes.write { rows, _ throws in try rows.remove(keys) }
  }

  // MARK: Each rule

  @Test func anEdgeWithoutRulesGoesAlone() throws {
    try set(["a": [Link("e", "b")], "b": []])
    try remove("a")
    #expect(try nodes.keys() == ["b"] && nodes.edges().isEmpty)
    try set(["a": [Link("e", "b")]])
    try remove("b")
    #expect(try nodes.keys() == ["a"] && nodes.edges().isEmpty)
  }

  @Test func theDestinationGoesWithTheSource() throws {
    try set(["a": [Link("e", "b", .deleteDestinationIfSourceDeleted)], "b": []])
    try remove("b")
    #expect(try nodes.keys() == ["a"])
    try set(["a": [Link("e", "b", .deleteDestinationIfSourceDeleted)], "b": []])
    try remove("a")
    #expect(try nodes.keys().isEmpty)
  }

  @Test func theSourceGoesWithTheDestination() throws {
    try set(["a": [Link("e", "b", .deleteSourceIfDestinationDeleted)], "b": []])
    try remove("b")
    #expect(try nodes.keys().isEmpty)
    try set(["a": [Link("e", "b", .deleteSourceIfDestinationDeleted)], "b": []])
    try remove("a")
    #expect(try nodes.keys() == ["b"])
  }

  @Test("The destination goes with the last source, counted by name, whatever the rules of the others")
  func theDestinationGoesWithTheLastSource() throws {
    let rule = EdgeRules.deleteDestinationIfAllSourcesDeleted
    try set(["a": [Link("e", "d", rule)], "b": [Link("e", "d", rule)], "c": [Link("other", "d", rule)], "d": []])
    try remove("a")
    #expect(try nodes.keys() == ["b", "c", "d"])
    // `c` leads there, too, by another name.
    try remove("b")
    #expect(try nodes.keys() == ["c"])
    try set(["a": [Link("e", "d", rule)], "b": [Link("e", "d")], "d": []])
    try remove("a")
    #expect(try nodes.keys() == ["b", "c", "d"])
    // The one that is left does not ask for it.
    try remove("b")
    #expect(try nodes.keys() == ["c", "d"])
  }

  @Test("The source goes with the last destination, counted by name")
  func theSourceGoesWithTheLastDestination() throws {
    let rule = EdgeRules.deleteSourceIfAllDestinationsDeleted
    try set(["s": [Link("e", "a", rule), Link("e", "b", rule), Link("other", "c", rule)], "a": [], "b": [], "c": []])
    try remove("a")
    #expect(try nodes.keys() == ["b", "c", "s"])
    try remove("b")
    #expect(try nodes.keys() == ["c"])
  }

  @Test("What is to go with the last one goes, whichever of those that go in one transaction asked for it")
  func theOrderOfGoingDoesNotCount() throws {
    for order in [["a", "b"], ["b", "a"]] {
      try set(["a": [Link("e", "d", .deleteDestinationIfAllSourcesDeleted)], "b": [Link("e", "d")], "d": []])
      try nodes.write { rows, _ throws in for key in order { try rows.remove(key) } }
      #expect(try nodes.keys().isEmpty)
    }
    // The last one goes late, by another rule.
    try set([
      "a": [Link("e", "d", .deleteDestinationIfAllSourcesDeleted), Link("x", "m", .deleteDestinationIfSourceDeleted)],
      "m": [Link("y", "b", .deleteDestinationIfSourceDeleted)], "b": [Link("e", "d")], "d": [],
    ])
    try remove("a")
    #expect(try nodes.keys().isEmpty)
  }

  @Test("Derived edges and those by hand are counted together") func bothDomainsCount() throws {
    let rule = EdgeRules.deleteDestinationIfAllSourcesDeleted
    try set(["a": [Link("e", "d", rule)], "b": [], "d": []])
    try nodes.write { _, graph throws in try graph.add(Edge("e", from: .nodes, "b", to: .nodes, "d", rules: rule)) }
    try remove("a")
    #expect(try nodes.keys() == ["b", "d"])
    try remove("b")
    #expect(try nodes.keys().isEmpty)
  }

  @Test("Rules for both directions go together", arguments: 0..<64) func legalCombinations(_ bits: UInt8) throws {
    let rules = EdgeRules(rawValue: bits)
    let isLegal = bits & 20 != 20 && bits & 40 != 40
    let isStored = errorCode { try set(["a": [Link("e", "b", rules)], "b": []]) }
    #expect(isStored == (isLegal ? nil : .invalidEdge))
    if !isLegal { return #expect(try nodes.keys().isEmpty) }
    try remove("a")
    #expect(try nodes.keys() == (bits & 40 == 0 ? ["b"] : []))
    #expect(try nodes.told("b") == (bits & 40 == 0 ? (bits & 1 == 1 ? ["e sourceDeleted"] : []) : nil))
    try set(["a": [Link("e", "b", rules)], "b": []])
    try remove("b")
    #expect(try nodes.keys() == (bits & 20 == 0 ? ["a"] : []))
    #expect(try nodes.told("a") == (bits & 20 == 0 ? (bits & 2 == 2 ? ["e destinationDeleted"] : []) : nil))
  }

  @Test("Files are not watched", arguments: 0..<64) func legalCombinationsForFiles(_ bits: UInt8) throws {
    let code = errorCode { try set(["a": [Link("e", "/nowhere/f", EdgeRules(rawValue: bits), isFile: true)]]) }
    #expect(code == (bits & 23 == 0 && bits & 40 != 40 ? nil : .invalidEdge))
  }

  // MARK: Derived edges

  @Test("An object is asked on insert, update and replacement, not on touch or new metadata")
  func whenObjectsAreAsked() throws {
    let asked = Recorder()
    let graph = Relationship<Node>("asked", over: .nodes) { node in
      asked.append("asked")
      return try node.edges()
    }
    let nodes = try NodeDatabase(graph)
    var expected = 0
    func check(_ delta: Int, _ body: (WritableRows<Node, NoMetadata>) throws -> Void) throws {
      try nodes.write { rows, _ throws in try body(rows) }
      expected += delta
      #expect(asked.values.count == expected)
    }
    try check(1) { try $0.set(Node(), for: "a") }
    try check(1) { try $0.set(Node(), for: "a") }
    try check(1) { try $0.replace(Node(), for: "a") }
    try check(1) { try $0.update("a") { $0.told = [] } }
    try check(0) { try $0.touch("a") }
    try check(0) { try $0.touchObject("a") }
    try check(0) { try $0.touchMetadata("a") }
    try check(0) { try $0.replaceMetadata(NoMetadata(), for: "a") }
    try check(0) { try $0.remove("a") }
  }

  @Test("Derived edges are compared: new ones, other rules, missing ones") func derivedEdgesAreCompared() throws {
    try set(["a": [Link("e", "b"), Link("e", "c", .deleteDestinationIfSourceDeleted)], "b": [], "c": [], "d": []])
    try set(["a": [Link("e", "b", .deleteDestinationIfSourceDeleted), Link("e", "d")]])
    #expect(try nodes.keys() == ["a", "b", "d"])
    try nodes.read { _, graph throws in
      #expect(graph.count() == 2)
      #expect(graph.edges(to: .nodes, "b").map(\.rules) == [.deleteDestinationIfSourceDeleted])
      #expect(graph.edges(to: .nodes, "d").map(\.rules) == [[]])
    }
    try remove("a")
    #expect(try nodes.keys() == ["d"])
  }

  @Test("The same edge twice counts once, with the rules of the last") func sameEdgeTwice() throws {
    try set(["a": [Link("e", "b", .deleteDestinationIfSourceDeleted), Link("e", "b")], "b": []])
    try nodes.read { _, graph throws in #expect(graph.edges().map(\.rules) == [[]]) }
  }

  @Test("A derived edge begins at its own row") func derivedEdgesHaveTheirSource() throws {
    let graph = Relationship<Node>("other", over: .nodes) { _ in [Edge("e", from: .nodes, "a", to: .nodes, "b")] }
    let nodes = try NodeDatabase(graph)
    try nodes.write { rows, _ throws in try rows.set(Node(), for: "a") }
    #expect(errorCode { try nodes.write { rows, _ throws in try rows.set(Node(), for: "c") } } == .invalidEdge)
    #expect(try nodes.keys() == ["a"])
  }

  @Test("What counts is the row as it is, also if another extension changes it when it hears of it")
  func changesInHooks() throws {
    var hooks = Hooks("hooks", collections: .only(["nodes"]))
    hooks.didModify = { tx, change, flags in
      guard let node = try change.object(in: .nodes) else { return }
      switch node.links.first?.name {
      case "redirect": try tx[.nodes].replace(Node(Link("e", "c")), for: change.key)
      case "refuse": try tx[.nodes].remove(change.key)
      case "other": try tx[.nodes].set(Node(Link("e", "b")), for: "elsewhere")
      default: break
      }
    }
    let db = try Database.inMemory()
    try db.register(hooks)
    let graph = nodeGraph()
    try db.register(graph)
    func edges() throws -> [String] {
      try db.read { tx throws in
        let graph = try tx.relationship(graph)
        try graph.checkInvariants()
        return graph.edges().map { "\($0.source?.key ?? "") \($0.destination)" }.sorted()
      }
    }
    try db.write { tx throws in
      for key in ["b", "c"] { try tx[.nodes].set(Node(), for: key) }
      try tx[.nodes].set(Node(Link("redirect", "b", .deleteSourceIfDestinationDeleted)), for: "a")
    }
    #expect(try edges() == ["a nodes/c"])
    try db.write { tx throws in try tx[.nodes].set(Node(Link("redirect", "b")), for: "a") }
    #expect(try edges() == ["a nodes/c"])
    // Waited for, and gone again as soon as it comes.
    try db.write { tx throws in
      try tx.relationship(graph).add(Edge("x", from: .nodes, "b", to: .nodes, "d"))
      try tx[.nodes].set(Node(Link("refuse", "b")), for: "d")
    }
    #expect(try edges() == ["a nodes/c"])
    try db.write { tx throws in try tx[.nodes].set(Node(Link("other", "c")), for: "a") }
    #expect(try edges() == ["a nodes/c", "elsewhere nodes/b"])
    #expect(try db.read { tx throws in Array(tx[.nodes].keys) } == ["a", "b", "c", "elsewhere"])
  }

  @Test("An error of the closure fails the transaction with the relationship's name") func throwingClosure() throws {
    struct Refused: Error {}
    let graph = Relationship<Node>("picky", over: .nodes) { node in
      if node.links.isEmpty { throw Refused() }
      return []
    }
    let nodes = try NodeDatabase(graph)
    let error = #expect(throws: DatabaseError.self) {
      try nodes.write { rows, _ throws in try rows.set(Node(), for: "a") }
    }
    #expect(error?.code == .extensionFailed && error?.message.contains("picky") == true && error?.cause is Refused)
    #expect(try nodes.keys().isEmpty)
  }

  // MARK: By hand

  @Test("Adding the same edge again replaces its rules") func addingReplacesRules() throws {
    try set(["a": [], "b": []])
    let edge = Edge("e", from: .nodes, "a", to: .nodes, "b")
    try nodes.write { _, graph throws in
      try graph.add(edge)
      try graph.add(Edge("e", from: .nodes, "a", to: .nodes, "b", rules: .deleteDestinationIfSourceDeleted))
      #expect(graph.edges().map(\.rules) == [.deleteDestinationIfSourceDeleted])
      try graph.add(edge)
      #expect(graph.edges().map(\.rules) == [[]] && graph.count() == 1)
    }
    try remove("a")
    #expect(try nodes.keys() == ["b"])
  }

  @Test("Removing by hand with a reason applies the rules that are stored") func removingWithReason() throws {
    let rules: EdgeRules = [.deleteSourceIfDestinationDeleted, .deleteDestinationIfSourceDeleted]
    let plain = Edge("e", from: .nodes, "a", to: .nodes, "b")
    for (reason, left) in [
      (EdgeReason.edgeRemoved, ["a", "b"]), (.sourceDeleted, ["a"]), (.destinationDeleted, ["b"]),
    ] {
      try set(["a": [], "b": []])
      try nodes.write { _, graph throws in
        try graph.add(Edge("e", from: .nodes, "a", to: .nodes, "b", rules: rules))
      }
      try nodes.write { _, graph throws in
        #expect(try graph.remove(plain, as: reason))
        #expect(graph.count() == 0)
      }
      #expect(try nodes.keys() == left && nodes.edges().isEmpty)
    }
  }

  @Test("An unknown edge cannot be removed, which changes nothing") func removingUnknown() throws {
    try set(["a": [Link("e", "b", .deleteDestinationIfSourceDeleted)], "b": []])
    try nodes.write { _, graph throws in
      // The derived one is another edge.
      #expect(try !graph.remove(Edge("e", from: .nodes, "a", to: .nodes, "b"), as: .sourceDeleted))
      #expect(try !graph.remove(Edge("f", from: .nodes, "a", to: .nodes, "b")))
      #expect(try !graph.remove(Edge("e", from: .nodes, "x", to: .nodes, "b")))
      #expect(try !graph.remove(Edge("e", from: .nodes, "a", toFile: "/nowhere")))
      #expect(errorCode { try graph.remove(Edge("e", to: .nodes, key: "b")) } == .invalidEdge)
    }
    #expect(try nodes.keys() == ["a", "b"] && nodes.edges() == ["e"])
  }

  @Test("The two domains stand side by side") func domains() throws {
    try set(["a": [Link("e", "b")], "b": []])
    let byHand = Edge("e", from: .nodes, "a", to: .nodes, "b", rules: .deleteDestinationIfSourceDeleted)
    try nodes.write { _, graph throws in
      try graph.add(byHand)
      #expect(graph.count() == 2 && graph.count(named: "e", from: .nodes, "a", to: .nodes, "b") == 2)
      #expect(Array(graph.edges(from: .nodes, "a", to: .nodes, "b")).filter(\.isDerived).count == 1)
    }
    // Storing the object touches derived ones only.
    try set(["a": []])
    try nodes.read { _, graph throws in #expect(graph.edges().map(\.isDerived) == [false]) }
    try set(["a": [Link("e", "b")]])
    try nodes.write { _, graph throws in #expect(try graph.remove(byHand)) }
    try nodes.read { _, graph throws in #expect(graph.edges().map(\.isDerived) == [true]) }
  }

  // MARK: Rows to come

  @Test("Edges may lead to rows that come later, in either domain") func rowsToCome() throws {
    try nodes.write { rows, graph throws in
      try rows.set(Node(Link("e", "z", .deleteSourceIfDestinationDeleted)), for: "a")
      try graph.add(Edge("f", from: .nodes, "y", to: .nodes, "z", rules: .deleteSourceIfDestinationDeleted))
      #expect(graph.count(to: .nodes, "z") == 2 && graph.count(from: .nodes, "y") == 1 && graph.count() == 2)
      #expect(Set(graph.edges().map(\.destination)) == [.row(RowKey("nodes", "z"))])
      try rows.set(Node(), for: "z")
      #expect(graph.count(to: .nodes, "z") == 2 && graph.count(from: .nodes, "y") == 1)
      try rows.set(Node(), for: "y")
    }
    #expect(try nodes.keys() == ["a", "y", "z"] && nodes.edges() == ["e", "f"])
    try remove("z")
    #expect(try nodes.keys().isEmpty)
  }

  @Test("An end that is missing when the transaction ends counts as deleted") func missingEnds() throws {
    try set(["a": [Link("e", "missing", .deleteSourceIfDestinationDeleted)], "b": [Link("e", "missing")]])
    #expect(try nodes.keys() == ["b"] && nodes.edges().isEmpty)
    try nodes.write { _, graph throws in
      try graph.add(Edge("e", from: .nodes, "x", to: .nodes, "b", rules: .deleteDestinationIfSourceDeleted))
      try graph.add(Edge("e", from: .nodes, "x", to: .nodes, "y", rules: .deleteDestinationIfSourceDeleted))
      #expect(graph.count(from: .nodes, "x") == 2)
    }
    #expect(try nodes.keys().isEmpty && nodes.edges().isEmpty)
  }

  @Test("`flush` counts missing ends as deleted at once") func flushDropsMissing() throws {
    try nodes.write { rows, graph throws in
      try rows.set(Node(Link("e", "late", .deleteSourceIfDestinationDeleted)), for: "a")
      try graph.flush()
      #expect(graph.count() == 0)
      #expect(try !rows.contains("a"))
      try rows.set(Node(), for: "late")
    }
    #expect(try nodes.keys() == ["late"])
  }

  @Test("A row removed and stored again in one transaction has not gone", arguments: [4, 8, 12], ["a", "b"])
  func reinserted(rules: UInt8, key: String) throws {
    try set(["a": [Link("e", "b", EdgeRules(rawValue: rules))], "b": []])
    try nodes.write { _, graph throws in
      try graph.add(Edge("by hand", from: .nodes, "b", to: .nodes, "a", rules: EdgeRules(rawValue: rules)))
    }
    try nodes.write { rows, graph throws in
      let node = try #require(try rows.get(key))
      try rows.remove(key)
      #expect(graph.count() == 0)
      try rows.set(node, for: key)
      #expect(graph.count() == 2)
    }
    #expect(try nodes.keys() == ["a", "b"] && nodes.edges() == ["by hand", "e"])
    // It is what edges know that goes the next time.
    try remove(key)
    #expect(try nodes.edges().isEmpty && nodes.keys().isEmpty)
  }

  @Test("The order inside a transaction does not count", arguments: 0..<6)
  func theOrderOfCallsDoesNotCount(_ index: Int) throws {
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]
    try set(["old": [], "child": [Link("parent", "old", .deleteSourceIfDestinationDeleted)]])
    try nodes.write { rows, _ throws in
      for step in orders[index] {
        switch step {
        case 0: try rows.remove("old")
        case 1: try rows.set(Node(Link("parent", "new", .deleteSourceIfDestinationDeleted)), for: "child")
        default: try rows.set(Node(), for: "new")
        }
      }
    }
    #expect(try nodes.keys() == ["child", "new"] && nodes.edges() == ["parent"])
  }

  @Test("An edge that came and went in one transaction has no consequences") func passingEdges() throws {
    let own = EdgeRules.deleteDestinationIfSourceDeleted
    try nodes.write { rows, graph throws in
      try rows.set(Node(Link("e", "x", own)), for: "s")
      try rows.set(Node(), for: "s")
      try rows.set(Node(), for: "x")
      try rows.set(Node(Link("e", "y", own)), for: "s")
      try rows.set(Node(), for: "y")
      try rows.set(Node(), for: "s")
      try graph.add(Edge("f", from: .nodes, "s", to: .nodes, "x", rules: own))
      #expect(try graph.remove(Edge("f", from: .nodes, "s", to: .nodes, "x"), as: .sourceDeleted))
    }
    #expect(try nodes.keys() == ["s", "x", "y"] && nodes.edges().isEmpty)
    // And one that went and came back.
    try set(["s": [Link("e", "x", own)]])
    try nodes.write { rows, _ throws in
      try rows.set(Node(), for: "s")
      try rows.set(Node(Link("e", "x", own)), for: "s")
    }
    #expect(try nodes.keys() == ["s", "x", "y"] && nodes.edges() == ["e"])
  }

  @Test("What a row named last goes with it, also in the transaction that has stored it", arguments: [false, true])
  func removedWithItsEdges(isStoredLate: Bool) throws {
    try nodes.write { rows, _ throws in
      try rows.set(Node(Link("e", "x", .deleteDestinationIfSourceDeleted)), for: "s")
      if !isStoredLate { try rows.set(Node(), for: "x") }
      try rows.remove("s")
      if isStoredLate { try rows.set(Node(), for: "x") }
    }
    #expect(try nodes.keys().isEmpty)
  }

  @Test("An edge by hand that is taken away in time has no consequences", arguments: [false, true])
  func takenAwayByHand(isRowFirst: Bool) throws {
    let edge = Edge("e", from: .nodes, "a", to: .nodes, "b", rules: .deleteSourceIfDestinationDeleted)
    try set(["a": [], "b": []])
    try nodes.write { _, graph throws in try graph.add(edge) }
    try nodes.write { rows, graph throws in
      if isRowFirst { try rows.remove("b") }
      #expect(try graph.remove(edge))
      if !isRowFirst { try rows.remove("b") }
    }
    #expect(try nodes.keys() == ["a"])
  }

  // MARK: When

  @Test("What rules do is seen after the commit, or after `flush`; edges of removed rows are left out at once")
  func whenRulesAreApplied() throws {
    try set(["a": [Link("e", "b", .deleteDestinationIfSourceDeleted)], "b": []])
    try nodes.write { rows, graph throws in
      try rows.remove("a")
      #expect(graph.count() == 0 && Array(graph.edges(to: .nodes, "b")).isEmpty)
      #expect(try rows.contains("b"))
      try graph.flush()
      #expect(try !rows.contains("b"))
    }
  }

  @Test("Cycles end") func cycles() throws {
    let rule = EdgeRules.deleteDestinationIfSourceDeleted
    try set([
      "a": [Link("e", "b", rule)], "b": [Link("e", "c", rule)], "c": [Link("e", "a", rule), Link("e", "c", rule)],
    ])
    try remove("b")
    #expect(try nodes.keys().isEmpty && nodes.edges().isEmpty)
    try set(["a": [Link("e", "a", [rule, .deleteSourceIfDestinationDeleted, .notifyIfSourceDeleted])]])
    try remove("a")
    #expect(try nodes.keys().isEmpty && nodes.edges().isEmpty)
  }

  /// Shorter than the real thing, which `QUIRE_CHAIN_ROWS=100000` asks for.
  @Test("Chains of any length end") func chains() throws {
    let count = environmentNumber("QUIRE_CHAIN_ROWS") ?? TestSize.trials(10_000, divisor: 10)
    let rules: EdgeRules = [.deleteDestinationIfSourceDeleted, .deleteSourceIfDestinationDeleted]
    try nodes.db.write { tx throws in
      for index in 0..<count { try tx[.nodes].set(Node(Link("next", "\(index + 1)", rules)), for: "\(index)") }
      try tx[.nodes].set(Node(), for: "\(count)")
    }
    #expect(try nodes.read { rows, graph throws in rows.count + graph.count() } == 2 * count + 1)
    _ = try nodes.db.write { tx throws in try tx[.nodes].remove("\(count / 2)") }
    #expect(try nodes.keys().isEmpty && nodes.edges().isEmpty)
  }

  @Test("Removing many rows or a collection obeys the rules of each") func removingMany() throws {
    let rule = EdgeRules.deleteDestinationIfSourceDeleted
    try nodes.db.write { tx throws in
      for index in 0..<2000 {
        try tx[.others].set(Node(), for: "\(index)")
        try tx[.nodes].set(Node(), for: "\(index)")
        try tx.relationship(nodes.graph).add(
          Edge("e", from: .nodes, "\(index)", to: .others, "\(index)", rules: rule))
      }
    }
    _ = try nodes.write { rows, _ throws in try rows.remove((0..<1000).map { "\($0)" }) }
    #expect(try nodes.db.read { tx throws in tx[.others].count } == 1000)
    _ = try nodes.write { rows, _ throws in try rows.removeAll() }
    #expect(try nodes.db.read { tx throws in tx.count } == 0)
    #expect(try nodes.edges().isEmpty)
  }

  @Test("Removing all rows drops all edges") func removingAll() throws {
    try set(["a": [Link("e", "b", .deleteDestinationIfSourceDeleted)], "b": []])
    try nodes.db.write { tx throws in
      let graph = try tx.relationship(nodes.graph)
      try graph.add(Edge("f", from: .nodes, "b", to: .nodes, "later", rules: .deleteSourceIfDestinationDeleted))
      try tx.removeAll()
      #expect(graph.count() == 0)
      try tx[.nodes].set(Node(Link("e", "b")), for: "a")
      try tx[.nodes].set(Node(), for: "b")
    }
    #expect(try nodes.keys() == ["a", "b"] && nodes.edges() == ["e"])
  }

  @Test("Savepoints and rollbacks bring edges, and what is to be done, back") func undoing() throws {
    struct Undo: Error {}
    let rule = EdgeRules.deleteDestinationIfSourceDeleted
    try set(["a": [Link("e", "b", rule)], "b": []])
    try nodes.db.write { tx throws in
      let graph = try tx.relationship(nodes.graph)
      try graph.add(Edge("f", from: .nodes, "b", to: .nodes, "late", rules: .deleteSourceIfDestinationDeleted))
      try? tx.savepoint { () throws in
        try tx[.nodes].remove("a")
        try tx[.nodes].set(Node(Link("g", "nobody")), for: "late")
        try graph.add(Edge("new name", from: .nodes, "b", to: .nodes, "nowhere"))
        throw Undo()
      }
      #expect(graph.count() == 2 && graph.count(named: "new name") == 0)
      try graph.checkInvariants()
      // The name was undone with its number.
      try graph.add(Edge("new name", from: .nodes, "a", to: .nodes, "b"))
      try tx[.nodes].set(Node(), for: "late")
    }
    #expect(try nodes.keys() == ["a", "b", "late"] && nodes.edges() == ["e", "f", "new name"])
    try? nodes.db.write { tx throws in
      try tx[.nodes].remove("a")
      try tx.relationship(nodes.graph).flush()
      throw Undo()
    }
    #expect(try nodes.keys() == ["a", "b", "late"] && nodes.edges() == ["e", "f", "new name"])
  }

  @Test("Several relationships count their own edges") func severalRelationships() throws {
    let second = Relationship("second")
    try nodes.db.register(second)
    let rule = EdgeRules.deleteDestinationIfAllSourcesDeleted
    try set(["a": [Link("e", "d", rule)], "b": [], "d": []])
    try nodes.db.write { tx throws in
      try tx.relationship(second).add(Edge("e", from: .nodes, "b", to: .nodes, "d", rules: rule))
      #expect(try tx.relationship(second).count() == 1 && tx.relationship(nodes.graph).count() == 1)
    }
    try remove("b")
    #expect(try nodes.keys() == ["a"] && nodes.edges().isEmpty)
    #expect(try nodes.db.read { tx throws in try tx.relationship(second).count() } == 0)
  }
}
