// Keeping dirty pages within the budget.

internal import Synchronization

/// Decides when dirty pages are written home before a checkpoint would have done so, and what the running transaction
/// may take of memory.
///
/// Invariants:
/// 1. No page leaves memory before the data file was synced behind its write.
/// 2. Pages that a transaction has spilled stay its own: nothing refers to their places before it commits.
package final class MemoryManager: EngineComponent, @unchecked Sendable {
  // Sendable: safe because `hasLongLists` is touched under the writer lock, and the rest is an atomic.
  package let resources: EngineResources
  // What every commit uses: one load each, and no reference counted.
  /// The state of the running write transaction; writer lock.
  package let context: WriteContext
  /// Pages and frames.
  package let store: PageStore
  private let log: LogManager
  private let checkpointer: Checkpointer
  /// Whether room has had to be made for the running transaction; writer lock.
  @exclusivity(unchecked) private var hasLongLists = false
  /// Whether such a transaction has ended, and its memory has not been given back since.
  private let owesMemory = Atomic<Bool>(false)

  init(_ resources: EngineResources, _ log: LogManager, _ checkpointer: Checkpointer) {
    self.resources = resources
    context = resources.context
    store = resources.store
    self.log = log
    self.checkpointer = checkpointer
  }

  /// Sets the hard limit, at which the running transaction asks for room.
  func limitDirtyPages(_ permit: borrowing WriterPermit) { context.setDirtyLimit(store.hardDirtyLimit) }

  /// Before a transaction begins: starts a checkpoint at the soft limit, waits for it at the hard one.
  func throttle(_ permit: borrowing WriterPermit) {
    limitDirtyPages(permit)
    if options.diskFootprint == .small { throttleForSpace(permit) }
    guard store.dirtyCount > store.softDirtyLimit, log.exists else { return }
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
    let bounds = checkpointer.space.smallFootprint
    guard pages * store.pageSize > bounds.softDirtyByteCount else { return }
    throttle(hardLimit: bounds.hardDirtyByteCount / store.pageSize, permit)
  }

  private static let leastSoftByteCount = SmallFootprint(contentByteCount: 0).softDirtyByteCount

  /// Between two operations of the running transaction, when too many pages are dirty: waits for the checkpoint that
  /// runs, or takes one of what was committed before, and writes the transaction's own pages home if that is not
  /// enough. They stay its own: nothing refers to their places before it commits, and a rollback gives them back.
  ///
  /// - Throws: `failStop`, `diskFull`, `inputOutput`. The transaction is as it was before the operation.
  func makeRoom(_ permit: borrowing WriterPermit) throws(StorageError) {
    try checkProcess()
    slots.exitEpoch(writerSlot)
    defer { _ = slots.enterEpoch(writerSlot) }
    checkpointer.finishRunning()
    // Looked at after the checkpoint, which may have failed for good: a meta page of unknown fate may then refer to
    // places that look free.
    try queue.checkFailure()
    if !options.isReadOnly { try log.checkFiles() }
    context.releaseDead()
    chargeTransaction(permit)
    reclaimer.collect()
    try writeValues(permit)
    if committedDirtyCount > store.pool.budget / 8 { try checkpointCommitted(permit) }
    if store.frames.dirtyCount > store.softDirtyLimit { try spill(permit) }
    reclaimer.collect()
    // What readers hold, or savepoints have replaced, may still be there: the next attempt waits until there is more.
    let left = store.dirtyCount
    context.setDirtyLimit(max(store.hardDirtyLimit, left + max(8, store.hardDirtyLimit / 8)))
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
  /// place. No checkpoint runs. Not worth a flush where they are few.
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
  /// made. Waits for nothing as a rule: what was written stays in memory until the checkpoint has synced
  /// it. Once that is an eighth of the budget it is synced here, or a load larger than memory would fill that with
  /// pages that nobody may take out.
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
    let isSynced = context.unsyncedCount + context.unspilledCount > store.pool.budget / 8
    try spill(isSynced: isSynced, permit)
    reclaimer.collect()
  }

  /// Writes every dirty page that the running transaction can reach to a place of its own. No checkpoint runs.
  private func spill(isSynced: Bool = true, _ permit: borrowing WriterPermit) throws(StorageError) {
    assert(writerLock.isHeldByThisThread, "pages spill without the writer lock")
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
}
