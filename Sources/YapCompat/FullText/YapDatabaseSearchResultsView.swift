// Views of what a search finds, under their original names.

internal import Quire

/// Settings of views of what a search finds. A view takes a copy of them.
public final class YapDatabaseSearchResultsViewOptions: Sendable {
  fileprivate struct Values {
    var isPersistent = false
    var allowedCollections: YapWhitelistBlacklist<String>?
    var allowedGroups: YapWhitelistBlacklist<String>?
    var snippetOptions: YapDatabaseFullTextSearchSnippetOptions?
  }

  fileprivate let values: Guarded<Values>

  /// Whether the view is stored, with what was searched for; if not, it begins empty at each opening. New call:
  /// `isPersistent` of the view.
  public var isPersistent: Bool {
    get { values.withLock { $0.isPersistent } }
    set { values.withLock { $0.isPersistent = newValue } }
  }

  /// The collections whose rows it shows; nil for all. Has no meaning for rows of another view. New call: `over:` of
  /// the view.
  public var allowedCollections: YapWhitelistBlacklist<String>? {
    get { values.withLock { $0.allowedCollections } }
    set { values.withLock { $0.allowedCollections = newValue } }
  }

  /// The groups of the parent whose rows it shows, as a whitelist; nil for all. New call: `allowedGroups:` of the view.
  public var allowedGroups: YapWhitelistBlacklist<String>? {
    get { values.withLock { $0.allowedGroups } }
    set { values.withLock { $0.allowedGroups = newValue } }
  }

  /// How snippets look; nil for none. New call: `SearchHit.snippet(of:tokens:)`.
  public var snippetOptions: YapDatabaseFullTextSearchSnippetOptions? {
    get { values.withLock { $0.snippetOptions } }
    set { values.withLock { $0.snippetOptions = newValue } }
  }

  /// The original's defaults. New call: none.
  public init() { values = Guarded(Values()) }

  /// A copy of how snippets look, which later changes do not reach.
  fileprivate var snippetsCopy: YapDatabaseFullTextSearchSnippetOptions? {
    snippetOptions.map { YapDatabaseFullTextSearchSnippetOptions(copying: $0) }
  }

  /// Those that views of all kinds have.
  fileprivate var common: YapDatabaseViewOptions {
    let options = YapDatabaseViewOptions()
    options.isPersistent = isPersistent
    options.allowedCollections = allowedCollections
    return options
  }
}

/// The rows that a search finds, of another view or with an order of their own. New type: `SearchView`.
public final class YapDatabaseSearchResultsView: YapDatabaseView, @unchecked Sendable {
  // Sendable: safe because all are constants.
  private enum Form {
    case rows(of: String)
    case grouped(YapDatabaseViewGrouping, YapDatabaseViewSorting)
  }

  /// The name of the full text that is searched.
  public let fullTextSearchName: String
  private let form: Form
  private let allowedGroups: YapWhitelistBlacklist<String>?
  let snippetOptions: YapDatabaseFullTextSearchSnippetOptions?

  /// Describes a view of those rows of another view that are found, in its groups and order. Both the full text and the
  /// parent must be registered before. New call: `SearchView(_:of:allowedGroups:version:)`.
  public init(
    fullTextSearchName: String, parentViewName: String, versionTag: String? = nil,
    options: YapDatabaseSearchResultsViewOptions? = nil, fileID: StaticString = #fileID, line: UInt = #line
  ) {
    self.fullTextSearchName = fullTextSearchName
    form = .rows(of: parentViewName)
    let options = options ?? YapDatabaseSearchResultsViewOptions()
    (allowedGroups, snippetOptions) = (options.allowedGroups, options.snippetsCopy)
    super.init(versionTag, options.common, at: CallSite(fileID: fileID, line: line))
  }

  /// Describes a view that groups and sorts what is found. The full text must be registered before. New call:
  /// `SearchView(_:over:version:grouping:sorting:)`.
  public init(
    fullTextSearchName: String, grouping: YapDatabaseViewGrouping, sorting: YapDatabaseViewSorting,
    versionTag: String? = nil, options: YapDatabaseSearchResultsViewOptions? = nil, fileID: StaticString = #fileID,
    line: UInt = #line
  ) {
    self.fullTextSearchName = fullTextSearchName
    form = .grouped(grouping, sorting)
    let options = options ?? YapDatabaseSearchResultsViewOptions()
    (allowedGroups, snippetOptions) = (options.allowedGroups, options.snippetsCopy)
    super.init(versionTag, options.common, at: CallSite(fileID: fileID, line: line))
  }

  /// The name of the view whose rows it shows, if it shows another view's.
  private var parentViewName: String? {
    guard case .rows(let parent) = form else { return nil }
    return parent
  }

  override func isSame(as first: YapDatabaseExtension) -> Bool {
    guard let first = first as? YapDatabaseSearchResultsView else { return false }
    // The same line may have been given other names, groups and snippets: then it is another view.
    return super.isSame(as: first) && first.fullTextSearchName == fullTextSearchName
      && first.parentViewName == parentViewName && first.allowedGroups == allowedGroups
      && hasSameSnippets(as: first)
  }

  private func hasSameSnippets(as first: YapDatabaseSearchResultsView) -> Bool {
    guard let snippetOptions, let others = first.snippetOptions else {
      return snippetOptions == nil && first.snippetOptions == nil
    }
    return others.isSame(as: snippetOptions)
  }

  /// The full text that is searched.
  func fullText(_ database: YapDatabase) throws -> FamilyText {
    guard let value = (database.extensions[fullTextSearchName] as? YapDatabaseFullTextSearch)?.value else {
      throw DatabaseError(
        .missingDependency, "The full text “\(fullTextSearchName)” is not registered. Register it before.",
        path: database.quire.path)
    }
    return value
  }

  override func makeAdapter(_ name: String, _ database: YapDatabase) throws -> any AnyViewAdapter {
    let fullText = try fullText(database)
    let restoring: SearchView<Untyped, Untyped>.Restoring = { TextSelection(fullText: fullText, query: $0) }
    switch form {
    case .rows(let parentViewName):
      guard let parent = (database.extensions[parentViewName] as? YapDatabaseView)?.adapter else {
        throw DatabaseError(
          .missingDependency, "The view “\(parentViewName)” is not registered. Register it before “\(name)”.",
          path: database.quire.path)
      }
      if let allowedGroups, allowedGroups.whitelist == nil {
        throw DatabaseError(
          .invalidOption, "The groups of the view “\(name)” are no whitelist. Name the groups whose rows it shows.")
      }
      return parent.searched(
        name, version: versionTag ?? "", isPersistent: options.isPersistent,
        groups: allowedGroups?.whitelist?.sorted(), reading: fullTextSearchName, restoring)
    case .grouped(let grouping, let sorting):
      let view = SearchView(
        name, over: options.family, version: versionTag ?? "", isPersistent: options.isPersistent,
        reading: [fullTextSearchName], grouping: grouping.made(database), sorting: sorting.made(database),
        restoring: restoring)
      return ViewAdapter(view: view)
    }
  }

  override func makeTransaction(_ transaction: YapDatabaseReadTransaction) throws -> YapDatabaseExtensionTransaction {
    try YapDatabaseSearchResultsViewTransaction(self, transaction)
  }
}

/// A view of what a search finds, in one transaction. New type: `SearchViewWriter`, in write transactions.
public final class YapDatabaseSearchResultsViewTransaction: YapDatabaseViewTransaction {
  private func searched() throws -> (
    view: SearchView<Untyped, Untyped>, fullText: FamilyText, YapDatabaseSearchResultsView
  ) {
    guard let adapter = view.adapter?.value as? SearchView<Untyped, Untyped>,
      let view = view as? YapDatabaseSearchResultsView
    else { throw view.notRegistered() }
    return (adapter, try view.fullText(transaction.database), view)
  }

  private func selection(_ query: String, _ fullText: FamilyText) throws -> TextSelection {
    _ = try SearchExpression(query, fields: fullText.fieldNames)
    return TextSelection(fullText: fullText, query: query)
  }

  /// Runs a search; what is wrong with its text goes to the log, and nothing changes.
  private func search(_ body: () throws -> Void) {
    attempt(()) {
      do { try body() } catch let error as SearchSyntaxError {
        YapDatabase.log(.error, "The view “\(name)” cannot search. \(error)")
      }
    }
  }

  /// Shows what a search finds, from now on; the text is written as SQLite's FTS5 has it. Not for read transactions,
  /// which fail. New call: `SearchViewWriter.search(_:)`.
  public func performSearch(for query: String) {
    search {
      let (view, fullText, _) = try searched()
      try writing().access(to: view).search(try selection(query, fullText))
    }
  }

  /// Shows what the newest search of a queue finds, and forgets the others; nothing happens if none waits. New call:
  /// `SearchViewWriter.search(from:)`.
  public func performSearch(with queue: YapDatabaseSearchQueue) {
    search {
      let (view, fullText, _) = try searched()
      let writer = try writing().access(to: view)
      try queue.searchNewest({ try selection($0, fullText) }, { _ = try writer.search(from: $0) })
    }
  }

  /// What is searched for; nil if nothing is. New call: `ViewReader.shownSearch`.
  public func query() -> String? { attempt(nil) { try reader.shownSearch?.storedForm } }

  /// The snippet of a row that is shown; nil if it is not, or if the view has no options for snippets. New call:
  /// `SearchHit.snippet(of:tokens:)`.
  public func snippet(forKey key: String, inCollection collection: String?) -> String? {
    attempt(nil) {
      let row = RowKey(collection ?? "", key)
      let (_, fullText, view) = try searched()
      guard let options = view.snippetOptions, let query = try reader.shownSearch?.storedForm,
        try reader.position(of: row) != nil
      else { return nil }
      let expression = try SearchExpression(query, fields: fullText.fieldNames)
      switch transaction.access {
      case .reading(let tx):
        return try tx.rowID(of: row).map { try options.snippet(tx.access(to: fullText), expression, $0) }
      case .writing(let tx):
        return try tx.rowID(of: row).map { try options.snippet(tx.access(to: fullText).reader, expression, $0) }
      }
    }
  }
}
