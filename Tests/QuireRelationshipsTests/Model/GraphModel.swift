// Rows and edges by the written rules, as simply as can be: what objects and the app name in the end is compared with
// what stood before, in no order, and everything is looked at again and again until nothing changes.

import Quire
@testable import QuireRelationships

/// An edge of one of the two relationships. Its ends are keys.
struct ModelEdge: Hashable {
  var graph: Int
  var name: String
  var source: RowKey
  var destination: EdgeDestination
  var isDerived: Bool
}

/// An end of an edge that has gone.
enum ModelEnd: Hashable {
  /// A row: not the key, but this very row, which never comes back.
  case row(Int)
  case nobody
  case file(String)
}

/// An edge that has gone, and why.
struct ModelGone {
  var edge: ModelEdge
  var source: ModelEnd
  var destination: ModelEnd
  var rules: EdgeRules
  var sourceGone: Bool
  var destinationGone: Bool
  var isTold = false
}

struct ModelRow: Equatable {
  var id: Int
  var links: [Link]
  var told: [String] = []
}

/// All rows and edges at one time.
struct GraphModel {
  var rows: [RowKey: ModelRow] = [:]
  private var nextID = 1
  /// What objects and the app name, by relationship; the ends need not exist. A removed row names what it named last.
  private var named: [[ModelEdge: EdgeRules]] = [[:], [:]]
  /// What stood when the transaction began, or settled last, by relationship.
  private var before: [[ModelEdge: EdgeRules]] = [[:], [:]]
  /// The edges that are not to be seen as a row at an end was removed, and the rows that were, by relationship.
  private var hidden: [Set<ModelEdge>] = [[], []]
  private var removed: [Set<RowKey>] = [[], []]
  /// Why the app has taken edges away, if it has not just removed them.
  private var reasons: [ModelEdge: EdgeReason] = [:]
  /// What has gone in this transaction.
  private var gone: [ModelGone] = []
  /// Files that are to be deleted after the commit, if no edge keeps them.
  private var doomedFiles: Set<String> = []
  /// The rows that were removed while a relationship was not registered; nil for one that is.
  private var missed: [Set<RowKey>?] = [nil, nil]
  /// The relationship that is being built, and the edges that have gone as a row was removed before that.
  private var building: Int?
  private var lost: [(edge: ModelEdge, rules: EdgeRules, sourceGone: Bool, destinationGone: Bool)] = []
  /// Whether rows were changed meanwhile.
  private var hasMissed = [false, false]

  // MARK: Changes

  mutating func set(_ key: RowKey, _ links: [Link]) {
    rows[key] = ModelRow(id: rows[key]?.id ?? nextID, links: links)
    nextID += 1
    for graph in 0...1 {
      if missed[graph] != nil {
        hasMissed[graph] = true
        continue
      }
      removed[graph].remove(key)
      show(graph, key)
      if graph == 0 { derive(key) }
    }
  }

  /// A row has come: edges that its absence has hidden are seen again.
  private mutating func show(_ graph: Int, _ key: RowKey) {
    hidden[graph] = hidden[graph].filter { edge in
      guard edge.source == key || edge.destination == .row(key) else { return true }
      return removed[graph].contains { $0 == edge.source || .row($0) == edge.destination }
    }
  }

  mutating func replace(_ key: RowKey, _ links: [Link]) { if rows[key] != nil { set(key, links) } }

  /// An object is asked for its edges.
  private mutating func derive(_ key: RowKey) {
    let former = named[0].keys.filter { $0.isDerived && $0.source == key }
    for edge in former { named[0][edge] = nil }
    var wanted: Set<ModelEdge> = []
    defer { hidden[0].subtract(wanted.union(former)) }
    guard key.collection == "nodes", let row = rows[key] else { return }
    for link in row.links {
      let end: EdgeDestination = link.isFile ? .file(link.target) : .row(RowKey("nodes", link.target))
      let edge = ModelEdge(graph: 0, name: link.name, source: key, destination: end, isDerived: true)
      named[0][edge] = EdgeRules(rawValue: link.rules)
      wanted.insert(edge)
    }
  }

  mutating func remove(_ key: RowKey) {
    guard rows.removeValue(forKey: key) != nil else { return }
    for graph in 0...1 {
      if missed[graph] != nil {
        missed[graph]?.insert(key)
        hasMissed[graph] = true
        continue
      }
      removed[graph].insert(key)
      for edge in named[graph].keys where edge.source == key || edge.destination == .row(key) {
        hidden[graph].insert(edge)
      }
    }
  }

  mutating func clear(_ collection: String) {
    for key in rows.keys where key.collection == collection { remove(key) }
  }

  mutating func clearAll() {
    guard !rows.isEmpty else { return }
    var going = Array(named.joined())
    for (edge, rules) in before.joined() where named[edge.graph][edge] == nil {
      if edge.isDerived || reasons[edge] == .sourceDeleted { going.append((edge, rules)) }
    }
    for (edge, rules) in going where !rules.isDisjoint(with: .keeping) {
      if case .file(let path) = edge.destination { doomedFiles.insert(path) }
    }
    for one in gone where one.sourceGone && one.rules.contains(.deleteDestinationIfAllSourcesDeleted) {
      if case .file(let path) = one.destination { doomedFiles.insert(path) }
    }
    rows = [:]
    (named, before, reasons, gone) = ([[:], [:]], [[:], [:]], [:], [])
    (hidden, removed, lost) = ([[], []], [[], []], [])
  }

  private func byHand(_ edge: Edge, _ graph: Int) -> ModelEdge? {
    edge.source.map {
      ModelEdge(graph: graph, name: edge.name, source: $0, destination: edge.destination, isDerived: false)
    }
  }

  mutating func add(_ edge: Edge, _ graph: Int) {
    guard let new = byHand(edge, graph) else { return }
    named[graph][new] = edge.rules
    hidden[graph].remove(new)
  }

  mutating func removeEdge(_ edge: Edge, _ graph: Int, _ reason: EdgeReason) -> Bool {
    guard let old = byHand(edge, graph), named[graph].removeValue(forKey: old) != nil else { return false }
    reasons[old] = reason
    hidden[graph].remove(old)
    return true
  }

  // MARK: Registering

  /// The relationships are not registered: they hear of nothing.
  mutating func beginMissing() { missed = [[], []] }

  /// One of them is registered again: the first step. It asks all objects if any row has changed, or if it is another
  /// version. What was removed meanwhile has gone, even if there is a row again. What happens from here to
  /// `endBuilding` counts as one change, and is heard of. Returns whether there is anything to build.
  mutating func beginBuilding(_ graph: Int, isOtherVersion: Bool = false, isNew: Bool = false) -> Bool {
    let removed = missed[graph] ?? []
    missed[graph] = nil
    if isNew { (named[graph], before[graph]) = ([:], [:]) }
    if isOtherVersion || isNew, graph == 0 { askAll(silently: true) }
    guard hasMissed[graph] || isOtherVersion || isNew else { return false }
    hasMissed[graph] = false
    building = graph
    for (edge, rules) in before[graph] {
      let sourceGone = removed.contains(edge.source)
      let destinationGone = if case .row(let key) = edge.destination { removed.contains(key) } else { false }
      guard sourceGone || destinationGone else { continue }
      before[graph][edge] = nil
      named[graph][edge] = nil
      // Nobody is told, as nobody knows any more where the end was. The object is asked, and may name another row in
      // the place of the one that went.
      if edge.isDerived && !sourceGone { continue }
      var known = rules
      if edge.isDerived { known.letOthersKeepDestination() }
      lost.append((edge, known, sourceGone, destinationGone))
    }
    if graph == 0 { askAll(silently: false) }
    // What objects name, and stands, is as good as if it had stood before.
    for (edge, rules) in named[graph] where edge.isDerived && stands(edge) { before[graph][edge] = rules }
    return true
  }

  /// The last step: rules are applied. What they do now, others that are not registered yet miss.
  mutating func endBuilding(_ graph: Int) {
    building = nil
    for (edge, rules, sourceGone, destinationGone) in lost {
      gone.append(
        ModelGone(
          edge: edge, source: sourceGone ? .nobody : end(edge.source),
          destination: destinationGone ? .nobody : end(edge.destination), rules: rules, sourceGone: sourceGone,
          destinationGone: destinationGone, isTold: true))
    }
    lost = []
    settle([graph])
  }

  /// All objects are asked for their edges.
  mutating func askAll(silently: Bool) {
    for edge in named[0].keys where edge.isDerived { named[0][edge] = nil }
    for key in rows.keys { derive(key) }
    guard silently else { return }
    for edge in before[0].keys where edge.isDerived && named[0][edge] == nil { before[0][edge] = nil }
  }

  // MARK: Rules

  private func end(_ key: RowKey) -> ModelEnd { rows[key].map { .row($0.id) } ?? .nobody }

  private func end(_ destination: EdgeDestination) -> ModelEnd {
    switch destination {
    case .row(let key): end(key)
    case .file(let path): .file(path)
    }
  }

  private func stands(_ edge: ModelEdge) -> Bool { end(edge.source) != .nobody && end(edge.destination) != .nobody }

  /// Applies the rules of some relationships until nothing changes any more.
  mutating func settle(_ graphs: Set<Int>) {
    var hasChanged = true
    while hasChanged {
      hasChanged = false
      for graph in graphs { compare(graph) }
      for index in gone.indices where graphs.contains(gone[index].edge.graph) {
        let one = gone[index]
        if !one.isTold {
          gone[index].isTold = true
          if one.sourceGone, one.rules.contains(.notifyIfSourceDeleted) { tell(one.destination, one, "sourceDeleted") }
          if one.destinationGone, one.rules.contains(.notifyIfDestinationDeleted) {
            tell(one.source, one, "destinationDeleted")
          }
        }
        if deletesDestination(one), delete(one.destination) { hasChanged = true }
        if deletesSource(one), delete(one.source) { hasChanged = true }
      }
    }
  }

  /// What stands in a relationship, against what stood before.
  private mutating func compare(_ graph: Int) {
    for (edge, rules) in named[graph] where !stands(edge) {
      note(edge, rules, sourceGone: end(edge.source) == .nobody, destinationGone: end(edge.destination) == .nobody)
    }
    for (edge, rules) in before[graph] where named[graph][edge] == nil {
      let haveBothGone = end(edge.source) == .nobody && end(edge.destination) == .nobody
      let reason = edge.isDerived ? .sourceDeleted : reasons[edge] ?? .edgeRemoved
      note(
        edge, rules, sourceGone: reason == .sourceDeleted,
        destinationGone: reason == .destinationDeleted || edge.isDerived && haveBothGone)
    }
    named[graph] = named[graph].filter { stands($0.key) }
    before[graph] = named[graph]
    (hidden[graph], removed[graph]) = ([], [])
    for edge in reasons.keys where edge.graph == graph { reasons[edge] = nil }
  }

  private mutating func note(_ edge: ModelEdge, _ rules: EdgeRules, sourceGone: Bool, destinationGone: Bool) {
    gone.append(
      ModelGone(
        edge: edge, source: end(edge.source), destination: end(edge.destination), rules: rules,
        sourceGone: sourceGone, destinationGone: destinationGone))
  }

  private mutating func tell(_ end: ModelEnd, _ one: ModelGone, _ what: String) {
    guard let key = key(end), key.collection == "nodes" else { return }
    rows[key]?.told.append("\(one.edge.name) \(what)")
  }

  private func key(_ end: ModelEnd) -> RowKey? {
    guard case .row(let id) = end else { return nil }
    return rows.first { $0.value.id == id }?.key
  }

  private func deletesDestination(_ one: ModelGone) -> Bool {
    guard one.sourceGone else { return false }
    if one.rules.contains(.deleteDestinationIfSourceDeleted) { return true }
    return one.rules.contains(.deleteDestinationIfAllSourcesDeleted)
      && !named[one.edge.graph].keys.contains {
        $0.name == one.edge.name && stands($0) && end($0.destination) == one.destination
      }
  }

  private func deletesSource(_ one: ModelGone) -> Bool {
    guard one.destinationGone else { return false }
    if one.rules.contains(.deleteSourceIfDestinationDeleted) { return true }
    return one.rules.contains(.deleteSourceIfAllDestinationsDeleted)
      && !named[one.edge.graph].keys.contains {
        $0.name == one.edge.name && stands($0) && end($0.source) == one.source
      }
  }

  /// Returns whether there was something to delete.
  private mutating func delete(_ end: ModelEnd) -> Bool {
    if case .file(let path) = end { return doomedFiles.insert(path).inserted }
    guard let key = key(end) else { return false }
    remove(key)
    return true
  }

  /// The end of a transaction; returns the files that are deleted. They wait until both relationships are built.
  mutating func commit() -> Set<String> {
    settle(Set((0...1).filter { $0 != building && missed[$0] == nil }))
    gone = []
    guard building == nil, missed == [nil, nil] else { return [] }
    defer { doomedFiles = [] }
    return doomedFiles.filter { path in
      !named.joined().contains { $0.key.destination == .file(path) && !$0.value.isDisjoint(with: .keeping) }
    }
  }

  // MARK: What is to be seen

  /// The edges of a relationship as apps see them in a transaction: not those that a removed row hides.
  func visible(_ graph: Int) -> Set<Edge> {
    Set(
      named[graph].filter { !hidden[graph].contains($0.key) }.map {
        Edge($0.key.name, $0.key.source, $0.key.destination, $0.value, isDerived: $0.key.isDerived)
      })
  }
}
