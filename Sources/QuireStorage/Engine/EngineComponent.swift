// What every component of the engine can say and do.

internal import Synchronization

/// A part of the engine with state of its own. It finds the shared resources under their names.
package protocol EngineComponent: AnyObject {
  /// What all components work with.
  var resources: EngineResources { get }
}

extension EngineComponent {
  /// How the database was opened.
  package var options: StorageOptions { resources.options }
  /// What tests replace: the disk, random numbers, threads, sizes.
  package var environment: StorageEnvironment { resources.environment }
  /// The data file.
  package var file: any File { resources.file }
  /// The files of the log.
  package var logFiles: LogFiles { resources.logFiles }
  /// Pages and frames.
  package var store: PageStore { resources.store }
  /// The places of the data file.
  package var allocator: PageAllocator { resources.allocator }
  /// The readers, and the newest published snapshot.
  package var slots: ReaderSlots { resources.slots }
  /// What waits until no reader needs it.
  package var reclaimer: Reclaimer { resources.reclaimer }
  /// The tree of trees.
  package var catalog: Catalog { resources.catalog }
  /// The map of free places.
  package var freeMap: FreeMapFile { resources.freeMap }
  /// The meta pages; for the checkpoint that runs, or under the writer lock while none does.
  package var meta: MetaPages { resources.meta }
  /// The state of the running write transaction; writer lock.
  package var context: WriteContext { resources.context }
  /// The threads of the engine.
  package var threads: BackgroundThreads { resources.threads }
  /// Commits between their append and their publication.
  package var queue: CommitQueue { resources.queue }
  /// The lock of the one writer.
  package var writerLock: WriterLock { resources.writerLock }
  /// The newest appended commit; writer lock.
  package var head: SnapshotRecord { resources.head.snapshot }
  /// Whether the engine is open.
  var openFlag: OpenFlag { resources.openFlag }
  /// What notices changes to the files from outside.
  var watch: FileWatch { resources.watch }
  /// What the engine counts.
  var counters: Counters { resources.counters }
  /// The slot through which the writer announces that it holds addresses.
  var writerSlot: ReaderSlot { resources.writerSlot }

  // MARK: Open or not

  /// Throws `closed` after `close`, `suspended` after `suspend`, and `forkedProcess` in a child of the process that
  /// opened the database.
  @inline(__always) package func checkOpen() throws(StorageError) {
    if !openFlag.isOpen { try checkStillOpen() }
  }

  /// An attempt to close that finds readers closes nothing, and nobody is to be told otherwise.
  @inline(never) private func checkStillOpen() throws(StorageError) {
    if !openFlag.awaitDecision() { throw openFlag.closedError(file.path) }
  }

  /// Throws `forkedProcess` in a child of the process that opened the database: for what may begin in the parent and
  /// end in the child.
  func checkProcess() throws(StorageError) {
    if openFlag.isForked { throw openFlag.closedError(file.path) }
  }

  /// Throws `readOnly` if nothing may be written.
  func checkWritable() throws(StorageError) {
    guard options.isReadOnly else { return }
    throw StorageError(
      .readOnly, "The database was opened read-only. Open it without isReadOnly to change it.", path: file.path)
  }

  /// Runs `body` under the writer lock.
  package func withWriterLock<Result>(
    _ body: (borrowing WriterPermit) throws(StorageError) -> Result
  ) throws(StorageError) -> Result {
    try checkOpen()
    let permit = try writerLock.lock()
    do throws(StorageError) {
      // Closed while this thread waited for the lock: the threads that run checkpoints are gone.
      try checkOpen()
      let result = try body(permit)
      writerLock.unlock(permit)
      return result
    } catch {
      writerLock.unlock(permit)
      throw error
    }
  }

  // MARK: Files

  /// Looks at the data file. If something has happened to it, all writing stops: what is written then would be found by
  /// nobody, or would belong to somebody else.
  ///
  /// - Throws: `fileChanged`.
  func checkDataFile() throws(StorageError) {
    do throws(StorageError) { try watch.check() } catch { try stop(error) }
  }

  /// A sync that has failed may have taken the file's new length back: that is what stopped writing then.
  func stop(_ error: StorageError) throws(StorageError) -> Never {
    try queue.checkFailure()
    queue.fail(error)
    throw error
  }

  /// Whether the data file is still found under its path: only then are the log files beside it ours to remove.
  var hasOwnFiles: Bool {
    do throws(StorageError) {
      try checkDataFile()
      return true
    } catch {
      return false
    }
  }

  /// Syncs the data file; a failure stops all writing.
  func synchronizePages() throws(StorageError) {
    try withDataSync { () throws(StorageError) in try store.synchronize() }
    counters.dataSyncs.wrappingAdd(1, ordering: .relaxed)
  }

  /// Runs `body`, which syncs the data file, while nobody else does; a failure stops all writing.
  ///
  /// A system tells of what it could not write once: a sync on one thread would take the error that another one waits
  /// for, and that would succeed. Hence one at a time, and none behind one that has failed.
  private func withDataSync(_ body: () throws(StorageError) -> Void) throws(StorageError) {
    let failure = resources.dataSync.withLock { _ -> StorageError? in
      if store.hasFailedSync {
        return queue.failure ?? StorageError(.failStop, "A sync of the file has failed.", path: file.path)
      }
      do throws(StorageError) { try body() } catch {
        store.noteFailedSync()
        queue.stop(error)
        return error
      }
      return nil
    }
    guard let failure else { return }
    queue.announceFailure()
    throw failure
  }

  /// Writes a meta page and syncs it. A failure stops all writing: which meta page the disk holds is unknown then.
  func writeMeta(_ page: MetaPage) throws(StorageError) {
    try withDataSync { () throws(StorageError) in try meta.write(page) }
    counters.dataSyncs.wrappingAdd(1, ordering: .relaxed)
    // Records mark it durable from now on.
    queue.durableCheckpoint = page.checkpointNumber
  }

  // MARK: Snapshots

  /// The roots of a snapshot.
  func trees(of snapshot: SnapshotRecord) -> [TreeRoot] {
    (0..<snapshot.treeCount).map { snapshot.trees[$0] }
  }
}

extension OpenFlag {
  /// The error of calls when the engine of the database at `path` is not open, or not this process's.
  func closedError(_ path: String) -> StorageError {
    guard isForked else {
      guard isSuspended else { return StorageError(.closed, "The database was closed. Open it again.", path: path) }
      return StorageError(
        .suspended,
        "The database was suspended, so that another process may open it. Call resume(), and begin anew.", path: path)
    }
    return StorageError(
      .forkedProcess,
      "The database was opened by the process that this one was forked from. Open it here when that has closed it.",
      path: path)
  }
}
