// Schedules of threads: what they find, and that a seed repeats.

import Dispatch
import QuireTesting
import Synchronization
import Testing

@testable import QuireStorage

#if DEBUG
  /// Two words that threads of a schedule use.
  private final class Words: Sendable {
    let first = QuireStorage.Atomic<Int>(0)
    let second = QuireStorage.Atomic<Int>(0)
    let firstLatch = Latch(0)
    let secondLatch = Latch(0)
    let semaphore = Semaphore()

    /// Adds one in two steps, so that another thread may come between.
    func addTorn() { first.store(first.load(ordering: .relaxed) + 1, ordering: .relaxed) }
  }

  @Suite("Schedules of threads") struct ScheduleTests {
    /// Runs `bodies` over fresh words; the sum that is left in the first.
    private func sum(_ chooser: any ScheduleChooser, threads: Int = 2) throws -> (sum: Int, schedule: ThreadSchedule) {
      let (words, schedule) = (Words(), ThreadSchedule(chooser))
      try schedule.run {
        ScheduledGroup.run((0..<threads).map { _ in { for _ in 0..<3 { words.addTorn() } } })
      }
      return (words.first.load(ordering: .relaxed), schedule)
    }

    @Test("Each way of choosing finds an update that is lost", arguments: 0..<3)
    func lostUpdate(way: Int) throws {
      var found: [Int: Int] = [:]
      for seed in UInt64(0)..<UInt64(TestSize.trials(200, divisor: 8)) {
        let chooser: any ScheduleChooser =
          switch way {
          case 0: RandomChooser(seed: seed, oneIn: 3)
          case 1: PriorityChooser(seed: seed, changeCount: 2, stepCount: 40)
          default: OneChangeChooser(at: Int(seed) % 40)
          }
        let (sum, schedule) = try sum(chooser)
        #expect(try self.sum(chooser).schedule.orderHash == schedule.orderHash, "seed \(seed) goes two ways")
        found[sum, default: 0] += 1
      }
      #expect(found[6, default: 0] > 0 && found.keys.contains { $0 < 6 }, "\(found)")
      #expect(found.keys.allSatisfy { (1...6).contains($0) }, "\(found)")
    }

    @Test("All orders with so many changes are tried, each once")
    func exhaustive() throws {
      var sums: [Int: Set<Int>] = [:]
      for limit in 0...2 {
        var orders: Set<UInt64> = []
        var count = 0
        var next: ExhaustiveChooser? = ExhaustiveChooser(limit: limit)
        while let chooser = next {
          let (words, schedule) = (Words(), ThreadSchedule(chooser))
          let after = try schedule.run { ScheduledGroup.run([{ words.addTorn() }, { words.addTorn() }]) }
          sums[limit, default: []].insert(words.first.load(ordering: .relaxed))
          orders.insert(schedule.orderHash)
          count += 1
          next = (after as? ExhaustiveChooser)?.next()
        }
        #expect(orders.count == count, "of \(count) orders with \(limit) changes \(orders.count) differ")
      }
      #expect(sums[0] == [2] && sums[1] == [1, 2] && sums[2] == [1, 2], "\(sums)")
    }

    @Test("Threads that wait for one another for ever are told of")
    func deadlock() throws {
      var found = 0
      var next: ExhaustiveChooser? = ExhaustiveChooser(limit: 1)
      while let chooser = next, found == 0 {
        // Nobody else knows of the latches.
        let (words, schedule) = (Words(), ThreadSchedule(chooser, patience: 0.3))
        do {
          let after = try schedule.run {
            ScheduledGroup.run([
              { words.firstLatch.withLock { _ in words.secondLatch.withLock { $0 += 1 } } },
              { words.secondLatch.withLock { _ in words.firstLatch.withLock { $0 += 1 } } },
            ])
          }
          next = (after as? ExhaustiveChooser)?.next()
        } catch ThreadSchedule.Failure.deadlock { found += 1 }
      }
      #expect(found == 1)
    }

    @Test("A thread that looks for ever at what nobody changes is told of; one that looks for another's step is not")
    func spinning() throws {
      for chooser: any ScheduleChooser in [
        RandomChooser(seed: 1, oneIn: 50), PriorityChooser(seed: 1, changeCount: 1, stepCount: 10),
        ExhaustiveChooser(limit: 0), OneChangeChooser(at: 3),
      ] {
        let words = Words()
        try ThreadSchedule(chooser, stepLimit: 10_000).run {
          ScheduledGroup.run([
            { while words.first.load(ordering: .acquiring) == 0 { Pause.yield() } },
            { words.first.store(1, ordering: .releasing) },
          ])
        }
        let other = Words()
        #expect(throws: ThreadSchedule.Failure.self) {
          try ThreadSchedule(chooser, stepLimit: 10_000).run {
            while other.first.load(ordering: .acquiring) == 0 { Pause.yield() }
          }
        }
      }
    }

    @Test("Semaphores hand over one signal each, and times come in their order without anybody waiting")
    func semaphoresAndTimes() throws {
      for seed in UInt64(0)..<50 {
        let words = Words()
        let order = Latch<[Int]>([])
        let start = DispatchTime.now()
        try ThreadSchedule(RandomChooser(seed: seed, oneIn: 2)).run {
          ScheduledGroup.run([
            { for _ in 0..<5 { words.semaphore.wait() } },
            { for _ in 0..<5 { words.semaphore.signal() } },
            {
              Pause.sleep(microseconds: 900_000_000)
              order.withLock { $0.append(2) }
            },
            {
              let isSignalled = Semaphore().wait(until: Pause.time + .seconds(600))
              order.withLock { $0.append(isSignalled ? 0 : 1) }
            },
          ])
        }
        #expect(order.withLock { $0 } == [1, 2], "seed \(seed)")
        #expect(DispatchTime.now().uptimeNanoseconds - start.uptimeNanoseconds < 60_000_000_000)
      }
    }

    @Test("A thread that a schedule's thread starts belongs to it; others go on by themselves")
    func threadsOfOneSchedule() throws {
      let words = Words()
      try ThreadSchedule(RandomChooser(seed: 3, oneIn: 2)).run {
        let done = Semaphore()
        do throws(SystemError) {
          try ThreadStarter.system.start {
            if ThreadSeam.current != nil { words.first.store(1, ordering: .relaxed) }
            done.signal()
          }
        } catch { words.second.store(1, ordering: .relaxed) }
        done.wait()
      }
      #expect(words.first.load(ordering: .relaxed) == 1 && words.second.load(ordering: .relaxed) == 0)
      #expect(ThreadSeam.current == nil)
    }
  }
#endif
