// Closing an engine once, however many threads ask for it.

/// Closes an engine, and remembers how that ended for the calls that come meanwhile.
///
/// Invariant: `failure` changes under `lock` only.
final class EngineCloser: @unchecked Sendable {
  // Sendable: safe because the failure is touched under the lock only.
  /// Held from the beginning to the end of closing, before all other locks.
  private let lock = ClosingLock()
  /// What closing failed with, if it did.
  private var failure: StorageError?

  /// Closes `core`; see `StorageEngine.close`.
  func close(_ core: EngineCore) throws(StorageError) {
    try inTurn(core) { (hasWaited) throws(StorageError) in try closeAlone(core, hasWaited: hasWaited) }
  }

  /// Runs `body`, which ends the use of the files, while no other thread does.
  ///
  /// - Parameter body: is told whether another thread was at it, whose failure is the caller's, too.
  func inTurn(_ core: EngineCore, _ body: (Bool) throws(StorageError) -> Void) throws(StorageError) {
    try core.checkProcess()
    try core.writerLock.checkNotHeld()
    if let turn = lock.takeIfFree() { return try takeTurn(hasWaited: false, turn, body) }
    // The thread that closes waits for the engine's threads: one of those must not wait for it.
    guard !core.threads.areCurrent else { throw closingElsewhereError(core) }
    try takeTurn(hasWaited: true, try lock.wait(), body)
  }

  private func takeTurn(
    hasWaited: Bool, _ turn: consuming ClosingPermit, _ body: (Bool) throws(StorageError) -> Void
  ) throws(StorageError) {
    do throws(StorageError) { try body(hasWaited) } catch {
      lock.unlock(turn)
      throw error
    }
    lock.unlock(turn)
  }

  private func closeAlone(_ core: EngineCore, hasWaited: Bool) throws(StorageError) {
    guard core.openFlag.isOpen else {
      core.openFlag.closeSuspended()
      if hasWaited, let failure { throw failure }
      return
    }
    core.maintainer.shortenBeforeClose(core)
    let permit = try core.writerLock.lock()
    do throws(StorageError) { try stopAdmission(core, permit) } catch {
      core.writerLock.unlock(permit)
      throw error
    }
    failure = core.queue.failure
    let hasLog = core.log.exists
    if failure == nil, hasLog {
      core.checkpointer.begin(isFinal: true, permit)
      // Here and now: nobody else can write.
      while core.checkpointer.step() {}
      failure = core.checkpointer.lastFailure
      if failure == nil { core.space.cutFileAtClose(permit) }
    }
    core.writerLock.unlock(permit)
    core.threads.stop()
    // After a failure a flush of another thread's may still be under way, and is told what the disk says.
    core.queue.waitForFlush()
    core.log.close()
    if failure == nil, hasLog, core.hasOwnFiles { core.log.removeAllFiles() }
    core.file.close()
    if let failure = failure { throw failure }
  }

  /// Lets nobody begin from here on, unless a reader is in the way.
  private func stopAdmission(_ core: EngineCore, _ permit: borrowing WriterPermit) throws(StorageError) {
    // Before readers are counted: a checkpoint that runs holds a slot too.
    core.checkpointer.finishRunning()
    // A call that comes between these two steps waits for the second: see `OpenFlag`.
    core.openFlag.beginClosing()
    let count = core.readerCount
    core.openFlag.endClosing(isOpen: count > 0)
    guard count == 0 else {
      let who = count == 1 ? "1 reader or pinned snapshot is" : "\(count) readers or pinned snapshots are"
      let what = count == 1 ? "it" : "them"
      throw StorageError(
        .inUse, "The database cannot be closed while \(who) alive. End \(what) first.", path: core.file.path)
    }
  }

  private func closingElsewhereError(_ core: EngineCore) -> StorageError {
    StorageError(
      .inUse,
      """
      Another thread is closing the database, and waits for this one, which is the database's own. Return, and let it \
      close.
      """, path: core.file.path)
  }
}
