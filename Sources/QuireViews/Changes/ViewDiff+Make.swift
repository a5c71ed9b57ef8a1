// Making a diff from the steps of commits.

extension ViewDiff {
  /// Computes what changed on a screen, and moves its mappings to the new state.
  ///
  /// O((n + m) log n) for n steps and m rows that the diff tells, however many rows the view has.
  ///
  /// - Parameters:
  ///   - operations: the steps of all commits from the one that the mappings stand at, in order.
  ///   - newCounts: the counts of the view's groups after them; a group that is missing has none.
  ///   - csn: the number of the last of the commits.
  /// - Returns: The changes; a reload if the mappings were never updated, or if the steps do not lead from their
  ///   counts to the new ones, as when the steps of a commit are missing.
  static func make(
    _ operations: [ViewOperation], _ mappings: inout ViewMappings, newCounts: [(group: String, count: Int)], csn: UInt64
  ) -> ViewDiff {
    guard mappings.csn != nil else { return reload(&mappings, newCounts: newCounts, csn: csn) }
    var builder = DiffBuilder(operations, mappings)
    guard let diff = builder.build(newCounts: newCounts, csn: csn) else {
      return reload(&mappings, newCounts: newCounts, csn: csn)
    }
    mappings = builder.after
    return diff
  }

  /// The diff for commits of which nothing is known: the whole list has to be made anew.
  ///
  /// Windows stay where they are as far as the new counts allow. O(g log g) for g groups.
  static func reload(
    _ mappings: inout ViewMappings, newCounts: [(group: String, count: Int)], csn: UInt64
  ) -> ViewDiff {
    let before = mappings.visibleGroups
    mappings.update(counts: newCounts, csn: csn)
    let gone = before.enumerated().map { SectionChange(kind: .delete, index: $0, group: $1) }
    let new = mappings.visibleGroups.enumerated().map { SectionChange(kind: .insert, index: $0, group: $1) }
    let counts = mappings.layout.sections.map(\.count)
    return ViewDiff(sections: gone + new, rows: [], isReload: true, rowCounts: counts)
  }
}
