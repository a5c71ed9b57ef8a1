// Checkpoints that are begun for the space or the log that they bring.

internal import Synchronization

extension Checkpointer {
  // MARK: Places

  /// Makes sure that the running transaction can be written home. Costs a comparison of a few numbers as long as there
  /// are places; no lock, no call to the system.
  ///
  /// - Throws: `diskFull`, `inputOutput`: nothing of the transaction has been logged.
  @inline(__always) func reservePlaces(_ permit: borrowing WriterPermit) throws(StorageError) {
    if !space.suffices(permit) { try makePlaces(permit) }
  }

  /// First lengthens the file. If the disk is full, a checkpoint may still give back what the newest commits replaced.
  @inline(never) private func makePlaces(_ permit: borrowing WriterPermit) throws(StorageError) {
    // A file that was cut must not be made longer again.
    try checkDataFile()
    try space.beginProof(permit)
    space.measureOverhead(isCheckpointRunning: isRunning, permit)
    reclaimer.collect()
    if space.missingPlaces <= 0 { return }
    waitInsteadOfGrowing(permit)
    let failure: StorageError
    do throws(StorageError) { return try space.lengthenFile(permit) } catch { failure = error }
    guard failure.code == .diskFull else { throw failure }
    if try space.provePlaces(permit), space.missingPlaces <= 0 { return }
    finishRunning()
    reclaimer.collect()
    if space.missingPlaces <= 0 { return }
    // A log that has become longer takes space that a checkpoint gives back.
    let isWorthwhile = head.csn != meta.current.csn || log.isLengthened
    guard log.exists, isWorthwhile, !queue.hasStopped else { throw failure }
    begin(permit)
    dispatch()
    finishRunning()
    reclaimer.collect()
    if space.missingPlaces > 0 { try space.lengthenFile(permit) }
  }

  /// Starts a checkpoint, and does not wait for it, when the newest commits, and one that only removes is the last of
  /// them, have replaced half of the file, or an eighth where the disk is short of space. Deletes write little log:
  /// without this, the copies of all leaves of a tree could come to stand beside the originals. Costs a transaction a
  /// load or two as long as that is not so.
  ///
  /// Not for puts: they fill the log, and the checkpoint that comes of that writes each page once for many of them.
  /// With one for every eighth of the file, random puts would write their page home each time.
  func beginInsteadOfGrowing(_ permit: borrowing WriterPermit) {
    guard context.isShrinking, space.isWorthCheckpoint(allocator.supersededCount, oneIn: space.shrinkingShare),
      context.log.partCount == 0, !isRunning, log.exists, !queue.hasStopped
    else { return }
    begin(permit)
    dispatch()
  }

  /// Waits for the checkpoint that runs if a transaction that only removes lacks places, and the checkpoint is about to
  /// free an eighth of the file: removing must not be faster than what makes the file shorter. Where the disk has as
  /// much space again as the file takes, only one that lacks an eighth of the file itself waits; many small ones
  /// lengthen the file by no more than as many puts would.
  private func waitInsteadOfGrowing(_ permit: borrowing WriterPermit) {
    guard context.isShrinking, isRunning, space.isWorthCheckpoint(allocator.unprovenCount, oneIn: 8) else { return }
    if space.hasAmpleDisk, !space.isWorthCheckpoint(space.missingPlaces, oneIn: 8) { return }
    finishRunning()
    reclaimer.collect()
  }

  // MARK: Debts of the log

  /// Begins the checkpoint that the log owes since it has gone on in its last segment, once half of that is used.
  /// Called when a transaction has ended.
  ///
  /// A log that has become longer has most of its room in the last segment. A checkpoint at the beginning of that would
  /// write home, for a little log, what the transactions to come touch once more. The other half is for the time that
  /// the checkpoint takes.
  func beginOwedWhenDue(_ permit: borrowing WriterPermit) {
    if log.debtCanWait(permit) { return }
    beginOwed(permit)
  }

  /// Begins the checkpoint that the log owes, if it does and nothing runs; that one may fail.
  func beginOwed(_ permit: borrowing WriterPermit) {
    guard log.hasDebt(permit), !isRunning else { return }
    log.clearDebt(permit)
    guard !queue.hasStopped, log.with({ $0 != nil && $0?.next == nil }) else { return }
    begin(permit)
    dispatch()
  }

  // MARK: In the midst of a transaction

  /// Begins a checkpoint of the newest appended commit in the midst of a transaction: when memory is short. Waits for
  /// the checkpoint that runs, not for the one that it begins; so it is called between two operations, with no address
  /// of a page in hand.
  ///
  /// A transaction that streams, that is, `context.log.partCount` is not 0, commits by checkpoint then; any other goes
  /// on as before. False if there is nothing to write yet, as nothing has been logged, or if writing has stopped.
  @discardableResult
  package func beginInTransaction(_ permit: borrowing WriterPermit) -> Bool {
    assert(writerLock.isHeldByThisThread, "a checkpoint begins without the writer lock")
    finishRunning()
    guard !queue.hasStopped, log.exists else { return false }
    begin(permit)
    dispatch()
    return true
  }
}
