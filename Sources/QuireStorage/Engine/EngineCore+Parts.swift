// Appending records, and streaming long ones in parts while their transaction runs.

internal import Synchronization

extension EngineCore {
  /// Appends what the running transaction's record holds, as a part or as the commit. Writer lock held.
  ///
  /// - Returns: the LSN behind the record; nil if a mark has come in between and taken the room that there was, or if
  ///   writing has stopped.
  func appendRecord(_ kind: LogRecordKind) throws(AppendFailure) -> LSN? {
    try withLogOrStop { (log) throws(AppendFailure) -> LSN? in
      // Looked at under the latch: nothing follows half a record.
      guard let log, !queue.hasStopped else { return nil }
      let startsBlock = startsBlock(log)
      guard log.hasRoom(forBody: context.log.bodyByteCount, startsBlock: startsBlock) else { return nil }
      return try log.append(
        context.log, kind: kind, csn: context.csn, durableLSN: queue.durableLSN,
        durableCheckpoint: queue.durableCheckpoint, startsBlock: startsBlock)
    }
  }

  private func startsBlock(_ log: LogWriter) -> Bool { options.alignsLogGroups && log.endLSN <= queue.durableLSN }

  /// Appends the body of the running transaction's record as a part. Called between two of its operations.
  ///
  /// - Returns: false if that cannot be; the record is then given up. If the reason is a failure of the log, the
  ///   transaction will not commit either.
  func appendPart() -> Bool {
    if outgrowsData { return false }
    do throws(StorageError) {
      try checkProcess()
      try queue.checkFailure()
      if withLog({ $0 == nil }) { try activateLog() }
      // Behind the first part no checkpoint may begin, and only one brings another segment: what is left of this one
      // need not do for all that comes.
      if context.log.partCount == 0 { payOwedCheckpoint() }
      while true {
        try queue.checkFailure()
        guard makeRoomBehindParts() else { return false }
        do throws(AppendFailure) { if try appendRecord(.part) != nil { return true } } catch { return false }
      }
    } catch {
      return false
    }
  }

  /// Whether the running transaction has become longer than all that was there before it. Nearly all pages are its own
  /// then, and full of what it has put: to write them home at once is no more than to log it, and nobody has to do it a
  /// second time.
  private var outgrowsData: Bool {
    let streamedByteCount = context.log.streamedByteCount
    guard streamedByteCount >= environment.unloggedByteCount else { return false }
    // Free places are among those of commits that no checkpoint has seen: rather too much data than too little.
    let used = Int(allocator.pageCount) + store.frames.dirtyCount - context.unspilledCount
    return streamedByteCount > used * store.pageSize
  }

  /// Makes room for the next record of a transaction that streams. It may go on in the next segment, which the meta
  /// page names already, and have another one named, but no checkpoint begins there: recovery from its meta page would
  /// miss the parts before. It begins when the transaction has ended.
  ///
  /// - Returns: false if there is no room, and the record must be given up.
  func makeRoomBehindParts() -> Bool {
    let byteCount = context.log.bodyByteCount
    while true {
      enum Room {
        case here
        case behindCheckpoint
        case afterSwitch
        case never
      }
      // None begins as long as this thread holds the writer lock.
      let isRunning = checkpoints.current != nil
      let room = withLog { log -> Room in
        guard let log else { return .never }
        if log.hasRoom(forBody: byteCount, startsBlock: startsBlock(log)) { return .here }
        // Its end brings the next segment. One that has named it already may still be running.
        if isRunning { return .behindCheckpoint }
        guard let next = log.next else { return .never }
        return LogWriter.fits(body: byteCount, segmentByteCount: next.descriptor.byteCount) ? .afterSwitch : .never
      }
      switch room {
      case .here: return true
      case .never: return false
      case .behindCheckpoint: finishRunningCheckpoint()
      case .afterSwitch: leaveSegment()
      }
    }
  }

  /// Begins the checkpoint that the log owes since it has gone on in its last segment, once half of that is used.
  /// Called when a transaction has ended; writer lock held.
  ///
  /// A log that has become longer has most of its room in the last segment. A checkpoint at the beginning of that would
  /// write home, for a little log, what the transactions to come touch once more. The other half is for the time that
  /// the checkpoint takes.
  func beginOwedCheckpoint() {
    if owesCheckpoint, !lacksSegment.load(ordering: .relaxed), isInFirstHalfOfLastSegment { return }
    payOwedCheckpoint()
  }

  private var isInFirstHalfOfLastSegment: Bool {
    withLog { log in
      guard let log, log.next == nil else { return false }
      return log.position < log.current.descriptor.byteCount / 2
    }
  }

  /// Begins the checkpoint that the log owes, if it does and none runs; that one may fail. Writer lock held.
  func payOwedCheckpoint() {
    guard owesCheckpoint || lacksSegment.load(ordering: .relaxed), checkpoints.current == nil else { return }
    owesCheckpoint = false
    lacksSegment.store(false, ordering: .relaxed)
    guard !queue.hasStopped, withLog({ $0 != nil && $0?.next == nil }) else { return }
    beginCheckpoint()
    dispatchCheckpoint()
  }

  /// Begins a checkpoint of the newest appended commit in the midst of a transaction: when memory is short. Writer lock
  /// held. Waits for the checkpoint that runs, not for the one that it begins; so it is called between two operations,
  /// with no address of a page in hand.
  ///
  /// A transaction that streams, that is, `context.log.partCount` is not 0, commits by checkpoint then; any other goes
  /// on as before. False if there is nothing to write yet, as nothing has been logged, or if writing has stopped.
  @discardableResult
  package func beginCheckpointInTransaction() -> Bool {
    finishRunningCheckpoint()
    guard !queue.hasStopped, withLog({ $0 != nil }) else { return false }
    beginCheckpoint()
    dispatchCheckpoint()
    return true
  }

  /// Called at every freeze, with the log latch and the writer lock held. A meta page must not name a position behind
  /// parts of a transaction that may still commit: recovery from it would find the commit and not the parts. So the
  /// running transaction, if it streams, gives its record up and commits by checkpoint.
  func giveUpStreamedRecord() {
    if context.log.partCount > 0 { context.log.giveUp() }
  }

  /// Keeps parts well below the size of a segment.
  func limitParts() {
    context.log.partByteCount = min(environment.partByteCount, desiredSegmentByteCount / 8)
  }
}
