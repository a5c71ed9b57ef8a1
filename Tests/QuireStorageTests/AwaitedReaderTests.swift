// Waiting for readers that are inside of pages which have been taken out of memory.

import QuireTesting
import Synchronization
import Testing

@testable import QuireStorage

@Suite struct AwaitedReaderTests {
  private let snapshots = SnapshotPool()

  private func makeSlots() -> ReaderSlots {
    ReaderSlots(snapshots.make(csn: CSN(0), trees: [], names: TreeNames([:])))
  }

  @Test func theOldestHolderIsTheCallerOnlyIfItIsInThatEpoch() throws {
    let slots = makeSlots()
    #expect(slots.oldestHolder().epoch == .max && !slots.oldestHolder().isCaller)
    // Another thread's announcement, from before the epoch moved.
    let group = ThreadGroup()
    let other = Latch<ReaderSlot?>(nil)
    group.start { other.withLock { $0 = try? slots.announce(CSN(0)) } }
    #expect(group.join().isEmpty)
    let old = slots.currentEpoch
    _ = slots.advanceEpoch()
    let own = try slots.announce(CSN(0))
    #expect(slots.oldestHolder().epoch == old && !slots.oldestHolder().isCaller)
    // In one epoch with the other, the caller counts as the one that is waited for: it would wait for itself.
    let theirs = try #require(other.withLock { $0 })
    slots.exitEpoch(theirs)
    #expect(slots.oldestHolder().epoch == old + 1 && slots.oldestHolder().isCaller)
    slots.end(theirs)
    slots.end(own)
    #expect(slots.oldestHolder().epoch == .max)
  }

  /// Readers as a test says that they are.
  private final class Epochs: AccessEpochs {
    private let state: Latch<(now: UInt64, held: UInt64, isCaller: Bool, looksUntilGone: Int)>
    init(held: UInt64, isCaller: Bool = false, looksUntilGone: Int = .max) {
      state = Latch((held, held, isCaller, looksUntilGone))
    }
    func advanceEpoch() -> UInt64 {
      state.withLock { state in
        state.now += 1
        return state.now - 1
      }
    }
    func oldestEpoch() -> UInt64 {
      state.withLock { state in
        state.looksUntilGone -= 1
        if state.looksUntilGone <= 0 { state.held = .max }
        return state.held
      }
    }
    func oldestHolder() -> (epoch: UInt64, isCaller: Bool) { state.withLock { ($0.held, $0.isCaller) } }
  }

  /// An evictor whose budget is used up, and `count` slots of it that wait for readers.
  private func exhausted(_ epochs: Epochs, retired count: Int) throws -> (Evictor, SlotPool, PageTable) {
    let pool = SlotPool(pageSize: 4096, cacheSize: 64 << 10)
    let evictor = Evictor(pool: pool, epochs: epochs)
    let slots = try (0..<pool.slotLimit).map { _ in UInt(bitPattern: try pool.allocate()) }
    evictor.retired.retire(Array(slots.prefix(count)))
    return (evictor, pool, try PageTable())
  }

  @Test func aReaderThatMovesOnGivesASlot() throws {
    let (evictor, pool, table) = try exhausted(Epochs(held: 1, looksUntilGone: 3), retired: 4)
    #expect(pool.room == 0)
    let slot = try evictor.awaitReaders(table)
    #expect(slot != nil && pool.room == 3)
  }

  @Test func nobodyWaitsForItself() throws {
    let (evictor, pool, table) = try exhausted(Epochs(held: 1, isCaller: true), retired: 4)
    #expect(try evictor.awaitReaders(table) == nil && pool.room == 0)
  }

  @Test("A reader that stays is waited for once, and again only when much more is lent")
  func nobodyWaitsInVainTwice() throws {
    let (evictor, pool, table) = try exhausted(Epochs(held: 1), retired: 4)
    func seconds() throws -> Double {
      let start = secondsNow()
      #expect(try evictor.awaitReaders(table) == nil)
      return secondsNow() - start
    }
    #expect(try seconds() >= 0.01)
    #expect(try seconds() < 0.01, "it is hopeless")
    for _ in 0..<(evictor.slack / 4) { _ = try pool.allocate() }
    #expect(try seconds() >= 0.01)
  }
}
