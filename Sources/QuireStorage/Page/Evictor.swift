// Taking clean pages out of memory when the budget is used up.

internal import Synchronization

/// A clock over the page table: each time round, the hand cools what it meets, and takes out what nobody has touched
/// since it was cooled.
///
/// A page that is read into memory starts cool, so that one scan does not drive out what is used again and again; the
/// first access after that heats it. A page costs its readers one exchange per turn of the hand and nothing else.
///
/// What is taken out of the table can no longer be found, but readers may be inside: its slot goes back to the pool
/// when every reader has moved on to a later access epoch; see `RetiredSlots`.
///
/// Invariant: the hand is held by one thread at a time.
final class Evictor: Sendable {
  private let pool: SlotPool
  private let epochs: any AccessEpochs
  /// What waits for readers to move on.
  let retired: RetiredSlots
  /// The page that the hand points at.
  private let hand = Latch<UInt64>(0)
  private let evicted = Atomic<Int>(0)
  /// The epoch of a reader that was waited for in vain, and the room that there was then.
  private let givenUp = Latch<(epoch: UInt64, room: Int)>((0, 0))
  /// How many slots are kept free, so that those who need one rarely wait for readers to move on.
  let reserve: Int

  private static let largestReserve = 256

  init(pool: SlotPool, epochs: any AccessEpochs) {
    self.pool = pool
    self.epochs = epochs
    retired = RetiredSlots(pool: pool, epochs: epochs)
    reserve = max(2, min(Self.largestReserve, pool.slotLimit / 32))
  }

  /// How many slots beyond the budget are lent before anybody waits for readers: an eighth of what the engine is
  /// allowed to exceed it by.
  var slack: Int { max(reserve, Self.slackByteCount / pool.pageSize) }

  private static let slackByteCount = SlotPool.slackByteCount
  /// The most pages that are looked at in one go: some 50 µs.
  private static let sweepLimit: UInt64 = 1 << 15
  private static let waitMicroseconds: UInt32 = 100
  private static let shortestWaitMicroseconds: UInt64 = 10_000

  /// Waits until readers that hold what was taken out of memory move on: they will, at the end of a call, and have
  /// mostly lost their processor in the middle of one. The caller, be it a reader, a writer or a checkpoint, waits only
  /// for readers in an older epoch than its own: so the oldest never waits, and no two wait for each other.
  ///
  /// Ten milliseconds at first, and twice as long for each quarter of the slack that the budget is exceeded by besides,
  /// up to eighty. A reader that was waited for in vain may be busy with something else than reading, and is waited for
  /// again only when another quarter is gone: so memory grows slowly at least, and no call waits for ever. A call that
  /// brings several pages into memory may wait for each of them, if different readers are in the way.
  ///
  /// - Returns: a slot, or nil if there still is none.
  func awaitReaders(_ table: PageTable) throws(StorageError) -> UnsafeMutableRawPointer? {
    var oldest = epochs.oldestHolder()
    let (epoch, room) = (oldest.epoch, pool.room)
    let step = max(1, slack / 4)
    let isHopeless = givenUp.withLock { $0.epoch == epoch && room > $0.room - step }
    if isHopeless { return nil }
    let doublings = min(3, max(0, (-room - slack) / step))
    // By the clock: a short sleep may take several times as long as it should.
    let deadline = Pause.now + Self.shortestWaitMicroseconds << UInt64(doublings)
    while Pause.now < deadline {
      if oldest.isCaller || oldest.epoch == .max { return nil }
      Pause.sleep(microseconds: Self.waitMicroseconds)
      makeRoom(for: 1, in: table)
      if let slot = try pool.take().slot { return slot }
      oldest = epochs.oldestHolder()
    }
    let stuck = oldest.epoch
    givenUp.withLock { $0 = (stuck, room) }
    return nil
  }

  /// How many pages have been taken out of memory.
  var evictedCount: Int { evicted.load(ordering: .relaxed) }

  /// Frees slots until the pool has `count` and the reserve, as far as clean pages and readers allow; nothing as long
  /// as there is half of the reserve, with what waits for readers: seldom, and many at a time.
  ///
  /// - Parameter table: where the clean pages are.
  func makeRoom(for count: Int, in table: PageTable) {
    hand.withLock { hand in
      let waiting = retired.collect()
      let missing = count + reserve - pool.room - waiting
      if missing > reserve / 2 { sweep(missing, table, &hand) }
    }
  }

  private func sweep(_ count: Int, _ table: PageTable, _ hand: inout UInt64) {
    // Without pages there is nothing to find, and looking for it would take as long as the table is.
    guard table.residentCount > 0 else { return }
    var slots: [UInt] = []
    slots.reserveCapacity(min(count, table.residentCount))
    // Once round to cool, once round to take; but not all at once in a long table with little in it. Everybody who
    // needs a slot waits for this one, most of them inside of pages, so that nothing that was retired can be freed
    // meanwhile: a thread that finds too little goes on where this one has stopped.
    table.coolOrTake(count, &hand, steps: min(2 * table.pageCount, Self.sweepLimit), into: &slots)
    guard !slots.isEmpty else { return }
    evicted.wrappingAdd(slots.count, ordering: .relaxed)
    retired.retire(slots)
    retired.collect()
  }
}
