// What a transaction has changed in the edges, against what stood before.
//
// Rules do not ask in which order an app has made its changes. They are applied to what objects and the app name when
// the transaction settles, and to what stood before: an edge that was named and dropped in between has no consequences,
// and neither has one that was dropped and named again, or whose row was removed and stored again. So each edge that a
// transaction touches is noted once, with the rules that it had before.

internal import QuireDatabase

/// An edge that the transaction has touched.
///
///     0   1 if it stood before; plus 2 if it is hidden, 4 if it was dropped; plus 8 if it was dropped as one whose
///         source has gone, 16 as one whose destination has
///     1   the rules that it had before, or 0
///     2   the rules that it has, or had when it was hidden or dropped
struct NetChange {
  /// What has become of an edge.
  enum State: Equatable {
    /// It is in the trees of edges.
    case stands
    /// An object, or the app, names it, but a row at an end of it was removed: it is back when the row is.
    case hidden
    /// Nobody names it any more. What the app said about it when it took it away; nothing of derived ones.
    case dropped(sourceGone: Bool, destinationGone: Bool)
  }

  /// The edge with the rules that it has, or had when it was hidden or dropped.
  var edge: StoredEdge
  /// The rules that it had when the transaction began, or settled last; nil if it did not stand then.
  var before: EdgeRules?
  var state: State

  init(_ edge: StoredEdge, before: EdgeRules?, _ state: State) {
    self.edge = edge
    self.before = before
    self.state = state
  }

  fileprivate var bytes: [UInt8] {
    var flags: UInt8 = before == nil ? 0 : 1
    switch state {
    case .stands: break
    case .hidden: flags |= 2
    case .dropped(let sourceGone, let destinationGone): flags |= 4 | (sourceGone ? 8 : 0) | (destinationGone ? 16 : 0)
    }
    return [flags, before?.rawValue ?? 0, edge.rules.rawValue]
  }

  /// Reads what `bytes` wrote; nil if they are something else.
  fileprivate init?(_ order: EdgeOrder, _ key: [UInt8], _ value: [UInt8]) {
    guard value.count == 3, value[0] < 32, value[0] & 6 != 6, value[1] < 64,
      let edge = StoredEdge(order, key, [value[2]])
    else { return nil }
    let flags = value[0]
    self.init(
      edge, before: flags & 1 == 1 ? EdgeRules(rawValue: value[1]) : nil,
      flags & 2 != 0
        ? .hidden : flags & 4 != 0 ? .dropped(sourceGone: flags & 8 != 0, destinationGone: flags & 16 != 0) : .stands)
  }
}

/// The edges that a transaction has touched, in trees, so that any number of them takes little memory, and savepoints
/// take them along.
///
/// Invariants:
/// 1. Both trees have the same entries, one for an edge at the most.
/// 2. An edge that did not stand before is not noted as dropped.
/// 3. They are empty when a transaction has settled, unless the relationship is being built.
///
/// `checkInvariants` checks the first two.
struct NetChanges {
  private let bySource: ExtensionTree<[UInt8]>
  private let byDestination: ExtensionTree<[UInt8]>
  private let damaged: () -> DatabaseError

  init(_ trees: EdgeTrees) throws {
    bySource = try trees.store.tree("touched", of: [UInt8].self)
    byDestination = try trees.store.tree("touchedByDestination", of: [UInt8].self)
    damaged = trees.damaged
  }

  var isEmpty: Bool { get throws { try bySource.count == 0 } }

  /// What is noted of an edge, whatever its rules.
  func find(_ edge: StoredEdge) throws -> NetChange? {
    if try isEmpty { return nil }
    let key = edge.sourceKey
    return try bySource.value(for: key).map { try change(.bySource, key, $0) }
  }

  /// Whether something is noted of an edge that begins or ends at a row.
  func mentions(_ row: Int64) throws -> Bool {
    if try isEmpty { return false }
    return try !page(.bySource, StoredEdge.prefix(row), after: nil, limit: 1).isEmpty
      || !page(.byDestination, StoredEdge.prefix(.row(row)), after: nil, limit: 1).isEmpty
  }

  func put(_ change: NetChange) throws {
    let (bytes, sourceKey) = (change.bytes, change.edge.sourceKey)
    assert(NetChange(.bySource, sourceKey, bytes)?.bytes == bytes, "a change of an edge is not read as it is written")
    try bySource.put(bytes, for: sourceKey)
    try byDestination.put(bytes, for: change.edge.destinationKey)
  }

  func remove(_ edge: StoredEdge) throws {
    try bySource.remove(edge.sourceKey)
    try byDestination.remove(edge.destinationKey)
  }

  func removeAll() throws {
    if try isEmpty { return }
    try bySource.removeAll()
    try byDestination.removeAll()
  }

  /// Hands over what is noted under keys that begin with `prefix`, in their order; `body` may change it.
  func forEach(_ order: EdgeOrder, _ prefix: [UInt8], _ body: (NetChange) throws -> Void) throws {
    if try isEmpty { return }
    var last: [UInt8]?
    while true {
      let page = try page(order, prefix, after: last, limit: EdgeLimits.batchCount)
      for (_, change) in page { try body(change) }
      guard page.count == EdgeLimits.batchCount, let end = page.last else { return }
      last = end.key
    }
  }

  private func page(
    _ order: EdgeOrder, _ prefix: [UInt8], after last: [UInt8]?, limit: Int
  ) throws -> [(key: [UInt8], change: NetChange)] {
    let cursor = try (order == .bySource ? bySource : byDestination).cursor()
    var page: [(key: [UInt8], change: NetChange)] = []
    var isOnEntry = try cursor.seek(last.map { $0 + [0] } ?? prefix)
    while isOnEntry, page.count < limit, let entry = try cursor.entry, entry.key.starts(with: prefix) {
      page.append((entry.key, try change(order, entry.key, entry.value)))
      isOnEntry = try cursor.next()
    }
    return page
  }

  /// Throws unless the trees have the same entries. O(n log n).
  func checkInvariants() throws {
    guard try bySource.count == byDestination.count else { throw damaged() }
    let cursor = try bySource.cursor()
    while try cursor.next(), let entry = try cursor.entry {
      let change = try change(.bySource, entry.key, entry.value)
      let isDropped = if case .dropped = change.state { true } else { false }
      guard try byDestination.value(for: change.edge.destinationKey) == entry.value,
        change.before != nil || !isDropped
      else { throw damaged() }
    }
  }

  private func change(_ order: EdgeOrder, _ key: [UInt8], _ value: [UInt8]) throws -> NetChange {
    guard let change = NetChange(order, key, value) else { throw damaged() }
    return change
  }
}
