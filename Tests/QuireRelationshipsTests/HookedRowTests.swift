// Rows that hooks change before the relationship hears of them.

import Quire
import QuireTesting
import Synchronization
import Testing

@Suite("Rows that hooks change before a relationship hears of them") struct HookedRowTests {
  /// What hooks and the app draw from.
  private final class Draws: Sendable {
    private let random: Mutex<SeededRandom>
    private let budget = Mutex(0)

    init(_ seed: UInt64) { random = Mutex(SeededRandom(seed: seed)) }

    func below(_ bound: Int) -> Int { random.withLock { $0.below(bound) } }

    /// Lets hooks make some more changes.
    func refill() {
      let count = below(4)
      budget.withLock { $0 = count }
    }

    /// Whether a hook makes one.
    func take() -> Bool {
      budget.withLock { budget in
        guard budget > 0 else { return false }
        budget -= 1
        return true
      }
    }

    func key() -> String { "n\(below(6))" }

    func node() -> Node { Node(links: (0..<below(3)).map { Link("e\($0)", "t\(below(6))") }) }

    /// Makes one change, of the row at hand more often than of another.
    func change(_ rows: WritableRows<Node, NoMetadata>, _ atHand: String? = nil) throws {
      let key = below(3) == 0 ? key() : atHand ?? key()
      switch below(8) {
      case 0...2: try rows.set(node(), for: key)
      case 3: try rows.replace(node(), for: key)
      case 4: try rows.remove(key)
      case 5:
        try rows.remove(key)
        try rows.set(node(), for: key)
      case 6: try rows.remove([key, "n0", "n1"])
      default: if below(4) == 0 { try rows.remove((0..<6).map { "n\($0)" }) }
      }
    }
  }

  @Test(
    "The edges are those of the rows as they are at the end",
    arguments: TestSize.some(1...4 as ClosedRange<UInt64>, of: 2))
  func edgesAreThoseOfRows(seed: UInt64) throws {
    let db = try Database.inMemory()
    let draws = Draws(seed)
    var hooks = Hooks("hooks", collections: .only(["nodes"]))
    hooks.didModify = { tx, change, _ in if draws.take() { try draws.change(tx[.nodes], change.key) } }
    hooks.didRemove = { tx, change in if draws.take() { try draws.change(tx[.nodes], change.key) } }
    try db.register(hooks)
    let graph = Relationship<Node>("graph", over: .nodes)
    try db.register(graph)
    // The rows that edges lead to stay.
    try db.write { tx throws in for number in 0..<6 { try tx[.nodes].set(Node(), for: "t\(number)") } }
    for _ in 0..<TestSize.trials(300, divisor: 2) {
      draws.refill()
      try db.write { tx throws in try draws.change(tx[.nodes]) }
      try db.read { tx throws in
        var expected: Set<String> = []
        for key in tx[.nodes].keys {
          for link in try tx[.nodes].get(key)?.links ?? [] {
            expected.insert("\(key) \(link.name) \(link.target)")
          }
        }
        var found: Set<String> = []
        for edge in try tx.relationship(graph).edges() {
          guard let source = edge.source, case .row(let target) = edge.destination else { continue }
          found.insert("\(source.key) \(edge.name) \(target.key)")
        }
        #expect(found == expected)
      }
    }
    try db.checkInvariants()
  }

  private struct Undo: Error {}

  @Test("A savepoint that a hook undoes while rules are applied has none of them applied twice")
  func savepointWhileRulesAreApplied() throws {
    let db = try Database.inMemory()
    let graph = nodeGraph()
    var hooks = Hooks("hooks", collections: .only(["nodes"]))
    hooks.didRemove = { tx, change in
      guard change.key == "b" else { return }
      #expect(throws: Undo.self) { try tx.savepoint { throw Undo() } }
      try tx.relationship(graph).flush()
    }
    try db.register(hooks)
    try db.register(graph)
    try db.write { tx throws in
      for key in ["b", "y"] { try tx[.nodes].set(Node(), for: key) }
      try tx[.nodes].set(Node(Link("ab", "b", .deleteDestinationIfSourceDeleted)), for: "a")
      try tx[.nodes].set(Node(Link("xy", "y", .notifyIfSourceDeleted)), for: "x")
    }
    try db.write { tx throws in
      try tx[.nodes].remove("a")
      // Names the edge no more, and is there to be told of.
      try tx[.nodes].set(Node(), for: "x")
    }
    try db.read { tx throws in
      #expect(Array(tx[.nodes].keys) == ["x", "y"])
      #expect(try tx[.nodes].get("y")?.told == ["xy sourceDeleted"])
    }
  }
}
