// Rows that come in any order, with weights that are added up.

internal import QuireDatabase

/// Gathers rows that come in any order, and several times, and what each of them weighs.
///
/// Rows whose numbers are near each other are bits, with a sum for each; rows far away from them are put in order at
/// the end.
struct RowAccumulator {
  /// Whether weights are added up.
  let hasWeights: Bool
  /// The bits, from the row `base` on, which is a multiple of 64.
  private var words: [UInt64] = []
  private var base: Int64 = 0
  /// What each row weighs, beside the bits.
  private var sums: [Double] = []
  private var far: [(row: RowID, weight: Double)] = []
  /// No more rows than this have bits.
  private static let spanLimit = 1 << 21

  init(hasWeights: Bool) { self.hasWeights = hasWeights }

  /// Takes rows that ascend.
  mutating func add(_ rows: UnsafeBufferPointer<RowID>) {
    assert(!hasWeights, "rows come without their weights")
    guard let first = unsafe rows.first, let last = unsafe rows.last else { return }
    if reach(first, last) {
      let base = base
      unsafe words.withUnsafeMutableBufferPointer { words in
        for index in 0..<rows.count {
          let place = unsafe Int(rows[index].rawValue &- base)
          unsafe words[place >> 6] |= 1 << UInt64(truncatingIfNeeded: place & 63)
        }
      }
    } else {
      for index in 0..<rows.count { unsafe add(rows[index], 0) }
    }
  }

  /// Takes a row, and adds to what it weighs.
  mutating func add(_ row: RowID, _ weight: Double) {
    guard reach(row, row) else {
      far.append((row, weight))
      return
    }
    let place = Int(row.rawValue - base)
    words[place >> 6] |= 1 << UInt64(truncatingIfNeeded: place & 63)
    if hasWeights { sums[place] += weight }
  }

  /// Makes room for the bits of rows; false if they are too far away from the others.
  private mutating func reach(_ first: RowID, _ last: RowID) -> Bool {
    let (lower, upper) = (first.rawValue, last.rawValue)
    let end = base + Int64(words.count) * 64
    if lower >= base, upper < end { return true }
    return grow(lower, upper)
  }

  private mutating func grow(_ lower: Int64, _ upper: Int64) -> Bool {
    // Numbers beyond these are of no row; with them no sum below overflows.
    guard lower > -(1 << 62), upper < 1 << 62 else { return false }
    if words.isEmpty {
      guard upper - lower < Self.spanLimit else { return false }
      base = lower & ~63
      resize(Int(upper - base) / 64 + 1)
      return true
    }
    let end = base + Int64(words.count) * 64
    let (newLower, newUpper) = (min(lower & ~63, base), max(upper, end - 1))
    guard newUpper - newLower < Self.spanLimit else { return false }
    // Twice as much as before, so that not every row has everything moved.
    let added = Int(base - newLower) / 64
    if added > 0 {
      let extra = min(max(added, words.count), Int(base - (newUpper - Int64(Self.spanLimit) + 1)) / 64)
      let shift = max(added, extra)
      words.insert(contentsOf: repeatElement(0, count: shift), at: 0)
      if hasWeights { sums.insert(contentsOf: repeatElement(0, count: shift * 64), at: 0) }
      base -= Int64(shift) * 64
    }
    let needed = Int(newUpper - base) / 64 + 1
    if needed > words.count { resize(max(needed, min(2 * words.count, Self.spanLimit / 64))) }
    return true
  }

  private mutating func resize(_ count: Int) {
    words.append(contentsOf: repeatElement(0, count: count - words.count))
    if hasWeights { sums.append(contentsOf: repeatElement(0, count: words.count * 64 - sums.count)) }
  }

  // MARK: What was gathered

  /// The number of rows.
  var count: Int {
    far.isEmpty ? words.reduce(0) { $0 + $1.nonzeroBitCount } : finished().rows.count
  }

  /// The rows in order, each once, with what they weigh if that was added up.
  func finished() -> (rows: [RowID], weights: [Double]) {
    var (rows, weights): ([RowID], [Double]) = ([], [])
    rows.reserveCapacity(words.reduce(0) { $0 + $1.nonzeroBitCount })
    for (index, word) in words.enumerated() {
      var rest = word
      while rest != 0 {
        let place = index * 64 + rest.trailingZeroBitCount
        rows.append(RowID(base + Int64(place)))
        if hasWeights { weights.append(sums[place]) }
        rest &= rest - 1
      }
    }
    return far.isEmpty ? (rows, weights) : joined(rows, weights)
  }

  /// The same with the rows that have no bits. A row may have come before there was room for its bit.
  private func joined(_ rows: [RowID], _ weights: [Double]) -> ([RowID], [Double]) {
    var all = far
    for (index, row) in rows.enumerated() { all.append((row, hasWeights ? weights[index] : 0)) }
    all.sort { $0.row < $1.row }
    var (joinedRows, joinedWeights): ([RowID], [Double]) = ([], [])
    for (row, weight) in all {
      if joinedRows.last == row {
        if hasWeights { joinedWeights[joinedWeights.count - 1] += weight }
      } else {
        joinedRows.append(row)
        if hasWeights { joinedWeights.append(weight) }
      }
    }
    return (joinedRows, joinedWeights)
  }
}
