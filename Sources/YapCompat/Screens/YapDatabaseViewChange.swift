// What changed on a screen, under its original names.

public import Foundation
public import Quire

/// What happened to a section or a row. New type: `ViewRowChange.Kind`.
public enum YapDatabaseViewChangeType: UInt, Sendable {
  /// It is new.
  case insert = 1
  /// It is gone.
  case delete = 2
  /// It is shown at another place, and may have changed as well.
  case move = 3
  /// It is shown at the same place, and has changed.
  case update = 4
}

/// What of a row changed. New type: `ViewAspects`.
public typealias YapDatabaseViewChangesBitMask = ViewAspects

/// A section that came or went. New type: `SectionChange`.
public struct YapDatabaseViewSectionChange: Hashable, Sendable, CustomStringConvertible {
  /// Whether it came or went. New call: `SectionChange.kind`.
  public let type: YapDatabaseViewChangeType
  /// Its number: of one that came in the new state, of one that went in the old. New call: `SectionChange.index`.
  public let index: UInt
  /// Its group, or the name of the section of all groups. New call: `SectionChange.group`.
  public let group: String

  init(_ change: SectionChange) {
    type = change.kind == .insert ? .insert : .delete
    index = UInt(change.index)
    group = change.group
  }

  public var description: String { "\(type) section \(index) (\(group))" }
}

/// A row that came, went, moved or has to be drawn anew. New type: `ViewRowChange`.
public struct YapDatabaseViewRowChange: Hashable, Sendable, CustomStringConvertible {
  /// The same of the new API. Not in the original. New type: `ViewRowChange`.
  public let rowChange: ViewRowChange

  init(_ change: ViewRowChange) { rowChange = change }

  /// What happened. New call: `ViewRowChange.kind`.
  public var type: YapDatabaseViewChangeType {
    switch rowChange.kind {
    case .insert: .insert
    case .delete: .delete
    case .move: .move
    case .update: .update
    }
  }

  /// What of the row changed. New call: `ViewRowChange.aspects`.
  public var changes: YapDatabaseViewChangesBitMask { rowChange.aspects }

  /// Where the row was in the old state; nil for one that came. New call: `ViewRowChange.originalPath`.
  public var indexPath: IndexPath? { rowChange.originalPath.map { IndexPath($0) } }

  /// Where the row is in the new state; nil for one that went, and for an update. New call:
  /// `ViewRowChange.finalPath`.
  public var newIndexPath: IndexPath? {
    rowChange.kind == .update ? nil : rowChange.finalPath.map { IndexPath($0) }
  }

  /// The group that the row was in; nil for one that came. New call: `ViewRowChange.originalGroup`.
  public var originalGroup: String? { rowChange.originalGroup }

  /// The group that the row is in; nil for one that went. New call: `ViewRowChange.finalGroup`.
  public var finalGroup: String? { rowChange.finalGroup }

  /// The row; nil for one that no change names, as for those that are shifted in or out. New call:
  /// `ViewRowChange.key`.
  public var collectionKey: YapCollectionKey? { rowChange.key.map { YapCollectionKey($0) } }

  public var description: String { "\(rowChange)" }
}
