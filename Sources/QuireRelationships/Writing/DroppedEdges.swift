// The list of edges that have gone and whose rules are to be applied.

internal import QuireDatabase

/// Edges that have gone, in their order, and what is to go with the last edge of a group. The first edges wait in
/// memory, `EdgeLimits.notedCount` at the most; those that come behind them, and the wishes, in trees, which hold any
/// number in little memory. What has to wait until the relationship is built is in trees altogether. All take part in
/// savepoints.
///
/// Invariants:
/// 1. The list is empty when a transaction has settled, unless the relationship is being built; `wishes` always is.
/// 2. `last`, if it is known, is at least the number of the newest edge that `list` has had in this transaction: no
///    number is given twice, whatever is cleared or undone while the first edges are looked at.
/// 3. The edges of `queue` have gone before those of `list`, which is empty unless `usesList`.
final class DroppedEdges {
  private let trees: EdgeTrees
  /// Number → an edge that has gone; see `DroppedEdge`.
  private let list: ExtensionTree<RowID>
  /// What goes with the last edge of a group: the prefixes of the groups, with 0 in front for a destination and 1 for a
  /// source.
  private let wishes: ExtensionTree<[UInt8]>
  private var last: Int64?
  private var queue = EdgeQueue()
  private var usesList: Bool
  /// The weight of the edges that are kept in memory at the most.
  private let limit: Int

  init(_ trees: EdgeTrees, limit: Int) throws {
    self.trees = trees
    self.limit = limit
    list = try trees.store.tree("dropped", of: RowID.self)
    wishes = try trees.store.tree("wishes", of: [UInt8].self)
    usesList = try list.count > 0
  }

  // MARK: The list

  /// Puts an edge that has gone on the list, and why it has.
  ///
  /// - Parameter forLater: whether transactions to come have to know it.
  func append(_ edge: StoredEdge, sourceGone: Bool, destinationGone: Bool, forLater: Bool) throws {
    let matters =
      sourceGone && !edge.rules.isDisjoint(with: .ofSource)
      || destinationGone && !edge.rules.isDisjoint(with: .ofDestination)
    // It may be the last one that something was to go with.
    guard try matters || wishes.count > 0 else { return }
    let record = DroppedEdge(edge: edge, sourceGone: sourceGone, destinationGone: destinationGone)
    guard usesList || forLater || queue.weight >= limit else { return queue.append(record) }
    usesList = true
    let number = try last ?? newest()
    assert((try? newest()).map { $0 <= number } ?? true, "an edge takes the place of another one in the list")
    last = number + 1
    try put(record, number + 1)
  }

  private func put(_ record: DroppedEdge, _ number: Int64) throws {
    assert(DroppedEdge(record.bytes)?.bytes == record.bytes, "an edge that has gone is not read as it is written")
    try list.put(record.bytes, for: RowID(number))
  }

  /// Puts what is in memory in front of the list in the tree, where transactions to come find it.
  func keepForLater() throws {
    guard !queue.isEmpty else { return }
    let cursor = try list.cursor()
    let first = try cursor.seekFirst() ? cursor.key?.rawValue ?? 1 : 1
    let (edges, start) = (queue, first - Int64(queue.count))
    last = try last ?? newest()
    queue.removeAll()
    usesList = true
    var number = start
    try edges.forEach { record in
      try put(record, number)
      number += 1
    }
  }

  /// Whether nothing waits for rules to be applied.
  var isEmpty: Bool { get throws { try queue.isEmpty && (!usesList || list.count == 0) } }
  /// Whether an end may still be to go with the last edge of a group.
  var hasWishes: Bool { get throws { try wishes.count > 0 } }

  private func newest() throws -> Int64 {
    let cursor = try list.cursor()
    return try cursor.seekLast() ? cursor.key?.rawValue ?? 0 : 0
  }

  /// Edges from the beginning of the list.
  struct Batch {
    let edges: [DroppedEdge]
    fileprivate let place: Place
  }

  /// Where edges from the beginning of the list are.
  fileprivate enum Place {
    /// In memory, below a number.
    case memory(below: Int)
    /// In the tree, up to a number.
    case tree(through: Int64)
  }

  /// The first edges of the list.
  func first() throws -> Batch {
    let waiting = queue.first
    guard try waiting.edges.isEmpty && usesList && list.count > 0 else {
      return Batch(edges: waiting.edges, place: .memory(below: waiting.end))
    }
    last = try last ?? newest()
    var (edges, end) = ([DroppedEdge](), Int64.min)
    let cursor = try list.cursor()
    while edges.count < EdgeLimits.batchCount, try cursor.next(), let entry = try cursor.entry {
      edges.append(try edge(entry.value))
      end = entry.key.rawValue
    }
    return Batch(edges: edges, place: .tree(through: end))
  }

  private func edge(_ bytes: [UInt8]) throws -> DroppedEdge {
    guard let edge = DroppedEdge(bytes) else { throw trees.damaged() }
    return edge
  }

  /// Takes the first edges off the list, those that are still there.
  func removeFirst(_ batch: Batch) throws {
    switch batch.place {
    case .memory(let end): queue.removeFirst(below: end)
    case .tree(let last):
      try list.remove(from: nil, upTo: RowID(last + 1))
      usesList = try list.count > 0
    }
  }

  // MARK: Savepoints

  /// What a savepoint has to remember; the trees go back by themselves.
  struct Mark {
    fileprivate var queue = EdgeQueue()
    fileprivate var usesList = true
  }

  var mark: Mark { Mark(queue: queue, usesList: usesList) }

  func restore(_ mark: Mark) { (queue, usesList) = (mark.queue, mark.usesList) }

  // MARK: Groups

  /// Which ends of an edge that has gone its rules delete; nil if to find that out other edges have to be looked at, or
  /// if rules do something else as well.
  func endsThatGo(_ record: DroppedEdge) throws -> (source: Bool, destination: Bool)? {
    let rules = record.edge.rules
    guard rules.isDisjoint(with: .looking), record.edge.destinationRow != nil, try !hasWishes else { return nil }
    return (
      source: record.destinationGone && rules.contains(.deleteSourceIfDestinationDeleted),
      destination: record.sourceGone && rules.contains(.deleteDestinationIfSourceDeleted)
    )
  }

  /// Whether the destination of an edge that has gone is to go.
  func deletesDestination(_ record: DroppedEdge) throws -> Bool {
    let edge = record.edge
    if record.sourceGone, edge.rules.contains(.deleteDestinationIfSourceDeleted) { return true }
    let isAskedFor = record.sourceGone && edge.rules.contains(.deleteDestinationIfAllSourcesDeleted)
    guard try isAskedFor || wishes.count > 0 else { return false }
    let group = StoredEdge.prefix(edge.destination, edge.name)
    return try completes([0] + group, isAskedFor, .byDestination, group)
  }

  /// Whether the source of an edge that has gone is to go.
  func deletesSource(_ record: DroppedEdge) throws -> Bool {
    let edge = record.edge
    if record.destinationGone, edge.rules.contains(.deleteSourceIfDestinationDeleted) { return true }
    let isAskedFor = record.destinationGone && edge.rules.contains(.deleteSourceIfAllDestinationsDeleted)
    guard try isAskedFor || wishes.count > 0 else { return false }
    let group = StoredEdge.prefix(edge.name, edge.source)
    return try completes([1] + group, isAskedFor, .byName, group)
  }

  /// Whether an end goes with the last edge of a group, and this was the last one. If edges of the group are left, a
  /// rule that asks for it is remembered to the end of the transaction: they may go yet.
  private func completes(_ wish: [UInt8], _ isAskedFor: Bool, _ order: EdgeOrder, _ group: [UInt8]) throws -> Bool {
    guard try isAskedFor || wishes.contains(wish) else { return false }
    if try trees.count(order, group) == 0 { return true }
    if isAskedFor { try wishes.put([], for: wish) }
    return false
  }

  /// The transaction has settled: nothing goes with edges that go later.
  func forgetWishes() throws {
    if try wishes.count > 0 { try wishes.removeAll() }
  }

  // MARK: All rows

  /// The destinations of edges in the list whose source has gone, with their rules.
  func forEachOfGoneSource(_ body: (DroppedEdge) -> Void) throws {
    queue.forEach { if $0.sourceGone { body($0) } }
    let pending = try list.cursor()
    while try pending.next() {
      guard let bytes = try pending.value else { throw trees.damaged() }
      let record = try edge(bytes)
      if record.sourceGone { body(record) }
    }
  }

  /// The files that are to go with the last edge of a group.
  func forEachAwaitedFile(_ body: ([UInt8]) -> Void) throws {
    let prefix: [UInt8] = [0] + StoredEdge.filePrefix
    let wish = try wishes.cursor()
    var isOnEntry = try wish.seek(prefix)
    while isOnEntry, let key = wish.key, key.starts(with: prefix) {
      var reader = EdgeKeyReader(bytes: key, offset: 1)
      guard case .file(let path)? = reader.end() else { throw trees.damaged() }
      body(path)
      isOnEntry = try wish.next()
    }
  }

  func removeAll() throws {
    queue.removeAll()
    last = try last ?? newest()
    try list.removeAll()
    usesList = false
    try wishes.removeAll()
  }
}
