// What registering a relationship does, or would do.

internal import QuireDatabase
internal import Synchronization

/// What came of registering a relationship.
public struct RelationshipReport: Hashable, Sendable {
  /// Whether objects were asked for their edges; false if what was stored was up to date.
  public var wasBuilt = false
  /// How many edges it has, derived and made by hand.
  public var edgeCount = 0
  /// How many edges objects named of which a row does not exist. They are not stored.
  public var danglingEdgeCount = 0
  /// How many rows its rules have deleted, because of these edges or of rows that were removed while it was not
  /// registered. Rows that other extensions deleted in turn are not counted.
  public var deletedRowCount = 0
}

/// Gathers the report while a relationship is registered.
final class RegistrationWatch: Sendable {
  /// Ends a preview, so that nothing of it is committed.
  struct End: Error {}

  /// Whether nothing is to be committed in the end.
  let isPreview: Bool
  private let state = Mutex(RelationshipReport())

  init(isPreview: Bool) { self.isPreview = isPreview }

  var report: RelationshipReport {
    get { state.withLock { $0 } }
    set { state.withLock { $0 = newValue } }
  }
}

extension RelationshipWriter {
  /// The relationship was built in this transaction, whose end it is: tells what that has done.
  func report() throws {
    guard hasBuilt, let watch = settings.watch else { return }
    watch.report = RelationshipReport(
      wasBuilt: true, edgeCount: try trees.byName.count, danglingEdgeCount: danglingCount,
      deletedRowCount: deletedCount)
    if watch.isPreview { throw RegistrationWatch.End() }
  }
}
