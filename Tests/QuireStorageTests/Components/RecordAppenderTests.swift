// How a record gets into the log: in one piece, in the next segment, in parts, or not at all.

import QuireTesting
import Testing

@testable import QuireStorage

@Suite struct RecordAppenderTests {
  private func open(
    _ disk: SimulatedDisk = SimulatedDisk(), logLimit: Int = 64 << 10, partByteCount: Int = 1 << 20
  ) throws -> (engine: StorageEngine, tree: Tree) {
    let options = StorageOptions(pageSize: 512, cacheSize: 4 << 20, logLimit: logLimit, maintainsWhenIdle: false)
    let engine = try disk.openEngine(options, segmentByteCount: 16 << 10, partByteCount: partByteCount)
    return (engine, try engine.write { tx in try tx.createTree("t", keys: .int64) })
  }

  private func put(_ keys: Range<Int>, in tree: Tree, _ tx: borrowing WriteTransaction) throws {
    for key in keys { try tx.put([UInt8](marked: key, count: 100), for: Int64(key), in: tree) }
  }

  private func segmentNumber(_ engine: StorageEngine) throws -> UInt64 {
    try #require(engine.core.log.with { $0?.current.descriptor.number })
  }

  @Test("A short record stands where the log ended, and the commit ends where the log does")
  func short() throws {
    let (engine, tree) = try open()
    let number = try segmentNumber(engine)
    let before = engine.core.log.endLSN
    try engine.write { tx in try put(0..<1, in: tree, tx) }
    #expect(engine.core.head.endLSN == engine.core.log.endLSN && engine.core.log.endLSN > before)
    #expect(engine.core.log.with { $0?.lastCSN } == engine.core.head.csn)
    #expect(try segmentNumber(engine) == number)
    try engine.close()
  }

  @Test("A full segment is left for the next one, which the log may get without a checkpoint")
  func nextSegment() throws {
    let (engine, tree) = try open()
    let number = try segmentNumber(engine)
    var key = 0
    while try segmentNumber(engine) == number {
      try engine.write { tx in try put(key..<(key + 1), in: tree, tx) }
      key += 1
    }
    #expect(engine.core.checkpointer.stage == .longerSegment && engine.statistics.checkpoints == 0)
    engine.core.checkpointer.finishRunning()
    #expect(engine.core.meta.current.segments.count == 3 && engine.statistics.logLengthenings == 1)
    #expect(try engine.core.checkInvariants() == nil)
    try engine.close()
  }

  @Test("A record that no segment takes is given up, and a checkpoint makes the commit")
  func tooLong() throws {
    let disk = SimulatedDisk()
    let (engine, tree) = try open(disk, logLimit: 16 << 10)
    let end = engine.core.log.endLSN
    try engine.write { tx in
      try put(0..<1000, in: tree, tx)
      #expect(engine.core.context.log.isGivenUp)
    }
    #expect(engine.statistics.checkpoints == 1 && engine.core.meta.current.csn == engine.core.head.csn)
    #expect(engine.core.log.endLSN >= end && engine.core.log.with { $0?.isUnsettled == false })
    let again = try disk.processKillImage().openEngine(StorageOptions(pageSize: 512))
    #expect(try again.read { tx in try tx.count(of: tree) } == 1000)
    try again.close()
    try engine.close()
  }

  @Test("Parts go to the log while the transaction runs, and are nothing without its commit", arguments: [true, false])
  func parts(isCommitted: Bool) throws {
    let disk = SimulatedDisk()
    let (engine, tree) = try open(disk, logLimit: 512 << 10, partByteCount: 500)
    do {
      try engine.write { tx in
        let before = engine.core.log.endLSN
        try put(0..<60, in: tree, tx)
        #expect(engine.core.context.log.partCount > 3 && engine.core.log.endLSN > before)
        #expect(engine.core.log.with { $0?.commitLSN } == before, "nobody waits for them")
        if !isCommitted { try tx.rollback() }
      }
    } catch let error as StorageError where error.code == .rolledBack {}
    try engine.write { tx in try put(100..<101, in: tree, tx) }
    #expect(try engine.core.checkInvariants() == nil)
    let again = try disk.processKillImage().openEngine(StorageOptions(pageSize: 512))
    #expect(try again.read { tx in try tx.count(of: tree) } == (isCommitted ? 61 : 1))
    try again.close()
    try engine.close()
  }
}
