// Transactions, from begin to delivery.

internal import QuireStorage

extension DatabaseCore {
  // MARK: Reading

  /// Runs `body` in a read transaction on the newest snapshot.
  func read<Result>(_ connection: Connection?, _ body: (ReadTransaction) throws -> Result) throws -> Result {
    let outer = CurrentTransaction.innermost
    try checkNotNested(outer)
    let storage: QuireStorage.ReadTransaction
    do throws(StorageError) { storage = try self.storage.beginRead() } catch { throw DatabaseError(error) }
    return try run(TransactionState(reading: storage, self, connection, outer: outer), body)
  }

  /// Runs `body` on a snapshot that is kept by somebody else.
  func run<Result>(_ state: TransactionState, _ body: (ReadTransaction) throws -> Result) throws -> Result {
    CurrentTransaction.set(state)
    defer {
      CurrentTransaction.set(state.outer)
      state.end()
    }
    let result = try body(ReadTransaction(state: state))
    // What could not throw where it happened.
    try state.check()
    return result
  }

  /// Throws if the thread is inside a transaction of this database: a second one might wait for it for ever.
  func checkNotNested(_ outer: TransactionState?) throws(DatabaseError) {
    var state = outer
    while let current = state {
      if current.database === self {
        throw DatabaseError(
          .nestedTransaction,
          "A transaction was opened inside another on the same thread. Pass the transaction along instead.", path: path)
      }
      state = current.outer
    }
  }

  // MARK: Writing

  /// A commit that is on its way to the disk.
  struct PendingCommit<Result> {
    let result: Result
    let ticket: CommitTicket
    let actions: [@Sendable () -> Void]
  }

  /// Runs `body` in the write transaction, and returns when its commit is acknowledged.
  func write<Result>(_ connection: Connection?, _ body: (WriteTransaction) throws -> Result) throws -> Result {
    let pending = try writeWithoutWaiting(connection, body)
    do throws(StorageError) { try storage.wait(pending.ticket) } catch {
      throw failed(error)
    }
    didCommit(pending.actions)
    return pending.result
  }

  /// Runs `body` in the write transaction and appends its commit.
  func writeWithoutWaiting<Result>(
    _ connection: Connection?, _ body: (WriteTransaction) throws -> Result
  ) throws -> PendingCommit<Result> {
    let outer = CurrentTransaction.innermost
    try checkNotNested(outer)
    var actions: [@Sendable () -> Void] = []
    var rollbackActions: [@Sendable () -> Void] = []
    var outcome = WriteOutcome()
    do {
      let (result, ticket) = try storage.writeWithoutWaiting { _ in
        // A second handle to what is lent for the time of this closure; the first one cannot be kept in an object.
        let handle = QuireStorage.WriteTransaction(storage.context, slots: storage.slots, slot: storage.writerSlot)
        let state = TransactionState(writing: handle, self, connection, outer: outer)
        CurrentTransaction.set(state)
        defer {
          CurrentTransaction.set(outer)
          rollbackActions = (state.writer?.undoneActions ?? []) + (state.writer?.rollbackActions ?? [])
          state.end()
        }
        let result: Result
        do { result = try body(WriteTransaction(state: state)) } catch { throw ClosureError(error: error) }
        try state.check()
        outcome = try state.outcome()
        actions = (state.writer?.undoneActions ?? []) + (state.writer?.actions ?? [])
        return result
      } willPublish: { csn in
        self.publish(outcome, csn)
      }
      return PendingCommit(result: result, ticket: ticket, actions: actions)
    } catch let error as ClosureError {
      didRollBack(rollbackActions)
      throw error.error
    } catch let error as StorageError {
      if error.code != .outcomeUnknown { didRollBack(rollbackActions) }
      throw failed(error)
    } catch {
      didRollBack(rollbackActions)
      throw error
    }
  }

  /// Nothing of a transaction remains: runs what was to be run then.
  private func didRollBack(_ actions: [@Sendable () -> Void]) {
    for action in actions { action() }
  }

  /// What a write transaction leaves behind beside the trees.
  struct WriteOutcome {
    var changes = ChangeLog()
    var names: [CollectionID: String] = [:]
    var info: (any Sendable & Codable)?
    var collections: [(name: String, record: CollectionRecord?)] = []
    var extensionChanges: [String: any ExtensionChanges] = [:]
    /// The extensions that are registered from this commit on, if they are others than before.
    var registered: RegisteredExtensions?
    var hasMarkedOthers = false
    /// The trees in memory, if they have changed.
    var forest: MemoryForest?
  }

  /// The commit can no longer fail but for the disk, and nobody sees it yet.
  private func publish(_ outcome: WriteOutcome, _ csn: CSN) {
    objectCache?.note(outcome.changes, csn: csn)
    table.apply(outcome.collections, csn: csn)
    if outcome.registered != nil || outcome.hasMarkedOthers {
      extensions.apply(outcome.registered, markedOthers: outcome.hasMarkedOthers)
    }
    if let forest = outcome.forest {
      let published = publishedCSN
      memory.publish(forest, csn: csn, oldest: min(storage.slots.oldestReader ?? published, published))
    }
    guard !outcome.changes.isEmpty || !outcome.extensionChanges.isEmpty else { return }
    let changes = ChangeSet(outcome.changes, names: outcome.names)
    let commit = Commit(
      csn: csn, changes: changes, info: outcome.info, extensionChanges: outcome.extensionChanges)
    history.append(commit, published: publishedCSN)
  }

  /// The commit is acknowledged: tells those who follow, and runs what was to be run.
  func didCommit(_ actions: [@Sendable () -> Void]) {
    history.deliver { publishedCSN }
    for action in actions { action() }
  }

  /// An error of the engine's in the words of this layer; those who follow are told if nothing can follow any more.
  func failed(_ error: StorageError) -> DatabaseError {
    let failure = DatabaseError(error)
    if error.code == .failStop || error.code == .outcomeUnknown { history.fail(failure) }
    return failure
  }
}

/// Carries an error of the app's through the engine, so that it is told from one of the engine's: it may be of the same
/// type, if the closure uses another database.
struct ClosureError: Error {
  let error: any Error
}

extension TransactionState {
  /// Completes the trees, and takes out what is to outlive the transaction.
  func outcome() throws(DatabaseError) -> DatabaseCore.WriteOutcome {
    guard let writer else { throw notWriting() }
    var outcome = DatabaseCore.WriteOutcome()
    if let session = writer.session {
      try session.settle()
      outcome.extensionChanges = session.takeChanges()
    }
    for collection in collections {
      if let id = collection.id { outcome.names[id] = collection.name }
    }
    try settleCollections()
    outcome.hasMarkedOthers = try markOthers()
    outcome.registered = writer.newRegistered
    if writer.hasChangedForest {
      try numberForest()
      outcome.forest = loadedForest
    }
    outcome.changes = writer.changes
    outcome.info = writer.commitInfo
    for collection in collections {
      if let record = collection.newRecord { outcome.collections.append((collection.name, record)) }
    }
    return outcome
  }
}
