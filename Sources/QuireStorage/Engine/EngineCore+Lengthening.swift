// Giving the log another segment without a checkpoint.

internal import Synchronization

/// A log that becomes longer: from the file of the segment to come to the proof that a meta page names it.
///
/// The meta page that it writes says of the trees, and of where the log begins, just what the newest one says, and
/// names one more segment. Its phases are those of a checkpoint that has no pages, and safe for the same reasons: the
/// file is there in full before the meta page names it, and a record that testifies to the meta page is durable before
/// anything in the new segment is.
final class LogLengthening: @unchecked Sendable {
  // Sendable: safe because one thread at a time steps it, and the gate hands it over.
  enum Phase {
    case segment
    case meta
    case mark
    case done
  }

  /// The segment to come.
  let descriptor: SegmentDescriptor
  var phase = Phase.segment
  /// The segment, once its file is ready.
  var next: OpenSegment?

  init(_ descriptor: SegmentDescriptor) { self.descriptor = descriptor }
}

extension EngineCore {
  /// Has the log go on in its next segment, which there is, as the current one is full: as a longer log, or owing a
  /// checkpoint. Writer lock held, nothing runs.
  func leaveSegment() {
    growSegments()
    if lengthenLog() { return }
    withLog { $0?.switchSegment() }
    owesCheckpoint = true
  }

  /// Has the log go on in its next segment, which there is, and another one named behind that: without a checkpoint, as
  /// long as the log is short. That is when segments are small, and a checkpoint for each of them would write the same
  /// pages over and over. Writer lock held, nothing runs.
  ///
  /// - Returns: false, and nothing has been done, if it takes a checkpoint to name another segment.
  private func lengthenLog() -> Bool {
    guard let current = withLog({ $0?.next?.descriptor }), let byteCount = additionalByteCount(behind: current)
    else { return false }
    // Neither what the newest meta page names nor what the one before the first of this life may still need.
    let taken = Set((meta.current.segments + (meta.predecessor?.segments ?? [])).map(\.fileIndex))
    guard let fileIndex = (0..<Limits.segmentFileCount).first(where: { !taken.contains($0) }) else { return false }
    withLog { $0?.switchSegment() }
    checkpoints.begin(
      .lengthening(
        LogLengthening(
          SegmentDescriptor(
            number: current.number + 1, salt: environment.random(), byteCount: byteCount, firstLSN: current.endLSN,
            fileIndex: fileIndex))))
    dispatchCheckpoint()
    return true
  }

  /// How many segments the log has when nothing has made it longer: one in use, and the next.
  private static let usualSegmentCount = 2
  /// How many times as long as the log the next segment is; and for a transaction that fills segments alone.
  private static let usualGrowth = 4
  private static let streamedGrowth = 8

  /// Whether the newest meta page names more segments than usual: the log has filled one since the last checkpoint, and
  /// the next checkpoint leaves files that nobody needs.
  var isLogLengthened: Bool { meta.current.segments.count > Self.usualSegmentCount }

  /// The size of another segment; nil if the meta page has no room for it, or the log would exceed its limit, so that
  /// recovery never has more to replay than what two segments of the largest size hold.
  ///
  /// Where there is much data the log grows steeply, because a meta page names few segments: a burst that comes after a
  /// quiet time finds short ones, and would else pay for a checkpoint of all that it touches long before the log is as
  /// long as it may be. A transaction that fills segments alone gets a long one, however little data there is yet: it
  /// had better find room in the log than write its pages home while it runs.
  private func additionalByteCount(behind last: SegmentDescriptor) -> Int? {
    let named = meta.current.segments
    let total = named.reduce(0) { $0 + $1.byteCount }
    let isStreamed = context.log.partCount > 0
    let room = ((isStreamed ? longestLogByteCount : logAllowance) - total) & ~7
    guard named.count < Limits.segmentsInMetaPage, named.last == last, desiredSegmentByteCount <= room else {
      return nil
    }
    let wanted = isStreamed ? Self.streamedGrowth * total : min(Self.usualGrowth * total, dataByteCount)
    return min(room, max(desiredSegmentByteCount, wanted & ~7))
  }

  // MARK: Stepping

  /// Does the next piece of work; false if there is none left.
  ///
  /// Without another segment the log does as before there were more than two: it waits for a checkpoint when it is
  /// full. So only what leaves the disk's state unknown is a failure.
  func step(_ job: LogLengthening) -> Bool {
    do throws(StorageError) {
      try advance(job)
      if job.phase != .done { return true }
      counters.logLengthenings.wrappingAdd(1, ordering: .relaxed)
      noteMissingSegment()
      checkpoints.end(keepingFailure: nil)
    } catch {
      job.next?.file.close()
      noteMissingSegment()
      checkpoints.end(keepingFailure: queue.failure)
      if queue.hasStopped { tellOfFailedCheckpoint(error) }
    }
    return false
  }

  /// Has the next transaction that ends begin a checkpoint if the log is in its last segment: as there was no space for
  /// another one, or the proof of it had no room but there.
  private func noteMissingSegment() {
    if withLog({ $0?.next == nil }) { lacksSegment.store(true, ordering: .relaxed) }
  }

  private func advance(_ job: LogLengthening) throws(StorageError) {
    switch job.phase {
    case .segment:
      try queue.checkFailure()
      try checkFiles()
      job.next = try withFinalSyncs { () throws(StorageError) in
        try logFiles.create(job.descriptor, isFilled: false)
      }
      job.phase = .meta
    case .meta:
      try queue.checkFailure()
      try checkFiles()
      var page = meta.current
      page.checkpointNumber += 1
      page.segments.append(job.descriptor)
      try writeMeta(page)
      job.phase = .mark
    case .mark:
      let next = job.next
      // The log writer's from here on.
      job.next = nil
      try prove(meta.current.checkpointNumber, next: next, isHeaderWritten: true)
      job.phase = .done
    case .done:
      break
    }
  }
}
