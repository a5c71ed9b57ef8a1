// Write transactions, from begin to acknowledgement.

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
    do throws(StorageError) { try beginWrite() } catch { throw .rolledBack(error) }
    defer { giveBackMemory() }
    CallOut.check()
    let result: Result
    do {
      result = try body(WriteTransaction(context))
      try context.checkCommittable()
    } catch {
      let ticket = rollBack()
      // What the body saw of its predecessors must not be undone by a crash once the caller has heard of
      // it (hazard B4).
      do throws(StorageError) { try wait(ticket) } catch { throw .rolledBack(error) }
      throw .rolledBack(error)
    }
    do throws(CommitFailure) { return (result, try commit(willPublish)) } catch { throw WriteFailure(error) }
  }

  /// Runs `body` as a transaction that changes no content, and appends it as a commit that nobody waits for: its record
  /// has no operation of its own. If `body` returns false or throws, nothing remains of it.
  func rearrange(_ body: (WriteContext) throws(StorageError) -> Bool) throws(StorageError) {
    try beginWrite()
    do throws(StorageError) {
      guard try body(context) else {
        _ = rollBack()
        return
      }
      context.finishRecord()
      context.discardDeadExtents()
      try queue.checkFailure()
      try reservePlaces()
      let endLSN: LSN?
      // Whether the disk has it makes no difference: it changes no content.
      do throws(CommitFailure) { endLSN = try appendCommit() } catch { throw error.reason }
      guard let endLSN else {
        _ = rollBack()
        return
      }
      // Nobody waits for it; readers see it once it is durable, like any other.
      _ = publish(endLSN: endLSN, retiring: context.editor.superseded, waitsForFlush: options.durability.waitsForFlush)
    } catch {
      _ = rollBack()
      throw error
    }
  }

  // MARK: Begin

  private func beginWrite() throws(StorageError) {
    try checkOpen()
    try checkWritable()
    try writerLock.lock()
    do throws(StorageError) {
      try checkOpen()
      try queue.checkFailure()
      reclaimer.collect(into: context.editor.hand)
      throttle()
      // Looks at entries of frames, which are the head's, and at no page: no epoch to announce.
      context.begin(on: head)
    } catch {
      writerLock.unlock()
      throw error
    }
  }

  /// Ends a transaction without a commit; the ticket is for the state that it saw.
  private func rollBack() -> CommitTicket {
    // A forked child gives nothing back: locks inside may have been held by threads that are gone.
    if openFlag.isForked { return CommitTicket(lsn: nil) }
    context.rollback()
    releaseLists()
    slots.rest(writerSlot)
    let ticket = ticketForHead()
    beginOwedCheckpoint()
    writerLock.unlock()
    return ticket
  }

  private func ticketForHead() -> CommitTicket {
    CommitTicket(lsn: options.durability.waitsForFlush ? head.endLSN : nil, hasOwnCommit: false)
  }

  // MARK: Commit

  private func commit(_ willPublish: ((CSN) -> Void)?) throws(CommitFailure) -> CommitTicket {
    // First of all: a child that was forked in mid-transaction must touch nothing.
    do throws(StorageError) { try checkProcess() } catch { throw .rolledBack(error) }
    guard context.hasChanges else {
      willPublish?(head.csn)
      return rollBack()
    }
    do throws(CommitFailure) {
      do throws(StorageError) { try prepareCommit() } catch { throw .rolledBack(error) }
      guard let endLSN = try appendCommit() else { return try commitByCheckpoint(willPublish) }
      willPublish?(context.csn)
      return publish(
        endLSN: endLSN, retiring: context.editor.superseded, waitsForFlush: options.durability.waitsForFlush)
    } catch {
      // In memory; what the disk has of it, `error` says.
      _ = rollBack()
      throw error
    }
  }

  /// Completes the record, and makes sure of everything that can be had before a byte of it is written.
  private func prepareCommit() throws(StorageError) {
    context.finishRecord()
    context.discardDeadExtents()
    try queue.checkFailure()
    // Who waits for a flush is told at the end of that.
    if !options.durability.waitsForFlush, watch.isDue() { try checkFiles() }
    try context.packOwnLeaves()
    try reservePlaces()
    startCheckpointInsteadOfGrowing()
    // No page is looked into from here on. What follows may wait for a checkpoint, or be one, and whatever readers
    // have taken out of memory meanwhile would wait too, and add to it.
    slots.rest(writerSlot)
  }

  /// Appends the record of the commit; nil if it is too long for the log. Nearly always there is room for it: that is
  /// found out by appending it, under one latch.
  private func appendCommit() throws(CommitFailure) -> LSN? {
    while true {
      if !context.log.isGivenUp {
        do throws(AppendFailure) { if let endLSN = try appendRecord(.commit) { return endLSN } } catch {
          switch error {
          case .refused(let error): throw .rolledBack(error)
          // The file may hold all of the record, although the call has failed.
          case .unknown: throw .unknown(queue.outcomeUnknown())
          }
        }
      }
      do throws(StorageError) { guard try makeWayForCommit() else { return nil } } catch { throw .rolledBack(error) }
    }
  }

  /// After a record could not be appended: makes the log, or room in it. False if the record is too long for it.
  private func makeWayForCommit() throws(StorageError) -> Bool {
    try queue.checkFailure()
    if withLog({ $0 == nil }) { try activateLog() }
    return try makeRoom()
  }

  /// Makes room for the record in the log: by moving on to the next segment, which the log owes a checkpoint unless it
  /// may become longer, after waiting for the one that runs. False if the record is too long for any segment there is.
  private func makeRoom() throws(StorageError) -> Bool {
    guard !context.log.isGivenUp else { return false }
    // No checkpoint may freeze a position behind the parts of a transaction that is still to commit.
    if context.log.partCount > 0 { return makeRoomBehindParts() }
    let byteCount = context.log.bodyByteCount
    while true {
      enum Room {
        case here
        case afterSwitch
        case never
        case later
      }
      let room = withLog { log -> Room in
        guard let log else { return .never }
        if log.hasRoom(forBody: byteCount, startsBlock: options.alignsLogGroups) { return .here }
        if let next = log.next {
          return LogWriter.fits(body: byteCount, segmentByteCount: next.descriptor.byteCount) ? .afterSwitch : .never
        }
        return .later
      }
      switch room {
      case .here: return true
      case .never: return false
      case .afterSwitch:
        // A checkpoint that has named its next segment may still be running.
        finishRunningCheckpoint()
        leaveSegment()
      case .later:
        // The log is full while a checkpoint runs, or since one has failed.
        if checkpoints.current == nil {
          beginCheckpoint()
          dispatchCheckpoint()
        }
        finishRunningCheckpoint()
        try queue.checkFailure()
        if let failure = checkpoints.lastFailure { throw failure }
        // Its mark may have found room in the next segment only, and then that is the last one.
        if withLog({ $0?.next == nil }) { owesCheckpoint = true }
      }
    }
  }

  /// Makes the transaction the newest commit, and lets the next writer go.
  private func publish(
    endLSN: LSN, retiring superseded: some Sequence<SupersededPage>, waitsForFlush: Bool
  ) -> CommitTicket {
    let csn = context.csn
    let snapshot = makeSnapshot(csn: csn, endLSN: endLSN)
    reclaimer.retire(superseded, csn: csn.rawValue)
    allocator.commitAhead()
    context.didCommit()
    releaseLists()
    setHead(snapshot)
    slots.rest(writerSlot)
    // Under the writer lock, so that no addition is lost.
    counters.commits.store(counters.commits.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
    queue.enqueue(snapshot, lsn: endLSN, waitsForFlush: waitsForFlush)
    store.notePlenty()
    beginOwedCheckpoint()
    writerLock.unlock()
    if case .interval(let interval) = options.durability { services.requestFlush(after: interval) }
    return CommitTicket(lsn: waitsForFlush ? endLSN : nil)
  }

  /// Commits a transaction that is too large for the log by writing its pages home. The writer lock is kept to the end:
  /// a later commit in the log would otherwise be replayed on a state that lacks this one (hazard B1).
  ///
  /// The transaction has the fate of its checkpoint. Once the meta page is durable it is a commit, whatever comes after
  /// that, and before the first byte of it is written it is none.
  private func commitByCheckpoint(_ willPublish: ((CSN) -> Void)?) throws(CommitFailure) -> CommitTicket {
    finishRunningCheckpoint()
    growSegments()
    let csn = context.csn
    // Frames that the transaction both made and replaced: where they spilled to is not part of this checkpoint, and its
    // map must not call it used. They themselves stay the transaction's until it has succeeded.
    func isOwn(_ page: SupersededPage) -> Bool { page.birth == csn.rawValue && page.reference.isDirty }
    let own = context.superseded.lazy.filter { isOwn($0) }
    reclaimer.giveUpPlaces(of: own.map(\.reference.frame))
    // The map that this checkpoint writes is that of the new state: what the transaction replaced is free in it.
    reclaimer.retire(context.superseded.lazy.filter { !isOwn($0) }, csn: csn.rawValue)
    if hasLongLists { chargeTransaction() }
    let logged = withLog { $0?.lastCSN ?? CSN(0) }
    let required = withLog { $0?.endLSN ?? LSN(0) }
    let run = beginCheckpoint(
      CheckpointState(
        csn: csn, trees: context.trees, names: context.names, nextTreeID: context.treeIDCounter),
      requiredLSN: required, loggedCSN: logged, isFinal: false)
    while stepCheckpoint() {}
    switch run.failure {
    case nil, .durable:
      guard run.isProven || hasTwinWritten() else {
        takeBackUnloggedCommit(csn, before: logged)
        throw .unknown(queue.outcomeUnknown())
      }
    case .undone(let error):
      takeBackUnloggedCommit(csn, before: logged)
      throw .rolledBack(error)
    case .unknown:
      takeBackUnloggedCommit(csn, before: logged)
      throw .unknown(queue.outcomeUnknown())
    }
    withLog { $0?.endUnloggedCommit(remaining: csn) }
    willPublish?(csn)
    return publish(endLSN: withLog { $0?.endLSN ?? LSN(0) }, retiring: own, waitsForFlush: false)
  }

  /// Writes the newest meta page, which is durable and which nothing proves, to the other slot as well; false if that
  /// fails. A commit that stands in no log must stand in both: recovery goes over a page that is not proven, as the
  /// older one leads to everything that is in the log. With two that agree, whichever it goes over, the other is there.
  private func hasTwinWritten() -> Bool {
    var page = meta.current
    page.checkpointNumber += 1
    do throws(StorageError) {
      try writeMeta(page)
      return true
    } catch {
      return false
    }
  }

  private func takeBackUnloggedCommit(_ csn: CSN, before logged: CSN) {
    reclaimer.unretire(csn: csn.rawValue)
    withLog { $0?.endUnloggedCommit(remaining: logged) }
  }
}
