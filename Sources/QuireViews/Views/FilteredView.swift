// Views of some of another view's rows.

public import QuireDatabase

/// Which rows of the parent a filtered view shows, and what of a row that depends on.
public struct ViewFilter<Object: Sendable, Metadata: Sendable>: Sendable {
  let halves: ChangedHalves
  /// What of a row tells whether it is shown; nil if only `isIncluded` does.
  let told: ToldFilter<Object>?
  let isIncluded: @Sendable (String, ViewRow<Object, Metadata>) throws -> Bool

  init(
    halves: ChangedHalves, told: ToldFilter<Object>? = nil,
    _ isIncluded: @escaping @Sendable (String, ViewRow<Object, Metadata>) throws -> Bool
  ) {
    (self.halves, self.told, self.isIncluded) = (halves, told, isIncluded)
  }

  /// By the key alone.
  public static func byKey(_ isIncluded: @escaping @Sendable (String) throws -> Bool) -> Self {
    Self(halves: []) { _, row in try isIncluded(row.key) }
  }

  /// By the object. Asked again when the object is stored or touched.
  public static func byObject(_ isIncluded: @escaping @Sendable (Object) throws -> Bool) -> Self {
    Self(halves: .object) { _, row in try isIncluded(row.object) }
  }

  /// By the metadata. Asked again when the metadata are stored or touched.
  public static func byMetadata(_ isIncluded: @escaping @Sendable (Metadata?) throws -> Bool) -> Self {
    Self(halves: .metadata) { _, row in try isIncluded(row.metadata) }
  }

  /// By group and row. Asked again when one of `halves` is stored or touched.
  public static func byRow(
    _ halves: ChangedHalves = [.object, .metadata],
    _ isIncluded: @escaping @Sendable (_ group: String, ViewRow<Object, Metadata>) throws -> Bool
  ) -> Self {
    Self(halves: halves, isIncluded)
  }
}

/// The rows of another view that a filter lets through, in that view's groups and order.
///
/// Takes the parent's order over as it is, so that storing a row costs O(log n) however few rows pass. The parent may
/// be any view, a filtered one too; it must be registered before, and when it goes, this one goes with it.
///
/// With `takesExistingRows: false` it begins empty. A row comes in, if it passes, when the parent takes it into a
/// group, when what the filter depends on is stored or touched, and when `setFilter` looks at all rows. Built anew,
/// for another version, too, and after a parent that was built anew, it keeps of its rows those that the parent shows
/// and that pass.
///
/// The guide is <doc:Views>.
public struct FilteredView<Parent: ViewExtension>: ViewExtension where Parent.Writer: ViewOwner {
  public typealias Object = Parent.Object
  public typealias Metadata = Parent.Metadata

  public static var kind: String { "quire.filteredView" }

  public let name: String
  public private(set) var version: String
  public let isPersistent: Bool
  public let dependencies: [String]
  public let collections: CollectionFilter
  /// Whether rows that the parent shows when the view is registered for the first time are taken in.
  public let isBuiltFromRows: Bool
  let parent: Parent
  private(set) var filter: ViewFilter<Object, Metadata>
  let family: CollectionFamily<Object, Metadata>

  /// Describes a view of `parent`'s rows that pass `filter`. O(c) for c collections of the parent.
  ///
  /// - Parameters:
  ///   - name: what it is registered under.
  ///   - parent: the view whose rows it shows.
  ///   - version: of the filter; another one has the view built anew.
  ///   - isPersistent: whether it is stored; if not, it is built at each opening.
  ///   - collections: whose rows it may show, of those that the parent shows. The filter is not asked about rows of
  ///     others. Other collections than it is stored for have it built anew.
  ///   - takesExistingRows: whether it shows rows that the parent showed before it was registered for the first time.
  ///   - filter: which rows it shows.
  public init(
    _ name: String, of parent: Parent, version: String = "", isPersistent: Bool = true,
    collections: CollectionFilter = .all, takesExistingRows: Bool = true,
    filter: ViewFilter<Parent.Object, Parent.Metadata>
  ) where Parent: CollectionShowing<Parent.Object, Parent.Metadata> {
    self.name = name
    self.version = version
    self.isPersistent = isPersistent
    self.isBuiltFromRows = takesExistingRows
    self.parent = parent
    self.filter = filter
    dependencies = [parent.name]
    // By their names where the parent knows them: a closure could not be asked whether they are the same ones.
    family = parent.shownCollections.limited(to: collections)
    self.collections = family.filter
  }

  /// The same view with another filter.
  func with(_ filter: ViewFilter<Object, Metadata>, version: String) -> Self {
    var copy = self
    (copy.filter, copy.version) = (filter, version)
    return copy
  }

  public func makeReader(_ store: ExtensionStore) throws -> ViewReader<Object, Metadata> {
    try ViewReader(store, family)
  }

  public func makeWriter(_ store: ExtensionStore) throws -> FilteredViewWriter<Parent> {
    try FilteredViewWriter(self, store)
  }

  public func didRegister(in database: Database) throws { warnOfDifferences(in: database) }
}

/// A view that can tell which collections it shows.
public protocol CollectionShowing<Object, Metadata>: ViewExtension {
  /// The collections whose rows it shows.
  var shownCollections: CollectionFamily<Object, Metadata> { get }
}

extension AutoView: CollectionShowing {
  public var shownCollections: CollectionFamily<Object, Metadata> { family }
}

extension ManualView: CollectionShowing {
  public var shownCollections: CollectionFamily<Object, Metadata> { family }
}

extension FilteredView: CollectionShowing {
  public var shownCollections: CollectionFamily<Object, Metadata> { family }
}

/// A view in a write transaction that others can follow: those of this module.
public protocol ViewOwner: AnyObject {
  /// What others follow.
  var followed: FollowedView { get }
}

extension ViewOwner {
  /// Tells those who follow the view that a row looks otherwise, and writes nothing: no closure is asked, no other view
  /// and no other follower of the row hears of it. O(log n) for each group that has the row.
  ///
  /// - Returns: whether the row is in the view.
  /// - Throws: `transactionClosed`, `damagedPage`, `damagedRow`, `inputOutput`.
  @discardableResult
  public func touch(_ row: RowKey, _ aspects: ViewAspects = [.object, .metadata]) throws -> Bool {
    let storage = followed.storage
    guard let rowID = try storage.store.readTransaction.rowID(of: row) else { return false }
    let entries = try storage.trees.entries(of: rowID)
    for entry in entries {
      guard let group = entry.group else { throw storage.trees.damaged() }
      try storage.update(row, try storage.trees.name(of: group), entry, aspects)
    }
    return !entries.isEmpty
  }
}

/// The part of a view that filtered views of it follow.
public struct FollowedView {
  let storage: ViewStorage
}

extension AutoViewWriter: ViewOwner {
  public var followed: FollowedView { FollowedView(storage: storage) }
}

extension ManualViewWriter: ViewOwner {
  public var followed: FollowedView { FollowedView(storage: storage) }
}

extension FilteredViewWriter: ViewOwner {
  public var followed: FollowedView { FollowedView(storage: storage) }
}
