// Rows that are in at least one of some sets.

internal import QuireDatabase

/// Rows that are in at least one of some sets: put together in a bit set of some thousand rows at a time.
final class JoinedRows: RowSet {
  /// One of the sets, and the rows that it has told and that are not taken yet.
  private struct Part {
    let set: any RowSet
    var batch: [RowID] = []
    var index = 0
    var isAtEnd = false

    /// Its next row at or above `first`; nil if there is none.
    mutating func next(from first: RowID) throws -> RowID? {
      while !isAtEnd {
        while index < batch.count, batch[index] < first { index += 1 }
        if index < batch.count { return batch[index] }
        guard let behind = batch.last.map(\.next) ?? first else { break }
        try set.fill(&batch, from: max(first, behind))
        index = 0
        if batch.isEmpty { break }
      }
      isAtEnd = true
      return nil
    }
  }

  private var parts: [Part]
  /// A bit for each row of the window.
  private var words = [UInt64](repeating: 0, count: windowRowCount / 64)
  private static let windowRowCount = 4096

  init(_ sets: [any RowSet]) { parts = sets.map { Part(set: $0) } }

  var limit: Int {
    parts.reduce(0) { sum, part in
      let (sum, isTooMuch) = sum.addingReportingOverflow(part.set.limit)
      return isTooMuch ? .max : sum
    }
  }

  /// Sets the bits of the next window that has rows, and returns its first row; nil if there are no more rows.
  private func gather(from first: RowID) throws -> RowID? {
    var least: RowID?
    for index in parts.indices {
      guard let next = try parts[index].next(from: first) else { continue }
      least = least.map { min($0, next) } ?? next
    }
    guard let least else { return nil }
    for index in words.indices { words[index] = 0 }
    // The greatest number there is may be in the window, and none is behind it.
    let (end, isLast) = least.rawValue.addingReportingOverflow(Int64(Self.windowRowCount))
    for index in parts.indices {
      while let row = try parts[index].next(from: least), isLast || row.rawValue < end {
        take(&parts[index], from: least, below: isLast ? nil : RowID(end))
      }
    }
    return least
  }

  /// Sets the bits of the rows at hand that are in the window.
  private func take(_ part: inout Part, from least: RowID, below end: RowID?) {
    while part.index < part.batch.count {
      let row = part.batch[part.index]
      if let end, row >= end { return }
      let bit = Int(row.rawValue &- least.rawValue)
      words[bit >> 6] |= 1 << UInt64(bit & 63)
      part.index += 1
    }
  }

  func fill(_ batch: inout [RowID], from first: RowID) throws {
    batch.removeAll(keepingCapacity: true)
    guard let least = try gather(from: first) else { return }
    for (index, word) in words.enumerated() {
      var rest = word
      while rest != 0 {
        batch.append(RowID(least.rawValue + Int64(index * 64 + rest.trailingZeroBitCount)))
        rest &= rest - 1
      }
    }
  }

  func count() throws -> Int {
    var pulse = SearchPulse()
    var count = 0
    var first = RowID(.min)
    while let least = try gather(from: first) {
      let found = words.reduce(0) { $0 + $1.nonzeroBitCount }
      count += found
      try pulse.beat(found)
      let (end, isLast) = least.rawValue.addingReportingOverflow(Int64(Self.windowRowCount))
      if isLast { break }
      first = RowID(end)
    }
    return count
  }

  func keep(_ batch: inout [RowID]) throws {
    // Each set is asked for those alone that none before it has.
    var missing = batch
    for part in parts where !missing.isEmpty { try part.set.drop(&missing) }
    if !missing.isEmpty { batch.removeAll { missing.containsInOrder($0) } }
  }
}

extension [RowID] {
  /// Whether a row is among these, which ascend. O(log n).
  func containsInOrder(_ row: RowID) -> Bool {
    let index = firstIndex(atOrAbove: row, from: 0)
    return index < count && self[index] == row
  }
}
