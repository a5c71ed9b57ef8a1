// What newer versions of a program do to a database: collections get other names, and objects another type.

import Quire
import QuireDatabase
@testable import QuireRelationships
import QuireTesting

/// An object with links that hears of them.
protocol Linked: Codable, Sendable, EdgeObserver {
  var links: [Link] { get }
  init(links: [Link])
}

extension Node: Linked {}

extension Link {
  func edge(to collection: RowCollection<some Linked, NoMetadata>) -> Edge {
    isFile
      ? Edge(name, toFile: target, rules: EdgeRules(rawValue: rules))
      : Edge(name, to: collection, key: target, rules: EdgeRules(rawValue: rules))
  }
}

/// What a newer version of a program has made of a node: fields in another order, and one that nodes do not have.
struct Vertex: Linked {
  var since: Int
  var told: [String] = []
  var links: [Link]

  init(links: [Link]) { (self.links, since) = (links, 2026) }

  private enum CodingKeys: String, CodingKey { case since, told, links }

  init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    since = try values.decodeIfPresent(Int.self, forKey: .since) ?? 2025
    told = try values.decode([String].self, forKey: .told)
    links = try values.decode([Link].self, forKey: .links)
  }

  func changed(by edge: Edge, _ reason: EdgeReason) throws -> Self? {
    var copy = self
    copy.told.append("\(edge.name) \(reason)")
    return copy
  }
}

/// What the two collections are called, and were.
struct CollectionNames {
  private var current = ["nodes", "others"]
  private var count = 0
  /// Each name that one of them had, with its name of today.
  private(set) var former: [String: String] = [:]

  func nodes<Object: Linked>() -> RowCollection<Object, NoMetadata> { RowCollection(current[0]) }
  func others<Object: Linked>() -> RowCollection<Object, NoMetadata> { RowCollection(current[1]) }

  /// Gives one of them another name, from the next opening on.
  mutating func rename(_ number: Int) {
    count += 1
    let (old, new) = (current[number], "\(["nodes", "others"][number])\(count)")
    for (name, today) in former where today == old { former[name] = new }
    former[old] = new
    current[number] = new
  }

  func stored(_ key: RowKey) -> RowKey { RowKey(current[key.collection == "nodes" ? 0 : 1], key.key) }

  func stored(_ end: EdgeDestination) -> EdgeDestination {
    if case .row(let key) = end { .row(stored(key)) } else { end }
  }

  func stored(_ edge: Edge) -> Edge {
    Edge(
      edge.name, edge.source.map(stored) ?? RowKey("", ""), stored(edge.destination), edge.rules,
      isDerived: edge.isDerived)
  }
}

extension GraphHistory {
  /// A collection gets another name: nothing is asked anew.
  func rename() throws {
    count("rename")
    let number = random.below(2)
    note("rename \(["nodes", "others"][number])")
    names.rename(number)
    try openAgain()
    try register()
    try checkCommit()
  }

  /// A newer version of the program, in which objects have another type, changes rows; then the older one comes back.
  func changeType() throws {
    count("other type")
    note("other type")
    try openAgain()
    if random.below(3) == 0 { try changeVertices() }
    try registerVertices()
    for _ in 0...random.below(2) {
      try changeVertices()
      try checkFiles()
    }
    note("the type of before")
    try openAgain()
    try register()
    try checkCommit()
  }

  private func registerVertices() throws {
    let graph: Relationship<Vertex> = derivedEdges()
    for number in 0...1 {
      let isBuilt = model.beginBuilding(number)
      if number == 0 {
        try db.register(graph)
      } else {
        try db.register(byHand(names.nodes() as RowCollection<Vertex, _>))
      }
      if isBuilt { model.endBuilding(number) }
    }
    try checkFiles()
  }

  private func changeVertices() throws {
    try db.write { tx throws in
      for _ in 0..<random.below(5) {
        let (key, links) = (randomKey(), randomLinks())
        let rows: WritableRows<Vertex, NoMetadata> = tx[key.collection == "nodes" ? names.nodes() : names.others()]
        if random.below(3) == 0 {
          note("remove \(key)")
          try rows.remove(key.key)
          model.remove(key)
        } else {
          note("set \(key) \(links.map(\.edge))")
          try rows.set(Vertex(links: links), for: key.key)
          model.set(key, links)
        }
      }
    }
  }
}
