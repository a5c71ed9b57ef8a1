// Commits of one row: what they write beside their record, and what they keep for each other.

import QuireTesting
import Testing

@testable import QuireStorage

private struct TestAbort: Error {}

@Suite struct SmallCommitTests {
  private static let mebibyte = 1 << 20

  private func put(_ key: Int, into tree: Tree, _ engine: StorageEngine) throws {
    try engine.write { tx in try tx.put([UInt8](marked: key, count: 1000), for: Int64(key), in: tree) }
  }

  /// What 300 commits write beside their records once the log is in a segment that was allocated and not filled.
  private func bytesBesideRecords(_ durability: Durability, flushesEachTime: Bool = false) throws -> Int {
    let disk = SimulatedDisk()
    let engine = try disk.openEngine(
      StorageOptions(cacheSize: 16 * Self.mebibyte, durability: durability, logLimit: 8 * Self.mebibyte),
      segmentByteCount: Self.mebibyte)
    let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    var key = 0
    func commit() throws {
      try put(key % 500, into: tree, engine)
      if flushesEachTime { try engine.flush() }
      key += 1
      while engine.core.stepCheckpoint() {}
    }
    // The first two are filled with zeros when they are made.
    while engine.core.log.with({ $0?.current.descriptor.number }) != engine.core.meta.current.segments[0].number + 2 {
      try commit()
    }
    let (written, logged) = (disk.counters.writtenByteCount, engine.statistics.logBytes)
    for _ in 0..<300 { try commit() }
    #expect(engine.statistics.checkpoints == 0)
    let rest = (disk.counters.writtenByteCount - written) - (engine.statistics.logBytes - logged)
    try engine.close()
    return rest
  }

  @Test("Zeros are written ahead of records where each is flushed, and nowhere else")
  func zerosAheadOfFlushesOnly() throws {
    #expect(try bytesBesideRecords(.relaxed) == 0)
    #expect(try bytesBesideRecords(.full) >= 256 << 10)
    #expect(try bytesBesideRecords(.relaxed, flushesEachTime: true) >= 256 << 10)
  }

  @Test("A commit gets the frames that the one before has replaced, and a checkpoint finds none in hand")
  func framesStayInHand() throws {
    let disk = SimulatedDisk()
    let engine = try disk.openEngine(StorageOptions(pageSize: 512, cacheSize: 1 << 20))
    let core = engine.core
    let tree = try engine.write { tx in
      let tree = try tx.createTree("t", keys: .int64)
      for key in 0..<500 { try tx.put([UInt8](marked: key, count: 40), for: Int64(key), in: tree) }
      return tree
    }
    func change(_ round: Int) throws {
      try engine.write { tx in try tx.put([UInt8](marked: round, count: 40), for: Int64(7), in: tree) }
    }
    for round in 0..<10 { try change(round) }
    let (lent, used, dirty) = (core.store.pool.lentCount, core.store.frames.usedCount, core.store.frames.dirtyCount)
    let slots = Set(core.context.born.map { core.store.frames.location($0).rawValue })
    for round in 10..<30 {
      try change(round)
      // Two versions of the way to the leaf take turns.
      if round % 2 == 1 {
        #expect(Set(core.context.born.map { core.store.frames.location($0).rawValue }) == slots)
      }
    }
    #expect(core.store.pool.lentCount == lent && core.store.frames.usedCount == used)
    #expect(core.store.frames.dirtyCount == dirty)
    // A reader keeps what it sees, and nothing of that is handed on.
    do {
      let pin = try engine.pin()
      for round in 30..<50 { try change(round) }
      let seen = try pin.read { (tx) throws in try tx.value(for: Int64(7), in: tree) }
      #expect(seen == [UInt8](marked: 29, count: 40))
    }
    #expect(throws: TestAbort.self) {
      try engine.write { tx in
        try tx.put([1], for: Int64(8), in: tree)
        throw TestAbort()
      }
    }
    try change(50)
    try engine.checkpoint()
    #expect(core.store.frames.dirtyCount == 0)
    #expect(core.store.pool.checkInvariants() == nil && core.store.frames.checkInvariants() == nil)
    #expect(core.store.pool.lentCount - core.store.retiredCount == core.store.residentCount)
    try engine.verify()
    try engine.close()
  }

  @Test("Announcements are found below a limit, in order and once each")
  func announcementsBelowALimit() throws {
    let pool = SnapshotPool()
    let slots = ReaderSlots(pool.make(csn: CSN(9), trees: [], names: TreeNames([:])))
    var found: [UInt64] = [99]
    slots.findAnnounced(below: 9, into: &found)
    #expect(found.isEmpty)
    let taken = try ([5, 3, 9, 5, 12, 3, 8] as [UInt64]).map { try slots.announce(CSN($0)) }
    let own = slots.announceOwn(CSN(.max - 2))
    slots.findAnnounced(below: 9, into: &found)
    #expect(found == [3, 5, 8])
    #expect(slots.announcedCSNs().starts(with: [3, 5, 8, 9, 12]))
    slots.end(taken[1])
    slots.end(taken[6])
    slots.findAnnounced(below: 9, into: &found)
    #expect(found == [3, 5])
    for index in [0, 2, 3, 4, 5] { slots.end(taken[index]) }
    slots.end(own)
    slots.findAnnounced(below: .max, into: &found)
    #expect(found.isEmpty && slots.activeCount == 0)
    // Slots that were given up are taken again and found again.
    let again = try slots.announce(CSN(4))
    slots.findAnnounced(below: 9, into: &found)
    #expect(found == [4])
    slots.end(again)
  }
}
