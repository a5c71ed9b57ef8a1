// What a transaction does to a view, step by step.

public import QuireDatabase

/// The parts of a row whose change a view tells.
public struct ViewAspects: OptionSet, Hashable, Sendable {
  /// One bit for each.
  public let rawValue: UInt8
  /// Wraps bits.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The object was stored or touched.
  public static let object = ViewAspects(rawValue: 1)
  /// The metadata were stored or touched.
  public static let metadata = ViewAspects(rawValue: 2)
  /// A neighbour changed that the drawing of the row depends on.
  public static let dependency = ViewAspects(rawValue: 4)
}

/// One step of a change to a view. Its indexes are those at the moment of the step: after all steps before it.
public enum ViewOperation: Hashable, Sendable {
  /// A group got its first row, which is inserted next.
  case insertGroup(String)
  /// A group has lost its last row, which was removed before.
  case removeGroup(String)
  /// All rows of a group were removed at once; it had this many. The group's removal follows.
  case resetGroup(String, count: Int)
  /// A row was inserted at an index of a group.
  case insert(RowKey, group: String, index: Int)
  /// The row at an index of a group was removed.
  case remove(RowKey, group: String, index: Int)
  /// The row at an index of a group was changed, and stays where it is.
  case update(RowKey, group: String, index: Int, ViewAspects)
}
