// What tests ask of the engine's components between two transactions.

internal import Synchronization

extension EngineCore {
  /// Checks the invariants of the components; returns what is broken. Waits for the writer lock and for the checkpoint
  /// that runs. Some system calls.
  ///
  /// - Throws: `closed`, `nestedWrite` inside a transaction.
  package func checkInvariants() throws(StorageError) -> String? {
    try withWriterLock { permit in
      checkpointer.finishRunning()
      return defect(permit)
    }
  }

  /// The same without a wait for the checkpoint that runs: what belongs to it is left out.
  ///
  /// - Throws: as `checkInvariants`.
  package func checkInvariantsBesideCheckpoint() throws(StorageError) -> String? {
    try withWriterLock { permit in defect(permit) }
  }

  private func defect(_ permit: borrowing WriterPermit) -> String? {
    // Nothing begins as long as the lock is held, but what runs may end.
    let isAtRest = !checkpointer.isRunning
    if let broken = resources.head.checkInvariants(permit) ?? queue.checkInvariants() { return broken }
    if head.csn < slots.newest.csn { return "\(slots.newest.csn) is published, and the head is \(head.csn)" }
    if let broken = reclaimer.checkInvariants(permit) ?? memory.checkInvariants(permit) { return broken }
    if let broken = maintainer.checkInvariants(permit) ?? checkpointer.checkInvariants(permit) { return broken }
    guard isAtRest else { return nil }
    return log.checkInvariants(permit) ?? space.checkInvariants(permit) ?? metaDefect(permit)
      ?? catalog.checkInvariants()
  }

  /// After a failure nobody knows which meta page the disk has.
  private func metaDefect(_ permit: borrowing WriterPermit) -> String? {
    queue.hasStopped ? nil : meta.checkInvariants()
  }
}

extension CommitHead {
  /// Checks the first invariant; returns what is broken.
  func checkInvariants(_ permit: borrowing WriterPermit) -> String? {
    csn.load(ordering: .relaxed) == snapshot.csn.rawValue ? nil : "the head has two numbers"
  }
}

extension LogManager {
  /// Checks the invariants while no checkpoint runs; returns what is broken.
  func checkInvariants(_ permit: borrowing WriterPermit) -> String? {
    if desiredSegmentByteCount % 8 != 0 { return "segments of \(desiredSegmentByteCount) bytes" }
    if queue.hasStopped { return nil }
    return change { log, alone -> String? in
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
      return log.checkInvariants(alone)
    }
  }
}

extension SpaceManager {
  /// Checks the invariants while no transaction and no checkpoint runs; returns what is broken.
  func checkInvariants(_ permit: borrowing WriterPermit) -> String? {
    if proof.isOver == allocator.isWithholding { return "places are withheld, and the proof is over, or neither" }
    if reservation.extentPages != 0 { return "\(reservation.extentPages) pages are reserved for no value" }
    if queue.hasStopped || options.isReadOnly { return nil }
    if let broken = overheadDefect(permit) { return broken }
    do throws(SystemError) {
      let byteCount = try file.status().byteCount
      let backed = Int(allocator.backedEnd) * store.pageSize
      return byteCount >= backed ? nil : "the file has \(byteCount) bytes, and places up to \(backed)"
    } catch {
      return nil
    }
  }

  /// Whether two checkpoints like the last one would take more than `reservation` has for them.
  private func overheadDefect(_ permit: borrowing WriterPermit) -> String? {
    guard head.treeCount <= reservation.treeLimit, head.names.byteCount <= reservation.nameByteLimit else { return nil }
    var mapPages = 0
    freeMap.forEachPage { _ in mapPages += 1 }
    // Its entries may lie anyhow, but fill the pages once at least.
    let needed = 2 * (mapPages + catalog.byteCount / store.pageSize)
    return reservation.overhead >= needed ? nil : "\(reservation.overhead) pages for checkpoints, which take \(needed)"
  }
}

extension Checkpointer {
  /// Checks the invariants; returns what is broken.
  func checkInvariants(_ permit: borrowing WriterPermit) -> String? {
    if queue.hasStopped { return nil }
    guard let current else {
      if queue.durableCheckpoint != meta.current.checkpointNumber {
        return "records mark checkpoint \(queue.durableCheckpoint), and \(meta.current.checkpointNumber) is the newest"
      }
      return meta.current.csn <= head.csn ? nil : "the meta page is of \(meta.current.csn), and the head \(head.csn)"
    }
    // Where a thread steps it, it may end meanwhile.
    guard case .checkpoint(let run) = current, environment.scheduling == .stepped else { return nil }
    if run.state.csn > head.csn { return "a checkpoint of \(run.state.csn) runs, and the head is \(head.csn)" }
    return slots.announcedCSNs().contains(run.state.csn.rawValue) ? nil : "a checkpoint's snapshot is not announced"
  }
}

extension Maintainer {
  /// Checks between two steps what can be told of the pass; returns what is broken.
  func checkInvariants(_ permit: borrowing WriterPermit) -> String? {
    let pass = pass(permit)
    if pass.copiedSinceCheckpoint > pass.copied { return "more pages were copied since a checkpoint than in the pass" }
    if pass.finishedCSN != CSN(.max), pass.finishedCSN > head.csn { return "a pass has ended after the head" }
    if case .relocate = pass.phase, pass.limit == .max { return "pages are moved to nowhere" }
    return nil
  }
}
