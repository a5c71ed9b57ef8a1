// The log of an open engine: who may append to it, and when it is marked, frozen and closed.

internal import Synchronization

/// Owns the log writer, and what is known of the size of the segments to come.
///
/// Invariants:
/// 1. There is no log exactly while the newest meta page says that none is needed.
/// 2. Whatever is appended, and whatever moves the log to another segment, does so under the latch.
/// 3. `frozenLSN` is not behind the end of the log.
package final class LogManager: EngineComponent, @unchecked Sendable {
  // Sendable: safe because the log is reached under the latch only, and the rest is an atomic or changes under the
  // writer lock.
  package let resources: EngineResources
  // What every commit uses: one load each, and no reference counted.
  /// The state of the running write transaction; writer lock.
  package let context: WriteContext
  /// Commits between their append and their publication.
  package let queue: CommitQueue
  let space: SpaceManager
  /// The log, once there is one; set under writer lock and latch.
  @exclusivity(unchecked) private var log: LogWriter?
  /// Excludes appends, switches and marks from each other.
  private let latch = LogLatch()
  private let markBuffer = LogBuffer()
  /// The durable LSN when the quiet mark was last considered.
  private let quietLSN = Atomic<UInt64>(0)
  /// How large segments are made. Changed under the writer lock while no checkpoint runs.
  private var sizing: SegmentSizing
  /// Where the log went on after the last freeze; writer lock.
  private(set) var frozenLSN = LSN(0)
  /// Whether the log has gone on in its last segment without a checkpoint, which alone can name another one; writer
  /// lock.
  @exclusivity(unchecked) package private(set) var owesCheckpoint = false
  /// Whether the log was made longer in vain.
  private let lacksSegment = Atomic<Bool>(false)

  init(_ resources: EngineResources, _ space: SpaceManager) {
    self.resources = resources
    context = resources.context
    queue = resources.queue
    self.space = space
    let (options, environment) = (resources.options, resources.environment)
    let dataByteCount = Int(resources.allocator.pageCount) * resources.store.pageSize
    sizing = SegmentSizing(
      desiredByteCount: options.diskFootprint == .small
        ? Self.restingSegmentByteCount(options, environment, dataByteCount: dataByteCount)
        : Self.initialSegmentByteCount(options, environment))
    limitParts()
  }

  /// Keeps parts of records well below the size of a segment.
  private func limitParts() {
    context.log.partByteCount = min(environment.partByteCount, desiredSegmentByteCount / 8)
  }

  // MARK: Sizes and debts

  /// A size for the next segment that is made, in bytes.
  var desiredSegmentByteCount: Int { sizing.desiredByteCount }

  /// Changes how large segments are made. No checkpoint runs.
  func changeSizing(_ permit: borrowing WriterPermit, _ change: (inout SegmentSizing) -> Void) {
    change(&sizing)
    assert(sizing.desiredByteCount % 8 == 0, "segments are made of whole words")
    limitParts()
  }

  /// Whether a checkpoint is to bring another segment: the log has gone on in its last one, or was made longer in vain.
  @inline(__always) func hasDebt(_ permit: borrowing WriterPermit) -> Bool {
    owesCheckpoint || lacksSegment.load(ordering: .relaxed)
  }

  /// Whether that can wait until half of the last segment is used.
  @inline(__always) func debtCanWait(_ permit: borrowing WriterPermit) -> Bool {
    owesCheckpoint && !lacksSegment.load(ordering: .relaxed) && isInFirstHalfOfLastSegment(permit)
  }

  /// Notes that the log has gone on in its last segment, which a checkpoint is owed for.
  func noteOwedCheckpoint(_ permit: borrowing WriterPermit) { owesCheckpoint = true }

  /// Notes, on the thread that has tried to make the log longer, whether it is in its last segment all the same: as
  /// there was no space for another one, or the proof of it had no room but there.
  func noteMissingSegment() {
    if with({ $0?.next == nil }) { lacksSegment.store(true, ordering: .relaxed) }
  }

  /// Forgets what is owed: a checkpoint is about to begin, or can bring nothing any more.
  func clearDebt(_ permit: borrowing WriterPermit) {
    owesCheckpoint = false
    lacksSegment.store(false, ordering: .relaxed)
  }

  // MARK: The latch

  /// Runs `body`, which only looks, under the latch.
  @discardableResult
  package func with<Result>(_ body: (LogWriter?) -> Result) -> Result { latch.withLock { _ in body(log) } }

  /// Runs `body`, which may move the end of the log, under the latch.
  func change<Result>(_ body: (LogWriter?, borrowing LogPermit) -> Result) -> Result {
    latch.withLock { alone in body(log, alone) }
  }

  /// Runs `body`, which appends, under the latch. A failure that leaves the end of the log unknown stops all writing
  /// before the latch is given up, so that nothing is appended behind it; waiting threads are told after that, as it
  /// may lead to code of the app's.
  @discardableResult @inline(__always)
  private func changeOrStop<Result>(
    _ body: (LogWriter?, borrowing LogPermit) throws(AppendFailure) -> Result
  ) throws(AppendFailure) -> Result {
    do throws(AppendFailure) {
      return try latch.withLock { (alone: borrowing LogPermit) throws(AppendFailure) in
        do throws(AppendFailure) { return try body(log, alone) } catch { throw stopped(after: error) }
      }
    } catch { throw announced(error) }
  }

  /// Stops all writing if the failure of an append leaves the end of the log unknown; under the latch.
  @inline(never) private func stopped(after failure: AppendFailure) -> AppendFailure {
    if case .unknown(let reason) = failure { queue.stop(reason) }
    return failure
  }

  /// Tells those who wait that writing has stopped, if it has; outside of the latch.
  @inline(never) private func announced(_ failure: AppendFailure) -> AppendFailure {
    if case .unknown = failure { queue.announceFailure() }
    return failure
  }

  /// Whether there is a log.
  package var exists: Bool { with { $0 != nil } }

  /// Where the next record goes; where the checkpoint says if there is no log.
  var endLSN: LSN { with { $0?.endLSN ?? meta.current.lsn } }

  /// Makes `writer` the log.
  func start(_ writer: LogWriter, _ permit: borrowing WriterPermit) {
    latch.withLock { _ in
      assert(log == nil, "there is one log")
      log = writer
    }
    frozenLSN = writer.current.descriptor.lsn(at: writer.position)
    queue.setLog(writer)
  }

  /// Closes the files of the log.
  func close() { with { $0?.close() } }

  /// Looks at the data file and at the log; two system calls. If something has happened to them, all writing stops.
  ///
  /// - Throws: `fileChanged`.
  func checkFiles() throws(StorageError) {
    try checkDataFile()
    guard let segment = with({ $0?.current }) else { return }
    do throws(StorageError) {
      try watch.check(segment.file, byteCount: segment.descriptor.byteCount)
    } catch {
      try stop(error)
    }
  }

  // MARK: Appending

  /// Appends what the running transaction's record holds, as a part or as the commit.
  ///
  /// - Returns: the LSN behind the record; nil if a mark has come in between and taken the room that there was, or if
  ///   writing has stopped.
  func appendRecord(_ kind: LogRecordKind, _ permit: borrowing WriterPermit) throws(AppendFailure) -> LSN? {
    // As `changeOrStop` does it, in one closure: every commit comes by.
    do throws(AppendFailure) {
      return try latch.withLock { (alone: borrowing LogPermit) throws(AppendFailure) -> LSN? in
        guard let log else { return nil }
        do throws(AppendFailure) { return try append(to: log, kind, alone) } catch { throw stopped(after: error) }
      }
    } catch { throw announced(error) }
  }

  @inline(__always)
  private func append(
    to log: borrowing LogWriter, _ kind: LogRecordKind, _ alone: borrowing LogPermit
  ) throws(AppendFailure) -> LSN? {
    // Looked at under the latch: nothing follows half a record.
    if queue.hasStopped { return nil }
    let startsBlock = options.alignsLogGroups && log.endLSN <= queue.durableLSN
    guard log.hasRoom(forBody: context.log.bodyByteCount, startsBlock: startsBlock) else { return nil }
    return try log.append(
      context.log, kind: kind, csn: context.csn, durableLSN: queue.durableLSN,
      durableCheckpoint: queue.durableCheckpoint, startsBlock: startsBlock, alone)
  }

  private func startsBlock(_ log: LogWriter) -> Bool { options.alignsLogGroups && log.endLSN <= queue.durableLSN }

  /// Where the record of the running transaction has room.
  enum Room {
    /// In the current segment.
    case here
    /// In the next segment, which there is.
    case afterSwitch
    /// In no segment: the record is too long, or there is no log.
    case never
    /// Not before a checkpoint, or a longer log, has brought another segment.
    case later
  }

  /// Where a body of `byteCount` bytes has room.
  func room(forBody byteCount: Int, _ permit: borrowing WriterPermit) -> Room {
    with { log -> Room in
      guard let log else { return .never }
      if log.hasRoom(forBody: byteCount, startsBlock: startsBlock(log)) { return .here }
      guard let next = log.next else { return .later }
      return LogWriter.fits(body: byteCount, segmentByteCount: next.descriptor.byteCount) ? .afterSwitch : .never
    }
  }

  /// Whether the log is in its last segment, and in the first half of that.
  func isInFirstHalfOfLastSegment(_ permit: borrowing WriterPermit) -> Bool {
    lastSegment(permit).map { $0.position < $0.segment.byteCount / 2 } ?? false
  }

  /// Where the log ends, and how many bytes it has room for, if it is in the second half of its last segment. A part of
  /// the segment is kept back for a checkpoint that takes longer than it was expected to.
  func lastSegmentRoom(_ permit: borrowing WriterPermit) -> (end: LSN, room: Int)? {
    guard let (segment, position) = lastSegment(permit), position >= segment.byteCount / 2 else { return nil }
    let reserve = segment.byteCount / Self.reserveShare
    return (segment.lsn(at: position), max(0, segment.byteCount - reserve - position))
  }

  /// One part in so many of a segment is kept back.
  private static let reserveShare = 16

  /// The segment in use, and where the log ends in it, if there is none behind it.
  private func lastSegment(_ permit: borrowing WriterPermit) -> (segment: SegmentDescriptor, position: Int)? {
    with { log in
      guard let log, log.next == nil else { return nil }
      return (log.current.descriptor, log.position)
    }
  }

  // MARK: Marks

  /// Writes, when a burst of commits is over, a record that marks all of it durable; without it, damage to
  /// the last group of commits could not be told from the torn end of a crash (hazard A12). It is not synced: what it
  /// proves does not depend on it.
  ///
  /// - Returns: false if commits are on their way, so that it is too early.
  package func appendQuietMark() -> Bool {
    guard !queue.hasStopped else { return true }
    do throws(AppendFailure) {
      return try changeOrStop { (log, alone) throws(AppendFailure) -> Bool in
        guard let log, !log.endsWithMark, !queue.hasStopped else { return true }
        if log.isUnsettled { return false }
        let durable = queue.durableLSN
        if quietLSN.exchange(durable.rawValue, ordering: .relaxed) != durable.rawValue { return false }
        // Something is on its way; the flush that it needs asks for a mark again. Parts need none: they may belong to
        // nobody, and what they stand behind must be marked durable all the same.
        guard log.commitLSN <= durable else { return true }
        _ = try log.appendMark(markBuffer, durableLSN: durable, durableCheckpoint: queue.durableCheckpoint, alone)
        return true
      }
    } catch {
      // The threads that wait have been told; nobody waits for the mark, and what finds no space has left nothing
      // behind.
      return true
    }
  }

  /// Writes and syncs the record that marks the meta page `number` durable, once the log has the segment that this page
  /// names: the record may be the first one there.
  ///
  /// - Returns: false if there is no room for the record: the next one that is synced marks the page in its place.
  @discardableResult
  package func prove(_ number: UInt64, next: OpenSegment?, isHeaderWritten: Bool) throws(StorageError) -> Bool {
    let lsn: LSN?
    do throws(AppendFailure) {
      lsn = try changeOrStop { (log, alone) throws(AppendFailure) -> LSN? in
        guard let log else { return nil }
        if let next { log.setNext(next, alone) }
        // Behind a record whose write has failed nothing is found.
        if let failure = queue.failure { throw .unknown(failure) }
        do throws(StorageError) {
          if let next, !isHeaderWritten { try logFiles.writeHeader(next.descriptor, to: next.file) }
        } catch { throw error.code == .diskFull ? .refused(error) : .unknown(error) }
        let durable = queue.durableLSN
        if let lsn = try log.appendMark(markBuffer, durableLSN: durable, durableCheckpoint: number, alone) {
          return lsn
        }
        // This segment has no block left for the mark.
        guard log.next != nil else { return nil }
        log.switchSegment(alone)
        return try log.appendMark(markBuffer, durableLSN: durable, durableCheckpoint: number, alone)
      }
    } catch {
      switch error {
      case .refused: return false
      case .unknown(let error): throw error
      }
    }
    guard let lsn else { return false }
    try waitUntilDurable(lsn)
    return true
  }

  /// Waits until the log is durable up to `lsn`: for the engine itself, which has no commit of its own there.
  func waitUntilDurable(_ lsn: LSN) throws(StorageError) {
    do throws(StorageError) { try queue.wait(for: lsn) } catch { throw queue.failure ?? error }
  }

  // MARK: Freezing

  /// Enters into `page`, the meta page of a checkpoint that begins, where the log goes on behind it, and moves the log
  /// there: to its next segment, if it has one.
  ///
  /// A meta page must not name a position behind parts of a transaction that may still commit: recovery from it would
  /// find the commit and not the parts. So the running transaction, if it streams, gives its record up and commits by
  /// checkpoint.
  ///
  /// - Parameters:
  ///   - unlogged: the commit that the checkpoint is of, if that is in no log.
  ///   - isFinal: whether the result needs no log.
  func freeze(into page: inout MetaPage, unlogged: CSN?, isFinal: Bool, _ permit: borrowing WriterPermit) {
    latch.withLock { alone in
      guard let log else { return }
      if context.log.partCount > 0 { context.log.giveUp() }
      assert(!log.isUnsettled, "the log is frozen while a commit by checkpoint has not ended")
      page.chain = log.chain
      if isFinal {
        page.segments = []
        page.logOffset = 0
        // Behind the start of the segment, too: a mark may be the first record there, and must not look newer.
        let end = max(log.endLSN, log.current.descriptor.lsn(at: log.position))
        page.lsn = LSN(UInt64(LogLayout.align(Int(end.rawValue), to: LogLayout.blockByteCount)))
        return
      }
      assert(unlogged.map { $0 > log.lastCSN } ?? true, "a commit by checkpoint is in the log already")
      noteSegmentUse(log, permit)
      // Without a next segment, after a checkpoint that failed or a transaction that streamed, the log goes on where
      // it is.
      if log.next != nil { log.switchSegment(alone) }
      page.segments = [log.current.descriptor]
      page.logOffset = log.position
      page.lsn = log.current.descriptor.lsn(at: log.position)
      assert(page.lsn >= frozenLSN, "the log does not go back")
      frozenLSN = page.lsn
      if let unlogged { log.beginUnloggedCommit(unlogged, alone) }
    }
  }
}
