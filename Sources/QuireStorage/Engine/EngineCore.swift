// The engine's components and how they hang together.

internal import Synchronization

/// One open database: everything behind `StorageEngine`. Begins, commits and publishes transactions, and wires the
/// components, each of which keeps a state of its own: `SpaceManager`, `LogManager`, `Checkpointer`, `MemoryManager`
/// and `Maintainer`. A component uses those that come before it in this list.
///
/// Invariants:
/// 1. `head` is the newest appended commit; published ≤ head, and they are equal when nothing waits for a flush.
/// 2. Whatever changes `head`, the context or the reservation of places borrows a permit of the writer lock.
package final class EngineCore: EngineComponent, @unchecked Sendable {
  // Sendable: safe because everything is constant but what opening has found out, which is set before the engine is
  // handed out.
  package let resources: EngineResources
  // What every transaction uses: one load each, and no reference counted.
  /// The state of the running write transaction; writer lock.
  package let context: WriteContext
  /// Commits between their append and their publication.
  package let queue: CommitQueue
  /// The readers, and the newest published snapshot.
  package let slots: ReaderSlots
  /// What waits until no reader needs it.
  package let reclaimer: Reclaimer
  /// Pages and frames.
  package let store: PageStore
  /// The places of the data file.
  package let allocator: PageAllocator
  /// The lock of the one writer.
  package let writerLock: WriterLock
  /// What is to be part of each transaction that changes no content, for those who count the numbers of commits.
  package let onRearrangement: Latch<(@Sendable (borrowing WriteTransaction) throws(StorageError) -> Void)?>
  /// The threads of the engine.
  package let threads: BackgroundThreads
  let openFlag: OpenFlag
  let writerSlot: ReaderSlot
  let watch: FileWatch
  let counters: Counters
  let commitHead: CommitHead
  /// Finds entries for readers.
  package let reader: TreeReader
  /// The log.
  package let log: LogManager
  /// Places for checkpoints.
  package let space: SpaceManager
  /// Checkpoints.
  package let checkpointer: Checkpointer
  /// The budget for dirty pages.
  package let memory: MemoryManager
  /// The work of idle times.
  package let maintainer: Maintainer
  let appender: RecordAppender
  let closer = EngineCloser()
  /// How many of the announced snapshots are pinned and not being read: no more than there are.
  let restingPins = Atomic<Int>(0)
  /// Whether opening left it to a checkpoint to write home what the log held; set before anybody has the engine.
  package internal(set) var hasContinuedLog = false
  /// Whether opening is done with what the log held; set before anybody has the engine.
  package internal(set) var isRecovered = false

  init(_ parts: OpenedFiles) {
    resources = EngineResources(parts)
    onRearrangement = Latch(parts.environment.onRearrangement)
    context = resources.context
    queue = resources.queue
    slots = resources.slots
    reclaimer = resources.reclaimer
    store = resources.store
    allocator = resources.allocator
    writerLock = resources.writerLock
    threads = resources.threads
    openFlag = resources.openFlag
    writerSlot = resources.writerSlot
    watch = resources.watch
    counters = resources.counters
    commitHead = resources.head
    reader = TreeReader(store)
    space = SpaceManager(resources)
    log = LogManager(resources, space)
    checkpointer = Checkpointer(resources, log, space)
    memory = MemoryManager(resources, log, space, checkpointer)
    maintainer = Maintainer(resources, log, space, checkpointer)
    appender = RecordAppender(log, checkpointer)
    context.host = self
    connectThreads()
  }

  /// Connects the engine's threads with what commits ask for. They do not keep the engine alive.
  private func connectThreads() {
    threads.setFlush(
      { [weak self] in
        // A failure is told to the commits that wait for the flush.
        do throws(StorageError) { try self?.queue.flush() } catch {}
      },
      mark: { [weak self] in
        guard let self else { return true }
        let isDone = log.appendQuietMark()
        // Not the threads themselves: they hold this closure, and would hold themselves for ever.
        if isDone, options.maintainsWhenIdle {
          maintainer.noteQuiet()
          threads.requestMaintenance()
        }
        return isDone
      },
      maintenance: { [weak self] in
        guard let self else { return true }
        return maintainer.runWhileIdle(self)
      })
  }

  deinit {
    // Threads are stopped by the owner; they do not keep the core alive. In a forked child the threads are gone, and
    // locks that they held stay locked; files close by themselves.
    if openFlag.isForked { return }
    threads.stop()
    log.close()
    file.close()
    openFlag.release()
  }

  /// The error of calls when the engine is not open, or not this process's.
  package func closedError() -> StorageError { openFlag.closedError(file.path) }

  // MARK: Reading

  /// Runs `body` on the newest published snapshot.
  package func read<Result>(_ body: (borrowing ReadTransaction) throws -> Result) throws -> Result {
    let transaction = try beginRead()
    CallOut.check()
    return try body(transaction)
  }

  /// A transaction on the newest published snapshot, which ends when its owner gives it up.
  package func beginRead() throws(StorageError) -> ReadTransaction {
    try checkOpen()
    let transaction = try ReadTransaction(slots, reader)
    // Looked at again now that `close` would see the slot.
    try checkOpen()
    return transaction
  }

  /// Keeps the newest published snapshot.
  package func pin() throws(StorageError) -> (slot: ReaderSlot, snapshot: SnapshotRecord) {
    try checkOpen()
    let (slot, snapshot) = try slots.begin()
    slots.exitEpoch(slot)
    do throws(StorageError) { try checkOpen() } catch {
      slots.end(slot)
      throw error
    }
    return (slot, snapshot)
  }

  /// The number of pins, reads of theirs left out; no more than `readerCount` counts of them.
  var restingPinCount: Int { restingPins.load(ordering: .sequentiallyConsistent) }

  /// The number of readers and pins, the writer's own slot left out.
  package var readerCount: Int { slots.activeCount }
}
