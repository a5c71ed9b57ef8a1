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

  /// Runs a checkpoint of everything appended so far, to its end.
  package func checkpoint() throws(StorageError) {
    try checkOpen()
    try checkWritable()
    let isNeeded = try withWriterLock { permit in
      checkpointer.finishRunning()
      let isNeeded = log.exists && (head.csn != meta.current.csn || log.isLengthened)
      if isNeeded, !queue.hasStopped { checkpointer.begin(permit) }
      return isNeeded
    }
    if isNeeded {
      checkpointer.dispatch()
      checkpointer.finishRunning()
    }
    try queue.checkFailure()
    if isNeeded, let failure = checkpointer.lastFailure { throw failure }
  }

  /// Closes the engine; see `StorageEngine.close`.
  package func close() throws(StorageError) {
    try checkProcess()
    try writerLock.checkNotHeld()
    if let permit = closing.lock.lockIfFree() { return try closeAlone(hasWaited: false, permit) }
    // The thread that closes waits for the engine's threads: one of those must not wait for it.
    guard !services.areCurrent else { throw closingElsewhereError() }
    try closeAlone(hasWaited: true, try closing.lock.lock())
  }

  /// Closes the engine, unless another thread has, and ends the permit of `closing.lock`.
  ///
  /// - Parameter hasWaited: whether another thread was at it, whose failure is the caller's, too.
  private func closeAlone(hasWaited: Bool, _ closer: consuming WriterPermit) throws(StorageError) {
    do throws(StorageError) { try closeAlone(hasWaited: hasWaited) } catch {
      closing.lock.unlock(closer)
      throw error
    }
    closing.lock.unlock(closer)
  }

  private func closeAlone(hasWaited: Bool) throws(StorageError) {
    guard openFlag.isOpen else {
      if hasWaited, let failure = closing.failure { throw failure }
      return
    }
    maintainer.shortenBeforeClose(self)
    let permit = try writerLock.lock()
    do throws(StorageError) { try stopAdmission(permit) } catch {
      writerLock.unlock(permit)
      throw error
    }
    closing.failure = queue.failure
    let hasLog = log.exists
    if closing.failure == nil, hasLog {
      checkpointer.begin(isFinal: true, permit)
      // Here and now: nobody else can write.
      while checkpointer.step() {}
      closing.failure = checkpointer.lastFailure
      if closing.failure == nil { space.cutFileAtClose(permit) }
    }
    writerLock.unlock(permit)
    services.stop()
    // After a failure a flush of another thread's may still be under way, and is told what the disk says.
    queue.waitForFlush()
    log.close()
    if closing.failure == nil, hasLog, hasOwnFiles { log.removeAllFiles() }
    file.close()
    if let failure = closing.failure { throw failure }
  }

  /// Lets nobody begin from here on, unless a reader is in the way.
  private func stopAdmission(_ permit: borrowing WriterPermit) throws(StorageError) {
    // Before readers are counted: a checkpoint that runs holds a slot too.
    checkpointer.finishRunning()
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
