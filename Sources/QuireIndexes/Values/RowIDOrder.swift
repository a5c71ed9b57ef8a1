// Numbers of rows in order.

internal import QuireDatabase

extension [RowID] {
  /// With fewer rows a bit set saves nothing.
  private static let leastForBits = 1024
  /// A bit set may have so many bits for each row.
  private static let bitsPerRow = 32

  /// Whether these are in order, each once.
  var areDistinctInOrder: Bool { zip(self, dropFirst()).allSatisfy { $0 < $1 } }

  /// These in order, each once: many that lie close together by marking them in a bit set.
  func distinctInOrder() -> [RowID] {
    guard count >= Self.leastForBits, let least = self.min(), let greatest = self.max(),
      case let (width, isOverflow) = greatest.rawValue.subtractingReportingOverflow(least.rawValue), !isOverflow,
      width / Int64(Self.bitsPerRow) <= count
    else { return sorted().withoutRepetitions() }
    var words = [UInt64](repeating: 0, count: Int(width) / 64 + 1)
    for rowID in self {
      let place = Int(rowID.rawValue - least.rawValue)
      words[place / 64] |= 1 << UInt64(place % 64)
    }
    var distinct: [RowID] = []
    distinct.reserveCapacity(count)
    for (index, word) in words.enumerated() {
      var rest = word
      while rest != 0 {
        distinct.append(RowID(least.rawValue + Int64(index * 64 + rest.trailingZeroBitCount)))
        rest &= rest - 1
      }
    }
    assert(distinct.areDistinctInOrder && distinct.last == greatest, "numbers that were marked are out of order")
    return distinct
  }

  /// These, which are in order, each once.
  private func withoutRepetitions() -> [RowID] {
    var distinct: [RowID] = []
    distinct.reserveCapacity(count)
    for rowID in self where distinct.last != rowID { distinct.append(rowID) }
    assert(distinct.areDistinctInOrder, "numbers of rows are out of order")
    return distinct
  }
}
