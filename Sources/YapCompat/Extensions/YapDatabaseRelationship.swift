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

/// Settings of relationships. A relationship takes a copy of them.
public final class YapDatabaseRelationshipOptions: Sendable {
  private struct Values: Equatable {
    var disableYapDatabaseRelationshipNodeProtocol = false
    var allowedCollections: YapWhitelistBlacklist<String>?
  }

  private let values: Guarded<Values>

  /// Whether objects are not asked for their edges.
  public var disableYapDatabaseRelationshipNodeProtocol: Bool {
    get { values.withLock { $0.disableYapDatabaseRelationshipNodeProtocol } }
    set { values.withLock { $0.disableYapDatabaseRelationshipNodeProtocol = newValue } }
  }

  /// The collections whose objects are asked, those to come as well; nil for all.
  public var allowedCollections: YapWhitelistBlacklist<String>? {
    get { values.withLock { $0.allowedCollections } }
    set { values.withLock { $0.allowedCollections = newValue } }
  }

  /// The original's defaults. New call: none.
  public init() { values = Guarded(Values()) }

  /// Whether these say what others say; blocks that choose collections are never the same.
  func isSame(as other: YapDatabaseRelationshipOptions) -> Bool {
    values.withLock { $0 } == other.values.withLock { $0 }
  }

  /// A copy of the settings, which later changes of the original do not reach.
  init(copying other: YapDatabaseRelationshipOptions?) { values = Guarded(other?.values.withLock { $0 } ?? Values()) }
}

/// Edges between rows, and to files, with rules about what goes when an end goes. New type: `Relationship`.
///
/// Objects are asked for their edges, and told of edges that have gone, if they are `YapDatabaseRelationshipNode`s;
/// value types, too. Collections may come at any time, as long as something is registered for them before their rows
/// are stored.
public final class YapDatabaseRelationship: YapDatabaseExtension, @unchecked Sendable {
  // Sendable: safe because all but the relationship are constants, and that is guarded.
  /// The version that it was made with: another one has all objects asked for their edges anew.
  public let versionTag: String?
  /// The settings.
  public let options: YapDatabaseRelationshipOptions
  private let made = Guarded<Relationship<Never>?>(nil)

  /// Describes a relationship. New call: `Relationship(_:version:)`.
  public init(
    versionTag: String? = nil, options: YapDatabaseRelationshipOptions? = nil
  ) {
    self.versionTag = versionTag
    self.options = YapDatabaseRelationshipOptions(copying: options)
  }

  /// The relationship of the new API; nil before it is registered.
  var relationship: Relationship<Never>? { made.withLock { $0 } }

  override func isSame(as first: YapDatabaseExtension) -> Bool {
    guard let first = first as? YapDatabaseRelationship else { return false }
    return first.versionTag == versionTag && first.options.isSame(as: options)
  }

  override func makeExtension(named name: String, in database: YapDatabase) throws -> any DatabaseExtension {
    let registry = database.registry
    var relationship = Relationship<Never>(name, version: versionTag ?? "")
    // As in the original: rows of which nobody has said how they are read are told nothing.
    relationship.untoldRows = .leaveAlone
    if !options.disableYapDatabaseRelationshipNodeProtocol {
      relationship = Self.asking(relationship, options.allowedCollections?.filter ?? .all, registry)
    }
    made.withLock { $0 = relationship }
    return relationship
  }

  /// A node, for the time of a transaction.
  private struct Node: @unchecked Sendable {
    // Sendable: safe because it stays on the thread of the transaction that has read it.
    let object: any YapDatabaseRelationshipNode

    init?(_ change: RowChange, _ bridge: (any CollectionBridge)?) throws {
      guard let bridge, bridge.mayHaveNodes,
        let node = try bridge.object(of: change) as? any YapDatabaseRelationshipNode
      else { return nil }
      object = node
    }
  }

  /// The relationship with the edges of all nodes in some collections, which are told when an edge has gone. What is
  /// registered for a collection when one of its rows is looked at holds.
  private static func asking(
    _ relationship: Relationship<Never>, _ filter: CollectionFilter, _ registry: CollectionRegistry
  ) -> Relationship<Never> {
    relationship.deriving(from: filter) { change in
      let node = try Node(change, registry.find(change.collection))
      return node?.object.yapDatabaseRelationshipEdges()?.map(\.edge) ?? []
    }.notifying(from: filter) { change in
      try Node(change, registry.find(change.collection))
    } telling: { node, _, edge, reason in
      node.object.yapDatabaseRelationshipEdgeDeleted(YapDatabaseRelationshipEdge(edge), with: YDB_NotifyReason(reason))
    } replacing: { changed, row, tx in
      try registry.find(row.collection)?.replaceNode(changed, row.key, registry.sanitizers(row.collection).objects, tx)
    }
  }

  override func makeTransaction(_ transaction: YapDatabaseReadTransaction) throws -> YapDatabaseExtensionTransaction {
    try YapDatabaseRelationshipTransaction(self, transaction)
  }
}

extension CollectionBridge {
  /// Whether objects of the collection may be nodes of a relationship: blocks may make any object of bytes, and a class
  /// may have subclasses that are nodes.
  fileprivate var mayHaveNodes: Bool {
    readsObjects && (takesBytes || objectType is any YapDatabaseRelationshipNode.Type || objectType is AnyObject.Type)
  }
}
