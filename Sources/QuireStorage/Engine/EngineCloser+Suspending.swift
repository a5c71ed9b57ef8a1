// Giving the files up without writing them home, so that another engine may open them.

extension EngineCloser {
  /// Makes what was committed durable, lets nobody begin any more, and closes the files as they are; see
  /// `EngineCore.suspend`.
  func suspend(_ core: EngineCore, until deadline: UInt64?) throws(StorageError) {
    try inTurn(core) { (_) throws(StorageError) in try suspendAlone(core, until: deadline) }
  }

  private func suspendAlone(_ core: EngineCore, until deadline: UInt64?) throws(StorageError) {
    if core.openFlag.isSuspended { return }
    guard core.openFlag.isOpen else { throw core.closedError() }
    // First of all, so that those who wait in line for the writer lock are sent away, and not waited for.
    core.openFlag.beginSuspension()
    let permit: WriterPermit
    do throws(StorageError) { permit = try lockWriter(core, until: deadline) } catch {
      core.openFlag.endSuspension()
      throw error
    }
    do throws(StorageError) { try waitForReaders(core, until: deadline) } catch {
      core.openFlag.endSuspension()
      core.writerLock.unlock(permit)
      throw error
    }
    // Nothing can be refused from here on.
    core.checkpointer.giveUp()
    core.checkpointer.finishRunning()
    var failure = core.queue.failure
    if failure == nil {
      do throws(StorageError) { try core.queue.flush() } catch { failure = core.queue.failure ?? error }
    }
    core.writerLock.unlock(permit)
    core.threads.stop()
    core.queue.waitForFlush()
    core.log.close()
    core.file.close()
    if let failure { throw failure }
  }

  /// Waits for the transaction that runs.
  private func lockWriter(_ core: EngineCore, until deadline: UInt64?) throws(StorageError) -> WriterPermit {
    guard let deadline else { return try core.writerLock.lock() }
    while true {
      if let permit = core.writerLock.lockIfFree() { return permit }
      try pause(core, until: deadline, "A write transaction is")
    }
  }

  /// Waits for the reads that run. Pinned snapshots do not count: none of them is read any more.
  private func waitForReaders(_ core: EngineCore, until deadline: UInt64?) throws(StorageError) {
    while true {
      let count = core.readerCount - core.restingPinCount
      if count <= 0 { return }
      try pause(core, until: deadline, count == 1 ? "1 reader is" : "\(count) readers are")
    }
  }

  /// Waits a moment.
  ///
  /// - Throws: `inUse` if it has been waited for long enough.
  private func pause(_ core: EngineCore, until deadline: UInt64?, _ who: String) throws(StorageError) {
    if let deadline, Pause.nanoseconds >= deadline {
      throw StorageError(
        .inUse, "The database cannot be suspended while \(who) at work. End what takes long, or wait for it.",
        path: core.file.path)
    }
    Pause.sleep(microseconds: 200)
  }
}

extension EngineCore {
  /// Makes what was committed durable, waits for the transactions that run, and gives the files up as they are, with
  /// their log: when this returns they are no more locked, and can be opened by anybody. The engine is of no use
  /// afterwards; its calls throw `suspended`. A checkpoint that has not written its meta page is given up.
  ///
  /// Pinned snapshots do not stand in the way. What they show cannot be read any more.
  ///
  /// - Parameter deadline: until when transactions are waited for, by `Pause.nanoseconds`; for ever if nil.
  /// - Throws: `inUse` if a transaction takes longer, and then the engine is as open as before; `closed`,
  ///   `nestedWrite`, `forkedProcess`; `failStop` if the log could not be flushed: the files are given up all the same.
  package func suspend(until deadline: UInt64?) throws(StorageError) { try closer.suspend(self, until: deadline) }

  /// Whether the files have been given up by `suspend`, or are about to be.
  package var isSuspended: Bool { openFlag.isSuspended }

  /// Whether this process has the files open, and they are neither closed nor given up.
  package var isOpen: Bool { openFlag.awaitDecision() }
}
