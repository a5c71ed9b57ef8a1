// Sets of rows that are walked through in the order of their numbers: what searches are put together from.

internal import QuireDatabase

/// Rows in the order of their numbers, told some at a time.
///
/// A set is used in one of the two ways, by `fill` or by `keep`, and walked through once: with each call the rows in
/// question are above those of the calls before.
protocol RowSet: AnyObject {
  /// No more rows than this are in it; an estimate from above.
  var limit: Int { get }
  /// Puts the next rows at or above `first` in the place of those of `batch`, some or some thousand; none if there are
  /// no more.
  func fill(_ batch: inout [RowID], from first: RowID) throws
  /// Keeps those rows of `batch`, which ascend, that are in the set.
  func keep(_ batch: inout [RowID]) throws
  /// How many rows there are; for a set that was not walked through. By walking through it, by default.
  func count() throws -> Int
}

extension RowSet {
  func count() throws -> Int {
    var count = 0
    try forEachBatch { count += $0.count }
    return count
  }

  /// All rows, in order.
  func rowIDs() throws -> [RowID] {
    var rowIDs: [RowID] = []
    try forEachBatch { rowIDs += $0 }
    return rowIDs
  }

  /// Calls `body` with the rows, some at a time.
  func forEachBatch(_ body: ([RowID]) throws -> Void) throws {
    var pulse = SearchPulse()
    var batch: [RowID] = []
    var first = RowID(.min)
    while true {
      try fill(&batch, from: first)
      guard let last = batch.last else { return }
      assert(batch[0] >= first, "a set has gone back")
      try pulse.beat(batch.count)
      try body(batch)
      guard let next = last.next else { return }
      first = next
    }
  }

  /// Takes those rows out of `batch`, which ascend, that are in the set.
  func drop(_ batch: inout [RowID]) throws {
    var found = batch
    try keep(&found)
    if !found.isEmpty { batch.remove(found) }
  }
}

/// Where a set is in another one, of which it keeps some rows: each row is asked about once, although the rows behind
/// the last one that was kept were seen before.
struct BatchSource {
  /// The first row that was not seen; nil behind the last one there can be.
  private var next: RowID? = RowID(.min)

  /// Puts rows of a set in the place of those of `batch`, of which `keep` leaves some; none if no more are left.
  mutating func fill(
    _ batch: inout [RowID], from first: RowID, of set: any RowSet, _ keep: (inout [RowID]) throws -> Void
  ) throws {
    try fill(&batch, from: first, { try set.fill(&$0, from: $1) }, keep)
  }

  /// The same of rows that `more` gives, as `RowSet.fill` does.
  mutating func fill(
    _ batch: inout [RowID], from first: RowID, _ more: (inout [RowID], RowID) throws -> Void,
    _ keep: (inout [RowID]) throws -> Void
  ) throws {
    var pulse = SearchPulse()
    while let start = next {
      try more(&batch, max(start, first))
      guard let last = batch.last else { break }
      next = last.next
      try pulse.beat(batch.count)
      try keep(&batch)
      if !batch.isEmpty { return }
    }
    next = nil
    batch.removeAll(keepingCapacity: true)
  }
}

/// Sees now and then whether the task that searches was cancelled.
struct SearchPulse {
  /// So many rows are looked at in between.
  private static let rowCount = 4096
  private var rest = rowCount

  /// Counts rows that were looked at.
  ///
  /// - Throws: `CancellationError`.
  mutating func beat(_ count: Int) throws {
    rest -= count
    if rest <= 0 {
      rest = Self.rowCount
      try Task.checkCancellation()
    }
  }
}

extension RowID {
  /// The number above; nil of the greatest.
  var next: RowID? { rawValue == .max ? nil : RowID(rawValue + 1) }
}

extension [RowID] {
  /// Takes out the rows of `others`, which are all among these; both ascend.
  fileprivate mutating func remove(_ others: [RowID]) {
    var (kept, other) = (0, 0)
    for index in indices {
      if other < others.count, self[index] == others[other] {
        other += 1
      } else {
        self[kept] = self[index]
        kept += 1
      }
    }
    assert(other == others.count, "a row was kept that had not been asked for")
    removeSubrange(kept...)
  }

  /// The index of the first row at or above `row`, from `start` on: by steps that double, so that a near one is found
  /// soon.
  func firstIndex(atOrAbove row: RowID, from start: Int) -> Int {
    var (low, step) = (start, 1)
    while low + step < count, self[low + step] < row {
      low += step
      step *= 2
    }
    var high = Swift.min(count, low + step)
    while low < high {
      let middle = (low + high) / 2
      if self[middle] < row { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

// MARK: - Plain sets

/// Rows that are known.
final class ListedRows: RowSet {
  private let rows: [RowID]
  private var index = 0
  /// A batch has so many rows at the most.
  private static let batchCount = 1024

  /// - Parameter rows: ascending, each once.
  init(_ rows: [RowID]) {
    assert(zip(rows, rows.dropFirst()).allSatisfy { $0 < $1 }, "rows do not ascend")
    self.rows = rows
  }

  var limit: Int { rows.count }
  func count() -> Int { rows.count }
  func rowIDs() -> [RowID] { rows }

  func fill(_ batch: inout [RowID], from first: RowID) {
    index = rows.firstIndex(atOrAbove: first, from: index)
    batch.removeAll(keepingCapacity: true)
    batch += rows[index..<min(rows.count, index + Self.batchCount)]
  }

  func keep(_ batch: inout [RowID]) {
    var kept = 0
    for row in batch {
      index = rows.firstIndex(atOrAbove: row, from: index)
      if index == rows.count { break }
      if rows[index] == row {
        batch[kept] = row
        kept += 1
      }
    }
    batch.removeSubrange(kept...)
  }
}

// MARK: - Sets of sets

/// Rows that are in all of some sets: the smallest is walked through, and the others are asked.
final class CommonRows: RowSet {
  private let sets: [any RowSet]
  private var source = BatchSource()

  init(_ sets: [any RowSet]) {
    assert(!sets.isEmpty, "nothing has no common rows")
    self.sets = sets.sorted { $0.limit < $1.limit }
  }

  var limit: Int { sets[0].limit }

  func fill(_ batch: inout [RowID], from first: RowID) throws {
    try source.fill(&batch, from: first, of: sets[0]) { batch in
      for set in sets.dropFirst() where !batch.isEmpty { try set.keep(&batch) }
    }
  }

  func keep(_ batch: inout [RowID]) throws {
    for set in sets where !batch.isEmpty { try set.keep(&batch) }
  }
}

/// Rows that are in one set and not in another.
final class RemainingRows: RowSet {
  private let kept: any RowSet
  private let excluded: any RowSet
  private var source = BatchSource()

  init(_ kept: any RowSet, without excluded: any RowSet) {
    (self.kept, self.excluded) = (kept, excluded)
  }

  var limit: Int { kept.limit }

  func fill(_ batch: inout [RowID], from first: RowID) throws {
    try source.fill(&batch, from: first, of: kept) { try excluded.drop(&$0) }
  }

  func keep(_ batch: inout [RowID]) throws {
    try kept.keep(&batch)
    if !batch.isEmpty { try excluded.drop(&batch) }
  }
}
