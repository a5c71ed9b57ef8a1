// The extension: what an app says about the edges of its objects.

public import QuireDatabase

/// Edges between rows, and from rows to files, with rules about what happens when an end goes.
///
/// ```swift
/// let albumOf = Relationship<Song>("song.album", over: .songs) { song in
///   [
///     Edge(
///       "album", to: .albums, key: song.albumID,
///       rules: [.deleteDestinationIfAllSourcesDeleted, .deleteSourceIfDestinationDeleted])
///   ]
/// }
/// try db.register(albumOf)
/// try db.write { tx in try tx.relationship(albumOf).add(Edge("plays", from: .lists, "l1", to: .songs, "s1")) }
/// ```
///
/// Derived edges come from the objects of some collections: they are asked for when an object is stored, and compared
/// with those of before; one that an object does not name any more counts as one whose source was deleted. Edges by
/// hand are added and removed in write transactions. The two domains stand side by side and know nothing of each other,
/// but that rules which count edges count both.
///
/// Rules are applied at the end of the transaction, or by `flush()`. Any number of relationships may be registered;
/// each counts its own edges. The guide “Relationships” says all of it.
///
/// The guide is <doc:Relationships>.
public struct Relationship<Object: Sendable>: DatabaseExtension {
  public static var kind: String { RelationshipSettings.kind }

  public let name: String
  public let version: String
  var settings: RelationshipSettings

  /// How a file is deleted whose edge says so; gets the path. By default the file's name is removed from its folder,
  /// which is synced then, and a folder is left alone. Called outside of any transaction, when the commit that decided
  /// about the file is on the disk; must not use the database. When it returns, no power cut may bring the file back,
  /// as nobody would delete it again. If it throws, the file stays on the list until the next such commit or
  /// registration.
  ///
  /// It may be called for a file that has gone. If an earlier sync of the folder has failed, that is not durable, and
  /// another sync need not make it so: the default makes an empty file under the name then, and removes that.
  public var fileRemoval: @Sendable (_ path: String) throws -> Void {
    get { settings.removeFile ?? { try FileRemoval.remove($0) } }
    set { settings.removeFile = newValue }
  }

  /// What becomes of an edge that comes without one of its rows. By default the row counts as deleted, so that rules
  /// may delete the other one; `refuse` fails the transaction instead. A row that is removed takes its edges along by
  /// their rules in either case.
  public var missingEnds: MissingEnds {
    get { settings.missingEnds }
    set { settings.missingEnds = newValue }
  }

  /// What becomes of an edge whose rule is to tell a row of a collection that no `notifying` names. By default it is
  /// refused.
  public var untoldRows: UntoldRows {
    get { settings.untoldRows }
    set { settings.untoldRows = newValue }
  }

  /// A relationship of edges that objects derive.
  ///
  /// - Parameters:
  ///   - name: what it is registered under.
  ///   - collection: whose objects have edges.
  ///   - version: to be changed whenever `edges` makes other edges of the same object: all objects are asked anew then,
  ///     and those of another version's edges that are not named any more go without consequences. Edges by hand stay.
  ///   - edges: the edges that begin at the object's row. Runs inside the transaction, and only looks at the object.
  public init<Metadata>(
    _ name: String, over collection: RowCollection<Object, Metadata>, version: String = "",
    edges: @escaping @Sendable (Object) throws -> [Edge]
  ) {
    self.init(name, version)
    settings.derive(CollectionFamily([collection])) { object, _ in try edges(object) }
  }

  private init(_ name: String, _ version: String) {
    self.name = name
    self.version = version
    settings = RelationshipSettings()
  }

  /// The same relationship with edges of the objects of another collection, too.
  public func deriving<Other, Metadata>(
    over collection: RowCollection<Other, Metadata>, edges: @escaping @Sendable (Other) throws -> [Edge]
  ) -> Self {
    deriving(over: collection) { object, _ in try edges(object) }
  }

  /// The same, where making the edges takes the key of the object's row: `edges` gets both.
  public func deriving<Other, Metadata>(
    over collection: RowCollection<Other, Metadata>, edges: @escaping @Sendable (Other, RowKey) throws -> [Edge]
  ) -> Self {
    deriving(over: CollectionFamily([collection]), edges: edges)
  }

  /// The same relationship with edges of the objects of all collections of a family, those to come as well.
  ///
  /// - Parameters:
  ///   - family: the collections whose rows have such edges.
  ///   - edges: gets an object and where it is stored; as in `init`.
  public func deriving<Other, Metadata>(
    over family: CollectionFamily<Other, Metadata>, edges: @escaping @Sendable (Other, RowKey) throws -> [Edge]
  ) -> Self {
    var copy = self
    copy.settings.derive(family, edges)
    return copy
  }

  /// The same relationship with rows of a collection that can be told when an edge of theirs has gone.
  ///
  /// - Parameters:
  ///   - collection: whose rows are told.
  ///   - body: gets the row's object, the edge, and what has happened to the other end; returns what the object
  ///     is to become, or nil if it stays. Runs inside the transaction, also if the row itself has gone or is about to
  ///     go: the result is ignored then. Replacing the object does not ask it for its edges.
  public func notifying<Other, Metadata>(
    _ collection: RowCollection<Other, Metadata>,
    _ body: @escaping @Sendable (Other, Edge, EdgeReason) throws -> Other?
  ) -> Self {
    notifying(CollectionFamily([collection])) { object, _, edge, reason in try body(object, edge, reason) }
  }

  /// The same relationship with rows of all collections of a family that can be told when an edge of theirs has gone.
  ///
  /// - Parameters:
  ///   - family: the collections whose rows are told.
  ///   - body: gets the object, where it is or was stored, the edge, and the reason; as above.
  public func notifying<Other, Metadata>(
    _ family: CollectionFamily<Other, Metadata>,
    _ body: @escaping @Sendable (Other, RowKey, Edge, EdgeReason) throws -> Other?
  ) -> Self {
    notifying(
      family, telling: body,
      replacing: { object, row, tx in
        guard let collection = family.collection(named: row.collection) else { return }
        try tx[collection].replace(object, for: row.key)
      })
  }

  /// The same relationship with rows of collections that can be told when an edge of theirs has gone, and a way of its
  /// own to store what comes of it.
  ///
  /// - Parameters:
  ///   - family: the collections whose rows are told.
  ///   - telling: gets the row's object and key, the edge, and what has happened to the other end; returns what is to
  ///     be stored, or nil if the row stays as it is. Runs inside the transaction, also if the row itself has gone or
  ///     is about to go: the result is ignored then.
  ///   - replacing: stores what `telling` returned, in the row of this key, which is there. An object that it replaces
  ///     is not asked for its edges; it may remove the row instead. What it throws fails the transaction.
  public func notifying<Other, Metadata, Told>(
    _ family: CollectionFamily<Other, Metadata>,
    telling: @escaping @Sendable (Other, RowKey, Edge, EdgeReason) throws -> Told?,
    replacing: @escaping @Sendable (Told, RowKey, WriteTransaction) throws -> Void
  ) -> Self {
    var copy = self
    copy.settings.notify(family, telling, replacing)
    return copy
  }

  /// The same for rows of one collection.
  public func notifying<Other, Metadata, Told>(
    _ collection: RowCollection<Other, Metadata>,
    telling: @escaping @Sendable (Other, RowKey, Edge, EdgeReason) throws -> Told?,
    replacing: @escaping @Sendable (Told, RowKey, WriteTransaction) throws -> Void
  ) -> Self {
    notifying(CollectionFamily([collection]), telling: telling, replacing: replacing)
  }

  // MARK: Collections of several types

  /// The same relationship with edges of the rows of all collections that a filter lets through, whatever their types:
  /// `edges` decodes what it needs by `RowChange.object(in:)`.
  public func deriving(
    from filter: CollectionFilter, edges: @escaping @Sendable (RowChange) throws -> [Edge]
  ) -> Self {
    var copy = self
    copy.settings.derive(filter, edges)
    return copy
  }

  /// The same relationship with rows of all collections that a filter lets through, whatever their types, that can be
  /// told when an edge of theirs has gone.
  ///
  /// - Parameters:
  ///   - filter: the collections whose rows are told.
  ///   - loading: what `telling` gets of a row; nil if the row is not to be told. Called while the row is there.
  ///   - telling: as above.
  ///   - replacing: as above.
  public func notifying<Loaded: Sendable, Told>(
    from filter: CollectionFilter, loading: @escaping @Sendable (RowChange) throws -> Loaded?,
    telling: @escaping @Sendable (Loaded, RowKey, Edge, EdgeReason) throws -> Told?,
    replacing: @escaping @Sendable (Told, RowKey, WriteTransaction) throws -> Void
  ) -> Self {
    var copy = self
    copy.settings.notify(filter, loading, telling, replacing)
    return copy
  }

  // MARK: The extension

  /// Rows of every collection may be at the ends of edges.
  public var collections: CollectionFilter { .all }
  public var halves: ChangedHalves { settings.hasDerivers ? .object : [] }
  public var isBuiltFromRows: Bool { settings.hasDerivers }
  /// Edges by hand, and the list of files that are still to be deleted.
  public var keepsOwnContent: Bool { true }

  public func makeReader(_ store: ExtensionStore) throws -> ReadableGraph { try ReadableGraph(try EdgeTrees(store)) }

  public func makeWriter(_ store: ExtensionStore) throws -> RelationshipWriter {
    try RelationshipWriter(store, settings) { [name] database in FileDeletion<Object>(database, name).run() }
  }

  public func didRegister(in database: Database) throws { FileDeletion<Object>(database, name).run() }
}

extension Relationship where Object: EdgeSource {
  /// A relationship of edges that objects derive, which say so themselves.
  public init<Metadata>(_ name: String, over collection: RowCollection<Object, Metadata>, version: String = "") {
    self.init(name, over: collection, version: version) { try $0.edges() }
  }
}

extension Relationship where Object == Never {
  /// A relationship whose edges are made by hand, or derived by objects that `deriving` names; `version` is for these.
  public init(_ name: String, version: String = "") { self.init(name, version) }
}

extension Relationship {
  /// The same relationship with edges of the objects of another collection, which say so themselves.
  public func deriving<Other: EdgeSource, Metadata>(over collection: RowCollection<Other, Metadata>) -> Self {
    deriving(over: collection) { try $0.edges() }
  }

  /// The same relationship with rows of a collection whose objects are told when an edge of theirs has gone.
  public func notifying<Other: EdgeObserver, Metadata>(_ collection: RowCollection<Other, Metadata>) -> Self {
    notifying(collection) { try $0.changed(by: $1, $2) }
  }
}

extension ReadTransaction {
  /// The edges of a relationship as of this snapshot.
  ///
  /// - Throws: as `access(to:)`: `extensionNotRegistered`, `extensionNotReady`, `extensionMismatch`, and others.
  public func relationship<Object>(_ relationship: Relationship<Object>) throws -> ReadableGraph {
    try access(to: relationship)
  }
}

extension WriteTransaction {
  /// The edges of a relationship in this transaction, its changes so far included.
  ///
  /// - Throws: as `access(to:)`: `extensionNotRegistered`, `extensionNotReady`, `extensionMismatch`, and others.
  public func relationship<Object>(_ relationship: Relationship<Object>) throws -> WritableGraph {
    WritableGraph(try access(to: relationship))
  }
}
