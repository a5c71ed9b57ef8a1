// Pages that transactions write home themselves, ahead of the next checkpoint, where the disk has room.

import QuireTesting
import Testing

@testable import QuireStorage

@Suite("Pages written home ahead of a checkpoint") struct SpillTests {
  private static let options = StorageOptions(
    pageSize: 512, cacheSize: 128 << 10, logLimit: 16 << 20, maintainsWhenIdle: false)
  private static let rowCount = 3000

  /// An engine with `rowCount` rows in a checkpoint, several times its memory.
  private final class Bench {
    let disk: SimulatedDisk
    let engine: StorageEngine
    let tree: Tree
    var model: [Int: Int] = [:]
    private var random: SeededRandom
    private var version = 0

    init(seed: UInt64, putsBeforeDeferral: Int = 2000) throws {
      random = SeededRandom(seed: seed)
      disk = SimulatedDisk()
      engine = try disk.openEngine(
        SpillTests.options, seed: seed, segmentByteCount: 8 << 20, putsBeforeDeferral: putsBeforeDeferral)
      tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
      try write(Array(0..<SpillTests.rowCount))
      try engine.checkpoint()
    }

    /// Puts rows of a new version, one transaction for all of them.
    func write(_ keys: [Int]) throws {
      version += 1
      try engine.write { tx in
        for key in keys { try tx.put(Self.value(version, key), for: Int64(key), in: tree) }
      }
      for key in keys { model[key] = version }
    }

    /// The same for random rows.
    func writeAtRandom(_ count: Int) throws {
      try write((0..<count).map { _ in random.below(SpillTests.rowCount) })
    }

    /// How many rows the engine refuses with `failStop`; the others are right.
    func countRefusals() throws -> Int {
      var refusals = 0
      try engine.read { tx in
        for (key, version) in model {
          do {
            try require(try tx.value(for: Int64(key), in: tree) == Self.value(version, key), "row \(key)")
          } catch let error as StorageError {
            refusals += 1
            try require(error.code == .failStop, "\(error)")
          }
        }
      }
      return refusals
    }

    static func value(_ version: Int, _ key: Int) -> [UInt8] {
      [UInt8](marked: version &* 1_000_003 &+ key, count: 100)
    }

    func check(_ engine: StorageEngine, _ model: [Int: Int], _ text: String) throws {
      try engine.read { tx in
        try require(try tx.count(of: tree) == model.count, "\(text): another count")
        for (key, version) in model {
          let found = try tx.value(for: Int64(key), in: tree)
          try require(found == Self.value(version, key), "\(text): row \(key)")
        }
      }
    }
  }

  @Test(
    "No checkpoint begins, entries and places are used again, and all is there",
    arguments: TestSize.some([1, 2, 3] as [UInt64], of: 1))
  func manyTransactions(seed: UInt64) throws {
    let bench = try Bench(seed: seed)
    let core = bench.engine.core
    let before = bench.engine.statistics.checkpoints
    let pageCount = core.allocator.pageCount
    let entryCount = core.store.frames.usedCount
    let content = core.space.settledCount
    var mostFrames = 0
    for round in 0..<300 {
      try bench.writeAtRandom(20)
      mostFrames = max(mostFrames, core.store.frames.usedCount)
      if round % 50 == 0 { #expect(try core.checkInvariants() == nil) }
    }
    #expect(bench.engine.statistics.checkpoints == before)
    #expect(bench.engine.statistics.pagesSpilled > 1000)
    let settled = core.space.settledCount
    #expect(abs(settled - content) < content / 4, "\(settled) pages in use after \(content)")
    // The rows beside their last checkpoint, and what waits for a commit; each row was written twice.
    #expect(core.allocator.pageCount < pageCount * 5 / 2, "\(core.allocator.pageCount) pages after \(pageCount)")
    #expect(mostFrames < entryCount + 2 * core.store.pool.slotLimit, "\(mostFrames) entries after \(entryCount)")
    #expect(bench.disk.pendingByteCount(of: "/db") > 100 << 10, "the pages have been synced")
    try bench.check(bench.engine, bench.model, "before a checkpoint")
    try bench.engine.checkpoint()
    #expect(bench.disk.pendingByteCount(of: "/db") < 10 << 10, "a checkpoint syncs what it names")
    try bench.check(bench.engine, bench.model, "behind a checkpoint")
    try bench.engine.verify()
    try bench.engine.close()
  }

  @Test("A snapshot keeps what it sees through spills, and gives it back")
  func snapshots() throws {
    let bench = try Bench(seed: 4)
    do {
      let (pin, seen) = (try bench.engine.pin(), bench.model)
      for _ in 0..<100 { try bench.writeAtRandom(20) }
      try pin.read { tx in
        for (key, version) in seen {
          try require(try tx.value(for: Int64(key), in: bench.tree) == Bench.value(version, key), "row \(key)")
        }
      }
    }
    for _ in 0..<100 { try bench.writeAtRandom(20) }
    try bench.check(bench.engine, bench.model, "behind a pin")
    #expect(try bench.engine.core.checkInvariants() == nil)
    try bench.engine.close()
  }

  @Test(
    "A power cut leaves what was durable", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: TestSize.some([1, 2, 3, 4, 5, 6] as [UInt64], of: 2))
  func powerCut(seed: UInt64) throws {
    let bench = try Bench(seed: seed)
    for _ in 0..<(40 * Int(seed)) { try bench.writeAtRandom(20) }
    let image = bench.disk.crashImage(.random(seed))
    let engine = try image.openEngine(Self.options, segmentByteCount: 8 << 20)
    try bench.check(engine, bench.model, "seed \(seed)")
    try engine.verify()
    try engine.close()
  }

  @Test("After a failed sync nothing is told that is wrong, and opening again brings all back")
  func failedSync() throws {
    let bench = try Bench(seed: 5)
    for _ in 0..<100 { try bench.writeAtRandom(20) }
    bench.disk.failNext(.synchronize, of: "/db", with: .error(SystemCode.inputOutput))
    #expect(throws: StorageError.self) { try bench.engine.checkpoint() }
    let refusals = try bench.countRefusals()
    do { try bench.engine.close() } catch {}
    let engine = try bench.disk.openEngine(Self.options, segmentByteCount: 8 << 20)
    try bench.check(engine, bench.model, "reopened after \(refusals) refusals")
    try engine.close()
  }

  @Test("A page that the disk has lost before a sync is refused, and opening again brings it back")
  func lostPages() throws {
    let bench = try Bench(seed: 6)
    for _ in 0..<100 { try bench.writeAtRandom(20) }
    // What was there before the writes that no sync has vouched for.
    let image = bench.disk.crashImage(.random(6))
    let durable = try #require(bench.disk.durableBytes(of: "/db"))
    let file = try bench.disk.open("/db", .readWrite)
    try durable.withUnsafeBytes { bytes in try file.writeFully(bytes, at: 0) }
    let refusals = try bench.countRefusals()
    #expect(refusals > 100)
    let engine = try image.openEngine(Self.options, segmentByteCount: 8 << 20)
    try bench.check(engine, bench.model, "reopened")
    try engine.close()
  }

  @Test("Puts that wait are refused where the disk has lost the end of the file before a sync")
  func waitingPutsMeetLostPages() throws {
    let bench = try Bench(seed: 7, putsBeforeDeferral: 0)
    try bench.write(Array(0..<Self.rowCount))
    try bench.write(Array(0..<Self.rowCount))
    let durable = try #require(bench.disk.durableBytes(of: "/db"))
    let image = bench.disk.crashImage(.random(7))
    try bench.disk.open("/db", .readWrite).resize(to: durable.count)
    let model = bench.model
    let error = #expect(throws: StorageError.self) { try bench.write(Array(0..<Self.rowCount)) }
    #expect(error?.code == .failStop, "\(String(describing: error))")
    let engine = try image.openEngine(Self.options, segmentByteCount: 8 << 20)
    try bench.check(engine, model, "reopened")
    try engine.close()
  }

  @Test(
    "Savepoints and rollbacks over spills", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: TestSize.some([1, 2, 3] as [UInt64], of: 1))
  func savepoints(seed: UInt64) throws {
    let bench = try Bench(seed: seed)
    var random = SeededRandom(seed: seed)
    for round in 0..<15 {
      let keys = Array(Set((0..<400).map { _ in random.below(Self.rowCount) }).sorted().shuffled(using: &random))
      let isRolledBack = random.oneIn(3)
      do {
        try bench.engine.write { tx in
          for key in keys.prefix(200) { try tx.put([1], for: Int64(key), in: bench.tree) }
          do {
            try tx.savepoint { tx in
              for key in keys { try tx.put([2], for: Int64(key), in: bench.tree) }
              throw CancellationError()
            }
          } catch is CancellationError {}
          for key in keys.prefix(200) {
            try require(try tx.value(for: Int64(key), in: bench.tree) == [1], "round \(round), row \(key)")
            try tx.put(Bench.value(-round, key), for: Int64(key), in: bench.tree)
          }
          if isRolledBack { try tx.rollback() }
        }
        for key in keys.prefix(200) { bench.model[key] = -round }
      } catch let error as StorageError where error.code == .rolledBack {}
      try bench.check(bench.engine, bench.model, "seed \(seed), round \(round)")
      #expect(try bench.engine.core.checkInvariants() == nil)
    }
    try bench.engine.checkpoint()
    try bench.check(bench.engine, bench.model, "seed \(seed)")
    try bench.engine.verify()
    try bench.engine.close()
  }

  @Test(
    "What a pin and the newest commit both see stands where checkpoints know of it",
    arguments: TestSize.some([1, 2, 3, 4, 5, 6] as [UInt64], of: 1))
  func pinnedAndNewest(seed: UInt64) throws {
    let bench = try Bench(seed: seed)
    let core = bench.engine.core
    let values = try bench.engine.write { tx in try tx.createTree("values", keys: .int64) }
    var random = SeededRandom(seed: seed)
    var pins: [PinnedSnapshot] = []
    for round in 0..<120 {
      // Values of a page each count as dirty pages do, and no spill writes them.
      try bench.engine.write { tx in
        for _ in 0..<random.below(40) {
          let key = random.below(400)
          try tx.put([UInt8](marked: key, count: 400), for: Int64(key), in: values)
        }
      }
      try bench.writeAtRandom(1 + random.below(12))
      if random.oneIn(6) { pins.append(try bench.engine.pin()) }
      if pins.count > 2 { pins.removeFirst() }
      if round % 10 == 9 {
        try bench.engine.checkpoint()
        let check = try bench.engine.verify()
        #expect(check.defects.isEmpty, "seed \(seed), round \(round)")
        #expect(try core.checkInvariants() == nil)
      }
    }
    pins = []
    try bench.check(bench.engine, bench.model, "seed \(seed)")
    try bench.engine.close()
  }
}
