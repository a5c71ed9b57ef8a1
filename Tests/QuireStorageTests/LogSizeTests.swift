// How much space the log takes: it grows with what is written between two checkpoints, shrinks, and goes.

import QuireStorage
import QuireTesting
import Testing

@Suite struct LogSizeTests {
  /// The bytes of each log file that is there.
  private func logSizes(_ disk: SimulatedDisk) -> [Int] {
    disk.names.filter { $0.hasPrefix("/db-log") }.map { disk.bytes(of: $0)?.count ?? 0 }
  }

  @Test(
    "All log files together stay within twice the limit", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: TestSize.some([64 << 10, 100_001, 48 << 10], of: 2), TestSize.some([12 << 10, 16 << 10], of: 1))
  func staysWithinTwiceTheLimit(logLimit: Int, initial: Int) throws {
    let disk = SimulatedDisk()
    let options = StorageOptions(pageSize: 512, cacheSize: 1 << 20, logLimit: logLimit)
    var engine = try disk.openEngine(options, segmentByteCount: initial, partByteCount: 500)
    var random = SeededRandom(seed: 5)
    let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    var largest = 0
    func check() {
      let total = logSizes(disk).reduce(0, +)
      largest = max(largest, total)
      #expect(total <= 2 * logLimit)
    }
    for round in 0..<400 {
      // Times of long transactions and of short ones, with checkpoints on call in between.
      let isBusy = round / 50 % 2 == 0
      try engine.write { tx in
        for _ in 0..<(isBusy ? 1 + random.below(300) : 2) {
          try tx.put([UInt8](repeating: 1, count: 40), for: Int64(random.below(2000)), in: tree)
        }
        check()
      }
      check()
      for _ in 0..<random.below(8) where engine.core.stepCheckpoint() { check() }
      if !isBusy, random.oneIn(2) { try engine.checkpoint() }
      check()
      guard random.oneIn(60) else { continue }
      if random.oneIn(2) {
        try engine.close()
        #expect(logSizes(disk).isEmpty)
        engine = try disk.openEngine(options, segmentByteCount: initial, partByteCount: 500)
      } else {
        let image = disk.processKillImage()
        engine = try image.openEngine(options, segmentByteCount: initial, partByteCount: 500)
        #expect(logSizes(image).isEmpty)
        try engine.close()
        engine = try disk.openEngine(options, segmentByteCount: initial, partByteCount: 500)
      }
    }
    #expect(largest > 3 * initial)
    try engine.close()
    #expect(logSizes(disk).isEmpty)
  }

  @Test("Segments double when they fill, and shrink to what is used when checkpoints keep finding them mostly empty")
  func growAndShrink() throws {
    let disk = SimulatedDisk()
    let options = StorageOptions(pageSize: 512, cacheSize: 1 << 20, logLimit: 256 << 10)
    let engine = try disk.openEngine(options, segmentByteCount: 32 << 10)
    let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    #expect(logSizes(disk) == [32 << 10, 32 << 10])
    for key in 0..<6000 {
      try engine.write { tx in try tx.put([UInt8](repeating: 1, count: 120), for: Int64(key % 50), in: tree) }
      while engine.core.stepCheckpoint() {}
    }
    #expect(logSizes(disk) == [256 << 10, 256 << 10])
    var totals: [Int] = []
    for key in 0..<60 {
      try engine.write { tx in try tx.put([UInt8](repeating: 1, count: 120), for: Int64(key % 50), in: tree) }
      try engine.checkpoint()
      totals.append(logSizes(disk).reduce(0, +))
    }
    #expect(totals == totals.sorted(by: >))
    // The first has found the rest of what came before. Two that find next to nothing make the next segment small, and
    // the one after them the other segment.
    let smallest = 64 << 10
    #expect(totals[7] == smallest)
    // Never below the size that they begin with.
    #expect(logSizes(disk) == [32 << 10, 32 << 10])
    try engine.close()
  }

  @Test(
    "Who removes half in many transactions leaves files a quarter longer, or three quarters on an ample disk",
    .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: [1, 2, 3], [false, true])
  func removal(seed: UInt64, isAmple: Bool) throws {
    let disk = SimulatedDisk()
    disk.tellsFreeByteCount = isAmple
    let options = StorageOptions(
      pageSize: 512, cacheSize: 4 << 20, logLimit: 256 << 10, maintainsWhenIdle: false)
    let engine = try disk.openEngine(options, seed: seed, segmentByteCount: 16 << 10)
    let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    let (count, step) = (20_000, 400)
    for start in stride(from: 0, to: count, by: step) {
      try engine.write { tx in
        for key in start..<(start + step) {
          try tx.put([UInt8](repeating: 7, count: 40), for: Int64(key), in: tree)
        }
      }
    }
    try engine.checkpoint()
    let full = disk.bytes(of: "/db")?.count ?? 0
    let longest = 512 << 10
    #expect(logSizes(disk).reduce(0, +) == longest, "the load has made the log long")
    var random = SeededRandom(seed: seed)
    for start in stride(from: 0, to: count, by: step) {
      try engine.write { tx in
        for key in start..<(start + step) where random.oneIn(2) { try tx.delete(Int64(key), in: tree) }
      }
    }
    try engine.checkpoint()
    // The copies of an eighth or two of the leaves, packed, beside the originals, or of three quarters of them.
    let length = disk.bytes(of: "/db")?.count ?? 0
    let quarters = isAmple ? 7 : 5
    #expect(length * 4 <= full * quarters, "\(length) bytes after \(full)")
    // And much less log, once checkpoints have seen that little is logged.
    for round in 0..<(isAmple ? 4 : 0) {
      try engine.write { tx in try tx.put([1], for: Int64(-round), in: tree) }
      try engine.checkpoint()
    }
    #expect(logSizes(disk).reduce(0, +) < longest / 2, "\(logSizes(disk))")
    try engine.verify()
    try engine.close()
  }

  @Test("A limit that is no multiple of 8 makes segments that recovery accepts")
  func oddLimit() throws {
    let disk = SimulatedDisk()
    let options = StorageOptions(pageSize: 512, cacheSize: 1 << 20, logLimit: 20_001)
    let engine = try disk.openEngine(options)
    try engine.write { tx in _ = try tx.createTree("t", keys: .int64) }
    let again = try disk.processKillImage().openEngine(options)
    #expect(try again.read { tx in tx.treeNames } == ["t"])
    try again.close()
  }
}
