// Where a record has room, what the log owes, how large segments are made, and when a mark is written.

import QuireTesting
import Testing

@testable import QuireStorage

@Suite struct LogManagerTests {
  private static let segmentByteCount = 16 << 10

  private func open(_ disk: SimulatedDisk = SimulatedDisk()) throws -> (engine: StorageEngine, tree: Tree) {
    let options = StorageOptions(pageSize: 512, logLimit: 64 << 10, maintainsWhenIdle: false)
    let engine = try disk.openEngine(options, segmentByteCount: Self.segmentByteCount)
    return (engine, try engine.write { tx in try tx.createTree("t", keys: .int64) })
  }

  @Test("There is no log before the first commit, and none after a clean close")
  func beginsWithTheFirstCommit() throws {
    let disk = SimulatedDisk()
    let engine = try disk.openEngine(StorageOptions(pageSize: 512, maintainsWhenIdle: false))
    #expect(!engine.core.log.exists && engine.core.log.endLSN == engine.core.meta.current.lsn)
    try engine.write { tx in _ = try tx.createTree("t", keys: .int64) }
    #expect(engine.core.log.exists && engine.core.log.endLSN == engine.core.head.endLSN)
    #expect(engine.core.meta.current.segments.count == 2)
    try engine.close()
    #expect(!disk.names.contains { $0.hasPrefix("/db-log") })
  }

  @Test("A record has room here, behind a switch, after a checkpoint, or never")
  func room() throws {
    let (engine, tree) = try open()
    let log = engine.core.log
    func room(_ byteCount: Int) throws -> LogManager.Room {
      try engine.core.withWriterLock { permit in log.room(forBody: byteCount, permit) }
    }
    #expect(try room(100) == .here)
    #expect(try room(Self.segmentByteCount) == .never)
    try engine.write { tx in try tx.put([UInt8](marked: 1, count: 80), for: Int64(1), in: tree) }
    let rest = log.with { log in (log?.current.descriptor.byteCount ?? 0) - (log?.position ?? 0) }
    #expect(rest < Self.segmentByteCount - LogLayout.firstRecordOffset)
    #expect(try room(rest) == .afterSwitch, "it would fit an empty one")
    log.change { log, alone in log?.switchSegment(alone) }
    #expect(try room(Self.segmentByteCount) == .later && room(100) == .here)
  }

  @Test("A mark follows when the log has been quiet once, and one is enough")
  func quietMark() throws {
    let (engine, tree) = try open()
    let log = engine.core.log
    try engine.write { tx in try tx.put([UInt8](marked: 1, count: 80), for: Int64(1), in: tree) }
    let end = log.endLSN
    #expect(!log.appendQuietMark(), "commits may still come")
    #expect(log.endLSN == end)
    #expect(log.appendQuietMark() && log.endLSN > end)
    #expect(log.with { $0?.endsWithMark == true && $0?.lastCSN == engine.core.head.csn })
    let marked = log.endLSN
    #expect(log.appendQuietMark() && log.endLSN == marked)
    try engine.close()
  }

  @Test("What the log owes can wait while half of the last segment is left, and is owed once")
  func debt() throws {
    let (engine, _) = try open()
    let log = engine.core.log
    try engine.core.withWriterLock { permit in
      var (isOwed, canWait) = (log.hasDebt(permit), log.debtCanWait(permit))
      #expect(!isOwed && !canWait)
      log.change { log, alone in log?.switchSegment(alone) }
      log.noteOwedCheckpoint(permit)
      (isOwed, canWait) = (log.hasDebt(permit), log.debtCanWait(permit))
      #expect(isOwed && canWait)
      log.noteMissingSegment()
      canWait = log.debtCanWait(permit)
      #expect(!canWait, "the log was made longer in vain")
      engine.core.checkpointer.beginOwed(permit)
      isOwed = log.hasDebt(permit)
      #expect(!isOwed && engine.core.checkpointer.isRunning)
      engine.core.checkpointer.finishRunning()
      #expect(log.with { $0?.next != nil })
    }
    #expect(try engine.core.checkInvariants() == nil)
    try engine.close()
  }

  @Test("Segments grow by doubling up to what the log may take, and begin again where they began")
  func sizes() throws {
    let (engine, _) = try open()
    let log = engine.core.log
    try engine.core.withWriterLock { permit in
      #expect(log.desiredSegmentByteCount == Self.segmentByteCount)
      log.growSegments(permit)
      #expect(log.desiredSegmentByteCount == 2 * Self.segmentByteCount)
      #expect(engine.core.context.log.partByteCount <= log.desiredSegmentByteCount / 8)
      for _ in 0..<3 {
        log.growSegments(permit)
        #expect(log.desiredSegmentByteCount <= log.logAllowance)
      }
      log.resetSegmentSize(permit)
      #expect(log.desiredSegmentByteCount == Self.segmentByteCount)
    }
    try engine.close()
  }
}
