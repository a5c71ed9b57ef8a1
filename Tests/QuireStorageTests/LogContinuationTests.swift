// Opening after a crash with a log that goes on: when it does, that what it shows is durable, and what a second crash
// leaves at every point of it.

import QuireTesting
import Testing

@testable import QuireStorage

@Suite struct LogContinuationTests {
  private static let kibibyte = 1 << 10

  private func open(
    _ disk: SimulatedDisk, seed: UInt64 = 1, scheduling: Scheduling = .stepped, durability: Durability = .full,
    partByteCount: Int = 1 << 20, from byteCount: Int = 0
  ) throws -> StorageEngine {
    var environment = disk.environment(
      seed: seed, scheduling: scheduling, segmentByteCount: 32 * Self.kibibyte, partByteCount: partByteCount)
    environment.continuedLogByteCount = byteCount
    return try StorageEngine(
      at: "/db", options: StorageOptions(pageSize: 512, cacheSize: 4 << 20, durability: durability),
      environment: environment)
  }

  /// Commits keys `range`, one at a time; returns the tree.
  @discardableResult
  private func put(_ range: Range<Int>, _ engine: StorageEngine) throws -> Tree {
    let tree = try engine.write { tx in try tx.tree(named: "t") ?? tx.createTree("t", keys: .int64) }
    for key in range {
      try engine.write { tx in try tx.put([UInt8](marked: key, count: 60), for: Int64(key), in: tree) }
    }
    return tree
  }

  @Test("The log goes on behind the last proven record, and a checkpoint leaves nothing of the old one")
  func goesOn() throws {
    let disk = SimulatedDisk()
    let engine = try open(disk)
    try put(0..<100, engine)
    while !engine.core.appendQuietMark() {}
    try put(100..<103, engine)
    let old = engine.core.meta.current
    let after = disk.processKillImage()
    let second = try open(after, seed: 2)
    #expect(second.core.hasContinuedLog)
    let meta = second.core.meta.current
    #expect(meta.checkpointNumber == old.checkpointNumber + 1 && meta.lsn == old.lsn && meta.catalog == old.catalog)
    #expect(meta.segments.count == 3 && meta.segments[0].number == old.segments[0].number)
    #expect(meta.segments[0].byteCount < old.segments[0].byteCount)
    #expect(try markedCount(second) == 103)
    // The three commits behind the mark stand in the fresh segment, and behind them the proof of the meta page.
    let log = try #require(try Inspector(at: "/db", fileSystem: after.processKillImage()).log())
    #expect(log.defect == nil)
    try put(103..<110, second)
    #expect(try markedCount(open(after.processKillImage(), seed: 3)) == 110)
    while second.core.stepCheckpoint() {}
    #expect(second.core.meta.current.segments.count == 2)
    #expect(after.names.filter { $0.hasPrefix("/db-log") }.count == 2)
    try second.verify()
    #expect(try markedCount(open(after.processKillImage(), seed: 4)) == 110)
    try second.close()
    #expect(after.names == ["/db"] && after.openFileCount() == 0)
  }

  @Test("What nobody has synced is durable before it is shown", arguments: [CrashMode.allOld, .allNew, .random(7)])
  func shownIsDurable(mode: CrashMode) throws {
    let disk = SimulatedDisk()
    let engine = try open(disk, durability: .relaxed)
    try put(0..<60, engine)
    try engine.flush()
    while !engine.core.appendQuietMark() {}
    try put(60..<70, engine)
    let killed = disk.processKillImage()
    let second = try open(killed, seed: 2)
    #expect(second.core.hasContinuedLog)
    #expect(try markedCount(second) == 70)
    let third = try open(killed.crashImage(mode), seed: 3)
    #expect(try markedCount(third) == 70)
    try third.verify()
  }

  @Test(
    "Whenever the machine stops in an opening, the next one finds everything",
    .enabled(if: TestSize.hasSlowTests, "slow"), arguments: [1, 2, 3, 4])
  func crashesInOpening(seed: UInt64) throws {
    let disk = SimulatedDisk()
    var random = SeededRandom(seed: seed)
    let engine = try open(disk, seed: seed)
    try put(0..<(10 + random.below(60)), engine)
    if random.oneIn(2) { while !engine.core.appendQuietMark() {} }
    let acknowledged = 80
    try put(try markedCount(engine)..<acknowledged, engine)
    var stop = 0
    while true {
      let image = disk.crashImage(.allOld)
      image.powerOff(beforeChange: image.changeCount + stop)
      do {
        let second = try open(image, seed: seed)
        if !image.isPoweredOff {
          #expect(second.core.hasContinuedLog && stop > 8)
          break
        }
      } catch {
        if !image.isPoweredOff { throw error }
      }
      for mode in [CrashMode.allOld, .allNew, .random(random.next()), .random(random.next())] {
        let third = try open(image.crashImage(mode), seed: random.next())
        #expect(try markedCount(third) == acknowledged, "seed \(seed), before change \(stop), \(mode)")
        try put(acknowledged..<(acknowledged + 3), third)
        try third.verify()
        try third.close()
      }
      stop += 1
    }
  }

  @Test("A short log is written home at once, and so is one that ends in the midst of a transaction")
  func settles() throws {
    let disk = SimulatedDisk()
    let engine = try open(disk, partByteCount: 500)
    let tree = try put(0..<50, engine)
    let short = disk.processKillImage()
    let second = try open(short, from: 4 << 20)
    #expect(!second.core.hasContinuedLog && short.names == ["/db"])
    #expect(try markedCount(second) == 50)
    var image: SimulatedDisk?
    try engine.write { tx in
      for key in 50..<100 { try tx.put([UInt8](marked: key, count: 60), for: Int64(key), in: tree) }
      image = disk.processKillImage()
    }
    let midst = try #require(image)
    let third = try open(midst, partByteCount: 500)
    #expect(!third.core.hasContinuedLog)
    #expect(try markedCount(third) == 50)
    let fourth = try open(disk.processKillImage(), partByteCount: 500)
    #expect(try markedCount(fourth) == 100)
  }

  @Test("A log does not go on whose end is torn while a later segment has a record")
  func recordBehindTheEnd() throws {
    let disk = SimulatedDisk()
    let engine = try open(disk, durability: .relaxed)
    try put(0..<60, engine)
    try engine.flush()
    while !engine.core.appendQuietMark() {}
    try engine.flush()
    try put(60..<61, engine)
    engine.core.log.change { log, alone in log?.switchSegment(alone) }
    try put(61..<62, engine)
    var tornCount = 0
    for unit in 0..<disk.pendingUnitCount() {
      let image = disk.crashImage(.loseOne(unit))
      let second = try open(image, seed: 2)
      let found = try markedCount(second)
      #expect((60...62).contains(found))
      if found == 60 {
        tornCount += 1
        #expect(!second.core.hasContinuedLog)
      }
      #expect(try markedCount(open(image.processKillImage(), seed: 3)) == found, "unit \(unit)")
    }
    #expect(tornCount > 0)
  }

  @Test("A disk too full for two segments is no reason not to open")
  func fullDisk() throws {
    let disk = SimulatedDisk()
    let engine = try open(disk)
    try put(0..<50, engine)
    #expect(try open(disk.processKillImage(), seed: 2).core.hasContinuedLog)
    let image = disk.processKillImage()
    image.capacity = image.usedByteCount + 40 * Self.kibibyte
    let second = try open(image, seed: 2)
    #expect(!second.core.hasContinuedLog)
    #expect(try markedCount(second) == 50)
  }

  @Test("With threads, transactions go on beside the checkpoint")
  func threads() throws {
    let disk = SimulatedDisk()
    // The life before is stepped: its image then never falls into the midst of a checkpoint, which would settle first.
    let engine = try open(disk)
    try put(0..<200, engine)
    let image = disk.processKillImage()
    let second = try open(image, seed: 2, scheduling: .threads)
    #expect(second.core.hasContinuedLog)
    #expect(try markedCount(second) == 200)
    try put(200..<300, second)
    #expect(try markedCount(open(image.processKillImage(), seed: 3)) == 300)
    try second.verify()
    try second.close()
    #expect(image.names == ["/db"])
    try engine.close()
  }
}
