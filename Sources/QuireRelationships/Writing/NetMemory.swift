// Changes of edges in memory, as long as they are not too many.

/// The edges that a transaction has touched, in memory. A copy costs two retains.
///
/// Invariant: both orders have the same edges.
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

  var count: Int { bySource.count }

  private static func probe(_ edge: StoredEdge) -> Change { Change(net: NetChange(edge, before: nil, .stands)) }

  /// What is noted of an edge, whatever its rules.
  func find(_ edge: StoredEdge) -> NetChange? { bySource.find(Self.probe(edge))?.net }

  mutating func put(_ change: NetChange) {
    bySource.put(Change(net: change))
    byDestination.put(Destination(edge: change.edge))
    assert(bySource.count == byDestination.count, "the orders have different edges")
  }

  mutating func remove(_ edge: StoredEdge) {
    bySource.remove(Self.probe(edge))
    byDestination.remove(Destination(edge: edge))
    assert(bySource.count == byDestination.count, "the orders have different edges")
  }

  /// Hands over what is noted of the edges of a range, in their order, until `body` returns false.
  func forEach(_ range: EdgeRange, _ body: (NetChange) throws -> Bool) rethrows {
    if range.order == .bySource {
      return try bySource.forEach(from: { range.isAbove($0.net.edge) }) { change in
        guard range.contains(change.net.edge) else { return false }
        return try body(change.net)
      }
    }
    try byDestination.forEach(from: { range.isAbove($0.edge) }) { destination in
      guard range.contains(destination.edge), let change = find(destination.edge) else { return false }
      return try body(change)
    }
  }

  /// The first invariant that is broken, in words; nil if none is. O(n log n).
  func brokenInvariant() -> String? {
    if let broken = bySource.brokenInvariant() ?? byDestination.brokenInvariant() { return broken }
    guard bySource.count == byDestination.count else { return "The orders have different edges." }
    var isComplete = true
    bySource.forEach(from: { _ in false }) { change in
      isComplete = byDestination.find(Destination(edge: change.net.edge)) != nil
      return isComplete
    }
    return isComplete ? nil : "The orders have different edges."
  }
}
