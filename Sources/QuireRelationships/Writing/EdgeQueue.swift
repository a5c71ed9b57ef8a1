// Edges that have gone, in memory, as long as they are not too many.

/// The first edges of the list of those that have gone. A copy is a retain, and shares what does not change.
///
/// Invariants:
/// 1. No chunk is empty, and none has more than `EdgeLimits.batchCount` edges.
/// 2. `count` is the number of edges in all chunks.
struct EdgeQueue {
  private var chunks: [[DroppedEdge]] = []
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  mutating func append(_ edge: DroppedEdge) {
    count += 1
    let last = chunks.count - 1
    if last >= 0, chunks[last].count < EdgeLimits.batchCount {
      chunks[last].append(edge)
    } else {
      chunks.append([edge])
    }
  }

  /// The first edges, `EdgeLimits.batchCount` at the most.
  var first: [DroppedEdge] { chunks.first ?? [] }

  /// Takes the first edges off, not more than `first` has.
  mutating func removeFirst(_ number: Int) {
    assert(number <= first.count, "more edges are taken off the list than were looked at")
    count -= number
    if number == chunks[0].count { chunks.removeFirst() } else { chunks[0].removeFirst(number) }
    assert(count == chunks.reduce(0) { $0 + $1.count }, "the count of edges is wrong")
  }

  func forEach(_ body: (DroppedEdge) throws -> Void) rethrows {
    for chunk in chunks { for edge in chunk { try body(edge) } }
  }
}
