// Write transactions, from begin to acknowledgement.

internal import Synchronization

/// What a commit has to wait for.
package struct CommitTicket: Sendable {
  /// The LSN up to which the log must be durable; nil if the commit is acknowledged already.
  package let lsn: LSN?
}

extension EngineCore {
  /// Runs `body` as a write transaction and waits until its commit is acknowledged.
  package func write<Result>(_ body: (borrowing WriteTransaction) throws -> Result) throws -> Result {
    let (result, ticket) = try writeWithoutWaiting(body)
    try wait(ticket)
    return result
  }

  /// Waits for a commit.
  package func wait(_ ticket: CommitTicket) throws(StorageError) {
    // Nobody would ever wake a forked child.
    try checkProcess()
    if let lsn = ticket.lsn { try queue.wait(for: lsn) }
  }

  /// Runs `body` as a write transaction and appends its commit. The commit may be neither durable nor visible yet.
  ///
  /// - Parameter willPublish: called with the commit's number, or with that of the state it left as it was, under the
  ///   writer lock, when the commit can no longer fail but for the disk, and before any reader can see it.
  package func writeWithoutWaiting<Result>(
    _ body: (borrowing WriteTransaction) throws -> Result, willPublish: ((CSN) -> Void)? = nil
  ) throws -> (Result, CommitTicket) {
    try beginWrite()
    defer { giveBackMemory() }
    let result: Result
    do {
      result = try body(WriteTransaction(context))
      try context.checkCommittable()
    } catch {
      let ticket = rollBack()
      // What the body saw of its predecessors must not be undone by a crash once the caller has heard of
      // it (hazard B4).
      try wait(ticket)
      throw error
    }
    return (result, try commit(willPublish))
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
      guard let endLSN = try appendCommit() else {
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
    CommitTicket(lsn: options.durability.waitsForFlush ? head.endLSN : nil)
  }

  // MARK: Commit

  private func commit(_ willPublish: ((CSN) -> Void)?) throws(StorageError) -> CommitTicket {
    // First of all: a child that was forked in mid-transaction must touch nothing.
    try checkProcess()
    guard context.hasChanges else {
      willPublish?(head.csn)
      return rollBack()
    }
    context.finishRecord()
    context.discardDeadExtents()
    do throws(StorageError) {
      try queue.checkFailure()
      // Who waits for a flush is told at the end of that.
      if !options.durability.waitsForFlush, watch.isDue() { try checkFiles() }
      try context.packOwnLeaves()
      try reservePlaces()
      startCheckpointInsteadOfGrowing()
      // No page is looked into from here on. What follows may wait for a checkpoint, or be one, and whatever readers
      // have taken out of memory meanwhile would wait too, and add to it.
      slots.rest(writerSlot)
      guard let endLSN = try appendCommit() else { return try commitByCheckpoint(willPublish) }
      willPublish?(context.csn)
      return publish(
        endLSN: endLSN, retiring: context.editor.superseded, waitsForFlush: options.durability.waitsForFlush)
    } catch {
      _ = rollBack()
      throw error
    }
  }

  /// Appends the record of the commit; nil if it is too long for the log. Nearly always there is room for it: that is
  /// found out by appending it, under one latch.
  private func appendCommit() throws(StorageError) -> LSN? {
    while true {
      if !context.log.isGivenUp, let endLSN = try appendRecord(.commit) { return endLSN }
      if withLog({ $0 == nil }) { try activateLog() }
      guard try makeRoom() else { return nil }
    }
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
        if let failure = checkpoints.lastFailure { throw failure }
        // Its mark may have found room in the next segment only, and then that is the last one.
        if withLog({ $0?.next == nil }) { owesCheckpoint = true }
      }
    }
  }

  /// Makes the transaction the newest commit, and lets the next writer go.
  private func publish(
    endLSN: LSN, retiring superseded: some Sequence<SupersededPage>, waitsForFlush: Bool, isDurable: Bool = false
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
    queue.enqueue(snapshot, lsn: endLSN, waitsForFlush: waitsForFlush, isDurable: isDurable)
    store.notePlenty()
    beginOwedCheckpoint()
    writerLock.unlock()
    if case .interval(let interval) = options.durability { services.requestFlush(after: interval) }
    return CommitTicket(lsn: waitsForFlush ? endLSN : nil)
  }

  /// Commits a transaction that is too large for the log by writing its pages home. The writer lock is kept to the end:
  /// a later commit in the log would otherwise be replayed on a state that lacks this one (hazard B1).
  private func commitByCheckpoint(_ willPublish: ((CSN) -> Void)?) throws(StorageError) -> CommitTicket {
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
    beginCheckpoint(
      CheckpointState(
        csn: csn, trees: context.trees, names: context.names, nextTreeID: context.treeIDCounter),
      requiredLSN: required, loggedCSN: logged, isFinal: false)
    withLog { $0?.noteUnloggedCommit(csn) }
    while stepCheckpoint() {}
    if let failure = checkpoints.lastFailure {
      reclaimer.unretire(csn: csn.rawValue)
      withLog { $0?.noteUnloggedCommit(logged) }
      throw failure
    }
    willPublish?(csn)
    return publish(
      endLSN: withLog { $0?.endLSN ?? LSN(0) }, retiring: own, waitsForFlush: false, isDurable: true)
  }
}
