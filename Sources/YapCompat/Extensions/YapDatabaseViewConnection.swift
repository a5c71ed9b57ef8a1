// What notifications say about views.

public import Foundation
public import Quire

/// A view for one connection. New call: `PinnedSnapshot.advance(_:)`, `Commit.hasChanges(in:)`.
public final class YapDatabaseViewConnection: YapDatabaseExtensionConnection {
  private let view: YapDatabaseView
  private let name: String

  init(_ connection: YapDatabaseConnection, _ view: YapDatabaseView, _ name: String) {
    self.view = view
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

  // MARK: Screens

  /// Which groups of the view a screen shows as its sections, in this order. New call: `ViewMappings(_:groups:)`.
  ///
  /// The original's `YapDatabaseViewMappings` were objects; these are values, with settings under names of their own.
  public func mappings(groups: [String]) -> ViewMappings {
    view.adapter?.mappings(groups: groups) ?? ViewMappings(view: name, groups: groups)
  }

  /// Which groups of the view a screen shows as its sections: those that `isIncluded` accepts, in the order of
  /// `areInOrder`. New call: `ViewMappings(_:where:orderedBy:)`.
  public func mappings(
    where isIncluded: @escaping @Sendable (String) -> Bool,
    orderedBy areInOrder: @escaping @Sendable (String, String) -> Bool
  ) -> ViewMappings {
    view.adapter?.mappings(where: isIncluded, orderedBy: areInOrder)
      ?? ViewMappings(view: name, where: isIncluded, orderedBy: areInOrder)
  }

  /// The snapshot of the long-lived read, for mappings of this view: others would be brought to another one's rows.
  private func pin(for mappings: ViewMappings) throws -> PinnedSnapshot {
    guard mappings.viewName.utf8.elementsEqual(name.utf8) else {
      throw DatabaseError(
        .viewRefused,
        """
        Mappings of the view “\(mappings.viewName)” cannot show “\(name)”. Hand them to the connection of their own \
        view.
        """, path: connection.database.quire.path)
    }
    if let pin = connection.pinnedSnapshot { return pin }
    throw DatabaseError(
      .invalidOption, "A screen needs a long-lived read. Call `beginLongLivedReadTransaction` first.")
  }

  /// Brings mappings to the commit of the long-lived read; needed once before anything else. New call:
  /// `ViewMappings.update(_:)`.
  ///
  /// - Throws: `viewRefused` for mappings of another view, `invalidOption` without a long-lived read, and as
  ///   `ViewMappings.update(_:)`.
  public func update(_ mappings: inout ViewMappings) throws {
    try pin(for: mappings).read { try mappings.update($0) }
  }

  /// Begins the long-lived read anew on the newest commit, takes mappings along, and tells what changed on their
  /// screen: in one call what were three in the original, `beginLongLivedReadTransaction`, `getSectionChanges` and
  /// `update`, whose order was easily confused. New call: `PinnedSnapshot.advance(_:)`.
  ///
  /// - Throws: `viewRefused` for mappings of another view, `invalidOption` without a long-lived read, and as
  ///   `PinnedSnapshot.advance(_:)`.
  public func advance(_ mappings: inout ViewMappings) throws -> ViewDiff {
    try pin(for: mappings).advance(&mappings)
  }
}
