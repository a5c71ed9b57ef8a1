// The engine's parts and how they hang together.

internal import Synchronization

/// One open database: everything behind `StorageEngine`.
///
/// Locks, always taken in this order: that of those who close, writer lock, checkpoint latch, log latch, commit queue,
/// reclaimer, allocator, and the small ones of the tables. No user's code runs under any but the writer lock.
///
/// Invariants:
/// 1. `head` is the newest appended commit; published ≤ head, and they are equal when nothing waits for a flush.
/// 2. At most one checkpoint runs.
/// 3. `log` is nil exactly while the newest meta page says that no log is needed.
package final class EngineCore: @unchecked Sendable {
  // Sendable: safe because what is not an atomic or behind a mutex is touched under the writer lock (`head`,
  // `context`), or by the one checkpoint that runs (`catalog`, `freeMap`, `meta`).
  package let options: StorageOptions
  package let environment: StorageEnvironment
  package let file: any File
  package let logFiles: LogFiles
  package let store: PageStore
  package let allocator: PageAllocator
  package let pool: SnapshotPool
  package let slots: ReaderSlots
  package let reclaimer: Reclaimer
  package let queue: CommitQueue
  package let catalog: Catalog
  package let freeMap: FreeMapFile
  package let meta: MetaFile
  package let writerLock = WriterLock()
  package let context: WriteContext
  package let services: Services
  package let reader: TreeReader
  /// The slot through which the writer announces that it holds addresses; it protects no snapshot.
  package let writerSlot: ReaderSlot

  /// The newest appended commit's snapshot; writer lock.
  @exclusivity(unchecked) package var head: SnapshotRecord
  /// The CSN of `head`, for those who do not hold the writer lock.
  let headCSN: Atomic<UInt64>
  /// The log, once there is one; set under writer lock and log latch.
  @exclusivity(unchecked) package private(set) var log: LogWriter?
  /// Excludes appends, switches and marks from each other.
  let logLatch = Latch(())
  let checkpoints = CheckpointGate()
  let markBuffer = LogBuffer()
  /// The newest commit when idle maintenance was last considered.
  let quietCSN = Atomic<UInt64>(.max)
  /// The durable LSN when the quiet mark was last considered.
  let quietLSN = Atomic<UInt64>(0)
  let openFlag: OpenFlag
  /// Whether the free places of the file that was opened may be believed.
  let placeProof: PlaceProof
  /// What those who close at one time have in common.
  let closing = ClosingState()
  let watch: FileWatch
  let counters = Counters()
  /// A size for the next segment that is made, in bytes. Changed under the writer lock while no checkpoint runs.
  var desiredSegmentByteCount: Int { didSet { limitParts() } }
  /// How much of their segments the last checkpoints have found used; writer lock.
  var segmentUse = SegmentUse()
  /// Where the log went on after the last freeze; writer lock.
  var frozenLSN = LSN(0)
  /// Whether the log has gone on in its last segment without a checkpoint, which alone can name another one; writer
  /// lock.
  @exclusivity(unchecked) package internal(set) var owesCheckpoint = false
  /// Whether opening left it to a checkpoint to write home what the log held; set before anybody has the engine.
  package internal(set) var hasContinuedLog = false
  /// Whether opening is done with what the log held; set before anybody has the engine.
  package internal(set) var isRecovered = false
  /// Whether the log was made longer in vain.
  let lacksSegment = Atomic<Bool>(false)
  /// Whether the running transaction has had to be relieved of dirty pages; writer lock.
  @exclusivity(unchecked) var hasLongLists = false
  /// Whether such a transaction has ended, and its memory has not been given back since.
  let owesMemory = Atomic<Bool>(false)
  /// What the writer knows of the space that checkpoints will take; writer lock.
  @exclusivity(unchecked) var space: SpaceReservation
  /// How far the maintenance of the file has come; writer lock.
  var maintenance = MaintenanceState()

  /// Everything that opening has found out.
  struct Parts {
    let options: StorageOptions
    let environment: StorageEnvironment
    let file: any File
    let logFiles: LogFiles
    let store: PageStore
    let allocator: PageAllocator
    let pool: SnapshotPool
    let slots: ReaderSlots
    let reclaimer: Reclaimer
    let catalog: Catalog
    let freeMap: FreeMapFile
    let meta: MetaFile
    let snapshot: SnapshotRecord
  }

  init(_ parts: Parts) {
    options = parts.options
    environment = parts.environment
    file = parts.file
    logFiles = parts.logFiles
    store = parts.store
    allocator = parts.allocator
    pool = parts.pool
    slots = parts.slots
    reclaimer = parts.reclaimer
    catalog = parts.catalog
    freeMap = parts.freeMap
    meta = parts.meta
    head = parts.snapshot
    headCSN = Atomic(parts.snapshot.csn.rawValue)
    reader = TreeReader(parts.store)
    writerSlot = parts.slots.announceOwn(CSN(.max - 2))
    parts.slots.rest(writerSlot)
    placeProof = PlaceProof(parts.store, parts.allocator, parts.meta.current)
    context = WriteContext(
      store: parts.store, allocator: parts.allocator, reclaimer: parts.reclaimer, slots: parts.slots,
      slot: writerSlot, base: parts.snapshot)
    context.fileSystem = parts.environment.fileSystem
    context.setDeferral(after: parts.environment.putsBeforeDeferral)
    parts.store.evict(parts.slots)
    desiredSegmentByteCount = Self.initialSegmentByteCount(parts.options, parts.environment)
    space = SpaceReservation(pageSize: parts.store.pageSize, reserveByteCount: parts.environment.reserveByteCount)
    let openFlag = OpenFlag()
    self.openFlag = openFlag
    let services = Services(
      isThreaded: parts.environment.scheduling == .threads, openFlag: openFlag,
      readerThreadCount: parts.options.readerThreadCount, starter: parts.environment.threadStarter)
    self.services = services
    let page = parts.meta.current
    watch = FileWatch(
      parts.environment.fileSystem, parts.file, byteCount: Int(page.pageCount) * page.pageSize)
    queue = CommitQueue(
      slots: parts.slots, reclaimer: parts.reclaimer, allocator: parts.allocator,
      durableLSN: parts.meta.current.lsn, durableCheckpoint: parts.meta.current.checkpointNumber,
      watch: watch, requestFlush: { services.requestFlush() }, didFlush: { services.requestMark() })
    let queue = queue
    context.checkWritable = { [unowned self] () throws(StorageError) in
      try checkProcess()
      try queue.checkFailure()
    }
    services.setFlush(
      { [weak self] in
        // A failure reaches those who wait; nobody else is listening here.
        do throws(StorageError) { try self?.queue.flush() } catch {}
      },
      mark: { [weak self] in
        guard let self else { return true }
        let isDone = appendQuietMark()
        // Not the services themselves: they hold this closure, and would hold themselves for ever.
        if isDone, options.maintainsWhenIdle { self.services.requestMaintenance() }
        return isDone
      }, maintenance: { [weak self] in self?.maintainWhileIdle() ?? true })
    context.relieveMemory = { [unowned self] () throws(StorageError) in try relieveMemory() }
    context.writePagesAhead = { [unowned self] () throws(StorageError) in try writeAhead() }
    context.reservePlaces = { [unowned self] (count, isWrittenNow) throws(StorageError) in
      try reservePlaces(forExtent: count, isWrittenNow: isWrittenNow)
    }
    limitParts()
    context.log.stream { [weak self] in self?.appendPart() ?? false }
  }

  deinit {
    // Threads are stopped by the owner; they do not keep the core alive. In a forked child the threads are gone, and
    // locks that they held stay locked; files close by themselves.
    if openFlag.isForked { return }
    services.stop()
    withLog { $0?.close() }
    file.close()
    openFlag.release()
  }

  // MARK: State

  /// Throws `closed` after `close`, and `forkedProcess` in a child of the process that opened the database.
  @inline(__always) package func checkOpen() throws(StorageError) {
    if !openFlag.isOpen { try checkStillOpen() }
  }

  /// An attempt to close that finds readers closes nothing, and nobody is to be told otherwise.
  @inline(never) private func checkStillOpen() throws(StorageError) {
    if !openFlag.awaitDecision() { throw closedError() }
  }

  /// Throws `forkedProcess` in a child of the process that opened the database: for what may begin in the parent and
  /// end in the child.
  func checkProcess() throws(StorageError) {
    if openFlag.isForked { throw closedError() }
  }

  /// The error of calls when the engine is not open, or not this process's.
  package func closedError() -> StorageError {
    guard openFlag.isForked else {
      return StorageError(.closed, "The database was closed. Open it again.", path: file.path)
    }
    return StorageError(
      .forkedProcess,
      "The database was opened by the process that this one was forked from. Open it here when that has closed it.",
      path: file.path)
  }

  /// Throws `readOnly` if nothing may be written.
  func checkWritable() throws(StorageError) {
    guard options.isReadOnly else { return }
    throw StorageError(
      .readOnly, "The database was opened read-only. Open it without isReadOnly to change it.", path: file.path)
  }

  /// Runs `body` under the log latch.
  @discardableResult
  func withLog<Result>(_ body: (LogWriter?) throws(StorageError) -> Result) throws(StorageError) -> Result {
    let outcome: Swift.Result<Result, StorageError> = logLatch.withLock { _ in
      do throws(StorageError) { return .success(try body(log)) } catch { return .failure(error) }
    }
    return try outcome.get()
  }

  /// As above, for bodies that do not throw.
  @discardableResult
  func withLog<Result>(_ body: (LogWriter?) -> Result) -> Result {
    logLatch.withLock { _ in body(log) }
  }

  /// Runs `body`, which appends, under the log latch. A failure that leaves the end of the log unknown stops all
  /// writing before the latch is given up, so that nothing is appended behind it; who waits is told after that, as it
  /// may lead to code of the app's.
  @discardableResult
  func withLogOrStop<Result>(_ body: (LogWriter?) throws(AppendFailure) -> Result) throws(AppendFailure) -> Result {
    do throws(AppendFailure) {
      return try logLatch.withLock { (_) throws(AppendFailure) in
        do throws(AppendFailure) { return try body(log) } catch {
          if case .unknown(let reason) = error { queue.stop(reason) }
          throw error
        }
      }
    } catch {
      if case .unknown = error { queue.announceFailure() }
      throw error
    }
  }

  func setLog(_ writer: LogWriter?) {
    logLatch.withLock { _ in log = writer }
    if let writer { queue.setLog(writer) }
  }

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
    slots.rest(slot)
    do throws(StorageError) { try checkOpen() } catch {
      slots.end(slot)
      throw error
    }
    return (slot, snapshot)
  }

  /// The number of readers and pins, the writer's own slot left out.
  package var readerCount: Int { slots.activeCount }
}

/// What the engine counts.
final class Counters: Sendable {
  let commits = Atomic<Int>(0)
  let checkpoints = Atomic<Int>(0)
  let logLengthenings = Atomic<Int>(0)
  let dataSyncs = Atomic<Int>(0)
  let pagesWritten = Atomic<Int>(0)
  let pagesSpilled = Atomic<Int>(0)
  let recoveredRecords = Atomic<Int>(0)
}
