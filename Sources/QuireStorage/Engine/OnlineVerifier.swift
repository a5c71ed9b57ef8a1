// Checking an open database while it is in use.

internal import Synchronization

/// What a check has found.
public struct StorageVerification: Sendable {
  /// The commit whose trees were checked in memory.
  public let csn: CSN
  /// The checkpoint that was checked on the disk.
  public let checkpointNumber: UInt64
  /// Pages that were read from the disk.
  public let pages: Int
  /// Entries of all trees on the disk.
  public let entries: Int
  /// What is wrong; the check ends when it has found a hundred defects.
  public let defects: [StorageError]
}

/// A check of an open database.
struct OnlineVerifier {
  let core: EngineCore

  /// Checks the newest published snapshot, in memory or wherever its pages are, and the newest checkpoint, on the disk.
  ///
  /// Writers go on meanwhile. The pages of a checkpoint stay as they are until the next one has been proven, so the
  /// disk's part takes the meta page, walks, and starts again if a checkpoint has come in between; the third time it
  /// keeps the writer lock, and with it all checkpoints, out until it is done.
  ///
  /// - Parameter progress: called now and then, on the caller's thread; what it throws ends the check.
  func verify(
    defectLimit: Int = 100, progress: (StorageProgress) throws -> Void
  ) throws -> StorageVerification {
    try core.checkOpen()
    // What the disk's part is going to read need not be read twice.
    let known = try core.withWriterLock { _ in
      core.checkpointer.finishRunning()
      return core.meta.current.csn
    }
    // Kept to the end: `close` is refused meanwhile.
    let (slot, snapshot) = try core.slots.begin()
    defer { core.slots.end(slot) }
    try core.checkOpen()
    let total = 2 * max(0, Int(core.allocator.pageCount) - core.allocator.freeCount)
    var reported = 0
    var done = 0
    // Page by page: a check may take minutes, and no address may stand in the way of eviction for as long.
    core.slots.exitEpoch(slot)
    let memory = WalkPages.MemoryAccess(
      enter: { [slots = core.slots] in _ = slots.enterEpoch(slot) },
      leave: { [slots = core.slots] in slots.exitEpoch(slot) })
    let verifier = TreeVerifier(
      core.store, WalkPages(core.store, memory: memory), newestBirth: snapshot.csn, defectLimit: defectLimit,
      knownBirth: known)
    func report() throws {
      done = verifier.pageCount + verifier.extentPageCount
      guard done - reported >= 64 else { return }
      reported = done
      try StorageProgress(phase: .checkingMemory, done: done, total: total).report(to: progress)
    }
    for tree in core.trees(of: snapshot) where !verifier.isFull {
      try verifier.verify(tree, look: { _ in try report() }, afterExtent: report)
    }
    var attempt = 0
    while true {
      attempt += 1
      let before = done
      let result = try verifyDisk(defectLimit: defectLimit, keepsLock: attempt > 2) { pages in
        // An attempt that was overtaken by a checkpoint is work, too.
        done = before + pages
        try StorageProgress(phase: .checkingDisk, done: done, total: total).report(to: progress)
      }
      if let disk = result {
        return StorageVerification(
          csn: snapshot.csn, checkpointNumber: disk.meta.checkpointNumber, pages: disk.verifier.pageCount,
          entries: disk.verifier.entryCount, defects: verifier.defects + disk.defects)
      }
    }
  }

  private struct DiskCheck {
    let meta: MetaPage
    let verifier: CheckpointVerifier
    let defects: [StorageError]
  }

  /// Checks the newest checkpoint; nil if another one took its place meanwhile.
  ///
  /// - Parameter keepsLock: whether no other can: writers wait until the end.
  private func verifyDisk(
    defectLimit: Int, keepsLock: Bool, progress: (Int) throws -> Void
  ) throws -> DiskCheck? {
    guard keepsLock else {
      let start = try core.withWriterLock { (permit) throws(StorageError) in try beginDiskCheck(permit) }
      let check = try finish(start, defectLimit, progress)
      // No place of this checkpoint is reused before the next one's number is known here.
      return core.queue.durableCheckpoint == check.meta.checkpointNumber ? check : nil
    }
    let permit = try core.writerLock.lock()
    do {
      let check = try finish(beginDiskCheck(permit), defectLimit, progress)
      core.writerLock.unlock(permit)
      return check
    } catch {
      core.writerLock.unlock(permit)
      throw error
    }
  }

  /// The newest meta page, and what is wrong with it. With the lock, and without a checkpoint that runs, nobody changes
  /// a meta page.
  private func beginDiskCheck(
    _ permit: borrowing WriterPermit
  ) throws(StorageError) -> (page: MetaPage, defects: [StorageError]) {
    core.checkpointer.finishRunning()
    return (core.meta.current, try metaDefects(core.meta.current))
  }

  private func finish(
    _ start: (page: MetaPage, defects: [StorageError]), _ defectLimit: Int, _ progress: (Int) throws -> Void
  ) throws -> DiskCheck {
    let verifier = CheckpointVerifier(core.store, start.page, defectLimit: defectLimit)
    try verifier.run(progress: progress)
    return DiskCheck(meta: start.page, verifier: verifier, defects: start.defects + verifier.defects)
  }

  /// Whether the disk still has the meta page that this engine works with.
  private func metaDefects(_ page: MetaPage) throws(StorageError) -> [StorageError] {
    let slots = try MetaPages.decodeSlots(of: core.file)
    let (own, other) = core.meta.slot == 0 ? (slots.first, slots.second) : (slots.second, slots.first)
    if core.meta.holds(page, own, orTwin: other) { return [] }
    return [
      StorageError(
        .damagedMetaPage,
        """
        The disk no longer has the meta page of checkpoint \(page.checkpointNumber). Make a backup of \
        the open database now.
        """, path: core.file.path, page: PageNumber(UInt64(core.meta.slot)))
    ]
  }
}
