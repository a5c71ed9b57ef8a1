// Files that a relationship has deleted, and power cuts: a name whose folder was not synced may come back.

import Foundation
import Quire
@testable import QuireRelationships
import QuireTesting
import Testing

@Suite("Files deleted durably") struct DurableRemovalTests {
  private let own = EdgeRules.deleteDestinationIfSourceDeleted
  private let synced = Recorder()

  /// A relationship whose folders are synced by `synchronize`, and told to `synced` with what files they have then.
  private func graph(_ synchronize: @escaping @Sendable (String) throws -> Void) -> Relationship<Node> {
    var graph = nodeGraph()
    graph.settings.synchronizeFolder = { [synced] folder in
      let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasPrefix("file") }
      synced.append("\(URL(fileURLWithPath: folder).lastPathComponent): \(names.count) left")
      try synchronize(folder)
    }
    return graph
  }

  private func makeFiles(_ folder: TestFolder) throws -> [String] {
    try ["one", "two"].flatMap { name in
      let inner = folder.url.appendingPathComponent(name)
      try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: true)
      return try (0..<3).map { number in
        let file = inner.appendingPathComponent("file\(number)")
        try Data([1]).write(to: file)
        return file.path
      }
    }
  }

  private func remove(_ paths: [String], _ db: Database) throws {
    try db.write { tx throws in
      try tx[.nodes].set(Node(links: paths.map { Link("e", $0, own, isFile: true) }), for: "a")
    }
    _ = try db.write { tx throws in try tx[.nodes].remove("a") }
  }

  private func dueCount(_ db: Database, _ graph: Relationship<Node>) throws -> Int {
    try db.read { tx throws in Int(try tx.access(to: graph).files.count) }
  }

  @Test("Each folder is synced once, when its files have gone") func onceForEach() throws {
    let folder = try TestFolder()
    let graph = graph { try FileRemoval.synchronize($0) }
    let nodes = try NodeDatabase(graph)
    try remove(try makeFiles(folder), nodes.db)
    #expect(synced.values.sorted() == ["one: 0 left", "two: 0 left"])
    #expect(try dueCount(nodes.db, graph) == 0)
  }

  @Test("A file stays on the list until its folder is synced, although its name has gone") func untilSynced() throws {
    struct Failure: Error {}
    let folder = try TestFolder()
    let paths = try makeFiles(folder)
    let failing = graph { if $0.hasSuffix("two") { throw Failure() } }
    var db = try folder.open()
    try db.register(failing)
    try remove(paths, db)
    #expect(!paths.contains { FileManager.default.fileExists(atPath: $0) })
    #expect(try dueCount(db, failing) == 3)
    try db.close()
    // A power cut has brought one of them back.
    try Data([1]).write(to: URL(fileURLWithPath: paths[4]))
    db = try folder.open()
    let graph = graph { try FileRemoval.synchronize($0) }
    try db.register(graph)
    #expect(!FileManager.default.fileExists(atPath: paths[4]))
    #expect(try dueCount(db, graph) == 0)
    #expect(synced.values.last == "two: 0 left")
    try db.close()
  }

  @Test("A name that went before its folder could be synced goes once more, as no sync writes what one forgot")
  func onceMore() throws {
    struct Failure: Error {}
    let folder = try TestFolder()
    let paths = try makeFiles(folder)
    var db = try folder.open()
    try db.register(graph { _ in throw Failure() })
    try remove([paths[0], paths[3]], db)
    try db.close()
    let old = Date(timeIntervalSince1970: 1_000_000)
    for path in [paths[0], paths[3]] {
      #expect(!FileManager.default.fileExists(atPath: path))
      try FileManager.default.setAttributes([.modificationDate: old], ofItemAtPath: FileRemoval.folder(of: path))
    }
    db = try folder.open()
    // A folder without a change has nothing to sync.
    let changed = Recorder()
    let graph = graph { folder in
      let date = try FileManager.default.attributesOfItem(atPath: folder)[.modificationDate] as? Date
      if date != old { changed.append(URL(fileURLWithPath: folder).lastPathComponent) }
    }
    try db.register(graph)
    #expect(changed.values.sorted() == ["one", "two"])
    #expect(synced.values.suffix(2).sorted() == ["one: 2 left", "two: 2 left"])
    #expect(try dueCount(db, graph) == 0)
    try db.close()
  }

  @Test("A name that is not there goes without leaving anything, and needs no folder") func absentNames() throws {
    let folder = try TestFolder()
    let paths = try makeFiles(folder)
    try FileRemoval.remove(paths[0])
    try FileRemoval.remove(paths[0])
    let inner = FileRemoval.folder(of: paths[0])
    #expect(try FileManager.default.contentsOfDirectory(atPath: inner).sorted() == ["file1", "file2"])
    // In no folder, below a file, and with a name that only a folder can have.
    for path in ["\(inner)/none/file", "\(paths[1])/file", "\(inner)/none/"] { try FileRemoval.remove(path) }
    #expect(throws: DatabaseError.self) { try FileRemoval.remove(inner) }
    #expect(try FileManager.default.contentsOfDirectory(atPath: inner).sorted() == ["file1", "file2"])
  }

  @Test("What an app deletes in a way of its own is its own affair", arguments: [true, false])
  func ownRemoval(isWrapped: Bool) throws {
    let folder = try TestFolder()
    let paths = try makeFiles(folder)
    var graph = graph { _ in }
    let usual = graph.fileRemoval
    graph.fileRemoval = { if isWrapped { try usual($0) } }
    let nodes = try NodeDatabase(graph)
    try remove(paths, nodes.db)
    #expect(paths.contains { FileManager.default.fileExists(atPath: $0) } == !isWrapped)
    #expect(synced.values.isEmpty)
    #expect(try dueCount(nodes.db, graph) == 0)
  }

  @Test("Folders of files by their paths") func folders() throws {
    #expect(["/a/b", "/a", "a/b", "a"].map(FileRemoval.folder) == ["/a", "/", "a", "."])
    try FileRemoval.synchronize("/nowhere/at/all")
    try FileRemoval.synchronize("/etc/hostname")
  }
}
