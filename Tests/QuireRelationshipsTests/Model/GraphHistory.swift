// One random life of a database with two relationships beside its model.

import Quire
import QuireDatabase
@testable import QuireRelationships
import QuireStorage
import QuireTesting
import Synchronization
import Testing

/// Something that the relationships did and the model did not.
struct GraphMismatch: Error, CustomStringConvertible {
  let description: String
}

/// A crash that is to happen when a file is about to be deleted.
final class CrashPlan: Sendable {
  private let state = Latch<(seed: UInt64?, image: SimulatedDisk?)>((nil, nil))

  /// The disk as the crash has left it, if it has happened.
  var image: SimulatedDisk? { state.withLock { $0.image } }

  func plan(_ seed: UInt64?) { state.withLock { $0 = (seed, nil) } }

  func happen(to disk: SimulatedDisk) {
    state.withLock { state in
      guard let seed = state.seed else { return }
      state = (nil, disk.crashImage(.random(seed)))
    }
  }
}

/// A life; the same one for the same seed.
final class GraphHistory {
  struct Undo: Error {}

  let seed: UInt64
  let limit: Int
  var random: SeededRandom
  private var disk = SimulatedDisk()
  private(set) var db: Database
  private var version = 0
  var model = GraphModel()
  /// What the collections are called in the file; the model goes on with the names that they had first.
  var names = CollectionNames()
  private let deleted = Recorder()
  private var deletedCount = 0
  /// The disk as a crash leaves it that happens when the next file is about to be deleted, if one is to happen.
  private let crash = CrashPlan()
  private(set) var steps = 0
  /// Counts of what has happened, to see that all of it does.
  private(set) var counts: [String: Int] = [:]
  /// The last steps, for a failure to tell.
  private var lastSteps: [String] = []

  init(seed: UInt64, limit: Int) throws {
    self.seed = seed
    self.limit = limit
    random = SeededRandom(seed: seed)
    db = try disk.openDatabase(seed: seed, Self.options(names))
    try register()
  }

  /// Building takes several steps.
  private static func options(_ names: CollectionNames) -> Database.Options {
    var options = Database.Options(
      durability: .full, cacheSize: 4 << 20, logLimit: 256 << 10, maintainsWhenIdle: false,
      renamedCollections: names.former)
    options.buildStepRowCount = 5
    return options
  }

  /// Closes the database, and opens it again; nothing is registered.
  func openAgain() throws {
    try db.close()
    db = try disk.openDatabase(seed: random.next(), Self.options(names))
    model.beginMissing()
  }

  var nodes: RowCollection<Node, NoMetadata> { names.nodes() }
  private var others: RowCollection<Node, NoMetadata> { names.others() }

  private var derived: Relationship<Node> { derivedEdges() }
  private var byHand: Relationship<Never> { byHand(nodes) }

  /// The edges that the objects in `nodes` name, whatever their type is.
  func derivedEdges<Object: Linked>() -> Relationship<Object> {
    let nodes: RowCollection<Object, NoMetadata> = names.nodes()
    var graph = Relationship("derived", over: nodes, version: "\(version)") { object in
      object.links.map { $0.edge(to: nodes) }
    }.notifying(nodes)
    graph.fileRemoval = removal
    graph.settings.notedCount = notedCount
    return graph
  }

  func byHand(_ nodes: RowCollection<some Linked, NoMetadata>) -> Relationship<Never> {
    var graph = Relationship("by hand").notifying(nodes)
    graph.fileRemoval = removal
    graph.settings.notedCount = notedCount
    return graph
  }

  /// How much of a transaction the relationships keep in memory, from one registration on: all, a little, none.
  private var notedCount: Int { [EdgeLimits.notedCount, 2, 0, 5][steps % 4] }

  private var removal: @Sendable (String) throws -> Void {
    { [deleted, crash, disk] path in
      deleted.append(path)
      crash.happen(to: disk)
    }
  }

  /// Registers both, as they were or in another version.
  func register(isOtherVersion: Bool = false) throws {
    try register(0, isOtherVersion: isOtherVersion)
    try register(1)
  }

  /// Registers one of them; rows may change while it is built.
  private func register(_ number: Int, isOtherVersion: Bool = false, isNew: Bool = false) throws {
    let isBuilt = model.beginBuilding(number, isOtherVersion: isOtherVersion, isNew: isNew)
    let change: (Database.Progress) throws -> Void = { [self] progress in
      // After the last step it is ready.
      guard isBuilt, progress.fraction < 1, random.below(3) == 0 else { return }
      count("change while building")
      note("meanwhile")
      try changeRows()
      try checkFiles()
    }
    if number == 0 { try db.register(derived, progress: change) } else { try db.register(byHand, progress: change) }
    note("registered \(number)")
    if isBuilt { model.endBuilding(number) }
  }

  /// Changes some rows in a transaction.
  private func changeRows() throws {
    try db.write { tx throws in
      for _ in 0..<random.below(5) {
        if random.below(2) == 0 { try removeRow(tx) } else { try set(tx) }
      }
    }
  }

  private func expect(_ isRight: Bool, _ what: @autoclosure () -> String) throws {
    if isRight { return }
    throw GraphMismatch(
      description: """
        \(what()) (step \(steps)). Again: QUIRE_GRAPH_STEPS=\(limit) QUIRE_GRAPH_SEED=\(seed) swift test --filter \
        RandomGraphTests
        The last steps: \(lastSteps.joined(separator: "; "))
        """)
  }

  /// Remembers what is about to happen.
  func note(_ step: @autoclosure () -> String) {
    lastSteps.append(step())
    if lastSteps.count > 30 { lastSteps.removeFirst() }
  }

  func count(_ what: String) { counts[what, default: 0] += 1 }

  // MARK: Life

  func run() throws {
    while steps < limit {
      switch random.below(100) {
      case 0: try reopen(isChanged: false)
      case 1: try reopen(isChanged: true)
      case 3: try changeUnregistered()
      case 4: try unregister()
      case 5: try rename()
      case 6: try changeType()
      case 2:
        note("crash")
        try recover(disk.crashImage(.random(random.next())))
        try checkCommit()
      default: try transact()
      }
    }
    try db.close()
  }

  private func reopen(isChanged: Bool) throws {
    count(isChanged ? "other version" : "reopen")
    note(isChanged ? "other version" : "reopen")
    steps += 1
    try openAgain()
    if isChanged { version += 1 }
    try register(isOtherVersion: isChanged)
    try checkCommit()
  }

  /// Rows change while the relationships are not registered, and the first attempt to register one of them may fail.
  private func changeUnregistered() throws {
    count("late")
    note("reopen without relationships")
    steps += 1
    if random.below(4) == 0 { names.rename(random.below(2)) }
    try openAgain()
    for _ in 0...random.below(3) { try changeRows() }
    if random.below(2) == 0 { try failToRegister() }
    note("register")
    try register()
    try checkCommit()
  }

  /// Registers the derived edges with a closure that fails.
  private func failToRegister() throws {
    let poisoned = random.below(4)
    note("fail to register at row \(poisoned)")
    let calls = Latch(0)
    let nodes = nodes
    var failing = Relationship("derived", over: nodes, version: "\(version)") { node in
      let number = calls.withLock { calls in
        calls += 1
        return calls
      }
      if number > poisoned { throw Undo() }
      return node.links.map { $0.edge(to: nodes) }
    }.notifying(nodes)
    failing.fileRemoval = removal
    // It is ready if nothing has changed, and has nobody to ask if there are few rows.
    do { try db.register(failing) } catch {
      count("failed registration")
      return
    }
    try db.close()
    db = try disk.openDatabase(seed: random.next(), Self.options(names))
  }

  /// One of the relationships is unregistered, and registered as a new one.
  private func unregister() throws {
    count("unregister")
    let number = random.below(2)
    note("unregister \(number)")
    steps += 1
    try db.unregister(extensionNamed: ["derived", "by hand"][number])
    try register(number, isNew: true)
    try checkCommit()
  }

  /// Goes on with a disk as a crash has left it.
  private func recover(_ image: SimulatedDisk) throws {
    count("crash")
    try db.close()
    disk = image
    db = try disk.openDatabase(seed: random.next(), Self.options(names))
    try register()
  }

  private func transact() throws {
    crash.plan(random.below(20) == 0 ? random.next() : nil)
    let before = model
    let isUndone = random.below(8) == 0
    note(isUndone ? "begin, to roll back" : "begin")
    do {
      try db.write { tx throws in
        for _ in 0...random.below(8) {
          try step(tx, 0)
          for graph in [try tx.relationship(derived), try tx.relationship(byHand)] { try graph.checkInvariants() }
        }
        if isUndone { throw Undo() }
      }
    } catch is Undo {
      count("rollback")
      model = before
    }
    let image = crash.image
    if let image {
      count("crash while deleting")
      note("crash while deleting")
      try recover(image)
    }
    try checkCommit(hasCrashed: image != nil)
  }

  /// After a commit: rows, edges, trees, and the files that have gone, some of them twice after a crash.
  func checkCommit(hasCrashed: Bool = false) throws {
    try checkFiles(hasCrashed: hasCrashed)
    try db.read { tx throws in
      try check(tx[nodes], tx[others], try tx.relationship(derived), try tx.relationship(byHand))
    }
  }

  func checkFiles(hasCrashed: Bool = false) throws {
    let files = model.commit()
    let now = deleted.values
    try expect(
      Set(now[deletedCount...]) == files && (hasCrashed || now.count - deletedCount == files.count),
      "deleted \(now[deletedCount...]) instead of \(files.sorted())")
    if !files.isEmpty { count("file") }
    deletedCount = now.count
  }

  private func check(
    _ nodes: some RowReading<Node, NoMetadata>, _ others: some RowReading<Node, NoMetadata>,
    _ derived: some GraphReading,
    _ byHand: some GraphReading
  ) throws {
    var found: [RowKey: Node] = [:]
    for row in nodes.rows { found[RowKey("nodes", row.key)] = row.object }
    for row in others.rows { found[RowKey("others", row.key)] = row.object }
    for (key, node) in found {
      let expected = model.rows[key]
      try expect(expected != nil, "\(key) is there")
      try expect(
        expected?.links == node.links && expected?.told.sorted() == node.told.sorted(),
        "\(key) is \(node) instead of \(String(describing: expected))")
    }
    for key in model.rows.keys { try expect(found[key] != nil, "\(key) is gone") }
    try check(derived, 0)
    try check(byHand, 1)
  }

  private func check(_ graph: some GraphReading, _ number: Int) throws {
    try graph.checkInvariants()
    let (all, expected) = (Array(graph.edges()), Set(model.visible(number).map(names.stored)))
    try expect(
      all.count == expected.count && Set(all) == expected,
      "edges of \(number): missing \(expected.subtracting(all)), too many \(Set(all).subtracting(expected))")
    try expect(graph.count() == all.count, "\(graph.count()) edges counted")
    // One question at random.
    let (name, source, end) = (
      random.below(2) == 0 ? nil : randomName(), random.below(2) == 0 ? nil : names.stored(randomKey()),
      random.below(2) == 0 ? nil : names.stored(randomEnd())
    )
    let some = all.filter {
      (name == nil || $0.name == name) && (source == nil || $0.source == source)
        && (end == nil || $0.destination == end)
    }
    let answer = Array(graph.edges(named: name, from: source, to: end))
    try expect(
      Set(answer) == Set(some) && answer.count == some.count
        && graph.count(named: name, from: source, to: end) == some.count,
      "a question was answered with \(answer) instead of \(some)")
  }
}

// MARK: - Steps

extension GraphHistory {
  private func randomName() -> String { ["x", "y"][random.below(2)] }

  func randomKey() -> RowKey {
    RowKey(random.below(4) == 0 ? "others" : "nodes", ["a", "b", "c", "d", "e", "f", "g", "h"][random.below(8)])
  }

  private func randomEnd() -> EdgeDestination {
    random.below(5) == 0 ? .file("/f\(random.below(4))") : .row(randomKey())
  }

  private func randomRules(isFile: Bool, isNodes: (source: Bool, destination: Bool)) -> EdgeRules {
    var rules: EdgeRules = []
    let choices: [EdgeRules] = [[], .deleteDestinationIfSourceDeleted, .deleteDestinationIfAllSourcesDeleted]
    rules.formUnion(choices[random.below(3)])
    if isFile { return rules }
    let others: [EdgeRules] = [[], [], .deleteSourceIfDestinationDeleted, .deleteSourceIfAllDestinationsDeleted]
    rules.formUnion(others[random.below(4)])
    if isNodes.destination, random.below(4) == 0 { rules.insert(.notifyIfSourceDeleted) }
    if isNodes.source, random.below(4) == 0 { rules.insert(.notifyIfDestinationDeleted) }
    return rules
  }

  func randomLinks() -> [Link] {
    (0..<random.below(4)).map { _ in
      if random.below(6) == 0 {
        return Link(
          randomName(), "/f\(random.below(4))", randomRules(isFile: true, isNodes: (true, false)), isFile: true)
      }
      return Link(
        randomName(), ["a", "b", "c", "d", "e", "f", "g", "h"][random.below(8)],
        randomRules(isFile: false, isNodes: (true, true)))
    }
  }

  private func randomEdge() -> Edge {
    let (source, end) = (randomKey(), randomEnd())
    var (isFile, isNodes) = (true, false)
    if case .row(let key) = end { (isFile, isNodes) = (false, key.collection == "nodes") }
    let rules = randomRules(isFile: isFile, isNodes: (source.collection == "nodes", isNodes))
    return Edge(randomName(), from: source, to: end, rules: rules)
  }

  private func collection(_ key: RowKey) -> RowCollection<Node, NoMetadata> {
    key.collection == "nodes" ? nodes : others
  }

  fileprivate func step(_ tx: QuireDatabase.WriteTransaction, _ depth: Int) throws {
    steps += 1
    switch random.below(40) {
    case 0..<12: try set(tx)
    case 12..<14:
      let (key, links) = (randomKey(), randomLinks())
      note("replace \(key) \(links.map(\.edge))")
      try tx[collection(key)].replace(Node(links: links), for: key.key)
      model.replace(key, links)
    case 14..<19:
      try removeRow(tx)
    case 19:
      let keys = (0..<3).map { _ in RowKey("nodes", randomKey().key) }
      note("remove \(keys)")
      try tx[nodes].remove(keys.map(\.key))
      for key in keys { model.remove(key) }
    case 20: try touch(tx)
    case 21..<29: try add(tx)
    case 29..<33: try removeEdge(tx)
    case 33, 34: try flush(tx)
    case 35: try clear(tx)
    case 36, 37: if depth < 3 { try savepoint(tx, depth) }
    default:
      try check(tx[nodes], tx[others], try tx.relationship(derived), try tx.relationship(byHand))
    }
  }

  private func set(_ tx: QuireDatabase.WriteTransaction) throws {
    count("set")
    let (key, links) = (randomKey(), randomLinks())
    note("set \(key) \(links.map(\.edge))")
    try tx[collection(key)].set(Node(links: links), for: key.key)
    model.set(key, links)
  }

  private func removeRow(_ tx: QuireDatabase.WriteTransaction) throws {
    let key = randomKey()
    note("remove \(key)")
    try tx[collection(key)].remove(key.key)
    model.remove(key)
  }

  private func touch(_ tx: QuireDatabase.WriteTransaction) throws {
    let key = randomKey()
    try tx[collection(key)].touch(key.key)
    try tx[collection(key)].replaceMetadata(NoMetadata(), for: key.key)
  }

  private func graph(_ tx: QuireDatabase.WriteTransaction, _ number: Int) throws -> WritableGraph {
    try number == 0 ? tx.relationship(derived) : tx.relationship(byHand)
  }

  private func add(_ tx: QuireDatabase.WriteTransaction) throws {
    count("add")
    let (number, edge) = (random.below(2), randomEdge())
    note("add \(edge) to \(number)")
    try graph(tx, number).add(names.stored(edge))
    model.add(edge, number)
  }

  private func removeEdge(_ tx: QuireDatabase.WriteTransaction) throws {
    let number = random.below(2)
    let existing = model.visible(number).filter { !$0.isDerived }.sorted { "\($0)" < "\($1)" }
    let edge = existing.isEmpty || random.below(5) == 0 ? randomEdge() : existing[random.below(existing.count)]
    let reason = [EdgeReason.edgeRemoved, .sourceDeleted, .destinationDeleted][random.below(3)]
    note("remove \(edge) of \(number), \(reason)")
    let isFound = try graph(tx, number).remove(names.stored(edge), as: reason)
    try expect(isFound == model.removeEdge(edge, number, reason), "removing \(edge) returned \(isFound)")
    count(isFound ? "drop" : "drop nothing")
  }

  private func flush(_ tx: QuireDatabase.WriteTransaction) throws {
    count("flush")
    let number = random.below(2)
    note("flush \(number)")
    try graph(tx, number).flush()
    model.settle([number])
    try check(tx[nodes], tx[others], try tx.relationship(derived), try tx.relationship(byHand))
  }

  private func clear(_ tx: QuireDatabase.WriteTransaction) throws {
    count("clear")
    let what = random.below(3)
    note("clear \(["nodes", "others", "all"][what])")
    switch what {
    case 0:
      try tx[nodes].removeAll()
      model.clear("nodes")
    case 1:
      try tx[others].removeAll()
      model.clear("others")
    default:
      try tx.removeAll()
      model.clearAll()
    }
  }

  private func savepoint(_ tx: QuireDatabase.WriteTransaction, _ depth: Int) throws {
    let before = model
    let isUndone = random.below(2) == 0
    note(isUndone ? "savepoint, to undo" : "savepoint")
    defer { note("end of savepoint") }
    do {
      try tx.savepoint { () throws in
        for _ in 0...random.below(5) { try step(tx, depth + 1) }
        if isUndone { throw Undo() }
      }
      count("savepoint kept")
    } catch is Undo {
      count("savepoint undone")
      model = before
    }
  }
}
