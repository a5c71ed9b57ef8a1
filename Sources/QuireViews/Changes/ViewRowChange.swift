// What became of a row on a screen.

public import QuireDatabase

/// A row that came, went, moved or has to be drawn anew between two states of a screen.
public struct ViewRowChange: Hashable, Sendable, CustomStringConvertible {
  /// What happened to it.
  public enum Kind: UInt8, Hashable, Sendable {
    /// It was not shown and is.
    case insert = 1
    /// It was shown and is not.
    case delete
    /// It is shown at another place, or in a section that is told as a new one, or after having been removed and
    /// inserted again. A row that moved may have changed as well: see ``ViewRowChange/aspects``.
    case move
    /// It is shown at the same place, apart from what other changes shift, and has changed.
    case update
  }

  /// What happened.
  public let kind: Kind
  /// Where the row was in the old state; nil for an insert.
  public let originalPath: ViewPath?
  /// Where the row is in the new state; nil for a delete. An update's is given too; a table that wants all updates in
  /// old coordinates takes ``originalPath``.
  public let finalPath: ViewPath?
  /// What changed in the row. Empty for a delete, and for a move of a row that looks as it did; an insert has both
  /// parts.
  public let aspects: ViewAspects
  /// The group that the row was in; nil for an insert.
  public let originalGroup: String?
  /// The group that the row is in; nil for a delete.
  public let finalGroup: String?
  /// The row; nil for one that no step of the change names: drawn anew for a neighbour's sake, shifted in or out by a
  /// window, moved with its group, or removed with all others of it.
  public let key: RowKey?

  /// Puts a change together: see ``ViewDiff/init(sections:rows:isReload:rowCounts:)``.
  public init(
    kind: Kind, originalPath: ViewPath?, finalPath: ViewPath?, aspects: ViewAspects, originalGroup: String?,
    finalGroup: String?, key: RowKey?
  ) {
    self.kind = kind
    self.originalPath = originalPath
    self.finalPath = finalPath
    self.aspects = aspects
    self.originalGroup = originalGroup
    self.finalGroup = finalGroup
    self.key = key
  }

  public var description: String {
    let original = originalPath.map { "\($0)" } ?? ""
    let final = finalPath.map { "→\($0)" } ?? ""
    let letter =
      switch kind {
      case .insert: "I"
      case .delete: "D"
      case .move: "M"
      case .update: "U"
      }
    return letter + original + final
  }
}
