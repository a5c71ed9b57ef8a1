// Rows that draw something of a neighbour that changed.

/// The rows of a group, by their index after all steps, whose neighbour at one of the group's offsets is another than
/// before or has changed; a few more perhaps where rows came and went at one place.
struct NeighbourMarks {
  /// Rows and the step that made them be drawn anew.
  struct Mark {
    var rows: Range<Int>
    var step: Int
  }

  /// Apart from each other and in order.
  private(set) var marks: [Mark] = []

  /// No row.
  init() {}

  /// - Parameters:
  ///   - replay: a settled one.
  ///   - offsets: where a row looks: below 0 above itself.
  ///   - shown: the rows that matter.
  init(_ replay: GroupReplay, offsets: Set<Int>, within shown: Range<Int>) {
    // Rows that came or went shift the neighbours of all rows from which a look crosses their place, so only the
    // farthest look each way matters for them; a changed row is seen at the exact offsets.
    let up = -min(offsets.min() ?? 0, 0)
    let down = max(offsets.max() ?? 0, 0)
    var found: [Mark] = []
    func mark(_ first: Int, count: Int, step: Int) {
      let lower = max(first, shown.lowerBound)
      let upper = min(Self.sum(first, count), shown.upperBound)
      if lower < upper { found.append(Mark(rows: lower..<upper, step: step)) }
    }
    for arrival in replay.arrivals {
      guard let index = arrival.index else { continue }
      mark(index + 1, count: up, step: arrival.step)
      mark(index - down, count: down, step: arrival.step)
    }
    for removal in replay.removals {
      let next = Self.firstSurvivor(in: replay.survivors, from: removal.indexes.upperBound)
      if next < replay.survivors.count { mark(replay.survivors[next].new, count: up, step: removal.step) }
      if next > 0 { mark(replay.survivors[next - 1].newIndexes.upperBound - down, count: down, step: removal.step) }
    }
    for update in replay.updates {
      for offset in offsets { mark(Self.sum(update.new, -offset), count: 1, step: update.step) }
    }
    found.sort { $0.rows.lowerBound < $1.rows.lowerBound }
    for mark in found {
      if let last = marks.last, mark.rows.lowerBound < last.rows.upperBound {
        marks[marks.count - 1].rows = last.rows.lowerBound..<max(last.rows.upperBound, mark.rows.upperBound)
        marks[marks.count - 1].step = min(last.step, mark.step)
      } else {
        marks.append(mark)
      }
    }
    assert(
      marks.allSatisfy {
        !$0.rows.isEmpty && shown.lowerBound <= $0.rows.lowerBound && $0.rows.upperBound <= shown.upperBound
      }
        && zip(marks, marks.dropFirst()).allSatisfy { $0.rows.upperBound <= $1.rows.lowerBound },
      "marks are out of order")
  }

  /// Whether no row is marked.
  var isEmpty: Bool { marks.isEmpty }

  /// Whether a row is marked. O(log n).
  func contains(_ row: Int) -> Bool {
    let next = firstMark(endingAfter: row)
    return next < marks.count && marks[next].rows.contains(row)
  }

  /// The marks that reach into a range of rows, cut down to it. O(log n + marks).
  func marks(within rows: Range<Int>) -> [Mark] {
    guard !marks.isEmpty, !rows.isEmpty else { return [] }
    return marks[firstMark(endingAfter: rows.lowerBound)...].prefix { $0.rows.lowerBound < rows.upperBound }
      .map { Mark(rows: $0.rows.clamped(to: rows), step: $0.step) }
  }

  private func firstMark(endingAfter row: Int) -> Int {
    var (low, high) = (0, marks.count)
    while low < high {
      let middle = (low + high) / 2
      if marks[middle].rows.upperBound <= row { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// The first stretch that begins at or after an index before all steps.
  private static func firstSurvivor(in stretches: [GroupReplay.Stretch], from old: Int) -> Int {
    var (low, high) = (0, stretches.count)
    while low < high {
      let middle = (low + high) / 2
      if stretches[middle].old < old { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// A sum that offsets near the ends of the integers cannot overflow.
  private static func sum(_ left: Int, _ right: Int) -> Int {
    let (sum, overflow) = left.addingReportingOverflow(right)
    return overflow ? (right > 0 ? .max : .min) : sum
  }
}
