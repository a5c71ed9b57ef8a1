// Trees of a relationship that disagree, from a file that anybody may have written: the check finds them, and what its
// error advises helps.

import Quire
import QuireStorage
import QuireTesting
import Testing

@Suite("Forged trees of relationships") struct ForgedEdgeTests {
  enum Forgery: CaseIterable, Sendable {
    case nameWithOtherNumber, nameOfNoNumber, edgeInOneTree, leftoverOfDrops, leftoverOfChanges, leftoverOfRows
  }

  private static func forge(
    _ forgery: Forgery, _ tree: Tree, _ name: String, _ tx: borrowing QuireStorage.WriteTransaction
  ) throws {
    switch (forgery, name) {
    case (.nameWithOtherNumber, "names"): try tx.put([0, 0, 0, 9], for: Array("next".utf8), in: tree)
    case (.nameOfNoNumber, "names"): try tx.put([1], for: Array("next".utf8), in: tree)
    case (.edgeInOneTree, "byDestination"): try tx.deleteAll(in: tree)
    case (.leftoverOfDrops, "dropped"): try tx.put([1, 2, 3], for: 7 as Int64, in: tree)
    case (.leftoverOfChanges, "touched"): try tx.put([1, 2, 3], for: [7], in: tree)
    case (.leftoverOfRows, "removedKeys"): try tx.put([1, 2, 3], for: 7 as Int64, in: tree)
    default: break
    }
  }

  @Test(arguments: Forgery.allCases) func treesThatDisagreeAreFound(_ forgery: Forgery) throws {
    let folder = try TestFolder()
    let db = try folder.open()
    let graph = nodeGraph()
    try db.register(graph)
    try db.write { tx throws in
      for number in 0..<20 { try tx[.nodes].set(Node(Link("next", "n\((number + 1) % 20)")), for: "n\(number)") }
    }
    try db.read { tx throws in try tx.relationship(graph).checkInvariants() }
    try db.close()
    let engine = try StorageEngine(at: folder.path)
    try engine.write { tx in
      for name in tx.treeNames where name.hasPrefix("quire.extension.") {
        guard let tree = tx.tree(named: name) else { continue }
        try Self.forge(forgery, tree, String(name.split(separator: ".").last ?? ""), tx)
      }
    }
    try engine.close()
    let again = try folder.open()
    try again.register(graph)
    let found = errorCode { try again.read { tx throws in try tx.relationship(graph).checkInvariants() } }
    #expect(found == .damagedRow)
    try again.verify()
    try again.unregister(extensionNamed: graph.name)
    try again.register(graph)
    try again.read { tx throws in
      let reader = try tx.relationship(graph)
      try reader.checkInvariants()
      #expect(Array(reader.edges(named: "next")).count == 20)
    }
    try again.close()
  }
}
