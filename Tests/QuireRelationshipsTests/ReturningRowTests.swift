// Rows that are stored again: by another extension when a rule deletes them, or by the app in the same transaction.

import Quire
@testable import QuireRelationships
import Testing

/// Stores a node again when it is removed: with an edge to one that is not there, `count` times for each transaction.
private struct Reviving: DatabaseExtension {
  static let kind = "reviving"
  let name = "reviving"
  let version = "1"
  let collections = CollectionFilter.all
  let halves = ChangedHalves.object
  var count: Int
  var isRenaming = false

  func makeReader(_ store: ExtensionStore) throws -> Int { 0 }
  func makeWriter(_ store: ExtensionStore) throws -> Writer { Writer(store, self) }

  final class Writer: ExtensionWriter {
    let store: ExtensionStore
    private let settings: Reviving
    private var revived = 0

    init(_ store: ExtensionStore, _ settings: Reviving) {
      self.store = store
      self.settings = settings
    }

    func willBuild(_ reason: ExtensionBuildReason) throws {}

    func didChange(_ change: RowChange) throws {
      guard change.kind == .remove, change.key.hasPrefix("phoenix"), revived < settings.count,
        let tx = store.writeTransaction
      else { return }
      revived += 1
      let key = settings.isRenaming ? "phoenix \(revived)" : change.key
      try tx[.nodes].set(Node(Link("e", "gone", .deleteSourceIfDestinationDeleted)), for: key)
    }
  }
}

@Suite("Rows that come back") struct ReturningRowTests {
  /// Removes the node that the one which comes back has an edge to.
  private func removeTarget(_ reviving: Reviving) throws -> NodeDatabase {
    let nodes = try NodeDatabase()
    try nodes.db.register(reviving)
    try nodes.write { rows, _ throws in
      try rows.set(Node(), for: "target")
      try rows.set(Node(Link("e", "target", .deleteSourceIfDestinationDeleted)), for: "phoenix")
    }
    try nodes.write { rows, _ throws in _ = try rows.remove("target") }
    return nodes
  }

  @Test("What comes back some times is deleted as often", arguments: [false, true])
  func someTimes(isRenaming: Bool) throws {
    let nodes = try removeTarget(Reviving(count: 60, isRenaming: isRenaming))
    #expect(try nodes.keys().isEmpty && nodes.edges().isEmpty)
  }

  @Test("What comes back for ever is an error that names it", .timeLimit(.minutes(1)), arguments: [false, true])
  func forEver(isRenaming: Bool) throws {
    let error = #expect(throws: DatabaseError.self) {
      try removeTarget(Reviving(count: 100_000, isRenaming: isRenaming))
    }
    #expect(error?.code == .hooksTooDeep && error?.collection == "nodes")
    #expect(error?.key?.hasPrefix("phoenix") == true)
  }

  // MARK: Rows that the app stores again

  /// Removes the nodes at both ends of an edge, and stores one of them again.
  private func removeBoth(
    _ rules: EdgeRules, storing key: String, byHand: Bool, keeping noted: Int
  ) throws -> NodeDatabase {
    var graph = nodeGraph()
    graph.settings.notedCount = noted
    let nodes = try NodeDatabase(graph)
    try nodes.write { rows, graph throws in
      try rows.set(byHand ? Node() : Node(Link("e", "b", rules)), for: "a")
      try rows.set(Node(), for: "b")
      if byHand { try graph.add(Edge("e", from: .nodes, "a", to: .nodes, "b", rules: rules)) }
    }
    try nodes.write { rows, _ throws in
      for key in ["a", "b"] { try rows.remove(key) }
      try rows.set(Node(), for: key)
    }
    return nodes
  }

  @Test(
    "A row that comes back without the other row of its edge has lost the edge, and goes if a rule says so",
    arguments: [0, 100])
  func oneOfBoth(noted: Int) throws {
    // A source that is stored again names what it names then: only its edges by hand are those of before.
    for (key, byHand, rules) in [
      ("b", false, EdgeRules.deleteDestinationIfSourceDeleted), ("b", true, .deleteDestinationIfSourceDeleted),
      ("a", true, .deleteSourceIfDestinationDeleted),
    ] {
      let gone = try removeBoth(rules, storing: key, byHand: byHand, keeping: noted)
      #expect(try gone.keys().isEmpty && gone.edges().isEmpty)
      let left = try removeBoth([], storing: key, byHand: byHand, keeping: noted)
      #expect(try left.keys() == [key] && left.edges().isEmpty)
    }
  }
}
