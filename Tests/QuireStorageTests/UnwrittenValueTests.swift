// Values of one page that the log has and the data file has not yet: found by whoever may see them, written by the
// checkpoint that needs them, and not at all if nobody does.

import QuireTesting
import Testing

@testable import QuireStorage

@Suite("Values that wait in memory for a checkpoint")
struct UnwrittenValueTests {
  private struct Stop: Error {}
  private static let pageSize = 512

  private static func value(_ number: Int) -> [UInt8] { ExtentTests.value(141 + number % 372, seed: number) }

  private func makeTree(
    cachePages: Int = 8192, logLimit: Int = 1 << 20
  ) throws -> (tiny: TinyDatabase, engine: StorageEngine, tree: Tree) {
    var tiny = TinyDatabase(pageSize: Self.pageSize)
    tiny.options.cacheSize = cachePages * Self.pageSize
    tiny.options.logLimit = logLimit
    let engine = try tiny.open()
    return (tiny, engine, try engine.write { tx in try tx.createTree("t", keys: .int64) })
  }

  /// Checks what is in the tree, by key and in order, and that all that is kept adds up.
  private func check(_ engine: StorageEngine, _ model: [Int64: Int]) throws {
    try engine.read { tx in
      let named = tx.tree(named: "t")
      let tree = try #require(named)
      var cursor = try tx.cursor(tree)
      for (key, number) in model.sorted(by: { $0.key < $1.key }) {
        let isOn = try cursor.next()
        let shown = try cursor.value
        let found = try tx.value(for: key, in: tree)
        #expect(isOn && shown == Self.value(number) && found == shown, "key \(key)")
      }
      let hasMore = try cursor.next()
      #expect(!hasMore)
    }
    #expect(engine.core.store.checkUnwritten() == nil)
    #expect(engine.core.store.pool.checkInvariants() == nil && engine.core.allocator.checkInvariants() == nil)
  }

  /// Bytes of values alone that have been written to the data file.
  private func valueBytes(_ engine: StorageEngine) -> Int {
    let statistics = engine.statistics
    return statistics.dataBytesWritten - (statistics.pagesWritten + statistics.pagesSpilled) * Self.pageSize
  }

  @Test("They are written once, by the checkpoint, in few calls")
  func writtenByTheCheckpoint() throws {
    let (tiny, engine, tree) = try makeTree()
    let model = Dictionary(uniqueKeysWithValues: (0..<200).map { (Int64($0 * 7919 % 200), $0) })
    for keys in stride(from: 0, to: 200, by: 50) {
      try engine.write { tx in
        for key in keys..<(keys + 50) { try tx.put(Self.value(model[Int64(key)] ?? 0), for: Int64(key), in: tree) }
      }
    }
    #expect(engine.core.store.unwrittenCount == 200 && engine.statistics.dirtyPages > 200)
    let before = (engine.statistics.dataBytesWritten, tiny.disk.counters[.read])
    #expect(before.0 == 0)
    try check(engine, model)
    #expect(tiny.disk.counters[.read] == before.1, "nothing of them is in the file")
    try engine.walkEverything()
    try engine.verify()
    let writes = tiny.disk.counters[.write]
    try engine.checkpoint()
    #expect(engine.core.store.unwrittenCount == 0 && engine.statistics.dirtyPages == 0)
    #expect(valueBytes(engine) == 200 * Self.pageSize)
    #expect(tiny.disk.counters[.write] - writes < 40)
    let reads = tiny.disk.counters[.read]
    try check(engine, model)
    #expect(tiny.disk.counters[.read] == reads, "they stay in memory")
    try engine.checkpoint()
    #expect(valueBytes(engine) == 200 * Self.pageSize)
    try engine.walkEverything(isCheckpointed: true)
    try engine.verify()
    try engine.close()
    let again = try tiny.open()
    try check(again, model)
    try again.verify()
    try again.close()
  }

  @Test("What is replaced, removed or undone before is never written")
  func neverWritten() throws {
    let (_, engine, tree) = try makeTree()
    let store = engine.core.store
    try engine.write { tx in
      for round in 0..<30 { try tx.put(Self.value(round), for: Int64(1), in: tree) }
      #expect(store.unwrittenCount == 1)
      _ = try? tx.savepoint { tx in
        try tx.put(Self.value(100), for: Int64(1), in: tree)
        try tx.put(Self.value(101), for: Int64(2), in: tree)
        #expect(store.unwrittenCount == 3)
        throw Stop()
      }
      #expect(store.unwrittenCount == 1)
      try tx.savepoint { tx in try tx.put(Self.value(102), for: Int64(1), in: tree) }
      let isNew = try tx.insert(Self.value(103), for: Int64(1), in: tree)
      #expect(!isNew && store.unwrittenCount == 2)
      try tx.put(Self.value(104), for: Int64(2), in: tree)
      _ = try tx.delete(Int64(2), in: tree)
    }
    // What the transaction has replaced behind a savepoint goes when it commits.
    #expect(store.unwrittenCount == 1)
    try check(engine, [1: 102])
    _ = try? engine.write { tx in
      for key in 0..<20 as Range<Int64> { try tx.put(Self.value(200), for: key, in: tree) }
      throw Stop()
    }
    #expect(store.unwrittenCount == 1)
    try check(engine, [1: 102])
    for round in 0..<20 {
      try engine.write { tx in
        for key in 1..<4 as Range<Int64> { try tx.put(Self.value(round), for: key, in: tree) }
      }
    }
    try engine.write { tx in _ = try tx.delete(Int64(3), in: tree) }
    #expect(store.unwrittenCount <= 6, "those of the newest commits but one may wait for a look at readers")
    try engine.checkpoint()
    #expect(valueBytes(engine) == 2 * Self.pageSize)
    #expect(store.unwrittenCount == 0)
    try check(engine, [1: 19, 2: 19])
    try engine.write { tx in
      for key in 10..<40 as Range<Int64> { try tx.put(Self.value(Int(key)), for: key, in: tree) }
    }
    try engine.write { tx in _ = try tx.deleteRange(Int64(10)..<Int64(30), in: tree) }
    try engine.write { tx in try tx.dropTree(try tx.createTree("other", keys: .bytes)) }
    try engine.checkpoint()
    #expect(valueBytes(engine) == 12 * Self.pageSize)
    try engine.walkEverything(isCheckpointed: true)
    try engine.verify()
    try engine.close()
  }

  @Test("Readers of old snapshots keep theirs, and memory is not theirs alone")
  func pinnedReaders() throws {
    let (_, engine, tree) = try makeTree(cachePages: 128)
    var pins: [(pin: PinnedSnapshot, number: Int)] = []
    for round in 0..<40 {
      try engine.write { tx in
        for key in 0..<8 as Range<Int64> { try tx.put(Self.value(round * 8 + Int(key)), for: key, in: tree) }
      }
      if round % 4 == 0 { pins.append((try engine.pin(), round)) }
      if round % 5 == 4 { try engine.checkpoint() }
      for (pin, number) in pins {
        try pin.read { tx in
          for key in 0..<8 as Range<Int64> {
            let found = try tx.value(for: key, in: tree)
            #expect(found == Self.value(number * 8 + Int(key)))
          }
        }
      }
      #expect(engine.core.store.checkUnwritten() == nil)
    }
    // Ten pins hold 80 values, of which an eighth of the cache and what has come since may be left in memory alone.
    #expect(engine.core.store.unwrittenCount <= 16 + 8)
    try engine.verify()
    pins = []
    try engine.checkpoint()
    try engine.write { tx in _ = try tx.delete(Int64(0), in: tree) }
    try engine.checkpoint()
    #expect(engine.core.store.unwrittenCount == 0)
    try engine.walkEverything(isCheckpointed: true)
    try engine.close()
  }

  @Test("One transaction of many times the cache", arguments: [false, true])
  func largerThanTheCache(isRolledBack: Bool) throws {
    let made = try makeTree(cachePages: 96, logLimit: isRolledBack ? 64 << 10 : 1 << 20)
    let (engine, tree) = (made.engine, made.tree)
    var tiny = made.tiny
    var model: [Int64: Int] = [:]
    try engine.write { tx in
      for key in 0..<20 { try tx.put(Self.value(key), for: Int64(key), in: tree) }
    }
    for key in 0..<20 { model[Int64(key)] = key }
    let old = model
    do {
      try engine.write { tx in
        for number in 0..<1000 {
          let key = Int64(number * 7919 % 700)
          try tx.put(Self.value(number), for: key, in: tree)
          model[key] = number
          #expect(engine.statistics.residentPages <= 96 + 64)
          if number % 50 == 0 {
            let found = try tx.value(for: key, in: tree)
            #expect(found == Self.value(number))
            let broken = engine.core.transactionDefects()
            #expect(broken.isEmpty, "behind \(number)")
          }
        }
        if isRolledBack { throw Stop() }
      }
    } catch is Stop { model = old }
    try check(engine, model)
    #expect(engine.core.store.unwrittenCount <= 96)
    let crashed = try tiny.open(tiny.disk.crashImage(.allOld))
    try check(crashed, model)
    try crashed.verify()
    for _ in 0..<2 {
      try engine.checkpoint()
      try engine.write { tx in try tx.put(Self.value(7), for: Int64(5), in: tree) }
    }
    model[5] = 7
    try engine.checkpoint()
    try check(engine, model)
    try engine.verify()
    try engine.close()
    // The walk keeps addresses of pages, for which there must be room.
    tiny.options.cacheSize = 4 << 20
    let again = try tiny.open()
    try check(again, model)
    try again.walkEverything(isCheckpointed: true)
    try again.close()
  }

  @Test(
    "A checkpoint runs step by step beside writers, and crashes lose nothing",
    arguments: TestSize.some(1...6, of: 2))
  func crashes(seed: Int) throws {
    let (tiny, engine, tree) = try makeTree(cachePages: seed % 2 == 0 ? 96 : 4096, logLimit: 128 << 10)
    var random = SeededRandom(seed: UInt64(seed))
    var model: [Int64: Int] = [:]
    var next = 0
    for round in 0..<TestSize.trials(120, divisor: 2) {
      var changed = model
      do {
        try engine.write { tx in
          for _ in 0..<(1 + random.below(20)) {
            let key = Int64(random.below(60))
            if random.oneIn(4) {
              _ = try tx.delete(key, in: tree)
              changed[key] = nil
            } else {
              next += 1
              try tx.put(Self.value(next), for: key, in: tree)
              changed[key] = next
            }
            if random.oneIn(8) { _ = engine.core.stepCheckpoint() }
          }
          if random.oneIn(6) { throw Stop() }
        }
        model = changed
      } catch is Stop {}
      if random.oneIn(5), !engine.core.checkpointer.isRunning {
        _ = try engine.core.withWriterLock { permit in engine.core.checkpointer.begin(permit) }
      }
      for _ in 0..<random.below(4) where engine.core.stepCheckpoint() {}
      #expect(engine.core.store.checkUnwritten() == nil)
      guard round % 3 == 0 else { continue }
      for mode in [CrashMode.allOld, .allNew, .random(random.next())] {
        let crashed = try tiny.open(tiny.disk.crashImage(mode))
        try check(crashed, model)
        try crashed.walkEverything(isCheckpointed: true)
        try crashed.verify()
        try crashed.close()
      }
    }
    while engine.core.stepCheckpoint() {}
    try check(engine, model)
    try engine.verify()
    try engine.close()
  }

  @Test("A write that fails leaves them as they are, and the next checkpoint tries again")
  func failedWrites() throws {
    let (tiny, engine, tree) = try makeTree()
    var model: [Int64: Int] = [:]
    for round in 0..<12 {
      try engine.write { tx in
        for key in 0..<40 as Range<Int64> { try tx.put(Self.value(round * 40 + Int(key)), for: key, in: tree) }
      }
      for key in 0..<40 { model[Int64(key)] = round * 40 + key }
      var plan = FaultPlan()
      plan[.writeError] = 1
      tiny.disk.setFaultPlan(plan)
      let error = #expect(throws: StorageError.self) { try engine.checkpoint() }
      tiny.disk.setFaultPlan(.none)
      #expect(error?.code == .inputOutput && engine.core.store.unwrittenCount >= 40)
      try check(engine, model)
      if round % 2 == 1 {
        try engine.checkpoint()
        try check(engine, model)
        try engine.walkEverything(isCheckpointed: true)
      }
    }
    try engine.verify()
    try engine.close()
  }

  @Test("Backups and compaction take them from memory")
  func copied() throws {
    let (tiny, engine, tree) = try makeTree()
    try engine.write { tx in
      for key in 0..<300 { try tx.put(Self.value(key), for: Int64(key), in: tree) }
    }
    try engine.checkpoint()
    try engine.write { tx in
      for key in 0..<290 { _ = try tx.delete(Int64(key), in: tree) }
      for key in 290..<300 { try tx.put(Self.value(key + 1), for: Int64(key), in: tree) }
    }
    let model = Dictionary(uniqueKeysWithValues: (290..<300).map { (Int64($0), $0 + 1) })
    #expect(engine.core.store.unwrittenCount == 10)
    try engine.backup(to: "/backup.quire")
    #expect(engine.core.store.unwrittenCount == 10)
    let environment = StorageEnvironment(
      fileSystem: tiny.disk, random: { 5 }, scheduling: .stepped, allowsTestPages: true,
      initialSegmentByteCount: 64 << 10)
    let copy = try StorageEngine(at: "/backup.quire", options: tiny.options, environment: environment)
    try check(copy, model)
    try copy.verify()
    try copy.close()
    try engine.compact()
    try check(engine, model)
    try engine.verify()
    #expect(engine.statistics.filePages < 40)
    try engine.close()
  }

  @Test("A transaction too long for the log is whole all the same")
  func tooLongForTheLog() throws {
    let (tiny, engine, tree) = try makeTree(logLimit: 64 << 10)
    let before = engine.statistics.checkpoints
    try engine.write { tx in
      for key in 0..<500 { try tx.put(Self.value(key), for: Int64(key), in: tree) }
    }
    #expect(engine.statistics.checkpoints > before && engine.core.store.unwrittenCount == 0)
    let model = Dictionary(uniqueKeysWithValues: (0..<500).map { (Int64($0), $0) })
    try check(engine, model)
    let crashed = try tiny.open(tiny.disk.crashImage(.allOld))
    try check(crashed, model)
    try crashed.verify()
  }

  @Test("A place without blocks is written at once")
  func firstTransaction() throws {
    let tiny = TinyDatabase(pageSize: Self.pageSize)
    let engine = try tiny.open()
    try engine.write { tx in
      let tree = try tx.createTree("t", keys: .int64)
      for key in 0..<20 { try tx.put(Self.value(key), for: Int64(key), in: tree) }
      #expect(engine.core.store.unwrittenCount == 0, "there is no log yet, and no tail")
    }
    try check(engine, Dictionary(uniqueKeysWithValues: (0..<20).map { (Int64($0), $0) }))
    try engine.close()
  }
}
