// Keeping dirty pages within the budget.

internal import Synchronization

/// Decides when dirty pages are written home before a checkpoint would have done so, and what the running transaction
/// may take of memory.
///
/// Invariants:
/// 1. No page leaves memory before it was written.
/// 2. Pages that a transaction has spilled stay its own: nothing refers to their places before it commits.
/// 3. What was written, and is not synced, is in the log, or belongs to a transaction that has not committed, or only
///    readers of old snapshots see it.
package final class MemoryManager: EngineComponent, @unchecked Sendable {
  // Sendable: safe because `hasLongLists` is touched under the writer lock, and the rest is an atomic.
  package let resources: EngineResources
  // What every commit uses: one load each, and no reference counted.
  /// The state of the running write transaction; writer lock.
  package let context: WriteContext
  /// Pages and frames.
  package let store: PageStore
  private let log: LogManager
  private let space: SpaceManager
  private let checkpointer: Checkpointer
  /// Whether room has had to be made for the running transaction; writer lock.
  @exclusivity(unchecked) private var hasLongLists = false
  /// Whether such a transaction has ended, and its memory has not been given back since.
  private let owesMemory = Atomic<Bool>(false)

  init(_ resources: EngineResources, _ log: LogManager, _ space: SpaceManager, _ checkpointer: Checkpointer) {
    self.resources = resources
    context = resources.context
    store = resources.store
    self.log = log
    self.space = space
    self.checkpointer = checkpointer
  }

  /// Sets the hard limit, at which the running transaction asks for room.
  func limitDirtyPages(_ permit: borrowing WriterPermit) { context.setDirtyLimit(store.hardDirtyLimit) }

  /// Before a transaction begins: starts a checkpoint at the soft limit, waits for it at the hard one. Where the disk
  /// has room for the pages beside those of the newest checkpoint, the transaction will write them home itself, at its
  /// first change.
  func throttle(_ permit: borrowing WriterPermit) {
    limitDirtyPages(permit)
    if options.diskFootprint == .small { throttleForSpace(permit) }
    guard store.dirtyCount > store.softDirtyLimit, log.exists else { return }
    // What is free already, and more than a transaction gives back that begins, is nobody's to be written.
    reclaimer.collect()
    guard store.dirtyCount > store.softDirtyLimit else { return }
    if space.hasAmpleDisk { return context.askForRoom() }
    throttle(hardLimit: store.hardDirtyLimit, permit)
  }

  private func throttle(hardLimit: Int, _ permit: borrowing WriterPermit) {
    // Looked at first: nothing begins as long as this thread holds the writer lock.
    if !checkpointer.isRunning, head.csn != meta.current.csn {
      checkpointer.begin(permit)
      checkpointer.dispatch()
    }
    if store.dirtyCount > hardLimit { checkpointer.finishRunning() }
  }

  /// The same for a small footprint: each dirty page takes a place beside the one that it replaces.
  private func throttleForSpace(_ permit: borrowing WriterPermit) {
    let pages = store.frames.dirtyCount
    // Nearly always there are few, and that costs no lock.
    guard pages * store.pageSize > Self.leastSoftByteCount, log.exists else { return }
    let bounds = space.smallFootprint
    guard pages * store.pageSize > bounds.softDirtyByteCount else { return }
    reclaimer.collect()
    guard store.frames.dirtyCount * store.pageSize > bounds.softDirtyByteCount else { return }
    throttle(hardLimit: bounds.hardDirtyByteCount / store.pageSize, permit)
  }

  private static let leastSoftByteCount = SmallFootprint(contentByteCount: 0).softDirtyByteCount

  /// Between two operations of the running transaction, when too many pages are dirty: writes home what it can reach.
  /// Its own pages stay its own: nothing refers to their places before it commits, and a rollback gives them back.
  ///
  /// A checkpoint that runs is waited for as long as it writes pages. Where the disk is short of space it is waited for
  /// to its end, and another one is taken of what was committed before: a checkpoint gives places back.
  ///
  /// - Throws: `failStop`, `diskFull`, `inputOutput`. The operation has done nothing; the transaction can only be
  ///   rolled back.
  func makeRoom(_ permit: borrowing WriterPermit) throws(StorageError) {
    try checkProcess()
    slots.exitEpoch(writerSlot)
    defer { _ = slots.enterEpoch(writerSlot) }
    space.lookAtDisk(permit)
    let waitsForCheckpoint = !space.hasAmpleDisk
    // Then nothing runs, and nothing begins as long as this thread holds the writer lock, but by itself.
    if waitsForCheckpoint { checkpointer.finishRunning() } else { checkpointer.beginSpill(permit) }
    defer { if !waitsForCheckpoint { checkpointer.endSpill(permit) } }
    // Looked at after the checkpoint, which may have failed for good: a meta page of unknown fate may then refer to
    // places that look free.
    try queue.checkFailure()
    if !options.isReadOnly { try log.checkFiles() }
    context.releaseDead()
    chargeTransaction(permit)
    reclaimer.collect()
    try writeValues(permit)
    if waitsForCheckpoint, committedDirtyCount > store.pool.budget / 8 { try checkpointCommitted(permit) }
    let spills = store.frames.dirtyCount > store.softDirtyLimit
    if spills { try spill(permit) }
    reclaimer.collect()
    // Only behind a spill: what the newest commit sees, too, needs a place that checkpoints know, and has one then.
    if spills { try writeHeldPages(permit) }
    // What readers hold, or savepoints have replaced, may still be there: the next attempt waits until there is more.
    let left = store.dirtyCount
    context.setDirtyLimit(max(store.hardDirtyLimit, left + max(8, store.hardDirtyLimit / 8)))
  }

  /// Writes home what only readers of old snapshots see, if that is much, and if the transaction has changed nothing
  /// yet: what it has replaced is the newest commit's until it commits itself, and needs a place that checkpoints know.
  private func writeHeldPages(_ permit: borrowing WriterPermit) throws(StorageError) {
    guard store.dirtyCount > store.softDirtyLimit / 2, context.superseded.count == 0, context.born.count == 0 else {
      return
    }
    try checkpointer.writeHeldPages(before: context.csn)
  }

  /// Charges the lists of the running transaction, and those of the places that it has given up, to the budget.
  private func chargeTransaction(_ permit: borrowing WriterPermit) {
    hasLongLists = true
    let lists = context.editor.pages.listByteCount + allocator.listByteCount + context.pending.byteCount
    store.charge(lists + store.tableByteCount, to: .transaction)
  }

  /// The same before a commit by checkpoint, if room has had to be made for the transaction.
  func chargeLongLists(_ permit: borrowing WriterPermit) {
    if hasLongLists { chargeTransaction(permit) }
  }

  /// At the end of a transaction: gives up the lists of one for which room had to be made.
  func releaseLists(_ permit: borrowing WriterPermit) {
    guard hasLongLists else { return }
    hasLongLists = false
    assert(writerLock.isHeldByThisThread, "lists are given up without the writer lock")
    owesMemory.store(true, ordering: .relaxed)
    context.editor.pages.releaseLists()
    store.charge(store.tableByteCount, to: .transaction)
  }

  /// After such a transaction: what its lists took goes back to the system.
  func giveBackMemory() {
    guard owesMemory.load(ordering: .relaxed), owesMemory.exchange(false, ordering: .relaxed) else { return }
    VirtualMemory.trimHeap()
  }

  /// Checks between two transactions that nothing is left of the last one's; returns what is broken.
  func checkInvariants(_ permit: borrowing WriterPermit) -> String? {
    if hasLongLists { return "no transaction runs, and the lists of one are charged" }
    if reclaimer.hasUncommittedSpill { return "pages have spilled for a transaction that has ended" }
    return allocator.hasPlacesAheadOfCommit ? "places are kept for a transaction that has ended" : nil
  }

  /// About how many dirty pages are not the running transaction's.
  private var committedDirtyCount: Int { store.frames.dirtyCount - context.unspilledCount }

  /// Writes home what values have been kept in memory, whosever they are: that takes no checkpoint, as each has its
  /// place. No checkpoint runs, or none that is still given places. Not worth a flush where they are few.
  private func writeValues(_ permit: borrowing WriterPermit) throws(StorageError) {
    guard store.unwrittenCount > store.pool.budget / 16 else { return }
    try ValueWriter(store).writeAll()
    try synchronizePages()
  }

  private func checkpointCommitted(_ permit: borrowing WriterPermit) throws(StorageError) {
    guard head.csn != meta.current.csn, checkpointer.beginInTransaction(permit) else { return }
    try checkpointer.complete()
  }

  /// In the middle of a load that commits by checkpoint: hands complete pages to the disk while more are being
  /// made. Waits for nothing.
  ///
  /// - Throws: what `makeRoom` throws.
  func writeAhead(_ permit: borrowing WriterPermit) throws(StorageError) {
    try checkProcess()
    guard !checkpointer.isRunning else { return }
    slots.exitEpoch(writerSlot)
    defer { _ = slots.enterEpoch(writerSlot) }
    try queue.checkFailure()
    if !options.isReadOnly { try log.checkFiles() }
    context.releaseDead()
    chargeTransaction(permit)
    try spill(startsWriting: true, permit)
    reclaimer.collect()
  }

  /// Writes every dirty page that the running transaction can reach to a place of its own. No checkpoint writes pages.
  ///
  /// Nothing is synced, and the pages can leave memory all the same: the log has what they hold, and the checkpoint
  /// that names them syncs them. Most of them will have been replaced by then, and what the system has kept back until
  /// then never reaches the disk.
  ///
  /// - Parameter startsWriting: whether the disk is asked to begin, as nothing of it will be replaced.
  private func spill(startsWriting: Bool = false, _ permit: borrowing WriterPermit) throws(StorageError) {
    assert(writerLock.isHeldByThisThread, "pages spill without the writer lock")
    if !context.hasSpilled { reclaimer.forgetSpill() }
    let writer = PageWriter(
      store: store, allocator: allocator, reclaimer: reclaimer, for: .spill(csn: context.csn.rawValue),
      startsWriting: startsWriting)
    allocator.rewind()
    // Whatever has been written when an error comes stays written; the rest stays dirty.
    defer {
      reclaimer.retireSlots(writer.oldSlots)
      context.noteSpill()
      counters.pagesSpilled.wrappingAdd(writer.pagesWritten, ordering: .relaxed)
    }
    do throws(StorageError) {
      for root in context.reachableRoots { try writer.writeAll(root) }
      if context.isBuilding { reclaimer.notePartialSpill(permit) }
    } catch {
      writer.abandon()
      reclaimer.notePartialSpill(permit)
      throw error
    }
  }
}
