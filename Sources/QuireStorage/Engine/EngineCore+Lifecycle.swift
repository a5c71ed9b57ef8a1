// Checkpoints on call, async writing, closing.

internal import Synchronization

extension EngineCore {
  /// A write for an async caller: runs on the writer thread, which goes on to the next transaction while this one's
  /// commit waits for the disk.
  package func writeAndNotify<Result: Sendable>(
    _ body: @Sendable (borrowing WriteTransaction) throws -> Result,
    _ continuation: CheckedContinuation<Result, any Error>
  ) {
    do throws(WriteFailure) {
      let (result, ticket) = try writeWithoutWaiting(body)
      guard let lsn = ticket.lsn else { return continuation.resume(returning: result) }
      // The core stays alive until whoever waits has been told.
      queue.notify(whenDurable: lsn) { [self] failure in
        if let failure {
          continuation.resume(throwing: ticket.hasOwnCommit ? failure : stopped(failure))
        } else {
          continuation.resume(returning: result)
        }
        _ = self
      }
    } catch {
      continuation.resume(throwing: error.reason)
    }
  }

  /// Writes, when a burst of commits is over, a record that testifies that all of it is durable; without it, damage to
  /// the last group of commits could not be told from the torn end of a crash (hazard A12). It is not synced: what it
  /// proves does not depend on it.
  ///
  /// - Returns: false if commits are on their way, so that it is too early.
  @discardableResult
  package func appendQuietMark() -> Bool {
    guard queue.failure == nil else { return true }
    do throws(AppendFailure) {
      return try withLogOrStop { (log) throws(AppendFailure) -> Bool in
        guard let log, !log.endsWithMark, queue.failure == nil else { return true }
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
    if isNeeded, queue.failure == nil {
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
    shortenBeforeClose()
    try writerLock.lock()
    do throws(StorageError) { try checkOpen() } catch {
      writerLock.unlock()
      return
    }
    // Before readers are counted: a checkpoint that runs holds a slot too.
    finishRunningCheckpoint()
    openFlag.set(isOpen: false)
    guard readerCount == 0 else {
      openFlag.set(isOpen: true)
      writerLock.unlock()
      throw StorageError(
        .inUse,
        "The database cannot be closed while \(readerCount) readers or pinned snapshots are alive. End them first.",
        path: file.path)
    }
    var failure = queue.failure
    let hasLog = withLog { $0 != nil }
    if failure == nil, hasLog {
      beginCheckpoint(isFinal: true)
      // Here and now: nobody else writes any more.
      while stepCheckpoint() {}
      failure = checkpoints.lastFailure
      if failure == nil { cutFileAtClose() }
    }
    writerLock.unlock()
    services.stop()
    withLog { $0?.close() }
    if failure == nil, hasLog, hasOwnFiles { removeAllLogs() }
    file.close()
    if let failure { throw failure }
  }
}
