// What changed on a screen.

/// The changes of sections and rows that lead from one state of a screen to the next.
///
/// Made for tables and collection views that take a batch of changes, in the coordinates that these expect: what goes,
/// and where an update was, in the numbers of the old state; what comes, in those of the new one. So, in any order of
/// the changes: take the deleted and the moved rows out of the old list, then the deleted sections; put the new
/// sections in, then the inserted and moved rows; draw the updated ones anew. ``apply(to:item:)`` does just that.
///
/// - A section that is deleted takes along the rows it still has: those of a group that the mappings no longer show are
///   not told one by one. All other rows are told, also those of inserted sections, which begin empty.
/// - A row that was removed and inserted again moves, even to its old place. An update in a section whose number
///   changed is told as a move.
/// - Rows come in the order of the first step that changed them or, for rows that draw their neighbours, one of these:
///   right after that neighbour. Then those that windows shift in or out, then those that move with their group.
///   Sections come in the order of the steps that made them come or go, then the others.
///
/// A **reload** says that anything may have changed: the commits in between are not known, or do not fit the mappings.
/// It deletes all old sections and inserts all new ones, and tells no rows.
public struct ViewDiff: Hashable, Sendable {
  /// The sections that came or went.
  public let sections: [SectionChange]
  /// The rows that came, went, moved or changed.
  public let rows: [ViewRowChange]
  /// Whether the list has to be made anew: ``rows`` says nothing then.
  public let isReload: Bool
  /// The number of rows of each section of the new state.
  public let rowCounts: [Int]

  /// Puts a change set together: for lists that are no views, like those of queries, and for tests of what draws them.
  public init(sections: [SectionChange], rows: [ViewRowChange], isReload: Bool, rowCounts: [Int]) {
    self.sections = sections
    self.rows = rows
    self.isReload = isReload
    self.rowCounts = rowCounts
  }

  /// Whether nothing on the screen changed.
  public var isEmpty: Bool { sections.isEmpty && rows.isEmpty && !isReload }
}
