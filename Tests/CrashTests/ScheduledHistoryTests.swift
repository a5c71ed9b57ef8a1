// Threads of an engine in orders that a seed decides: the same history of snapshots as `ThreadedHistoryTests`, with
// every atomic, latch, semaphore, pause and call of the disk as a step. A longer run, or one order, by
//
//     QUIRE_SCHEDULE_ROUNDS=5000 QUIRE_SCHEDULE_SEED=7 swift test --filter ScheduledHistoryTests
//
// With SWIFT_DETERMINISTIC_HASHING=1 one seed is one order in every process.

import Foundation
import QuireStorage
import QuireTesting
import Synchronization
import Testing

#if DEBUG
  extension SnapshotPlan {
    /// The plan of a schedule: some thousand steps.
    init(scheduled seed: UInt64) {
      self.init(seed: seed)
      var random = SeededRandom(seed: seed ^ 0x7363_6864)
      writerCount = 1 + random.below(3)
      readerCount = 1 + random.below(2)
      operationCount = random.pick([4, 8, 16])
      keyCount = random.pick([3, 40, 300])
      longestValue = random.pick([8, 60, 600])
      logLimit = 16 << 10
    }
  }

  /// One history in one order.
  private struct ScheduledHistory {
    let seed: UInt64

    /// What became of it.
    struct Report: Equatable {
      var complaints: [String]
      var transactionCount: Int
      var stepCount: Int
      var changeCount: Int
      var orderHash: UInt64
    }

    private var chooser: any ScheduleChooser {
      var random = SeededRandom(seed: seed ^ 0x6f72_6465)
      if random.oneIn(2) { return RandomChooser(seed: random.next(), oneIn: random.pick([1, 3, 10, 40])) }
      let (changeCount, stepCount) = (1 + random.below(6), random.pick([2000, 8000]))
      return PriorityChooser(seed: random.next(), changeCount: changeCount, stepCount: stepCount)
    }

    /// What the process makes once, at its first use, is made before: or the first order would be another one.
    private static let warmUp: Bool = (try? ScheduledHistory(seed: 1000).runOnce()) != nil

    func run() throws -> Report {
      #expect(Self.warmUp)
      return try runOnce()
    }

    private func runOnce() throws -> Report {
      let schedule = ThreadSchedule(chooser)
      let plan = SnapshotPlan(scheduled: seed)
      // Judged by a thread of no schedule: recovery of an image has one order.
      typealias Ended = (ThreadedSnapshotHistory, [(name: String, disk: SimulatedDisk)])
      let ended = Latch<Result<Ended, any Error>?>(nil)
      try schedule.run {
        let result = Result<Ended, any Error> {
          let history = try ThreadedSnapshotHistory(plan)
          history.arm()
          ScheduledGroup.run(history.bodies)
          return (history, history.end())
        }
        ended.withLock { $0 = result }
      }
      let (history, images) = try #require(ended.withLock { $0 }).get()
      let (complaints, count) = try history.judge(images)
      return Report(
        complaints: complaints, transactionCount: count, stepCount: schedule.stepCount,
        changeCount: schedule.changeCount, orderHash: schedule.orderHash)
    }
  }

  @Suite("Threads in chosen orders") struct ScheduledHistoryTests {
    @Test(
      "see what snapshots of one order of commits show, whatever order they run in, and all come to an end",
      .enabled(if: TestSize.hasSlowTests, "slow"))
    func everyOrderIsOneOfCommits() throws {
      let first = UInt64(environmentNumber("QUIRE_SCHEDULE_SEED") ?? 1)
      let rounds = environmentNumber("QUIRE_SCHEDULE_ROUNDS") ?? TestSize.trials(60, divisor: 2)
      let isVerbose = environmentNumber("QUIRE_SCHEDULE_VERBOSE") != nil
      var (transactions, steps, changes) = (0, 0, 0)
      for seed in first..<first + UInt64(rounds) {
        let replay = "replay: QUIRE_SCHEDULE_ROUNDS=1 QUIRE_SCHEDULE_SEED=\(seed) swift test --filter ScheduledHistory"
        do {
          let result = try ScheduledHistory(seed: seed).run()
          transactions += result.transactionCount
          steps += result.stepCount
          changes += result.changeCount
          if isVerbose { print("seed \(seed): \(result)") }
          if !result.complaints.isEmpty {
            let text = result.complaints.prefix(5).joined(separator: "; ")
            Issue.record("seed \(seed) (\(SnapshotPlan(scheduled: seed))): \(text)\n  \(replay)")
            return
          }
        } catch {
          Issue.record("seed \(seed) (\(SnapshotPlan(scheduled: seed))): \(error)\n  \(replay)")
          return
        }
      }
      print("schedules: \(rounds), \(steps) steps, \(changes) changes of threads, \(transactions) transactions")
      // Of many; one alone, replayed, may have fewer changes.
      if rounds >= 30 { #expect(transactions > rounds * 4 && changes > rounds * 20) }
    }
  }

  /// Alone in a process: tests beside it hold latches of the whole process, and change the order. And with the same
  /// seed for all hashing, or sets are gone through in another order each time. The gate runs it so, by
  ///
  ///     SWIFT_DETERMINISTIC_HASHING=1 QUIRE_SCHEDULE_ORDERS=1 swift test --filter OrderOfScheduleTests
  @Suite("The order of a schedule", .enabled(if: environmentNumber("QUIRE_SCHEDULE_ORDERS") != nil))
  struct OrderOfScheduleTests {
    @Test("A seed is one order") func seedsRepeat() throws {
      for seed in UInt64(1000)..<1040 {
        let (once, again) = (try ScheduledHistory(seed: seed).run(), try ScheduledHistory(seed: seed).run())
        #expect(once == again, "seed \(seed)")
      }
    }
  }
#endif
