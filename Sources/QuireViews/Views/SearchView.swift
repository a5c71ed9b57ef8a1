// Views of what a search finds.

public import QuireDatabase

/// The rows that a selection finds, grouped and in order, and kept so by every commit: a search field's list.
///
/// ```swift
/// let found = SearchView("songs.found", of: byAlbum)
/// try db.register(found)
/// try db.write { tx in try tx.access(to: found).search(RowCollection.songs.query { $0.title.hasPrefix("The") }) }
/// ```
///
/// What is searched for is any `RowSelection`: words, a query, edges. The view is empty until the first search. A
/// search changes it by the fewest steps, and from then on rows come and go as the selection says of them, in the
/// transaction that changes them. Where one row alone decides, the changed ones are asked about; a selection that
/// depends on other rows is searched for again with every commit.
///
/// There are three forms: rows of another view, in that view's groups and order; groups and an order of its own; and
/// the best rows by score. What a selection finds beside these rows is left out.
///
/// By default it is in memory, and begins empty at each opening. One that is stored goes on with what was searched for
/// if the selection has a `storedForm` and the view can make it again, and is emptied otherwise.
///
/// The guide is <doc:Searching>.
public struct SearchView<Object: Sendable, Metadata: Sendable>: ViewExtension {
  public static var kind: String { "quire.searchView" }

  /// Makes a selection of its `storedForm`; nil if it cannot.
  public typealias Restoring = @Sendable (_ storedForm: String) -> (any RowSelection)?

  public let name: String
  public let version: String
  public let isPersistent: Bool
  public let dependencies: [String]
  public let collections: CollectionFilter
  public var isBuiltFromRows: Bool { false }
  /// The search tells again what is shown.
  public var keepsOwnContent: Bool { false }
  let family: CollectionFamily<Object, Metadata>
  let form: SearchForm<Object, Metadata>
  let restoring: Restoring?
  /// What is searched for since this was registered in its place.
  private(set) var selection: (any RowSelection)?

  /// Describes a view of those rows of another view that are found, in its groups and order.
  ///
  /// - Parameters:
  ///   - name: what it is registered under.
  ///   - parent: the view whose rows it shows, which must be registered before.
  ///   - allowedGroups: the groups of the parent whose rows it shows; all for nil.
  ///   - version: of what is not found out by itself, like the groups; another one has what was searched for searched
  ///     again.
  ///   - isPersistent: whether it is stored.
  ///   - readExtensions: the names of other extensions that its selections read, like indexes: they must be registered
  ///     before, and when one of them is built anew, so is this.
  ///   - restoring: makes selections of what is stored of them.
  public init<Parent: CollectionShowing<Object, Metadata>>(
    _ name: String, of parent: Parent, allowedGroups: [String]? = nil, version: String = "",
    isPersistent: Bool = false, reading readExtensions: [String] = [], restoring: Restoring? = nil
  ) where Parent.Writer: ViewOwner {
    let groups = allowedGroups.map { Set($0.map { ByteString($0) }) }
    self.init(
      name, parent.shownCollections, .rows(of: ParentView(parent), groups), version: version,
      isPersistent: isPersistent, dependencies: [parent.name] + readExtensions, restoring)
  }

  /// Describes a view that groups and sorts what is found, as an `AutoView` does.
  ///
  /// - Parameters:
  ///   - name: what it is registered under.
  ///   - family: the collections whose rows it shows.
  ///   - version: of grouping and sorting.
  ///   - isPersistent: whether it is stored.
  ///   - readExtensions: the extensions that its selections read, which are registered before.
  ///   - grouping: which of the rows that are found are shown, and in which groups.
  ///   - sorting: the order within a group.
  ///   - restoring: makes selections of what is stored of them.
  public init(
    _ name: String, over family: CollectionFamily<Object, Metadata>, version: String = "", isPersistent: Bool = false,
    reading readExtensions: [String] = [], grouping: ViewGrouping<Object, Metadata>,
    sorting: ViewSorting<Object, Metadata>, restoring: Restoring? = nil
  ) {
    self.init(
      name, family, .grouped(grouping, sorting), version: version, isPersistent: isPersistent,
      dependencies: readExtensions, restoring)
  }

  /// Describes a view that groups and sorts what is found in some collections. Parameters as above.
  public init(
    _ name: String, over collections: [RowCollection<Object, Metadata>], version: String = "",
    isPersistent: Bool = false, reading readExtensions: [String] = [], grouping: ViewGrouping<Object, Metadata>,
    sorting: ViewSorting<Object, Metadata>, restoring: Restoring? = nil
  ) {
    self.init(
      name, over: CollectionFamily(collections), version: version, isPersistent: isPersistent, reading: readExtensions,
      grouping: grouping, sorting: sorting, restoring: restoring)
  }

  /// Describes a view that groups and sorts what is found in one collection. Parameters as above.
  public init(
    _ name: String, over collection: RowCollection<Object, Metadata>, version: String = "",
    isPersistent: Bool = false, reading readExtensions: [String] = [], grouping: ViewGrouping<Object, Metadata>,
    sorting: ViewSorting<Object, Metadata>, restoring: Restoring? = nil
  ) {
    self.init(
      name, over: [collection], version: version, isPersistent: isPersistent, reading: readExtensions,
      grouping: grouping, sorting: sorting, restoring: restoring)
  }

  /// Describes a view of the best rows of what is found, the best one first, in one group. In memory. Every commit that
  /// changes anything searches again, as it may change all scores.
  ///
  /// - Parameters:
  ///   - name: what it is registered under.
  ///   - collections: whose rows it shows.
  ///   - limit: how many rows it has at the most.
  ///   - group: what the group is called.
  ///   - readExtensions: the extensions that the search reads, which are registered before.
  public init(
    _ name: String, over collections: [RowCollection<Object, Metadata>], bestRows limit: Int, in group: String = "",
    reading readExtensions: [String] = []
  ) {
    self.init(
      name, CollectionFamily(collections), .best(limit: max(0, limit), group: group), version: "",
      isPersistent: false, dependencies: readExtensions, nil)
  }

  /// Describes a view of the best rows of what is found in one collection. Parameters as above.
  public init(
    _ name: String, over collection: RowCollection<Object, Metadata>, bestRows limit: Int, in group: String = "",
    reading readExtensions: [String] = []
  ) {
    self.init(name, over: [collection], bestRows: limit, in: group, reading: readExtensions)
  }

  private init(
    _ name: String, _ family: CollectionFamily<Object, Metadata>, _ form: SearchForm<Object, Metadata>,
    version: String, isPersistent: Bool, dependencies: [String], _ restoring: Restoring?
  ) {
    self.name = name
    self.family = family
    self.form = form
    self.version = version
    self.isPersistent = isPersistent
    self.dependencies = dependencies
    self.restoring = restoring
    collections = family.filter
  }

  /// The same view with something to search for.
  func with(_ selection: (any RowSelection)?) -> Self {
    var copy = self
    copy.selection = selection
    return copy
  }

  public func makeReader(_ store: ExtensionStore) throws -> ViewReader<Object, Metadata> {
    try ViewReader(store, family)
  }

  public func makeWriter(_ store: ExtensionStore) throws -> SearchViewWriter<Object, Metadata> {
    try SearchViewWriter(self, store)
  }

  /// Empties a view that was stored with a search which cannot be made again.
  public func didRegister(in database: Database) throws {
    guard isPersistent else { return }
    let isLost = try database.read { tx throws in
      guard let search = try tx.view(self).shownSearch else { return false }
      return search.storedForm.flatMap { restoring?($0) } == nil
    }
    guard isLost else { return }
    do { try database.write { tx throws in try tx.access(to: self).settle() } } catch let error as DatabaseError {
      // It shows what it showed, as all views of a database that nobody can write.
      guard error.code == .readOnly else { throw error }
    }
  }
}

extension SearchView: CollectionShowing {
  public var shownCollections: CollectionFamily<Object, Metadata> { family }
}

/// How a search view gets groups and order.
enum SearchForm<Object: Sendable, Metadata: Sendable>: Sendable {
  /// From another view; from some groups of it, if they are given.
  case rows(of: ParentView, Set<ByteString>?)
  /// From closures.
  case grouped(ViewGrouping<Object, Metadata>, ViewSorting<Object, Metadata>)
  /// From scores.
  case best(limit: Int, group: String)
}

/// Another view, whatever its type.
struct ParentView: Sendable {
  /// Its part of a write transaction.
  let storage: @Sendable (ExtensionStore) throws -> ViewStorage
  /// Has it show what it is to show after the changes so far, if it waits with that.
  let settle: @Sendable (ExtensionStore) throws -> Void

  init<Parent: ViewExtension>(_ parent: Parent) where Parent.Writer: ViewOwner {
    let name = parent.name
    storage = { store in try store.writer(of: name, as: Parent.self).followed.storage }
    settle = { store in try (store.writer(of: name, as: Parent.self) as? any SettlingView)?.settle() }
  }
}

/// A view in a write transaction that waits with some of its changes until it is read or the transaction ends.
protocol SettlingView {
  /// Brings the view up to date.
  func settle() throws
}
