// One checkpoint at a time: its phases in order, what it protects, and what is left of one that fails.

import QuireTesting
import Testing

@testable import QuireStorage

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite struct CheckpointerTests {
  private func open(_ disk: SimulatedDisk = SimulatedDisk()) throws -> (engine: StorageEngine, tree: Tree) {
    let engine = try disk.openEngine(StorageOptions(pageSize: 512, maintainsWhenIdle: false))
    let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    try put(0..<60, in: tree, engine)
    return (engine, tree)
  }

  private func put(_ keys: Range<Int>, in tree: Tree, _ engine: StorageEngine) throws {
    try engine.write { tx in
      for key in keys { try tx.put([UInt8](marked: key, count: 60), for: Int64(key), in: tree) }
    }
  }

  @Test("The meta page comes behind the pages, the segment and the sync, and the mark behind it")
  func phases() throws {
    let (engine, _) = try open()
    let checkpointer = engine.core.checkpointer
    let before = engine.core.meta.current.checkpointNumber
    #expect(engine.core.beginCheckpointInTransaction())
    var stages: [CheckpointStage] = []
    while let stage = checkpointer.stage {
      if stages.last != stage { stages.append(stage) }
      let isBehind = [.mark, .held].contains(stage)
      #expect(engine.core.meta.current.checkpointNumber == before + (isBehind ? 1 : 0))
      checkpointer.step()
    }
    #expect(stages == [.log, .pages, .segment, .sync, .meta, .mark, .held])
    #expect(engine.core.store.frames.dirtyCount == 0 && engine.core.meta.current.csn == engine.core.head.csn)
    #expect(engine.core.allocator.isProven && checkpointer.lastFailure == nil)
    try engine.walkEverything(isCheckpointed: true)
    try engine.close()
  }

  @Test("A second one waits for the first, and each announces what it froze until its end")
  func oneAtATime() throws {
    let (engine, tree) = try open()
    let core = engine.core
    #expect(core.beginCheckpointInTransaction())
    let frozen = core.head.csn
    try put(60..<90, in: tree, engine)
    #expect(core.slots.announcedCSNs().contains(frozen.rawValue))
    try engine.walkEverything()
    #expect(core.beginCheckpointInTransaction() && engine.statistics.checkpoints == 1)
    #expect(core.meta.current.csn == frozen && !core.slots.announcedCSNs().contains(frozen.rawValue))
    core.checkpointer.finishRunning()
    #expect(engine.statistics.checkpoints == 2 && core.meta.current.csn == core.head.csn)
    #expect(try core.checkInvariants() == nil)
    try engine.close()
  }

  @Test("What fails before the meta page leaves everything as it was, for the next one")
  func failure() throws {
    let disk = SimulatedDisk()
    let (engine, tree) = try open(disk)
    let core = engine.core
    try engine.checkpoint()
    let page = core.meta.current
    try put(0..<400, in: tree, engine)
    #expect(core.beginCheckpointInTransaction())
    disk.failNext(.write, of: "/db", with: .error(EIO))
    while core.checkpointer.step() {}
    #expect(core.checkpointer.lastFailure?.code == .inputOutput && !core.queue.hasStopped)
    #expect(core.meta.current == page && core.allocator.checkInvariants() == nil)
    try put(400..<420, in: tree, engine)
    try engine.checkpoint()
    #expect(core.checkpointer.lastFailure == nil && core.meta.current.csn == core.head.csn)
    try engine.walkEverything(isCheckpointed: true)
    try engine.close()
  }

  @Test("Deletes that have replaced an eighth of the file begin one, puts do not")
  func beginsInsteadOfGrowing() throws {
    let disk = SimulatedDisk()
    disk.tellsFreeByteCount = false
    let (engine, tree) = try open(disk)
    try put(0..<4000, in: tree, engine)
    try engine.checkpoint()
    for start in stride(from: 0, to: 4000, by: 400) {
      try put(start..<(start + 400), in: tree, engine)
      #expect(!engine.core.checkpointer.isRunning)
    }
    try engine.checkpoint()
    var removed = 0
    while !engine.core.checkpointer.isRunning, removed < 4000 {
      try engine.write { tx in
        for key in removed..<(removed + 100) { try tx.delete(Int64(key), in: tree) }
      }
      removed += 100
    }
    #expect(engine.core.checkpointer.isRunning)
    #expect(engine.core.space.isWorthCheckpoint(removed, oneIn: 8), "not before it is worth it")
    try engine.close()
  }

  @Test("Where the disk has as much space as the file takes, deletes have replaced half of it before one begins")
  func beginsLaterOnAmpleDisk() throws {
    let disk = SimulatedDisk()
    disk.capacity = 64 << 20
    let (engine, tree) = try open(disk)
    let space = engine.core.space
    try put(0..<4000, in: tree, engine)
    try engine.checkpoint()
    #expect(space.hasAmpleDisk && space.shrinkingShare == 2)
    try engine.write { tx in for key in 0..<1000 { try tx.delete(Int64(key), in: tree) } }
    #expect(space.isWorthCheckpoint(engine.core.allocator.supersededCount, oneIn: 8))
    #expect(!engine.core.checkpointer.isRunning, "not before it is worth it")
    for round in 0..<20 where !engine.core.checkpointer.isRunning {
      try engine.write { tx in
        for key in stride(from: 1000 + round, to: 4000, by: 20) { try tx.delete(Int64(key), in: tree) }
      }
    }
    #expect(engine.core.checkpointer.isRunning)
    engine.core.checkpointer.finishRunning()
    // What is known of the disk is as old as the last time that the file became longer.
    disk.capacity = disk.usedByteCount + (disk.bytes(of: "/db")?.count ?? 0) / 2
    try put(10_000..<14_000, in: tree, engine)
    #expect(!space.hasAmpleDisk && space.shrinkingShare == 8)
    try engine.close()
  }
}
