// The list of edges that have gone and whose rules are to be applied.

internal import QuireDatabase

/// Edges that have gone, in their order, and what is to go with the last edge of a group. Both are trees, which take
/// part in savepoints and hold any number of edges in little memory; the list also keeps what has to wait until the
/// relationship is built.
///
/// Invariants:
/// 1. The list is empty when a transaction has settled, unless the relationship is being built; `wishes` always is.
/// 2. `last`, if it is known, is at least the number of the newest edge in the list.
final class DroppedEdges {
  private let trees: EdgeTrees
  /// Number → an edge that has gone; see `DroppedEdge`.
  private let list: ExtensionTree<RowID>
  /// What goes with the last edge of a group: the prefixes of the groups, with 0 in front for a destination and 1 for a
  /// source.
  private let wishes: ExtensionTree<[UInt8]>
  private var last: Int64?

  init(_ trees: EdgeTrees) throws {
    self.trees = trees
    list = try trees.store.tree("dropped", of: RowID.self)
    wishes = try trees.store.tree("wishes", of: [UInt8].self)
  }

  // MARK: The list

  /// Puts an edge that has gone on the list, and why it has.
  func append(_ edge: StoredEdge, sourceGone: Bool, destinationGone: Bool) throws {
    let matters =
      sourceGone && !edge.rules.isDisjoint(with: .ofSource)
      || destinationGone && !edge.rules.isDisjoint(with: .ofDestination)
    // It may be the last one that something was to go with.
    guard try matters || wishes.count > 0 else { return }
    let number = try last ?? newest()
    assert((try? newest()).map { $0 <= number } ?? true, "an edge takes the place of another one in the list")
    last = number + 1
    let record = DroppedEdge(edge: edge, sourceGone: sourceGone, destinationGone: destinationGone)
    assert(DroppedEdge(record.bytes)?.bytes == record.bytes, "an edge that has gone is not read as it is written")
    try list.put(record.bytes, for: RowID(number + 1))
  }

  /// Whether nothing waits for rules to be applied.
  var isEmpty: Bool { get throws { try list.count == 0 } }
  /// Whether an end may still be to go with the last edge of a group.
  var hasWishes: Bool { get throws { try wishes.count > 0 } }

  private func newest() throws -> Int64 {
    let cursor = try list.cursor()
    return try cursor.seekLast() ? cursor.key?.rawValue ?? 0 : 0
  }

  /// The first edges of the list with their numbers.
  func first() throws -> [(number: Int64, edge: DroppedEdge)] {
    if try list.count == 0 { return [] }
    let cursor = try list.cursor()
    var batch: [(number: Int64, edge: DroppedEdge)] = []
    while batch.count < EdgeLimits.batchCount, try cursor.next(), let entry = try cursor.entry {
      batch.append((entry.key.rawValue, try edge(entry.value)))
    }
    return batch
  }

  private func edge(_ bytes: [UInt8]) throws -> DroppedEdge {
    guard let edge = DroppedEdge(bytes) else { throw trees.damaged() }
    return edge
  }

  /// Takes the edges up to a number off the list.
  func removeFirst(through number: Int64) throws { try list.remove(from: nil, upTo: RowID(number + 1)) }

  /// Forgets what was remembered of the trees, which have gone back to a savepoint.
  func didRestore() { last = nil }

  // MARK: Groups

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
    try list.removeAll()
    try wishes.removeAll()
  }
}
