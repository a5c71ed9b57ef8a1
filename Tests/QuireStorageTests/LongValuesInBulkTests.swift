// Long values on the ways that take many entries at once: parts of a record, ranges, batches of a log, bulk loads.

import QuireStorage
import QuireTesting
import Testing

private struct Stopped: Error {}

@Suite struct LongValuesInBulkTests {
  private let options = StorageOptions(pageSize: 512, cacheSize: 64 << 20, logLimit: 256 << 10)

  private func value(_ count: Int, _ seed: Int = 1) -> [UInt8] { ExtentTests.value(count, seed: seed) }

  /// Two checkpoints, after which whatever is not in use is free.
  private func usedPages(_ engine: StorageEngine) throws -> Int {
    for round in 0..<2 {
      try engine.write { tx in
        let tree = try tx.tree(named: "rounds") ?? tx.createTree("rounds", keys: .int64)
        try tx.put([UInt8(round)], for: Int64(0), in: tree)
      }
      try engine.checkpoint()
    }
    try engine.walkEverything(isCheckpointed: true)
    try engine.verify()
    return Int(engine.statistics.filePages - engine.statistics.freePages)
  }

  @Test("A long value makes a long part, and a savepoint undoes it there", arguments: [100, 700, 5000])
  func streams(partByteCount: Int) throws {
    let disk = SimulatedDisk()
    let engine = try disk.openEngine(options, segmentByteCount: 128 << 10, partByteCount: partByteCount)
    let tree = try engine.write { tx in try tx.createTree("t", keys: .bytes) }
    try engine.write { tx in
      for round in 0..<8 {
        try tx.put(value(30, round), for: "short \(round)", in: tree)
        try tx.put(value(2000 + round, round), for: "long \(round)", in: tree)
        _ = try? tx.savepoint { tx in
          try tx.put(value(1000), for: "undone \(round)", in: tree)
          try tx.put(value(900), for: "long \(round)", in: tree)
          throw Stopped()
        }
      }
      #expect(!engine.core.context.log.isGivenUp && engine.core.context.log.partCount > 2)
    }
    #expect(engine.statistics.checkpoints == 0)
    for image in [disk.processKillImage(), disk.crashImage(.allOld)] {
      let again = try image.openEngine(options, seed: 2)
      try again.read { tx in
        let count = try tx.count(of: tree)
        #expect(count == 16)
        for round in 0..<8 {
          let long = try tx.value(for: "long \(round)", in: tree)
          #expect(long == value(2000 + round, round))
        }
      }
      try again.walkEverything(isCheckpointed: true)
      try again.verify()
    }
    try engine.close()
  }

  @Test("A value that the record has no room for is not copied, and parts before it are void")
  func givesTheRecordUp() throws {
    let disk = SimulatedDisk()
    let engine = try disk.openEngine(options, segmentByteCount: 16 << 10, partByteCount: 500)
    let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    let long = value(40_000)
    try engine.write { tx in
      for key in 0..<Int64(100) { try tx.put(value(20, Int(key)), for: key, in: tree) }
      #expect(engine.core.context.log.partCount > 1)
      try tx.put(long, for: Int64(50), in: tree)
      for key in 100..<Int64(130) { try tx.put(value(20, Int(key)), for: key, in: tree) }
      #expect(engine.core.context.log.isGivenUp)
    }
    let again = try disk.processKillImage().openEngine(options, seed: 2)
    try again.read { tx in
      let (count, found) = (try tx.count(of: tree), try tx.value(for: Int64(50), in: tree))
      #expect(count == 130 && found == long)
    }
    try again.verify()
    try engine.close()
  }

  @Test("Ranges and whole trees give up their extents, and read only the leaves that may have some")
  func rangesGiveUpExtents() throws {
    let disk = SimulatedDisk()
    var engine = try disk.openEngine(options)
    let empty = try usedPages(engine)
    for round in 0..<4 {
      let tree = try engine.write { tx in
        let tree = try tx.createTree("t\(round)", keys: .int64)
        for key in 0..<Int64(6000) {
          // Only in the middle.
          let isLong = (2800..<3200).contains(key) && key % 7 == 0
          try tx.put(value(isLong ? 700 + Int(key) : 40, Int(key)), for: key, in: tree)
        }
        return tree
      }
      let used = try usedPages(engine)
      #expect(used > empty + 900)
      if round < 3 {
        try engine.close()
        engine = try disk.openEngine(options, seed: UInt64(round + 5))
      }
      let before = engine.statistics.pagesRead
      try engine.write { tx in
        switch round {
        case 0: try tx.dropTree(tree)
        case 1: _ = try tx.deleteAll(in: tree)
        default: _ = try tx.deleteRange(1..<Int64(5999), in: tree)
        }
      }
      let read = engine.statistics.pagesRead - before
      #expect(read < 250, "\(read) pages were read")
      let left = try usedPages(engine)
      #expect(left < empty + 12, "\(left) pages are in use, \(empty) were")
    }
    try engine.close()
  }

  @Test("A bulk load of long values gives everything back when it is stopped or undone", arguments: [0, 4 << 20])
  func stoppedLoads(bufferByteCount: Int) throws {
    let disk = SimulatedDisk()
    let engine = try disk.openEngine(options)
    let tree = try engine.write { tx in
      let tree = try tx.createTree("t", keys: .int64)
      for key in 0..<Int64(50) { try tx.put(value(800, Int(key)), for: key, in: tree) }
      return tree
    }
    let before = try usedPages(engine)
    let keyCount = Int64(TestSize.trials(700, divisor: 4))
    let putCount = keyCount / 7 * 9
    let load = BulkLoadOptions(bufferByteCount: bufferByteCount)
    func fill(_ loader: borrowing BulkLoader) throws {
      for key in 0..<putCount { try loader.append(value(900 + Int(key % 5) * 1000, Int(key)), for: key % keyCount) }
    }
    for progresses in [false, true] {
      // Undone as a whole, by a savepoint, or before it has done anything.
      #expect(throws: Stopped.self) {
        try engine.write { tx in
          try tx.bulkLoad(into: tree, options: load, progress: { _ in if progresses { throw Stopped() } }, fill)
          throw Stopped()
        }
      }
      try engine.write { tx in
        #expect(throws: Stopped.self) {
          try tx.savepoint { tx in
            try tx.bulkLoad(into: tree, options: load, progress: { _ in if progresses { throw Stopped() } }, fill)
            throw Stopped()
          }
        }
        #expect(throws: Stopped.self) {
          try tx.bulkLoad(into: tree, options: load) { loader in
            try fill(loader)
            throw Stopped()
          }
        }
      }
      let used = try usedPages(engine)
      #expect(used == before)
    }
    // A savepoint in the midst of the load undoes what was put there, and nothing of the load.
    try engine.write { tx in
      try tx.bulkLoad(into: tree, options: load) { loader in
        _ = try? tx.savepoint { tx in
          try tx.put(value(3000), for: Int64(9999), in: tree)
          try fill(loader)
          throw Stopped()
        }
      }
    }
    try engine.read { tx in
      let count = try tx.count(of: tree)
      #expect(count == Int(keyCount))
      for key in 0..<keyCount {
        let last = key < putCount - keyCount ? key + keyCount : key
        let found = try tx.value(for: key, in: tree)
        #expect(found == value(900 + Int(last % 5) * 1000, Int(last)), "\(key)")
      }
    }
    #expect(!disk.names.contains { $0.contains("-run") })
    _ = try usedPages(engine)
    try engine.close()
    let again = try disk.openEngine(options, seed: 9)
    try again.verify()
    try again.close()
  }

  @Test("Long values in ascending order say so on the way to the last leaf")
  func ascendingLongValues() throws {
    let engine = try SimulatedDisk().openEngine(options)
    let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    // Behind the last leaf, without a descent.
    try engine.write { tx in
      for key in 0..<Int64(400) {
        try tx.put(value(key > 300 && key % 40 == 0 ? 600 : 10, Int(key)), for: key, in: tree)
      }
    }
    try engine.walkEverything()
    try engine.write { tx in _ = try tx.deleteRange(from: Int64(10), in: tree) }
    _ = try usedPages(engine)
    try engine.close()
  }
}
