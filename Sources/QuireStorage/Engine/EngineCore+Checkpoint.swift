// Running checkpoints.

internal import Synchronization

extension EngineCore {
  // MARK: Starting

  /// Freezes the newest appended commit, moves the log on to its next segment at exactly that point, and lets the
  /// checkpoint run. Writer lock held; no checkpoint runs.
  ///
  /// - Parameter isFinal: whether the result needs no log: at close.
  @discardableResult
  func beginCheckpoint(isFinal: Bool = false) -> CheckpointRun {
    beginCheckpoint(frozenHead(), requiredLSN: queueEndLSN(), loggedCSN: head.csn, isFinal: isFinal)
  }

  /// The newest appended commit, as a checkpoint sees it.
  func frozenHead() -> CheckpointState {
    CheckpointState(csn: head.csn, trees: trees(of: head), names: head.names, nextTreeID: head.nextTreeID)
  }

  private func queueEndLSN() -> LSN { withLog { $0?.endLSN ?? meta.current.lsn } }

  /// As above, for a state that may not be in the log: that of a commit by checkpoint.
  @discardableResult
  func beginCheckpoint(
    _ state: CheckpointState, requiredLSN: LSN, loggedCSN: CSN, isFinal: Bool
  ) -> CheckpointRun {
    var page = meta.current
    page.checkpointNumber += 1
    page.csn = state.csn
    page.loggedCSN = loggedCSN
    page.treeCount = state.trees.count
    page.nextRowID = context.rowIDCounter
    // Not the context's: a transaction that is about to be logged behind this checkpoint may have made trees already,
    // and its record would then seem to make them a second time.
    page.nextTreeID = state.nextTreeID
    withLog { log in
      guard let log else { return }
      giveUpStreamedRecord()
      page.chain = log.chain
      if isFinal {
        page.segments = []
        page.logOffset = 0
        // Behind the start of the segment, too: a mark may be the first record there, and must not look newer.
        let end = max(log.endLSN, log.current.descriptor.lsn(at: log.position))
        page.lsn = LSN(UInt64(LogLayout.align(Int(end.rawValue), to: LogLayout.blockByteCount)))
        return
      }
      noteSegmentUse(log)
      // Without a next segment, after a checkpoint that failed or a transaction that streamed, the log goes on where
      // it is.
      if log.next != nil { log.switchSegment() }
      page.segments = [log.current.descriptor]
      page.logOffset = log.position
      page.lsn = log.current.descriptor.lsn(at: log.position)
      frozenLSN = page.lsn
      if state.csn > loggedCSN { log.beginUnloggedCommit(state.csn) }
    }
    // Whoever asks after a checkpoint finds that nothing is dirty, and every slot with a page in it.
    context.editor.giveBackSupply()
    let slot = slots.announceOwn(state.csn)
    // Frames are protected by the snapshot; only the catalog's pages are looked up, and announced for themselves.
    slots.rest(slot)
    trimFile()
    reclaimer.beginCheckpoint()
    allocator.settleAhead(includingRunning: state.csn > head.csn)
    let pages = CheckpointPages(
      state, store: store, allocator: allocator, reclaimer: reclaimer, catalog: catalog, freeMap: freeMap)
    let run = CheckpointRun(
      state: state, pages: pages, slot: slot, requiredLSN: requiredLSN, meta: page, isFinal: isFinal)
    checkpoints.begin(.checkpoint(run))
    return run
  }

  /// Has the run finished by the checkpoint thread; when stepped, by the test. If there is no such thread and the
  /// system gives none, the run is over when this returns: somebody may come to wait for it, and nobody else would do
  /// it.
  func dispatchCheckpoint() {
    if !services.runCheckpoint({ [self] in runCheckpoint() }) { while stepCheckpoint() {} }
  }

  /// Waits until no checkpoint runs; when stepped, runs it here and now.
  func finishRunningCheckpoint() {
    switch environment.scheduling {
    case .threads: checkpoints.wait()
    case .stepped: while stepCheckpoint() {}
    }
  }

  /// Waits for the checkpoint that was dispatched, and takes what it has freed.
  ///
  /// - Throws: `failStop`, or what the checkpoint failed with.
  func completeCheckpoint() throws(StorageError) {
    finishRunningCheckpoint()
    try queue.checkFailure()
    if let failure = checkpoints.lastFailure { throw failure }
    reclaimer.collect()
  }

  // MARK: Stepping

  /// Does the next piece of work of the running checkpoint, or of what makes the log longer; false if there is none.
  ///
  /// A failure that leaves the disk's state unknown stops all writing; any other leaves everything as before, and the
  /// next checkpoint tries again.
  @discardableResult
  package func stepCheckpoint() -> Bool {
    let run: CheckpointRun
    switch checkpoints.current {
    case nil: return false
    case .lengthening(let job): return step(job)
    case .checkpoint(let current): run = current
    }
    do throws(CheckpointFailure) {
      try step(run)
      if case .done = run.phase {
        finish(run)
        return false
      }
      return true
    } catch {
      abandon(run, error)
      return false
    }
  }

  private func step(_ run: CheckpointRun) throws(CheckpointFailure) {
    switch run.phase {
    case .preparing(let preparation):
      do throws(StorageError) { try prepare(run, preparation) } catch { throw .undone(error) }
    case .meta:
      do throws(StorageError) { try prepareMeta(run) } catch { throw .undone(error) }
      do throws(StorageError) { try writeMeta(run.meta) } catch { throw .unknown(error) }
      didWriteMeta(run)
      run.phase = .completing(run.isFinal ? .twin : .mark)
    case .completing(let completion):
      do throws(StorageError) { try complete(run, completion) } catch { throw .durable(error) }
    case .done:
      break
    }
  }

  /// Does what comes before the meta page.
  private func prepare(_ run: CheckpointRun, _ preparation: CheckpointRun.Preparation) throws(StorageError) {
    switch preparation {
    case .log:
      try queue.checkFailure()
      try checkFiles()
      if run.requiredLSN > queue.durableLSN { try waitForLog(run.requiredLSN) }
      run.phase = .preparing(.pages)
    case .pages:
      // Not while tree pages are written: a write may take its time, and nothing that readers evict meanwhile could be
      // used again.
      if run.pages.looksPagesUp { _ = slots.refresh(run.slot) }
      defer { slots.rest(run.slot) }
      let hasMore = try run.pages.step()
      if !hasMore { run.phase = .preparing(.segment) }
    case .segment:
      if !run.isFinal, withLog({ $0 != nil }) { try prepareNextSegment(run) }
      run.phase = .preparing(.sync)
    case .sync:
      // Before the length is settled, which would hide that the file has been cut.
      try checkFiles()
      try settleLength(run)
      try synchronizePages()
      run.phase = .meta
    }
  }

  /// Does what comes behind the meta page.
  private func complete(_ run: CheckpointRun, _ completion: CheckpointRun.Completion) throws(StorageError) {
    switch completion {
    case .twin:
      // Two pages that agree need no log and no proof.
      run.meta.checkpointNumber += 1
      try writeMeta(run.meta)
      // Nothing older can be fallen back to.
      allocator.prove(run.meta.checkpointNumber)
      run.phase = .completing(.mark)
    case .mark:
      if !run.isFinal, withLog({ $0 != nil }) {
        run.isProven = try prove(run.meta.checkpointNumber, next: run.next, isHeaderWritten: run.madeFile)
      }
      run.phase = .completing(.held)
    case .held:
      // The checkpoint is complete without this; what cannot be written now stays in memory until the next one.
      do throws(StorageError) { try writeHeldPages(before: run.state.csn) } catch {}
      run.phase = .done
    }
  }

  /// Waits until the log is durable up to `lsn`: for the engine itself, which has no commit of its own there.
  private func waitForLog(_ lsn: LSN) throws(StorageError) {
    do throws(StorageError) { try queue.wait(for: lsn) } catch { throw stopped(error) }
  }

  /// Makes the file as long as the meta page will say. Places at the end that were given back by a checkpoint which
  /// failed are counted but were never written: a meta page that counts them would look like a truncated file.
  private func settleLength(_ run: CheckpointRun) throws(StorageError) {
    run.meta.pageCount = run.pages.pageCount
    let needed = Int(run.meta.pageCount) * store.pageSize
    let byteCount: Int
    do throws(SystemError) { byteCount = try file.status().byteCount } catch {
      throw StorageError(writing: error, path: file.path)
    }
    // Blocks, not a hole: a page that the map calls free can be written without asking the disk for space.
    if byteCount < needed { try file.allocateFully(from: byteCount, count: needed - byteCount) }
  }

  /// Completes the meta page; nothing of it is written.
  private func prepareMeta(_ run: CheckpointRun) throws(StorageError) {
    try queue.checkFailure()
    try checkFiles()
    run.leavesFiles = run.madeFile || isLogLengthened
    let root = run.pages.catalogRoot
    run.meta.catalog = PageRoot(number: root.reference.pageNumber, checksum: root.checksum, level: root.level)
    run.meta.treeCount = root.count
    run.meta.freeMap = run.pages.freeMapRoot
    if let next = run.next { run.meta.segments.append(next.descriptor) }
  }

  /// The meta page is durable: what it names is the newest checkpoint.
  private func didWriteMeta(_ run: CheckpointRun) {
    watch.noteGrowth(to: Int(run.meta.pageCount) * store.pageSize)
    allocator.finishCheckpoint(run.meta.checkpointNumber)
    run.pages.finish()
  }

  /// Writes a meta page and syncs it; records testify to it from now on.
  func writeMeta(_ page: MetaPage) throws(StorageError) {
    do throws(StorageError) { try meta.write(page) } catch {
      // Which meta page the disk holds is unknown now.
      store.noteFailedSync()
      queue.fail(error)
      throw error
    }
    counters.dataSyncs.wrappingAdd(1, ordering: .relaxed)
    queue.durableCheckpoint = page.checkpointNumber
  }

  // MARK: Ending

  /// Writes and syncs the record that testifies to the meta page `number`, once the log has the segment that this page
  /// names: the record may be the first one there.
  ///
  /// - Returns: false if there is no room for the record: the next one that is synced testifies in its place.
  @discardableResult
  package func prove(_ number: UInt64, next: OpenSegment?, isHeaderWritten: Bool) throws(StorageError) -> Bool {
    let lsn: LSN?
    do throws(AppendFailure) {
      lsn = try withLogOrStop { (log) throws(AppendFailure) -> LSN? in
        guard let log else { return nil }
        if let next { log.setNext(next) }
        // Behind a record whose write has failed nothing is found.
        if let failure = queue.failure { throw .unknown(failure) }
        do throws(StorageError) {
          if let next, !isHeaderWritten { try logFiles.writeHeader(next.descriptor, to: next.file) }
        } catch { throw error.code == .diskFull ? .refused(error) : .unknown(error) }
        let durable = queue.durableLSN
        if let lsn = try log.appendMark(markBuffer, durableLSN: durable, durableCheckpoint: number) { return lsn }
        // This segment has no block left for the mark.
        guard log.next != nil else { return nil }
        log.switchSegment()
        return try log.appendMark(markBuffer, durableLSN: durable, durableCheckpoint: number)
      }
    } catch {
      switch error {
      case .refused: return false
      case .unknown(let error): throw error
      }
    }
    guard let lsn else { return false }
    try waitForLog(lsn)
    return true
  }

  private func finish(_ run: CheckpointRun) {
    // The slot is given up last: as long as the frozen snapshot is announced, no frame that raced with this checkpoint
    // can be freed, so that its entry still tells where it was written to.
    reclaimer.finishCheckpoint(
      of: run.state.csn, oldSlots: run.pages.oldSlots, horizon: raiseHorizon(), isDone: true)
    slots.end(run.slot)
    counters.checkpoints.wrappingAdd(1, ordering: .relaxed)
    counters.pagesWritten.wrappingAdd(run.pages.pagesWritten, ordering: .relaxed)
    cutNextSegment(run)
    if run.leavesFiles, hasOwnFiles { removeLogs(except: run.meta.segments) }
    checkpoints.end(nil)
    reclaimer.collect()
    store.notePlenty()
  }

  /// From now on, copies of branch pages made up to the running transaction are translated.
  ///
  /// No transaction may copy pages of one up to the horizon and not know the horizon: its copies, born above it, would
  /// keep references to frames whose entries are about to go. The head is therefore looked at again. If it has not
  /// moved since before the horizon was raised, the next transaction begins after that and sees the horizon; if it has,
  /// the horizon is raised once more. Head and horizon are stored and loaded in one total order for this.
  private func raiseHorizon() -> UInt64 {
    while true {
      // A read-modify-write: everything flipped before is visible to a transaction that begins after it.
      let horizon = headCSN.add(0, ordering: .sequentiallyConsistent).newValue + 1
      store.translationHorizon = horizon
      if headCSN.add(0, ordering: .sequentiallyConsistent).newValue + 1 == horizon { return horizon }
    }
  }

  private func abandon(_ run: CheckpointRun, _ failure: CheckpointFailure) {
    let isDurable: Bool
    switch failure {
    case .durable: isDurable = true
    case .undone:
      isDurable = false
      // Where writing has stopped for another reason, places and files stay as they are, too.
      if !queue.hasStopped { giveBack(run) }
      run.next?.file.close()
    case .unknown:
      isDurable = false
      // Its places stay taken, and its files stay: the meta page may be on the disk, and a transaction that is still
      // running must not write over what it names.
      run.next?.file.close()
    }
    run.failure = failure
    reclaimer.finishCheckpoint(
      of: run.state.csn, oldSlots: run.pages.oldSlots, horizon: raiseHorizon(), isDone: isDurable)
    slots.end(run.slot)
    checkpoints.end(failure.reason)
    reclaimer.collect()
    tellOfFailedCheckpoint(failure.reason)
  }

  /// Has the app told, on a thread that holds no lock: what listens is its log handler, which may ask for anything.
  func tellOfFailedCheckpoint(_ error: StorageError) {
    let tell = environment.checkpointDidFail
    if environment.scheduling == .threads {
      // Closing, or without another thread: then here.
      do throws(StorageError) { return try runAction { tell(error) } } catch {}
    }
    CallOut.check()
    tell(error)
  }

  /// Gives back what a checkpoint has taken that counts for nothing.
  private func giveBack(_ run: CheckpointRun) {
    run.pages.undo()
    guard run.madeFile, let next = run.next else { return }
    // What cannot be removed now is overwritten when its number comes up again.
    do throws(StorageError) { try logFiles.remove(next.descriptor.fileIndex) } catch {}
  }
}
