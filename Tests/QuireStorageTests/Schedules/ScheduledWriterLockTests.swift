// The writer lock in chosen orders: one holder at a time, nobody left asleep.

import QuireTesting
import Synchronization
import Testing

@testable import QuireStorage

#if DEBUG
  /// A lock, and how many are inside.
  private final class Turns: Sendable {
    let lock = WriterLock()
    let inside = QuireStorage.Atomic<Int>(0)
    let count = QuireStorage.Atomic<Int>(0)
    let overlaps = QuireStorage.Atomic<Int>(0)

    func take(_ naps: Bool = false) {
      guard let permit = try? lock.lock() else { return }
      if inside.add(1, ordering: .relaxed).newValue != 1 { overlaps.add(1, ordering: .relaxed) }
      if naps { Pause.sleep(microseconds: 700) }
      count.add(1, ordering: .relaxed)
      inside.subtract(1, ordering: .relaxed)
      lock.unlock(permit)
    }

    func takeIfFree() {
      guard let permit = lock.lockIfFree() else { return }
      if inside.add(1, ordering: .relaxed).newValue != 1 { overlaps.add(1, ordering: .relaxed) }
      inside.subtract(1, ordering: .relaxed)
      lock.unlock(permit)
    }
  }

  @Suite("The writer lock in chosen orders") struct ScheduledWriterLockTests {
    private func run(_ chooser: any ScheduleChooser, threads: Int, turns: Int, naps: Bool) throws -> any ScheduleChooser
    {
      let all = Turns()
      let after = try ThreadSchedule(chooser).run {
        let takers: [@Sendable () -> Void] = (0..<threads).map { thread in
          { for turn in 0..<turns { all.take(naps && (thread + turn) % 2 == 0) } }
        }
        ScheduledGroup.run(takers + [{ for _ in 0..<turns { all.takeIfFree() } }])
      }
      #expect(all.overlaps.load(ordering: .relaxed) == 0 && all.count.load(ordering: .relaxed) == threads * turns)
      #expect(all.lock.waiterCount == 0)
      return after
    }

    @Test("Drawn orders") func drawn() throws {
      for seed in UInt64(0)..<UInt64(environmentNumber("QUIRE_SCHEDULE_ROUNDS") ?? 60) {
        _ = try run(RandomChooser(seed: seed, oneIn: 1 + Int(seed % 20)), threads: 3, turns: 3, naps: seed % 2 == 0)
        _ = try run(
          PriorityChooser(seed: seed, changeCount: 4, stepCount: 2000), threads: 3, turns: 3, naps: seed % 2 == 0)
      }
    }

    @Test("Each order that differs from turn and turn about at one step") func oneChange() throws {
      for step in 0..<150 { _ = try run(OneChangeChooser(at: step), threads: 2, turns: 2, naps: true) }
    }
  }
#endif
