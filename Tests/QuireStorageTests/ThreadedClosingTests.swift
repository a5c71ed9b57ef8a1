// Closing while others close, write and read.

@testable import QuireStorage
import QuireTesting
import Synchronization
import Testing

@Suite struct ThreadedClosingTests {
  @Test("Whoever returns from closing can open the file again") func secondCloserWaits() throws {
    let folder = TemporaryFolder()
    let path = folder.path + "/a.quire"
    let refusals = Shared(Latch<[String]>([]))
    for round in 0..<20 {
      let engine = try StorageEngine(at: path, options: StorageOptions(cacheSize: 1 << 20))
      try engine.write { tx in
        let tree = try tx.tree(named: "t") ?? tx.createTree("t", keys: .int64)
        for number in Int64(0)..<50 {
          try tx.put([UInt8](marked: round, count: 500), for: Int64(round) * 50 + number, in: tree)
        }
      }
      let (threads, openLock) = (ThreadGroup(), Shared(Latch(())))
      for _ in 0..<2 {
        threads.start {
          try engine.close()
          openLock.value.withLock { _ in
            do { try StorageEngine(at: path).close() } catch {
              refusals.value.withLock { $0.append("\(round): \(error)") }
            }
          }
        }
      }
      let complaints = threads.join()
      #expect(complaints == [])
    }
    #expect(refusals.value.withLock { $0 } == [])
  }

  @Test("An attempt to close that is refused tells nobody that the database is closed") func refusedCloseIsUnseen()
    throws
  {
    let engine = try SimulatedDisk().openEngine(scheduling: .threads)
    let pin = try engine.pin()
    let (threads, stop) = (ThreadGroup(), StopFlag())
    for _ in 0..<2 {
      threads.start {
        while !stop.isSet {
          try engine.read { _ in }
          _ = try engine.pin()
        }
      }
    }
    threads.start { while !stop.isSet { try engine.write { _ in } } }
    for _ in 0..<300 {
      let error = #expect(throws: StorageError.self) { try engine.close() }
      #expect(error?.code == .inUse)
    }
    stop.set()
    let complaints = threads.join()
    #expect(complaints == [])
    withExtendedLifetime(pin) {}
  }

  @Test("Attempts to close that follow one another are no decision for who waits for one") func attemptsAreNoDecision()
  {
    let (flag, threads, stop) = (OpenFlag(), ThreadGroup(), StopFlag())
    threads.start {
      for _ in 0..<200_000 {
        flag.beginClosing()
        flag.endClosing(isOpen: true)
      }
      stop.set()
    }
    threads.start {
      while !stop.isSet { if !flag.awaitDecision() { throw StorageError(.closed, "It was open all the time.") } }
    }
    #expect(threads.join() == [])
    flag.release()
  }
}
