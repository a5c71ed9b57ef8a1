// Writers get their turn in the order in which they came.

import Dispatch
import QuireStorage
import QuireTesting
import Synchronization
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite struct ThreadedWriterLockTests {
  @Test("Who takes the lock again at once, after more than a slice, does so behind the one that waits")
  func nobodyIsPassedForLong() throws {
    let lock = WriterLock()
    for round in 0..<20 {
      let had = Shared(Atomic<Bool>(false))
      let threads = ThreadGroup()
      let permit = try lock.lock()
      threads.start {
        let permit = try lock.lock()
        had.value.store(true, ordering: .relaxed)
        lock.unlock(permit)
      }
      while lock.waiterCount == 0 {}
      usleep(UInt32(2 * WriterLock.sliceNanoseconds / 1000))
      lock.unlock(permit)
      let second = try lock.lock()
      let wasBehind = had.value.load(ordering: .relaxed)
      #expect(wasBehind, "round \(round)")
      lock.unlock(second)
      let complaints = threads.join()
      #expect(complaints == [])
    }
  }

  @Test("Beside a thread of short turns without a pause, another one waits for a slice, and one turn after it")
  func nobodyStarves() throws {
    let lock = WriterLock()
    let (threads, stop) = (ThreadGroup(), StopFlag())
    // How many turns in a row ended later than a slice after the other one had joined the line.
    let late = Shared(Atomic<Int>(0))
    let joined = Shared(Atomic<UInt64>(UInt64.max))
    threads.start {
      while !stop.isSet {
        let permit = try lock.lock()
        let (since, now) = (joined.value.load(ordering: .relaxed), DispatchTime.now().uptimeNanoseconds)
        if now > since, now - since > 2 * WriterLock.sliceNanoseconds { late.value.wrappingAdd(1, ordering: .relaxed) }
        lock.unlock(permit)
      }
    }
    var waited: [Int] = []
    for _ in 0..<50 {
      late.value.store(0, ordering: .relaxed)
      joined.value.store(DispatchTime.now().uptimeNanoseconds, ordering: .relaxed)
      let permit = try lock.lock()
      joined.value.store(UInt64.max, ordering: .relaxed)
      waited.append(late.value.load(ordering: .relaxed))
      lock.unlock(permit)
    }
    stop.set()
    let complaints = threads.join()
    #expect(complaints == [])
    // It may have been held up before it joined; but not as a rule.
    waited.sort()
    #expect(waited[40] <= 1, "\(waited)")
  }

  @Test("Writers have their turn in the order in which they came") func turnsAreInOrder() throws {
    let lock = WriterLock()
    let order = Shared(Latch<[Int]>([]))
    for _ in 0..<20 {
      let threads = ThreadGroup()
      let permit = try lock.lock()
      for number in 0..<5 {
        threads.start {
          let permit = try lock.lock()
          order.value.withLock { $0.append(number) }
          lock.unlock(permit)
        }
        while lock.waiterCount <= number {}
      }
      lock.unlock(permit)
      let complaints = threads.join()
      #expect(complaints == [])
      #expect(order.value.withLock { $0 } == [0, 1, 2, 3, 4])
      order.value.withLock { $0 = [] }
    }
  }

  @Test("One at a time has the lock, and knows it") func oneAtATime() throws {
    let lock = WriterLock()
    let (inside, sum) = (Shared(Atomic<Int>(0)), Shared(Atomic<Int>(0)))
    let threads = ThreadGroup()
    for number in 0..<4 {
      threads.start {
        for round in 0..<1000 {
          try require(!lock.isHeldByThisThread, "held before")
          let permit = try lock.lock()
          try require(inside.value.wrappingAdd(1, ordering: .relaxed).newValue == 1, "two have the lock")
          try require(lock.isHeldByThisThread, "not held inside")
          if round % 100 == number {
            var code: StorageError.Code?
            do throws(StorageError) { lock.unlock(try lock.lock()) } catch { code = error.code }
            try require(code == .nestedWrite, "locked twice")
          }
          sum.value.store(sum.value.load(ordering: .relaxed) + 1, ordering: .relaxed)
          inside.value.wrappingSubtract(1, ordering: .relaxed)
          lock.unlock(permit)
        }
      }
    }
    let complaints = threads.join()
    #expect(complaints == [])
    #expect(sum.value.load(ordering: .relaxed) == 4000)
    #expect(lock.waiterCount == 0 && !lock.isHeldByThisThread)
    let permit = try lock.lock()
    lock.unlock(permit)
  }
}
