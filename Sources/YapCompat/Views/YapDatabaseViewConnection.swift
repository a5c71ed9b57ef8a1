// What notifications say about views.

public import Foundation
internal import Quire

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

  /// Tells what the jump of a long-lived read has changed on a screen, and takes its mappings along. Any number of
  /// screens may ask for the same notifications, each with its own mappings. New call:
  /// `ViewMappings.advance(_:_:)`.
  ///
  /// All sections are deleted and inserted, without rows, where the notifications do not lead from where the mappings
  /// stand to the commit that the connection shows: a screen that follows the changes is made anew then. Without
  /// mappings there are no changes. Costs as `PinnedSnapshot.advance(_:)`.
  ///
  /// - Parameters:
  ///   - notifications: those that `beginLongLivedReadTransaction` has returned since the mappings were brought
  ///     on, of one call or of several, in their order.
  ///   - mappings: of the view; nil gives no changes.
  /// - Throws: `viewRefused` for mappings of another view, `invalidOption` without a long-lived read, and as
  ///   `PinnedSnapshot.read(_:)`.
  public func getChanges(
    forNotifications notifications: [Notification], withMappings mappings: YapDatabaseViewMappings?
  ) throws -> (sectionChanges: [YapDatabaseViewSectionChange], rowChanges: [YapDatabaseViewRowChange]) {
    guard let mappings else { return ([], []) }
    let diff = try pin(for: mappings).read { tx in
      let transaction = YapDatabaseReadTransaction(connection.database, connection, .reading(tx))
      defer { transaction.end() }
      let diff = try mappings.advance(way(of: notifications), transaction, tx)
      if let failure = transaction.failure { throw failure }
      return diff
    }
    guard let diff else { return ([], []) }
    return (diff.sections.map { YapDatabaseViewSectionChange($0) }, diff.rows.map { YapDatabaseViewRowChange($0) })
  }

  /// Tells what the jump of a long-lived read has changed on a screen, and takes its mappings along. New call:
  /// `ViewMappings.advance(_:_:)`.
  ///
  /// In the spelling of Objective-C; costs and errors as ``getChanges(forNotifications:withMappings:)``.
  public func getSectionChanges(
    _ sectionChanges: inout [YapDatabaseViewSectionChange], rowChanges: inout [YapDatabaseViewRowChange],
    forNotifications notifications: [Notification], with mappings: YapDatabaseViewMappings?
  ) throws {
    (sectionChanges, rowChanges) = try getChanges(forNotifications: notifications, withMappings: mappings)
  }

  /// The way that the long-lived read has come by the jumps that notifications tell of.
  private func way(of notifications: [Notification]) -> PinnedStep? {
    var (way, last): (PinnedStep?, PinnedStep?) = (nil, nil)
    let steps = notifications.map(\.step) + [connection.state.withLock { $0.quietStep }]
    // All notifications of one jump have the same step.
    for case let step? in steps where step != last {
      (way, last) = (way?.followed(by: step) ?? step, step)
    }
    return way
  }

  /// The snapshot of the long-lived read, for mappings of this view: others would be brought to another one's rows.
  private func pin(for mappings: YapDatabaseViewMappings) throws -> PinnedSnapshot {
    guard mappings.view.utf8.elementsEqual(name.utf8) else {
      throw DatabaseError(
        .viewRefused,
        "Mappings of the view “\(mappings.view)” cannot show “\(name)”. Hand them to the connection of their own view.",
        path: connection.database.quire.path)
    }
    if let pin = connection.pinnedSnapshot { return pin }
    throw DatabaseError(
      .invalidOption, "A screen needs a long-lived read. Call `beginLongLivedReadTransaction` first.")
  }
}
