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

/// The edges that a transaction has touched: in memory as long as they weigh no more than `EdgeLimits.notedCount`; in
/// trees beyond that, so that any number of them takes little memory, and while the relationship is being built, so
/// that the transactions to come find them. Both forms take part in savepoints.
///
/// Invariants:
/// 1. Both trees have the same entries, one for an edge at the most.
/// 2. An edge that did not stand before is not noted as dropped.
/// 3. They are empty when a transaction has settled, unless the relationship is being built.
/// 4. `memory` is empty if `usesTrees`, and the trees are empty if not.
///
/// `checkInvariants` checks all but the third.
final class NetChanges {
  private let bySource: ExtensionTree<[UInt8]>
  private let byDestination: ExtensionTree<[UInt8]>
  private let damaged: () -> DatabaseError
  private var memory = NetMemory()
  private var usesTrees: Bool
  /// The weight of the changes that are kept in memory at the most.
  private let limit: Int

  init(_ trees: EdgeTrees, limit: Int) throws {
    bySource = try trees.store.tree("touched", of: [UInt8].self)
    byDestination = try trees.store.tree("touchedByDestination", of: [UInt8].self)
    damaged = trees.damaged
    self.limit = limit
    usesTrees = try bySource.count > 0
  }

  var isEmpty: Bool { get throws { try usesTrees ? bySource.count == 0 : memory.count == 0 } }

  /// What is noted of an edge, whatever its rules.
  func find(_ edge: StoredEdge) throws -> NetChange? {
    guard usesTrees else { return memory.count == 0 ? nil : memory.find(edge) }
    let key = edge.sourceKey
    return try bySource.value(for: key).map { try change(.bySource, key, $0) }
  }

  /// Whether something is noted of an edge that begins or ends at a row.
  func mentions(_ row: Int64) throws -> Bool {
    for range in [EdgeRange.source(row), .destination(row)] {
      if usesTrees {
        if try !page(range, after: nil, limit: 1).isEmpty { return true }
      } else if memory.count > 0 {
        var isFound = false
        memory.forEach(range) { _ in
          isFound = true
          return false
        }
        if isFound { return true }
      }
    }
    return false
  }

  /// Notes what has become of an edge.
  ///
  /// - Parameter forLater: whether transactions to come have to know it.
  func put(_ change: NetChange, forLater: Bool) throws {
    if !usesTrees, forLater || memory.weight >= limit { try keepForLater() }
    guard usesTrees else { return memory.put(change) }
    try putInTrees(change)
  }

  private func putInTrees(_ change: NetChange) throws {
    let (bytes, sourceKey) = (change.bytes, change.edge.sourceKey)
    assert(NetChange(.bySource, sourceKey, bytes)?.bytes == bytes, "a change of an edge is not read as it is written")
    try bySource.put(bytes, for: sourceKey)
    try byDestination.put(bytes, for: change.edge.destinationKey)
  }

  /// Makes room in memory when a savepoint has been undone: if it has put what was in memory into the trees, that was
  /// undone with it, and the next one would do it again.
  func makeRoom() throws {
    if !usesTrees, memory.count > 0, memory.weight >= limit / 2 { try keepForLater() }
  }

  /// Puts what is in memory into the trees, where transactions to come find it.
  func keepForLater() throws {
    guard !usesTrees else { return }
    let changes = memory
    memory = NetMemory()
    usesTrees = true
    try changes.forEach(.all) { change in
      try putInTrees(change)
      return true
    }
  }

  func remove(_ edge: StoredEdge) throws {
    guard usesTrees else { return memory.remove(edge) }
    try bySource.remove(edge.sourceKey)
    try byDestination.remove(edge.destinationKey)
  }

  func removeAll() throws {
    memory = NetMemory()
    guard usesTrees else { return }
    try bySource.removeAll()
    try byDestination.removeAll()
    usesTrees = false
  }

  /// Hands over what is noted of the edges of a range, in their order; `body` may change it.
  func forEach(_ range: EdgeRange, _ body: (NetChange) throws -> Void) throws {
    guard usesTrees else {
      if memory.count == 0 { return }
      return try forEachInMemory(range, body)
    }
    var last: [UInt8]?
    while true {
      let page = try page(range, after: last, limit: EdgeLimits.batchCount)
      for (_, change) in page { try body(change) }
      guard page.count == EdgeLimits.batchCount, let end = page.last else { return }
      last = end.key
    }
  }

  private func forEachInMemory(_ range: EdgeRange, _ body: (NetChange) throws -> Void) throws {
    if range.isOfOneRow {
      // While they are gathered, nothing else holds what `body` may change: it is not copied then.
      var found: [NetChange] = []
      memory.forEach(range) { change in
        found.append(change)
        return true
      }
      return try found.forEach(body)
    }
    // A copy: changes go on in another one.
    let changes = memory
    try changes.forEach(range) { change in
      try body(change)
      return true
    }
  }

  private func page(
    _ range: EdgeRange, after last: [UInt8]?, limit: Int
  ) throws -> [(key: [UInt8], change: NetChange)] {
    let (order, prefix) = (range.order, range.prefix)
    let cursor = try (order == .bySource ? bySource : byDestination).cursor()
    var page: [(key: [UInt8], change: NetChange)] = []
    var isOnEntry = try cursor.seek(last.map { $0 + [0] } ?? prefix)
    while isOnEntry, page.count < limit, let entry = try cursor.entry, entry.key.starts(with: prefix) {
      page.append((entry.key, try change(order, entry.key, entry.value)))
      isOnEntry = try cursor.next()
    }
    return page
  }

  private func change(_ order: EdgeOrder, _ key: [UInt8], _ value: [UInt8]) throws -> NetChange {
    guard let change = NetChange(order, key, value) else { throw damaged() }
    return change
  }

  // MARK: Savepoints

  /// What a savepoint has to remember; the trees go back by themselves.
  struct Mark {
    fileprivate var memory = NetMemory()
    fileprivate var usesTrees = true
  }

  var mark: Mark { Mark(memory: memory, usesTrees: usesTrees) }

  func restore(_ mark: Mark) { (memory, usesTrees) = (mark.memory, mark.usesTrees) }

  // MARK: Checking

  /// Throws unless the trees have the same entries, and so have the orders in memory. O(n log n).
  func checkInvariants() throws {
    guard memory.brokenInvariant() == nil, try usesTrees ? memory.count == 0 : bySource.count == 0,
      try bySource.count == byDestination.count
    else { throw damaged() }
    try forEach(.all) { change in
      let isDropped = if case .dropped = change.state { true } else { false }
      guard change.before != nil || !isDropped else { throw damaged() }
      guard usesTrees else { return }
      guard try byDestination.value(for: change.edge.destinationKey) == change.bytes else { throw damaged() }
    }
  }
}
