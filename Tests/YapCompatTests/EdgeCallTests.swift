// Edges by hand, in the original's spellings.

import Foundation
import Quire
import QuireTesting
import Testing
import YapCompat

@Suite("Edges by hand in YapCompat") struct EdgeCallTests {
  private let fixture: YapFixture

  init() throws {
    fixture = try YapFixture()
    #expect(fixture.database.register(YapDatabaseRelationship(versionTag: "1"), withName: "graph"))
    try fixture.connection.readWrite { transaction in
      for key in ["a", "b", "c", "d"] {
        transaction.setObject(Song(title: key), forKey: key, inCollection: "songs")
      }
    }
  }

  private func edge(
    _ name: String, _ source: String, _ destination: String, _ rules: YDB_NodeDeleteRules = []
  ) -> YapDatabaseRelationshipEdge {
    YapDatabaseRelationshipEdge(
      name: name, sourceKey: source, collection: "songs", destinationKey: destination, collection: "songs",
      nodeDeleteRules: rules)
  }

  private func write(
    _ body: (YapDatabaseRelationshipTransaction, YapDatabaseReadWriteTransaction) throws -> Void
  ) throws {
    try fixture.connection.readWrite { transaction in
      try body(try #require(transaction.ext("graph") as? YapDatabaseRelationshipTransaction), transaction)
    }
  }

  private func keys() throws -> [String] {
    try fixture.connection.read { $0.allKeys(inCollection: "songs").sorted() }
  }

  @Test("An edge that is removed without a reason counts as one whose source has gone") func removal() throws {
    let rules = YDB_NodeDeleteRules.deleteDestinationIfAllSourcesDeleted
    try write { graph, _ in
      graph.add(edge("album", "a", "d", rules))
      graph.add(edge("album", "b", "d", rules))
      graph.add(edge("cover", "a", "c", .deleteSourceIfDestinationDeleted))
    }
    // Another one leads there still.
    try write { graph, _ in graph.remove(edge("album", "a", "d")) }
    #expect(try keys() == ["a", "b", "c", "d"])
    try write { graph, _ in graph.remove(edge("album", "b", "d")) }
    #expect(try keys() == ["a", "b", "c"])
    // The rule for the other end is not asked.
    try write { graph, _ in graph.remove(edge("cover", "a", "c")) }
    #expect(try keys() == ["a", "b", "c"])
  }

  @Test("Edges are removed by name and ends, for each reason") func removalByEnds() throws {
    for (reason, left) in [
      (YDB_NotifyReason.edgeDeleted, ["a", "b", "c", "d"]), (.destinationNodeDeleted, ["b", "c", "d"]),
    ] {
      try write { graph, _ in graph.add(edge("x", "a", "b", .deleteSourceIfDestinationDeleted)) }
      try write { graph, _ in
        graph.removeEdge(
          withName: "x", sourceKey: "a", collection: "songs", destinationKey: "b", collection: "songs",
          withProcessing: reason)
        // One that is not there.
        graph.removeEdge(
          withName: "x", sourceKey: "c", collection: "songs", destinationKey: "none", collection: nil,
          withProcessing: reason)
      }
      #expect(try keys() == left)
    }
    let file = URL(fileURLWithPath: fixture.folder.url.appendingPathComponent("file").path)
    try Data("x".utf8).write(to: file)
    for (reason, isThere) in [(YDB_NotifyReason.edgeDeleted, true), (.sourceNodeDeleted, false)] {
      try write { graph, _ in
        graph.add(
          YapDatabaseRelationshipEdge(
            name: "file", sourceKey: "b", collection: "songs", destinationFileURL: file,
            nodeDeleteRules: .deleteDestinationIfSourceDeleted))
      }
      try write { graph, _ in
        graph.removeEdge(
          withName: "file", sourceKey: "b", collection: "songs", destinationFileURL: file, withProcessing: reason)
      }
      #expect(FileManager.default.fileExists(atPath: file.path) == isThere)
    }
  }

  @Test("Edges are enumerated by name, source and destination") func enumerations() throws {
    let file = URL(fileURLWithPath: "/tmp/quire-no-such-file")
    try write { graph, _ in
      graph.add(edge("x", "a", "b"))
      graph.add(edge("x", "a", "c"))
      graph.add(edge("y", "c", "b"))
      graph.add(
        YapDatabaseRelationshipEdge(
          name: "f", sourceKey: "a", collection: "songs", destinationFileURL: file, nodeDeleteRules: []))
      var found: [String] = []
      let note: YapDatabaseRelationshipTransaction.EdgeBlock = { edge, _ in
        found.append("\(edge.name)\(edge.sourceKey ?? "")\(edge.destinationKey ?? "")")
      }
      func take() -> [String] {
        defer { found = [] }
        return found.sorted()
      }
      graph.enumerateEdges(withName: "x", using: note)
      #expect(take() == ["xab", "xac"])
      graph.enumerateEdges(withName: nil, sourceKey: "a", collection: "songs", using: note)
      #expect(take() == ["fa", "xab", "xac"])
      graph.enumerateEdges(withName: nil, destinationKey: "b", collection: "songs", using: note)
      #expect(take() == ["xab", "ycb"])
      graph.enumerateEdges(
        withName: "x", sourceKey: "a", collection: "songs", destinationKey: "c", collection: "songs", using: note)
      #expect(take() == ["xac"])
      graph.enumerateEdges(withName: "f", destinationFileURL: file, using: note)
      #expect(take() == ["fa"])
      graph.enumerateEdges(
        withName: "f", sourceKey: "b", collection: "songs", destinationFileURL: file, using: note)
      #expect(take() == [])
      graph.enumerateEdges(withName: nil) { edge, stop in
        note(edge, stop)
        stop.pointee = true
      }
      #expect(take().count == 1)
    }
  }

  @Test("Objects may keep edges among their fields") func edgesInObjects() throws {
    struct Holder: Codable, Equatable, Sendable {
      var edges: [YapDatabaseRelationshipEdge]
      var native: [Edge]
    }
    let file = URL(fileURLWithPath: "/tmp/x")
    let edges = [
      edge("x", "a", "b", [.deleteSourceIfDestinationDeleted, .notifyIfSourceDeleted]),
      YapDatabaseRelationshipEdge(name: "own", destinationKey: "k", collection: nil, nodeDeleteRules: []),
      YapDatabaseRelationshipEdge(name: "f", destinationFileURL: file, nodeDeleteRules: []),
    ]
    let holder = Holder(edges: edges, native: [Edge("n", to: .file("p")), Edge("n", to: .row(RowKey("c", "k")))])
    fixture.database.registerCodableSerialization(Holder.self, forCollection: "holders")
    try fixture.connection.readWrite { $0.setObject(holder, forKey: "h", inCollection: "holders") }
    fixture.connection.flushMemory(with: .all)
    let read = try fixture.connection.read { $0.object(forKey: "h", inCollection: "holders") as? Holder }
    #expect(read == holder)
    let data = try JSONEncoder().encode(holder)
    #expect(try JSONDecoder().decode(Holder.self, from: data) == holder)
    for wrong in [#"{}"#, #"{"row":{"collection":"c","key":"k"},"file":"f"}"#] {
      #expect(throws: DecodingError.self) {
        try JSONDecoder().decode(EdgeDestination.self, from: Data(wrong.utf8))
      }
    }
  }
}
