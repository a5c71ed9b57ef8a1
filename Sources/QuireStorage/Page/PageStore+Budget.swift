// Where slots come from: the pool as long as the budget lasts, then whatever eviction makes free.

extension PageStore {
  /// Lends a slot for one page; its content is whatever its last owner left.
  ///
  /// When the budget is used up, clean pages are taken out of memory. If none can be, because everything is dirty or
  /// readers are inside what was taken out, the budget is exceeded by a little, and then there is a short wait for
  /// those readers: writers keep dirty pages below the budget, and readers move on.
  package func allocateSlot() throws(StorageError) -> UnsafeMutableRawPointer {
    let (slot, room) = try pool.take()
    guard let evictor else {
      if let slot { return slot }
      return try pool.allocate()
    }
    if room < pool.slotLimit / 8 { noteShortage() }
    if let slot, room > evictor.reserve / 2 { return slot }
    evictor.makeRoom(for: slot == nil ? 1 : 0, in: table)
    if let slot { return slot }
    if let slot = try pool.take().slot { return slot }
    if pool.room < -evictor.slack, let slot = try evictor.awaitReaders(table) { return slot }
    return try pool.allocate()
  }

  /// Lends `count` slots and hands their addresses to `add`; if it throws, those that it has lent so far.
  func allocateSlots(_ count: Int, _ add: (UInt) -> Void) throws(StorageError) {
    // One lock for all while memory is plenty, which is what a commit in steady state sees.
    if try pool.take(count, leaving: pool.slotLimit / 8, add) { return }
    for _ in 0..<count { add(UInt(bitPattern: try allocateSlot())) }
  }

  /// Dirty pages that a checkpoint begins at: five eighths of the budget. With less, one would begin over and over
  /// where all data could be dirty and still fit.
  var softDirtyLimit: Int { pool.budget / 8 * 5 }

  /// Dirty pages that writers stop at until some have been written home: three quarters of the budget.
  var hardDirtyLimit: Int { pool.budget / 4 * 3 }

  /// What the tables of frames and of pages take.
  package var tableByteCount: Int { frames.byteCount + Int(pageCount) * MemoryLayout<UInt>.stride }

  /// Says how much memory `consumer` takes beside pages, and takes clean pages out of memory if that leaves less room.
  package func charge(_ byteCount: Int, to consumer: SlotPool.Consumer) {
    pool.charge(byteCount, to: consumer)
    if pool.room < 0 { evictor?.makeRoom(for: 0, in: table) }
  }
}
