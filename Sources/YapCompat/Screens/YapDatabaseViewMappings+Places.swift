// Counts, and the way from index paths to groups and indexes and back.

public import Foundation
internal import Quire

extension YapDatabaseViewMappings {
  // MARK: Counts

  /// The number of sections. New call: `ViewMappings.sectionCount`.
  public func numberOfSections() -> UInt { UInt(mappings.sectionCount) }

  /// The number of rows of a section; 0 for one that does not exist. New call: `ViewMappings.count(inSection:)`.
  public func numberOfItems(inSection section: UInt) -> UInt {
    Int(exactly: section).map { UInt(mappings.count(inSection: $0)) } ?? 0
  }

  /// The number of rows shown of a group; 0 if it is not shown. New call: `ViewMappings.count(in:)`.
  public func numberOfItems(inGroup group: String) -> UInt { UInt(mappings.count(in: group)) }

  /// The number of rows shown. New call: `ViewMappings.count`.
  public func numberOfItemsInAllGroups() -> UInt { UInt(mappings.count) }

  /// Whether no row of a group is shown. New call: `ViewMappings.count(in:)`.
  public func isEmptyGroup(_ group: String) -> Bool { mappings.count(in: group) == 0 }

  /// Whether no row is shown. New call: `ViewMappings.isEmpty`.
  public func isEmpty() -> Bool { mappings.isEmpty }

  // MARK: Groups and sections

  /// All groups, with or without a section, in order. New call: `ViewMappings.groups`.
  public var allGroups: [String] { mappings.groups }

  /// The groups that have a section, in order. New call: `ViewMappings.visibleGroups`.
  public var visibleGroups: [String] { mappings.visibleGroups }

  /// The group of a section; nil for one that does not exist. New call: `ViewMappings.group(ofSection:)`.
  public func group(forSection section: UInt) -> String? {
    Int(exactly: section).flatMap { mappings.group(ofSection: $0) }
  }

  /// The section of a group; nil if it has none. New call: `ViewMappings.section(of:)`.
  public func section(forGroup group: String) -> UInt? { mappings.section(of: group).map { UInt($0) } }

  // MARK: From the screen to the view

  /// The group of a row and its index there, in the view's order; nil where there is none. New call:
  /// `ViewMappings.location(of:)`.
  public func getGroupIndex(for indexPath: IndexPath) -> (group: String, index: UInt)? {
    indexPath.viewPath.flatMap { mappings.location(of: $0) }.map { ($0.group, UInt($0.index)) }
  }

  /// The group of a row; nil where there is none. New call: `ViewMappings.location(of:)`.
  public func group(for indexPath: IndexPath) -> String? { getGroupIndex(for: indexPath)?.group }

  /// The index of a row in its group, in the view's order; nil where there is none. New call:
  /// `ViewMappings.location(of:)`.
  public func index(for indexPath: IndexPath) -> UInt? { getGroupIndex(for: indexPath)?.index }

  /// The index, in the view's order, of a row of a section; nil where there is none. New call:
  /// `ViewMappings.index(ofRow:inSection:)`.
  public func index(forRow row: UInt, inSection section: UInt) -> UInt? {
    guard let path = ViewPath(row, section) else { return nil }
    return mappings.index(ofRow: path.row, inSection: path.section).map { UInt($0) }
  }

  /// The index, in the view's order, of a row of a group, counted in the group alone; nil where there is none. New
  /// call: `ViewMappings.index(ofRow:in:)`.
  public func index(forRow row: UInt, inGroup group: String) -> UInt? {
    Int(exactly: row).flatMap { mappings.index(ofRow: $0, in: group) }.map { UInt($0) }
  }

  // MARK: From the view to the screen

  /// Where the row at an index of a group is shown; nil if it is not. New call: `ViewMappings.path(of:in:)`.
  public func indexPath(forIndex index: UInt, inGroup group: String) -> IndexPath? {
    Int(exactly: index).flatMap { mappings.path(of: $0, in: group) }.map { IndexPath($0) }
  }

  /// The row, counted in the group alone, that shows an index of a group; nil if none does. New call:
  /// `ViewMappings.row(of:in:)`.
  public func row(forIndex index: UInt, inGroup group: String) -> UInt? {
    Int(exactly: index).flatMap { mappings.row(of: $0, in: group) }.map { UInt($0) }
  }

  /// Where the selection goes when the row of a group, counted in the group alone, may be gone: the same, or the
  /// nearest; nil if no row is left. New call: `ViewMappings.nearest(toRow:in:)`.
  public func nearestIndexPath(forRow row: UInt, inGroup group: String) -> IndexPath? {
    mappings.nearest(toRow: Int(clamping: row), in: group).map { IndexPath($0) }
  }
}

extension ViewPath {
  /// Numbers from an app, which may be larger than any place.
  init?(_ row: UInt, _ section: UInt) {
    guard let row = Int(exactly: row), let section = Int(exactly: section) else { return nil }
    self.init(section: section, row: row)
  }
}

extension IndexPath {
  /// Section, then row.
  init(_ path: ViewPath) { self.init(indexes: [path.section, path.row]) }

  /// The place that the first two indexes tell; nil if there are others, or fewer.
  var viewPath: ViewPath? { count == 2 ? ViewPath(section: self[0], row: self[1]) : nil }
}
