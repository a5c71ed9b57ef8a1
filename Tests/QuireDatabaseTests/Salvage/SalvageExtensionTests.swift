// What becomes of extensions, names, dictionaries and encrypted rows when a database is salvaged.

import Foundation
import Quire
import QuireStorage
import QuireTesting
import Testing

@Suite("Salvaging what is beside rows") struct SalvageExtensionTests {
  private struct Track: Codable, Sendable, Equatable { var title: String, album: String }

  private static let tracks = RowCollection<Track, NoMetadata>("tracks")
  private static let albums = RowCollection<String, NoMetadata>("albums", coder: .json)
  private static let view = AutoView(
    "byAlbum", over: tracks, version: "1", group: { $0.album }, sortKey: { $0.title })
  private static let graph = Relationship<Track>("graph", over: tracks) { track in
    [Edge("album", to: albums, key: track.album)]
  }

  private let folder: TestFolder
  private var newPath: String { folder.url.appendingPathComponent("new.quire").path }

  /// Forty tracks of four albums, and an edge by hand from each album to a track.
  init() throws {
    folder = try TestFolder()
    let db = try folder.open(Database.Options(durability: .relaxed, feeds: [ChangeFeed("feed", keeping: .keys)]))
    try db.write { tx throws in
      for number in 0..<4 { try tx[Self.albums].set("Album \(number)", for: "a\(number)") }
      for number in 0..<40 {
        try tx[Self.tracks].set(Track(title: "T\(number)", album: "a\(number % 4)"), for: "t\(number)")
      }
    }
    try db.register(Self.view)
    try db.register(Self.graph)
    try db.write { tx throws in
      let edges = try tx.relationship(Self.graph)
      for number in 0..<4 {
        try edges.add(
          Edge(
            "likes", from: Self.albums, "a\(number)", to: Self.tracks, "t\(number)",
            rules: .deleteSourceIfDestinationDeleted))
      }
    }
    try db.close()
  }

  private func salvage() throws -> (SalvageOutcome, [SalvageFinding]) {
    var findings: [SalvageFinding] = []
    let salvage = DatabaseSalvage(
      folder.path, kinds: [SalvagedEdges.self, SalvagedLists.self], report: { findings.append($0) })
    let outcome = try salvage.run(to: newPath)
    #expect(outcome.defects.isEmpty)
    return (outcome, findings)
  }

  /// Registers everything in the new database, and returns the edges by hand.
  private func likes(missing: Int = 0) throws -> Int {
    let db = try Database(at: newPath, options: Database.Options(durability: .relaxed))
    #expect(try db.extensions().allSatisfy { $0.state == .stale })
    try db.register(Self.view)
    try db.register(Self.graph)
    let count = try db.read { tx throws in
      let view = try tx.view(Self.view)
      #expect(view.count == 40 - missing)
      let edges = try tx.relationship(Self.graph)
      #expect(edges.count(named: "album") == 40 - missing)
      #expect(tx[Self.albums].count == 4 && tx[Self.tracks].count == 40 - missing)
      return edges.count(named: "likes")
    }
    try db.checkInvariants()
    try db.close()
    return count
  }

  @Test("Views and derived edges are built anew, edges by hand are kept, feeds begin anew") func whole() throws {
    let (outcome, findings) = try salvage()
    #expect(outcome.rowCount == 44 && outcome.lossCount == 0)
    #expect(findings.map(\.kind) == [.leftOut] && findings.first?.reason.contains("“feed”") == true)
    #expect(try likes() == 4)
  }

  @Test("An edge by hand is in three trees, and one is enough", arguments: ["byName", "bySource", "byDestination"])
  func edgeTrees(whole: String) throws {
    var pages = try TreePages(folder.path)
    for tree in ["byName", "bySource", "byDestination", "names"] where tree != whole {
      for name in pages.names(endingWith: ".\(tree)") where name.contains("extension") {
        #expect(try pages.zeroLeaves(of: name) > 0)
      }
    }
    let (outcome, findings) = try salvage()
    #expect(outcome.lossCount == 0, "\(findings)")
    #expect(findings.contains { $0.kind == .madeAnew })
    #expect(try likes() == 4)
  }

  @Test("Without all three trees edges by hand are lost, and told") func lostEdges() throws {
    var pages = try TreePages(folder.path)
    for tree in ["byName", "bySource", "byDestination"] {
      for name in pages.names(endingWith: ".\(tree)") { try pages.zeroLeaves(of: name) }
    }
    let (outcome, findings) = try salvage()
    #expect(outcome.lossCount == 3 && findings.count { $0.kind == .lostContent } == 3, "\(findings)")
    #expect(try likes() == 0)
  }

  @Test("Without meta pages edges by hand are kept, and told as old") func oldEdges() throws {
    var bytes = try Data(contentsOf: URL(fileURLWithPath: folder.path))
    // But for the identity, without which nothing is proven.
    for range in [0..<24, 40..<8192] { bytes.replaceSubrange(range, with: repeatElement(0, count: range.count)) }
    try bytes.write(to: URL(fileURLWithPath: folder.path))
    let (outcome, findings) = try salvage()
    #expect(outcome.rowCount == 44, "\(findings)")
    #expect(findings.contains { $0.kind == .oldRow && $0.reason.contains("“graph”") }, "\(findings)")
    #expect(try likes() == 4)
  }

  /// Else registering would take the lost row for removed, and delete the album that needs it.
  @Test("An edge to a lost row deletes nothing") func edgeToALostRow() throws {
    let db = try folder.open()
    let row = try #require(try db.read { tx throws in try tx.rowID(of: RowKey("tracks", "t2")) })
    try db.close()
    let engine = try StorageEngine(at: folder.path)
    try engine.write { tx in
      if let rows = tx.tree(named: "quire.rows") { try tx.delete(row.rawValue, in: rows) }
    }
    try engine.close()
    let (_, findings) = try salvage()
    let lost = try #require(findings.first { $0.kind == .lostRow })
    #expect(lost.collection == "tracks" && lost.key == "t2" && lost.row == row.rawValue)
    #expect(findings.contains { $0.kind == .lostContent && $0.reason.contains("row \(row.rawValue)") })
    #expect(try likes(missing: 1) == 3)
  }

  @Test("A list is in two trees, and one is enough", arguments: ["entries", "rows", ""])
  func lists(damaged: String) throws {
    let list = ManualView("list", over: Self.tracks)
    var db = try folder.open()
    try db.register(list)
    let keys = ["t7", "t3", "t9"]
    try db.write { tx throws in
      let writer = try tx.access(to: list)
      for key in keys { try writer.append(key, to: "favourites") }
    }
    let number = try #require(try db.read { tx throws in try tx.storedExtensions() }.first { $0.status.name == "list" })
    let prefix = number.engineName(ofTree: "")
    try db.close()
    var pages = try TreePages(folder.path)
    if !damaged.isEmpty {
      #expect(try pages.zeroLeaves(of: prefix + damaged) > 0)
      try pages.zeroLeaves(of: prefix + (damaged == "rows" ? "groups" : "names"))
    }
    let (outcome, findings) = try salvage()
    #expect(outcome.lossCount == 0, "\(findings)")
    db = try Database(at: newPath)
    try db.register(list)
    try db.write { tx throws in
      let writer = try tx.access(to: list)
      try writer.append("t1", to: "others")
      try writer.append("t2", to: "favourites")
    }
    try db.read { tx throws in
      let view = try tx.view(list)
      for (index, key) in (keys + ["t2"]).enumerated() { #expect(try view.key(at: index, in: "favourites") == key) }
      #expect(try view.key(at: 0, in: "others") == "t1")
      #expect(view.count == 5)
    }
    try db.checkInvariants()
    #expect(try db.read { tx throws in try tx.storedViews().flatMap { try $0.defects() } }.isEmpty)
    try db.close()
  }

  @Test("A place in a list that is no key is passed over") func placeThatIsNoKey() throws {
    let list = ManualView("list", over: Self.tracks)
    let db = try folder.open()
    try db.register(list)
    try db.write { tx throws in
      let writer = try tx.access(to: list)
      try writer.append("t7", to: "favourites")
    }
    let row = try #require(try db.read { tx throws in try tx.rowID(of: RowKey("tracks", "t1")) })
    let stored = try #require(try db.read { tx throws in try tx.storedExtensions() }.first { $0.status.name == "list" })
    let tree = stored.engineName(ofTree: "rows")
    try db.close()
    let engine = try StorageEngine(at: folder.path)
    try engine.write { tx in
      // A length of 2,000 bytes in front.
      let place: [UInt8] = [0xd0, 0x07] + [UInt8](repeating: 1, count: 2000)
      if let rows = tx.tree(named: tree) { try tx.put(place, for: row.rawValue, in: rows) }
    }
    try engine.close()
    let (outcome, findings) = try salvage()
    #expect(outcome.lossCount == 0 && outcome.rowCount == 44, "\(findings)")
  }

  @Test("The key index is made anew") func keyIndex() throws {
    var pages = try TreePages(folder.path)
    #expect(try pages.zeroLeaves(of: "quire.keys") > 0)
    let (outcome, findings) = try salvage()
    #expect(outcome.lossCount == 0 && outcome.rowCount == 44, "\(findings)")
    #expect(try likes() == 4)
  }

  @Test("Collections whose names are lost get others") func lostNames() throws {
    var pages = try TreePages(folder.path)
    #expect(try pages.zeroLeaves(of: "quire.collections") > 0)
    let (outcome, findings) = try salvage()
    #expect(outcome.rowCount == 44)
    #expect(outcome.collections.map(\.collection) == ["salvaged.1", "salvaged.2"])
    #expect(findings.filter { $0.kind == .lostName }.map(\.count) == [4, 40])
    let db = try Database(at: newPath, options: Database.Options(renamedCollections: ["salvaged.1": "albums"]))
    try db.read { tx throws in #expect(try tx[Self.albums].get("a1") == "Album 1") }
    try db.close()
  }

  @Test("Without the catalog trees are told by what is in them") func lostCatalog() throws {
    var pages = try TreePages(folder.path)
    #expect(try pages.zeroCatalog() > 0)
    let (outcome, findings) = try salvage()
    #expect(outcome.rowCount == 44 && outcome.collections.map(\.collection) == ["albums", "tracks"], "\(findings)")
    #expect(findings.contains { $0.kind == .lostContent && $0.reason.contains("The name of tree") })
    let db = try Database(at: newPath)
    try db.read { tx throws in
      #expect(try tx[Self.albums].get("a1") == "Album 1" && tx[Self.tracks].get("t9")?.album == "a1")
    }
    try db.close()
  }

  @Test("The trees of an engine that is used alone are copied") func engineAlone() throws {
    let path = folder.url.appendingPathComponent("engine").path
    let engine = try StorageEngine(at: path)
    try engine.write { tx in
      for name in ["texts", "others"] {
        let tree = try tx.createTree(name, keys: .bytes)
        for number in 0..<100 { try tx.put("value", for: "\(name) \(number)", in: tree) }
      }
    }
    try engine.close()
    func copy(_ target: String) throws -> [String: Int] {
      let salvage = DatabaseSalvage(path, report: { _ in })
      let outcome = try salvage.run(to: target)
      #expect(outcome.rowCount == 0 && outcome.entryCount == 200)
      let copy = try StorageEngine(at: target)
      let counts = try copy.read { tx in
        var counts: [String: Int] = [:]
        for name in tx.treeNames { if let tree = tx.tree(named: name) { counts[name] = try tx.count(of: tree) } }
        return counts
      }
      try copy.close()
      return counts
    }
    #expect(try copy(newPath) == ["others": 100, "texts": 100])
    var pages = try TreePages(path)
    #expect(try pages.zeroCatalog() > 0)
    #expect(try copy(newPath + "2") == ["salvaged.1": 100, "salvaged.2": 100])
  }

  @Test("Of two trees with one name, one gets another") func oneNameTwice() throws {
    let path = folder.url.appendingPathComponent("engine").path
    let engine = try StorageEngine(at: path)
    try engine.write { tx in
      for name in ["texts", "textt"] {
        let tree = try tx.createTree(name, keys: .bytes)
        for number in 0..<100 { try tx.put("value", for: "key \(number)", in: tree) }
      }
    }
    try engine.close()
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    var forger = try #require(Forger(bytes, pageSize: 4096))
    for start in 0..<bytes.count - 5 where bytes[start] == UInt8(ascii: "t") {
      if bytes[start..<start + 5].elementsEqual("textt".utf8) { forger.bytes[start + 4] = UInt8(ascii: "s") }
    }
    forger.seal()
    try Data(forger.bytes).write(to: URL(fileURLWithPath: path))
    var findings: [SalvageFinding] = []
    let salvage = DatabaseSalvage(path, report: { findings.append($0) })
    let outcome = try salvage.run(to: newPath)
    #expect(outcome.entryCount == 200 && outcome.lossCount == 1)
    #expect(findings.map(\.kind) == [.lostName], "\(findings)")
    let copy = try StorageEngine(at: newPath)
    let names = try copy.read { tx in tx.treeNames }
    #expect(names == ["salvaged.2", "texts"])
    try copy.close()
  }

  @Test("Rows whose dictionary is lost are told") func lostDictionary() throws {
    let texts = RowCollection<Track, NoMetadata>("texts", compression: .dictionary(above: 16))
    let db = try folder.open()
    try db.write { tx throws in
      for number in 0..<300 {
        try tx[texts].set(
          Track(title: "A title like all the others, \(number)", album: "The same album"), for: "\(number)")
      }
    }
    try db.trainDictionary(for: texts)
    try db.close()
    var pages = try TreePages(folder.path)
    #expect(try pages.zeroLeaves(of: "quire.dictionaries") > 0)
    let (outcome, findings) = try salvage()
    let lost = findings.filter { $0.kind == .lostRow }
    #expect(lost.count > 100 && lost.allSatisfy { $0.collection == "texts" && $0.reason.contains("ictionary") })
    #expect(outcome.rowCount == 344 - lost.count && outcome.collections.contains { $0.lost == lost.count })
    #expect(try likes() == 4)
  }

  @Test("An unproven row gives way to a proven one with its key") func unprovenRow() throws {
    let texts = RowCollection<String, NoMetadata>("texts", coder: .json)
    var db = try folder.open()
    try db.write { tx throws in
      for number in 0..<400 { try tx[texts].set("text \(number), with some words behind it", for: "k\(number)") }
    }
    try db.write { tx throws in try tx[texts].set("MARKER", for: "k0") }
    let row = try #require(try db.read { tx throws in try tx.rowID(of: RowKey("texts", "k0")) })
    let last = try #require(try db.read { tx throws in try tx.rowID(of: RowKey("texts", "k399")) })
    let bytes = try #require(try SalvagedHistory.rows(db.engine)[row.rawValue])
    try db.write { tx throws in try tx[texts].set("proven", for: "k0") }
    try db.close()
    let engine = try StorageEngine(at: folder.path)
    try engine.write { tx in
      if let rows = tx.tree(named: "quire.rows") { try tx.put(bytes, for: last.rawValue + 1, in: rows) }
    }
    try engine.close()
    var file = try Data(contentsOf: URL(fileURLWithPath: folder.path))
    for start in stride(from: 8192, to: file.count - 4095, by: 4096) where file[start + 32] == 1 {
      let page = file[start..<start + 4096]
      // What a leaf no longer has may still stand in it.
      guard page.range(of: Data("MARKER".utf8)) != nil, page.range(of: Data("proven".utf8)) == nil else { continue }
      file[start + 16] ^= 1
    }
    try file.write(to: URL(fileURLWithPath: folder.path))
    var findings: [SalvageFinding] = []
    let salvage = DatabaseSalvage(
      folder.path, options: SalvageOptions(believesUnverified: true), report: { findings.append($0) })
    _ = try salvage.run(to: newPath)
    #expect(findings.contains { $0.kind == .lostRow && $0.row == last.rawValue + 1 }, "\(findings.prefix(5))")
    db = try Database(at: newPath)
    try db.read { tx throws in #expect(try tx[texts].get("k0") == "proven") }
    try db.close()
  }

  @Test("Nothing is overwritten, and nothing is made of nothing") func refusals() throws {
    try Data().write(to: URL(fileURLWithPath: newPath + "-log3"))
    #expect(errorCode { _ = try salvage() } == .alreadyExists)
    try FileManager.default.removeItem(atPath: newPath + "-log3")
    var bytes = try Data(contentsOf: URL(fileURLWithPath: folder.path))
    for page in 2..<bytes.count / 4096 { bytes[page * 4096 + 1000] ^= 1 }
    try bytes.write(to: URL(fileURLWithPath: folder.path))
    #expect(errorCode { _ = try salvage() } == .damagedPage)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["test.quire"])
  }

  #if Encryption
    @Test("Encrypted rows are read with their key") func encrypted() throws {
      let ring = KeyRing(current: try testKey(1))
      let db = try folder.open()
      try db.fill(.diary(ring), 0..<50)
      try db.close()
      let (outcome, _) = try salvage()
      #expect(outcome.rowCount == 94 && outcome.lossCount == 0)
      let new = try Database(at: newPath)
      #expect(try new.hasExamples(.diary(ring), 0..<50))
      try new.close()
    }

    @Test("That what keys are derived with is lost is told") func lostSalt() throws {
      let db = try folder.open()
      try db.fill(.diary(KeyRing(current: try testKey(1))), 0..<5)
      try db.close()
      var pages = try TreePages(folder.path)
      #expect(try pages.zeroLeaves(of: "quire.info") > 0)
      let (_, findings) = try salvage()
      #expect(findings.contains { $0.kind == .lostContent && $0.reason.contains("decrypt") })
    }
  #endif
}
