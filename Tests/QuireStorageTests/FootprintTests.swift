// What a database takes of the disk when nobody writes, and what it costs to keep it small.

import Foundation
import QuireTesting
import Testing

@testable import QuireStorage

@Suite struct FootprintTests {
  /// How long the content is. In the short size the longer ones are left out, which take most of the time.
  private static let contentByteCounts = TestSize.isFull ? [64 << 10, 1 << 20, 8 << 20] : [64 << 10, 256 << 10]

  /// Runs `body` with a path in a folder of its own.
  private func withPath<Result>(_ body: (String) throws -> Result) throws -> Result {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("footprint-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    return try body(folder.appendingPathComponent("db").path)
  }

  @Test(
    "At rest and closed, the files take a MiB or 1.3 times the content",
    arguments: contentByteCounts, [Durability.full, .relaxed])
  func rest(contentByteCount: Int, durability: Durability) throws {
    try withPath { path in
      var run = try FootprintRun(
        at: path, contentByteCount: contentByteCount, options: StorageOptions(durability: durability))
      try run.write(byteCount: contentByteCount * (durability == .full ? 2 : 4))
      run.rest(atMost: 60)
      #expect(run.footprint.resting <= run.footprint.restingLimit, "\(run.footprint)")
      try run.close()
      #expect(run.footprint.closed <= run.footprint.restingLimit, "\(run.footprint)")
    }
  }

  @Test("What is closed without having been at rest is small as well", arguments: contentByteCounts)
  func close(contentByteCount: Int) throws {
    try withPath { path in
      var run = try FootprintRun(
        at: path, contentByteCount: contentByteCount, options: StorageOptions(durability: .relaxed))
      try run.write(byteCount: contentByteCount * 4)
      try run.close()
      #expect(run.footprint.closed <= run.footprint.restingLimit, "\(run.footprint)")
    }
  }

  @Test(
    "With a small footprint the files take twice the content, or 4 MiB more than it, while rows are written",
    arguments: contentByteCounts, [Durability.full, .relaxed])
  func small(contentByteCount: Int, durability: Durability) throws {
    try withPath { path in
      var run = try FootprintRun(
        at: path, contentByteCount: contentByteCount,
        options: StorageOptions(durability: durability, diskFootprint: .small))
      try run.write(
        byteCount: max(TestSize.trials(4 << 20, divisor: 4), contentByteCount * (durability == .full ? 2 : 4)))
      #expect(run.footprint.writing <= run.footprint.writingLimit, "\(run.footprint)")
      run.rest(atMost: 60)
      #expect(run.footprint.resting <= run.footprint.restingLimit, "\(run.footprint)")
      try run.close()
      #expect(run.footprint.closed <= run.footprint.restingLimit, "\(run.footprint)")
    }
  }

  /// An engine that does nothing by itself, with `count` rows of 128 bytes.
  private func open(_ path: String, rows count: Int) throws -> (engine: StorageEngine, tree: Tree) {
    let engine = try StorageEngine(
      at: path, options: StorageOptions(), environment: StorageEnvironment(scheduling: .stepped))
    let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    for first in stride(from: 0, to: count, by: 64) { try put(first..<min(count, first + 64), in: tree, engine) }
    return (engine, tree)
  }

  private func put(_ keys: Range<Int>, in tree: Tree, _ engine: StorageEngine) throws {
    try engine.write { tx in
      for key in keys { try tx.put([UInt8](marked: key, count: 120), for: Int64(key), in: tree) }
    }
  }

  /// What a time without commits brings.
  private func idle(_ engine: StorageEngine) throws {
    for _ in 0..<2 { _ = engine.core.appendQuietMark() }
    while engine.core.stepCheckpoint() {}
    while try engine.core.maintainStep() {}
    while engine.core.stepCheckpoint() {}
    #expect(try engine.core.checkInvariants() == nil)
  }

  private func taken(_ engine: StorageEngine) throws -> Int {
    try engine.core.withWriterLock { _ in engine.core.maintainer.takenByteCount }
  }

  @Test("Who commits a little now and then pays for a checkpoint every few commits, and the files stay small")
  func slowCommits() throws {
    try withPath { path in
      let (engine, tree) = try open(path, rows: 8000)
      try idle(engine)
      let (rested, checkpoints) = (try taken(engine), engine.statistics.checkpoints)
      let lengthenings = engine.statistics.logLengthenings
      #expect(rested <= (8000 * 128) / 10 * 13)
      for round in 0..<120 {
        try put((round * 61 % 8000)..<(round * 61 % 8000 + 1), in: tree, engine)
        try idle(engine)
        #expect(try taken(engine) <= (8000 * 128) / 10 * 13 + 128 << 10)
      }
      #expect(engine.statistics.checkpoints - checkpoints <= 120 / 3)
      #expect(engine.statistics.logLengthenings == lengthenings, "no file is made for them")
      try idle(engine)
      let before = engine.statistics.checkpoints
      for _ in 0..<3 { try idle(engine) }
      #expect(engine.statistics.checkpoints == before, "nothing has been written since")
      try engine.verify()
      try engine.close()
    }
  }

  @Test("A snapshot that is held keeps the files long, and no pass is tried for it over and over")
  func heldSnapshot() throws {
    try withPath { path in
      let (engine, tree) = try open(path, rows: 20_000)
      var pin: PinnedSnapshot? = try engine.pin()
      for first in stride(from: 0, to: 20_000, by: 100) { try put(first..<first + 100, in: tree, engine) }
      try idle(engine)
      let checkpoints = engine.statistics.checkpoints
      for round in 0..<20 {
        try put(round..<round + 1, in: tree, engine)
        try idle(engine)
      }
      #expect(engine.statistics.checkpoints - checkpoints <= 10)
      withExtendedLifetime(pin) {}
      pin = nil
      try put(0..<400, in: tree, engine)
      try idle(engine)
      try engine.verify()
      try engine.close()
      #expect(FootprintRun.allocatedByteCount(at: path) <= (20_000 * 128) / 10 * 13)
    }
  }

  @Test("The log grows with a burst, and is short again after it")
  func logFollowsTheBurst() throws {
    try withPath { path in
      let (engine, tree) = try open(path, rows: 1)
      let log = engine.core.log
      #expect(log.byteCount == 2 * engine.core.environment.initialSegmentByteCount)
      var largest = 0
      for first in stride(from: 0, to: 60_000, by: 60) {
        try put(first..<first + 60, in: tree, engine)
        while engine.core.stepCheckpoint() {}
        largest = max(largest, log.byteCount)
        // What has been used of it, and as much again, and what comes next.
        #expect(log.byteCount <= max(2 << 20, 12 * first * 128))
      }
      #expect(largest > 4 << 20)
      try idle(engine)
      #expect(log.byteCount <= max(64 << 10, 60_000 * 128 / 20))
      try engine.close()
    }
  }

  @Test("Checkpoints that find long segments empty leave the log as short as it is to be at rest")
  func restingLog() throws {
    try withPath { path in
      let (engine, tree) = try open(path, rows: 1)
      for first in stride(from: 0, to: 20_000, by: 50) {
        try put(first..<first + 50, in: tree, engine)
        while engine.core.stepCheckpoint() {}
      }
      let core = engine.core
      #expect(core.log.byteCount >= 2 * core.environment.initialSegmentByteCount)
      try core.withWriterLock { permit in core.log.resetSegmentSize(permit) }
      // Each looks how much has been used of the segment that it leaves.
      for count in 1...8 {
        try core.maintainer.checkpoint(vacating: false)
        if count > 1 { #expect(core.log.byteCount == core.log.restingByteCount) }
      }
      try engine.close()
    }
  }

  @Test("On a full disk, what a quiet time does fails without harm, and removals go on")
  func fullDisk() throws {
    let disk = SimulatedDisk()
    let engine = try disk.openEngine(StorageOptions(pageSize: 4096), segmentByteCount: 64 << 10)
    let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    try put(0..<8000, in: tree, engine)
    for first in stride(from: 0, to: 8000, by: 50) { try put(first..<first + 50, in: tree, engine) }
    disk.capacity = disk.usedByteCount
    do { try idle(engine) } catch let error as StorageError { #expect(error.code == .diskFull) }
    for first in stride(from: 0, to: 8000, by: 80) {
      try engine.write { tx in for key in first..<first + 40 { try tx.delete(Int64(key), in: tree) } }
    }
    try idle(engine)
    #expect(try engine.read { tx in try tx.count(of: tree) } == 4000)
    try engine.verify()
    let again = try disk.crashImage(.allOld).openEngine(StorageOptions(pageSize: 4096))
    #expect(try again.read { tx in try tx.count(of: tree) } == 4000)
    try again.verify()
    try again.close()
    try engine.close()
  }
}
