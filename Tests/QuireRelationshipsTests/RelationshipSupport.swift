// What the tests of relationships share.

import Foundation
import Quire
import QuireStorage
import QuireTesting
import Testing

/// The code of the error that `body` throws, or nil.
func errorCode(_ body: () throws -> Void) -> DatabaseError.Code? {
  do { try body() } catch {
    let failure = error as? DatabaseError
    // What a hook threw is the cause.
    if failure?.code == .extensionFailed, let cause = failure?.cause as? DatabaseError { return cause.code }
    return failure?.code
  }
  return nil
}

/// What a node says about one of its edges.
struct Link: Codable, Sendable, Equatable {
  var name: String
  var target: String
  var rules: UInt8
  var isFile = false

  init(_ name: String, _ target: String, _ rules: EdgeRules = [], isFile: Bool = false) {
    self.name = name
    self.target = target
    self.rules = rules.rawValue
    self.isFile = isFile
  }

  var edge: Edge {
    isFile
      ? Edge(name, toFile: target, rules: EdgeRules(rawValue: rules))
      : Edge(name, to: .nodes, key: target, rules: EdgeRules(rawValue: rules))
  }
}

/// An object with edges, and with a list of what it was told.
struct Node: Codable, Sendable, Equatable, EdgeSource, EdgeObserver {
  var links: [Link] = []
  var told: [String] = []

  init(_ links: Link...) { self.links = links }
  init(links: [Link]) { self.links = links }

  func edges() throws -> [Edge] { links.map(\.edge) }

  func changed(by edge: Edge, _ reason: EdgeReason) throws -> Node? {
    var copy = self
    copy.told.append("\(edge.name) \(reason)")
    return copy
  }
}

extension RowCollection where Object == Node, Metadata == NoMetadata {
  static var nodes: Self { .init("nodes") }
  static var others: Self { .init("others") }
}

/// Derives the edges of nodes, and tells them.
func nodeGraph(_ name: String = "graph", version: String = "") -> Relationship<Node> {
  Relationship(name, over: .nodes, version: version).notifying(.nodes)
}

/// A database in memory with a relationship over nodes.
struct NodeDatabase {
  let db: Database
  let graph: Relationship<Node>

  init(_ graph: Relationship<Node> = nodeGraph()) throws {
    self.graph = graph
    db = try Database.inMemory()
    try db.register(graph)
  }

  /// One that is there, with its relationship.
  init(_ db: Database, _ graph: Relationship<Node>) { (self.db, self.graph) = (db, graph) }

  /// Changes something, and checks the trees before and after the commit.
  func write<Result>(_ body: (WritableRows<Node, NoMetadata>, WritableGraph) throws -> Result) throws -> Result {
    let result = try db.write { tx throws in
      let graph = try tx.relationship(graph)
      let result = try body(tx[.nodes], graph)
      try graph.checkInvariants()
      return result
    }
    try read { _, graph throws in try graph.checkInvariants() }
    return result
  }

  func read<Result>(_ body: (ReadableRows<Node, NoMetadata>, ReadableGraph) throws -> Result) throws -> Result {
    try db.read { tx throws in try body(tx[.nodes], try tx.relationship(graph)) }
  }

  /// The keys of the nodes that exist.
  func keys() throws -> [String] { try read { nodes, _ throws in Array(nodes.keys) } }

  /// The names of the edges that exist, in order.
  func edges() throws -> [String] { try read { _, graph throws in graph.edges().map { "\($0.name)" }.sorted() } }

  /// What a node was told.
  func told(_ key: String) throws -> [String]? { try read { nodes, _ throws in try nodes.get(key)?.told } }
}
