// What follows a write transaction on behalf of a relationship.

public import QuireDatabase

/// A relationship in one write transaction. Apps use `WritableGraph`, which `relationship` gives them.
///
/// The trees of edges always show what is to be seen: an edge enters them when it is derived or added, and leaves them
/// when it is dropped or an end of it is removed. Each edge that is touched is noted with what it was before. When the
/// transaction settles, or on `flush`, those that stood and stand no more, and those that are named and have no two
/// ends, go to a list, and their rules are applied. While the relationship is built they wait there: as long as edges
/// are missing nothing can be counted.
///
/// What is kept for that lies in parts of its own: `absent` the rows that are not there, `net` what has become of
/// edges, `dropped` the list, `notices` the rows to be told, `files` those to be deleted, `stores` and `deletion` what
/// is under way.
///
/// Invariants:
/// 1. `net`, `dropped` and `notices` are empty when a transaction has settled, unless the relationship is being built;
///    no row is waited for then, and no wish is kept.
/// 2. No row that was there before the transaction, or when it settled last, has an id of `firstNew` or above.
/// 3. The trees of edges have no edge of an absent row but of those that are waited for.
public final class RelationshipWriter: ExtensionWriter {
  public let store: ExtensionStore
  let settings: RelationshipSettings
  let trees: EdgeTrees
  let absent: AbsentRows
  let dropped: DroppedEdges
  let notices: EdgeNotices
  let files: FileList
  /// The rows whose objects name rows that building has not found.
  let unfinished: ExtensionTree<RowID>
  /// What this transaction has touched.
  let net: NetChanges
  var names = TouchedNames()
  var derivers = LastDeriver()
  var stores = NestedStores()
  var deletion = NestedDeletion()
  var firstNew: Int64 = .max
  /// Whether `net` may know of edges that stand.
  var hasNotedStanding = false
  /// Whether building has ended in this transaction.
  var hasBuilt = false
  /// How many edges came without one of their rows, and how many rows the rules have deleted.
  var danglingCount = 0
  var deletedCount = 0
  /// Whether rules are being applied: true for as long as `work` runs, whatever savepoints a hook undoes meanwhile.
  var isWorking = false
  /// Whether building asks an object for its edges, or looks for rows that are gone.
  var isBuildingRow = false
  var isSweeping = false
  /// How the relationship is being built; nil if it is not.
  var building: Building?

  init(
    _ store: ExtensionStore, _ settings: RelationshipSettings, _ deleteFiles: @escaping @Sendable (Database) -> Void
  ) throws {
    self.store = store
    self.settings = settings
    trees = try EdgeTrees(store)
    absent = try AbsentRows(trees)
    dropped = try DroppedEdges(trees, limit: settings.notedCount)
    notices = EdgeNotices(trees, settings, absent)
    files = try FileList(trees, settings, deleteFiles)
    unfinished = try store.tree("unfinished", of: RowID.self)
    net = try NetChanges(trees, limit: settings.notedCount)
    building = try Building(store)
    hasNotedStanding = try building != nil && !net.isEmpty
  }

  /// The transaction.
  func transaction() throws -> WriteTransaction { try trees.transaction() }

  /// Whether an edge may say that rows of a collection are to be told.
  func mayBeToTell(_ collection: String) -> Bool {
    settings.untoldRows == .leaveAlone || settings.notifier(of: collection) != nil
  }

  // MARK: By hand

  func add(_ edge: Edge) throws {
    try checkOpen()
    try edge.check(mayBeToTell)
    guard let source = edge.source else { return }
    try put(try stored(edge, from: try row(source), isDerived: false))
  }

  func checkOpen() throws {
    if try store.mayChangeRows { return }
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
    let number = try names.number(of: edge.name, trees)
    return StoredEdge(name: number, source: source, destination: end, isDerived: isDerived, rules: edge.rules)
  }

  // MARK: Rows to come

  /// The id of a row, or a number that stands for it until it exists.
  func row(_ key: RowKey) throws -> Int64 {
    if let found = try transaction().rowID(of: key) {
      if try !absent.isEmpty { try resolve(key, found) }
      return found.rawValue
    }
    return try absent.wait(for: key)
  }

  /// A row exists that may have been waited for: tells its edges.
  func resolve(_ key: RowKey, _ rowID: RowID) throws {
    guard let standIn = try absent.standIn(key) else { return }
    assert(standIn != rowID.rawValue, "a row that exists stands for itself")
    try absent.removed.remove(key)
    try restore(standIn, as: rowID.rawValue)
    guard absent.stopWaiting(for: key) else { return }
    try trees.removeEdges(of: standIn) { edge throws in
      var edge = edge
      if edge.source == standIn { edge.source = rowID.rawValue }
      if edge.destination == .row(standIn) { edge.destination = .row(rowID.rawValue) }
      try trees.put(edge)
    }
  }

  // MARK: Ending

  public func settleRows() throws {
    if building != nil { return try settleBuilding() }
    try work()
  }

  /// Whether an extension that has settled after this one has changed edges meanwhile.
  public var needsSettling: Bool { get throws { try building == nil && !isDone } }

  public func settleTrees() throws {
    try report()
    try dropped.forgetWishes()
    if building == nil { try names.forgetUnused(trees) }
    try files.settle()
    assert(absent.waiting.isEmpty, "a row is waited for after the transaction has settled")
    assert((try? dropped.hasWishes) != true, "a wish is kept after the transaction has settled")
    assert(building != nil || (try? isDone) != false, "rules are left to be applied after the transaction has settled")
  }

  /// Whether nothing is noted that rules are still to be applied to.
  var isDone: Bool { get throws { try net.isEmpty && dropped.isEmpty && absent.isEmpty && notices.isEmpty } }

  /// Applies the rules now; an error is the end of the transaction, which would go on with half of it done.
  func flush() throws {
    try checkOpen()
    do { try work() } catch {
      store.noting(()) { throw error }
      throw error
    }
  }

  /// Throws unless what is kept of the transaction agrees with itself and with the trees. O(n log n).
  func checkInvariants() throws {
    try absent.checkInvariants()
    try net.checkInvariants()
    try trees.checkInvariants { absent.waitingKey($0) != nil }
  }

  // MARK: Savepoints

  private struct Mark {
    let absent: AbsentRows.Mark
    let notices: EdgeNotices.Mark
    let net: NetChanges.Mark
    let dropped: DroppedEdges.Mark
    let firstNew: Int64
    let building: Building?
  }

  public func makeMark() -> Any? {
    Mark(
      absent: absent.mark, notices: notices.mark, net: net.mark, dropped: dropped.mark, firstNew: firstNew,
      building: building)
  }

  public func restore(_ mark: Any?) {
    let mark = mark as? Mark
    absent.restore(mark?.absent ?? AbsentRows.Mark())
    notices.restore(mark?.notices ?? EdgeNotices.Mark())
    net.restore(mark?.net ?? NetChanges.Mark())
    store.noting(()) { try net.makeRoom() }
    dropped.restore(mark?.dropped ?? DroppedEdges.Mark())
    firstNew = mark?.firstNew ?? .max
    building = mark?.building
    // What was remembered of the trees may not be there any more.
    names.didRestore()
    hasNotedStanding = true
  }

  /// All edges are gone: no row is waited for any more, and no name is known.
  func forgetEdges() throws {
    try absent.removeAll()
    names.removeAll()
  }
}
