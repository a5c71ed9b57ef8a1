// Write transactions, from begin to publication.

internal import Synchronization

/// What a commit has to wait for.
package struct CommitTicket: Sendable {
  /// The LSN up to which the log must be durable; nil if the commit is acknowledged already.
  package let lsn: LSN?
  /// Whether the transaction has made a commit. One that has not waits for what it has seen of those before it.
  package var hasOwnCommit = true
}

extension EngineCore {
  /// Runs `body` as a write transaction and waits until its commit is acknowledged.
  package func write<Result>(_ body: (borrowing WriteTransaction) throws -> Result) throws -> Result {
    let result: Result
    let ticket: CommitTicket
    do throws(WriteFailure) { (result, ticket) = try writeWithoutWaiting(body) } catch { throw error.reason }
    try wait(ticket)
    return result
  }

  /// Waits for a commit.
  ///
  /// - Throws: `outcomeUnknown` if nobody knows whether the disk has it; `failStop` if the transaction had none of its
  ///   own, and nobody knows whether the disk has what it saw.
  package func wait(_ ticket: CommitTicket) throws(StorageError) {
    // Nobody would ever wake a forked child.
    try checkProcess()
    guard let lsn = ticket.lsn else { return }
    do throws(StorageError) { try queue.wait(for: lsn) } catch {
      throw ticket.hasOwnCommit ? error : stopped(error)
    }
  }

  /// Why writing has stopped, in the place of an error that speaks of a commit where there is none.
  package func stopped(_ error: StorageError) -> StorageError { queue.failure ?? error }

  /// Runs `body` as a write transaction and appends its commit. The commit may be neither durable nor visible yet.
  ///
  /// - Parameter willPublish: called with the commit's number, or with that of the state it left as it was, under the
  ///   writer lock, when the commit can no longer fail but for the disk, and before any reader can see it.
  package func writeWithoutWaiting<Result>(
    _ body: (borrowing WriteTransaction) throws -> Result, willPublish: ((CSN) -> Void)? = nil
  ) throws(WriteFailure) -> (Result, CommitTicket) {
    let permit: WriterPermit
    do throws(StorageError) { permit = try beginWrite() } catch { throw .rolledBack(error) }
    defer { memory.giveBackMemory() }
    CallOut.check()
    let result: Result
    do {
      result = try body(WriteTransaction(context, permit))
      try context.checkCommittable()
    } catch {
      let ticket = rollBack(permit)
      // What the body saw of its predecessors must not be undone by a crash once the caller has heard of it (hazard
      // B4).
      do throws(StorageError) { try wait(ticket) } catch { throw .rolledBack(error) }
      throw .rolledBack(error)
    }
    do throws(CommitFailure) { return (result, try commit(willPublish, permit)) } catch { throw WriteFailure(error) }
  }

  /// Runs `body` as a transaction that changes no content, and appends it as a commit that nobody waits for: its record
  /// has no operation but those of `onRearrangement`. If `body` returns false or throws, nothing remains of it.
  package func rearrange(
    _ body: (WriteContext, borrowing WriterPermit) throws(StorageError) -> Bool
  ) throws(StorageError) {
    let permit = try beginWrite()
    do throws(StorageError) {
      guard try body(context, permit) else {
        _ = rollBack(permit)
        return
      }
      if let note = onRearrangement.withLock({ $0 }) { try note(WriteTransaction(context, permit)) }
      guard let endLSN = try appendRearrangement(permit) else {
        _ = rollBack(permit)
        return
      }
      // Nobody waits for it; readers see it once it is durable, like any other.
      _ = publish(
        endLSN: endLSN, retiring: context.superseded, waitsForFlush: options.durability.waitsForFlush, permit)
    } catch {
      _ = rollBack(permit)
      throw error
    }
  }

  /// Appends the record of such a transaction; nil if there is no room for it.
  private func appendRearrangement(_ permit: borrowing WriterPermit) throws(StorageError) -> LSN? {
    context.finishRecord()
    context.discardDeadExtents()
    try queue.checkFailure()
    try checkpointer.reservePlaces(permit)
    // Whether the disk has it makes no difference: it changes no content.
    do throws(CommitFailure) { return try appender.appendCommit(permit) } catch { throw error.reason }
  }

  // MARK: Begin

  private func beginWrite() throws(StorageError) -> WriterPermit {
    try checkOpen()
    try checkWritable()
    let permit = try writerLock.lock()
    do throws(StorageError) {
      try checkOpen()
      try queue.checkFailure()
      reclaimer.collect(into: context.editor.pages.freeFrames, permit)
      memory.throttle(permit)
      checkpointer.paceCommit(permit)
      // Looks at entries of frames, which are the head's, and at no page: no epoch to announce.
      context.begin(on: commitHead.snapshot)
      assert(context.savepointMarks.isEmpty, "a transaction begins inside a savepoint")
      return permit
    } catch {
      writerLock.unlock(permit)
      throw error
    }
  }

  /// Ends a transaction without a commit; the ticket is for the state that it saw.
  private func rollBack(_ permit: consuming WriterPermit) -> CommitTicket {
    // A forked child gives nothing back: locks inside may have been held by threads that are gone.
    if openFlag.isForked {
      permit.forget()
      return CommitTicket(lsn: nil)
    }
    assert(writerLock.isHeldByThisThread, "a transaction is rolled back without the writer lock")
    context.rollback()
    memory.releaseLists(permit)
    slots.exitEpoch(writerSlot)
    let ticket = ticketForHead()
    checkpointer.beginOwedWhenDue(permit)
    writerLock.unlock(permit)
    return ticket
  }

  private func ticketForHead() -> CommitTicket {
    CommitTicket(lsn: options.durability.waitsForFlush ? head.endLSN : nil, hasOwnCommit: false)
  }

  // MARK: Commit

  private func commit(
    _ willPublish: ((CSN) -> Void)?, _ permit: consuming WriterPermit
  ) throws(CommitFailure) -> CommitTicket {
    do throws(CommitFailure) {
      // First of all: a child that was forked in mid-transaction must touch nothing.
      do throws(StorageError) { try checkProcess() } catch { throw .rolledBack(error) }
      guard context.hasChanges else {
        willPublish?(head.csn)
        return rollBack(permit)
      }
      do throws(StorageError) { try prepareCommit(permit) } catch { throw .rolledBack(error) }
      if let endLSN = try appender.appendCommit(permit) {
        willPublish?(context.csn)
        return publish(
          endLSN: endLSN, retiring: context.superseded, waitsForFlush: options.durability.waitsForFlush, permit)
      }
      memory.chargeLongLists(permit)
      let endLSN = try checkpointer.commitUnlogged(permit)
      willPublish?(context.csn)
      return publish(endLSN: endLSN, retiring: checkpointer.ownSuperseded, waitsForFlush: false, permit)
    } catch {
      // In memory; what the disk has of it, `error` says.
      _ = rollBack(permit)
      throw error
    }
  }

  /// Completes the record, and makes sure of everything that can be had before a byte of it is written.
  private func prepareCommit(_ permit: borrowing WriterPermit) throws(StorageError) {
    assert(context.waitingPutCount == 0, "a transaction is committed whose puts wait")
    context.finishRecord()
    context.discardDeadExtents()
    try queue.checkFailure()
    // Commits that wait for a flush are told at the end of that.
    if !options.durability.waitsForFlush, watch.isDue() { try log.checkFiles() }
    try context.packOwnLeaves()
    try checkpointer.reservePlaces(permit)
    checkpointer.beginInsteadOfGrowing(permit)
    // No page is looked into from here on. What follows may wait for a checkpoint, or be one, and whatever readers
    // have taken out of memory meanwhile would wait too, and add to it.
    slots.exitEpoch(writerSlot)
  }

  /// Makes the transaction the newest commit, and lets the next writer go.
  private func publish(
    endLSN: LSN, retiring superseded: some Sequence<SupersededPage>, waitsForFlush: Bool,
    _ permit: consuming WriterPermit
  ) -> CommitTicket {
    assert(writerLock.isHeldByThisThread, "a commit is published without the writer lock")
    assert(context.csn.rawValue == head.csn.rawValue + 1, "a commit follows the one before it")
    assert(context.failure == nil, "a transaction that failed is committed")
    assert(endLSN >= head.endLSN, "a commit ends before the one before it")
    let csn = context.csn
    let snapshot = resources.makeSnapshot(csn: csn, endLSN: endLSN, permit)
    reclaimer.retire(superseded, csn: csn.rawValue, permit)
    if context.hasSpilled { reclaimer.releaseSpilled(csn: csn.rawValue, permit) }
    allocator.commitAhead(permit)
    context.didCommit()
    memory.releaseLists(permit)
    commitHead.advance(to: snapshot, permit)
    slots.exitEpoch(writerSlot)
    // Under the writer lock, so that no addition is lost.
    counters.commits.store(counters.commits.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
    queue.enqueue(snapshot, lsn: endLSN, waitsForFlush: waitsForFlush, permit)
    store.notePlenty()
    checkpointer.beginOwedWhenDue(permit)
    writerLock.unlock(permit)
    if case .interval(let interval) = options.durability { threads.requestFlush(after: interval) }
    // No flush tells when the burst is over.
    if !waitsForFlush, options.maintainsWhenIdle { threads.requestMaintenanceOnce() }
    return CommitTicket(lsn: waitsForFlush ? endLSN : nil)
  }
}

// MARK: What a running transaction asks for

extension EngineCore: MaintenanceHost {}

extension EngineCore: WriteHost {
  package var fileSystem: any FileSystem { environment.fileSystem }

  package func checkCanWrite() throws(StorageError) {
    try checkProcess()
    try queue.checkFailure()
  }

  package func makeRoom() throws(StorageError) {
    try writerLock.withHeld { (permit) throws(StorageError) in try memory.makeRoom(permit) }
  }

  package func writePagesAhead() throws(StorageError) {
    try writerLock.withHeld { (permit) throws(StorageError) in try memory.writeAhead(permit) }
  }

  package func reservePlaces(forExtent count: Int, isWrittenNow: Bool) throws(StorageError) -> Bool {
    try checkProcess()
    let hasLog = log.exists
    // Replay writes to a file whose last checkpoint no record marks as durable: only its end can grow.
    guard hasLog || isRecovered else { return false }
    // A value written far behind the end would hide that the file has been cut.
    if isWrittenNow { try checkDataFile() }
    try writerLock.withHeld { (permit) throws(StorageError) in
      try space.withExtent(of: count, permit) { () throws(StorageError) in try checkpointer.reservePlaces(permit) }
    }
    return hasLog
  }

  package func appendPart() -> Bool {
    do throws(StorageError) {
      return try writerLock.withHeld { (permit) throws(StorageError) in appender.appendPart(permit) }
    } catch {
      return false
    }
  }
}
