// Relationships under their original names.

internal import Quire

/// An object that knows its edges. New type: `EdgeSource`.
public protocol YapDatabaseRelationshipNode {
  /// The edges that begin at the object's row; asked when the object is stored. Nil for none. New call:
  /// `EdgeSource.edges()`.
  func yapDatabaseRelationshipEdges() -> [YapDatabaseRelationshipEdge]?

  /// What the object is to become now that an edge is no more; nil if it stays as it is. Only edges with a rule to
  /// notify ask. Returns nil by default. New call: `EdgeObserver.changed(by:_:)`.
  func yapDatabaseRelationshipEdgeDeleted(
    _ edge: YapDatabaseRelationshipEdge, with reason: YDB_NotifyReason
  ) -> Any?
}

extension YapDatabaseRelationshipNode {
  public func yapDatabaseRelationshipEdgeDeleted(
    _ edge: YapDatabaseRelationshipEdge, with reason: YDB_NotifyReason
  ) -> Any? { nil }
}

/// Settings of relationships.
public struct YapDatabaseRelationshipOptions: Sendable {
  /// Whether objects are not asked for their edges.
  public var disableYapDatabaseRelationshipNodeProtocol = false
  /// The collections whose objects are asked; nil for all that have types when the relationship is registered.
  public var allowedCollections: YapWhitelistBlacklist<String>?

  /// The original's defaults. New call: none.
  public init() {}
}

/// Edges between rows, and to files, with rules about what goes when an end goes. New type: `Relationship`.
///
/// Objects of the collections that have types of their own when this is registered are asked for their edges, if they
/// are `YapDatabaseRelationshipNode`s; value types, too, and these are also told of edges that have gone.
public final class YapDatabaseRelationship: YapDatabaseExtension, @unchecked Sendable {
  // Sendable: safe because all but the relationship are constants, and that is guarded.
  /// The version that it was made with: another one has all objects asked for their edges anew.
  public let versionTag: String?
  /// The settings.
  public let options: YapDatabaseRelationshipOptions
  private let made = Guarded<Relationship<Never>?>(nil)

  /// Describes a relationship. New call: `Relationship(_:version:)`.
  public init(
    versionTag: String? = nil, options: YapDatabaseRelationshipOptions = YapDatabaseRelationshipOptions()
  ) {
    self.versionTag = versionTag
    self.options = options
  }

  /// The relationship of the new API; nil before it is registered.
  var relationship: Relationship<Never>? { made.withLock { $0 } }

  override func makeExtension(named name: String, in database: YapDatabase) throws -> any DatabaseExtension {
    let registry = database.registry
    let collections = options.disableYapDatabaseRelationshipNodeProtocol ? [] : registry.names
    let asked = collections.filter { options.allowedCollections?.isAllowed($0) ?? true }
    let version = (versionTag ?? "") + (asked.isEmpty ? "" : StoredVersion.suffix(asked))
    var relationship = Relationship<Never>(name, version: version)
    // As in the original: rows of which nobody has said how they are read are told nothing.
    relationship.untoldRows = .leaveAlone
    for name in asked {
      guard let bridge = registry.find(name), bridge.readsObjects else { continue }
      relationship = bridge.deriving(relationship) { object in
        let edges = (object as? any YapDatabaseRelationshipNode)?.yapDatabaseRelationshipEdges() ?? []
        return edges.map(\.edge)
      }
      relationship = bridge.notifying(relationship, { registry.sanitizers(name).objects }) { object, edge, reason in
        (object as? any YapDatabaseRelationshipNode)?.yapDatabaseRelationshipEdgeDeleted(
          YapDatabaseRelationshipEdge(edge), with: YDB_NotifyReason(reason))
      }
    }
    made.withLock { $0 = relationship }
    return relationship
  }

  override func makeTransaction(_ transaction: YapDatabaseReadTransaction) throws -> YapDatabaseExtensionTransaction {
    try YapDatabaseRelationshipTransaction(self, transaction)
  }
}
