// Which rows of a view a screen shows, under its original name.

public import Foundation
public import Quire

/// From the groups of a view to the sections and rows of a screen. New type: `ViewMappings`.
///
/// Belongs to one screen, and to the thread that this is drawn on. Before the first `update(with:)` all counts are 0.
/// Settings take effect at once, without a change set: set before the first update, or have the screen load anew.
public final class YapDatabaseViewMappings {
  /// Decides whether a group is shown.
  public typealias GroupFilterBlock = (_ group: String, _ transaction: YapDatabaseReadTransaction) -> Bool
  /// Decides which of two groups comes first.
  public typealias GroupSortBlock = (
    _ group1: String, _ group2: String, _ transaction: YapDatabaseReadTransaction
  ) -> ComparisonResult

  /// The same of the new API, for code that has come over already. Not in the original. New type: `ViewMappings`.
  public private(set) var mappings: ViewMappings
  /// What the blocks read by, while they are asked.
  private let asking: Asking

  /// The blocks of dynamic groups, and the transaction that they are handed.
  private final class Asking: @unchecked Sendable {
    // Sendable: safe because mappings belong to one thread, which sets the transaction and asks the blocks.
    var transaction: YapDatabaseReadTransaction?
    var isIncluded: GroupFilterBlock = { _, _ in true }
    var compare: GroupSortBlock = { _, _, _ in .orderedSame }
  }

  /// Shows these groups of a view, each as a section, in this order. New call: `ViewMappings(view:groups:)`.
  public init(groups: [String], view: String) {
    asking = Asking()
    mappings = ViewMappings(view: view, groups: groups)
  }

  /// Shows the groups that a block accepts, in the order of another; both are asked at each update, for all groups that
  /// have rows. New call: `ViewMappings(view:where:orderedBy:)`.
  public init(
    groupFilterBlock isIncluded: @escaping GroupFilterBlock, sortBlock compare: @escaping GroupSortBlock, view: String
  ) {
    let asking = Asking()
    (asking.isIncluded, asking.compare) = (isIncluded, compare)
    self.asking = asking
    mappings = ViewMappings(
      view: view,
      where: { group in asking.transaction.map { asking.isIncluded(group, $0) } ?? true },
      orderedBy: { left, right in
        asking.transaction.map { asking.compare(left, right, $0) == .orderedAscending } ?? false
      })
  }

  /// The name of the view. New call: `ViewMappings.viewName`.
  public var view: String { mappings.viewName }

  // MARK: Updating

  /// Takes note of groups and counts as a transaction reads them: once before anything else, and then whenever the
  /// screen is drawn anew without a change set. New call: `ViewMappings.update(_:)`.
  ///
  /// In any read transaction, of whatever connection. A write transaction fails with `invalidOption`, as does one that
  /// finds no view under the name with `viewRefused`.
  public func update(with transaction: YapDatabaseReadTransaction) {
    transaction.attempt(()) {
      guard case .reading(let tx) = transaction.access else {
        throw DatabaseError(
          .invalidOption, "Mappings show what was committed. Update them in a read transaction.",
          path: transaction.database.quire.path)
      }
      try ask(transaction) { try mappings.update(tx) }
    }
  }

  /// Runs what asks the blocks.
  private func ask<Result>(_ transaction: YapDatabaseReadTransaction, _ body: () throws -> Result) rethrows -> Result {
    let outer = asking.transaction
    asking.transaction = transaction
    defer { asking.transaction = outer }
    return try body()
  }

  /// Goes on to what a transaction reads, by a step that leads there; without one no commit is known in between.
  func advance(
    _ step: PinnedStep?, _ transaction: YapDatabaseReadTransaction, _ tx: ReadTransaction
  ) throws -> ViewDiff? {
    try ask(transaction) {
      if let step { return try mappings.advance(step, tx) }
      return mappings.csn == tx.csn.rawValue ? nil : try mappings.reload(tx)
    }
  }

  /// The commit that they stand at, `UInt64.max` before the first update. New call: `ViewMappings.csn`.
  public var snapshotOfLastUpdate: UInt64 { mappings.csn ?? .max }

  // MARK: Sections

  /// Whether no section has a group that shows no row; otherwise it has an empty one. New call:
  /// `ViewMappings.hidesEmpty`.
  public var isDynamicSectionForAllGroups: Bool { mappings.hidesEmpty.all }

  /// Sets that for all groups, also those to come. New call: `ViewMappings.hidesEmpty`.
  public func setIsDynamicSectionForAllGroups(_ isDynamic: Bool) { mappings.hidesEmpty.all = isDynamic }

  /// Whether a group has no section while it shows no row. New call: `ViewMappings.hidesEmpty`.
  public func isDynamicSection(forGroup group: String) -> Bool { mappings.hidesEmpty[group] }

  /// Sets that for one group. New call: `ViewMappings.hidesEmpty`.
  public func setIsDynamicSection(_ isDynamic: Bool, forGroup group: String) { mappings.hidesEmpty[group] = isDynamic }

  /// Whether a group is shown last to first. New call: `ViewMappings.isReversed`.
  public func isReversed(forGroup group: String) -> Bool { mappings.isReversed[group] }

  /// Sets whether a group is shown last to first. New call: `ViewMappings.isReversed`.
  public func setIsReversed(_ isReversed: Bool, forGroup group: String) { mappings.isReversed[group] = isReversed }

  /// Below this number of rows all groups are one section; 0 if never. New call: `ViewMappings.consolidationThreshold`.
  public var autoConsolidateGroupsThreshold: UInt { UInt(mappings.consolidationThreshold) }

  /// The name of that section; nil if there never is one. New call: `ViewMappings.consolidatedName`.
  public var consolidatedGroupName: String? { mappings.consolidatedName }

  /// Makes all groups one section while they show fewer rows. New call: `ViewMappings.consolidate(below:as:)`.
  public func setAutoConsolidateGroupsThreshold(_ threshold: UInt, withConsolidatedGroupName name: String) {
    mappings.consolidate(below: Int(clamping: threshold), as: name)
  }

  /// Whether all groups are one section at present. New call: `ViewMappings.isConsolidated`.
  public var isUsingConsolidatedGroup: Bool { mappings.isConsolidated }

  // MARK: Windows and neighbours

  /// The part of a group that is shown; nil if it is all. New call: `ViewMappings.window`.
  public func rangeOptions(forGroup group: String) -> YapDatabaseViewRangeOptions? {
    mappings.window[group].map { YapDatabaseViewRangeOptions($0) }
  }

  /// Shows a part of a group; what is changed of the options later has no effect. New call: `ViewMappings.window`.
  public func setRangeOptions(_ options: YapDatabaseViewRangeOptions?, forGroup group: String) {
    mappings.window[group] = options?.window
  }

  /// Shows all of a group again. New call: `ViewMappings.window`.
  public func removeRangeOptions(forGroup group: String) { mappings.window[group] = nil }

  /// Where the part of a group that is shown stands in it; nil for a group that the mappings do not show. New call:
  /// `ViewMappings.windowPosition(of:)`.
  public func rangePosition(forGroup group: String) -> YapDatabaseViewRangePosition? {
    mappings.windowPosition(of: group)
  }

  /// Which other rows the drawing of a row uses: −1 is the row above, 1 the one below. New call:
  /// `ViewMappings.neighbourOffsets`.
  public func cellDrawingDependencyOffsets(forGroup group: String) -> Set<Int> { mappings.neighbourOffsets[group] }

  /// Sets that for a group. New call: `ViewMappings.neighbourOffsets`.
  public func setCellDrawingDependencyOffsets(_ offsets: Set<Int>, forGroup group: String) {
    mappings.neighbourOffsets[group] = offsets
  }

  /// Sets one offset, in place of others. New call: `ViewMappings.neighbourOffsets`.
  public func setCellDrawingDependencyForNeighboringCell(withOffset offset: Int, forGroup group: String) {
    mappings.neighbourOffsets[group] = [offset]
  }
}
