// Secondary indexes under their original names.

internal import Foundation
internal import Quire

/// Settings of secondary indexes. An index takes a copy of them.
public final class YapDatabaseSecondaryIndexOptions: Sendable {
  private struct Values: Equatable {
    var isPersistent = true
    var allowedCollections: YapWhitelistBlacklist<String>?
  }

  private let values: Guarded<Values>

  /// Whether the index is stored; if not, it is built at each opening. New call: none.
  public var isPersistent: Bool {
    get { values.withLock { $0.isPersistent } }
    set { values.withLock { $0.isPersistent = newValue } }
  }

  /// The collections whose rows it holds, those to come as well; nil for all. Rows of collections for which nothing is
  /// registered that reads objects are left out, unless the handler looks at keys alone. New call: `over:` of
  /// `Indexes`.
  public var allowedCollections: YapWhitelistBlacklist<String>? {
    get { values.withLock { $0.allowedCollections } }
    set { values.withLock { $0.allowedCollections = newValue } }
  }

  /// The original's defaults. New call: none.
  public init() { values = Guarded(Values()) }

  /// A copy of the settings, which later changes of the original do not reach.
  init(copying other: YapDatabaseSecondaryIndexOptions?) {
    values = Guarded(other?.values.withLock { $0 } ?? Values())
  }

  /// Whether these say what others say; blocks that choose collections are never the same.
  func isSame(as other: YapDatabaseSecondaryIndexOptions) -> Bool {
    values.withLock { $0 } == other.values.withLock { $0 }
  }
}

/// Finds rows by values that a block has taken from them. New type: `Indexes`.
public final class YapDatabaseSecondaryIndex: YapDatabaseExtension, @unchecked Sendable {
  // Sendable: safe because all but the extension of the new API are constants, and that is guarded.
  /// The version that it was made with: with another one, or with other columns, it is built anew.
  public let versionTag: String?
  /// The settings.
  public let options: YapDatabaseSecondaryIndexOptions
  private let setup: YapDatabaseSecondaryIndexSetup
  private let handler: YapDatabaseSecondaryIndexHandler
  private let site: CallSite
  private let made = Guarded<SecondaryIndexExtension?>(nil)

  /// Describes an index. New type: `Indexes`.
  public init(
    setup: YapDatabaseSecondaryIndexSetup, handler: YapDatabaseSecondaryIndexHandler, versionTag: String? = nil,
    options: YapDatabaseSecondaryIndexOptions? = nil, fileID: StaticString = #fileID, line: UInt = #line
  ) {
    self.setup = YapDatabaseSecondaryIndexSetup(copying: setup)
    self.handler = handler
    self.versionTag = versionTag
    self.options = YapDatabaseSecondaryIndexOptions(copying: options)
    site = CallSite(fileID: fileID, line: line)
  }

  override func isSame(as first: YapDatabaseExtension) -> Bool {
    guard let first = first as? YapDatabaseSecondaryIndex else { return false }
    return first.versionTag == versionTag && first.site.description == site.description
      && first.setup.all == setup.all && first.options.isSame(as: options)
  }

  override func makeExtension(named name: String, in database: YapDatabase) throws -> any DatabaseExtension {
    try setup.check(name)
    let columns = setup.all.map(\.column)
    let handler = handler
    let value = SecondaryIndexExtension(
      name: name, tag: versionTag ?? "", isPersistent: options.isPersistent, columns: columns, halves: handler.halves,
      allowed: options.allowedCollections
    ) { [weak database] change in
      guard let database else { throw DatabaseError.databaseGone() }
      return try handler.values(of: change, columns, database, name)
    }
    made.withLock { $0 = value }
    return value
  }

  override func makeTransaction(_ transaction: YapDatabaseReadTransaction) throws -> YapDatabaseExtensionTransaction {
    guard let value = made.withLock({ $0 }) else { throw notRegistered() }
    return try YapDatabaseSecondaryIndexTransaction(value, transaction)
  }

  override func makeConnection(_ connection: YapDatabaseConnection) -> YapDatabaseExtensionConnection? {
    YapDatabaseSecondaryIndexConnection(connection, self)
  }
}

/// A secondary index for one connection. New call: none.
public final class YapDatabaseSecondaryIndexConnection: YapDatabaseExtensionConnection {
  /// The index. New call: none.
  public let secondaryIndex: YapDatabaseSecondaryIndex
  /// Has no meaning: a query's text is taken apart when the query is made, once for all its uses. New call: none.
  public var queryCacheEnabled = true
  /// Has no meaning: a query's text is taken apart when the query is made, once for all its uses. New call: none.
  public var queryCacheLimit: UInt = 10

  init(_ connection: YapDatabaseConnection, _ index: YapDatabaseSecondaryIndex) {
    secondaryIndex = index
    super.init(connection)
  }
}
