// A checkpoint that another process reads from the data file while the engine goes on.

internal import Synchronization

/// A checkpoint whose trees stay in the data file as they are until `end`.
///
/// The engine never writes over a page that an announced snapshot sees, whether the page is in memory or in the file.
/// Once a checkpoint is durable, everything that its snapshot sees is in the file; so an announcement of exactly that
/// snapshot, made before any later commit, keeps in the file what the meta page's trees reach: no place of it is given
/// out, and the file is not cut in front of it. The catalog and the free map are not kept; see `CheckpointImage`
/// (hazard D14).
package final class HeldCheckpoint: Sendable {
  private let core: EngineCore
  private let slot: ReaderSlot
  private let isOver = Atomic<Bool>(false)
  /// The commit that is held.
  package let csn: CSN
  /// What another process opens the file by.
  package let image: CheckpointImage

  fileprivate init(_ core: EngineCore, _ slot: ReaderSlot, _ csn: CSN, _ image: CheckpointImage) {
    self.core = core
    self.slot = slot
    self.csn = csn
    self.image = image
  }

  deinit { end() }

  /// Lets go of the pages. Whoever reads them from then on may find others in their place.
  package func end() {
    if !isOver.exchange(true, ordering: .acquiringAndReleasing) { core.slots.end(slot) }
  }
}

extension EngineCore {
  /// What is to be held, once the writer lock is given up.
  private enum Hold {
    /// The newest checkpoint holds the newest commit already.
    case standing(MetaPage, [TreeRoot], TreeNames)
    case running(CheckpointRun)
  }

  /// Writes the newest appended commit home, unless it is there, and holds that checkpoint.
  ///
  /// The snapshot is announced in the same turn of the writer lock in which it is frozen: nothing that it sees has been
  /// replaced then, and what is replaced later is kept for it. Takes as long as a checkpoint; writers wait no longer
  /// than for one that begins.
  ///
  /// - Throws: what `checkpoint` throws; `limitReached` if there are as many readers as there can be.
  package func holdCheckpoint() throws(StorageError) -> HeldCheckpoint {
    try checkOpen()
    try checkWritable()
    let (slot, csn, hold) = try withWriterLock { (permit) throws(StorageError) in try beginHold(permit) }
    do throws(StorageError) { return HeldCheckpoint(self, slot, csn, try finishHold(hold)) } catch {
      slots.end(slot)
      throw error
    }
  }

  private func beginHold(_ permit: borrowing WriterPermit) throws(StorageError) -> (ReaderSlot, CSN, Hold) {
    checkpointer.finishRunning()
    try queue.checkFailure()
    let csn = head.csn
    let slot = try slots.announce(csn)
    // The announcement protects pages, and no address is held.
    slots.exitEpoch(slot)
    if csn == meta.current.csn {
      // Roots may be frames that the checkpoint has written: their entries stay as long as the snapshot is announced.
      return (slot, csn, .standing(meta.current, trees(of: head), head.names))
    }
    assert(log.exists, "there are commits without a log")
    return (slot, csn, .running(checkpointer.begin(permit)))
  }

  private func finishHold(_ hold: Hold) throws(StorageError) -> CheckpointImage {
    switch hold {
    case .standing(let page, let trees, let names): return try image(of: page, trees, names)
    case .running(let run):
      checkpointer.dispatch()
      checkpointer.finishRunning()
      try queue.checkFailure()
      if let failure = run.failure { throw failure.reason }
      return try image(of: run.meta, run.state.trees, run.state.names)
    }
  }

  /// What tells the data file from all others.
  package func fileIdentity() throws(StorageError) -> FileIdentity {
    do throws(SystemError) { return try file.status().identity } catch {
      throw StorageError(.inputOutput, "The file cannot be examined.", path: file.path, systemError: error)
    }
  }

  private func image(
    of page: MetaPage, _ trees: [TreeRoot], _ names: TreeNames
  ) throws(StorageError) -> CheckpointImage {
    let identity = try fileIdentity()
    var page = page
    (page.catalog, page.freeMap, page.treeCount) = (PageRoot(), PageRoot(), 0)
    return CheckpointImage(
      meta: page.encoded(slot: 0), identity: identity,
      entries: trees.map { tree in
        var root = tree
        root.translate(store.frames)
        assert(root.reference.isNone || !root.reference.isDirty, "a tree of a checkpoint is not in the file")
        return CheckpointImage.Entry(
          id: root.id.rawValue, bytes: CatalogFormat.encode(root, name: names[root.id] ?? ""))
      })
  }
}
