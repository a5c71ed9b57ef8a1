// How a record gets into the log: in one piece, in parts, or not at all.

internal import Synchronization

/// Appends the record of the running transaction, and makes room for it.
///
/// Holds no state of its own: whether the record streams, or was given up, the context's buffer knows.
struct RecordAppender {
  private let log: LogManager
  private let checkpointer: Checkpointer

  private let queue: CommitQueue
  private let context: WriteContext

  init(_ log: LogManager, _ checkpointer: Checkpointer) {
    (self.log, self.checkpointer) = (log, checkpointer)
    (queue, context) = (log.queue, log.context)
  }

  /// Appends the record of the commit; nil if it is too long for the log. Nearly always there is room for it: that is
  /// found out by appending it, under one latch.
  func appendCommit(_ permit: borrowing WriterPermit) throws(CommitFailure) -> LSN? {
    assert(context.savepointMarks.isEmpty, "a transaction is committed inside a savepoint")
    while true {
      if !context.log.isGivenUp {
        do throws(AppendFailure) { if let endLSN = try log.appendRecord(.commit, permit) { return endLSN } } catch {
          switch error {
          case .refused(let error): throw .rolledBack(error)
          // The file may hold all of the record, although the call has failed.
          case .unknown: throw .unknown(queue.outcomeUnknown())
          }
        }
      }
      do throws(StorageError) { guard try makeWayForCommit(permit) else { return nil } } catch {
        throw .rolledBack(error)
      }
    }
  }

  /// After a record could not be appended: makes the log, or room in it. False if the record is too long for it.
  private func makeWayForCommit(_ permit: borrowing WriterPermit) throws(StorageError) -> Bool {
    try queue.checkFailure()
    if !log.exists { try log.activate(permit) }
    return try makeRoom(permit)
  }

  /// Makes room for the record in the log: by moving on to the next segment, which the log owes a checkpoint unless it
  /// may become longer, after waiting for the one that runs. False if the record is too long for any segment there is.
  private func makeRoom(_ permit: borrowing WriterPermit) throws(StorageError) -> Bool {
    guard !context.log.isGivenUp else { return false }
    // No checkpoint may freeze a position behind the parts of a transaction that is still to commit.
    if context.log.partCount > 0 { return makeRoomBehindParts(permit) }
    while true {
      switch log.room(forBody: context.log.bodyByteCount, permit) {
      case .here: return true
      case .never: return false
      case .afterSwitch:
        // A checkpoint that has named its next segment may still be running.
        checkpointer.finishRunning()
        checkpointer.leaveSegment(permit)
      case .later:
        // The log is full while a checkpoint runs, or since one has failed.
        if !checkpointer.isRunning {
          checkpointer.begin(permit)
          checkpointer.dispatch()
        }
        checkpointer.finishRunning()
        try queue.checkFailure()
        if let failure = checkpointer.lastFailure { throw failure }
        // Its mark may have found room in the next segment only, and then that is the last one.
        if log.with({ $0?.next == nil }) { log.noteOwedCheckpoint(permit) }
      }
    }
  }

  // MARK: Parts

  /// Appends the body of the running transaction's record as a part. Called between two of its operations.
  ///
  /// - Returns: false if that cannot be; the record is then given up. If the reason is a failure of the log, the
  ///   transaction will not commit either.
  func appendPart(_ permit: borrowing WriterPermit) -> Bool {
    if outgrowsData { return false }
    do throws(StorageError) {
      try log.checkProcess()
      try queue.checkFailure()
      if !log.exists { try log.activate(permit) }
      // Behind the first part no checkpoint may begin, and only one brings another segment: what is left of this one
      // need not do for all that comes.
      if context.log.partCount == 0 { checkpointer.beginOwed(permit) }
      while true {
        try queue.checkFailure()
        guard makeRoomBehindParts(permit) else { return false }
        do throws(AppendFailure) { if try log.appendRecord(.part, permit) != nil { return true } } catch {
          return false
        }
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
    guard streamedByteCount >= log.environment.unloggedByteCount else { return false }
    // Free places are among those of commits that no checkpoint has seen: rather too much data than too little.
    let used = Int(log.allocator.pageCount) + log.store.frames.dirtyCount - context.unspilledCount
    return streamedByteCount > used * log.store.pageSize
  }

  /// Makes room for the next record of a transaction that streams. It may go on in the next segment, which the meta
  /// page names already, and have another one named, but no checkpoint begins there: recovery from its meta page would
  /// miss the parts before. It begins when the transaction has ended.
  ///
  /// - Returns: false if there is no room, and the record must be given up.
  private func makeRoomBehindParts(_ permit: borrowing WriterPermit) -> Bool {
    while true {
      // Looked at first: nothing begins as long as this thread holds the writer lock, but what runs may end.
      let isRunning = checkpointer.isRunning
      let room = log.room(forBody: context.log.bodyByteCount, permit)
      switch room {
      case .here: return true
      case .never: return false
      // The end of what runs brings the next segment, or has brought it already.
      case .later, .afterSwitch:
        if isRunning {
          checkpointer.finishRunning()
        } else if room == .later {
          return false
        } else {
          checkpointer.leaveSegment(permit)
        }
      }
    }
  }
}
