// Replaying the log, and making the result durable before anybody sees it.

internal import Synchronization

extension EngineCore {
  /// Applies all records of the chain as one transaction. Their order is kept; nothing is visible before the end.
  func replay(_ scan: LogScan, _ reader: LogReader) throws(StorageError) {
    guard !scan.records.isEmpty else { return }
    limitDirtyPages()
    context.begin(on: head)
    defer { slots.rest(writerSlot) }
    let logByteCount = scan.records.reduce(0) { $0 + $1.header.bodyByteCount }
    let preparer = preparer(logByteCount: logByteCount)
    preparer?.start()
    defer { preparer?.stop() }
    var batch = ReplayBatch(context, logByteCount: logByteCount, note: environment.noteRecovery)
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
    }
    // What is replayed stays in memory as long as it fits: a page may still turn out to be damaged, and a database that
    // is refused is left as it was.
    try batch.flush()
    // Nothing waits for the log that this came from: before anybody sees the result it is durable, in the data file or
    // in the log, and there may be no log to flush until the next commit.
    let snapshot = makeSnapshot(csn: scan.endCSN, endLSN: queue.durableLSN)
    context.discardDeadExtents()
    try context.writeDeferredExtents()
    counters.recoveredRecords.wrappingAdd(scan.records.count, ordering: .relaxed)
    reclaimer.retire(context.superseded, csn: context.csn.rawValue)
    allocator.commitAhead()
    context.didCommit()
    let old = head
    setHead(snapshot)
    slots.publish(snapshot)
    reclaimer.retire(old)
    reclaimer.collect()
  }

  /// Who makes memory ready for what a log of this length will fill; nil where a thread costs more than it saves.
  private func preparer(logByteCount: Int) -> SlabPreparer? {
    let isWorthwhile = environment.scheduling == .threads && logByteCount >= Self.preparedLogByteCount
    return isWorthwhile ? SlabPreparer(store.pool, environment.threadStarter) : nil
  }

  private static let preparedLogByteCount = 4 << 20

  private func located(_ error: StorageError, _ record: LogScan.Record) -> StorageError {
    guard error.code == .damagedLog else { return error }
    return StorageError(
      .damagedLog, error.message, path: logFiles.path(meta.current.segments[record.segment].fileIndex),
      lsn: record.header.lsn, offset: record.offset)
  }

  /// Writes what was replayed home and a meta page that needs no log.
  ///
  /// Nothing is ever appended behind a cut tail (hazard A1), and records that no mark proves may be in the page cache
  /// alone (A5): a checkpoint makes all of it durable by writing it to fresh places. It trades some of the speed of
  /// opening after a crash for that.
  func finishRecovery(_ scan: LogScan) throws(StorageError) {
    try retryingWithPlaces { () throws(StorageError) in try settle(scan) }
    queue.noteRecovered(head.endLSN)
    if hasOwnFiles { removeAllLogs() }
  }

  private func settle(_ scan: LogScan) throws(StorageError) {
    try chooseMetaSlot()
    let run = beginCheckpoint(
      frozenHead(), requiredLSN: LSN(0), loggedCSN: head.csn, isFinal: true)
    // There is no log writer: where the log ended is known from the scan.
    run.meta.segments = []
    run.meta.logOffset = 0
    run.meta.chain = scan.endChain
    let lastLSN = meta.current.segments.last?.endLSN ?? scan.endLSN
    run.meta.lsn = LSN(UInt64(LogLayout.align(Int(lastLSN.rawValue), to: LogLayout.blockByteCount)))
    while stepCheckpoint() {}
    if let failure = checkpoints.lastFailure { throw failure }
  }

  /// The roots of a snapshot.
  func trees(of snapshot: SnapshotRecord) -> [TreeRoot] {
    (0..<snapshot.treeCount).map { snapshot.trees[$0] }
  }

  /// The snapshot of what the write context holds.
  func makeSnapshot(csn: CSN, endLSN: LSN) -> SnapshotRecord {
    let snapshot = pool.take(treeCount: context.trees.count)
    context.enter(into: snapshot)
    snapshot.endLSN = endLSN
    snapshot.setCSN(csn.rawValue)
    return snapshot
  }

  /// Makes `snapshot` what the next transaction builds on.
  func setHead(_ snapshot: SnapshotRecord) {
    head = snapshot
    headCSN.store(snapshot.csn.rawValue, ordering: .sequentiallyConsistent)
  }
}
