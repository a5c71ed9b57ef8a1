// A log that gets another segment without a checkpoint: when it does, what a crash in its midst leaves, and what
// becomes of it when that fails.

import QuireStorage
import QuireTesting
import Testing

@Suite struct LogLengtheningTests {
  private static let kibibyte = 1 << 10
  private static let options = StorageOptions(pageSize: 512, cacheSize: 4 << 20, logLimit: 256 * kibibyte)

  private func open(_ disk: SimulatedDisk, seed: UInt64 = 1, partByteCount: Int = 1 << 20) throws -> StorageEngine {
    try disk.openEngine(Self.options, seed: seed, segmentByteCount: 32 * Self.kibibyte, partByteCount: partByteCount)
  }

  private func logSizes(_ disk: SimulatedDisk) -> [Int] {
    disk.names.filter { $0.hasPrefix("/db-log") }.map { (disk.bytes(of: $0)?.count ?? 0) / Self.kibibyte }.sorted()
  }

  private func segments(_ engine: StorageEngine) -> [Int] {
    engine.core.meta.current.segments.map { $0.byteCount / Self.kibibyte }
  }

  /// One commit of some 160 bytes of log.
  private func put(_ key: Int, _ engine: StorageEngine) throws {
    try engine.write { tx in
      let tree = try tx.tree(named: "t") ?? tx.createTree("t", keys: .int64)
      try tx.put([UInt8](marked: key, count: 60), for: Int64(key), in: tree)
    }
  }

  @Test("A short log gets longer segments without a checkpoint, and a checkpoint leaves two")
  func lengthens() throws {
    let disk = SimulatedDisk()
    let engine = try open(disk)
    var key = 0
    func put(until segmentCount: Int) throws {
      while engine.core.meta.current.segments.count < segmentCount {
        try self.put(key, engine)
        key += 1
        while engine.core.stepCheckpoint() {}
      }
    }
    try put(until: 2)
    #expect(segments(engine) == [32, 32])
    try put(until: 3)
    #expect(segments(engine) == [32, 32, 64])
    try put(until: 4)
    #expect(segments(engine) == [32, 32, 64, 128] && logSizes(disk) == [32, 32, 64, 128])
    #expect(engine.statistics.checkpoints == 0 && engine.statistics.logLengthenings == 2)
    #expect(try markedCount(open(disk.processKillImage())) == key)
    // No meta page has room for a fifth: the last one brings a checkpoint.
    while engine.statistics.checkpoints == 0 {
      try self.put(key, engine)
      key += 1
      while engine.core.stepCheckpoint() {}
    }
    #expect(segments(engine) == [128, 256] && logSizes(disk) == [128, 256])
    // It has waited for half of the last segment.
    #expect((64 * Self.kibibyte..<65 * Self.kibibyte).contains(engine.core.meta.current.logOffset))
    let log = try #require(try Inspector(at: "/db", fileSystem: disk.processKillImage()).log())
    #expect(log.defect == nil)
    #expect(try markedCount(open(disk.processKillImage())) == key)
    try engine.verify()
    try engine.close()
    #expect(logSizes(disk).isEmpty && disk.openFileCount() == 0)
  }

  @Test("A transaction that streams has the log grow with it, instead of being written home page by page")
  func streams() throws {
    let disk = SimulatedDisk()
    let engine = try open(disk, partByteCount: 500)
    let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    try engine.write { tx in
      for key in 0..<1500 { try tx.put([UInt8](marked: key, count: 60), for: Int64(key), in: tree) }
      #expect(!engine.core.context.log.isGivenUp)
    }
    #expect(engine.statistics.logBytes > 100 * Self.kibibyte && engine.statistics.checkpoints == 0)
    #expect(engine.statistics.logLengthenings == 1 && segments(engine) == [32, 32, 192])
    #expect(try markedCount(open(disk.processKillImage())) == 1500)
    try engine.close()
  }

  @Test("A transaction that streams finds a checkpoint begun that its log would have waited for")
  func streamsInLastSegment() throws {
    let disk = SimulatedDisk()
    let engine = try open(disk, partByteCount: 500)
    var key = 0
    while engine.core.meta.current.segments.count < 4 || !engine.core.log.owesCheckpoint {
      try put(key, engine)
      key += 1
      while engine.core.stepCheckpoint() {}
    }
    #expect(engine.statistics.checkpoints == 0)
    // More than the last segment has room for.
    let count = 3000
    try engine.write { tx in
      let tree = try tx.tree(named: "t") ?? tx.createTree("t", keys: .int64)
      for number in key..<(key + count) {
        try tx.put([UInt8](marked: number, count: 60), for: Int64(number), in: tree)
      }
      #expect(!engine.core.context.log.isGivenUp && !engine.core.log.owesCheckpoint)
    }
    #expect(engine.statistics.checkpoints == 1)
    #expect(try markedCount(open(disk.processKillImage())) == key + count)
    try engine.verify()
    try engine.close()
  }

  @Test("A checkpoint that the log has outrun makes neither the next one late nor segments short")
  func outrun() throws {
    let disk = SimulatedDisk()
    let engine = try open(disk)
    var key = 0
    while !engine.core.log.owesCheckpoint {
      try put(key, engine)
      key += 1
      while engine.core.stepCheckpoint() {}
    }
    // From here on nobody steps but who needs room.
    while engine.statistics.checkpoints == 0 {
      try put(key, engine)
      key += 1
    }
    #expect(engine.core.log.owesCheckpoint && segments(engine) == [128, 256])
    for round in 2...4 {
      while engine.statistics.checkpoints < round {
        try put(key, engine)
        key += 1
        while engine.core.stepCheckpoint() {}
      }
      #expect((128 * Self.kibibyte..<129 * Self.kibibyte).contains(engine.core.meta.current.logOffset))
      #expect(segments(engine) == [256, 256])
    }
    #expect(try markedCount(open(disk.processKillImage())) == key)
    try engine.verify()
    try engine.close()
  }

  @Test("Whenever the machine stops, what was acknowledged is there", arguments: TestSize.some([1, 2, 3], of: 1))
  func crashes(seed: UInt64) throws {
    // How many changes of the disk the whole life takes, and then a life for each that ends before one of them.
    let changes = try life(SimulatedDisk(), seed: seed).changes
    var random = SeededRandom(seed: seed)
    var stop = 0
    while stop < changes {
      let disk = SimulatedDisk()
      disk.powerOff(beforeChange: stop)
      let acknowledged = try life(disk, seed: seed).acknowledged
      let image = disk.crashImage(.random(random.next()))
      let engine = try open(image, seed: random.next())
      let found = try markedCount(engine)
      #expect(found == acknowledged || found == acknowledged + 1, "seed \(seed), before change \(stop)")
      try engine.verify()
      try engine.close()
      stop += 1 + random.below(7)
    }
  }

  /// Commits until the log has become longer twice and a checkpoint has followed, or the power goes.
  private func life(_ disk: SimulatedDisk, seed: UInt64) throws -> (acknowledged: Int, changes: Int) {
    var random = SeededRandom(seed: seed &+ 1000)
    var acknowledged = 0
    do {
      let engine = try open(disk)
      // Long records: what happens around new segments is looked for, so few changes are to be outside.
      while engine.statistics.checkpoints == 0 {
        try engine.write { tx in
          let tree = try tx.tree(named: "t") ?? tx.createTree("t", keys: .int64)
          try tx.put([UInt8](marked: acknowledged, count: 60), for: Int64(acknowledged), in: tree)
          let filler = try tx.tree(named: "f") ?? tx.createTree("f", keys: .int64)
          for _ in 0..<20 { try tx.put([UInt8](repeating: 9, count: 100), for: 0 as Int64, in: filler) }
        }
        acknowledged += 1
        for _ in 0..<random.below(3) where engine.core.stepCheckpoint() {}
      }
      try engine.close()
    } catch {
      if !disk.isPoweredOff { throw error }
    }
    return (acknowledged, disk.changeCount)
  }

  @Test("A disk too full for another segment costs nothing but a checkpoint")
  func fullDisk() throws {
    let disk = SimulatedDisk()
    let engine = try open(disk)
    var key = 0
    while engine.core.meta.current.segments.count < 2 {
      try put(key, engine)
      key += 1
    }
    // Room for pages, and not for a segment of 64 KiB.
    disk.capacity = disk.usedByteCount + 40 * Self.kibibyte
    while engine.statistics.checkpoints == 0 {
      try put(key % 100, engine)
      key += 1
      while engine.core.stepCheckpoint() {}
    }
    #expect(engine.statistics.logLengthenings == 0 && segments(engine) == [32, 32])
    #expect(logSizes(disk) == [32, 32])
    disk.capacity = nil
    try engine.verify()
    try engine.close()
  }
}
