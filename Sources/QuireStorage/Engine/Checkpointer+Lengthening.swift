// Giving the log another segment without a checkpoint.

internal import Synchronization

/// A log that becomes longer: from the file of the segment to come to the proof that a meta page names it.
///
/// The meta page that it writes says of the trees, and of where the log begins, just what the newest one says, and
/// names one more segment. Its phases are those of a checkpoint that has no pages, and safe for the same reasons: the
/// file is there in full before the meta page names it, and a record that marks the meta page durable is synced before
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

extension Checkpointer {
  /// Lets the log go on in its next segment, which there is, as the current one is full: as a longer log, or owing a
  /// checkpoint. Nothing runs.
  func leaveSegment(_ permit: borrowing WriterPermit) {
    log.growSegments(permit)
    if lengthenLog(permit) { return }
    log.change { log, alone in log?.switchSegment(alone) }
    log.noteOwedCheckpoint(permit)
  }

  /// Lets the log go on in its next segment, which there is, and names another behind that: without a checkpoint, as
  /// long as the log is short. That is when segments are small, and a checkpoint for each of them would write the same
  /// pages over and over. Nothing runs.
  ///
  /// - Returns: false, and nothing has been done, if it takes a checkpoint to name another segment.
  private func lengthenLog(_ permit: borrowing WriterPermit) -> Bool {
    guard let current = log.with({ $0?.next?.descriptor }), let byteCount = log.additionalByteCount(behind: current)
    else { return false }
    // Neither what the newest meta page names nor what the one before the first of this life may still need.
    let taken = Set((meta.current.segments + (meta.predecessor?.segments ?? [])).map(\.fileIndex))
    guard let fileIndex = (0..<Limits.segmentFileCount).first(where: { !taken.contains($0) }) else { return false }
    log.change { log, alone in log?.switchSegment(alone) }
    let descriptor = SegmentDescriptor(
      number: current.number + 1, salt: environment.random(), byteCount: byteCount, firstLSN: current.endLSN,
      fileIndex: fileIndex)
    begin(.lengthening(LogLengthening(descriptor)), permit)
    dispatch()
    return true
  }

  // MARK: Stepping

  /// Does the next piece of work; false if there is none left.
  ///
  /// Without another segment the log waits for a checkpoint when it is full. So only what
  /// leaves the disk's state unknown is a failure.
  func step(_ job: LogLengthening) -> Bool {
    do throws(StorageError) {
      try advance(job)
      if job.phase != .done { return true }
      counters.logLengthenings.wrappingAdd(1, ordering: .relaxed)
      // The next transaction that ends begins a checkpoint if the log is in its last segment.
      log.noteMissingSegment()
      gate.end(keepingFailure: nil)
    } catch {
      job.next?.file.close()
      // The next transaction that ends begins a checkpoint if the log is in its last segment.
      log.noteMissingSegment()
      gate.end(keepingFailure: queue.failure)
      if queue.hasStopped { tellOfFailedCheckpoint(error) }
    }
    return false
  }

  private func advance(_ job: LogLengthening) throws(StorageError) {
    switch job.phase {
    case .segment:
      try queue.checkFailure()
      try log.checkFiles()
      job.next = try log.withFinalSyncs { () throws(StorageError) in
        try logFiles.create(job.descriptor, isFilled: false)
      }
      job.phase = .meta
    case .meta:
      try queue.checkFailure()
      try log.checkFiles()
      var page = meta.current
      page.checkpointNumber += 1
      page.segments.append(job.descriptor)
      try writeMeta(page)
      job.phase = .mark
    case .mark:
      let next = job.next
      // The log writer's from here on.
      job.next = nil
      try log.prove(meta.current.checkpointNumber, next: next, isHeaderWritten: true)
      job.phase = .done
    case .done:
      break
    }
  }
}
