// Edges that have gone, in memory, as long as they are not too many.

/// The first edges of the list of those that have gone. A copy is a retain, and shares what does not change.
///
/// Edges have running numbers, which are never given twice: who has looked at the first ones takes them off by the
/// number behind them, whatever was cleared meanwhile.
///
/// Invariants:
/// 1. No chunk is empty, and none has more than `EdgeLimits.batchCount` edges.
/// 2. `count` is the number of edges in all chunks, `weight` the sum of their weights.
struct EdgeQueue {
  private var chunks: [[DroppedEdge]] = []
  private(set) var count = 0
  /// How much memory they take; see `StoredEdge.weight`.
  private(set) var weight = 0
  /// The number of the first edge, or of the next one to come if there is none.
  private var firstNumber = 0

  var isEmpty: Bool { count == 0 }

  mutating func append(_ edge: DroppedEdge) {
    count += 1
    weight += edge.edge.weight
    let last = chunks.count - 1
    if last >= 0, chunks[last].count < EdgeLimits.batchCount {
      chunks[last].append(edge)
    } else {
      chunks.append([edge])
    }
  }

  /// The first edges, `EdgeLimits.batchCount` at the most, and the number behind them.
  var first: (edges: [DroppedEdge], end: Int) {
    let edges = chunks.first ?? []
    return (edges, firstNumber + edges.count)
  }

  /// Takes the edges below a number off, which `first` has given; those that have gone meanwhile are no more there.
  mutating func removeFirst(below end: Int) {
    let number = end - firstNumber
    guard number > 0 else { return }
    assert(number <= first.edges.count, "more edges are taken off the list than were looked at")
    firstNumber = end
    count -= number
    weight -= chunks[0][..<number].reduce(0) { $0 + $1.edge.weight }
    if number == chunks[0].count { chunks.removeFirst() } else { chunks[0].removeFirst(number) }
    assert(count == chunks.reduce(0) { $0 + $1.count }, "the count of edges is wrong")
    assert(count > 0 || weight == 0, "the weight of edges is wrong")
  }

  mutating func removeAll() {
    firstNumber += count
    (chunks, count, weight) = ([], 0, 0)
  }

  func forEach(_ body: (DroppedEdge) throws -> Void) rethrows {
    for chunk in chunks { for edge in chunk { try body(edge) } }
  }
}
