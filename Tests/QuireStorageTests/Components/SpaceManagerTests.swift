// What the engine knows of the space that its next checkpoint will take.

import QuireTesting
import Testing

@testable import QuireStorage

@Suite struct SpaceManagerTests {
  private func open(_ disk: SimulatedDisk = SimulatedDisk()) throws -> (engine: StorageEngine, tree: Tree) {
    let engine = try disk.openEngine(StorageOptions(pageSize: 512, maintainsWhenIdle: false))
    return (engine, try engine.write { tx in try tx.createTree("t", keys: .int64) })
  }

  @Test("A commit leaves places for all dirty pages, for what checkpoints add, and a reserve")
  func commitReserves() throws {
    let (engine, tree) = try open()
    let core = engine.core
    for key in 0..<200 {
      try engine.write { tx in try tx.put([UInt8](marked: key, count: 90), for: Int64(key), in: tree) }
      let reservation = core.space.reservation
      let needed = core.store.frames.dirtyCount + reservation.overhead + reservation.reserve
      #expect(reservation.overhead > 0 && core.allocator.availableCount >= needed)
    }
    #expect(core.store.frames.dirtyCount > 40)
    #expect(try core.checkInvariants() == nil)
    try engine.close()
  }

  @Test("Removals on a full disk leave places for catalog and map, so that a checkpoint gives space back")
  func removalsLeavePlaces() throws {
    let disk = SimulatedDisk()
    let (engine, tree) = try open(disk)
    let core = engine.core
    try engine.write { tx in
      for key in 0..<1500 { try tx.put([UInt8](marked: key, count: 90), for: Int64(key), in: tree) }
    }
    try engine.checkpoint()
    disk.capacity = disk.usedByteCount
    for key in stride(from: 0, to: 1500, by: 3) {
      try engine.write { tx in try tx.delete(Int64(key), in: tree) }
      let needed = core.store.frames.dirtyCount + core.space.reservation.overhead
      #expect(core.allocator.availableCount >= needed, "after \(key)")
    }
    try engine.checkpoint()
    #expect(core.checkpointer.lastFailure == nil && engine.statistics.checkpoints > 2)
    try engine.close()
  }

  @Test("The pages of a long value count while it is written, and not after it has failed either")
  func extentCounts() throws {
    let (engine, _) = try open()
    let space = engine.core.space
    let before = space.missingPlaces
    let refusal = StorageError(.diskFull, "There is no room.")
    try engine.core.withWriterLock { (permit) throws(StorageError) in
      try space.withExtent(of: 9, permit) { () throws(StorageError) in #expect(space.missingPlaces == before + 9) }
      do throws(StorageError) {
        try space.withExtent(of: 9, permit) { () throws(StorageError) in throw refusal }
        Issue.record("the error is passed on")
      } catch {
        #expect(error.code == .diskFull)
      }
    }
    #expect(space.missingPlaces == before)
    try engine.close()
  }

  @Test("More trees than were measured are measured again")
  func manyTreesAreMeasured() throws {
    let (engine, _) = try open()
    let space = engine.core.space
    let before = space.reservation
    try engine.write { tx in
      for number in 0..<60 { try tx.createTree("a tree of some name, number \(number)", keys: .bytes) }
    }
    #expect(engine.core.head.treeCount == 61 && before.treeLimit < 61)
    #expect(space.reservation.treeLimit >= 61 && space.reservation.overhead > before.overhead)
    try engine.checkpoint()
    #expect(try engine.core.checkInvariants() == nil)
    try engine.close()
  }

  @Test("A file is not made longer on a full disk, and cut behind what is used or reserved")
  func lengthenAndCut() throws {
    let disk = SimulatedDisk()
    let (engine, tree) = try open(disk)
    let core = engine.core
    try engine.checkpoint()
    disk.capacity = disk.usedByteCount
    let end = core.allocator.backedEnd
    let refused = #expect(throws: StorageError.self) {
      try engine.write { tx in
        for key in 0..<2000 { try tx.put([UInt8](marked: key, count: 90), for: Int64(key), in: tree) }
      }
    }
    #expect(refused?.code == .diskFull && core.allocator.backedEnd == end)
    disk.capacity = nil
    try engine.write { tx in
      for key in 0..<2000 { try tx.put([UInt8](marked: key, count: 90), for: Int64(key), in: tree) }
    }
    #expect(core.allocator.backedEnd > end)
    try engine.write { tx in try tx.dropTree(tree) }
    try engine.checkpoint()
    try engine.checkpoint()
    try core.withWriterLock { permit in core.space.cutFile(keeping: 0, permit) }
    #expect(core.allocator.backedEnd >= core.meta.current.pageCount && core.space.missingPlaces <= 0)
    #expect(disk.bytes(of: "/db")?.count == Int(core.allocator.backedEnd) * 512)
    try engine.close()
  }
}
