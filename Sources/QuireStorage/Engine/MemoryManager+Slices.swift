// Writing dirty pages home by and by, so that no transaction waits for all of them.

internal import Synchronization

/// Which subtrees the next slice of a spill begins with, and when it is due.
///
/// Slices go round through the trees, and through each from its first key to its last. A position that is no longer
/// what it was, because trees have come and gone or branches have been split, only changes whose turn it is.
struct SpillRound {
  /// The tree to go on in.
  var tree: TreeID?
  /// How many of its subtrees have had their turn.
  var subtree = 0
  /// How many pages the largest of the last transactions has made.
  var made = 0
  /// How many dirty pages there may be before the next slice, if the last one has left more than it should have.
  var limit = 0
}

extension MemoryManager {
  /// The most pages that a slice leaves below the soft limit: so small transactions pay for one now and then.
  private static let stepCount = 1 << 10
  /// With fewer children than this, those of a root are too much for a slice, and its grandchildren are taken.
  private static let leastChildCount = 12

  /// By how much a slice gets below its limit.
  private var step: Int { max(1, round.made, min(Self.stepCount, store.softDirtyLimit / 8)) }

  /// How many dirty pages there may be without a slice: the soft limit, or as many as leave room for a transaction
  /// like the last ones, so that it need not spill on its way.
  var sliceLimit: Int {
    let (soft, hard) = (store.softDirtyLimit, store.hardDirtyLimit)
    return max(hard / 4, min(soft, hard - round.made - round.made / 4))
  }

  /// Whether a slice is due before the transaction that begins.
  func isSliceDue(_ permit: borrowing WriterPermit) -> Bool {
    let count = store.frames.dirtyCount
    if count <= sliceLimit {
      round.limit = 0
      return false
    }
    return count > round.limit
  }

  /// Whether `makeRoom` may make do with a slice: there is room, and the transaction has made nothing yet.
  var sufficesSlice: Bool { store.dirtyCount <= store.hardDirtyLimit && context.hasOnlyBase }

  /// Writes home some of the pages that the newest commit sees: as many as transactions have added since the last
  /// slice, and some more. Nothing if a checkpoint writes pages: then there will be fewer soon.
  ///
  /// Whole subtrees are written, children before parents. What refers to a page inside one is a page that has been
  /// written with it, or only older snapshots see it; but the branch above, which stays dirty, goes on to refer to
  /// the frame of the subtree's root. That frame's entry stays until the next checkpoints have written everything.
  ///
  /// - Throws: `failStop`, `diskFull`, `inputOutput`. The transaction can only be rolled back.
  func writeSlice(_ permit: borrowing WriterPermit) throws(StorageError) {
    assert(writerLock.isHeldByThisThread, "pages spill without the writer lock")
    context.setDirtyLimit(store.hardDirtyLimit)
    guard checkpointer.beginSpillIfFree(permit) else { return }
    defer { checkpointer.endSpill(permit) }
    try queue.checkFailure()
    try log.checkFiles()
    reclaimer.collect()
    let goal = max(0, sliceLimit - step)
    guard store.frames.dirtyCount > goal else { return }
    try spillSubtrees(store.frames.dirtyCount - goal, permit)
    reclaimer.collect()
    // What nothing leads to, readers hold: the next slice would find no more.
    let left = store.frames.dirtyCount
    round.limit = left > sliceLimit ? min(left + step, store.hardDirtyLimit) : 0
    round.made -= round.made / 8
  }

  private func spillSubtrees(_ count: Int, _ permit: borrowing WriterPermit) throws(StorageError) {
    if !context.hasSpilled { reclaimer.forgetSpill() }
    let writer = PageWriter(
      store: store, allocator: allocator, reclaimer: reclaimer, for: .spill(csn: context.csn.rawValue),
      startsWriting: false)
    defer {
      reclaimer.retireSlots(writer.oldSlots)
      context.noteSpill()
      counters.pagesSpilled.wrappingAdd(writer.pagesWritten, ordering: .relaxed)
    }
    do throws(StorageError) {
      try goRound(writer, count)
      try writer.flush()
    } catch {
      writer.abandon()
      reclaimer.notePartialSpill(permit)
      throw error
    }
  }

  /// Goes on where the last slice has ended, until `count` pages are written or on their way, or all trees have had
  /// their turn.
  private func goRound(_ writer: PageWriter, _ count: Int) throws(StorageError) {
    let trees = context.trees
    guard !trees.isEmpty else { return }
    var index = trees.firstIndex { $0.id == round.tree } ?? 0
    if trees[index].id != round.tree { (round.tree, round.subtree) = (trees[index].id, 0) }
    // The first one may have had a part of its turn, and has the rest of it at the end.
    for _ in 0...trees.count {
      if try goThrough(trees[index], writer, count) { return }
      index += 1
      if index == trees.count {
        index = 0
        allocator.rewind()
      }
      (round.tree, round.subtree) = (trees[index].id, 0)
    }
  }

  /// The same in one tree; true if there are enough.
  private func goThrough(_ tree: TreeRoot, _ writer: PageWriter, _ count: Int) throws(StorageError) -> Bool {
    guard let root = dirtyPage(tree.reference) else { return false }
    guard root.level > 1 else {
      try writer.writeSubtree(tree.reference, isBelowDirty: false)
      return writer.pageCount >= count
    }
    var turn = 0
    let skipped = round.subtree
    let takesGrandchildren = root.count < Self.leastChildCount && root.level > 2
    for child in 0..<root.count {
      let reference = PageReference(rawValue: root.references[child])
      guard takesGrandchildren, let branch = dirtyPage(reference) else {
        if try takeTurn(&turn, skipped, reference, writer, count) { return true }
        continue
      }
      for grandchild in 0..<branch.count {
        let reference = PageReference(rawValue: branch.references[grandchild])
        if try takeTurn(&turn, skipped, reference, writer, count) { return true }
      }
    }
    return false
  }

  private func takeTurn(
    _ turn: inout Int, _ skipped: Int, _ reference: PageReference, _ writer: PageWriter, _ count: Int
  ) throws(StorageError) -> Bool {
    turn += 1
    guard turn > skipped else { return false }
    try writer.writeSubtree(reference, isBelowDirty: true)
    round.subtree = turn
    return writer.pageCount >= count
  }

  /// The page, if it is dirty.
  private func dirtyPage(_ reference: PageReference) -> PageBytes? {
    guard !reference.isNone, reference.isDirty else { return nil }
    let location = store.frames.location(reference.frame)
    return location.isPageNumber ? nil : PageBytes(location.slot)
  }
}
