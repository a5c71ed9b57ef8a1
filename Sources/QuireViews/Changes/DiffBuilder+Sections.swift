// Which sections came and went.

extension DiffBuilder {
  /// Compares the sections, and notes for each group whether it keeps its place.
  mutating func compareSections() -> [SectionChange] {
    let isConsolidated = after.layout.isConsolidated
    let isRegrouped = before.layout.isConsolidated != isConsolidated
    if !isRegrouped { keepGroups(isConsolidated: isConsolidated) }
    var changes: [(order: Int, change: SectionChange)] = []
    if isRegrouped || !isConsolidated {
      var keptOld: Set<Int> = []
      var keptNew: Set<Int> = []
      for group in groups where group.isKept {
        if let old = group.old, let new = group.new {
          keptOld.insert(old.section)
          keptNew.insert(new.section)
        }
      }
      let steps = Dictionary(uniqueKeysWithValues: groups.map { ($0.key, $0.replay.sectionStep ?? .max) })
      for (index, section) in before.layout.sections.enumerated() where !keptOld.contains(index) {
        let change = SectionChange(kind: .delete, index: index, group: section.name)
        changes.append((steps[GroupName(section.name)] ?? .max, change))
      }
      for (index, section) in after.layout.sections.enumerated() where !keptNew.contains(index) {
        let change = SectionChange(kind: .insert, index: index, group: section.name)
        changes.append((steps[GroupName(section.name)] ?? .max, change))
      }
      for number in groups.indices where groups[number].newPlace == nil { groups[number].isTakenAlong = true }
    }
    let order = changes.indices.sorted { (changes[$0].order, $0) < (changes[$1].order, $1) }
    return order.map { changes[$0].change }
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
    return rise.reversed()
  }
}
