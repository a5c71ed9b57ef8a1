// Keeping dirty pages within the budget.

internal import Synchronization

extension EngineCore {
  /// Dirty pages that a checkpoint begins at: five eighths of the budget. With less, one would begin over and over
  /// where all data could be dirty and still fit.
  var softDirtyLimit: Int { store.pool.budget / 8 * 5 }
  /// Dirty pages that writers stop at until some have been written home: three quarters of the budget.
  private var hardDirtyLimit: Int { store.hardDirtyLimit }

  /// Has the running transaction ask for relief at the hard limit.
  func limitDirtyPages() { context.setDirtyLimit(hardDirtyLimit) }

  /// Before a transaction begins: starts a checkpoint at the soft limit, waits for it at the hard one.
  func throttle() {
    limitDirtyPages()
    guard store.dirtyCount > softDirtyLimit, withLog({ $0 != nil }) else { return }
    if checkpoints.current == nil, head.csn != meta.current.csn {
      beginCheckpoint()
      dispatchCheckpoint()
    }
    if store.dirtyCount > hardDirtyLimit { finishRunningCheckpoint() }
  }

  /// Between two operations of the running transaction, when too many pages are dirty: waits for the checkpoint that
  /// runs, or has one written of what was committed before, and writes the transaction's own pages home if that is not
  /// enough. They stay its own: nothing refers to their places before it commits, and a rollback gives them back.
  ///
  /// - Throws: `failStop`, `diskFull`, `inputOutput`. The transaction is as it was before the operation.
  func relieveMemory() throws(StorageError) {
    try checkProcess()
    slots.rest(writerSlot)
    defer { _ = slots.refresh(writerSlot) }
    finishRunningCheckpoint()
    // Looked at after the checkpoint, which may have failed for good: a meta page of unknown fate may then refer to
    // places that look free.
    try queue.checkFailure()
    if !options.isReadOnly { try checkFiles() }
    context.releaseDead()
    chargeTransaction()
    reclaimer.collect()
    try writeValues()
    if committedDirtyCount > store.pool.budget / 8 { try checkpointCommitted() }
    if store.frames.dirtyCount > softDirtyLimit { try spill() }
    reclaimer.collect()
    // What readers hold, or savepoints have replaced, may still be there: the next attempt waits until there is more.
    let left = store.dirtyCount
    context.setDirtyLimit(max(hardDirtyLimit, left + max(8, hardDirtyLimit / 8)))
  }

  /// Has the budget know what the lists of the running transaction take, and those of the places that it has given up.
  func chargeTransaction() {
    hasLongLists = true
    let lists = context.editor.listByteCount + allocator.listByteCount + context.pending.byteCount
    store.charge(lists + store.tableByteCount, to: .transaction)
  }

  /// At the end of a transaction, under the writer lock: gives up the lists of one that had to be relieved.
  func releaseLists() {
    guard hasLongLists else { return }
    hasLongLists = false
    owesMemory.store(true, ordering: .relaxed)
    context.editor.releaseLists()
    store.charge(store.tableByteCount, to: .transaction)
  }

  /// After such a transaction: what its lists took goes back to the system.
  func giveBackMemory() {
    guard owesMemory.load(ordering: .relaxed), owesMemory.exchange(false, ordering: .relaxed) else { return }
    VirtualMemory.trimHeap()
  }

  /// About how many dirty pages are not the running transaction's.
  private var committedDirtyCount: Int { store.frames.dirtyCount - context.unspilledCount }

  /// Writes home what values have been kept in memory, whosever they are: that takes no checkpoint, as each has its
  /// place. No checkpoint runs. Not worth a flush where they are few.
  private func writeValues() throws(StorageError) {
    guard store.unwrittenCount > store.pool.budget / 16 else { return }
    try ValueWriter(store).writeAll()
    try synchronizePages()
  }

  private func checkpointCommitted() throws(StorageError) {
    guard head.csn != meta.current.csn, beginCheckpointInTransaction() else { return }
    try completeCheckpoint()
  }

  /// In the middle of a load that commits by checkpoint: has the disk begin with the pages that are complete, while
  /// more are being made. Waits for nothing as a rule: what was written stays in memory until the checkpoint has synced
  /// it. Once that is an eighth of the budget it is synced here, or a load larger than memory would fill that with
  /// pages that nobody may take out.
  ///
  /// - Throws: as `relieveMemory`.
  func writeAhead() throws(StorageError) {
    try checkProcess()
    guard checkpoints.current == nil else { return }
    slots.rest(writerSlot)
    defer { _ = slots.refresh(writerSlot) }
    try queue.checkFailure()
    if !options.isReadOnly { try checkFiles() }
    context.releaseDead()
    chargeTransaction()
    let isSynced = context.unsyncedCount + context.unspilledCount > store.pool.budget / 8
    try spill(isSynced: isSynced)
    reclaimer.collect()
  }

  /// Writes every dirty page that the running transaction can reach to a place of its own. No checkpoint runs.
  private func spill(isSynced: Bool = true) throws(StorageError) {
    let writer = PageWriter(
      store: store, allocator: allocator, reclaimer: reclaimer,
      for: .spill(csn: context.csn.rawValue))
    allocator.rewind()
    // Whatever has been written when an error comes stays written; the rest stays dirty.
    defer {
      reclaimer.retireSlots(writer.oldSlots)
      context.noteSpill()
      counters.pagesSpilled.wrappingAdd(writer.pagesWritten, ordering: .relaxed)
    }
    do throws(StorageError) {
      for root in context.reachableRoots { try writer.writeAll(root) }
    } catch {
      writer.abandon()
      throw error
    }
    // Nothing leaves memory before it is durable; beside what has been written, a flush is cheap.
    guard isSynced else { return context.unsyncedCount += writer.pagesWritten }
    try synchronizePages()
    context.unsyncedCount = 0
  }

  /// Syncs the data file; a failure stops all writing.
  func synchronizePages() throws(StorageError) {
    do throws(StorageError) { try store.synchronize() } catch {
      store.noteFailedSync()
      queue.fail(error)
      throw error
    }
    counters.dataSyncs.wrappingAdd(1, ordering: .relaxed)
  }

  /// Writes home what only readers of snapshots before `csn` can see, if it takes up more than its share: no checkpoint
  /// would ever write it, and a pin that is held for hours must not take memory from everybody else.
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
    for (slot, _) in held { slots.rest(slot) }
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
