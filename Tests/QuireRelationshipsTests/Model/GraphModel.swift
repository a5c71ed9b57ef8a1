// Rows and edges by the written rules, as simply as can be: no order, no list of things to do, everything looked at
// again and again until nothing changes.

import Quire
@testable import QuireRelationships

/// An end of an edge in the model.
enum ModelEnd: Hashable {
  /// A row: not the key, but this very row, which never comes back.
  case row(Int)
  /// A row that does not exist yet.
  case awaited(RowKey)
  /// A row that never came.
  case nobody
  case file(String)
}

/// An edge of one of the two relationships.
struct ModelEdge: Hashable {
  var graph: Int
  var name: String
  var source: ModelEnd
  var destination: ModelEnd
  var isDerived: Bool
}

/// An edge that has gone, and why.
struct ModelGone: Hashable {
  var edge: ModelEdge
  var rules: EdgeRules
  var sourceGone: Bool
  var destinationGone: Bool
}

struct ModelRow: Equatable {
  var key: RowKey
  var links: [Link]
  var told: [String] = []
}

/// All rows and edges at one time.
struct GraphModel {
  var rows: [Int: ModelRow] = [:]
  var ids: [RowKey: Int] = [:]
  var nextID = 1
  var edges: [ModelEdge: EdgeRules] = [:]
  /// What has gone in this transaction, whose rules are to be applied; told already or not.
  var gone: [(gone: ModelGone, isTold: Bool)] = []
  /// Files that are to be deleted after the commit, if no edge keeps them.
  var doomedFiles: Set<String> = []

  // MARK: Changes

  private func end(_ key: RowKey) -> ModelEnd { ids[key].map { .row($0) } ?? .awaited(key) }

  private func end(_ destination: EdgeDestination) -> ModelEnd {
    switch destination {
    case .row(let key): end(key)
    case .file(let path): .file(path)
    }
  }

  mutating func set(_ key: RowKey, _ links: [Link]) {
    if let id = ids[key] {
      rows[id] = ModelRow(key: key, links: links)
    } else {
      let id = nextID
      nextID += 1
      ids[key] = id
      rows[id] = ModelRow(key: key, links: links)
      arrive(key, id)
    }
    derive(key)
  }

  mutating func replace(_ key: RowKey, _ links: [Link]) { if ids[key] != nil { set(key, links) } }

  private mutating func arrive(_ key: RowKey, _ id: Int) {
    func moved(_ end: ModelEnd) -> ModelEnd { end == .awaited(key) ? .row(id) : end }
    for (edge, rules) in edges where edge.source == .awaited(key) || edge.destination == .awaited(key) {
      edges[edge] = nil
      var edge = edge
      edge.source = moved(edge.source)
      edge.destination = moved(edge.destination)
      edges[edge] = rules
    }
    for index in gone.indices {
      gone[index].gone.edge.source = moved(gone[index].gone.edge.source)
      gone[index].gone.edge.destination = moved(gone[index].gone.edge.destination)
    }
  }

  /// The edges of a row's object become those that it names.
  mutating func derive(_ key: RowKey, silently: Bool = false) {
    guard key.collection == "nodes", let id = ids[key], let row = rows[id] else { return }
    var wanted: [ModelEdge: EdgeRules] = [:]
    for link in row.links {
      let end: ModelEnd = link.isFile ? .file(link.target) : end(RowKey("nodes", link.target))
      let edge = ModelEdge(graph: 0, name: link.name, source: .row(id), destination: end, isDerived: true)
      wanted[edge] = EdgeRules(rawValue: link.rules)
    }
    for (edge, rules) in edges where edge.isDerived && edge.source == .row(id) && wanted[edge] == nil {
      edges[edge] = nil
      if !silently { note(edge, rules, true, false) }
    }
    edges.merge(wanted) { $1 }
  }

  private mutating func note(_ edge: ModelEdge, _ rules: EdgeRules, _ sourceGone: Bool, _ destinationGone: Bool) {
    gone.append((ModelGone(edge: edge, rules: rules, sourceGone: sourceGone, destinationGone: destinationGone), false))
  }

  mutating func remove(_ key: RowKey) {
    guard let id = ids.removeValue(forKey: key) else { return }
    rows[id] = nil
    for (edge, rules) in edges where edge.source == .row(id) || edge.destination == .row(id) {
      edges[edge] = nil
      note(edge, rules, edge.source == .row(id), edge.destination == .row(id))
    }
  }

  mutating func clear(_ collection: String) {
    for key in ids.keys where key.collection == collection { remove(key) }
  }

  mutating func clearAll() {
    guard !rows.isEmpty else { return }
    for (edge, rules) in edges where !rules.isDisjoint(with: Self.keeping) {
      if case .file(let path) = edge.destination { doomedFiles.insert(path) }
    }
    for (one, _) in gone {
      if case .file(let path) = one.edge.destination, one.sourceGone, !one.rules.isDisjoint(with: Self.keeping) {
        doomedFiles.insert(path)
      }
    }
    rows = [:]
    ids = [:]
    edges = [:]
    gone = []
  }

  private func byHand(_ edge: Edge, _ graph: Int) -> ModelEdge? {
    guard let source = edge.source else { return nil }
    return ModelEdge(
      graph: graph, name: edge.name, source: end(source), destination: end(edge.destination), isDerived: false)
  }

  mutating func add(_ edge: Edge, _ graph: Int) {
    if let new = byHand(edge, graph) { edges[new] = edge.rules }
  }

  mutating func removeEdge(_ edge: Edge, _ graph: Int, _ reason: EdgeReason) -> Bool {
    guard let old = byHand(edge, graph), let rules = edges.removeValue(forKey: old) else { return false }
    if reason != .edgeRemoved { note(old, rules, reason == .sourceDeleted, reason == .destinationDeleted) }
    return true
  }

  // MARK: Rules

  private static let keeping: EdgeRules = [.deleteDestinationIfSourceDeleted, .deleteDestinationIfAllSourcesDeleted]

  /// Applies the rules of some relationships until nothing changes any more.
  mutating func settle(_ graphs: Set<Int>) {
    for (edge, rules) in edges where graphs.contains(edge.graph) { dropIfMissing(edge, rules) }
    for index in gone.indices where graphs.contains(gone[index].gone.edge.graph) {
      if case .awaited = gone[index].gone.edge.source { gone[index].gone.edge.source = .nobody }
      if case .awaited = gone[index].gone.edge.destination { gone[index].gone.edge.destination = .nobody }
    }
    var hasChanged = true
    while hasChanged {
      hasChanged = false
      var index = 0
      while index < gone.count {
        let (one, isTold) = gone[index]
        index += 1
        guard graphs.contains(one.edge.graph) else { continue }
        // Each row is told once; those that die are not looked at any more.
        if !isTold {
          gone[index - 1].isTold = true
          if one.sourceGone, one.rules.contains(.notifyIfSourceDeleted) {
            tell(one.edge.destination, one, "sourceDeleted")
          }
          if one.destinationGone, one.rules.contains(.notifyIfDestinationDeleted) {
            tell(one.edge.source, one, "destinationDeleted")
          }
        }
        if deletesDestination(one), delete(one.edge.destination) { hasChanged = true }
        if deletesSource(one), delete(one.edge.source) { hasChanged = true }
      }
    }
  }

  private mutating func dropIfMissing(_ edge: ModelEdge, _ rules: EdgeRules) {
    let sourceGone = if case .awaited = edge.source { true } else { false }
    let destinationGone = if case .awaited = edge.destination { true } else { false }
    guard sourceGone || destinationGone else { return }
    edges[edge] = nil
    note(edge, rules, sourceGone, destinationGone)
  }

  private mutating func tell(_ end: ModelEnd, _ one: ModelGone, _ what: String) {
    guard case .row(let id) = end, rows[id]?.key.collection == "nodes" else { return }
    rows[id]?.told.append("\(one.edge.name) \(what)")
  }

  private func deletesDestination(_ one: ModelGone) -> Bool {
    guard one.sourceGone else { return false }
    if one.rules.contains(.deleteDestinationIfSourceDeleted) { return true }
    return one.rules.contains(.deleteDestinationIfAllSourcesDeleted)
      && !edges.keys.contains {
        $0.graph == one.edge.graph && $0.name == one.edge.name && $0.destination == one.edge.destination
      }
  }

  private func deletesSource(_ one: ModelGone) -> Bool {
    guard one.destinationGone else { return false }
    if one.rules.contains(.deleteSourceIfDestinationDeleted) { return true }
    return one.rules.contains(.deleteSourceIfAllDestinationsDeleted)
      && !edges.keys.contains {
        $0.graph == one.edge.graph && $0.name == one.edge.name && $0.source == one.edge.source
      }
  }

  /// Returns whether there was something to delete.
  private mutating func delete(_ end: ModelEnd) -> Bool {
    switch end {
    case .row(let id):
      guard let row = rows[id] else { return false }
      remove(row.key)
      return true
    case .file(let path): return doomedFiles.insert(path).inserted
    case .awaited, .nobody: return false
    }
  }

  /// The end of a transaction; returns the files that are deleted.
  mutating func commit() -> Set<String> {
    settle([0, 1])
    gone = []
    defer { doomedFiles = [] }
    return doomedFiles.filter { path in
      !edges.contains { $0.key.destination == .file(path) && !$0.value.isDisjoint(with: Self.keeping) }
    }
  }

  // MARK: What is to be seen

  /// The edges of a relationship as apps see them.
  func visible(_ graph: Int) -> Set<Edge> {
    Set(
      edges.compactMap { edge, rules in
        guard edge.graph == graph, case .row(let source)? = key(edge.source) else { return nil }
        return key(edge.destination).map {
          Edge(edge.name, source, $0, rules, isDerived: edge.isDerived)
        }
      })
  }

  private func key(_ end: ModelEnd) -> EdgeDestination? {
    switch end {
    case .row(let id): rows[id].map { .row($0.key) }
    case .awaited(let key): .row(key)
    case .file(let path): .file(path)
    case .nobody: nil
    }
  }
}
