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

  @Test("What it frees is given out again when its mark is durable, and not before")
  func freesWithTheMark() throws {
    let disk = SimulatedDisk()
    let (engine, tree) = try open(disk)
    let core = engine.core
    try put(0..<400, in: tree, engine)
    try engine.checkpoint()
    try put(0..<400, in: tree, engine)
    #expect(core.beginCheckpointInTransaction())
    while core.checkpointer.stage != .mark { try #require(core.checkpointer.step()) }
    #expect(!core.allocator.isProven && core.allocator.unprovenCount > 40)
    try engine.write { tx in
      // A value of many pages is written at once, and takes what may be given out.
      try tx.put([UInt8](repeating: 1, count: 20_000), for: Int64(1000), in: tree)
      try expectOlderPage(of: disk, toHold: 400, tree)
    }
    while core.checkpointer.step() {}
    #expect(core.allocator.isProven && core.allocator.unprovenCount == 0)
    try engine.checkpoint()
    try engine.walkEverything(isCheckpointed: true)
    try engine.close()
  }

  /// Opens what is left where the newest meta page is gone.
  private func expectOlderPage(of disk: SimulatedDisk, toHold count: Int, _ tree: Tree) throws {
    let image = disk.processKillImage()
    let file = try image.open("/db", .readWrite)
    let slot = try MetaPages.open(file).slot
    let zeros = [UInt8](repeating: 0, count: MetaPage.byteCount)
    _ = try zeros.withUnsafeBytes { try file.writeSome($0, at: slot * 512) }
    file.close()
    let older = try image.openEngine(StorageOptions(pageSize: 512, maintainsWhenIdle: false))
    try older.verify()
    #expect(try older.read { tx in try tx.count(of: tree) } == count)
    try older.close()
  }

  @Test("The file is as long as the meta page says, also after a long value that found no space meanwhile")
  func longValueWithoutSpace() throws {
    let disk = SimulatedDisk()
    let (engine, tree) = try open(disk)
    let core = engine.core
    // Holes of one page each.
    try engine.write { tx in
      for key in 1000..<1400 { try tx.put([UInt8](marked: key, count: 500), for: Int64(key), in: tree) }
    }
    try engine.checkpoint()
    try engine.write { tx in for key in stride(from: 1000, to: 1400, by: 2) { try tx.delete(Int64(key), in: tree) } }
    for _ in 0..<2 { try engine.checkpoint() }
    try put(0..<60, in: tree, engine)
    try core.withWriterLock { permit in core.space.cutFile(keeping: 0, permit) }
    #expect(core.beginCheckpointInTransaction())
    disk.capacity = disk.usedByteCount
    let refused = #expect(throws: StorageError.self) {
      try engine.write { tx in try tx.put([UInt8](repeating: 1, count: 40_000), for: Int64(2000), in: tree) }
    }
    #expect(refused?.code == .diskFull && core.checkpointer.isRunning)
    disk.capacity = nil
    while core.checkpointer.step() {}
    #expect(core.checkpointer.lastFailure == nil)
    #expect(try #require(disk.bytes(of: "/db")).count >= Int(core.meta.current.pageCount) * 512)
    let again = try disk.processKillImage().openEngine(StorageOptions(pageSize: 512, maintainsWhenIdle: false))
    #expect(try again.read { tx in try tx.count(of: tree) } == 260)
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
