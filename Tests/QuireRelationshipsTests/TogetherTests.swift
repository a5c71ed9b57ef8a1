// Rows that go together beside rows that go one by one: the same is left, and the same is reported.

import Quire
import QuireDatabase
@testable import QuireRelationships
import QuireTesting
import Testing

@Suite("Rows that rules delete together") struct TogetherTests {
  private static let collections: [RowCollection<Node, NoMetadata>] = [.nodes, .others]

  /// A relationship over both collections that tells nobody.
  private static func graph(_ removed: Recorder) -> Relationship<Never> {
    var graph = Relationship("graph")
    for collection in collections { graph = graph.deriving(over: collection) { node in try node.links.map(edge) } }
    graph.fileRemoval = { removed.append($0) }
    return graph
  }

  private static func edge(_ link: Link) throws -> Edge {
    let rules = EdgeRules(rawValue: link.rules)
    if link.isFile { return Edge(link.name, toFile: link.target, rules: rules) }
    return Edge(link.name, to: collections[link.target.utf8.count % 2], key: link.target, rules: rules)
  }

  /// One of the two databases, and what came of it.
  private struct Life {
    let db: Database
    let removed = Recorder()
    let graph: Relationship<Never>

    /// - Parameter isFollowed: whether hooks hear of each row that goes, so that none go together.
    init(isFollowed: Bool) throws {
      db = try Database.inMemory()
      graph = TogetherTests.graph(removed)
      try db.register(graph)
      guard isFollowed else { return }
      var hooks = Hooks("hooks")
      hooks.didRemove = { _, _ in }
      try db.register(hooks)
    }

    /// All that there is.
    func content() throws -> [String] {
      try db.read { tx throws in
        let graph = try tx.relationship(graph)
        try graph.checkInvariants()
        let keys = TogetherTests.collections.flatMap { collection in
          tx[collection].keys(from: nil, upTo: nil).map { "\(collection.name)/\($0)" }
        }
        return keys + graph.edges().map(\.description).sorted()
      }
    }
  }

  private func rules(_ random: inout SeededRandom, isFile: Bool) -> EdgeRules {
    let destination: [EdgeRules] = [[], .deleteDestinationIfSourceDeleted, .deleteDestinationIfAllSourcesDeleted]
    if isFile { return destination[random.below(3)] }
    let source: [EdgeRules] = [.deleteSourceIfDestinationDeleted, .deleteSourceIfAllDestinationsDeleted, []]
    return source[random.below(2) == 0 ? random.below(3) : 0].union(destination[max(0, random.below(9) - 6)])
  }

  @Test(
    "What is left is the same as of rows that go one by one",
    arguments: TestSize.some(1...6 as ClosedRange<UInt64>, of: 2))
  func theSameIsLeft(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let lives = [try Life(isFollowed: false), try Life(isFollowed: true)]
    let keyCount = [40, 1500][Int(seed % 2)]
    for _ in 0..<(keyCount == 40 ? TestSize.trials(60, divisor: 8) : TestSize.trials(8, least: 3)) {
      var steps: [(key: String, node: Node?)] = []
      for _ in 0..<keyCount / 2 {
        let key = "k\(random.below(keyCount))"
        // Most lead to a few rows.
        let links = (0..<random.below(3)).map { index in
          let isFile = random.below(12) == 0
          let target = isFile ? "f\(random.below(5))" : "k\(random.below(random.below(4) == 0 ? keyCount : 6))"
          return Link("e\(index)", target, rules(&random, isFile: isFile), isFile: isFile)
        }
        steps.append((key, random.below(random.below(3) == 0 ? 4 : 40) == 0 ? nil : Node(links: links)))
      }
      steps.append(("k\(random.below(6))", nil))
      var counts: [Int] = []
      for life in lives {
        let rowIDs = try life.db.write { tx throws in
          for step in steps {
            let rows = tx[Self.collections[step.key.utf8.count % 2]]
            if let node = step.node { try rows.set(node, for: step.key) } else { try rows.remove(step.key) }
          }
          return Self.collections.map { tx[$0].count }
        }
        counts += rowIDs
      }
      #expect(try lives[0].content() == lives[1].content())
      #expect(lives[0].removed.values.sorted() == lives[1].removed.values.sorted())
      try lives[0].db.verify()
    }
  }
}
