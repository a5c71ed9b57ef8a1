// Hooks and closures that clear everything while rules are applied.

import Quire
@testable import QuireRelationships
import QuireTesting
import Testing

@Suite("Clearing everything while rules are applied") struct ClearingTests {
  private struct Undo: Error {}

  private static let childCount = TestSize.trials(3000, divisor: 10)
  /// How many changes are noted in memory: none, a few, half of them, all.
  private static let notedCounts = [0, 2, childCount / 2, 100_000]

  /// A hub that nodes lead to, which go with it, and what comes of clearing all when the node in their middle goes.
  private func clear(
    keeping noted: Int, _ children: Int = childCount, storing: Bool, undoing: Bool = false
  ) throws -> (nodes: [String], edges: [String]) {
    var graph = nodeGraph()
    graph.settings.notedCount = noted
    let db = try Database.inMemory()
    var hooks = Hooks("hooks", collections: .only(["nodes"]))
    let middle = "c\(children / 2)"
    @Sendable func restart(_ tx: WriteTransaction) throws {
      try tx.removeAll()
      guard storing else { return }
      // These are nobody's edges that were looked at before.
      try tx[.nodes].set(Node(), for: "new hub")
      for index in 0..<5 {
        try tx[.nodes].set(Node(Link("new", "new hub", .deleteSourceIfDestinationDeleted)), for: "new \(index)")
      }
      try tx[.nodes].remove("new hub")
      try tx[.nodes].set(Node(), for: "left")
    }
    hooks.didRemove = { tx, change in
      guard change.key == middle else { return }
      guard undoing else { return try restart(tx) }
      #expect(throws: Undo.self) {
        try tx.savepoint {
          try restart(tx)
          throw Undo()
        }
      }
    }
    try db.register(hooks)
    try db.register(graph)
    try db.write { tx throws in
      try tx[.nodes].set(Node(), for: "hub")
      try tx[.nodes].set(Node(), for: "other")
      for index in 0..<children {
        try tx[.nodes].set(Node(Link("hub", "hub", .deleteSourceIfDestinationDeleted)), for: "c\(index)")
      }
    }
    try db.write { tx throws in try tx[.nodes].remove("hub") }
    try db.checkInvariants()
    return try db.read { tx throws in
      let graph = try tx.relationship(graph)
      try graph.checkInvariants()
      return (Array(tx[.nodes].keys), graph.edges().map(\.name))
    }
  }

  @Test("A hook that clears all leaves nothing, and what it stores then stays", arguments: notedCounts)
  func aHookClearsAll(noted: Int) throws {
    let cleared = try clear(keeping: noted, storing: false)
    #expect(cleared.nodes.isEmpty && cleared.edges.isEmpty)
    let stored = try clear(keeping: noted, storing: true)
    #expect(stored.nodes == ["left"] && stored.edges.isEmpty)
  }

  @Test("A hook that takes back that it has cleared all has the rules go on", arguments: notedCounts)
  func aHookTakesItBack(noted: Int) throws {
    let left = try clear(keeping: noted, storing: true, undoing: true)
    #expect(left.nodes == ["other"] && left.edges.isEmpty)
  }

  @Test("A row that is told may clear all", arguments: [0, 2, 100_000], [false, true])
  func aToldRowClearsAll(noted: Int, storing: Bool) throws {
    var graph = Relationship<Node>("graph", over: .nodes).notifying(
      .nodes, telling: { object, _, _, _ in object },
      replacing: { _, _, tx in
        try tx.removeAll()
        if storing { try tx[.nodes].set(Node(Link("hub", "hub")), for: "left") }
        if storing { try tx[.nodes].set(Node(), for: "hub") }
      })
    graph.settings.notedCount = noted
    let nodes = try NodeDatabase(graph)
    try nodes.write { rows, _ throws in
      try rows.set(Node(), for: "hub")
      for index in 0..<40 { try rows.set(Node(Link("e", "hub", .notifyIfDestinationDeleted)), for: "n\(index)") }
      for index in 0..<40 { try rows.set(Node(Link("d", "hub", .deleteSourceIfDestinationDeleted)), for: "d\(index)") }
    }
    try nodes.write { rows, _ throws in _ = try rows.remove("hub") }
    #expect(try nodes.keys() == (storing ? ["hub", "left"] : []))
    #expect(try nodes.edges() == (storing ? ["hub"] : []))
    try nodes.db.checkInvariants()
  }

  @Test("Rules that a hook has applied while it clears all end", arguments: [0, 2, 100_000])
  func aHookFlushes(noted: Int) throws {
    var graph = nodeGraph()
    graph.settings.notedCount = noted
    let nodes = try NodeDatabase(graph)
    try nodes.write { rows, graph throws in
      for round in 0..<3 {
        try rows.set(Node(), for: "hub")
        for index in 0..<20 {
          try rows.set(Node(Link("e", "hub", .deleteSourceIfDestinationDeleted)), for: "\(round) \(index)")
        }
        try graph.flush()
        try rows.remove("hub")
        if round == 1 { try rows.removeAll() }
        try graph.checkInvariants()
        try graph.flush()
        #expect(rows.count == 0)
      }
    }
  }

  // MARK: Others that are still to hear of a change

  @Test("A hook that has not heard of a change hears of it before rows go together")
  func pendingHooksComeFirst() throws {
    var other = Hooks("other", collections: .only(["others"]))
    let db = try Database.inMemory()
    var graph = Relationship("graph")
    graph = graph.deriving(over: .nodes) { node in node.links.map(\.edge) }
    let final = graph
    // The first one applies the rules; the second one, which hears later, adds an edge by hand that keeps a child.
    other.didRemove = { tx, _ in try tx.relationship(final).flush() }
    var late = Hooks("late", collections: .only(["others"]))
    late.didRemove = { tx, _ in
      try tx[.nodes].set(Node(), for: "c1")
      try tx.relationship(final).add(
        Edge("kept", from: .nodes, "c1", to: .nodes, "safe", rules: .deleteSourceIfDestinationDeleted))
    }
    try db.register(other)
    try db.register(late)
    try db.register(graph)
    try db.write { tx throws in
      for key in ["hub", "safe"] { try tx[.nodes].set(Node(), for: key) }
      try tx[.others].set(Node(), for: "signal")
      for index in 0..<6 {
        try tx[.nodes].set(Node(Link("e", "hub", .deleteSourceIfDestinationDeleted)), for: "c\(index)")
      }
    }
    try db.write { tx throws in
      try tx[.nodes].remove("hub")
      try tx[.others].remove("signal")
    }
    try db.read { tx throws in
      let edges = try tx.relationship(final).edges().map(\.name)
      let keys = Array(tx[.nodes].keys)
      #expect(keys == (edges.isEmpty ? ["safe"] : ["c1", "safe"]))
      try tx.relationship(final).checkInvariants()
    }
    try db.checkInvariants()
  }

  // MARK: Memory

  @Test("Long paths count as many edges") func longPathsWeighMore() {
    func edge(_ path: Int) -> StoredEdge {
      StoredEdge(
        name: 1, source: 1, destination: .file([UInt8](repeating: 97, count: path)), isDerived: true, rules: [])
    }
    #expect(edge(1).weight == 1 && edge(960).weight == 16)
    var memory = NetMemory()
    for round in 0..<2 {
      memory.put(NetChange(edge(960), before: nil, .stands))
      memory.put(NetChange(edge(64), before: nil, .hidden))
      #expect(memory.weight == 18 && memory.brokenInvariant() == nil, "round \(round)")
    }
    memory.remove(edge(960))
    memory.remove(edge(960))
    #expect(memory.weight == 2)
    var queue = EdgeQueue()
    for path in [960, 64, 1] {
      queue.append(DroppedEdge(edge: edge(path), sourceGone: true, destinationGone: false))
    }
    let first = queue.first
    #expect(queue.weight == 19 && first.edges.count == 3)
    queue.append(DroppedEdge(edge: edge(64), sourceGone: true, destinationGone: false))
    queue.removeFirst(below: first.end)
    #expect(queue.weight == 2 && queue.count == 1)
    let second = queue.first
    queue.removeAll()
    queue.append(DroppedEdge(edge: edge(128), sourceGone: true, destinationGone: false))
    queue.removeFirst(below: second.end)
    #expect(queue.weight == 3 && queue.count == 1)
  }
}
