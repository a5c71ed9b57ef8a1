// Making the file short again: pages move from its end to free places in front, in small transactions that change no
// content, and then the end is cut off.

internal import Synchronization

/// Where the maintenance of the file stands. It is kept in memory only: what is done is done, and after a restart, or
/// when others have written meanwhile, a new pass finds the rest.
struct MaintenanceState {
  enum Phase {
    /// Nothing is under way.
    case idle
    /// Leaves of the tree of this id, or of the next one, are packed from this key on.
    case pack(tree: TreeID, key: [UInt8]?)
    /// The checkpoint after packing, which frees what was replaced.
    case settle
    /// Pages of the tree of this id, or of the next one, are moved from here on.
    case relocate(tree: TreeID, from: BranchPosition)
    /// The checkpoint that gives copies, catalog and free map their new places; it frees the old ones.
    case vacate
    /// The checkpoint whose page count is the lower one, and the cut.
    case cut
  }

  var phase = Phase.idle
  /// Whether somebody waits for the shortest file there can be: then less is found worth moving.
  var isThorough = false
  /// Whether long values go behind the end of the file, so that the holes in front become one.
  var evacuates = false
  /// Long values at this place or above are to move, or below it if `evacuates`.
  var extentLimit: UInt64 = .max
  /// Pages of a long value that the last step had no room for.
  var wanted = 0
  /// Pages at this place or above are to move.
  var limit: UInt64 = .max
  /// Pages copied since the last checkpoint, and in the whole pass.
  var copiedSinceCheckpoint = 0
  var copied = 0
  /// The newest commit when the last pass ended: without another there is nothing to gain.
  var finishedCSN = CSN(.max)
}

/// One pass goes through the trees in the order of their keys. What is worth moving is known from the branches above
/// the leaves, so that only pages that do move are read. Every step is a transaction of its own, an ordinary commit
/// with an empty record: CSNs, publication and reclamation go on by their rules, a crash at any point leaves one state
/// or the other, and both hold the same.
///
/// Long values are copied in the same steps, each with the leaf that names it, to the first hole in front of it that is
/// long enough. Holes may all be too short: what a pass could not move, `compact` then empties the front for.
extension EngineCore {
  /// How many pages a step may copy: a few milliseconds with the writer lock held.
  private static let pagesPerStep = 128
  /// Trees whose leaves are less full than this are packed. What random inserts leave behind is fuller: it would only
  /// be split again.
  private var worthwhileFill: Double { maintenance.isThorough ? 0.9 : 0.65 }
  /// A checkpoint comes after so many copied pages, so that they never fill the cache.
  private var pagesPerCheckpoint: Int { max(Self.pagesPerStep, options.cacheSize / store.pageSize / 8) }

  /// Does the next piece of maintenance; false when there is nothing (more) to gain. Writer lock not held.
  ///
  /// - Throws: what commits and checkpoints throw. The pass is over then; nothing is lost.
  package func maintainStep() throws(StorageError) -> Bool {
    do throws(StorageError) {
      if try provePlacesForMaintenance() { return true }
      switch try maintenancePhase() {
      case .idle:
        // Nobody writes now, and who opens after a crash would have to write home what a long log holds.
        try withWriterLock { payOwedCheckpoint() }
        return false
      case .pack: try pack()
      case .settle:
        try checkpointForMaintenance(vacating: false)
        try withWriterLock { () throws(StorageError) in
          maintenance.phase = .idle
          planRelocation()
          // At least the end of the file may be free now.
          if case .idle = maintenance.phase { maintenance.phase = .cut }
        }
      case .relocate: try relocate()
      case .vacate:
        try checkpointForMaintenance(vacating: true)
        try setMaintenancePhase(.cut)
      case .cut:
        // The log has grown with the burst that is over. Two checkpoints, as two segments take turns.
        try withWriterLock { resetSegmentSize() }
        try checkpointForMaintenance(vacating: false)
        try checkpointForMaintenance(vacating: false)
        try endMaintenance()
        return false
      }
      return true
    } catch {
      try setMaintenancePhase(.idle)
      throw error
    }
  }

  /// Runs `body` under the writer lock.
  func withWriterLock<Result>(_ body: () throws(StorageError) -> Result) throws(StorageError) -> Result {
    try checkOpen()
    try writerLock.lock()
    defer { writerLock.unlock() }
    try checkOpen()
    return try body()
  }

  private func setMaintenancePhase(_ phase: MaintenanceState.Phase) throws(StorageError) {
    try withWriterLock { maintenance.phase = phase }
  }

  /// The phase that is under way, or the first one of a new pass if that is worth it.
  private func maintenancePhase() throws(StorageError) -> MaintenanceState.Phase {
    try withWriterLock { () throws(StorageError) in
      try queue.checkFailure()
      if case .idle = maintenance.phase, head.csn != maintenance.finishedCSN {
        let (isThorough, evacuates) = (maintenance.isThorough, maintenance.evacuates)
        maintenance = MaintenanceState()
        (maintenance.isThorough, maintenance.evacuates) = (isThorough, evacuates)
        if try planPacking() { return maintenance.phase }
        planRelocation()
      }
      return maintenance.phase
    }
  }

  /// Begins to pack leaves if a tree of some size has many that are half empty; samples each.
  private func planPacking() throws(StorageError) -> Bool {
    _ = slots.refresh(writerSlot)
    defer { slots.rest(writerSlot) }
    for tree in trees(of: head) where tree.level > 0 {
      if try context.editor.sampledFill(of: tree) < worthwhileFill {
        maintenance.phase = .pack(tree: tree.id, key: nil)
        return true
      }
    }
    return false
  }

  /// Begins to move pages if enough of the file is free.
  private func planRelocation() {
    let pageCount = allocator.pageCount
    // Places that wait for a checkpoint or for readers count as used: they cannot be moved to.
    let used = pageCount - UInt64(allocator.freeCount)
    maintenance.limit = used + used / 32 + 8
    maintenance.extentLimit = maintenance.evacuates ? pageCount : maintenance.limit
    let gain = pageCount > maintenance.limit ? pageCount - maintenance.limit : 0
    if gain > pageCount / (maintenance.isThorough ? 64 : 8), let first = trees(of: head).first?.id {
      maintenance.phase = .relocate(tree: first, from: .start)
    } else if allocator.backedEnd > pageCount + pageCount / 8 + UInt64(space.reserve + space.overhead) {
      // Nothing but a tail that is too long.
      maintenance.phase = .cut
    }
  }

  /// Packs the leaves below a branch or two.
  private func pack() throws(StorageError) {
    try rearrange { (context) throws(StorageError) -> Bool in
      guard case .pack(let tree, let key) = maintenance.phase else { return false }
      guard let index = context.trees.firstIndex(where: { $0.id >= tree }) else {
        maintenance.phase = .settle
        return false
      }
      let found = context.trees[index].id
      if found != tree, try context.editor.sampledFill(of: context.trees[index]) >= worthwhileFill {
        maintenance.phase = .pack(tree: TreeID(found.rawValue + 1), key: nil)
        return false
      }
      let before = context.born.count
      let next = try context.rearrange(treeAt: index) { (editor, root) throws(StorageError) in
        try TreeRepacker(editor, .all).repack(
          &root, from: found == tree ? key : nil, leafLimit: Self.pagesPerStep)
      }
      maintenance.copiedSinceCheckpoint += context.born.count - before
      maintenance.copied += context.born.count - before
      maintenance.phase =
        next.map { .pack(tree: found, key: $0) } ?? .pack(tree: TreeID(found.rawValue + 1), key: nil)
      return context.born.count > before
    }
    try checkpointWhenDue()
  }

  /// Copies some pages that stand too high.
  private func relocate() throws(StorageError) {
    try rearrange { (context) throws(StorageError) -> Bool in
      guard case .relocate(let tree, let position) = maintenance.phase else { return false }
      guard let index = context.trees.firstIndex(where: { $0.id >= tree }) else {
        maintenance.phase = .vacate
        return false
      }
      let found = context.trees[index].id
      let plan = RelocationPlan(
        limit: maintenance.limit, extentLimit: maintenance.extentLimit, evacuates: maintenance.evacuates,
        pageLimit: Self.pagesPerStep, extentPageLimit: max(Self.pagesPerStep, maintenance.wanted))
      if context.trees[index].mayHaveExtents { _ = try context.reservePlaces?(plan.extentPageLimit, true) }
      let checkWritable = context.checkWritable
      let moved = try context.rearrange(treeAt: index) { (editor, root) throws(StorageError) in
        try editor.relocate(&root, from: found == tree ? position : .start, plan, checkWritable: checkWritable)
      }
      maintenance.wanted = moved.wanted
      maintenance.copied += moved.copied + moved.copiedExtentPages
      maintenance.copiedSinceCheckpoint += moved.copied
      maintenance.phase =
        moved.next == .end
        ? .relocate(tree: TreeID(found.rawValue + 1), from: .start) : .relocate(tree: found, from: moved.next)
      return moved.copied > 0
    }
    try checkpointWhenDue()
  }

  private func checkpointWhenDue() throws(StorageError) {
    let isDue = try withWriterLock { maintenance.copiedSinceCheckpoint >= pagesPerCheckpoint }
    if isDue { try checkpointForMaintenance(vacating: false) }
  }

  /// Runs a checkpoint to its end, even if there has been no commit since the last.
  private func checkpointForMaintenance(vacating: Bool) throws(StorageError) {
    try withWriterLock { () throws(StorageError) in
      finishRunningCheckpoint()
      try queue.checkFailure()
      // Without a log nothing has been written since opening: there must be one to testify to the checkpoint.
      context.begin(on: head)
      defer { context.rollback() }
      try reservePlaces()
      if withLog({ $0 == nil }) { try activateLog() }
      maintenance.copiedSinceCheckpoint = 0
      let run = beginCheckpoint()
      if vacating { run.pages.vacate(from: maintenance.limit) }
    }
    dispatchCheckpoint()
    try completeCheckpoint()
  }

  /// Cuts the file and notes that there is no more to gain for now.
  private func endMaintenance() throws(StorageError) {
    try withWriterLock {
      finishRunningCheckpoint()
      cutFile(keeping: 0)
      maintenance.phase = .idle
      maintenance.finishedCSN = head.csn
    }
  }

  // MARK: At close

  /// How many times what is in it the file may be when it is closed, in tenths.
  private static let closedTenths: UInt64 = 22
  /// Pages that are always in use, or nearly: two meta pages, catalog and map, and a leaf of each of a few trees. A
  /// file that has no more than that has its catalog and its map twice at times, and is not looked at.
  private static let leastContent: UInt64 = 8

  /// Before a clean close: if the last checkpoint would leave a file that is mostly free, as after a transaction that
  /// has removed much and had to write its pages beside the old ones, moves as many pages to the front as it takes to
  /// cut the file to 2.2 times what is in it. Nobody will be idle afterwards and have it done.
  ///
  /// Writes no more than what is in the file. Whatever fails leaves the file longer and nothing worse; `close` itself
  /// meets what is lasting.
  func shortenBeforeClose() {
    do throws(StorageError) {
      try checkOpen()
      try checkWritable()
      guard options.maintainsWhenIdle else { return }
      // One that runs is about to free places, and holds a slot as a reader does.
      try withWriterLock {
        finishRunningCheckpoint()
        reclaimer.collect()
      }
      guard readerCount == 0, try isMostlyFree(afterCheckpoint: true) else { return }
      // Until now, the places are not known.
      while try provePlacesForMaintenance() {}
      try withWriterLock { maintenance = MaintenanceState() }
      try checkpointForMaintenance(vacating: false)
      guard try isMostlyFree(afterCheckpoint: false) else { return }
      try withWriterLock {
        // Not all of it: the checkpoint at the very end puts catalog and map beside what is there.
        maintenance.limit = usedCount * 2
        maintenance.extentLimit = maintenance.limit
        if let first = trees(of: head).first?.id { maintenance.phase = .relocate(tree: first, from: .start) }
      }
      while try maintainStep() {}
    } catch {}
  }

  /// The places that a checkpoint's trees reach, or that are held.
  private var usedCount: UInt64 { allocator.pageCount - UInt64(allocator.freeCount) }

  /// Whether the file is more than `closedTenths` of what is in it.
  ///
  /// - Parameter afterCheckpoint: as it would be after a checkpoint.
  private func isMostlyFree(afterCheckpoint: Bool) throws(StorageError) -> Bool {
    try withWriterLock {
      let dirty = afterCheckpoint ? UInt64(store.frames.dirtyCount) : 0
      let superseded = afterCheckpoint ? UInt64(allocator.supersededCount) : 0
      let used = usedCount + dirty
      let free = UInt64(allocator.freeCount)
      let pageCount = allocator.pageCount + (dirty > free ? dirty - free : 0)
      let left = used > superseded ? used - superseded : 0
      return withLog { $0 != nil } && pageCount * 10 > max(left, Self.leastContent) * Self.closedTenths
    }
  }

  // MARK: Driving

  /// Called when the engine has been quiet for a while. False if it is not quiet after all.
  func maintainWhileIdle() -> Bool {
    var expected = headCSN.load(ordering: .sequentiallyConsistent)
    guard quietCSN.exchange(expected, ordering: .relaxed) == expected else { return false }
    // Whatever fails shows up again where somebody is waiting for it.
    do throws(StorageError) {
      while !services.mustStop, try maintainStep() {
        let now = headCSN.load(ordering: .sequentiallyConsistent)
        // A step makes one commit at the most; who has made another has priority.
        if now > expected + 1 { return false }
        expected = now
      }
    } catch {}
    return true
  }
}
