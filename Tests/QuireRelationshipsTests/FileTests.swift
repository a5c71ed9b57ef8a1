// Files at the ends of edges.

import Foundation
import Quire
@testable import QuireRelationships
import QuireStorage
import QuireTesting
import Synchronization
import Testing

@Suite("Files at the ends of edges") struct FileTests {
  private let deleted = Recorder()
  private let own = EdgeRules.deleteDestinationIfSourceDeleted
  private let shared = EdgeRules.deleteDestinationIfAllSourcesDeleted

  private func graph(_ name: String = "graph") -> Relationship<Node> {
    var graph = nodeGraph(name)
    graph.fileRemoval = { [deleted] path in deleted.append(path) }
    return graph
  }

  private func link(_ name: String, _ path: String, _ rules: EdgeRules) -> Link {
    Link(name, path, rules, isFile: true)
  }

  @Test("A file is deleted after the commit, and never on rollback") func afterTheCommit() throws {
    let nodes = try NodeDatabase(graph())
    try nodes.write { rows, _ throws in try rows.set(Node(link("e", "/f", own)), for: "a") }
    struct Undo: Error {}
    try? nodes.write { rows, graph throws in
      try rows.remove("a")
      try graph.flush()
      throw Undo()
    }
    try nodes.db.write { tx throws in
      try? tx.savepoint { () throws in
        try tx[.nodes].remove("a")
        try tx.relationship(nodes.graph).flush()
        throw Undo()
      }
    }
    #expect(deleted.values.isEmpty)
    try nodes.write { rows, graph throws in
      try rows.remove("a")
      try graph.flush()
      #expect(deleted.values.isEmpty)
    }
    #expect(deleted.values == ["/f"])
    _ = try nodes.write { rows, _ throws in try rows.set(Node(), for: "z") }
    #expect(deleted.values == ["/f"])
  }

  @Test("A file goes when its object drops it, and with the last of those that share it") func sharedFiles() throws {
    let nodes = try NodeDatabase(graph())
    try nodes.write { rows, _ throws in
      try rows.set(Node(link("e", "/shared", shared), link("e", "/own", own)), for: "a")
      try rows.set(Node(link("e", "/shared", shared)), for: "b")
    }
    try nodes.write { rows, _ throws in try rows.set(Node(), for: "a") }
    #expect(deleted.values == ["/own"])
    _ = try nodes.write { rows, _ throws in try rows.remove("b") }
    #expect(deleted.values == ["/own", "/shared"])
  }

  @Test("An edge without such a rule neither deletes a file nor keeps it") func pointers() throws {
    let nodes = try NodeDatabase(graph())
    try nodes.write { rows, _ throws in
      try rows.set(Node(link("e", "/f", own)), for: "a")
      try rows.set(Node(link("pointer", "/f", [])), for: "b")
      try rows.set(Node(link("pointer", "/g", [])), for: "c")
    }
    _ = try nodes.write { rows, _ throws in try rows.remove(["a", "c"]) }
    #expect(deleted.values == ["/f"])
  }

  @Test("An edge of another name, or of another relationship, keeps a file until it goes itself") func keeping() throws
  {
    let nodes = try NodeDatabase(graph())
    var other = Relationship("second")
    other.fileRemoval = { [deleted] path in deleted.append("second \(path)") }
    try nodes.db.register(other)
    try nodes.db.write { tx throws in
      try tx[.nodes].set(Node(link("e", "/f", own)), for: "a")
      try tx[.nodes].set(Node(link("other", "/f", shared)), for: "b")
      try tx[.nodes].set(Node(), for: "c")
      try tx.relationship(other).add(Edge("e", from: .nodes, "c", toFile: "/f", rules: own))
    }
    for key in ["a", "b"] {
      _ = try nodes.write { rows, _ throws in try rows.remove(key) }
      #expect(deleted.values.isEmpty)
    }
    _ = try nodes.write { rows, _ throws in try rows.remove("c") }
    #expect(deleted.values == ["second /f"])
  }

  @Test("An edge that comes in the same transaction keeps a file") func handingOver() throws {
    let nodes = try NodeDatabase(graph())
    try nodes.write { rows, _ throws in try rows.set(Node(link("e", "/f", own)), for: "a") }
    try nodes.write { rows, _ throws in
      try rows.remove("a")
      try rows.set(Node(link("e", "/f", own)), for: "b")
    }
    #expect(deleted.values.isEmpty)
    _ = try nodes.write { rows, _ throws in try rows.remove("b") }
    #expect(deleted.values == ["/f"])
  }

  @Test("Removing all rows deletes the files whose rules say so, and no other") func removingAll() throws {
    let nodes = try NodeDatabase(graph())
    try nodes.write { rows, _ throws in
      try rows.set(Node(link("e", "/own", own), link("e", "/pointer", []), link("e", "/again", own)), for: "a")
      try rows.set(Node(link("e", "/gone", own), link("e", "/shared", [])), for: "b")
      try rows.set(Node(link("e", "/shared", .deleteDestinationIfAllSourcesDeleted)), for: "d")
    }
    try nodes.db.write { tx throws in
      try tx[.nodes].remove("b")
      try tx.removeAll()
      try tx[.nodes].set(Node(link("e", "/again", own)), for: "c")
    }
    #expect(deleted.values.sorted() == ["/gone", "/own", "/shared"])
    #expect(try nodes.edges() == ["e"])
  }

  @Test("Removing all rows deletes files, too, whose edges were dropped in the same transaction", arguments: [0, 100])
  func droppedBeforeRemovingAll(noted: Int) throws {
    var graph = graph()
    graph.settings.notedCount = noted
    let nodes = try NodeDatabase(graph)
    func edge(_ path: String) -> Edge { Edge("by hand", from: .nodes, "a", toFile: path, rules: own) }
    try nodes.write { rows, graph throws in
      try rows.set(Node(link("e", "/dropped", own), link("e", "/pointer", [])), for: "a")
      for path in ["/ended", "/removed"] { try graph.add(edge(path)) }
    }
    try nodes.db.write { tx throws in
      let graph = try tx.relationship(nodes.graph)
      try tx[.nodes].set(Node(), for: "a")
      try graph.remove(edge("/ended"), as: .sourceDeleted)
      try graph.remove(edge("/removed"))
      try tx.removeAll()
    }
    #expect(deleted.values.sorted() == ["/dropped", "/ended"])
    #expect(try nodes.keys().isEmpty && nodes.edges().isEmpty)
  }

  @Test("Paths are kept as they are given, and are told apart by their bytes") func paths() throws {
    let nodes = try NodeDatabase(graph())
    let paths = ["/a b/ü", "/a b/u\u{308}", "relative", String(repeating: "x", count: 960)]
    try nodes.write { rows, graph throws in
      try rows.set(Node(links: paths.map { link("e", $0, own) }), for: "a")
      for path in paths {
        #expect(graph.count(toFile: path) == 1)
        #expect(graph.edges(toFile: path).map(\.destination) == [.file(path)])
      }
      for path in ["", String(repeating: "x", count: 961), "a\0b"] {
        #expect(errorCode { try graph.add(Edge("e", from: .nodes, "a", toFile: path)) } == .invalidEdge)
        #expect(graph.count(toFile: path) == 0)
      }
      let web = try #require(URL(string: "https://quire.example/f"))
      #expect(errorCode { try graph.add(Edge("e", from: .nodes, "a", toFile: web)) } == .invalidEdge)
      try graph.add(Edge("e", from: .nodes, "a", toFile: URL(fileURLWithPath: "/with space")))
      #expect(graph.count(toFile: "/with space") == 1)
    }
    _ = try nodes.write { rows, _ throws in try rows.remove("a") }
    #expect(Set(deleted.values.map { Array($0.utf8) }) == Set(paths.map { Array($0.utf8) }))
  }

  @Test("Files are really deleted, and folders are left alone") func realFiles() throws {
    let folder = try TestFolder()
    let file = try folder.makeFile("file")
    let inner = folder.url.appendingPathComponent("folder")
    try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: true)
    let db = try folder.open()
    let graph = nodeGraph()
    try db.register(graph)
    try db.write { tx throws in
      try tx[.nodes].set(
        Node(link("e", file.path, own), link("e", inner.path, own), link("e", "/nowhere/at/all", own)), for: "a")
    }
    _ = try db.write { tx throws in try tx[.nodes].remove("a") }
    #expect(!folder.hasFile("file") && folder.hasFile("folder"))
    // Only what failed is still on the list.
    #expect(try db.read { tx throws in try tx.access(to: graph).files.count } == 1)
    try db.close()
  }

  @Test("What cannot be deleted is tried again after reopening") func tryingAgain() throws {
    struct Busy: Error {}
    let folder = try TestFolder()
    var graph = graph()
    graph.fileRemoval = { path in if path == "/busy" { throw Busy() } }
    var db = try folder.open()
    try db.register(graph)
    try db.write { tx throws in
      try tx[.nodes].set(Node(link("e", "/busy", own), link("e", "/free", own)), for: "a")
    }
    _ = try db.write { tx throws in try tx[.nodes].remove("a") }
    try db.close()
    db = try folder.open()
    try db.register(self.graph())
    #expect(deleted.values == ["/busy"])
    try db.close()
    db = try folder.open()
    try db.register(self.graph())
    #expect(deleted.values == ["/busy"])
    try db.close()
  }

  @Test("As long as a relationship is not registered that may keep it, no file is deleted") func waitingForOthers()
    throws
  {
    let folder = try TestFolder()
    var other = Relationship("second")
    other.fileRemoval = { [deleted] path in deleted.append("second \(path)") }
    var db = try folder.open()
    try db.register(graph())
    try db.register(other)
    try db.write { tx throws in
      try tx[.nodes].set(Node(link("e", "/f", own), link("e", "/g", own)), for: "a")
      try tx[.nodes].set(Node(), for: "b")
      try tx.relationship(other).add(Edge("e", from: .nodes, "b", toFile: "/f", rules: own))
    }
    try db.close()
    db = try folder.open()
    try db.register(graph())
    _ = try db.write { tx throws in try tx[.nodes].remove("a") }
    #expect(deleted.values.isEmpty)
    try db.register(other)
    #expect(deleted.values == ["/g"])
    _ = try db.write { tx throws in try tx[.nodes].remove("b") }
    #expect(deleted.values == ["/g", "second /f"])
    try db.close()
  }

  @Test("Nor is one whose edge goes by hand: no row changes, and the other relationship is as ready as it was")
  func waitingForOthersThatAreReady() throws {
    let folder = try TestFolder()
    let (first, second) = (graph(), graph("second"))
    let edge = Edge("by hand", from: .nodes, "a", toFile: "/f", rules: own)
    var db = try folder.open()
    try db.register(first)
    try db.register(second)
    try db.write { tx throws in
      try tx[.nodes].set(Node(), for: "a")
      for graph in [first, second] { try tx.relationship(graph).add(edge) }
    }
    try db.close()
    db = try folder.open()
    try db.register(first)
    _ = try db.write { tx throws in try tx.relationship(first).remove(edge, as: .sourceDeleted) }
    #expect(try db.extensions().map(\.state) == [.ready, .ready])
    #expect(deleted.values.isEmpty)
    // The other one keeps the file, and decides about it.
    try db.register(second)
    #expect(deleted.values.isEmpty)
    _ = try db.write { tx throws in try tx.relationship(second).remove(edge, as: .sourceDeleted) }
    #expect(deleted.values == ["/f"])
    try db.close()
  }

  @Test("A crash between the commit and the deletion loses no deletion", arguments: [true, false])
  func crash(_ isFull: Bool) throws {
    let disk = SimulatedDisk()
    let image = Latch<SimulatedDisk?>(nil)
    let options = Database.Options(durability: isFull ? .full : .relaxed, cacheSize: 4 << 20, maintainsWhenIdle: false)
    var graph = graph()
    graph.fileRemoval = { _ in image.withLock { $0 = disk.crashImage(.random(7)) } }
    let db = try disk.openDatabase(seed: 1, options)
    try db.register(graph)
    try db.write { tx throws in try tx[.nodes].set(Node(link("e", "/f", own)), for: "a") }
    _ = try db.write { tx throws in try tx[.nodes].remove("a") }
    let crashed = try #require(image.withLock { $0 })
    let reopened = try crashed.openDatabase(seed: 2, options)
    // The commit was on the disk before the file was touched, also one of weak durability.
    #expect(try reopened.read { tx throws in tx.count } == 0)
    #expect(deleted.values.isEmpty)
    try reopened.register(self.graph())
    #expect(deleted.values == ["/f"])
    try reopened.close()
    try db.close()
  }

  @Test("Nobody who writes waits for files to be deleted") func writersDoNotWait() async throws {
    let gate = Gate()
    var graph = graph()
    graph.fileRemoval = { [deleted] path in
      gate.pass()
      deleted.append(path)
    }
    let nodes = try NodeDatabase(graph)
    let db = nodes.db
    try await db.write { [own] tx in
      try tx[.nodes].set(Node(Link("e", "/f", own, isFile: true), Link("e", "/g", own, isFile: true)), for: "a")
    }
    let removing = Task { try await db.write { tx in _ = try tx[.nodes].remove("a") } }
    await gate.waitForEntries()
    // One thread deletes; others write, also what has edges to other files.
    for number in 0..<5 {
      try await db.write { [own] tx in
        try tx[.nodes].set(Node(Link("e", "/other", own, isFile: true)), for: "b\(number)")
      }
    }
    #expect(!gate.hasTimedOut)
    for _ in 0..<3 { gate.open() }
    try await removing.value
    await db.drain()
    #expect(deleted.values == ["/f", "/g"])
    #expect(try files(db, graph) == 0)
  }

  @Test("An edge to a file that is just being deleted comes after the deletion") func edgesWaitForTheirFile()
    async throws
  {
    let gate = Gate()
    let order = Recorder()
    var graph = graph()
    graph.fileRemoval = { path in
      gate.pass()
      order.append("deleted \(path)")
    }
    let nodes = try NodeDatabase(graph)
    let db = nodes.db
    try await db.write { [own] tx in try tx[.nodes].set(Node(Link("e", "/f", own, isFile: true)), for: "a") }
    let removing = Task { try await db.write { tx in _ = try tx[.nodes].remove("a") } }
    await gate.waitForEntries()
    let adding = Task {
      try await db.write { [own] tx in
        try tx[.nodes].set(Node(Link("e", "/f", own, isFile: true)), for: "b")
        order.append("edge")
      }
    }
    try await Task.sleep(for: .milliseconds(20))
    #expect(order.values.isEmpty)
    gate.open()
    try await removing.value
    try await adding.value
    await db.drain()
    #expect(order.values == ["deleted /f", "edge"])
    #expect(try nodes.edges() == ["e"])
    #expect(try files(db, graph) == 0)
    // The new edge keeps the file, and gives it up as any other.
    gate.open()
    try await db.write { tx in _ = try tx[.nodes].remove("b") }
    await db.drain()
    #expect(order.values == ["deleted /f", "edge", "deleted /f"])
  }

  @Test("An edge to a file that waits for its deletion keeps it") func edgesComeBeforeTheDeletion() throws {
    let database = Latch<Database?>(nil)
    defer { database.withLock { $0 = nil } }
    var graph = graph()
    // Both files are due: while the first one is deleted, an edge to the second one comes.
    graph.fileRemoval = { [deleted, own] path in
      deleted.append(path)
      guard path == "/f" else { return }
      try database.withLock { $0 }?.write { tx throws in
        try tx[.nodes].set(Node(Link("e", "/g", own, isFile: true)), for: "b")
      }
    }
    let nodes = try NodeDatabase(graph)
    database.withLock { $0 = nodes.db }
    try nodes.write { rows, _ throws in try rows.set(Node(link("e", "/f", own), link("e", "/g", own)), for: "a") }
    try nodes.write { rows, _ throws in _ = try rows.remove("a") }
    #expect(deleted.values == ["/f"])
    #expect(try nodes.keys() == ["b"] && nodes.edges() == ["e"])
    #expect(try files(nodes.db, graph) == 0)
    try nodes.write { rows, _ throws in _ = try rows.remove("b") }
    #expect(deleted.values == ["/f", "/g"])
  }

  private func files(_ db: Database, _ graph: Relationship<Node>) throws -> Int {
    try db.read { tx throws in try tx.access(to: graph).files.count }
  }
}
