// Telling rows of edges that have gone.

internal import QuireDatabase

/// What has to be known of rows that may have to be told of an edge, or to be named to another, when they are no more.
///
/// Invariants:
/// 1. `kept` has the keys, and for those that can be told the objects, of removed rows that have had edges with rules
///    that tell somebody.
/// 2. `observed` has the rows of edges like that which were touched.
/// 3. Both are empty when a transaction has settled, unless the relationship is being built.
final class EdgeNotices {
  /// A removed row that has to be known for a while.
  fileprivate struct KeptRow {
    let key: RowKey
    let object: (any Sendable)?
  }

  private let trees: EdgeTrees
  private let settings: RelationshipSettings
  private let absent: AbsentRows
  private var kept: [Int64: KeptRow] = [:]
  private var observed: Set<Int64> = []
  /// The row whose object is replaced because it was told something.
  private(set) var toldRow: RowID?

  init(_ trees: EdgeTrees, _ settings: RelationshipSettings, _ absent: AbsentRows) {
    self.trees = trees
    self.settings = settings
    self.absent = absent
  }

  // MARK: What has to be known

  /// Has rows kept that may have to be told of an edge.
  func watch(_ edge: StoredEdge, _ before: EdgeRules?) {
    guard !edge.rules.union(before ?? []).isDisjoint(with: .notices) else { return }
    observed.insert(edge.source)
    if case .row(let row) = edge.destination { observed.insert(row) }
  }

  /// A row has come in the place of another one.
  func follow(_ old: Int64, to new: Int64) {
    if observed.contains(old) { observed.insert(new) }
  }

  /// Keeps what has to be known of a row that is about to be removed.
  func willRemove(_ change: RowChange) throws {
    guard let row = change.rowID?.rawValue, settings.hasNotifiers else { return }
    guard try observed.contains(row) || trees.hasNotices(row) else { return }
    // It may have to be told, or named to another, when it is no more.
    let object = try settings.notifier(of: change.collection)?.load(change)
    kept[row] = KeptRow(key: change.rowKey, object: object)
  }

  /// Keeps the key of a row that has never come.
  func didMiss(_ standIn: Int64, _ key: RowKey) {
    if observed.contains(standIn), kept[standIn] == nil { kept[standIn] = KeptRow(key: key, object: nil) }
  }

  /// Remembers where the removed ends of an edge were, if somebody may have to be told of it.
  func keepKeys(_ edge: StoredEdge, _ before: EdgeRules?) throws {
    guard !edge.rules.union(before ?? []).isDisjoint(with: .notices) else { return }
    for row in [edge.source, edge.destinationRow ?? 0] where kept[row] == nil {
      if let key = try absent.removed.storedKey(of: row) { kept[row] = KeptRow(key: key, object: nil) }
    }
  }

  /// Whether nothing has to be known of any row.
  var isEmpty: Bool { kept.isEmpty && observed.isEmpty }

  /// Everything that was noted is done.
  func removeAll() {
    kept.removeAll()
    observed.removeAll()
  }

  // MARK: Telling

  /// Tells a row of an edge; stores what its object becomes, unless the row has gone or is about to go.
  func tell(_ row: Int64, _ edge: StoredEdge, _ reason: EdgeReason, isDying: Bool) throws {
    guard let subject = try subject(row), let notifier = settings.notifier(of: subject.key.collection),
      let object = try subject.row.map({ try notifier.load($0) }) ?? kept[row]?.object,
      let told = try self.edge(edge)
    else { return }
    let changed = try notifier.tell(object, subject.key, told, reason)
    guard let changed, subject.row != nil, !isDying else { return }
    // No relationship asks the object for its edges: two of them might have it told by turns, for ever.
    let writers = try trees.store.writers(as: RelationshipWriter.self)
    for writer in writers { writer.notices.toldRow = RowID(row) }
    defer { for writer in writers { writer.notices.toldRow = nil } }
    try notifier.replace(changed, subject.key, try trees.transaction())
  }

  private func subject(_ row: Int64) throws -> (key: RowKey, row: RowChange?)? {
    if row > 0, let found = try trees.store.row(RowID(row)) { return (found.rowKey, found) }
    return kept[row].map { ($0.key, nil) }
  }

  /// An edge that has gone, as apps see it; nil if nobody knows any more where an end was.
  func edge(_ edge: StoredEdge) throws -> Edge? {
    guard let source = try key(of: edge.source) else { return nil }
    let end: EdgeDestination
    switch edge.destination {
    case .row(let row):
      guard let key = try key(of: row) else { return nil }
      end = .row(key)
    case .file(let path): end = .file(String(decoding: path, as: UTF8.self))
    }
    return Edge(try trees.name(of: edge.name), source, end, edge.rules, isDerived: edge.isDerived)
  }

  /// The error for an edge without one of its ends, which the relationship refuses.
  func dangling(_ edge: StoredEdge) throws -> DatabaseError {
    let (known, store) = (try self.edge(edge), trees.store)
    let (text, source) = (known.map { "The edge \($0)" } ?? "An edge", known?.source)
    return DatabaseError(
      .danglingEdge,
      """
      \(text) of the relationship “\(store.name)” has an end that does not exist when the transaction ends. Store that \
      row in the same transaction, or take the edge away. Nothing was changed.
      """, path: store.database.path, collection: source?.collection, key: source?.key)
  }

  private func key(of row: Int64) throws -> RowKey? {
    if row > 0, let key = try trees.transaction().key(of: RowID(row)) { return key }
    return try absent.waitingKey(row) ?? kept[row]?.key ?? absent.removed.key(of: row)
  }

  // MARK: Savepoints

  /// What a savepoint has to remember.
  struct Mark {
    fileprivate var kept: [Int64: KeptRow] = [:]
    fileprivate var observed: Set<Int64> = []
  }

  var mark: Mark { Mark(kept: kept, observed: observed) }

  func restore(_ mark: Mark) {
    kept = mark.kept
    observed = mark.observed
  }
}
