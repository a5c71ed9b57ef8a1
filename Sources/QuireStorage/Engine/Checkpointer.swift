// Checkpoints: begun, stepped, ended.

internal import Synchronization

/// Runs checkpoints, and all else that writes meta pages, one at a time.
///
/// Invariants:
/// 1. At most one checkpoint runs, or the log becomes longer.
/// 2. A checkpoint begins under the writer lock, and holds a reader slot for the snapshot that it froze until its end.
/// 3. While a checkpoint runs, the meta page, the catalog and the free map belong to the thread that steps it; while
///    none runs, to the thread that holds the writer lock.
package final class Checkpointer: EngineComponent, @unchecked Sendable {
  // Sendable: safe because the gate has a lock of its own, and one thread at a time steps what it holds.
  package let resources: EngineResources
  let log: LogManager
  let space: SpaceManager
  let gate = CheckpointGate()
  let pace = CommitPace()
  /// Whether the files are about to be closed as they are.
  let isGivenUp = Atomic<Bool>(false)

  init(_ resources: EngineResources, _ log: LogManager, _ space: SpaceManager) {
    self.resources = resources
    self.log = log
    self.space = space
  }

  /// What runs.
  var current: CheckpointJob? { gate.current }
  /// Whether something runs. Nothing begins as long as the caller holds the writer lock.
  package var isRunning: Bool { gate.current != nil }
  /// What the last checkpoint failed with.
  var lastFailure: StorageError? { gate.lastFailure }

  // MARK: Starting

  /// Freezes the newest appended commit, moves the log on to its next segment at exactly that point, and lets the
  /// checkpoint run. No checkpoint runs.
  ///
  /// - Parameter isFinal: whether the result needs no log: at close.
  @discardableResult
  func begin(isFinal: Bool = false, _ permit: borrowing WriterPermit) -> CheckpointRun {
    begin(frozenHead(permit), requiredLSN: log.endLSN, loggedCSN: head.csn, isFinal: isFinal, permit)
  }

  /// The newest appended commit, as a checkpoint sees it.
  private func frozenHead(_ permit: borrowing WriterPermit) -> CheckpointState {
    CheckpointState(csn: head.csn, trees: trees(of: head), names: head.names, nextTreeID: head.nextTreeID)
  }

  /// As above, for a state that may not be in the log: that of a commit by checkpoint.
  @discardableResult
  func begin(
    _ state: CheckpointState, requiredLSN: LSN, loggedCSN: CSN, isFinal: Bool, _ permit: borrowing WriterPermit
  ) -> CheckpointRun {
    assert(writerLock.isHeldByThisThread, "a checkpoint begins without the writer lock")
    assert(!isRunning, "one checkpoint at a time")
    assert(state.csn >= meta.current.csn, "a checkpoint holds less than the one before it")
    assert(loggedCSN <= state.csn, "the log has more than the checkpoint")
    var page = meta.current
    page.checkpointNumber += 1
    page.csn = state.csn
    page.loggedCSN = loggedCSN
    page.treeCount = state.trees.count
    page.nextRowID = context.rowIDCounter
    // Not the context's: a transaction that is about to be logged behind this checkpoint may have made trees already,
    // and its record would then seem to make them a second time.
    page.nextTreeID = state.nextTreeID
    log.freeze(into: &page, unlogged: state.csn > loggedCSN ? state.csn : nil, isFinal: isFinal, permit)
    // After a checkpoint nothing is dirty, and every lent slot holds a page.
    context.editor.pages.giveBackFreeFrames()
    let slot = slots.announceOwn(state.csn)
    // Frames are protected by the snapshot; only the catalog's pages are looked up, and announced for themselves.
    slots.exitEpoch(slot)
    space.trimFile(permit)
    reclaimer.beginCheckpoint()
    allocator.settleAhead(includingRunning: state.csn > head.csn)
    let pages = CheckpointPages(
      state, store: store, allocator: allocator, reclaimer: reclaimer, catalog: catalog, freeMap: freeMap)
    let run = CheckpointRun(
      state: state, pages: pages, slot: slot, requiredLSN: requiredLSN, meta: page, isFinal: isFinal)
    begin(.checkpoint(run), permit)
    return run
  }

  /// Makes `job` what runs.
  func begin(_ job: CheckpointJob, _ permit: borrowing WriterPermit) { gate.begin(job) }

  /// Writes the newest appended commit home as what recovery leaves: no log writer knows where the log ended, but
  /// `scan` does.
  ///
  /// - Throws: what the checkpoint failed with.
  func settle(_ scan: LogScan, _ permit: borrowing WriterPermit) throws(StorageError) {
    try MetaPageFallback(meta: meta, logFiles: logFiles).chooseMetaSlot()
    let run = begin(frozenHead(permit), requiredLSN: LSN(0), loggedCSN: head.csn, isFinal: true, permit)
    run.meta.segments = []
    run.meta.logOffset = 0
    run.meta.chain = scan.endChain
    let lastLSN = meta.current.segments.last?.endLSN ?? scan.endLSN
    run.meta.lsn = LSN(UInt64(LogLayout.align(Int(lastLSN.rawValue), to: LogLayout.blockByteCount)))
    while step() {}
    if let failure = lastFailure { throw failure }
  }

  /// Hands what has begun to the checkpoint thread; when stepped, the test does it. If there is no such thread and the
  /// system gives none, it is over when this returns: others may come to wait for it, and nobody else would do it.
  func dispatch() {
    if !threads.runCheckpoint({ [self] in run() }) { while step() {} }
  }

  /// Has what runs end at its next step, unless its meta page has been written. For good: the files are about to be
  /// closed.
  func giveUp() { isGivenUp.store(true, ordering: .releasing) }

  /// Waits until nothing runs; when stepped, runs it here and now.
  func finishRunning() {
    switch environment.scheduling {
    case .threads: gate.wait()
    case .stepped: while step() {}
    }
  }

  /// Waits until what runs writes no pages any more, and keeps it from doing so until `endSpill`. It may have to sync
  /// them yet. When stepped, runs it so far.
  func beginSpill(_ permit: borrowing WriterPermit) {
    while !gate.beginSpill() {
      switch environment.scheduling {
      case .threads: gate.wait(forPages: true)
      case .stepped: step()
      }
    }
  }

  /// Ends that.
  func endSpill(_ permit: borrowing WriterPermit) { gate.endSpill() }

  /// Waits for the checkpoint that was dispatched, and takes what it has freed.
  ///
  /// - Throws: `failStop`, or what the checkpoint failed with.
  func complete() throws(StorageError) {
    finishRunning()
    try queue.checkFailure()
    if let failure = lastFailure { throw failure }
    reclaimer.collect()
  }

  /// Takes what runs to its end, a checkpoint's values throttled. On the checkpoint's thread.
  private func run() {
    var throttle: CheckpointThrottle?
    defer { pace.end(isDone: false) }
    while step() {
      guard case .checkpoint(let run) = gate.current, !run.isFinal else { continue }
      notePace(run)
      guard case .preparing(.pages) = run.phase, let written = run.pages.valuesWritten else { continue }
      if throttle == nil { throttle = makeThrottle(valuesWritten: written) }
      throttle?.wait(written: written) {
        gate.hasWaiters || isMemoryShort ? nil : log.with { $0?.endLSN }
      }
    }
  }

  private func makeThrottle(valuesWritten: Int) -> CheckpointThrottle? {
    log.with { log in
      guard let log else { return nil }
      let values = valuesWritten + store.unwrittenCount
      // The tree pages come behind, and need room too.
      let share = Double(values) / Double(max(1, values + store.frames.dirtyCount))
      let room = Double(log.current.descriptor.byteCount - log.position) * share
      return CheckpointThrottle(
        start: log.current.descriptor.lsn(at: log.position), logRoom: Int(room), total: values)
    }
  }

  /// Whether dirty pages have come half-way from where a checkpoint starts to where transactions wait for it.
  private var isMemoryShort: Bool {
    let (soft, hard) = (store.softDirtyLimit, store.hardDirtyLimit)
    return store.dirtyCount > soft + (hard - soft) / 2
  }
}
