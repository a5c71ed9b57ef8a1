// The best rows that were found so far.

internal import QuireDatabase

/// A row and how well it fits.
struct ScoredRow: Hashable {
  var row: RowID
  var score: Double

  /// Whether this row comes before another: with a higher score, or with the same and a lower number.
  @inline(__always) func precedes(_ other: ScoredRow) -> Bool {
    score != other.score ? score > other.score : row < other.row
  }
}

/// The best rows of those that were offered, no more than a number of them: a heap with the last one at its top.
///
/// Invariant: each row of the heap comes behind the two below it.
struct BestRows {
  let capacity: Int
  private var heap: [ScoredRow] = []

  /// - Parameter capacity: how many rows are wanted at the most.
  init(capacity: Int) {
    assert(capacity >= 0, "a negative number of rows is wanted")
    self.capacity = capacity
  }

  /// Rows with a score below this need not be offered.
  private(set) var threshold = -Double.infinity

  var count: Int { heap.count }

  /// Takes a row if it is among the best.
  mutating func offer(_ row: RowID, _ score: Double) {
    let offered = ScoredRow(row: row, score: score)
    if heap.count < capacity {
      heap.append(offered)
      rise()
    } else {
      guard let last = heap.first, offered.precedes(last) else { return }
      heap[0] = offered
      sink()
    }
    if heap.count == capacity { threshold = heap[0].score }
  }

  /// Moves the last element up until the one above it comes behind it.
  private mutating func rise() {
    var index = heap.count - 1
    while index > 0 {
      let above = (index - 1) / 2
      guard heap[above].precedes(heap[index]) else { return }
      heap.swapAt(above, index)
      index = above
    }
  }

  /// Moves the first element down until those below it precede it.
  private mutating func sink() {
    var index = 0
    while true {
      var last = index
      for below in 2 * index + 1..<min(2 * index + 3, max(2 * index + 1, heap.count))
      where heap[last].precedes(heap[below]) {
        last = below
      }
      if last == index { return }
      heap.swapAt(last, index)
      index = last
    }
  }

  /// The rows, the best one first.
  var sorted: [ScoredRow] { heap.sorted { $0.precedes($1) } }
}
