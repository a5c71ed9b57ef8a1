// How dirty pages are kept within the budget where the disk may be short of space: a checkpoint at the soft limit, and
// spills at the hard one.

import QuireTesting
import Testing

@testable import QuireStorage

@Suite struct MemoryManagerTests {
  private func open() throws -> (engine: StorageEngine, tree: Tree) {
    let options = StorageOptions(pageSize: 512, cacheSize: 256 << 10, logLimit: 4 << 20, maintainsWhenIdle: false)
    let disk = SimulatedDisk()
    disk.tellsFreeByteCount = false
    let engine = try disk.openEngine(options, segmentByteCount: 1 << 20)
    return (engine, try engine.write { tx in try tx.createTree("t", keys: .int64) })
  }

  private func put(_ keys: Range<Int>, in tree: Tree, _ tx: borrowing WriteTransaction) throws {
    for key in keys { try tx.put([UInt8](marked: key, count: 100), for: Int64(key), in: tree) }
  }

  @Test("Between the limits a transaction begins a checkpoint and waits for none")
  func softLimit() throws {
    let (engine, tree) = try open()
    let core = engine.core
    var key = 0
    while core.store.dirtyCount <= core.store.softDirtyLimit {
      #expect(!core.checkpointer.isRunning)
      try engine.write { tx in try put(key..<(key + 4), in: tree, tx) }
      key += 4
    }
    #expect(core.store.dirtyCount <= core.store.hardDirtyLimit)
    try engine.write { tx in try put(key..<(key + 1), in: tree, tx) }
    #expect(core.checkpointer.isRunning && engine.statistics.checkpoints == 0)
    core.checkpointer.finishRunning()
    #expect(core.store.dirtyCount < core.store.softDirtyLimit)
    try engine.walkEverything()
    try engine.close()
  }

  @Test("At the hard limit a transaction waits for the checkpoint before it begins")
  func hardLimit() throws {
    let (engine, tree) = try open()
    let core = engine.core
    var key = 0
    // Nobody steps the checkpoint that has begun, until somebody waits for it.
    while engine.statistics.checkpoints == 0 {
      try engine.write { tx in try put(key..<(key + 4), in: tree, tx) }
      key += 4
      #expect(core.store.dirtyCount <= core.store.hardDirtyLimit + 16)
      try require(key < 100_000, "nobody waits for the checkpoint")
    }
    try engine.walkEverything()
    try engine.close()
  }

  @Test("A transaction larger than memory writes its pages home, and they stay its own", arguments: [true, false])
  func spills(isRolledBack: Bool) throws {
    let (engine, tree) = try open()
    let core = engine.core
    try engine.write { tx in try put(0..<100, in: tree, tx) }
    do {
      try engine.write { tx in
        try put(100..<6000, in: tree, tx)
        #expect(core.allocator.hasPlacesAheadOfCommit && core.reclaimer.hasUncommittedSpill)
        #expect(core.transactionDefects().isEmpty)
        #expect(try engine.read { tx in try tx.count(of: tree) } == 100)
        if isRolledBack { try tx.rollback() }
      }
    } catch let error as StorageError where error.code == .rolledBack {}
    #expect(engine.statistics.pagesSpilled > 0)
    #expect(!core.allocator.hasPlacesAheadOfCommit && !core.reclaimer.hasUncommittedSpill)
    #expect(try engine.read { tx in try tx.count(of: tree) } == (isRolledBack ? 100 : 6000))
    #expect(try core.checkInvariants() == nil)
    try engine.checkpoint()
    try engine.walkEverything(isCheckpointed: true)
    try engine.close()
  }
}
