// What a commit carries along for its notification.

/// The `commitInfo` of what is committed through `YapDatabaseConnection`: which connection it was, and the app's custom
/// object. Those who follow `Database.commits` find it in `Commit.info`.
public struct YapDatabaseCommitInfo: Codable, @unchecked Sendable {
  // Sendable: safe because the custom object is not looked at here, only handed on; that it may be used from any thread
  // is asked of the app where it sets it.
  /// The custom object, if one was set.
  public let customObject: Any?
  private weak let weakConnection: YapDatabaseConnection?

  /// The connection that made the commit, if it still exists.
  public var connection: YapDatabaseConnection? { weakConnection }

  init(_ connection: YapDatabaseConnection, _ customObject: Any?) {
    weakConnection = connection
    self.customObject = customObject
  }

  /// Nothing of it outlives the process.
  public func encode(to encoder: any Encoder) throws { _ = encoder.container(keyedBy: NoKeys.self) }

  /// A commit info without connection and object.
  public init(from decoder: any Decoder) throws {
    customObject = nil
    weakConnection = nil
  }

  private enum NoKeys: CodingKey {}
}
