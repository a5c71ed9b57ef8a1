// What notifications say about views.

public import Foundation
public import Quire

/// A view for one connection. New call: `PinnedSnapshot.advance(_:)`, `Commit.hasChanges(in:)`.
public final class YapDatabaseViewConnection: YapDatabaseExtensionConnection {
  private let name: String

  init(_ connection: YapDatabaseConnection, _ name: String) {
    self.name = name
    super.init(connection)
  }

  private func operations(_ notification: Notification) -> [ViewOperation]? {
    guard let commit = notification.commit, !commit.changes.isUnknown else { return nil }
    return (commit.changes(ofExtensionNamed: name) as? ViewChanges)?.operations ?? []
  }

  /// Whether the view was changed by any of the commits. New call: `Commit.hasChanges(in:)`.
  public func hasChanges(for notifications: [Notification]) -> Bool {
    notifications.contains { operations($0).map { !$0.isEmpty } ?? true }
  }

  /// Whether a group was changed by any of the commits. New call: `Commit.hasChanges(in:groups:)`.
  public func hasChanges(forGroup group: String, in notifications: [Notification]) -> Bool {
    hasChanges(forAnyGroups: [group], in: notifications)
  }

  /// Whether any of some groups was changed by any of the commits. New call: `Commit.hasChanges(in:groups:)`.
  public func hasChanges(forAnyGroups groups: Set<String>, in notifications: [Notification]) -> Bool {
    notifications.contains { operations($0)?.contains { groups.contains($0.group) } ?? true }
  }

  /// How many steps the commits have taken in the view: when they are too many, load a screen anew. New call:
  /// `ViewChanges.operations`.
  public func numberOfRawChanges(for notifications: [Notification]) -> UInt {
    UInt(notifications.reduce(0) { $0 + (operations($1)?.count ?? 0) })
  }

  /// Begins the long-lived read anew on the newest commit, takes mappings along, and tells what changed on their screen:
  /// in one call what were three in the original, `beginLongLivedReadTransaction`, `getSectionChanges` and `update`,
  /// whose order was easily confused. New call: `PinnedSnapshot.advance(_:)`.
  ///
  /// - Throws: `invalidOption` without a long-lived read, and as `PinnedSnapshot.advance(_:)`.
  public func advance(_ mappings: inout ViewMappings) throws -> ViewDiff {
    guard let pin = connection.pinnedSnapshot else {
      throw DatabaseError(
        .invalidOption, "Changes of a screen need a long-lived read. Call `beginLongLivedReadTransaction` first.")
    }
    return try pin.advance(&mappings)
  }
}
