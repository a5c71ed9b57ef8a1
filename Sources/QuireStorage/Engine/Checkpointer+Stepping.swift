// What a checkpoint does, phase by phase, and what its end leaves.

internal import Synchronization

extension Checkpointer {
  // MARK: Stepping

  /// Does the next piece of work of the running checkpoint, or of what makes the log longer; false if there is none.
  ///
  /// A failure that leaves the disk's state unknown stops all writing; any other leaves everything as before, and the
  /// next checkpoint tries again.
  @discardableResult
  package func step() -> Bool {
    let run: CheckpointRun
    switch gate.current {
    case nil: return false
    case .lengthening(let job): return step(job)
    case .checkpoint(let current): run = current
    }
    do throws(CheckpointFailure) {
      try advance(run)
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

  private func advance(_ run: CheckpointRun) throws(CheckpointFailure) {
    switch run.phase {
    case .preparing(let preparation):
      if isGivenUp.load(ordering: .acquiring) { throw .undone(openFlag.closedError(file.path)) }
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
      try log.checkFiles()
      if run.requiredLSN > queue.durableLSN { try log.waitUntilDurable(run.requiredLSN) }
      run.phase = .preparing(.pages)
    case .pages:
      // Not while tree pages are written: a write may take its time, and nothing that readers evict meanwhile could be
      // used again.
      if run.pages.looksPagesUp { _ = slots.enterEpoch(run.slot) }
      defer { slots.exitEpoch(run.slot) }
      let hasMore = try run.pages.step()
      if !hasMore {
        // Before the length is settled, which would hide that the file has been cut.
        try log.checkFiles()
        // And that before anybody spills behind the end of the file.
        try settleLength(run)
        run.phase = .preparing(.segment)
        gate.endPages()
      }
    case .segment:
      if !run.isFinal { run.next = try log.prepareNextSegment() }
      run.phase = .preparing(.sync)
    case .sync:
      try log.checkFiles()
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
      if !run.isFinal, log.exists {
        let isHeaderWritten = run.next?.isNewFile ?? false
        run.isProven = try log.prove(
          run.meta.checkpointNumber, next: run.next?.segment, isHeaderWritten: isHeaderWritten)
      }
      run.phase = .completing(.held)
    case .held:
      // The checkpoint is complete without this; what cannot be written now stays in memory until the next one.
      if gate.beginPages() {
        do throws(StorageError) { try writeHeldPages(before: run.state.csn) } catch {}
        gate.endPages()
      }
      run.phase = .done
    }
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
    try log.checkFiles()
    run.leavesFiles = run.next?.isNewFile == true || log.isLengthened
    assert(run.requiredLSN <= queue.durableLSN, "a meta page is written before the log below it is durable")
    let root = run.pages.catalogRoot
    run.meta.catalog = PageRoot(number: root.reference.pageNumber, checksum: root.checksum, level: root.level)
    run.meta.treeCount = root.count
    run.meta.freeMap = run.pages.freeMapRoot
    if let next = run.next { run.meta.segments.append(next.segment.descriptor) }
  }

  /// The meta page is durable: what it names is the newest checkpoint.
  private func didWriteMeta(_ run: CheckpointRun) {
    watch.noteGrowth(to: Int(run.meta.pageCount) * store.pageSize)
    assert(run.meta.pageCount >= 2, "a file has its meta pages")
    assert(run.meta.checkpointNumber >= meta.current.checkpointNumber, "checkpoints have ascending numbers")
    allocator.finishCheckpoint(run.meta.checkpointNumber)
    run.pages.finish()
  }

  // MARK: Ending

  private func finish(_ run: CheckpointRun) {
    // The slot is given up last: as long as the frozen snapshot is announced, no frame that raced with this checkpoint
    // can be freed, so that its entry still tells where it was written to.
    assert(run.failure == nil, "a checkpoint that failed is done")
    reclaimer.finishCheckpoint(
      of: run.state.csn, oldSlots: run.pages.oldSlots, isDone: true, raiseHorizon: raiseHorizon)
    slots.end(run.slot)
    counters.checkpoints.wrappingAdd(1, ordering: .relaxed)
    counters.pagesWritten.wrappingAdd(run.pages.pagesWritten, ordering: .relaxed)
    if let next = run.next { log.cut(next.segment) }
    if run.leavesFiles, hasOwnFiles { log.removeFiles(except: run.meta.segments) }
    gate.end(nil)
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
      let horizon = resources.head.csn.add(0, ordering: .sequentiallyConsistent).newValue + 1
      store.translationHorizon = horizon
      if resources.head.csn.add(0, ordering: .sequentiallyConsistent).newValue + 1 == horizon { return horizon }
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
      run.next?.segment.file.close()
    case .unknown:
      isDurable = false
      // Its places stay taken, and its files stay: the meta page may be on the disk, and a transaction that is still
      // running must not write over what it names.
      run.next?.segment.file.close()
    }
    run.failure = failure
    pace.stop()
    reclaimer.finishCheckpoint(
      of: run.state.csn, oldSlots: run.pages.oldSlots, isDone: isDurable, raiseHorizon: raiseHorizon)
    slots.end(run.slot)
    gate.end(failure.reason)
    reclaimer.collect()
    if failure.reason.code == .suspended { return }
    tellOfFailedCheckpoint(failure.reason)
  }

  /// Tells the app, on a thread that holds no lock: what listens is its log handler, which may ask for anything.
  func tellOfFailedCheckpoint(_ error: StorageError) {
    let tell = environment.checkpointDidFail
    if environment.scheduling == .threads {
      // Closing, or without another thread: then here.
      do throws(StorageError) { return try threads.runAction { tell(error) } } catch {}
    }
    CallOut.check()
    tell(error)
  }

  /// Gives back what a checkpoint has taken that counts for nothing.
  private func giveBack(_ run: CheckpointRun) {
    run.pages.undo()
    guard let next = run.next, next.isNewFile else { return }
    // What cannot be removed now is overwritten when its number comes up again.
    do throws(StorageError) { try logFiles.remove(next.segment.descriptor.fileIndex) } catch {}
  }

  /// Writes home what only readers of snapshots before `csn` can see, if it takes up more than its share: no checkpoint
  /// would ever write it, and a pin that is held for hours must not take memory from everybody else.
  ///
  /// Nobody else writes pages of trees meanwhile, and everything that the state at `csn` reaches has been written: what
  /// this writes stands where no map will ever say that it is in use.
  func writeHeldPages(before csn: CSN) throws(StorageError) {
    guard store.dirtyCount > store.pool.budget / 8 else { return }
    let held = reclaimer.announceHeld(below: csn)
    defer { for (slot, _) in held { slots.end(slot) } }
    guard !held.isEmpty else { return }
    let values = ValueWriter(store)
    let writer = PageWriter(store: store, allocator: allocator, reclaimer: reclaimer, for: .heldPages)
    defer {
      reclaimer.retireSlots(writer.oldSlots)
      counters.pagesSpilled.wrappingAdd(writer.pagesWritten, ordering: .relaxed)
    }
    // Frames are protected by the snapshot alone; an epoch would keep everything that is evicted while the others are
    // written.
    for (slot, _) in held { slots.exitEpoch(slot) }
    do throws(StorageError) {
      try values.write(reclaimer.heldValues(of: held.map(\.snapshot.csn)))
      for (_, snapshot) in held {
        for tree in trees(of: snapshot) { try writer.writeAll(tree.reference) }
      }
    } catch {
      writer.abandon()
      throw error
    }
    if writer.pagesWritten > 0 || values.writtenCount > 0 { try synchronizePages() }
  }
}
