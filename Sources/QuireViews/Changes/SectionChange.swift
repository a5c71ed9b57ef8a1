// What became of a section.

/// A section that came or went between two states of a screen.
public struct SectionChange: Hashable, Sendable, CustomStringConvertible {
  /// What happened to it.
  public enum Kind: Hashable, Sendable {
    /// It is new.
    case insert
    /// It is gone.
    case delete
  }

  /// What happened.
  public let kind: Kind
  /// The number of the section: of a new one in the new state, of one that is gone in the old state.
  public let index: Int
  /// The group that it shows, or the name of the section of all groups.
  public let group: String

  public var description: String { "\(kind == .insert ? "I" : "D")\(index)(\(group))" }
}
