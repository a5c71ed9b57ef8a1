// From the order that a group has to the one that it is to get, by the fewest steps.

internal import QuireDatabase

/// Which rows of a group can stay where they are when it gets other rows or another order.
///
/// Those that stay are as many as possible: a longest increasing subsequence of the old places in the new order. All
/// others have to be taken out, and put in again if they are still wanted. O(n log n) for n rows.
///
/// Invariant: as many of the old rows stay as of the new ones, and in the same order.
struct GroupPlan {
  /// The rows that the group has, in order, with their entries.
  let old: [(rowID: RowID, entry: ViewEntry)]
  /// For each of the old rows, whether it stays.
  private(set) var oldStays: [Bool]
  /// For each of the new rows, where it stood; nil for one that was not in the group.
  private(set) var origins: [Int?]
  /// For each of the new rows, whether it stays.
  private(set) var newStays: [Bool]

  /// Compares; no row comes twice in either list.
  init(from old: [(rowID: RowID, entry: ViewEntry)], to new: [RowID]) {
    self.old = old
    oldStays = Array(repeating: false, count: old.count)
    newStays = Array(repeating: false, count: new.count)
    var places: [RowID: Int] = [:]
    for (place, row) in old.enumerated() { places[row.rowID] = place }
    origins = new.map { places[$0] }
    let kept = origins.indices.filter { origins[$0] != nil }
    for index in Self.longestIncreasing(kept.map { origins[$0] ?? 0 }) {
      newStays[kept[index]] = true
      oldStays[origins[kept[index]] ?? 0] = true
    }
    assert(oldStays.count { $0 } == newStays.count { $0 }, "other rows stay after than before")
  }

  /// The indexes of a longest subsequence in which each number is greater than the one before it.
  static func longestIncreasing(_ numbers: [Int]) -> [Int] {
    // For each length, the index of the least number that ends a subsequence of that length.
    var ends: [Int] = []
    var previous = Array(repeating: -1, count: numbers.count)
    for (index, number) in numbers.enumerated() {
      var (low, high) = (0, ends.count)
      while low < high {
        let middle = (low + high) / 2
        if numbers[ends[middle]] < number { low = middle + 1 } else { high = middle }
      }
      if low > 0 { previous[index] = ends[low - 1] }
      if low == ends.count { ends.append(index) } else { ends[low] = index }
    }
    var found: [Int] = []
    var index = ends.last ?? -1
    while index >= 0 {
      found.append(index)
      index = previous[index]
    }
    assert(
      zip(found, found.dropFirst()).allSatisfy { $0 > $1 && numbers[$0] > numbers[$1] },
      "a subsequence does not increase")
    return found.reversed()
  }
}
