// When a commit may be seen, what an empty transaction waits for, and what a savepoint brings back.

import QuireStorage
import QuireTesting
import Testing

@Suite struct CommitOrderTests {
  @Test("A commit that does not wait is not seen before one that does (B5)")
  func publicationIsInOrder() throws {
    let engine = try SimulatedDisk().openEngine()
    let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    let (queue, slots) = (engine.core.queue, engine.core.slots)
    let before = slots.newest.csn
    let (_, ticket) = try engine.core.writeWithoutWaiting { tx in try tx.put("a", for: Int64(1), in: tree) }
    #expect(slots.newest.csn == before && engine.core.head.csn > before)
    // As a relaxed commit would come: acknowledged at once, seen when its predecessor is.
    let names = TreeNames([:])
    let relaxed = engine.core.resources.pool.make(csn: CSN(before.rawValue + 2), trees: [], names: names)
    try engine.core.withWriterLock { permit in
      queue.enqueue(relaxed, lsn: engine.core.head.endLSN, waitsForFlush: false, permit)
    }
    #expect(slots.newest.csn == before)
    try engine.core.wait(ticket)
    #expect(slots.newest.csn == relaxed.csn)
  }

  @Test("Readers see nothing that is not durable, and each commit once it is")
  func readersSeeDurableStateOnly() throws {
    let engine = try SimulatedDisk().openEngine()
    let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    let (_, ticket) = try engine.core.writeWithoutWaiting { tx in try tx.put("a", for: Int64(1), in: tree) }
    #expect(try engine.read { tx in try tx.count(of: tree) } == 0)
    try engine.core.wait(ticket)
    #expect(try engine.read { tx in try tx.count(of: tree) } == 1)
  }

  @Test("A transaction without a commit waits for what it saw (B4)", arguments: [true, false])
  func emptyWriteWaitsForItsBase(throwing: Bool) throws {
    let engine = try SimulatedDisk().openEngine()
    let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    _ = try engine.core.writeWithoutWaiting { tx in try tx.put("a", for: Int64(1), in: tree) }
    #expect(!engine.core.queue.isClean)
    do {
      let seen = try engine.write { tx in
        let value = try tx.value(for: Int64(1), in: tree)
        if throwing { throw Mismatch("on purpose") }
        return value
      }
      #expect(seen == Array("a".utf8))
    } catch is Mismatch {
      #expect(throwing)
    }
    #expect(engine.core.queue.isClean)
  }

  @Test("An empty transaction right after a recovery waits for nothing")
  func emptyWriteAfterRecovery() throws {
    let disk = SimulatedDisk()
    let engine = try disk.openEngine()
    try engine.write { tx in _ = try tx.createTree("t", keys: .int64) }
    let again = try disk.processKillImage().openEngine()
    try again.write { tx in #expect(tx.treeNames == ["t"]) }
    #expect(throws: StorageError.self) { try again.write { tx in try tx.rollback() } }
    try again.flush()
    try again.close()
  }

  @Test("A frame made before a savepoint is not edited after it (B3)")
  func savepointProtectsFrames() throws {
    let engine = try SimulatedDisk().openEngine()
    let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    try engine.write { tx in
      try tx.put("before", for: Int64(1), in: tree)
      for depth in 0..<3 {
        #expect(throws: StorageError.self) {
          _ = try tx.savepoint { tx in
            // In place, were it not for the savepoint: same length, same page.
            try tx.put("after!", for: Int64(1), in: tree)
            _ = try tx.savepoint { tx in try tx.put("inner!", for: Int64(depth + 2), in: tree) }
            try tx.delete(Int64(1), in: tree)
            try tx.createTree("new \(depth)", keys: .bytes)
            try tx.rollback()
          }
        }
        let value = try tx.value(for: Int64(1), in: tree)
        #expect(value == Array("before".utf8))
        #expect(tx.treeNames == ["t"])
      }
      let count = try tx.count(of: tree)
      #expect(count == 1)
    }
    try engine.walkEverything()
    #expect(try engine.read { tx in try tx.value(for: Int64(1), in: tree) } == Array("before".utf8))
  }

  @Test("Ids are not given twice, whatever is rolled back")
  func idsAreNeverReused() throws {
    let engine = try SimulatedDisk().openEngine()
    var seen: Set<Int64> = []
    for _ in 0..<5 {
      try? engine.write { tx in
        let first = try tx.allocateRowIDs(3)
        #expect(seen.isDisjoint(with: [first, first + 1, first + 2]))
        seen.formUnion([first, first + 1, first + 2])
        try tx.rollback()
      }
    }
  }
}
