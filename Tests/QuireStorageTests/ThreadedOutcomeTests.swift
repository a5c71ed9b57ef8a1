// Failures that strike while another thread's call is in flight: what each of them is told, and what is seen.

import QuireStorage
import QuireTesting
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
