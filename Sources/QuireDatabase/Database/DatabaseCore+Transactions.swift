// Transactions, from begin to delivery.

internal import QuireStorage

extension DatabaseCore {
  // MARK: Reading

  /// Runs `body` in a read transaction on the newest snapshot.
  func read<Result>(
    _ connection: Connection?, _ site: CallSite = CallSite(), _ body: (ReadTransaction) throws -> Result
  ) throws -> Result {
    let outer = CurrentTransaction.innermost
    try checkNotNested(outer)
    let scratch: TransactionScratch
    do throws(StorageError) { scratch = try takeScratchForReading() } catch { throw DatabaseError(error) }
    return try run(TransactionState(reading: scratch, self, connection, outer: outer), "read", site, body)
  }

  /// Runs `body` in a read transaction that was begun.
  ///
  /// - Parameter isPinned: whether somebody else holds the snapshot.
  func run<Result>(
    _ state: TransactionState, _ kind: StaticString, _ site: CallSite, isPinned: Bool = false,
    _ body: (ReadTransaction) throws -> Result
  ) throws -> Result {
    CurrentTransaction.set(state)
    let scratch = state.scratch
    if !isPinned { scratch.holder.hold(state.csn, .read, site, state.connection?.number ?? .none) }
    let began = diagnostics.readBegins()
    let measured = diagnostics.metrics.readBegins(scratch)
    defer {
      assert(CurrentTransaction.innermost === state, "a transaction ends before one inside of it")
      CurrentTransaction.set(state.outer)
      diagnostics.metrics.readEnds(measured, scratch, self)
      diagnostics.readEnds(began, kind, site, connection: state.connection?.options.name)
      // Before somebody else gets it.
      if !isPinned { scratch.holder.release() }
      state.end()
    }
    CallOut.check()
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
    /// The engine that it is a commit of.
    let storage: EngineCore
    let ticket: CommitTicket
    let actions: [@Sendable () -> Void]
    /// What is to be run instead if there was nothing to commit, and the wait for what it saw fails.
    let rollbackActions: [@Sendable () -> Void]
  }

  /// Runs `body` in the write transaction, and returns when its commit is acknowledged.
  func write<Result>(
    _ connection: Connection?, _ site: CallSite = CallSite(), _ body: (WriteTransaction) throws -> Result
  ) throws -> Result {
    let watch = diagnostics.watchWrite(site, connection: connection?.options.name)
    do {
      let pending = try writeWithoutWaiting(connection, watch, body)
      do throws(StorageError) { try pending.storage.wait(pending.ticket) } catch {
        if !pending.ticket.hasOwnCommit { didRollBack(pending.rollbackActions) }
        throw failed(error)
      }
      diagnostics.didEnd(watch)
      didCommit(pending.actions)
      return pending.result
    } catch {
      diagnostics.didEnd(watch, error)
      throw error
    }
  }

  /// Runs `body` in the write transaction and appends its commit.
  func writeWithoutWaiting<Result>(
    _ connection: Connection?, _ watch: WriteWatch? = nil, _ body: (WriteTransaction) throws -> Result
  ) throws -> PendingCommit<Result> {
    let outer = CurrentTransaction.innermost
    try checkNotNested(outer)
    var actions: [@Sendable () -> Void] = []
    var rollbackActions: [@Sendable () -> Void] = []
    var outcome = WriteOutcome()
    let scratch: TransactionScratch
    do throws(StorageError) { scratch = try takeScratch() } catch { throw failed(error) }
    let storage = scratch.engine
    var hasBegun = false
    defer { if !hasBegun { giveBack(scratch) } }
    do throws(WriteFailure) {
      let (result, ticket) = try storage.writeWithoutWaiting { lent in
        watch?.didBegin()
        hasBegun = true
        // A second handle to what is lent for the time of this closure; the first one cannot be kept in an object.
        let handle = QuireStorage.WriteTransaction(sharing: lent)
        let state = TransactionState(writing: handle, in: scratch, self, connection, outer: outer)
        CurrentTransaction.set(state)
        defer {
          assert(CurrentTransaction.innermost === state, "a transaction ends before one inside of it")
          CurrentTransaction.set(outer)
          rollbackActions = (state.writer?.undoneActions ?? []) + (state.writer?.rollbackActions ?? [])
          state.end()
        }
        let result: Result
        do { result = try run(state, watch, body) } catch { throw ClosureError(error: error) }
        try state.check()
        outcome = try WriteOutcome(of: state)
        watch?.bodyDidEnd(changes: outcome.changes.count)
        actions = (state.writer?.undoneActions ?? []) + (state.writer?.actions ?? [])
        return result
      } willPublish: { csn in
        self.publish(outcome, csn)
      }
      return PendingCommit(
        result: result, storage: storage, ticket: ticket, actions: actions,
        rollbackActions: ticket.hasOwnCommit ? [] : rollbackActions)
    } catch {
      switch error {
      case .rolledBack(let reason):
        didRollBack(rollbackActions)
        throw restated(reason)
      case .unknown(let reason):
        throw failed(reason)
      }
    }
  }

  /// What ended a transaction, in the words of this layer: the app's own error, or one of the engine's.
  private func restated(_ reason: any Error) -> any Error {
    switch reason {
    case let reason as ClosureError: reason.error
    case let reason as StorageError: failed(reason)
    default: reason
    }
  }

  /// Runs the app's closure, as a part of the span if there is one.
  private func run<Result>(
    _ state: TransactionState, _ watch: WriteWatch?, _ body: (WriteTransaction) throws -> Result
  ) throws -> Result {
    guard TransactionSpan.isOn, let watch else { return try body(WriteTransaction(state: state)) }
    return try watch.span.run { try body(WriteTransaction(state: state)) }
  }

  /// Nothing of a transaction remains: runs what was to be run then.
  private func didRollBack(_ actions: [@Sendable () -> Void]) {
    CallOut.check()
    for action in actions { action() }
  }

  /// What a write transaction leaves behind beside the trees.
  struct WriteOutcome {
    var changes = ChangeLog()
    var names: [CollectionID: String] = [:]
    var info: (any Sendable & Codable)?
    var collections: [(name: String, record: CollectionRecord?)] = []
    var extensionChanges: [ByteString: any ExtensionChanges] = [:]
    /// The extensions that are registered from this commit on, if they are others than before.
    var registered: RegisteredExtensions?
    /// The collections that concern extensions which do not follow and are not marked, if that was found out.
    var unmarkedOthers: [CollectionFilter.Stored]?
    /// The collections that lost their last row.
    var removed: [CollectionID] = []
    /// Makes known what was trained.
    var trained: [() -> Void] = []
    /// The trees in memory, if they have changed.
    var forest: MemoryForest?
    /// What has changed beside rows.
    var scope = CommitScope()
    /// What has changed of change feeds.
    var feeds: FeedOutcome?
    /// The number of the commit that the transaction builds on.
    var base = CSN(0)
  }

  /// The commit can no longer fail but for the disk, and nobody sees it yet.
  private func publish(_ outcome: WriteOutcome, _ csn: CSN) {
    assert(csn >= outcome.base, "a commit has an older number than what it builds on")
    assert(
      csn > outcome.base || outcome.collections.isEmpty && outcome.forest == nil && outcome.trained.isEmpty,
      "what readers of the state before must not see has no number of its own")
    if let feeds = outcome.feeds { self.feeds?.apply(feeds) }
    objectCache?.note(outcome.changes, csn: csn)
    table.apply(outcome.collections, removed: outcome.removed, csn: csn)
    for publish in outcome.trained { publish() }
    for case (_, let record?) in outcome.collections { dictionaries.add(record.dictionaries, of: record.id) }
    for id in outcome.removed { dictionaries.remove(id) }
    if outcome.registered != nil || outcome.unmarkedOthers != nil {
      extensions.apply(outcome.registered, unmarkedOthers: outcome.unmarkedOthers, csn: csn)
    }
    if let forest = outcome.forest {
      let published = publishedCSN
      memory.publish(forest, csn: csn, oldest: min(storage.slots.oldestReader ?? published, published))
    }
    let changes = ChangeSet(outcome.changes, names: outcome.names)
    var scope = outcome.scope
    scope.isTouchOnly = csn == outcome.base
    let commit = Commit(
      csn: csn, changes: changes, info: outcome.info, extensionChanges: outcome.extensionChanges, scope: scope)
    if commit.isSilent, scope.extensions.isEmpty { return }
    history.append(commit, published: publishedCSN)
  }

  /// The commit of a caller who waits is acknowledged: tells everybody, and runs what was to be run.
  func didCommit(_ actions: [@Sendable () -> Void]) {
    deliver()
    report()
    CallOut.check()
    for action in actions { action() }
  }

  /// A commit is durable: tells those who follow.
  func deliver() {
    history.deliver { publishedCSN }
    observers.commitsArrived(self)
    guard extensions.hasFormer else { return }
    // The commit first: a reader that has not announced itself yet takes that, or a later one.
    let published = publishedCSN
    extensions.forget(before: min(storage.slots.oldestReader ?? published, published))
  }

  /// A commit is durable: tells log and metrics what there is to tell.
  func report() {
    diagnostics.lookAtSnapshots(self)
    diagnostics.metrics.report(self)
  }

  /// An error of the engine's in the words of this layer; those who follow are told if nothing can follow any more.
  func failed(_ error: StorageError) -> DatabaseError {
    let failure = DatabaseError(error)
    // The failure itself has a code of its own, such as that of a file which somebody has replaced.
    if error.code == .failStop || error.code == .outcomeUnknown || storage.queue.hasStopped {
      history.fail(failure)
      observers.fail(failure)
    }
    return failure
  }
}

extension DatabaseCore.WriteOutcome {
  /// Completes the trees, and takes out what is to outlive the transaction.
  init(of transaction: TransactionState) throws(DatabaseError) {
    guard let writer = transaction.writer else { throw transaction.notWriting() }
    self.init()
    base = transaction.csn
    if let session = writer.session {
      try session.settle()
      extensionChanges = session.takeChanges()
    }
    for collection in transaction.collections.all {
      if let id = collection.id { names[id] = collection.name }
    }
    if let set = transaction.database.feeds { feeds = try set.outcome(of: transaction, names) }
    try transaction.settleCollections()
    unmarkedOthers = try transaction.extensions.markOthers(names)
    registered = writer.newRegistered
    scope.extensions = writer.changedExtensionNames
    scope.changedParts = writer.changedParts
    scope.restarted = writer.restartedExtensionNames
    if writer.hasChangedForest {
      try transaction.extensions.numberForest()
      forest = transaction.loadedForest
    }
    changes = unsafe writer.changes
    info = writer.commitInfo
    for collection in transaction.collections.all {
      if let id = collection.forgottenID { removed.append(id) }
      if let publication = collection.publication { trained.append(publication) }
      guard let record = collection.newRecord else { continue }
      collections.append((collection.name, record))
      if collection.isOtherThanFound { scope.hasChangedNames = true }
    }
    try transaction.database.feeds?.noteHeard(of: transaction, feeds)
  }
}
