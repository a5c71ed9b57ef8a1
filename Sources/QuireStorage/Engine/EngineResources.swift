// What the components of an engine share: files, tables, queues, and the newest commit.

internal import Synchronization

/// The newest appended commit.
///
/// Invariants:
/// 1. `csn` is the number of `snapshot`, and never goes down.
/// 2. The published snapshot is not newer than `snapshot`, and is the same when nothing waits for a flush.
final class CommitHead {
  /// Its state: what the next transaction builds on.
  @exclusivity(unchecked) private(set) var snapshot: SnapshotRecord
  /// Its number, for threads without the writer lock.
  let csn: Atomic<UInt64>

  init(_ snapshot: SnapshotRecord) {
    self.snapshot = snapshot
    csn = Atomic(snapshot.csn.rawValue)
  }

  /// Makes `next` what the next transaction builds on.
  func advance(to next: SnapshotRecord, _ permit: borrowing WriterPermit) {
    assert(next.csn >= snapshot.csn, "commit numbers do not go down")
    assert(next.endLSN >= snapshot.endLSN, "a newer commit ends before an older one")
    snapshot = next
    csn.store(next.csn.rawValue, ordering: .sequentiallyConsistent)
  }
}

/// What opening makes, and what every component of the engine works with; the same for the engine's whole life.
///
/// Locks, always taken in this order: that of closing, writer lock, checkpoint latch, log latch, that of syncs of the
/// data file, commit queue, reclaimer, allocator, and the small ones of the tables. No user's code runs under any but
/// the writer lock.
package final class EngineResources: @unchecked Sendable {
  // Sendable: safe because everything is constant, and what it refers to is behind locks of its own but for `context`
  // and the snapshot in `head`, which are touched under the writer lock, and `catalog`, `freeMap` and `meta`, which
  // belong to the one checkpoint that runs.
  let options: StorageOptions
  let environment: StorageEnvironment
  let file: any File
  let logFiles: LogFiles
  let store: PageStore
  let allocator: PageAllocator
  /// Records of snapshots, used again and again.
  package let pool: SnapshotPool
  let slots: ReaderSlots
  let reclaimer: Reclaimer
  let catalog: Catalog
  let freeMap: FreeMapFile
  let meta: MetaPages
  let context: WriteContext
  let head: CommitHead
  let writerLock = WriterLock()
  /// The slot through which the writer announces that it holds addresses; it protects no snapshot.
  let writerSlot: ReaderSlot
  let openFlag: OpenFlag
  let threads: BackgroundThreads
  let watch: FileWatch
  let queue: CommitQueue
  let counters = Counters()
  /// Held by whoever syncs the data file.
  let dataSync = Latch(())

  init(_ parts: OpenedFiles) {
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
    head = CommitHead(parts.snapshot)
    writerSlot = parts.slots.announceOwn(CSN(.max - 2))
    parts.slots.exitEpoch(writerSlot)
    context = WriteContext(
      store: parts.store, allocator: parts.allocator, reclaimer: parts.reclaimer, slots: parts.slots,
      slot: writerSlot, base: parts.snapshot)
    context.setDeferral(after: parts.environment.putsBeforeDeferral)
    parts.store.evict(parts.slots)
    openFlag = OpenFlag()
    let threads = BackgroundThreads(
      isThreaded: parts.environment.scheduling == .threads, openFlag: openFlag, path: parts.file.path,
      readerThreadCount: parts.options.readerThreadCount, starter: parts.environment.threadStarter)
    self.threads = threads
    let page = parts.meta.current
    watch = FileWatch(
      parts.environment.fileSystem, parts.file, byteCount: Int(page.pageCount) * page.pageSize)
    queue = CommitQueue(
      slots: parts.slots, reclaimer: parts.reclaimer, allocator: parts.allocator, durableLSN: page.lsn,
      durableCheckpoint: page.checkpointNumber, watch: watch, requestFlush: { threads.requestFlush() },
      didFlush: { threads.requestMark() })
  }

  /// The snapshot of what the write context holds.
  func makeSnapshot(csn: CSN, endLSN: LSN, _ permit: borrowing WriterPermit) -> SnapshotRecord {
    assert(csn >= head.snapshot.csn, "a snapshot is older than the newest commit")
    let snapshot = pool.take(treeCount: context.trees.count)
    context.enter(into: snapshot)
    snapshot.endLSN = endLSN
    snapshot.setCSN(csn.rawValue)
    return snapshot
  }
}

/// What opening has made and found, before there is an engine.
struct OpenedFiles {
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
  let meta: MetaPages
  let snapshot: SnapshotRecord
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
