// What follows a write transaction on behalf of a relationship.

internal import HashTreeCollections
public import QuireDatabase

/// A relationship in one write transaction. Apps use `WritableGraph`, which `relationship` gives them.
///
/// The trees of edges always show what is to be seen: an edge enters them when it is derived or added, and leaves them
/// when it is dropped or an end of it is removed. Each edge that is touched is noted with what it was before. When the
/// transaction settles, or on `flush`, those that stood and stand no more, and those that are named and have no two
/// ends, go to a list, and their rules are applied. That list and the notes are trees, which take part in savepoints
/// like all others and hold any number of edges in little memory; the list also keeps what has to wait until the
/// relationship is built: as long as edges are missing nothing can be counted.
///
/// Invariants:
/// 1. `dropped` and `net` are empty when a transaction has settled, unless the relationship is being built; `wishes`
///    always is.
/// 2. `waiting` has the rows that edges lead from or to and that do not exist, each under a number that stands for it:
///    the id of the row that was removed from there in this transaction, or a number below 0. No number stands for two
///    rows.
/// 3. `removed` has the ids of removed rows of which `net` knows edges, by their keys, unless a row is there again.
/// 4. No row that was there before the transaction, or when it settled last, has an id of `firstNew` or above.
/// 5. `kept` has the keys, and for those that can be told the objects, of removed rows that have had edges with rules
///    that tell somebody; `observed` the rows of edges like that which were touched.
public final class RelationshipWriter: ExtensionWriter {
  public let store: ExtensionStore
  let settings: RelationshipSettings
  let trees: EdgeTrees
  /// Number → an edge that has gone; see `DroppedEdge`.
  let dropped: ExtensionTree<RowID>
  /// What goes with the last edge of a group: the prefixes of the groups, with 0 in front for a destination and 1 for a
  /// source.
  let wishes: ExtensionTree<[UInt8]>
  /// The paths of files that are to be deleted after the commit, if no edge keeps them.
  let files: ExtensionTree<[UInt8]>
  /// The rows whose objects name rows that building has not found.
  let unfinished: ExtensionTree<RowID>
  /// What this transaction has touched.
  let net: NetChanges
  let deleteFiles: @Sendable (Database) -> Void

  /// A removed row that has to be known for a while.
  struct KeptRow {
    let key: RowKey
    let object: (any Sendable)?
  }

  private(set) var waiting: [RowKey: Int64] = [:]
  private var waitingKeys: [Int64: RowKey] = [:]
  private var lastStandIn: Int64 = 0
  /// Those of `waiting` that have not come, while their edges are dropped.
  var missing: Set<Int64> = []
  var removed: RemovedRows
  var firstNew: Int64 = .max
  /// Whether `net` may know of edges that stand.
  var hasNotedStanding = false
  /// The row that a rule is deleting.
  var dyingRow: Int64?
  /// How many rows have been deleted by rules, each of which was stored by a hook because of the one before: those up
  /// to the row that is being deleted, and by the rows that such hooks have stored.
  var dyingCount = 0
  var returns: [Int64: Int] = [:]
  var kept: [Int64: KeptRow] = [:]
  var observed: Set<Int64> = []
  private var lastDropped: Int64?
  /// The names of edges that have gone, which may be unused now.
  var touchedNames: Set<UInt32> = []
  private var knownNames: [ByteString: UInt32] = [:]
  /// Whether building has ended in this transaction.
  var hasBuilt = false
  /// How many edges came without one of their rows, and how many rows the rules have deleted.
  var danglingCount = 0
  var deletedCount = 0
  /// Whether files were put on the list.
  private var hasFiles = false
  var isWorking = false
  /// Whether building asks an object for its edges, or looks for rows that are gone.
  var isBuildingRow = false
  var isSweeping = false
  private var isSettled = false
  /// How many rows have changed, and the stores that have begun, the innermost last, with that number at their
  /// beginning.
  private var changeCount = 0
  private var begun: [(key: RowKey, changeCount: Int)] = []
  /// The row whose object is replaced because it was told something.
  var toldRow: RowID?
  /// How the relationship is being built; nil if it is not.
  var building: Building?

  init(
    _ store: ExtensionStore, _ settings: RelationshipSettings, _ deleteFiles: @escaping @Sendable (Database) -> Void
  ) throws {
    self.store = store
    self.settings = settings
    self.deleteFiles = deleteFiles
    trees = try EdgeTrees(store)
    dropped = try store.tree("dropped", of: RowID.self)
    wishes = try store.tree("wishes", of: [UInt8].self)
    files = try store.tree("files", of: [UInt8].self)
    unfinished = try store.tree("unfinished", of: RowID.self)
    net = try NetChanges(trees)
    removed = try RemovedRows(trees)
    building = try Building(store)
    hasNotedStanding = try building != nil && !net.isEmpty
  }

  /// The transaction.
  func transaction() throws -> WriteTransaction {
    guard let tx = store.writeTransaction else {
      throw DatabaseError(.readOnly, "A read transaction cannot change edges. Use `write`.")
    }
    return tx
  }

  /// Whether an edge may say that rows of a collection are to be told.
  func mayBeToTell(_ collection: String) -> Bool {
    settings.untoldRows == .leaveAlone || settings.notifier(of: collection) != nil
  }

  // MARK: Changes inside of changes

  /// An object is about to be stored.
  func begin(_ key: RowKey) { begun.append((key, changeCount)) }

  /// A row has changed.
  func noteChange() { changeCount &+= 1 }

  /// An object was stored. Returns whether no row was changed since that began. What began inside and never ended is
  /// passed over: hooks may give up.
  func end(_ key: RowKey) -> Bool {
    defer { noteChange() }
    while let last = begun.popLast() {
      if last.key == key { return last.changeCount == changeCount }
    }
    return false
  }

  // MARK: By hand

  func add(_ edge: Edge) throws {
    try checkOpen()
    try edge.check(mayBeToTell)
    guard let source = edge.source else { return }
    try put(try stored(edge, from: try row(source), isDerived: false))
  }

  func checkOpen() throws {
    guard isSettled else { return }
    throw DatabaseError(
      .transactionFailed, "Edges of “\(store.name)” were changed after it had settled. Change them in `settleRows`.")
  }

  // MARK: Edges

  /// An edge as it is stored, its ends found or waited for.
  func stored(_ edge: Edge, from source: Int64, isDerived: Bool) throws -> StoredEdge {
    let end: StoredDestination =
      switch edge.destination {
      case .row(let key): .row(try row(key))
      case .file(let path): .file(Array(path.utf8))
      }
    let name = ByteString(edge.name)
    let number = try knownNames[name] ?? trees.makeNumber(of: edge.name)
    knownNames[name] = number
    return StoredEdge(name: number, source: source, destination: end, isDerived: isDerived, rules: edge.rules)
  }

  /// An edge comes, or its rules change: a file that it keeps must not be deleted any more.
  func willPut(_ edge: StoredEdge) {
    guard case .file(let path) = edge.destination, !edge.rules.isDisjoint(with: .keeping) else { return }
    FileClaims.shared.willKeep(path, store.database)
  }

  /// Puts an edge that has gone on the list, and why it has.
  func note(_ edge: StoredEdge, sourceGone: Bool, destinationGone: Bool) throws {
    let matters =
      sourceGone && !edge.rules.isDisjoint(with: .ofSource)
      || destinationGone && !edge.rules.isDisjoint(with: .ofDestination)
    // It may be the last one that something was to go with.
    guard try matters || wishes.count > 0 else { return }
    let number = try lastDropped ?? newestDropped()
    lastDropped = number + 1
    let record = DroppedEdge(edge: edge, sourceGone: sourceGone, destinationGone: destinationGone)
    try dropped.put(record.bytes, for: RowID(number + 1))
  }

  private func newestDropped() throws -> Int64 {
    let cursor = try dropped.cursor()
    return try cursor.seekLast() ? cursor.key?.rawValue ?? 0 : 0
  }

  // MARK: Rows to come

  /// The id of a row, or a number that stands for it until it exists.
  func row(_ key: RowKey) throws -> Int64 {
    if let found = try transaction().rowID(of: key) {
      try resolve(key, found)
      return found.rawValue
    }
    if let known = waiting[key] { return known }
    let standIn = try removed.id(of: key) ?? lastStandIn - 1
    lastStandIn = min(lastStandIn, standIn)
    waiting[key] = standIn
    waitingKeys[standIn] = key
    return standIn
  }

  /// The number that stands for a row that does not exist, or did until it was removed in this transaction.
  func standIn(_ key: RowKey) throws -> Int64? {
    try waiting.isEmpty && removed.isEmpty ? nil : waiting[key] ?? removed.id(of: key)
  }

  /// The row that a number stands for.
  func waitingKey(_ standIn: Int64) -> RowKey? { waitingKeys[standIn] }

  /// A row exists that may have been waited for: has its edges know it.
  func resolve(_ key: RowKey, _ rowID: RowID) throws {
    guard let standIn = try standIn(key) else { return }
    try removed.remove(key)
    try restore(standIn, as: rowID.rawValue)
    guard waiting[key] != nil else { return }
    forgetWaiting(key)
    for order in [EdgeOrder.bySource, .byDestination] {
      let prefix = order == .bySource ? StoredEdge.prefix(standIn) : StoredEdge.prefix(.row(standIn))
      while true {
        let edges = try trees.edges(order, prefix, limit: EdgeLimits.batchCount)
        if edges.isEmpty { break }
        try trees.remove(edges, neighboursIn: order)
        for var edge in edges {
          if edge.source == standIn { edge.source = rowID.rawValue }
          if edge.destination == .row(standIn) { edge.destination = .row(rowID.rawValue) }
          try trees.put(edge)
        }
      }
    }
  }

  /// A row has come, or was given up.
  func forgetWaiting(_ key: RowKey) {
    if let standIn = waiting.removeValue(forKey: key) { waitingKeys[standIn] = nil }
  }

  // MARK: Files

  /// Puts a file on the list of those that are to be deleted after the commit.
  func deleteAfterwards(_ path: [UInt8]) throws {
    FileClaims.shared.noteDue(path, store.database)
    try files.put([], for: path)
    hasFiles = true
  }

  // MARK: Ending

  public func settleRows() throws {
    if building != nil { return try settleBuilding() }
    try work()
  }

  public func settleTrees() throws {
    isSettled = true
    try report()
    if try wishes.count > 0 { try wishes.removeAll() }
    if building == nil {
      for name in touchedNames { try trees.forgetIfUnused(name) }
    }
    if hasFiles {
      let (database, deleteFiles) = (store.database, deleteFiles)
      try transaction().onCommit { deleteFiles(database) }
    }
  }

  /// Applies the rules now; an error is the end of the transaction, which would go on with half of it done.
  func flush() throws {
    try checkOpen()
    do { try work() } catch {
      store.noting(()) { throw error }
      throw error
    }
  }

  // MARK: Savepoints

  private struct Mark {
    let waiting: [RowKey: Int64]
    let waitingKeys: [Int64: RowKey]
    let removed: TreeDictionary<RowKey, Int64>
    let firstNew: Int64
    let kept: [Int64: KeptRow]
    let observed: Set<Int64>
    let building: Building?
  }

  public func makeMark() -> Any? {
    Mark(
      waiting: waiting, waitingKeys: waitingKeys, removed: removed.memory, firstNew: firstNew, kept: kept,
      observed: observed,
      building: building)
  }

  public func restore(_ mark: Any?) {
    let mark = mark as? Mark
    waiting = mark?.waiting ?? [:]
    waitingKeys = mark?.waitingKeys ?? [:]
    removed.restore(mark?.removed ?? [:])
    firstNew = mark?.firstNew ?? .max
    kept = mark?.kept ?? [:]
    observed = mark?.observed ?? []
    building = mark?.building
    // What was remembered of the trees may not be there any more.
    knownNames = [:]
    lastDropped = nil
    hasNotedStanding = true
    isWorking = false
  }

  /// Everything that was noted is done.
  func forgetGone() {
    kept.removeAll()
    observed.removeAll()
  }

  /// All edges are gone: no row is waited for any more, and no name is known.
  func forgetEdges() throws {
    waiting.removeAll()
    waitingKeys.removeAll()
    try removed.removeAll()
    knownNames.removeAll()
    touchedNames.removeAll()
  }
}
