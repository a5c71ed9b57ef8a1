// The transactions of a connection.

internal import QuireStorage

extension Connection {
  /// Like `read(_:)`, with the place of the call for diagnostics.
  public func read<Result>(at site: CallSite, _ body: (ReadTransaction) throws -> Result) throws -> Result {
    try check(.synchronousReads)
    return try core.read(self, site, body)
  }

  /// Like `read(_:)`, with the place of the call for diagnostics.
  @concurrent
  public func read<Result: Sendable>(
    at site: CallSite, _ body: @escaping @Sendable (ReadTransaction) throws -> Result
  ) async throws -> Result {
    try check(.asynchronousReads)
    let work = pending.begin()
    defer { pending.end(work) }
    let job = PlainJob<Result> { [self] _ in try core.read(self, site, body) }
    return try await job.result {
      try core.wrapping { () throws(StorageError) in try core.storage.threads.runReader { job.run() } }
    }
  }

  /// Like `write(_:)`, with the place of the call for diagnostics.
  @discardableResult
  public func write<Result>(at site: CallSite, _ body: (WriteTransaction) throws -> Result) throws -> Result {
    try check(.synchronousWrites)
    return try core.write(self, site, body)
  }

  /// Like `write(_:)`, with the place of the call for diagnostics.
  @concurrent @discardableResult
  public func write<Result: Sendable>(
    at site: CallSite, _ body: @escaping @Sendable (WriteTransaction) throws -> Result
  ) async throws -> Result {
    try check(.asynchronousWrites)
    let work = pending.begin()
    defer { pending.end(work) }
    let watch = core.diagnostics.watchWrite(site, connection: options.name)
    let job = AsyncJob<AsyncWrite<Result>, Result>(body)
    do {
      return try await job.result {
        try core.wrapping { () throws(StorageError) in
          // What has been appended must not want for a thread that acknowledges it.
          try core.storage.threads.prepareDelivery()
          try core.storage.threads.runWriter { [self] in
            if job.begin() { core.write(self, watch, job) }
          }
        }
      }
    } catch {
      // What has begun was watched to its end.
      if !job.hasBegun { core.diagnostics.didEnd(watch, error) }
      throw error
    }
  }
}

/// What an async caller writes.
typealias AsyncWrite<Result> = @Sendable (WriteTransaction) throws -> Result

extension DatabaseCore {
  /// An async write: runs on the writer's thread, which goes on to the next one while the commit waits for the disk.
  func write<Result: Sendable>(
    _ connection: Connection, _ watch: WriteWatch?, _ job: AsyncJob<AsyncWrite<Result>, Result>
  ) {
    do {
      let pending = try writeWithoutWaiting(connection, watch) { tx throws in
        tx.state.writer?.cancellation = job.cancellation
        return try job.perform { work in
          // The task's own values have taken the place of those of this thread.
          guard let watch else { return try work(tx) }
          return try watch.span.run { try work(tx) }
        }
      }
      let (result, ticket) = (pending.result, pending.ticket)
      // Here, where one commit comes after the other.
      let hasActions = !pending.actions.isEmpty || !pending.rollbackActions.isEmpty
      let actions =
        hasActions ? actions.add(pending.actions, orElse: pending.rollbackActions, connection.beginWork()) : nil
      guard let lsn = ticket.lsn else { return finish(job, watch, result, actions) }
      let storage = pending.storage
      storage.queue.notify(whenDurable: lsn) { [self] failure in
        guard let failure else { return finish(job, watch, result, actions) }
        let error = failed(ticket.hasOwnCommit ? failure : storage.stopped(failure))
        diagnostics.didEnd(watch, error)
        job.end(.failure(error))
        if let actions { settle(actions, isCommitted: false) }
      }
    } catch {
      diagnostics.didEnd(watch, error)
      job.end(.failure(error))
    }
  }

  /// Tells everybody that a commit is durable, on a thread that waits for nobody. What may take its time comes behind
  /// the acknowledgement; what apps want done, on a thread of its own.
  private func finish<Result: Sendable>(
    _ job: AsyncJob<AsyncWrite<Result>, Result>, _ watch: WriteWatch?, _ result: Result,
    _ actions: CommitActions.Entry?
  ) {
    do throws(StorageError) {
      try storage.threads.runDelivery { [self] in
        diagnostics.didEnd(watch)
        deliver()
        job.end(.success(result))
        report()
        if let actions { settle(actions, isCommitted: true) }
      }
    } catch {
      // Closed in the same moment: the commit stands all the same.
      job.end(.success(result))
      if let actions { settle(actions, isCommitted: true) }
    }
  }

  /// The fate of a commit is known: its actions have their turn, or never.
  private func settle(_ entry: CommitActions.Entry, isCommitted: Bool) {
    actions.settle(entry, isCommitted: isCommitted)
    // Without another thread they run here. They come after the acknowledgement in any case.
    do throws(StorageError) { try storage.threads.runAction { [actions] in actions.run() } } catch { actions.run() }
  }
}
