// Views that group and sort rows by themselves.

public import QuireDatabase

/// A persistent, grouped and sorted list of rows that maintains itself inside every transaction.
///
/// ```swift
/// let byAlbum = AutoView(
///   "songs.byAlbum", over: .songs, version: "1", group: \.albumID, sortKey: \.title)
/// try db.register(byAlbum)
/// try db.read { tx in
///   let view = try tx.view(byAlbum)
///   print(view.groups, view.count(in: "a1"))
/// }
/// ```
///
/// Change the version when a closure's result changes: everything is grouped and sorted anew then.
///
/// The guide is <doc:Views>.
public struct AutoView<Object: Sendable, Metadata: Sendable>: ViewExtension {
  public static var kind: String { "quire.autoView" }

  public let name: String
  public let version: String
  public let isPersistent: Bool
  public let collections: CollectionFilter
  public let halves: ChangedHalves
  /// Whether rows that are there when the view is registered for the first time are taken in.
  public let isBuiltFromRows: Bool
  let family: CollectionFamily<Object, Metadata>
  let grouping: ViewGrouping<Object, Metadata>
  let sorting: ViewSorting<Object, Metadata>

  /// Describes a view.
  ///
  /// - Parameters:
  ///   - name: what it is registered under.
  ///   - collections: whose rows it shows.
  ///   - version: of grouping and sorting; another one has the view built anew.
  ///   - isPersistent: whether it is stored; if not, it is built at each opening.
  ///   - takesExistingRows: whether it shows rows that were there before it was registered for the first time. If not,
  ///     building it anew, for another version, too, asks about the rows that it has, and takes in no others. Over
  ///     fewer collections it loses the rows of those that are left out, and does not get them back with these.
  ///   - grouping: which rows are shown, and in which groups.
  ///   - sorting: the order within a group.
  public init(
    _ name: String, over collections: [RowCollection<Object, Metadata>], version: String = "",
    isPersistent: Bool = true, takesExistingRows: Bool = true, grouping: ViewGrouping<Object, Metadata>,
    sorting: ViewSorting<Object, Metadata>
  ) {
    self.init(
      name, over: CollectionFamily(collections), version: version, isPersistent: isPersistent,
      takesExistingRows: takesExistingRows, grouping: grouping, sorting: sorting)
  }

  /// Describes a view over one collection. Parameters as above.
  public init(
    _ name: String, over collection: RowCollection<Object, Metadata>, version: String = "",
    isPersistent: Bool = true, takesExistingRows: Bool = true, grouping: ViewGrouping<Object, Metadata>,
    sorting: ViewSorting<Object, Metadata>
  ) {
    self.init(
      name, over: [collection], version: version, isPersistent: isPersistent, takesExistingRows: takesExistingRows,
      grouping: grouping, sorting: sorting)
  }

  /// Describes a view over all collections of a family, those to come as well. Parameters as above.
  public init(
    _ name: String, over family: CollectionFamily<Object, Metadata>, version: String = "",
    isPersistent: Bool = true, takesExistingRows: Bool = true, grouping: ViewGrouping<Object, Metadata>,
    sorting: ViewSorting<Object, Metadata>
  ) {
    self.name = name
    self.version = version
    self.isPersistent = isPersistent
    self.isBuiltFromRows = takesExistingRows
    self.grouping = grouping
    self.sorting = sorting
    self.family = family
    collections = family.filter
    // A view tells of every change of its rows, also of those that leave them where they are.
    halves = [.object, .metadata]
  }

  /// Describes a view over one collection that groups and compares by the object.
  public init(
    _ name: String, over collection: RowCollection<Object, Metadata>, version: String = "",
    group: @escaping @Sendable (Object) throws -> String?, sort: @escaping @Sendable (Object, Object) throws -> Bool
  ) {
    self.init(name, over: [collection], version: version, grouping: .byObject(group), sorting: .byObject(sort))
  }

  /// Describes a view over one collection that groups by the object and sorts by a key made of it.
  public init<Key: SortKey>(
    _ name: String, over collection: RowCollection<Object, Metadata>, version: String = "",
    group: @escaping @Sendable (Object) throws -> String?, sortKey: @escaping @Sendable (Object) throws -> Key
  ) {
    self.init(name, over: [collection], version: version, grouping: .byObject(group), sorting: .byObject(key: sortKey))
  }

  public func makeReader(_ store: ExtensionStore) throws -> ViewReader<Object, Metadata> {
    try ViewReader(store, family)
  }

  public func makeWriter(_ store: ExtensionStore) throws -> AutoViewWriter<Object, Metadata> {
    try AutoViewWriter(self, store)
  }

  public func didRegister(in database: Database) throws { warnOfDifferences(in: database) }
}

/// What all views have in common: what they show of rows of one kind.
public protocol ViewExtension<Object, Metadata>: DatabaseExtension
where Reader == ViewReader<Object, Metadata>, Writer: ViewWriting<Object, Metadata> {
  /// The type of the rows' objects.
  associatedtype Object: Sendable
  /// The type of their metadata.
  associatedtype Metadata: Sendable
}

/// A view in a write transaction.
public protocol ViewWriting<Object, Metadata>: ExtensionWriter where Changes == ViewChanges {
  /// The type of the rows' objects.
  associatedtype Object: Sendable
  /// The type of their metadata.
  associatedtype Metadata: Sendable
  /// What the view shows now, the transaction's changes included.
  var reader: ViewReader<Object, Metadata> { get }
}

/// What a commit has done to a view, step by step.
public struct ViewChanges: ExtensionChanges, Hashable {
  /// The steps, in their order.
  public let operations: [ViewOperation]

  public var byteCount: Int {
    // Short texts stand in the step itself; those of longer keys are blocks of their own.
    operations.reduce(operations.capacity * MemoryLayout<ViewOperation>.stride) { sum, operation in
      let length = operation.key?.key.utf8.count ?? 0
      return length > 15 ? sum + length + 32 : sum
    }
  }
}
