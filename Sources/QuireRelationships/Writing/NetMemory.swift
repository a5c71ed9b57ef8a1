// Changes of edges in memory, as long as they are not too many.

/// The edges that a transaction has touched, in memory. A copy costs two retains.
///
/// Invariant: both orders have the same edges, and `weight` is the sum of theirs.
struct NetMemory {
  /// A change in the order by source.
  private struct Change: Comparable {
    let net: NetChange
    static func < (left: Self, right: Self) -> Bool { left.net.edge.precedesBySource(right.net.edge) }
    static func == (left: Self, right: Self) -> Bool { left.net.edge.isSame(as: right.net.edge) }
  }

  /// An edge in the order by destination.
  private struct Destination: Comparable {
    let edge: StoredEdge
    static func < (left: Self, right: Self) -> Bool { left.edge.precedesByDestination(right.edge) }
    static func == (left: Self, right: Self) -> Bool { left.edge.isSame(as: right.edge) }
  }

  private var bySource = OrderedChunks<Change>()
  private var byDestination = OrderedChunks<Destination>()

  /// How much memory they take; see `StoredEdge.weight`.
  private(set) var weight = 0

  var count: Int { bySource.count }

  private static func probe(_ edge: StoredEdge) -> Change { Change(net: NetChange(edge, before: nil, .stands)) }

  /// What is noted of an edge, whatever its rules.
  func find(_ edge: StoredEdge) -> NetChange? { bySource.find(Self.probe(edge))?.net }

  mutating func put(_ change: NetChange) {
    let before = count
    bySource.put(Change(net: change))
    if count > before { weight += change.edge.weight }
    byDestination.put(Destination(edge: change.edge))
    assert(bySource.count == byDestination.count, "the orders have different edges")
  }

  mutating func remove(_ edge: StoredEdge) {
    let before = count
    bySource.remove(Self.probe(edge))
    if count < before { weight -= edge.weight }
    byDestination.remove(Destination(edge: edge))
    assert(bySource.count == byDestination.count, "the orders have different edges")
  }

  /// Hands over what is noted of the edges of a range, in their order, until `body` returns false.
  func forEach(_ range: EdgeRange, _ body: (NetChange) throws -> Bool) rethrows {
    if range.order == .bySource {
      return try bySource.forEach(from: { range.isAfter($0.net.edge) }) { change in
        guard range.contains(change.net.edge) else { return false }
        return try body(change.net)
      }
    }
    try byDestination.forEach(from: { range.isAfter($0.edge) }) { destination in
      guard range.contains(destination.edge), let change = find(destination.edge) else { return false }
      return try body(change)
    }
  }

  /// The first invariant that is broken, in words; nil if none is. O(n log n).
  func brokenInvariant() -> String? {
    if let broken = bySource.brokenInvariant() ?? byDestination.brokenInvariant() { return broken }
    guard bySource.count == byDestination.count else { return "The orders have different edges." }
    var (isComplete, sum) = (true, 0)
    bySource.forEach(from: { _ in false }) { change in
      isComplete = byDestination.find(Destination(edge: change.net.edge)) != nil
      sum += change.net.edge.weight
      return isComplete
    }
    guard isComplete else { return "The orders have different edges." }
    return sum == weight ? nil : "The weight is \(weight), and the edges weigh \(sum)."
  }
}
