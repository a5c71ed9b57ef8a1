// What a transaction notes of edges: in memory, and in trees where there is much of it.

import Quire
@testable import QuireRelationships
import QuireTesting
import Testing

@Suite("Changes of edges that are noted") struct NotedChangeTests {
  private struct Undo: Error {}

  /// A relationship that keeps so many changes in memory.
  private func graph(keeping count: Int) -> Relationship<Node> {
    var graph = nodeGraph()
    graph.settings.notedCount = count
    return graph
  }

  private func parent(_ nodes: NodeDatabase, children: Int, _ rules: EdgeRules) throws {
    try nodes.write { rows, _ throws in
      try rows.set(Node(), for: "parent")
      for index in 0..<children { try rows.set(Node(Link("parent", "parent", rules)), for: "c\(index)") }
    }
  }

  @Test(
    "Children go with their parent, however many of them are noted in memory",
    arguments: TestSize.some([0, 1, 7, 2000, 4000], of: 3))
  func childrenGoWithTheirParent(noted: Int) throws {
    let nodes = try NodeDatabase(graph(keeping: noted))
    let children = TestSize.trials(3000, divisor: 4)
    try parent(nodes, children: children, .deleteSourceIfDestinationDeleted)
    try nodes.write { rows, graph throws in
      try rows.remove("parent")
      try graph.checkInvariants()
      #expect(rows.count == children)
      try graph.flush()
      #expect(rows.count == 0)
    }
    #expect(try nodes.keys().isEmpty && nodes.edges().isEmpty)
  }

  @Test("A parent that comes back keeps its children", arguments: [0, 1, 7, 100])
  func aParentComesBack(noted: Int) throws {
    let nodes = try NodeDatabase(graph(keeping: noted))
    try parent(nodes, children: 20, .deleteSourceIfDestinationDeleted)
    try nodes.write { rows, graph throws in
      try rows.remove("parent")
      try rows.remove("c3")
      try rows.set(Node(), for: "parent")
      try graph.checkInvariants()
    }
    #expect(try nodes.keys().count == 20 && nodes.edges().count == 19)
  }

  @Test("A savepoint that is undone takes back what was noted in it", arguments: [0, 1, 7, 25, 100], [0, 3])
  func aSavepointIsUndone(noted: Int, before: Int) throws {
    let nodes = try NodeDatabase(graph(keeping: noted))
    try parent(nodes, children: 30, [])
    try nodes.db.write { tx throws in
      let (rows, graph) = (tx[.nodes], try tx.relationship(nodes.graph))
      for index in 0..<before { try rows.remove("c\(index)") }
      for isFlushed in [false, true] {
        #expect(throws: Undo.self) {
          try tx.savepoint {
            try rows.remove("parent")
            for index in 10..<20 { try rows.remove("c\(index)") }
            try graph.checkInvariants()
            if isFlushed { try graph.flush() }
            try rows.set(Node(), for: "new")
            throw Undo()
          }
        }
        try graph.checkInvariants()
        #expect(rows.count == 31 - before && graph.count() == 30 - before)
      }
      // What was noted before the savepoint is there as it was.
      for index in 0..<before { try rows.set(Node(Link("parent", "parent")), for: "c\(index)") }
      try graph.checkInvariants()
    }
    #expect(try nodes.keys().count == 31 && nodes.edges().count == 30)
  }

  @Test("A dropped edge goes by the rules that it had before, whatever was undone between", arguments: [0, 100])
  func rulesAreReplacedBeforeASavepoint(noted: Int) throws {
    let nodes = try NodeDatabase(graph(keeping: noted))
    try nodes.write { rows, _ throws in
      try rows.set(Node(), for: "owned")
      try rows.set(Node(Link("e", "owned", .deleteDestinationIfSourceDeleted)), for: "owner")
    }
    try nodes.db.write { tx throws in
      let (rows, graph) = (tx[.nodes], try tx.relationship(nodes.graph))
      try rows.set(Node(Link("e", "owned")), for: "owner")
      // Rules that are applied have nothing noted any more; undone, what was noted before is back.
      #expect(throws: Undo.self) {
        try tx.savepoint {
          try graph.flush()
          throw Undo()
        }
      }
      try graph.checkInvariants()
      try rows.set(Node(), for: "owner")
    }
    #expect(try nodes.keys() == ["owner"] && nodes.edges().isEmpty)
  }

  // MARK: The form in memory

  private func edge(_ random: inout SeededRandom) -> StoredEdge {
    let end: StoredDestination =
      random.below(4) == 0
      ? .file([UInt8](repeating: 97, count: 1 + random.below(2)) + [UInt8(98 + random.below(3))])
      : .row(Int64(random.below(12)) - 3)
    return StoredEdge(
      name: UInt32(random.below(3)), source: Int64(random.below(400)) - 9, destination: end,
      isDerived: random.below(2) == 0, rules: EdgeRules(rawValue: UInt8(random.below(64))))
  }

  @Test("Changes in memory have the order of the trees' keys, and are those of a dictionary")
  func changesInMemoryAreInOrder() {
    var random = SeededRandom(seed: 5)
    var memory = NetMemory()
    var model: [[UInt8]: NetChange] = [:]
    let count = TestSize.trials(20_000, divisor: 4)
    for step in 0..<count {
      let edge = edge(&random)
      let isRemoved = random.below(3) == 0 || step > count * 3 / 4
      if isRemoved {
        memory.remove(edge)
        model[edge.sourceKey] = nil
      } else {
        let change = NetChange(edge, before: edge.rules, .hidden)
        memory.put(change)
        model[edge.sourceKey] = change
      }
      #expect(memory.find(edge)?.edge == model[edge.sourceKey]?.edge)
      guard step % 500 == 0 else { continue }
      #expect(memory.brokenInvariant() == nil)
      let row = Int64(random.below(12)) - 3
      for range in [EdgeRange.all, .source(row), .derived(of: row), .destination(row), .files] {
        let expected = model.values.map(\.edge).map { (key: $0.key(range.order), edge: $0) }
          .filter { $0.key.starts(with: range.prefix) }
          .sorted { $0.key.lexicographicallyPrecedes($1.key) }.map(\.edge)
        var found: [StoredEdge] = []
        memory.forEach(range) {
          found.append($0.edge)
          return true
        }
        #expect(found == expected)
      }
    }
    #expect(memory.count == model.count)
  }

  @Test("Elements that come in their order are appended, and copies do not change each other")
  func copiesAreApart() {
    var chunks = OrderedChunks<Int>()
    for number in 0..<1000 { chunks.put(number * 2) }
    let copy = chunks
    for number in 0..<1000 { chunks.put(number * 2 + 1) }
    for number in 0..<500 { chunks.remove(number) }
    #expect(chunks.count == 1500 && chunks.brokenInvariant() == nil)
    #expect(copy.count == 1000 && copy.brokenInvariant() == nil && copy.find(1) == nil && copy.find(2) == 2)
  }

  @Test("Edges to rows are written and read without arrays as they are with them")
  func keysAreTheSame() {
    var random = SeededRandom(seed: 9)
    for _ in 0..<500 {
      let edge = edge(&random)
      for order in EdgeOrder.all {
        edge.withKey(order) { #expect(unsafe $0.withUnsafeBytes { unsafe Array($0) } == edge.key(order)) }
        let read = unsafe edge.key(order).withUnsafeBytes { key in
          unsafe [edge.rules.rawValue].withUnsafeBytes { unsafe StoredEdge(toRow: order, key, $0) }
        }
        #expect(read == (edge.destinationRow == nil ? nil : edge))
      }
    }
  }
}
