// Which sections came and went.

internal import QuireDatabase

extension DiffBuilder {
  /// Compares the sections, and notes for each group whether it keeps its place.
  mutating func compareSections() -> [SectionChange] {
    let isConsolidated = after.layout.isConsolidated
    let isRegrouped = before.layout.isConsolidated != isConsolidated
    if !isRegrouped { keepGroups(isConsolidated: isConsolidated) }
    // One section of all groups before and after.
    if isConsolidated, !isRegrouped { return [] }
    for number in groups.indices where groups[number].newPlace == nil { groups[number].isTakenAlong = true }
    return sectionChanges()
  }

  /// The sections that no kept group has: those that went, then those that came, in the order of their steps if by any.
  private func sectionChanges() -> [SectionChange] {
    let (oldSections, newSections) = (before.layout.sections, after.layout.sections)
    var isOldKept = [Bool](repeating: false, count: oldSections.count)
    var isNewKept = [Bool](repeating: false, count: newSections.count)
    for group in groups where group.isKept {
      if let old = group.old, let new = group.new {
        isOldKept[old.section] = true
        isNewKept[new.section] = true
      }
    }
    let gone = oldSections.indices.filter { !isOldKept[$0] }
    let new = newSections.indices.filter { !isNewKept[$0] }
    assert(
      oldSections.count - gone.count == newSections.count - new.count, "other sections are kept after than before")
    guard !gone.isEmpty || !new.isEmpty else { return [] }
    let steps = Dictionary(uniqueKeysWithValues: groups.map { ($0.key, $0.replay.sectionStep ?? .max) })
    let changes =
      gone.map { SectionChange(kind: .delete, index: $0, group: oldSections[$0].name) }
      + new.map { SectionChange(kind: .insert, index: $0, group: newSections[$0].name) }
    let order = changes.map { steps[ByteString($0.group)] ?? .max }
    return changes.indices.sorted { (order[$0], $0) < (order[$1], $1) }.map { changes[$0] }
  }

  /// Keeps as many groups as can keep their order: all, unless the order of dynamic groups has changed.
  private mutating func keepGroups(isConsolidated: Bool) {
    var candidates: [(old: Int, new: Int, number: Int)] = []
    for (number, group) in groups.enumerated() {
      if isConsolidated, let old = group.oldPlace, let new = group.newPlace {
        candidates.append((old, new, number))
      } else if !isConsolidated, let old = group.old, let new = group.new {
        candidates.append((old.section, new.section, number))
      }
    }
    candidates.sort { $0.old < $1.old }
    for kept in Self.longestRise(candidates.map(\.new)) { groups[candidates[kept].number].isKept = true }
  }

  /// The positions of a longest rising subsequence of distinct numbers. O(n log n).
  static func longestRise(_ numbers: [Int]) -> [Int] {
    // The last position of the best rise of each length, and for each position the one before it in its rise.
    var ends: [Int] = []
    var previous = [Int](repeating: -1, count: numbers.count)
    for (position, number) in numbers.enumerated() {
      var (low, high) = (0, ends.count)
      while low < high {
        let middle = (low + high) / 2
        if numbers[ends[middle]] < number { low = middle + 1 } else { high = middle }
      }
      if low > 0 { previous[position] = ends[low - 1] }
      if low == ends.count { ends.append(position) } else { ends[low] = position }
    }
    var rise: [Int] = []
    var position = ends.last ?? -1
    while position >= 0 {
      rise.append(position)
      position = previous[position]
    }
    assert(zip(rise, rise.dropFirst()).allSatisfy { $0 > $1 && numbers[$0] > numbers[$1] }, "a rise does not rise")
    return rise.reversed()
  }
}
