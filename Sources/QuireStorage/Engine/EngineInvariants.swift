// What tests ask of the engine's components between two steps.

internal import Synchronization

extension EngineCore {
  /// Checks the invariants of the components; returns what is broken. Waits for the writer lock and for the checkpoint
  /// that runs. One system call.
  ///
  /// - Throws: `closed`, `nestedWrite` inside a transaction.
  package func checkInvariants() throws(StorageError) -> String? {
    try withWriterLock { permit in
      checkpointer.finishRunning()
      if head.csn < slots.newest.csn { return "\(slots.newest.csn) is published, and the head is \(head.csn)" }
      if resources.head.csn.load(ordering: .relaxed) != head.csn.rawValue { return "the head has two numbers" }
      return log.brokenInvariant(permit) ?? space.brokenInvariant(permit) ?? checkpointer.brokenInvariant(permit)
        ?? maintainer.brokenInvariant(permit)
    }
  }
}

extension LogManager {
  /// The invariant that does not hold while no checkpoint runs, if there is one.
  fileprivate func brokenInvariant(_ permit: borrowing WriterPermit) -> String? {
    if queue.hasStopped { return nil }
    return with { log -> String? in
      guard let log else {
        return meta.current.isComplete || options.isReadOnly ? nil : "the meta page names a log, and there is none"
      }
      if meta.current.isComplete { return "there is a log, and the meta page names none" }
      if frozenLSN > log.current.descriptor.lsn(at: log.position) { return "the log was frozen behind its end" }
      let named = meta.current.segments.map(\.number)
      if !named.contains(log.current.descriptor.number) { return "the meta page does not name the current segment" }
      if let next = log.next, !named.contains(next.descriptor.number) {
        return "the meta page does not name the next segment"
      }
      if log.isUnsettled { return "a commit by checkpoint has no end" }
      return desiredSegmentByteCount % 8 == 0 ? nil : "segments of \(desiredSegmentByteCount) bytes"
    }
  }
}

extension SpaceManager {
  /// The invariant that does not hold while no transaction runs, if there is one.
  fileprivate func brokenInvariant(_ permit: borrowing WriterPermit) -> String? {
    if proof.isOver == allocator.isWithholding { return "places are withheld, and the proof is over, or neither" }
    if reservation.extentPages != 0 { return "\(reservation.extentPages) pages are reserved for no value" }
    if queue.hasStopped || options.isReadOnly { return nil }
    do throws(SystemError) {
      let byteCount = try file.status().byteCount
      let backed = Int(allocator.backedEnd) * store.pageSize
      return byteCount >= backed ? nil : "the file has \(byteCount) bytes, and places up to \(backed)"
    } catch {
      return nil
    }
  }
}

extension Checkpointer {
  /// The invariant that does not hold while none runs, if there is one.
  fileprivate func brokenInvariant(_ permit: borrowing WriterPermit) -> String? {
    if isRunning { return "a checkpoint runs that was waited for" }
    if queue.hasStopped { return nil }
    if queue.durableCheckpoint != meta.current.checkpointNumber {
      return "records testify to checkpoint \(queue.durableCheckpoint) of \(meta.current.checkpointNumber)"
    }
    return meta.current.csn <= head.csn ? nil : "the meta page is of \(meta.current.csn), and the head \(head.csn)"
  }
}

extension Maintainer {
  /// The invariant that does not hold between two steps, if there is one.
  fileprivate func brokenInvariant(_ permit: borrowing WriterPermit) -> String? {
    let pass = pass(permit)
    if pass.copiedSinceCheckpoint > pass.copied { return "more pages were copied since a checkpoint than in the pass" }
    if pass.finishedCSN != CSN(.max), pass.finishedCSN > head.csn { return "a pass has ended after the head" }
    return nil
  }
}
