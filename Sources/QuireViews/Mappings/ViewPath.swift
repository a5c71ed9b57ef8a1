// Where a row stands on a screen.

/// A row of a sectioned list: the number of its section and its number in the section, both from 0.
public struct ViewPath: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The number of the section.
  public var section: Int
  /// The number of the row in its section.
  public var row: Int

  /// Puts the two together.
  public init(section: Int, row: Int) {
    self.section = section
    self.row = row
  }

  public static func < (left: Self, right: Self) -> Bool {
    left.section == right.section ? left.row < right.row : left.section < right.section
  }

  public var description: String { "\(section).\(row)" }
}
