// A SearchView in a write transaction.

public import QuireDatabase

/// Follows the rows of a transaction for a `SearchView`, and searches.
///
/// Changed rows are asked about together, when the view is read or the transaction ends: what the selection reads is up
/// to date then. Rows that are removed go at once.
///
/// Invariant: what is shown is what the search has found, but for the rows in `state.changed`.
public final class SearchViewWriter<Object: Sendable, Metadata: Sendable>: ViewWriting, SettlingView {
  public let store: ExtensionStore
  let storage: ViewStorage
  private let view: SearchView<Object, Metadata>
  private let shown: ViewReader<Object, Metadata>
  private let state: SearchState
  private let placement: any SearchPlacement
  /// The transaction's changes when all rows were asked about last.
  private var seenChangeCount: Int
  /// Whether rows are shown of a search that nobody knows any more.
  private var isLost = false
  private var isSettling = false

  init(_ view: SearchView<Object, Metadata>, _ store: ExtensionStore) throws {
    self.view = view
    self.store = store
    storage = try ViewStorage(store)
    shown = try ViewReader(store, view.family)
    state = SearchState(store)
    seenChangeCount = store.changeCount
    switch view.form {
    case .rows(let parent, let groups): placement = try ParentPlacement(state, storage, parent, groups)
    case .grouped(let grouping, let sorting):
      placement = GroupedPlacement(storage, shown, RowPlacer(storage, shown, grouping, sorting))
    case .best(let limit, let group): placement = BestPlacement(storage, view.family, limit: limit, group: group)
    }
    state.selection = view.selection
    guard view.selection == nil, let search = try shown.shownSearch else { return }
    state.selection = search.storedForm.flatMap { view.restoring?($0) }
    isLost = state.selection == nil
  }

  /// What the view shows now, the transaction's changes so far included. What a reader shows that was asked for before
  /// a change need not have the rows that the change has brought.
  public var reader: ViewReader<Object, Metadata> {
    store.noting(()) { try settle() }
    return shown
  }

  /// What is searched for; nil if nothing is.
  public var selection: (any RowSelection)? { state.selection }

  // MARK: Searching

  /// Shows what a selection finds, and nothing else, from now on in this transaction and, if it commits, for all that
  /// come. Only rows that come or go are told. Views of this one follow.
  ///
  /// O(f log n) for f found rows and n rows of the view that they are taken from, and what the selection costs; memory
  /// for the ids and orders of the found rows and of those that were shown. A cancelled task ends it within some
  /// thousand rows. If it throws, nothing has changed.
  ///
  /// - Throws: what the selection and closures throw, `viewRefused` if the best rows are to be shown and the selection
  ///   tells no scores, `CancellationError`, and as changes of rows.
  public func search(_ selection: some RowSelection) throws { try search(selection, SearchWatch(store)) }

  /// Searches for the newest selection of a queue, and forgets those that have waited there longer. Cost and errors as
  /// above, and `rolledBack` if the search is given up so: this transaction cannot be committed then.
  ///
  /// - Returns: whether the view shows what such a selection finds, at least some of it: false if none has waited, or
  ///   if it was given up before it began.
  @discardableResult
  public func search(from queue: SearchQueue) throws -> Bool {
    guard let (number, selection) = queue.takeNewest() else { return false }
    var watch = SearchWatch(store, (queue, number))
    try watch.look()
    if watch.isStopped { return false }
    try search(selection, watch)
    return true
  }

  private func search(_ selection: any RowSelection, _ watch: SearchWatch) throws {
    assert(!isSettling, "something is searched for while changed rows are asked about")
    guard let tx = store.writeTransaction else { return }
    var watch = watch
    try placement.settleSource()
    let groups = try placement.groups(selection, &watch)
    try tx.savepoint {
      try store.replaceExtension(with: view.with(selection))
      try note(selection, isPartial: watch.isStopped)
      try storage.arrange(groups)
    }
    state.selection = selection
    if !watch.isStopped { state.changed = [] }
    (isLost, seenChangeCount) = (false, store.changeCount)
  }

  /// Ends the search: the view is empty until the next one. O(n) for n rows that were shown.
  ///
  /// - Throws: as changes of rows. If it throws, nothing has changed.
  public func endSearch() throws {
    guard let tx = store.writeTransaction else { return }
    try tx.savepoint {
      try store.replaceExtension(with: view.with(nil))
      try empty()
    }
    (state.selection, state.changed, isLost) = (nil, [], false)
  }

  private func empty() throws {
    try note(nil, isPartial: false)
    try storage.resetAll()
  }

  /// Notes what is shown, for readers and for the next opening.
  private func note(_ selection: (any RowSelection)?, isPartial: Bool) throws {
    try store.set(selection?.name, for: ShownSearch.nameValue)
    try store.set(selection?.storedForm, for: ShownSearch.formValue)
    try store.set(isPartial ? true : nil, for: ShownSearch.partialValue)
  }

  // MARK: Changed rows

  func settle() throws {
    guard !isSettling else { return }
    isSettling = true
    defer { isSettling = false }
    if isLost {
      // No change of a row has led to that.
      try store.markDependents()
      try empty()
      isLost = false
    }
    guard let selection = state.selection else { return }
    try placement.settleSource()
    if !state.asksRows || placement.searchesAnew { return try searchAgain(selection) }
    guard !state.changed.isEmpty else { return }
    let rowIDs = try placement.candidates(state.changed.sorted())
    let found = try state.found(among: rowIDs)
    state.changed = []
    for rowID in rowIDs { try placement.show(rowID, isFound: found.contains(rowID)) }
  }

  private func searchAgain(_ selection: any RowSelection) throws {
    // All rows are, if any are.
    state.changed = []
    guard store.changeCount != seenChangeCount else { return }
    var watch = SearchWatch.unwatched(store)
    let groups = try placement.groups(selection, &watch)
    let stepCount = storage.operations.count
    try storage.arrange(groups)
    // No change of a row need have led to that.
    if storage.operations.count > stepCount { try store.markDependents() }
    if try shown.shownSearch?.isPartial == true { try note(selection, isPartial: false) }
    seenChangeCount = store.changeCount
  }

  // MARK: Hooks

  public var needsWillChange: Bool { false }

  /// Nothing is taken in that no search has found. What was searched for is searched again, if it can be made again.
  public func willBuild(_ reason: ExtensionBuildReason) throws {
    let form = reason.hasSameKind ? try shown.shownSearch?.storedForm : nil
    try store.removeEverything()
    (state.selection, isLost) = (nil, false)
    guard let selection = form.flatMap({ view.restoring?($0) }) else { return }
    storage.isRecording = false
    defer { storage.isRecording = true }
    var watch = SearchWatch.unwatched(store)
    let groups: [GroupArrangement]
    do { groups = try placement.groups(selection, &watch) } catch {
      if error is DatabaseError { throw error }
      // Such as words that the text of a search is not allowed to have any more.
      return store.database.warn(
        "What a view was searched for cannot be searched any more: it is empty.",
        metadata: ["view": view.name, "search": selection.name, "error": "\(error)"])
    }
    try storage.arrange(groups)
    try note(selection, isPartial: false)
    state.selection = selection
  }

  public func didChange(_ change: RowChange) throws {
    guard let rowID = change.rowID else { return }
    if change.kind == .remove {
      state.changed.remove(rowID)
      try storage.removeFromAll(rowID, change.rowKey)
      return
    }
    guard state.selection != nil || isLost else { return }
    try placement.update(change)
    if state.asksRows, !placement.searchesAnew { state.changed.insert(rowID) }
  }

  public func didClearAll() throws {
    state.changed = []
    try storage.resetAll()
  }

  public func settleTrees() throws { try settle() }

  public func takeChanges() -> ViewChanges? {
    storage.operations.isEmpty ? nil : ViewChanges(operations: storage.operations)
  }

  // MARK: Savepoints

  private struct Mark {
    let operationCount: Int
    let selection: (any RowSelection)?
    let changed: Set<RowID>
    let seenChangeCount: Int
    let isLost: Bool
  }

  public func makeMark() -> Any? {
    Mark(
      operationCount: storage.makeMark(), selection: state.selection, changed: state.changed,
      seenChangeCount: seenChangeCount, isLost: isLost)
  }

  public func restore(_ mark: Any?) {
    guard let mark = mark as? Mark else { return }
    storage.restore(mark.operationCount)
    (state.selection, state.changed) = (mark.selection, mark.changed)
    (seenChangeCount, isLost) = (mark.seenChangeCount, mark.isLost)
  }
}

extension SearchViewWriter: ViewOwner {
  public var followed: FollowedView { FollowedView(storage: storage) }
}
