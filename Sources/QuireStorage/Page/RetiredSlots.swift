// Slots on their way back to the pool: nobody can find them, but a reader may still be inside.

internal import DequeModule
internal import Synchronization

/// Slots that go back to the pool when every reader has moved on to a later access epoch (hazard C3).
///
/// What eviction takes out of the page table, and what checkpoints and transactions have done with, waits here side by
/// side, so that a search for a slot finds all of them.
///
/// Invariants:
/// 1. A slot in `slots` is in no table, and its owner is this object.
/// 2. `groups` is in the order of its epochs, and its counts add up to the number of `slots`.
final class RetiredSlots: Sendable {
  private struct State {
    var slots = Deque<UInt>()
    var groups = Deque<(epoch: UInt64, count: Int)>()
  }

  private let pool: SlotPool
  private let epochs: any AccessEpochs
  private let state = Latch(State())

  /// More than so many are not kept room for.
  private static let keptCount = 1 << 13

  init(pool: SlotPool, epochs: any AccessEpochs) {
    self.pool = pool
    self.epochs = epochs
  }

  /// Takes slots that were taken out of every table before the call.
  func retire(_ addresses: some Sequence<UInt>) {
    state.withLock { state in
      let before = state.slots.count
      state.slots.append(contentsOf: addresses)
      let count = state.slots.count - before
      // The epoch ends under the lock, so that the groups stay in order.
      guard count > 0 else { return }
      state.groups.append((epochs.advanceEpoch(), count))
      assert(state.groups.reduce(0) { $0 + $1.count } == state.slots.count, "retired slots have been miscounted")
      pool.hasRetired.store(true, ordering: .relaxed)
    }
  }

  /// Gives slots back that no reader can be inside; returns how many still wait.
  @discardableResult
  func collect() -> Int {
    state.withLock { state in
      guard !state.groups.isEmpty else { return 0 }
      let oldest = epochs.oldestEpoch()
      var count = 0
      while let group = state.groups.first, group.epoch < oldest {
        count += group.count
        state.groups.removeFirst()
      }
      guard count > 0 else { return state.slots.count }
      assert(count <= state.slots.count, "more slots come back than were retired")
      pool.release(state.slots.prefix(count).compactMap { UnsafeMutableRawPointer(bitPattern: $0) })
      state.slots.removeFirst(count)
      if state.slots.isEmpty { pool.hasRetired.store(false, ordering: .relaxed) }
      if state.slots.isEmpty, count > Self.keptCount { state.slots = [] }
      return state.slots.count
    }
  }

  /// The number of slots that wait for readers.
  var count: Int { state.withLock { $0.slots.count } }
}
