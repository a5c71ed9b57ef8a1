// Maintenance before a clean close.

extension Maintainer {
  /// How many times what is in it the file may be when it is closed, in tenths; and if nobody should wait for the
  /// copies that this takes, because there is so much in it.
  private static let closedTenths: UInt64 = 12
  private static let closedLargeTenths: UInt64 = 22
  private static let largeByteCount: UInt64 = 64 << 20
  /// A file with so many bytes at the most is small enough if it has no more than `closedLargeTenths`.
  private static let smallClosedByteCount: UInt64 = 768 << 10
  /// Pages that are always in use, or nearly: two meta pages, catalog and map, and a leaf of each of a few trees. A
  /// file that has no more than that has its catalog and its map twice at times, and is not looked at.
  private static let leastContent: UInt64 = 8

  /// Before a clean close: if the last checkpoint would leave a file with much that is free, as after a burst of
  /// changes whose pages were written beside the old ones, moves as many pages to the front as it takes to cut the file
  /// to 1.2 times what is in it, or to 2.2 times if that is more than 64 MiB. Nobody will be idle afterwards and have
  /// it done.
  ///
  /// Writes no more than what is in the file, and no more than some 64 MiB unless the file is mostly free. Whatever
  /// fails leaves the file longer and nothing worse; `close` itself meets what is lasting.
  func shortenBeforeClose(_ host: any MaintenanceHost) {
    do throws(StorageError) {
      try checkOpen()
      try checkWritable()
      guard options.maintainsWhenIdle else { return }
      // One that runs is about to free places, and holds a slot as a reader does.
      try withWriterLock { _ in
        checkpointer.finishRunning()
        reclaimer.collect()
      }
      guard slots.activeCount == 0, try isTooLong(afterCheckpoint: true) else { return }
      // Until now, the places are not known.
      while try provePlaces() {}
      try withWriterLock { permit in setPass(MaintenancePass(), permit) }
      try checkpoint(vacating: false)
      guard try isTooLong(afterCheckpoint: false) else { return }
      try withWriterLock { permit in
        var pass = pass(permit)
        // Not all of it: the checkpoint at the very end puts catalog and map beside what is there.
        pass.limit = usedCount + (isLarge(usedCount) ? usedCount : usedCount / 16 + 8)
        pass.extentLimit = pass.limit
        if let first = trees(of: head).first?.id { pass.phase = .relocate(tree: first, from: .start) }
        setPass(pass, permit)
      }
      while try step(host) {}
    } catch {}
  }

  /// The places that a checkpoint's trees reach, or that are held.
  private var usedCount: UInt64 { allocator.pageCount - UInt64(allocator.freeCount) }

  /// Whether so many pages are too many for their copies to be waited for.
  private func isLarge(_ pageCount: UInt64) -> Bool { pageCount * UInt64(store.pageSize) > Self.largeByteCount }

  /// Whether the file is too long for what is in it.
  ///
  /// - Parameter afterCheckpoint: as it would be after a checkpoint.
  private func isTooLong(afterCheckpoint: Bool) throws(StorageError) -> Bool {
    try withWriterLock { _ in
      let dirty = afterCheckpoint ? UInt64(store.frames.dirtyCount) : 0
      let superseded = afterCheckpoint ? UInt64(allocator.supersededCount) : 0
      let used = usedCount + dirty
      let free = UInt64(allocator.freeCount)
      let pageCount = allocator.pageCount + (dirty > free ? dirty - free : 0)
      let left = used > superseded ? used - superseded : 0
      let isSmall = pageCount * UInt64(store.pageSize) <= Self.smallClosedByteCount
      let tenths = isSmall || isLarge(left) ? Self.closedLargeTenths : Self.closedTenths
      return log.exists && pageCount * 10 > max(left, Self.leastContent) * tenths
    }
  }
}
