// Making the file short again: pages move from its end to free places in front, in small transactions that change no
// content, and then the end is cut off.

internal import Synchronization

/// Where the maintenance of the file stands. It is kept in memory only: what is done is done, and after a restart, or
/// when others have written meanwhile, a new pass finds the rest.
struct MaintenancePass {
  enum Phase {
    /// Nothing is under way.
    case idle
    /// Leaves of the tree of this id, or of the next one, are packed from this key on.
    case pack(tree: TreeID, key: [UInt8]?)
    /// The checkpoint that frees what was replaced: after packing, and before pages are moved.
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
  /// Whether the files are to be as small as befits a time without commits.
  var isResting = false
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

  /// Trees whose leaves are less full than this are packed. What random inserts leave behind is fuller: it would only
  /// be split again.
  var worthwhileFill: Double { isThorough ? 0.9 : 0.65 }
}

/// Packs leaves, moves pages to the front and cuts the file, when nobody else has anything to do.
///
/// One pass goes through the trees in the order of their keys. What is worth moving is known from the branches above
/// the leaves, so that only pages that do move are read. Every step is a transaction of its own, an ordinary commit
/// with an empty record: CSNs, publication and reclamation go on by their rules, a crash at any point leaves one state
/// or the other, and both hold the same.
///
/// Long values are copied in the same steps, each with the leaf that names it, to the first hole in front of it that is
/// long enough. Holes may all be too short: what a pass could not move, `compact` then empties the front for.
///
/// Invariants:
/// 1. `currentPass` changes under the writer lock only.
/// 2. What a pass does changes no content: at every point the database holds the same.
package final class Maintainer: EngineComponent, @unchecked Sendable {
  // Sendable: safe because the pass is touched under the writer lock, and the rest is an atomic.
  package let resources: EngineResources
  let log: LogManager
  let space: SpaceManager
  let checkpointer: Checkpointer
  /// How far the maintenance of the file has come.
  private var currentPass = MaintenancePass()
  /// The newest commit when idle maintenance was last considered.
  private let quietCSN = Atomic<UInt64>(.max)
  /// How much longer the files were than they should be when the last pass had ended, in bytes; writer lock.
  @exclusivity(unchecked) private(set) var restedExcess: Int?

  init(_ resources: EngineResources, _ log: LogManager, _ space: SpaceManager, _ checkpointer: Checkpointer) {
    self.resources = resources
    self.log = log
    self.space = space
    self.checkpointer = checkpointer
  }

  /// How far the maintenance of the file has come.
  func pass(_ permit: borrowing WriterPermit) -> MaintenancePass { currentPass }

  /// Runs `body`, which may change how far it has come.
  @discardableResult
  func changePass<Result>(
    _ permit: borrowing WriterPermit, _ body: (inout MaintenancePass) throws(StorageError) -> Result
  ) throws(StorageError) -> Result {
    // A copy: `body` may ask for the pass as it was.
    var pass = currentPass
    defer { currentPass = pass }
    return try body(&pass)
  }

  /// Puts another pass in the place of this one.
  func setPass(_ pass: MaintenancePass, _ permit: borrowing WriterPermit) { currentPass = pass }

  /// How many pages a step may copy: a few milliseconds with the writer lock held.
  private static let pagesPerStep = 128
  /// A checkpoint comes after so many copied pages, so that they never fill the cache.
  private var pagesPerCheckpoint: Int { max(Self.pagesPerStep, options.cacheSize / store.pageSize / 8) }

  /// Does the next piece of work in transactions of `host`; false when there is nothing (more) to gain. Called without
  /// the writer lock.
  ///
  /// - Throws: what commits and checkpoints throw. The pass is over then; nothing is lost.
  package func step(_ host: any MaintenanceHost) throws(StorageError) -> Bool {
    do throws(StorageError) {
      if try provePlaces() { return true }
      switch try currentPhase() {
      case .idle:
        try settleWhileIdle()
        return false
      case .pack: try pack(host)
      case .settle:
        try resetLog()
        try checkpoint(vacating: false)
        try withWriterLock { permit in
          var pass = pass(permit)
          pass.phase = .idle
          planRelocation(&pass, permit)
          // At least the end of the file may be free now.
          if case .idle = pass.phase { pass.phase = .cut }
          setPass(pass, permit)
        }
      case .relocate: try relocate(host)
      case .vacate:
        try checkpoint(vacating: true)
        try setPhase(.cut)
      case .cut:
        try resetLog()
        try checkpoint(vacating: false)
        // Another one, as two segments take turns.
        if log.byteCount > log.restingByteCount { try checkpoint(vacating: false) }
        try endPass()
        return false
      }
      return true
    } catch {
      try setPhase(.idle)
      throw error
    }
  }

  /// Lets the checkpoints to come make segments short again: the log has grown with the burst that is over.
  private func resetLog() throws(StorageError) {
    try withWriterLock { permit in
      checkpointer.finishRunning()
      log.resetSegmentSize(permit)
    }
  }

  private func setPhase(_ phase: MaintenancePass.Phase) throws(StorageError) {
    try withWriterLock { (permit) throws(StorageError) in try changePass(permit) { pass in pass.phase = phase } }
  }

  /// The phase that is under way, or the first one of a new pass if that is worth it.
  private func currentPhase() throws(StorageError) -> MaintenancePass.Phase {
    try withWriterLock { (permit) throws(StorageError) in
      try queue.checkFailure()
      return try changePass(permit) { (pass) throws(StorageError) in
        if case .idle = pass.phase, head.csn != pass.finishedCSN {
          let (isThorough, evacuates) = (pass.isThorough, pass.evacuates)
          pass = MaintenancePass()
          (pass.isThorough, pass.evacuates) = (isThorough, evacuates)
          // Blocks in reserve come and go at no cost, and are no reason for more.
          if !pass.isThorough { cutTail(permit) }
          if try !planPacking(&pass, permit) {
            if case .pass = remedy(permit) {
              (pass.phase, pass.isResting) = (.settle, true)
            } else if pass.isThorough, allocator.heldCount > Int(allocator.pageCount) / 64 {
              // What was given up a moment ago is free once a checkpoint has come.
              pass.phase = .settle
            } else if pass.isThorough || hasMoreToGain(permit) {
              planRelocation(&pass, permit)
            }
          }
        }
        return pass.phase
      }
    }
  }

  /// Begins to pack leaves if a tree of some size has many that are half empty; samples each.
  private func planPacking(
    _ pass: inout MaintenancePass, _ permit: borrowing WriterPermit
  ) throws(StorageError) -> Bool {
    _ = slots.enterEpoch(writerSlot)
    defer { slots.exitEpoch(writerSlot) }
    for tree in trees(of: head) where tree.level > 0 {
      if try context.editor.reader.sampledFill(of: tree) < pass.worthwhileFill {
        pass.phase = .pack(tree: tree.id, key: nil)
        return true
      }
    }
    return false
  }

  /// Begins to move pages if enough of the file is free.
  private func planRelocation(_ pass: inout MaintenancePass, _ permit: borrowing WriterPermit) {
    let pageCount = allocator.pageCount
    assert(writerLock.isHeldByThisThread, "moves are planned without the writer lock")
    assert(UInt64(allocator.freeCount) <= pageCount, "more places are free than there are")
    // Places that wait for a checkpoint or for readers count as used: they cannot be moved to.
    let used = pageCount - UInt64(allocator.freeCount)
    pass.limit = used + used / (pass.isThorough ? 64 : 32) + 8
    pass.extentLimit = pass.evacuates ? pageCount : pass.limit
    let gain = pageCount > pass.limit ? pageCount - pass.limit : 0
    if gain > pageCount / (pass.isThorough ? 64 : pass.isResting ? 16 : 8), let first = trees(of: head).first?.id {
      pass.phase = .relocate(tree: first, from: .start)
    } else if pass.isThorough,
      allocator.backedEnd > pageCount + pageCount / 8
        + UInt64(space.reservation.reserve + space.reservation.overhead)
    {
      // Nothing but a tail that is too long.
      pass.phase = .cut
    }
  }

  /// Packs the leaves below a branch or two.
  private func pack(_ host: any MaintenanceHost) throws(StorageError) {
    try host.rearrange { (context, permit) throws(StorageError) -> Bool in
      var pass = pass(permit)
      defer { setPass(pass, permit) }
      guard case .pack(let tree, let key) = pass.phase else { return false }
      guard let index = context.trees.firstIndex(where: { $0.id >= tree }) else {
        pass.phase = .settle
        return false
      }
      let found = context.trees[index].id
      if found != tree, try context.editor.reader.sampledFill(of: context.trees[index]) >= pass.worthwhileFill {
        pass.phase = .pack(tree: TreeID(found.rawValue + 1), key: nil)
        return false
      }
      let before = context.born.count
      let next = try context.rearrange(treeAt: index) { (editor, root) throws(StorageError) in
        try TreeRepacker(editor, .all).repack(
          &root, from: found == tree ? key : nil, leafLimit: Self.pagesPerStep)
      }
      pass.copiedSinceCheckpoint += context.born.count - before
      pass.copied += context.born.count - before
      pass.phase =
        next.map { .pack(tree: found, key: $0) } ?? .pack(tree: TreeID(found.rawValue + 1), key: nil)
      return context.born.count > before
    }
    try checkpointWhenDue()
  }

  /// Copies some pages that stand too high.
  private func relocate(_ host: any MaintenanceHost) throws(StorageError) {
    try host.rearrange { (context, permit) throws(StorageError) -> Bool in
      var pass = pass(permit)
      defer { setPass(pass, permit) }
      guard case .relocate(let tree, let position) = pass.phase else { return false }
      guard let index = context.trees.firstIndex(where: { $0.id >= tree }) else {
        pass.phase = .vacate
        return false
      }
      let found = context.trees[index].id
      let plan = RelocationPlan(
        limit: pass.limit, extentLimit: pass.extentLimit, evacuates: pass.evacuates,
        pageLimit: Self.pagesPerStep, extentPageLimit: max(Self.pagesPerStep, pass.wanted))
      if context.trees[index].mayHaveExtents {
        _ = try host.reservePlaces(forExtent: plan.extentPageLimit, isWrittenNow: true)
      }
      let moved = try context.rearrange(treeAt: index) { (editor, root) throws(StorageError) in
        var relocator = TreeRelocator(editor, plan, checkWritable: context.checkWritable)
        return try relocator.relocate(&root, from: found == tree ? position : .start)
      }
      pass.wanted = moved.wanted
      pass.copied += moved.copied + moved.copiedExtentPages
      pass.copiedSinceCheckpoint += moved.copied
      pass.phase =
        moved.next == .end
        ? .relocate(tree: TreeID(found.rawValue + 1), from: .start) : .relocate(tree: found, from: moved.next)
      return moved.copied > 0
    }
    try checkpointWhenDue()
  }

  private func checkpointWhenDue() throws(StorageError) {
    let isDue = try withWriterLock { permit in pass(permit).copiedSinceCheckpoint >= pagesPerCheckpoint }
    if isDue { try checkpoint(vacating: false) }
  }

  /// Runs a checkpoint to its end, even if there has been no commit since the last.
  func checkpoint(vacating: Bool) throws(StorageError) {
    try withWriterLock { (permit) throws(StorageError) in
      checkpointer.finishRunning()
      try queue.checkFailure()
      // Without a log nothing has been written since opening: there must be one to mark the checkpoint durable.
      context.begin(on: head)
      defer { context.rollback() }
      try checkpointer.reservePlaces(permit)
      if !log.exists { try log.activate(permit) }
      try changePass(permit) { pass in pass.copiedSinceCheckpoint = 0 }
      let run = checkpointer.begin(permit)
      if vacating { run.pages.vacate(from: pass(permit).limit) }
    }
    checkpointer.dispatch()
    try checkpointer.complete()
  }

  /// Cuts the file and notes that there is no more to gain for now.
  private func endPass() throws(StorageError) {
    try withWriterLock { (permit) throws(StorageError) in
      checkpointer.finishRunning()
      cutTail(permit)
      restedExcess = excessByteCount
      try changePass(permit) { pass in
        pass.phase = .idle
        pass.finishedCSN = head.csn
      }
    }
  }

  /// Does a piece of the walk that proves the free map, without which no page can be moved. Between two pieces writers
  /// get their turn.
  ///
  /// - Returns: whether there is more to do before a pass can begin.
  /// - Throws: `damagedPage`, also for a page that cannot be read, `truncatedFile`, `inputOutput`, `closed`.
  func provePlaces() throws(StorageError) -> Bool {
    if space.proof.isOver { return false }
    return try withWriterLock { (permit) throws(StorageError) in
      try queue.checkFailure()
      let pass = pass(permit)
      guard head.csn != pass.finishedCSN else { return false }
      return try space.proof.step(isRetry: pass.isThorough)
    }
  }

  // MARK: Driving

  /// Notes the newest commit as that of a time in which nobody writes: `runWhileIdle` begins if it still is.
  func noteQuiet() {
    quietCSN.store(resources.head.csn.load(ordering: .sequentiallyConsistent), ordering: .relaxed)
  }

  /// Called when the engine has been quiet for a while. False if it is not quiet after all.
  func runWhileIdle(_ host: any MaintenanceHost) -> Bool {
    var expected = resources.head.csn.load(ordering: .sequentiallyConsistent)
    guard quietCSN.exchange(expected, ordering: .relaxed) == expected else { return false }
    // Nobody asks again if one runs that a burst has begun.
    checkpointer.finishRunning()
    // Whatever fails shows up again where somebody is waiting for it.
    do throws(StorageError) {
      while !threads.mustStop, try step(host) {
        let now = resources.head.csn.load(ordering: .sequentiallyConsistent)
        // A step makes one commit at the most; a writer that has made another has priority.
        if now > expected + 1 { return false }
        expected = now
      }
    } catch {}
    return true
  }
}
