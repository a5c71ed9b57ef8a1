// Failures that strike while another thread's call is in flight: what each of them is told, and what is seen.

import Dispatch
import QuireStorage
import QuireTesting
import Synchronization
import Testing

@Suite struct ThreadedOutcomeTests {
  private func open(_ disk: SimulatedDisk) throws -> (StorageEngine, Tree) {
    let engine = try disk.openEngine(
      StorageOptions(pageSize: 512, maintainsWhenIdle: false), scheduling: .threads)
    return (engine, try engine.write { tx in try tx.createTree("t", keys: .int64) })
  }

  private func put(_ key: Int, _ tree: Tree, _ engine: StorageEngine) -> StorageError.Code? {
    do {
      try engine.write { tx in try tx.put([UInt8](marked: key, count: 20), for: Int64(key), in: tree) }
      return nil
    } catch { return (error as? StorageError)?.code }
  }

  private func keys(_ tree: Tree, _ engine: StorageEngine) throws -> [Int] {
    try engine.read { tx in
      try (0..<10).filter { try tx.value(for: Int64($0), in: tree) != nil }
    }
  }

  @Test("A commit whose flush is in flight is acknowledged and seen, though another one's record fails meanwhile")
  func flushInFlightCounts() throws {
    let disk = SimulatedDisk()
    let (engine, tree) = try open(disk)
    let codes = Latch<[Int: StorageError.Code?]>([:])
    let sync = disk.hold(.synchronize)
    let group = ThreadGroup()
    group.start {
      let code = put(1, tree, engine)
      codes.withLock { $0[1] = .some(code) }
    }
    #expect(sync.awaitCall())
    disk.failNext(.write, with: .error(SystemCode.inputOutput))
    #expect(put(2, tree, engine) == .outcomeUnknown)
    #expect(engine.core.queue.failure?.code == .failStop)
    sync.release()
    #expect(group.join().isEmpty)
    #expect(codes.withLock { $0[1] } == .some(nil))
    #expect(try keys(tree, engine) == [1])
    #expect(put(3, tree, engine) == .failStop)
    let again = try disk.crashImage(.allOld).openEngine(StorageOptions(pageSize: 512))
    #expect(try keys(tree, again) == [1])
  }

  @Test("A commit that is appended while a flush is in flight is not seen before a flush has covered it")
  func flushInFlightCoversNothingLater() throws {
    let disk = SimulatedDisk()
    let (engine, tree) = try open(disk)
    let sync = disk.hold(.synchronize)
    let group = ThreadGroup()
    group.start { #expect(put(1, tree, engine) == nil) }
    #expect(sync.awaitCall())
    let (_, ticket) = try engine.core.writeWithoutWaiting { tx in try tx.put("b", for: Int64(2), in: tree) }
    #expect(try keys(tree, engine) == [])
    sync.release()
    #expect(group.join().isEmpty)
    try engine.core.wait(ticket)
    #expect(try keys(tree, engine) == [1, 2])
  }

  @Test("Who waits behind a flush that succeeds is told when writing has stopped beside it")
  func failureBesideAFlushIsTold() throws {
    let disk = SimulatedDisk()
    let (engine, tree) = try open(disk)
    let codes = Latch<[StorageError.Code?]>([])
    let sync = disk.hold(.synchronize)
    let group = ThreadGroup()
    group.start { #expect(put(1, tree, engine) == nil) }
    #expect(sync.awaitCall())
    let (_, ticket) = try engine.core.writeWithoutWaiting { tx in try tx.put("b", for: Int64(2), in: tree) }
    engine.core.queue.notify(whenDurable: try #require(ticket.lsn)) { failure in
      codes.withLock { $0.append(failure?.code) }
    }
    engine.core.queue.fail(StorageError(.inputOutput, "A checkpoint has failed."))
    #expect(codes.withLock { $0 } == [], "the flush may still cover it")
    sync.release()
    #expect(group.join().isEmpty)
    #expect(codes.withLock { $0 } == [.outcomeUnknown])
    #expect(try keys(tree, engine) == [1])
  }

  @Test("An async commit that is appended while a flush is in flight is acknowledged without another commit")
  func asyncCommitBehindAFlush() throws {
    let disk = SimulatedDisk()
    let (engine, tree) = try open(disk)
    let told = DispatchSemaphore(value: 0)
    let sync = disk.hold(.synchronize)
    let group = ThreadGroup()
    group.start { #expect(put(1, tree, engine) == nil) }
    #expect(sync.awaitCall())
    let (_, ticket) = try engine.core.writeWithoutWaiting { tx in try tx.put("b", for: Int64(2), in: tree) }
    engine.core.queue.notify(whenDurable: try #require(ticket.lsn)) { _ in told.signal() }
    sync.release()
    #expect(group.join().isEmpty)
    #expect(told.wait(timeout: .now() + .seconds(10)) == .success)
    #expect(try keys(tree, engine) == [1, 2])
  }

  @Test("Whoever waits behind a flush that fails is told so, and nobody waits for ever")
  func failedFlushTellsEverybody() throws {
    let disk = SimulatedDisk()
    let (engine, tree) = try open(disk)
    let codes = Latch<[StorageError.Code?]>([])
    let sync = disk.hold(.synchronize)
    let group = ThreadGroup()
    for key in 0..<4 {
      group.start {
        let code = put(key, tree, engine)
        codes.withLock { $0.append(code) }
      }
    }
    #expect(sync.awaitCall())
    sync.release(.error(SystemCode.inputOutput))
    #expect(group.join().isEmpty)
    let told = codes.withLock { $0 }
    #expect(told.count == 4 && told.allSatisfy { $0 == .outcomeUnknown || $0 == .failStop }, "\(told)")
    #expect(told.contains(.outcomeUnknown))
    #expect(try keys(tree, engine) == [])
  }
}
