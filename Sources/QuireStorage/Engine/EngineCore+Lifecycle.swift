// Checkpoints on call, async writing, closing.

internal import Synchronization

extension EngineCore {
  /// A write for an async caller: runs on the writer thread, which goes on to the next transaction while this one's
  /// commit waits for the disk.
  package func writeAndNotify<Result: Sendable>(
    _ body: @Sendable (borrowing WriteTransaction) throws -> Result, _ job: AsyncJob<Result>
  ) {
    guard job.begin() else { return }
    do throws(WriteFailure) {
      let (result, ticket) = try writeWithoutWaiting(body)
      guard let lsn = ticket.lsn else { return job.end(.success(result)) }
      // The core stays alive until whoever waits has been told.
      queue.notify(whenDurable: lsn) { [self] failure in
        if let failure {
          job.end(.failure(ticket.hasOwnCommit ? failure : stopped(failure)))
        } else {
          job.end(.success(result))
        }
        _ = self
      }
    } catch {
      job.end(.failure(error.reason))
    }
  }

  /// Writes, when a burst of commits is over, a record that testifies that all of it is durable; without it, damage to
  /// the last group of commits could not be told from the torn end of a crash (hazard A12). It is not synced: what it
  /// proves does not depend on it.
  ///
  /// - Returns: false if commits are on their way, so that it is too early.
  @discardableResult
  package func appendQuietMark() -> Bool {
    guard !queue.hasStopped else { return true }
    do throws(AppendFailure) {
      return try withLogOrStop { (log) throws(AppendFailure) -> Bool in
        guard let log, !log.endsWithMark, !queue.hasStopped else { return true }
        if log.isUnsettled { return false }
        let durable = queue.durableLSN
        if quietLSN.exchange(durable.rawValue, ordering: .relaxed) != durable.rawValue { return false }
        // Something is on its way; the flush that it needs asks for a mark again. Parts need none: they may belong to
        // nobody, and what they stand behind must be testified to all the same.
        guard log.commitLSN <= durable else { return true }
        _ = try log.appendMark(markBuffer, durableLSN: durable, durableCheckpoint: queue.durableCheckpoint)
        return true
      }
    } catch {
      // Those who wait have been told; nobody waits for the mark, and what finds no space has left nothing behind.
      return true
    }
  }

  /// Runs a checkpoint of everything appended so far, to its end.
  package func checkpoint() throws(StorageError) {
    try checkOpen()
    try checkWritable()
    try writerLock.lock()
    do throws(StorageError) { try checkOpen() } catch {
      // Closed while this thread waited for the lock: the threads that run checkpoints are gone.
      writerLock.unlock()
      throw error
    }
    finishRunningCheckpoint()
    let isNeeded = withLog { $0 != nil } && (head.csn != meta.current.csn || isLogLengthened)
    if isNeeded, !queue.hasStopped {
      beginCheckpoint()
      writerLock.unlock()
      dispatchCheckpoint()
      finishRunningCheckpoint()
    } else {
      writerLock.unlock()
    }
    try queue.checkFailure()
    if isNeeded, let failure = checkpoints.lastFailure { throw failure }
  }

  /// Closes the engine; see `StorageEngine.close`.
  package func close() throws(StorageError) {
    try checkProcess()
    try writerLock.checkNotHeld()
    if closing.lock.lockIfFree() { return try closeAlone(hasWaited: false) }
    // Whoever closes waits for the engine's threads: one of those must not wait for whoever closes.
    guard !services.areCurrent else { throw closingElsewhereError() }
    try closing.lock.lock()
    try closeAlone(hasWaited: true)
  }

  /// Closes the engine, unless somebody else has; has the lock of those who close, and gives it up.
  ///
  /// - Parameter hasWaited: whether somebody else was at it, whose failure is the caller's, too.
  private func closeAlone(hasWaited: Bool) throws(StorageError) {
    defer { closing.lock.unlock() }
    guard openFlag.isOpen else {
      if hasWaited, let failure = closing.failure { throw failure }
      return
    }
    shortenBeforeClose()
    try writerLock.lock()
    do throws(StorageError) { try stopAdmission() } catch {
      writerLock.unlock()
      throw error
    }
    closing.failure = queue.failure
    let hasLog = withLog { $0 != nil }
    if closing.failure == nil, hasLog {
      beginCheckpoint(isFinal: true)
      // Here and now: nobody else writes any more.
      while stepCheckpoint() {}
      closing.failure = checkpoints.lastFailure
      if closing.failure == nil { cutFileAtClose() }
    }
    writerLock.unlock()
    services.stop()
    // After a failure a flush of another thread's may still be under way, and is told what the disk says.
    queue.waitForFlush()
    withLog { $0?.close() }
    if closing.failure == nil, hasLog, hasOwnFiles { removeAllLogs() }
    file.close()
    if let failure = closing.failure { throw failure }
  }

  /// Lets nobody begin any more, unless somebody is in the way. Writer lock held.
  private func stopAdmission() throws(StorageError) {
    // Before readers are counted: a checkpoint that runs holds a slot too.
    finishRunningCheckpoint()
    // Whoever comes between these two steps waits for the second: see `OpenFlag`.
    openFlag.beginClosing()
    let count = readerCount
    openFlag.endClosing(isOpen: count > 0)
    guard count == 0 else {
      let who = count == 1 ? "1 reader or pinned snapshot is" : "\(count) readers or pinned snapshots are"
      let what = count == 1 ? "it" : "them"
      throw StorageError(
        .inUse, "The database cannot be closed while \(who) alive. End \(what) first.", path: file.path)
    }
  }

  private func closingElsewhereError() -> StorageError {
    StorageError(
      .inUse,
      """
      Another thread is closing the database, and waits for this one, which is the database's own. Return, and let it \
      close.
      """, path: file.path)
  }
}

/// What those who close the engine at one time have in common.
final class ClosingState: @unchecked Sendable {
  // Sendable: safe because the failure is touched under the lock only.
  /// Held from the beginning to the end of closing, before all other locks.
  let lock = WriterLock()
  /// What closing failed with, if it did.
  var failure: StorageError?
}
