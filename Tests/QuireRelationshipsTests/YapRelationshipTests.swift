// YapDatabase's own tests of relationships, in our form.

import Foundation
import Quire
import QuireTesting
import Testing

private struct Standard: Codable, Sendable, EdgeSource {
  var childKeys: [String] = []

  func edges() throws -> [Edge] {
    childKeys.map { Edge("child", to: .standards, key: $0, rules: .deleteDestinationIfSourceDeleted) }
  }
}

private struct Inverse: Codable, Sendable, EdgeSource {
  var parentKey: String?

  func edges() throws -> [Edge] {
    parentKey.map { [Edge("parent", to: .inverses, key: $0, rules: .deleteSourceIfDestinationDeleted)] } ?? []
  }
}

private struct RetainCount: Codable, Sendable, EdgeSource {
  var retainedKey: String?

  func edges() throws -> [Edge] {
    retainedKey.map { [Edge("retained", to: .retainCounts, key: $0, rules: .deleteDestinationIfAllSourcesDeleted)] }
      ?? []
  }
}

private struct InverseRetainCount: Codable, Sendable, EdgeSource {
  var retainerKeys: [String] = []

  func edges() throws -> [Edge] {
    retainerKeys.map {
      Edge("retainer", to: .inverseRetainCounts, key: $0, rules: .deleteSourceIfAllDestinationsDeleted)
    }
  }
}

private struct RandomFile: Codable, Sendable, EdgeSource {
  var path: String?

  func edges() throws -> [Edge] {
    path.map { [Edge("random", toFile: $0, rules: .deleteDestinationIfSourceDeleted)] } ?? []
  }
}

extension RowCollection where Object == Standard, Metadata == NoMetadata {
  fileprivate static var standards: Self { .init("standards") }
}
extension RowCollection where Object == Inverse, Metadata == NoMetadata {
  fileprivate static var inverses: Self { .init("inverses") }
}
extension RowCollection where Object == RetainCount, Metadata == NoMetadata {
  fileprivate static var retainCounts: Self { .init("retainCounts") }
}
extension RowCollection where Object == InverseRetainCount, Metadata == NoMetadata {
  fileprivate static var inverseRetainCounts: Self { .init("inverseRetainCounts") }
}
extension RowCollection where Object == RandomFile, Metadata == NoMetadata {
  fileprivate static var files: Self { .init("files") }
}
extension RowCollection where Object == String, Metadata == NoMetadata {
  fileprivate static var texts: Self { .init("texts") }
}

@Suite("YapDatabase's relationship tests") struct YapRelationshipTests {
  private let db: Database

  init() throws { db = try Database.inMemory() }

  /// The six counts that the first test asks for again and again.
  private func counts(_ graph: some GraphReading) -> [Int] {
    [
      graph.count(named: "child"), graph.count(named: "child", from: .standards, "n1"),
      graph.count(named: "child", to: .standards, "n2"), graph.count(named: "child", to: .standards, "n3"),
      graph.count(named: "child", from: .standards, "n1", to: .standards, "n2"),
      graph.count(named: "child", from: .standards, "n1", to: .standards, "n3"),
    ]
  }

  private func setThree(_ rows: WritableRows<Standard, NoMetadata>) throws {
    try rows.set(Standard(childKeys: ["n2", "n3"]), for: "n1")
    try rows.set(Standard(), for: "n2")
    try rows.set(Standard(), for: "n3")
  }

  @Test("Protocol_Standard") func standard() throws {
    let relationship = Relationship("graph", over: .standards)
    try db.register(relationship)
    let (all, none) = ([2, 2, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0])
    try db.write { tx throws in
      try setThree(tx[.standards])
      #expect(counts(try tx.relationship(relationship)) == all)
    }
    #expect(try db.read { tx throws in counts(try tx.relationship(relationship)) } == all)
    // Children go: so do the edges, at once.
    try db.write { tx throws in
      try tx[.standards].remove("n2")
      try tx[.standards].remove("n3")
      #expect(counts(try tx.relationship(relationship)) == none)
    }
    #expect(try db.read { tx throws in counts(try tx.relationship(relationship)) } == none)
    // They come back, and the parent is stored again.
    try db.write { tx throws in
      let rows = tx[.standards]
      try rows.set(Standard(), for: "n2")
      try rows.set(Standard(), for: "n3")
      try rows.replace(Standard(childKeys: ["n2", "n3"]), for: "n1")
      #expect(counts(try tx.relationship(relationship)) == all)
    }
    // The parent goes.
    try db.write { tx throws in
      try tx[.standards].remove("n1")
      #expect(counts(try tx.relationship(relationship)) == none)
    }
    #expect(try db.read { tx throws in tx[.standards].count } == 0)
    // All in one transaction.
    try db.write { tx throws in
      let rows = tx[.standards]
      try setThree(rows)
      try rows.remove("n1")
      try tx.relationship(relationship).flush()
      #expect(try rows.get("n2") == nil && rows.get("n3") == nil)
    }
    // The parent drops its children.
    try db.write { tx throws in try setThree(tx[.standards]) }
    try db.write { tx throws in try tx[.standards].set(Standard(), for: "n1") }
    #expect(try db.read { tx throws in Array(tx[.standards].keys) } == ["n1"])
  }

  @Test("Protocol_Inverse") func inverse() throws {
    let relationship = Relationship("graph", over: .inverses)
    try db.register(relationship)
    try db.write { tx throws in
      let rows = tx[.inverses]
      try rows.set(Inverse(parentKey: "n1"), for: "n2")
      try rows.set(Inverse(parentKey: "n1"), for: "n3")
      try rows.set(Inverse(), for: "n1")
      let graph = try tx.relationship(relationship)
      #expect(graph.count(named: "parent") == 2 && graph.count(named: "parent", to: .inverses, "n1") == 2)
      #expect(graph.count(named: "parent", from: .inverses, "n2") == 1)
    }
    try db.write { tx throws in
      try tx[.inverses].remove("n1")
      let graph = try tx.relationship(relationship)
      #expect(graph.count() == 0 && tx[.inverses].count == 2)
      try graph.flush()
      #expect(tx[.inverses].count == 0)
    }
  }

  @Test("Protocol_RetainCount") func retainCount() throws {
    let relationship = Relationship("graph", over: .retainCounts)
    try db.register(relationship)
    func setThree(_ rows: WritableRows<RetainCount, NoMetadata>) throws {
      try rows.set(RetainCount(retainedKey: "n3"), for: "n1")
      try rows.set(RetainCount(retainedKey: "n3"), for: "n2")
      try rows.set(RetainCount(), for: "n3")
    }
    try db.write { tx throws in
      try setThree(tx[.retainCounts])
      let graph = try tx.relationship(relationship)
      #expect(graph.count(named: "retained") == 2)
      #expect(graph.count(named: "retained", to: .retainCounts, "n3") == 2)
    }
    try db.write { tx throws in try tx[.retainCounts].remove("n1") }
    try db.read { tx throws in
      #expect(try tx.relationship(relationship).count(named: "retained", to: .retainCounts, "n3") == 1)
      #expect(try tx[.retainCounts].contains("n3"))
    }
    try db.write { tx throws in try tx[.retainCounts].remove("n2") }
    #expect(try db.read { tx throws in tx[.retainCounts].count } == 0)
    try db.write { tx throws in
      try setThree(tx[.retainCounts])
      try tx[.retainCounts].remove(["n1", "n2"])
      try tx.relationship(relationship).flush()
      #expect(tx[.retainCounts].count == 0)
    }
  }

  @Test("Protocol_InverseRetainCount") func inverseRetainCount() throws {
    let relationship = Relationship("graph", over: .inverseRetainCounts)
    try db.register(relationship)
    try db.write { tx throws in
      let rows = tx[.inverseRetainCounts]
      try rows.set(InverseRetainCount(retainerKeys: ["n1", "n2"]), for: "n3")
      try rows.set(InverseRetainCount(), for: "n1")
      try rows.set(InverseRetainCount(), for: "n2")
      #expect(try tx.relationship(relationship).count(named: "retainer", from: .inverseRetainCounts, "n3") == 2)
    }
    try db.write { tx throws in try tx[.inverseRetainCounts].remove("n1") }
    #expect(try db.read { tx throws in tx[.inverseRetainCounts].count } == 2)
    try db.write { tx throws in try tx[.inverseRetainCounts].remove("n2") }
    #expect(try db.read { tx throws in tx[.inverseRetainCounts].count } == 0)
  }

  @Test("Manual_1") func manual1() throws {
    let relationship = Relationship("graph")
    try db.register(relationship)
    try db.write { tx throws in
      try tx[.texts].set("a", for: "key1")
      try tx[.texts].set("b", for: "key2")
      let graph = try tx.relationship(relationship)
      try graph.add(
        Edge("child", from: .texts, "key1", to: .texts, "key2", rules: .deleteDestinationIfSourceDeleted))
    }
    try db.read { tx throws in
      let graph = try tx.relationship(relationship)
      #expect(graph.count(named: "child") == 1 && graph.count(named: "child", from: .texts, "key1") == 1)
      #expect(graph.count(named: "child", to: .texts, "key2") == 1)
    }
    try db.write { tx throws in
      try tx[.texts].remove("key1")
      try tx.relationship(relationship).flush()
      #expect(try tx[.texts].get("key2") == nil)
    }
  }

  @Test("Manual_3") func manual3() throws {
    let relationship = Relationship("graph")
    try db.register(relationship)
    try db.write { tx throws in
      try tx[.texts].set("a", for: "key1")
      try tx[.texts].set("b", for: "key2")
    }
    let child = Edge("child", from: .texts, "key1", to: .texts, "key2", rules: .deleteDestinationIfSourceDeleted)
    try db.write { tx throws in try tx.relationship(relationship).add(child) }
    try db.write { tx throws in
      let graph = try tx.relationship(relationship)
      #expect(try graph.remove(child, as: .edgeRemoved))
      #expect(graph.count() == 0)
    }
    #expect(try db.read { tx throws in tx[.texts].count } == 2)
    let other = Edge("child", from: .texts, "key1", to: .texts, "key2", rules: .deleteSourceIfDestinationDeleted)
    try db.write { tx throws in try tx.relationship(relationship).add(other) }
    try db.write { tx throws in try tx.relationship(relationship).remove(other, as: .destinationDeleted) }
    #expect(try db.read { tx throws in Array(tx[.texts].keys) } == ["key2"])
  }

  @Test("Encryption1, both domains", arguments: [true, false]) func files(_ isDerived: Bool) throws {
    let folder = try TestFolder()
    let (one, two) = (try folder.makeFile("one"), try folder.makeFile("two"))
    let relationship = Relationship("graph", over: .files)
    try db.register(relationship)
    try db.write { tx throws in
      for (key, url) in [("k1", one), ("k2", two)] {
        try tx[.files].set(RandomFile(path: isDerived ? url.path : nil), for: key)
        if isDerived { continue }
        let edge = Edge("random", from: .files, key, toFile: url, rules: .deleteDestinationIfSourceDeleted)
        try tx.relationship(relationship).add(edge)
      }
      check(try tx.relationship(relationship))
    }
    try db.read { tx throws in check(try tx.relationship(relationship)) }
    func check(_ graph: some GraphReading) {
      for name in [nil, "random"] {
        #expect(graph.count(named: name) == 2 && Array(graph.edges(named: name)).count == 2)
        #expect(graph.count(named: name, from: .files, "k1") == 1)
        #expect(Array(graph.edges(named: name, from: .files, "k1")).count == 1)
        #expect(graph.count(named: name, toFile: one) == 1 && Array(graph.edges(named: name, toFile: one)).count == 1)
        #expect(graph.count(named: name, from: .files, "k1", toFile: one) == 1)
        #expect(Array(graph.edges(named: name, from: .files, "k1", toFile: one)).count == 1)
        #expect(graph.count(named: name, from: .files, "k1", toFile: two) == 0)
        #expect(Array(graph.edges(named: name, from: .files, "k1", toFile: two)).isEmpty)
      }
    }
    #expect(folder.hasFile("one") && folder.hasFile("two"))
    _ = try db.write { tx throws in try tx.removeAll() }
    #expect(!folder.hasFile("one") && !folder.hasFile("two"))
    #expect(try db.read { tx throws in try tx.relationship(relationship).count() } == 0)
  }

  @Test("DoubleEnumeration") func doubleEnumeration() throws {
    let relationship = Relationship("graph")
    try db.register(relationship)
    let players = ["yankees": ["jeter", "judge"], "redsox": ["ortiz", "devers"]]
    try db.write { tx throws in
      let graph = try tx.relationship(relationship)
      try tx[.texts].set("", for: "baseball")
      for (team, names) in players {
        try tx[.texts].set("", for: team)
        try graph.add(Edge("teams", from: .texts, "baseball", to: .texts, team))
        for name in names {
          try tx[.texts].set("", for: name)
          try graph.add(Edge("players", from: .texts, team, to: .texts, name))
        }
      }
    }
    func steps(_ graph: some GraphReading) -> Int {
      var count = 0
      for team in graph.edges(named: "teams", from: .texts, "baseball") {
        guard case .row(let key) = team.destination else { continue }
        for _ in graph.edges(named: "players", from: .texts, key.key) { count += 1 }
      }
      return count
    }
    #expect(try db.read { tx throws in steps(try tx.relationship(relationship)) } == 4)
    #expect(try db.write { tx throws in steps(try tx.relationship(relationship)) } == 4)
  }

  @Test("Issue399_protocol") func missingChildren() throws {
    let relationship = Relationship("graph", over: .standards)
    try db.register(relationship)
    try db.write { tx throws in
      try tx[.standards].set(Standard(), for: "valid")
      try tx[.standards].set(Standard(childKeys: ["valid", "invalid1"]), for: "n1")
    }
    try db.write { tx throws in try tx[.standards].set(Standard(childKeys: ["valid", "invalid2"]), for: "n1") }
    try db.read { tx throws in
      let graph = try tx.relationship(relationship)
      #expect(graph.edges().map(\.destination) == [.row(RowKey("standards", "valid"))])
      #expect(tx[.standards].count == 2)
    }
  }
}
