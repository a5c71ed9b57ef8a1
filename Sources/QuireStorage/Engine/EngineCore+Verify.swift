// Checking an open database while it is in use.

internal import Synchronization

/// How far a check has come.
public struct VerificationProgress: Sendable {
  /// Pages looked at so far; those in memory and those on the disk count once each.
  public let pages: Int
  /// About how many there are to look at.
  public let total: Int
}

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

extension EngineCore {
  /// Checks the newest published snapshot, in memory or wherever its pages are, and the newest checkpoint, on the disk.
  ///
  /// Writers go on meanwhile. The pages of a checkpoint stay as they are until the next one has been proven, so the
  /// disk's part takes the meta page, walks, and starts again if a checkpoint has come in between; the third time it
  /// keeps the writer lock, and with it all checkpoints, out until it is done.
  ///
  /// - Parameter progress: called now and then, on the caller's thread; what it throws ends the check.
  package func verify(
    defectLimit: Int = 100, progress: (VerificationProgress) throws -> Void
  ) throws -> StorageVerification {
    try checkOpen()
    // Kept to the end: `close` is refused meanwhile.
    let (slot, snapshot) = slots.begin()
    defer { slots.end(slot) }
    try checkOpen()
    var done = 0
    func report(_ pages: Int) throws {
      if Task.isCancelled { throw CancellationError() }
      try progress(VerificationProgress(pages: done + pages, total: 2 * Int(store.pageCount)))
    }
    // Page by page: a check may take minutes, and no address may stand in the way of eviction for as long.
    slots.rest(slot)
    let memory = WalkPages.MemoryAccess(
      enter: { [slots] in _ = slots.refresh(slot) }, leave: { [slots] in slots.rest(slot) })
    let verifier = TreeVerifier(
      store, WalkPages(store, memory: memory), newestBirth: snapshot.csn, defectLimit: defectLimit)
    for tree in trees(of: snapshot) where !verifier.isFull {
      try verifier.verify(tree) { _ in
        done += 1
        if done % 64 == 0 { try report(0) }
      }
    }
    var attempt = 0
    while true {
      attempt += 1
      if let disk = try verifyDisk(defectLimit: defectLimit, keepsLock: attempt > 2, progress: report) {
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
  private func verifyDisk(
    defectLimit: Int, keepsLock: Bool, progress: (Int) throws -> Void
  ) throws -> DiskCheck? {
    try writerLock.lock()
    var isLocked = true
    defer { if isLocked { writerLock.unlock() } }
    // With the lock, and without a checkpoint that runs, nobody changes a meta page.
    finishRunningCheckpoint()
    let page = meta.current
    var defects = try metaDefects(page)
    if !keepsLock {
      writerLock.unlock()
      isLocked = false
    }
    let verifier = CheckpointVerifier(store, page, defectLimit: defectLimit)
    try verifier.run(progress: progress)
    defects += verifier.defects
    // No place of this checkpoint is reused before the next one's number is known here.
    guard keepsLock || queue.durableCheckpoint == page.checkpointNumber else { return nil }
    return DiskCheck(meta: page, verifier: verifier, defects: defects)
  }

  /// Whether the disk still has the meta page that this engine works with.
  private func metaDefects(_ page: MetaPage) throws(StorageError) -> [StorageError] {
    let slots = try MetaFile.decodeSlots(of: file)
    let (own, other) = meta.slot == 0 ? (slots.first, slots.second) : (slots.second, slots.first)
    if own == .valid(page) { return [] }
    // A page that was found at opening and never proven may have been in the cache only, after a failed sync. Its twin
    // leads to the same state, and the next meta page goes over it.
    if !meta.isProven, meta.hasTwin, let twin = meta.predecessor, other == .valid(twin) { return [] }
    return [
      StorageError(
        .damagedMetaPage,
        """
        The disk does not have the meta page of checkpoint \(page.checkpointNumber) any more. Make a backup of \
        the open database now.
        """, path: file.path, page: PageNumber(UInt64(meta.slot)))
    ]
  }
}

extension StorageEngine {
  /// Checks everything: the trees that readers see, and on the disk every page that the newest checkpoint names.
  ///
  /// Finds what no read has touched yet. Writers and readers go on meanwhile; a page that is not in memory is read past
  /// the cache. Cancelling the task that calls ends the check with `CancellationError`.
  ///
  /// - Parameter progress: called now and then, on the calling thread; what it throws ends the check.
  /// - Throws: the first defect; `closed`, `nestedWrite` inside a write transaction, `inputOutput`.
  @discardableResult
  public func verify(
    progress: (VerificationProgress) throws -> Void = { _ in }
  ) throws -> StorageVerification {
    let result = try core.verify(progress: progress)
    if let first = result.defects.first { throw first }
    return result
  }
}
