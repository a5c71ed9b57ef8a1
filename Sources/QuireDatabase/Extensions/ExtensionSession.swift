// The registered extensions in one write transaction: their writers, and who is told of what.

internal import QuireStorage

/// An extension in one write transaction.
final class ExtensionEntry {
  var registered: RegisteredExtension
  let writer: any ExtensionWriter
  /// Whether anybody can have seen it before this transaction, so that there are changes to tell of.
  let wasReady: Bool
  private let followsUnbuiltRows: Bool
  /// Whether it hears of changes before they are made.
  let needsWillChange: Bool

  init(_ registered: RegisteredExtension, _ writer: any ExtensionWriter) {
    self.registered = registered
    self.writer = writer
    wasReady = registered.isReady
    followsUnbuiltRows = writer.followsUnbuiltRows
    needsWillChange = writer.needsWillChange
  }

  /// Whether the extension hears of a change.
  func concerns(_ kind: RowChange.Kind, _ rowID: RowID?) -> Bool {
    kind.concerns(registered.halves) && follows(rowID)
  }

  /// Whether the extension hears of a row.
  func follows(_ rowID: RowID?) -> Bool { registered.follows(rowID) || followsUnbuiltRows && registered.isBeingBuilt }
}

/// The extensions that follow a collection.
struct Listeners {
  let entries: [ExtensionEntry]
  /// Whether any of them hears of changes before they are made.
  let needWillChange: Bool

  init(_ entries: [ExtensionEntry]) {
    self.entries = entries
    needWillChange = entries.contains(where: \.needsWillChange)
  }
}

/// Calls the hooks of all extensions in a write transaction.
///
/// Invariants:
/// 1. `entries` are in the order of registration.
/// 2. `depth` is the number of hooks that run, one because of the other, at most `Limits.hookDepth`.
/// 3. Rows change only in the phases `body` and `rows`.
/// 4. When a row changes, those of `rounds` that are not finished are of that row, and of no removal.
final class ExtensionSession {
  /// What the transaction is at.
  enum Phase {
    /// The app's closure runs.
    case body
    /// Extensions settle rows.
    case rows
    /// Extensions settle their own trees.
    case trees
  }

  unowned let transaction: TransactionState
  private(set) var entries: [ExtensionEntry] = []
  private(set) var phase = Phase.body
  var depth = 0
  /// What is being told, the innermost last.
  var rounds: [HookRound] = []
  /// The collections that are being cleared.
  var cleared: [CollectionID] = []
  /// Whose hooks run, the innermost last.
  private var running: [String] = []
  /// Who cares for a collection, by its name.
  private var listeners: [ByteString: Listeners] = [:]
  /// The last ones that were asked for: most changes are of the same collection as the one before.
  private var lastListeners: (collection: String, listeners: Listeners)?

  init(_ transaction: TransactionState) { self.transaction = transaction }

  /// Has an extension follow the transaction.
  func add(_ registered: RegisteredExtension, _ writer: any ExtensionWriter) {
    assert(entry(registered.name) == nil, "an extension follows a transaction twice")
    entries.append(ExtensionEntry(registered, writer))
    listeners.removeAll()
    lastListeners = nil
  }

  /// The entry of an extension.
  func entry(_ name: String) -> ExtensionEntry? { entries.first { $0.registered.name.hasSameBytes(as: name) } }

  /// The extensions that care for a collection.
  func listeners(of collection: String) -> Listeners {
    if let lastListeners, lastListeners.collection.hasSameBytes(as: collection) { return lastListeners.listeners }
    let name = ByteString(collection)
    let known = listeners[name]
    let found = known ?? Listeners(entries.filter { $0.registered.collections.contains(collection) })
    if known == nil { listeners[name] = found }
    lastListeners = (collection, found)
    return found
  }

  /// Whether any extension cares for a collection.
  func hasListeners(of collection: String) -> Bool { !listeners(of: collection).entries.isEmpty }

  /// Whether any extension that cares for a collection hears of changes before they are made.
  func needsWillChange(of collection: String) -> Bool { listeners(of: collection).needWillChange }

  /// Throws if rows must not be changed any more.
  func checkRowsMayChange() throws(DatabaseError) {
    guard phase == .trees else { return }
    throw DatabaseError(
      .transactionFailed, "An extension changed rows while trees were being settled. Change them in `settleRows`.",
      path: transaction.database.path)
  }

  // MARK: Hooks

  /// Runs a hook; its error gets the extension's name, and fails the transaction.
  func run(
    _ entry: ExtensionEntry, _ hook: String, collection: @autoclosure () -> String? = nil,
    key: @autoclosure () -> String? = nil, _ body: () throws -> Void
  ) throws(DatabaseError) {
    depth += 1
    running.append(entry.registered.name)
    assert(depth > 0 && depth <= Limits.hookDepth + 1, "hooks go on that are too deep in each other")
    defer {
      depth -= 1
      running.removeLast()
    }
    do {
      guard depth <= Limits.hookDepth else { throw tooDeep() }
      try body()
      // What the hook did that could not throw.
      try transaction.check()
    } catch {
      let failure = failed(entry, hook, collection(), key(), error)
      transaction.note(failure)
      throw failure
    }
  }

  private func tooDeep() -> DatabaseError {
    DatabaseError(
      .hooksTooDeep,
      """
      Hooks have changed rows whose hooks changed rows, \(Limits.hookDepth) deep: \(running.joined(separator: " → ")). \
      Have them leave alone what is right already.
      """, path: transaction.database.path)
  }

  private func failed(
    _ entry: ExtensionEntry, _ hook: String, _ collection: String?, _ key: String?, _ error: any Error
  ) -> DatabaseError {
    if let error = error as? DatabaseError {
      // The innermost extension is the one to look at; a rollback is what it is.
      if error.code == .extensionFailed || error.code == .rolledBack || error.code == .hooksTooDeep { return error }
      // No fault of the extension's.
      if error.isOfDisk { return error.inCall(hook, of: entry.registered.name, collection, key) }
    }
    return DatabaseError(
      .extensionFailed,
      "The extension “\(entry.registered.name)” failed in `\(hook)`: the transaction is rolled back. See the cause.",
      path: transaction.database.path, collection: collection, key: key, cause: error)
  }

  /// A change of one row is about to be made.
  func will(
    _ kind: RowChange.Kind, _ rowID: RowID?, _ key: String, _ state: CollectionState,
    _ content: @autoclosure () -> RowContent
  ) throws(DatabaseError) {
    try checkRowsMayChange()
    let entries = listeners(of: state.name).entries
    func hears(_ entry: ExtensionEntry) -> Bool {
      entry.needsWillChange && entry.concerns(kind, rowID) && !isLeftOut(entry, state.id)
    }
    guard let first = entries.firstIndex(where: hears) else { return }
    let change = RowChange(
      kind, rowID, key, state.name, transaction, content(), before: rowID == nil ? nil : RowBefore())
    for (index, entry) in entries[first...].enumerated() where index == 0 || hears(entry) {
      try run(entry, "willChange", collection: state.name, key: key) { try entry.writer.willChange(change) }
    }
  }

  /// A change of one row was made.
  func did(
    _ kind: RowChange.Kind, _ rowID: RowID, _ key: String, _ state: CollectionState,
    _ content: @autoclosure () -> RowContent
  ) throws(DatabaseError) {
    let entries = listeners(of: state.name).entries
    // While the row's insertion is being told, any change of it may be the first that an extension hears of it.
    let isNew = !rounds.isEmpty && rounds.contains { $0.isInsert(of: rowID) && !$0.isFinished }
    let first = entries.firstIndex { isNew ? $0.follows(rowID) : $0.concerns(kind, rowID) }
    guard let first else { return }
    let change = RowChange(kind, rowID, key, state.name, transaction, content())
    // For the last one nobody waits behind.
    if first == entries.count - 1 { return try tell(change, to: entries[first], at: first, of: state.id) }
    try tell(.row(change), of: state.id, to: entries, from: first)
  }

  // MARK: Many rows

  /// Rows are about to be removed together.
  func willRemove(
    _ rows: [(key: String, rowID: RowID)], _ state: CollectionState, isClearing: Bool
  ) throws(DatabaseError) {
    try checkRowsMayChange()
    let entries = listeners(of: state.name).entries
    if entries.isEmpty { return }
    // The same for all extensions: what one has had decoded, the others have.
    let before = rows.map { _ in RowBefore() }
    for entry in entries {
      try forRows(entry, rows, state, isClearing, .stored, before: before) { changes throws(DatabaseError) in
        try run(entry, "willRemove", collection: state.name) { try entry.writer.willRemove(changes) }
      }
    }
  }

  /// Rows were removed together.
  func didRemove(
    _ rows: [(key: String, rowID: RowID)], _ state: CollectionState, isClearing: Bool
  ) throws(DatabaseError) {
    try tell(.removed(rows, state, isClearing: isClearing), to: listeners(of: state.name).entries)
  }

  /// Whether anybody wants to see the rows of a collection one by one when all are removed.
  func wantsRows(of collection: String) -> Bool {
    listeners(of: collection).entries.contains { !$0.registered.handlesClearing }
  }

  /// All rows of a collection are about to be removed.
  func willClear(_ collection: String) throws(DatabaseError) {
    try checkRowsMayChange()
    for entry in listeners(of: collection).entries {
      try run(entry, "willClear", collection: collection) { try entry.writer.willClear(collection) }
    }
  }

  /// All rows of a collection were removed but those that hooks have stored meanwhile.
  func didClear(_ state: CollectionState, left: [(key: String, rowID: RowID)]) throws(DatabaseError) {
    try tell(.cleared(state, left: left), to: listeners(of: state.name).entries)
  }

  /// All rows are about to be removed.
  func willClearAll() throws(DatabaseError) {
    try checkRowsMayChange()
    for entry in entries { try run(entry, "willClearAll") { try entry.writer.willClearAll() } }
  }

  /// All rows were removed.
  func didClearAll() throws(DatabaseError) {
    try tell(.clearedAll, to: entries)
  }

  // MARK: Ending

  /// Has all extensions bring rows and trees up to date.
  func settle() throws(DatabaseError) {
    assert(phase == .body && self.rounds.isEmpty && cleared.isEmpty, "a transaction settles inside of a change")
    phase = .rows
    var rounds = 0
    var mutationCount: Int
    repeat {
      mutationCount = transaction.mutationCount
      for entry in entries { try run(entry, "settleRows") { try entry.writer.settleRows() } }
      rounds += 1
      guard rounds <= Limits.settleRounds else { throw endlessSettling() }
    } while try needsSettling(since: mutationCount)
    assert(self.rounds.isEmpty && depth == 0, "trees are settled inside of a hook")
    phase = .trees
    for entry in entries { try run(entry, "settleTrees") { try entry.writer.settleTrees() } }
  }

  /// Whether rows were changed since, or an extension was by another one that settled after it.
  private func needsSettling(since mutationCount: Int) throws(DatabaseError) -> Bool {
    var isNeeded = mutationCount != transaction.mutationCount
    for entry in entries where !isNeeded {
      try run(entry, "needsSettling") { isNeeded = try entry.writer.needsSettling }
    }
    return isNeeded
  }

  private func endlessSettling() -> DatabaseError {
    DatabaseError(
      .hooksTooDeep,
      """
      Extensions have changed rows, or one another, in `settleRows` \(Limits.settleRounds) times, each because of the \
      other: \(entries.map(\.registered.name).joined(separator: ", ")).
      """, path: transaction.database.path)
  }

  /// What the extensions tell of the commit, by name. Of one that is being built nobody has seen anything yet.
  func takeChanges() -> [ByteString: any ExtensionChanges] {
    assert(phase == .trees, "extensions tell of a commit that has not settled")
    var changes: [ByteString: any ExtensionChanges] = [:]
    for entry in entries where entry.wasReady {
      if let told = entry.writer.takeChanges() { changes[ByteString(entry.registered.name)] = told }
    }
    return changes
  }

  // MARK: Savepoints

  /// What every writer has gathered, and who has heard of what is being told.
  struct Marks {
    fileprivate let writers: [Any?]
    fileprivate let heardCounts: [Int]
  }

  /// The state to go back to.
  func makeMarks() -> Marks {
    Marks(writers: entries.map { $0.writer.makeMark() }, heardCounts: rounds.map(\.heardCount))
  }

  /// Back to `marks`.
  func restore(_ marks: Marks) {
    assert(entries.count == marks.writers.count, "an extension has come inside of a savepoint")
    for (entry, mark) in zip(entries, marks.writers) { entry.writer.restore(mark) }
    assert(rounds.count == marks.heardCounts.count, "a savepoint ends in another hook than it began in")
    for (index, count) in marks.heardCounts.enumerated() { rounds[index].heardCount = count }
  }
}
