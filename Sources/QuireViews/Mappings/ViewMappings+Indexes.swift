// Counts, and the way from sections and rows to groups and indexes and back.

internal import QuireDatabase

extension ViewMappings {
  /// The groups that have a section now; or the name of the one section of all groups.
  public var visibleGroups: [String] { layout.sections.map(\.name) }

  /// Whether all groups are shown as one section at present.
  public var isConsolidated: Bool { layout.isConsolidated }

  private func isConsolidatedName(_ group: String) -> Bool {
    isConsolidated && consolidatedName.map { $0.hasSameBytes(as: group) } ?? false
  }

  /// The number of sections. O(1).
  public var sectionCount: Int { layout.sections.count }

  /// The number of rows shown in all sections. O(sections).
  public var count: Int { layout.sections.reduce(0) { $0 + $1.count } }

  /// Whether no row is shown.
  public var isEmpty: Bool { layout.sections.allSatisfy { $0.count == 0 } }

  /// The number of rows in a section; 0 for one that does not exist. O(1).
  public func count(inSection section: Int) -> Int {
    layout.sections.indices.contains(section) ? layout.sections[section].count : 0
  }

  /// The number of rows shown of a group, or of all by the name of their common section; 0 if unknown. O(1).
  public func count(in group: String) -> Int {
    if isConsolidatedName(group) { return count }
    return place(of: group).map { shown[$0].range.count } ?? 0
  }

  /// Where the window of a group stands, in the order shown; nil for a group that the mappings do not show. O(1).
  public func windowPosition(of group: String) -> ViewWindow.Position? {
    guard let place = place(of: group) else { return nil }
    let (range, count) = (shown[place].range, shown[place].count)
    let isReversed = settings.reversed.contains(ByteString(group))
    return ViewWindow.Position(
      offsetFromBeginning: isReversed ? count - range.upperBound : range.lowerBound,
      offsetFromEnd: isReversed ? range.lowerBound : count - range.upperBound,
      length: range.count)
  }

  /// The name of a section: that of its group, or of the section of all; nil for one that does not exist. O(1).
  public func group(ofSection section: Int) -> String? {
    layout.sections.indices.contains(section) ? layout.sections[section].name : nil
  }

  /// The section of a group; nil for a group that has none. O(1).
  public func section(of group: String) -> Int? {
    if isConsolidatedName(group) { return 0 }
    guard let place = place(of: group), layout.sectionOf.indices.contains(place) else { return nil }
    return layout.sectionOf[place]
  }

  /// The group and the index in it, in the view's order, of a row on the screen; nil where there is none.
  ///
  /// O(1); with groups consolidated O(groups).
  public func location(of path: ViewPath) -> (group: String, index: Int)? {
    guard layout.sections.indices.contains(path.section) else { return nil }
    let section = layout.sections[path.section]
    guard path.row >= 0, path.row < section.count else { return nil }
    if let place = section.place { return (section.name, index(ofRow: path.row, at: place)) }
    // A group without rows begins where the next one does: the last that begins at or before the row has it.
    guard let place = shown.indices.last(where: { layout.firstRow[$0] <= path.row }) else { return nil }
    return (shown[place].name, index(ofRow: path.row - layout.firstRow[place], at: place))
  }

  /// The index, in the view's order, of a row of a section; nil where there is none.
  public func index(ofRow row: Int, inSection section: Int) -> Int? {
    location(of: ViewPath(section: section, row: row))?.index
  }

  /// The index, in the view's order, of a row of a group, counted in the group alone; nil outside its window.
  ///
  /// By the name of the section of all groups it is the index in the row's own group.
  public func index(ofRow row: Int, in group: String) -> Int? {
    if isConsolidatedName(group) { return index(ofRow: row, inSection: 0) }
    guard let place = place(of: group), row >= 0, row < shown[place].range.count else { return nil }
    return index(ofRow: row, at: place)
  }

  /// The row, counted in the group alone, that shows an index of a group; nil outside its window. O(1).
  public func row(of index: Int, in group: String) -> Int? {
    guard let place = place(of: group), shown[place].range.contains(index) else { return nil }
    let range = shown[place].range
    return settings.reversed.contains(ByteString(group)) ? range.upperBound - 1 - index : index - range.lowerBound
  }

  /// The section and row that show an index of a group; nil outside its window. O(1).
  public func path(of index: Int, in group: String) -> ViewPath? {
    guard let place = place(of: group), let section = section(of: group), let row = row(of: index, in: group) else {
      return nil
    }
    return ViewPath(section: section, row: layout.firstRow[place] + row)
  }

  /// The row that best keeps a selection, when the one at `row` of `group` may be gone: the same, or the group's last;
  /// or the last of the nearest earlier group with rows; or the first of the nearest later one. Nil if there is none.
  ///
  /// The row is counted in the group alone. O(groups).
  public func nearest(toRow row: Int, in group: String) -> ViewPath? {
    guard csn != nil, let place = place(of: group) else { return nil }
    if !shown[place].range.isEmpty {
      return path(ofRow: min(max(row, 0), shown[place].range.count - 1), at: place)
    }
    if let earlier = shown[..<place].lastIndex(where: { !$0.range.isEmpty }) {
      return path(ofRow: shown[earlier].range.count - 1, at: earlier)
    }
    return shown[place...].firstIndex { !$0.range.isEmpty }.flatMap { path(ofRow: 0, at: $0) }
  }

  private func path(ofRow row: Int, at place: Int) -> ViewPath? {
    layout.sectionOf[place].map { ViewPath(section: $0, row: layout.firstRow[place] + row) }
  }

  private func index(ofRow row: Int, at place: Int) -> Int {
    let range = shown[place].range
    return settings.reversed.contains(shown[place].key) ? range.upperBound - 1 - row : range.lowerBound + row
  }
}
