// The numbers of sections and rows.

/// Which section each group is in and with which row of the section it begins.
///
/// Invariants, which `checkInvariants` checks: each group has a place; each row that is shown has a section, and the
/// rows of a section are numbered without gaps.
struct ViewLayout: Sendable {
  /// A section: the group that it shows, or all of them.
  struct Section: Hashable, Sendable {
    let name: String
    /// The place of its group; nil for the section of all groups.
    let place: Int?
    let count: Int
  }

  private(set) var sections: [Section] = []
  /// Whether all groups are one section.
  private(set) var isConsolidated = false
  /// By place: the section, or nil for a group without one.
  private(set) var sectionOf: [Int?] = []
  /// By place: the row of the section that the group's first row is.
  private(set) var firstRow: [Int] = []

  /// Before the first update: nothing is shown.
  init() {}

  init(_ groups: [ShownGroup], hidesEmpty: (ShownGroup) -> Bool, threshold: Int, name: String?) {
    let total = groups.reduce(0) { $0 + $1.range.count }
    let consolidatedName = total < threshold ? name : nil
    isConsolidated = consolidatedName != nil
    var row = 0
    for (place, group) in groups.enumerated() {
      let isVisible = !group.range.isEmpty || !hidesEmpty(group)
      sectionOf.append(isVisible ? (isConsolidated ? 0 : sections.count) : nil)
      firstRow.append(isConsolidated ? row : 0)
      row += group.range.count
      if isVisible, !isConsolidated {
        sections.append(Section(name: group.name, place: place, count: group.range.count))
      }
    }
    if let consolidatedName { sections = [Section(name: consolidatedName, place: nil, count: total)] }
    assert(sectionOf.count == groups.count && firstRow.count == groups.count, "a group has no place")
    assert(row == total && sections.reduce(0) { $0 + $1.count } == total, "a row that is shown has no section")
  }

  /// Stops the process if rows or sections are not numbered without gaps.
  func checkInvariants(of groups: [ShownGroup]) {
    guard !sectionOf.isEmpty else { return }
    precondition(sectionOf.count == groups.count && firstRow.count == groups.count, "a place for each group")
    let total = groups.reduce(0) { $0 + $1.range.count }
    precondition(sections.reduce(0) { $0 + $1.count } == total, "every row shown has a section")
    for (place, group) in groups.enumerated() where !group.range.isEmpty {
      guard let section = sectionOf[place] else { preconditionFailure("\(group.name) shows rows in no section") }
      precondition(firstRow[place] + group.range.count <= sections[section].count, "\(group.name) fits its section")
    }
  }
}
