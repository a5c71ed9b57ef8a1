// What an idle database takes of the disk, and when it is worth work to take less.

extension Maintainer {
  /// Files that take no more than this are small enough, whatever is in them; a MiB, less what a few commits add.
  private static let smallByteCount = 896 << 10
  /// Larger ones may take so much more than the pages in use: one part in so many.
  private static let restingShare = 5
  /// What a pass must bring beyond what the last one could not: one part in so many, and so many bytes.
  private static let gainShare = 32
  private static let leastGain = 32 << 10
  /// A tail of the file that is not needed is cut if it has so many bytes: that takes no checkpoint.
  private static let leastTail = 16 << 10

  /// What the files of the database take, in bytes. No checkpoint runs.
  var takenByteCount: Int { Int(max(allocator.backedEnd, allocator.pageCount)) * store.pageSize + log.byteCount }

  /// What the files would take after a pass, in bytes, about.
  private var restingByteCount: Int {
    let used = space.settledCount
    let kept = max(used / 16 + 8, space.reservation.reserve + space.reservation.overhead)
    return (used + kept) * store.pageSize + log.restingByteCount
  }

  /// What the files would take after nothing but a checkpoint and a cut of the tail, in bytes, about: places inside of
  /// the file that it frees count for what the next commits need.
  private var settledByteCount: Int {
    let dirty = store.frames.dirtyCount
    let pageCount = Int(allocator.pageCount) + max(0, dirty - allocator.freeCount)
    let tail = space.reservation.reserve + space.reservation.overhead - (pageCount - space.settledCount)
    return (pageCount + max(0, tail)) * store.pageSize + log.byteCount
  }

  /// What brings the files to what they may take when nobody writes.
  enum Remedy {
    case nothing
    case checkpoint
    case pass
  }

  /// Whether the files take much more than what is in them, and what would change that. A few numbers are compared.
  ///
  /// Two or more checkpoints are the price of a pass, and the copies of the pages that it moves. So one is not begun
  /// for little, nor where a checkpoint does as well: whoever commits a little every few seconds pays for none.
  func remedy(_ permit: borrowing WriterPermit) -> Remedy {
    guard log.exists, !checkpointer.isRunning else { return .nothing }
    let content = space.settledCount * store.pageSize
    guard takenByteCount > max(Self.smallByteCount, content + content / Self.restingShare) else { return .nothing }
    let least = max(0, restedExcess ?? 0) + leastGain
    guard excessByteCount >= least else { return .nothing }
    return settledByteCount - restingByteCount < least ? .checkpoint : .pass
  }

  /// Whether there is more to gain than when the last pass had ended, which could not gain what was left: a reader may
  /// hold it.
  func hasMoreToGain(_ permit: borrowing WriterPermit) -> Bool {
    guard let restedExcess, !checkpointer.isRunning else { return true }
    return excessByteCount >= restedExcess + leastGain
  }

  /// What the files take beyond what they would take after a pass, in bytes.
  var excessByteCount: Int { takenByteCount - restingByteCount }

  private var leastGain: Int { max(Self.leastGain, takenByteCount / Self.gainShare) }

  /// With nothing else to do: begins the checkpoint that the log owes, as opening after a crash would have to write
  /// home what it holds; or one that the log is about to need or the files are worth. Called without the writer lock.
  ///
  /// - Throws: `closed`.
  func settleWhileIdle() throws(StorageError) {
    let hasBegun = try withWriterLock { permit in
      checkpointer.beginOwed(permit)
      guard !checkpointer.isRunning, !queue.hasStopped, log.exists, head.csn != meta.current.csn else { return false }
      var isWorthwhile = log.isRestingAndMostlyUsed(permit)
      if case .checkpoint = remedy(permit) { isWorthwhile = true }
      if isWorthwhile {
        checkpointer.begin(permit)
        checkpointer.dispatch()
      }
      return isWorthwhile
    }
    guard hasBegun else { return }
    // Nobody who writes waits for it.
    checkpointer.finishRunning()
    try withWriterLock { permit in cutTail(permit) }
  }

  /// Cuts the file behind its pages and what the next commits need, if that is worth a call and no checkpoint runs.
  func cutTail(_ permit: borrowing WriterPermit) {
    guard log.exists, !checkpointer.isRunning else { return }
    context.begin(on: head)
    defer { context.rollback() }
    // Trees that are made later are measured then.
    space.measureOverhead(isCheckpointRunning: false, spareTreeCount: 0, permit)
    if space.tailCount * store.pageSize >= Self.leastTail { space.cutFile(keeping: 0, permit) }
  }
}
