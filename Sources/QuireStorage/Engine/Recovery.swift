// Replaying the log, and making the result durable before anybody sees it.

internal import Synchronization

/// Brings an engine that has just been put together to the state that its log leads to. Nobody else has the engine yet.
struct Recovery {
  let core: EngineCore
  let scan: LogScan
  let reader: LogReader
  /// Who is told how far the replay has come, if somebody is.
  let progress: RecoveryProgress?

  /// Replays the log and makes the result durable: in the data file, or in a log that goes on.
  ///
  /// - Throws: `damagedLog`, `damagedPage`, `diskFull`, `inputOutput`, `failStop`; an error that stands for another one
  ///   if who is told has ended the opening.
  func run() throws(StorageError) {
    let permit = try core.writerLock.lock()
    do throws(StorageError) {
      do throws(StorageError) { try replay(permit) } catch {
        try makePlaces(after: error, permit)
        try replay(permit)
      }
      if !core.options.isReadOnly, try !continueLog(permit) { try finish(permit) }
    } catch {
      core.writerLock.unlock(permit)
      throw error
    }
    core.writerLock.unlock(permit)
  }

  /// Makes the places that the file has available for another attempt after `error`, if that is a full disk, and takes
  /// back what the attempt has left in memory.
  ///
  /// - Throws: `error` if that does not help.
  private func makePlaces(after error: StorageError, _ permit: borrowing WriterPermit) throws(StorageError) {
    guard error.code == .diskFull, !core.queue.hasStopped, !core.options.isReadOnly else { throw error }
    core.context.rollbackReplay(to: core.head)
    guard try core.space.provePlaces(permit) else { throw error }
  }

  /// Applies all records of the chain as one transaction. Their order is kept; nothing is visible before the end.
  private func replay(_ permit: borrowing WriterPermit) throws(StorageError) {
    guard !scan.records.isEmpty else { return }
    core.memory.limitDirtyPages(permit)
    core.context.begin(on: core.head)
    defer { core.slots.exitEpoch(core.writerSlot) }
    let logByteCount = scan.records.reduce(0) { $0 + $1.header.bodyByteCount }
    let prefaulter = prefaulter(logByteCount: logByteCount)
    prefaulter?.start()
    defer { prefaulter?.stop() }
    var batch = ReplayBatch(core.context, logByteCount: logByteCount, note: core.environment.noteRecovery)
    try progress?.begin(logByteCount: logByteCount)
    for record in scan.records {
      var operations = LogOperationReader(reader.committedBody(of: record))
      do throws(StorageError) {
        while let operation = operations.next() { try batch.add(operation) }
      } catch {
        throw located(error, record)
      }
      guard !operations.isDamaged else {
        throw located(StorageError(.damagedLog, "A log record breaks the format. Restore a backup."), record)
      }
      try progress?.didRead(byteCount: record.header.bodyByteCount, areApplied: batch.isEmpty)
    }
    // What is replayed stays in memory as long as it fits: a page may still turn out to be damaged, and a database that
    // is refused is left as it was.
    try batch.flush()
    try progress?.didReplay()
    // Nothing waits for the log that this came from: before anybody sees the result it is durable, in the data file or
    // in the log, and there may be no log to flush until the next commit.
    let snapshot = core.resources.makeSnapshot(csn: scan.endCSN, endLSN: core.queue.durableLSN, permit)
    core.context.discardDeadExtents()
    try core.context.writeDeferredExtents()
    core.counters.recoveredRecords.wrappingAdd(scan.records.count, ordering: .relaxed)
    core.reclaimer.retire(core.context.superseded, csn: core.context.csn.rawValue, permit)
    core.allocator.commitAhead(permit)
    core.context.didCommit()
    let old = core.head
    core.resources.head.advance(to: snapshot, permit)
    core.slots.publish(snapshot)
    core.reclaimer.retire(old)
    core.reclaimer.collect()
  }

  /// Who makes memory ready for what a log of this length will fill; nil where a thread costs more than it saves.
  private func prefaulter(logByteCount: Int) -> SlabPrefaulter? {
    let isWorthwhile = core.environment.scheduling == .threads && logByteCount >= Self.preparedLogByteCount
    return isWorthwhile ? SlabPrefaulter(core.store.pool, core.environment.threadStarter) : nil
  }

  private static let preparedLogByteCount = 4 << 20

  private func located(_ error: StorageError, _ record: LogScan.Record) -> StorageError {
    guard error.code == .damagedLog else { return error }
    return StorageError(
      .damagedLog, error.message, path: core.logFiles.path(core.meta.current.segments[record.segment].fileIndex),
      lsn: record.header.lsn, offset: record.offset)
  }

  /// Writes what was replayed home and a meta page that needs no log.
  ///
  /// Nothing is ever appended behind a cut tail (hazard A1), and records that no mark proves may be in the page cache
  /// alone (A5): a checkpoint makes all of it durable by writing it to fresh places. It trades some of the speed of
  /// opening after a crash for that.
  private func finish(_ permit: borrowing WriterPermit) throws(StorageError) {
    do throws(StorageError) { try core.checkpointer.settle(scan, permit) } catch {
      guard error.code == .diskFull, !core.queue.hasStopped, try core.space.provePlaces(permit) else { throw error }
      try core.checkpointer.settle(scan, permit)
    }
    core.queue.noteRecovered(core.head.endLSN)
    if core.hasOwnFiles { core.log.removeAllFiles() }
  }
}
