// Writers get their turn in the order in which they came.

import QuireStorage
import QuireTesting
import Synchronization
import Testing

@Suite struct ThreadedWriterLockTests {
  @Test("Beside a thread that writes without a pause another one gets its turn") func nobodyStarves() throws {
    let lock = WriterLock()
    let (threads, stop) = (ThreadGroup(), StopFlag())
    let turns = Shared(Atomic<Int>(0))
    threads.start {
      while !stop.isSet {
        for _ in 0..<100 {
          try lock.lock()
          turns.value.wrappingAdd(1, ordering: .relaxed)
          for _ in 0..<200 { turns.value.wrappingAdd(0, ordering: .relaxed) }
          lock.unlock()
        }
      }
    }
    var waited: [Int] = []
    for _ in 0..<50 {
      // The other one is in full swing again.
      let last = turns.value.load(ordering: .relaxed)
      while turns.value.load(ordering: .relaxed) < last + 2 {}
      let before = turns.value.load(ordering: .relaxed)
      try lock.lock()
      waited.append(turns.value.load(ordering: .relaxed) - before)
      lock.unlock()
    }
    stop.set()
    let complaints = threads.join()
    #expect(complaints == [])
    // It may have been held up between looking and asking; but not as a rule.
    waited.sort()
    #expect(waited[40] <= 0, "\(waited)")
  }

  @Test("Writers have their turn in the order in which they came") func turnsAreInOrder() throws {
    let lock = WriterLock()
    let order = Shared(Latch<[Int]>([]))
    for _ in 0..<20 {
      let threads = ThreadGroup()
      try lock.lock()
      for number in 0..<5 {
        threads.start {
          try lock.lock()
          order.value.withLock { $0.append(number) }
          lock.unlock()
        }
        while lock.waiterCount <= number {}
      }
      lock.unlock()
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
          try lock.lock()
          try require(inside.value.wrappingAdd(1, ordering: .relaxed).newValue == 1, "two have the lock")
          try require(lock.isHeldByThisThread, "not held inside")
          if round % 100 == number {
            var code: StorageError.Code?
            do throws(StorageError) { try lock.lock() } catch { code = error.code }
            try require(code == .nestedWrite, "locked twice")
          }
          sum.value.store(sum.value.load(ordering: .relaxed) + 1, ordering: .relaxed)
          inside.value.wrappingSubtract(1, ordering: .relaxed)
          lock.unlock()
        }
      }
    }
    let complaints = threads.join()
    #expect(complaints == [])
    #expect(sum.value.load(ordering: .relaxed) == 4000)
    #expect(lock.waiterCount == 0 && !lock.isHeldByThisThread)
    try lock.lock()
    lock.unlock()
  }
}
