// What a write transaction collects beside the trees.

internal import QuireStorage

/// The part of a write transaction that is not in the trees; restored by savepoints together with them.
final class WriterState {
  @exclusivity(unchecked) var changes = ChangeLog()
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
  /// What was released of change feeds, once something was.
  var feedUpdates: [FeedUpdate]?
  /// What was changed in trees of extensions, if somebody observed when the transaction began.
  var treeChanges: TreeChanges?

  init(_ registered: RegisteredExtensions?, isObserved: Bool) {
    self.registered = registered
    if isObserved, registered != nil { treeChanges = TreeChanges() }
  }

  /// Notes that an extension changes a tree or a value of its own.
  func noteChange(of id: ExtensionID) {
    extensionChangeCount &+= 1
    if lastChangedExtension == id { return }
    lastChangedExtension = id
    changedExtensions.insert(id)
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

  /// The error of a write through a transaction that reads.
  func notWriting() -> DatabaseError {
    DatabaseError(.readOnly, "A read transaction cannot change anything. Use `write`.", path: database.path)
  }
}
