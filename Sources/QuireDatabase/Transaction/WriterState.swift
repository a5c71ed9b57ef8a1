// What a write transaction collects beside the trees.

internal import QuireStorage

/// The part of a write transaction that is not in the trees; restored by savepoints together with them.
final class WriterState {
  var changes = ChangeLog()
  var actions: [@Sendable () -> Void] = []
  /// What is to run if the transaction is rolled back.
  var rollbackActions: [@Sendable () -> Void] = []
  /// What is to run at its end in any case, as the savepoint that it belongs to was undone.
  var undoneActions: [@Sendable () -> Void] = []
  var commitInfo: (any Sendable & Codable)?
  /// Set when the task that awaits the transaction is cancelled; nil if none does.
  var cancellation: CancellationFlag?
  /// The extensions that were registered when the transaction began; nil if there were none.
  let registered: RegisteredExtensions?
  /// Those that are to be registered when it commits, if that is another list.
  var newRegistered: RegisteredExtensions?
  /// The extensions' part of the transaction; nil until something needs it.
  var session: ExtensionSession?
  var isBeginningSession = false
  /// Whether a tree in memory was changed.
  var hasChangedForest = false
  /// The extensions that have changed trees or values of theirs, perhaps in savepoints that were undone since.
  private(set) var changedExtensions: Set<ExtensionID> = []
  /// The last one of them: most changes are of the same one as the change before.
  private var lastChangedExtension: ExtensionID?
  /// How often an extension has changed a tree or a value: what cursors over trees in memory must not go on after.
  private(set) var extensionChangeCount = 0

  init(_ registered: RegisteredExtensions?) { self.registered = registered }

  /// Notes that an extension changes a tree or a value of its own.
  func noteChange(of id: ExtensionID) {
    extensionChangeCount &+= 1
    if lastChangedExtension == id { return }
    lastChangedExtension = id
    changedExtensions.insert(id)
  }

  /// The names of the extensions that are not what they were: their trees, or what is registered under their names.
  var changedExtensionNames: Set<ByteString> {
    var names: Set<ByteString> = []
    if !changedExtensions.isEmpty {
      for entry in session?.entries ?? [] where changedExtensions.contains(entry.registered.id) {
        names.insert(ByteString(entry.registered.name))
      }
    }
    guard let newRegistered else { return names }
    let (old, new) = (registered?.list ?? [], newRegistered.list)
    for one in old where !new.contains(where: { $0 === one }) { names.insert(ByteString(one.name)) }
    for one in new where !old.contains(where: { $0 === one }) { names.insert(ByteString(one.name)) }
    return names
  }

  /// The names of the extensions whose content readers see begin or end with this transaction.
  var restartedExtensionNames: Set<ByteString> {
    guard let newRegistered else { return [] }
    let (old, new) = (registered?.list ?? [], newRegistered.list)
    var names: Set<ByteString> = []
    for one in old where one.isReady && !new.contains(where: { $0.id == one.id && $0.isReady }) {
      names.insert(ByteString(one.name))
    }
    for one in new where one.isReady && !old.contains(where: { $0.id == one.id && $0.isReady }) {
      names.insert(ByteString(one.name))
    }
    return names
  }
}

extension TransactionState {
  /// Throws if the task that awaits the transaction was cancelled, or the one that runs it. An async write runs on a
  /// thread of the engine's, where no task is.
  func checkCancelled() throws(CancellationError) {
    if Task.isCancelled || writer?.cancellation?.isSet == true { throw CancellationError() }
  }

  /// Notes that an extension changes a tree or a value of its own.
  func noteChange(of id: ExtensionID) { writer?.noteChange(of: id) }

  /// Runs `body`; if it throws, everything it did is undone: rows, changes, actions, the commit's info, new collections
  /// and fields. The ids that were given are not given again.
  func undoable<Result>(_ body: () throws -> Result) throws -> Result {
    guard let writer else { throw notWriting() }
    // Taking fields back would leave the row that is being encoded with fields that have no name.
    guard encodingCount == 0 else { throw savepointInCoder() }
    // Writers must be older than the savepoint, or it would take their trees away from them.
    let session = try session()
    let extensionMarks = session?.makeMarks() ?? []
    let (forest, hasChangedForest, newRegistered) = (loadedForest, writer.hasChangedForest, writer.newRegistered)
    let changes = writer.changes.position
    let actionCount = writer.actions.count
    let rollbackActionCount = writer.rollbackActions.count
    let commitInfo = writer.commitInfo
    let marks = collections.all.map(\.mark)
    do {
      return try savepoint {
        let result: Result
        do { result = try body() } catch { throw ClosureError(error: error) }
        // What could not throw inside belongs to the savepoint, and undoes it.
        try check()
        return result
      }
    } catch {
      writer.changes.truncate(to: changes)
      writer.actions.removeLast(writer.actions.count - actionCount)
      writer.undoneActions += writer.rollbackActions[rollbackActionCount...]
      writer.rollbackActions.removeLast(writer.rollbackActions.count - rollbackActionCount)
      writer.commitInfo = commitInfo
      for (index, collection) in collections.all.enumerated() {
        collection.restore(index < marks.count ? marks[index] : nil)
      }
      collections.forgetNames()
      unsafe lastUsed = nil
      // Changes of the forest need their number, unless it is as it was before all of them.
      loadedForest = hasChangedForest ? forest : nil
      writer.hasChangedForest = hasChangedForest
      writer.newRegistered = newRegistered
      pendingError = nil
      mutationCount &+= 1
      session?.restore(extensionMarks)
      if let error = error as? ClosureError { throw error.error }
      throw wrap(error)
    }
  }

  private func savepointInCoder() -> DatabaseError {
    DatabaseError(
      .transactionFailed, "A savepoint was to begin while a row was being encoded. Begin it outside of coders.",
      path: database.path)
  }

  /// The error of a write through a transaction that reads.
  func notWriting() -> DatabaseError {
    DatabaseError(.readOnly, "A read transaction cannot change anything. Use `write`.", path: database.path)
  }
}
