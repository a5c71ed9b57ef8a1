// Checkpoints on call, and async writing.

internal import Synchronization

extension EngineCore {
  /// What an async caller writes.
  package typealias WriteBody<Result> = @Sendable (borrowing WriteTransaction) throws -> Result

  /// A write for an async caller: runs on the writer thread, which goes on to the next transaction while this one's
  /// commit waits for the disk.
  package func writeAndNotify<Result: Sendable>(_ job: AsyncJob<WriteBody<Result>, Result>) {
    guard job.begin() else { return }
    do throws(WriteFailure) {
      let (result, ticket) = try writeWithoutWaiting { tx throws in try job.perform { work in try work(tx) } }
      guard let lsn = ticket.lsn else { return job.end(.success(result)) }
      // The core stays alive until the caller has been told.
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
  package func close() throws(StorageError) { try closer.close(self) }
}
