// Views under their original names.

internal import Quire

/// Settings of views. A view takes a copy of them: what is set later is for others.
public final class YapDatabaseViewOptions: Sendable {
  private struct Values: Equatable {
    var isPersistent = true
    var allowedCollections: YapWhitelistBlacklist<String>?
    var skipInitialViewPopulation = false
  }

  private let values: Guarded<Values>

  /// Whether the view is stored; if not, it is built at each opening. New call: `isPersistent` of the view.
  public var isPersistent: Bool {
    get { values.withLock { $0.isPersistent } }
    set { values.withLock { $0.isPersistent = newValue } }
  }

  /// The collections whose rows it shows, those to come as well; nil for all. Rows of collections for which nothing is
  /// registered that reads objects are left out. Of a filtered view: these of the parent's. New call: `over:` of the
  /// view, and `collections:` of a filtered one.
  public var allowedCollections: YapWhitelistBlacklist<String>? {
    get { values.withLock { $0.allowedCollections } }
    set { values.withLock { $0.allowedCollections = newValue } }
  }

  /// Whether rows that are there when the view is registered for the first time are left out; has no meaning for a list
  /// that the app orders. New call: `takesExistingRows:` of the view.
  public var skipInitialViewPopulation: Bool {
    get { values.withLock { $0.skipInitialViewPopulation } }
    set { values.withLock { $0.skipInitialViewPopulation = newValue } }
  }

  /// The original's defaults. New call: none.
  public init() { values = Guarded(Values()) }

  /// A copy of the settings, which later changes of the original do not reach.
  init(copying other: YapDatabaseViewOptions?) { values = Guarded(other?.values.withLock { $0 } ?? Values()) }

  /// Whether these say what others say; blocks that choose collections are never the same.
  func isSame(as other: YapDatabaseViewOptions) -> Bool { values.withLock { $0 } == other.values.withLock { $0 } }

  /// The collections.
  var family: CollectionFamily<Untyped, Untyped> {
    CollectionFamily(allowedCollections?.filter ?? .all) { .undecoded($0) }
  }
}

/// A view of any kind. New type: `ViewExtension`.
public class YapDatabaseView: YapDatabaseExtension, @unchecked Sendable {
  // Sendable: safe because everything is a constant but adapter and version, which are guarded.
  /// The settings.
  public let options: YapDatabaseViewOptions
  private let tag: Guarded<String?>
  private let describedTag: String?
  /// The line that has made it.
  private let site: CallSite
  private let made = Guarded<(any AnyViewAdapter)?>(nil)

  init(_ versionTag: String?, _ options: YapDatabaseViewOptions?, at site: CallSite) {
    self.site = site
    tag = Guarded(versionTag)
    describedTag = versionTag
    self.options = YapDatabaseViewOptions(copying: options)
  }

  /// The version that it has as of the newest commit.
  public var versionTag: String? { tag.withLock { $0 } }

  override func isSame(as first: YapDatabaseExtension) -> Bool {
    guard type(of: first) == type(of: self), let first = first as? YapDatabaseView else { return false }
    // The versions of what was described, whatever a transaction has made of the first one since.
    return first.describedTag == describedTag && first.site.description == site.description
      && first.options.isSame(as: options)
  }

  /// A transaction has committed that gave it another version.
  func setVersionTag(_ newTag: String?) { tag.withLock { $0 = newTag } }

  /// The view of the new API; nil before it is registered.
  var adapter: (any AnyViewAdapter)? { made.withLock { $0 } }

  func makeAdapter(_ name: String, _ database: YapDatabase) throws -> any AnyViewAdapter {
    throw Self.unsupported(name)
  }

  override func makeExtension(named name: String, in database: YapDatabase) throws -> any DatabaseExtension {
    let adapter = try makeAdapter(name, database)
    made.withLock { $0 = adapter }
    return adapter.value
  }

  override func makeTransaction(_ transaction: YapDatabaseReadTransaction) throws -> YapDatabaseExtensionTransaction {
    try YapDatabaseViewTransaction(self, transaction)
  }

  override func makeConnection(_ connection: YapDatabaseConnection) -> YapDatabaseExtensionConnection? {
    registeredName.map { YapDatabaseViewConnection(connection, self, $0) }
  }
}

/// A view that groups and sorts rows by itself. New type: `AutoView`.
public final class YapDatabaseAutoView: YapDatabaseView, @unchecked Sendable {
  // Sendable: safe because both blocks are constants.
  private let grouping: YapDatabaseViewGrouping
  private let sorting: YapDatabaseViewSorting

  /// Describes a view; another version has it built anew. New call: `AutoView(_:over:version:grouping:sorting:)`.
  public init(
    grouping: YapDatabaseViewGrouping, sorting: YapDatabaseViewSorting, versionTag: String? = nil,
    options: YapDatabaseViewOptions? = nil, fileID: StaticString = #fileID, line: UInt = #line
  ) {
    self.grouping = grouping
    self.sorting = sorting
    super.init(versionTag, options, at: CallSite(fileID: fileID, line: line))
  }

  override func makeAdapter(_ name: String, _ database: YapDatabase) throws -> any AnyViewAdapter {
    ViewAdapter(
      view: AutoView(
        name, over: options.family, version: versionTag ?? "",
        isPersistent: options.isPersistent, takesExistingRows: !options.skipInitialViewPopulation,
        grouping: grouping.made(database), sorting: sorting.made(database)))
  }

  override func makeTransaction(_ transaction: YapDatabaseReadTransaction) throws -> YapDatabaseExtensionTransaction {
    try YapDatabaseAutoViewTransaction(self, transaction)
  }
}

/// A list that the app orders. New type: `ManualView`.
public final class YapDatabaseManualView: YapDatabaseView, @unchecked Sendable {
  // Sendable: safe because it has nothing of its own.
  /// Describes a list; another version empties it. New call: `ManualView(_:over:version:isPersistent:)`.
  public init(
    versionTag: String? = nil, options: YapDatabaseViewOptions? = nil, fileID: StaticString = #fileID,
    line: UInt = #line
  ) {
    super.init(versionTag, options, at: CallSite(fileID: fileID, line: line))
  }

  override func makeAdapter(_ name: String, _ database: YapDatabase) throws -> any AnyViewAdapter {
    ViewAdapter(
      view: ManualView(
        name, over: options.family, version: versionTag ?? "",
        isPersistent: options.isPersistent))
  }

  override func makeTransaction(_ transaction: YapDatabaseReadTransaction) throws -> YapDatabaseExtensionTransaction {
    try YapDatabaseManualViewTransaction(self, transaction)
  }
}

/// A view of some of another view's rows. New type: `FilteredView`.
public final class YapDatabaseFilteredView: YapDatabaseView, @unchecked Sendable {
  // Sendable: safe because name and block are constants.
  /// The name of the view whose rows it shows.
  public let parentViewName: String
  private let filtering: YapDatabaseViewFiltering

  /// Describes a view; another version has it built anew. The parent must be registered before. New call:
  /// `FilteredView(_:of:version:filter:)`.
  public init(
    parentViewName: String, filtering: YapDatabaseViewFiltering, versionTag: String? = nil,
    options: YapDatabaseViewOptions? = nil, fileID: StaticString = #fileID, line: UInt = #line
  ) {
    self.parentViewName = parentViewName
    self.filtering = filtering
    super.init(versionTag, options, at: CallSite(fileID: fileID, line: line))
  }

  override func isSame(as first: YapDatabaseExtension) -> Bool {
    guard let parent = (first as? YapDatabaseFilteredView)?.parentViewName else { return false }
    return super.isSame(as: first) && parent.utf8.elementsEqual(parentViewName.utf8)
  }

  override func makeAdapter(_ name: String, _ database: YapDatabase) throws -> any AnyViewAdapter {
    guard let parent = (database.extensions[parentViewName] as? YapDatabaseView)?.adapter else {
      throw DatabaseError(
        .missingDependency,
        "The view “\(parentViewName)”, which “\(name)” filters, is not registered. Register it before.",
        path: database.quire.path)
    }
    return parent.filtered(name, version: versionTag ?? "", options: options, filtering.made(database))
  }

  override func makeTransaction(_ transaction: YapDatabaseReadTransaction) throws -> YapDatabaseExtensionTransaction {
    try YapDatabaseFilteredViewTransaction(self, transaction)
  }
}
