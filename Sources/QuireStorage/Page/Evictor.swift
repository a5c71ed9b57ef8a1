// Taking clean pages out of memory when the budget is used up.

internal import Synchronization

#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// A clock over the page table: each time round, the hand cools what it meets, and takes out what nobody has touched
/// since it was cooled.
///
/// A page that is read into memory starts cool, so that one scan does not drive out what is used again and again; the
/// first access after that heats it. A page costs its readers one exchange per turn of the hand and nothing else.
///
/// What is taken out of the table cannot be found any more, but readers may be inside: its slot goes back to the pool
/// when every reader has moved on to a later access epoch.
///
/// Invariants:
/// 1. A slot in `retired` is in no table, and its owner is this object.
/// 2. `retired` is in the order of its epochs.
final class Evictor: Sendable {
  private struct State {
    var hand: UInt64 = 0
    var retired: [(epoch: UInt64, slots: [UInt])] = []
    var retiredCount = 0
  }

  private let pool: SlotPool
  private let epochs: any AccessEpochs
  private let state = Latch(State())
  private let evicted = Atomic<Int>(0)
  /// The epoch of a reader that was waited for in vain.
  private let givenUp = Atomic<UInt64>(0)
  /// How many slots are kept free, so that those who need one rarely wait for readers to move on.
  let reserve: Int

  private static let largestReserve = 256

  init(pool: SlotPool, epochs: any AccessEpochs) {
    self.pool = pool
    self.epochs = epochs
    reserve = max(2, min(Self.largestReserve, pool.slotLimit / 32))
  }

  /// How many slots beyond the budget are lent before anybody waits for readers: an eighth of what the engine is
  /// allowed to exceed it by.
  var slack: Int { max(reserve, Self.slackByteCount / pool.pageSize) }

  private static let slackByteCount = 4 << 20
  private static let waitMicroseconds: UInt32 = 100
  private static let longestWaitCount = 100

  /// Waits until readers that hold what was taken out of memory move on: they will, at the end of a call, and have
  /// mostly lost their processor in the middle of one. Ten milliseconds at the most, and only for those in an older
  /// epoch than the caller's: so the oldest never waits, and not everybody for each other.
  ///
  /// - Returns: a slot, or nil if there still is none.
  func awaitReaders(_ table: PageTable) throws(StorageError) -> UnsafeMutableRawPointer? {
    var oldest = epochs.oldestHolder()
    // Whoever was waited for in vain is busy with something else than reading.
    if oldest.epoch == givenUp.load(ordering: .relaxed) { return nil }
    for _ in 0..<Self.longestWaitCount {
      if oldest.isCaller || oldest.epoch == .max { return nil }
      usleep(Self.waitMicroseconds)
      makeRoom(for: 1, in: table)
      if let slot = try pool.take().slot { return slot }
      oldest = epochs.oldestHolder()
    }
    givenUp.store(oldest.epoch, ordering: .relaxed)
    return nil
  }

  /// How many pages have been taken out of memory.
  var evictedCount: Int { evicted.load(ordering: .relaxed) }

  /// Frees slots until the pool has `count` and the reserve, as far as clean pages and readers allow.
  ///
  /// - Parameter table: where the clean pages are.
  func makeRoom(for count: Int, in table: PageTable) {
    state.withLock { state in
      collect(&state)
      let missing = count + reserve - pool.room - state.retiredCount
      if missing > 0 { sweep(missing, table, &state) }
    }
  }

  /// Gives slots back that no reader can be inside any more.
  private func collect(_ state: inout State) {
    guard !state.retired.isEmpty else { return }
    let oldest = epochs.oldestEpoch()
    var done = 0
    while done < state.retired.count, state.retired[done].epoch < oldest {
      let slots = state.retired[done].slots.compactMap { UnsafeMutableRawPointer(bitPattern: $0) }
      pool.release(slots)
      state.retiredCount -= slots.count
      done += 1
    }
    state.retired.removeFirst(done)
  }

  private func sweep(_ count: Int, _ table: PageTable, _ state: inout State) {
    // Without pages there is nothing to find, and looking for it would take as long as the table is.
    guard table.residentCount > 0 else { return }
    var slots: [UInt] = []
    let pageCount = table.pageCount
    // Once round to cool, once round to take.
    var rest = 2 * pageCount
    while slots.count < count, rest > 0 {
      if state.hand >= pageCount { state.hand = 0 }
      if let slot = table.coolOrTake(PageNumber(state.hand)) { slots.append(UInt(bitPattern: slot)) }
      state.hand += 1
      rest -= 1
    }
    guard !slots.isEmpty else { return }
    evicted.wrappingAdd(slots.count, ordering: .relaxed)
    state.retiredCount += slots.count
    state.retired.append((epochs.advanceEpoch(), slots))
    collect(&state)
  }

  /// The number of slots that wait for readers.
  var retiredCount: Int { state.withLock { $0.retiredCount } }
}
