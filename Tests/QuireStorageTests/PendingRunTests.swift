// Transactions of puts that outgrow the cache: their puts wait in runs on disk, and whatever looks at the trees must
// find them there all the same.

import QuireStorage
import QuireTesting
import Testing

@Suite("Puts that outgrow the cache wait in runs on disk")
struct PendingRunTests {
  private static let options = StorageOptions(pageSize: 512, cacheSize: 64 * 512, logLimit: 64 << 10)

  private static func open(_ disk: SimulatedDisk, cachePages: Int = 64) throws -> StorageEngine {
    var options = Self.options
    options.cacheSize = cachePages * options.pageSize
    return try disk.openEngine(options, putsBeforeDeferral: 0)
  }

  private static func checkDefects(_ engine: StorageEngine) throws {
    let found = engine.core.transactionDefects()
    try require(found.isEmpty, "\(found)")
  }

  /// Several trees, and what they must hold.
  private struct Bench {
    let disk = SimulatedDisk()
    var engine: StorageEngine
    var trees: [Tree] = []
    var models: [SortedModel] = []
    var random: SeededRandom
    let keyCount: Int

    init(seed: UInt64, trees kinds: [KeyKind], keyCount: Int, entries: Int) throws {
      random = SeededRandom(seed: seed)
      self.keyCount = keyCount
      engine = try PendingRunTests.open(disk)
      trees = try engine.write { tx in
        try kinds.enumerated().map { try tx.createTree("t\($0.offset)", keys: $0.element) }
      }
      models = kinds.map { _ in SortedModel() }
      for start in stride(from: 0, to: entries, by: 100) {
        try change { tx, bench in
          for _ in start..<min(start + 100, entries) { try bench.put(tx, bench.random.below(kinds.count)) }
        }
      }
      try engine.checkpoint()
    }

    mutating func nextKey(_ which: Int) -> [UInt8] {
      let number = random.below(keyCount)
      let integer = Int64(truncatingIfNeeded: number &* 7919 % 1_000_003)
      return trees[which].keys == .int64 ? orderedKey(integer) : Array("key \(integer) of \(number % 7)".utf8)
    }

    mutating func put(_ tx: borrowing WriteTransaction, _ which: Int) throws {
      let key = nextKey(which)
      let value = [UInt8](marked: random.below(1 << 20), count: random.below(70))
      try tx.modelPut(value, key, in: trees[which])
      _ = models[which].put(value, key)
    }

    mutating func delete(_ tx: borrowing WriteTransaction, _ which: Int) throws {
      let key = nextKey(which)
      let isGone = try tx.modelDelete(key, in: trees[which])
      let wasThere = models[which].delete(key)
      try require(isGone == wasThere, "deleted: \(isGone)")
    }

    /// A transaction that changes the model as well.
    mutating func change(_ body: (borrowing WriteTransaction, inout Bench) throws -> Void) throws {
      var copy = self
      try engine.write { tx in try body(tx, &copy) }
      self = copy
    }

    mutating func compare(_ tx: borrowing WriteTransaction) throws {
      for which in trees.indices {
        let strangers = (0..<5).map { _ in nextKey(which) }
        try tx.compare(trees[which], with: models[which], strangers: strangers)
      }
    }

    /// Opens the database anew and compares everything.
    mutating func reopen() throws {
      try engine.close()
      engine = try PendingRunTests.open(disk)
      try engine.verify()
      for which in trees.indices {
        let strangers = (0..<5).map { _ in nextKey(which) }
        let (tree, model) = (trees[which], models[which])
        try engine.read { tx in try tx.compare(tree, with: model, strangers: strangers) }
      }
    }
  }

  private static func isWaiting(_ engine: StorageEngine) -> Bool { engine.core.context.waitingPutCount > 0 }

  @Test(
    "Several trees against a model: questions, deletes, savepoints, rollbacks",
    arguments: TestSize.some(1...8 as ClosedRange<UInt64>, of: 1))
  func severalTrees(seed: UInt64) throws {
    var bench = try Bench(seed: seed, trees: [.bytes, .int64, .bytes], keyCount: 3000, entries: 1500)
    var runs = 0
    // In the short size fewer will do once runs were written.
    let least = TestSize.trials(8, divisor: 4)
    for round in 0..<8 where round < least || runs <= 20 {
      let before = bench
      let isRolledBack = bench.random.oneIn(4)
      do {
        try bench.change { tx, bench in
          for _ in 0..<3 {
            for _ in 0..<bench.random.below(900) { try bench.put(tx, bench.random.below(3)) }
            if bench.random.oneIn(3) { try PendingRunTests.checkDefects(bench.engine) }
            switch bench.random.below(5) {
            case 0: try bench.compare(tx)
            case 1: for _ in 0..<20 { try bench.delete(tx, bench.random.below(3)) }
            case 2: try Self.changeInSavepoint(tx, &bench)
            case 3:
              let long = [UInt8](marked: round, count: 2000)
              let key = bench.nextKey(0)
              try tx.modelPut(long, key, in: bench.trees[0])
              _ = bench.models[0].put(long, key)
            default: break
            }
          }
          if isRolledBack { throw TestAbort() }
        }
      } catch is TestAbort {
        let dice = bench.random
        bench = before
        bench.random = dice
      }
      runs += bench.engine.core.context.writtenRunCount
      try require(bench.disk.namelessFileCount() == 0, "a temporary file is still open")
      try bench.reopen()
    }
    #expect(runs > 20, "only \(runs) runs were written")
    try bench.engine.close()
  }

  private static func changeInSavepoint(_ tx: borrowing WriteTransaction, _ bench: inout Bench) throws {
    let before = bench.models
    let isRolledBack = bench.random.oneIn(2)
    do {
      var copy = bench
      try tx.savepoint { tx in
        #expect(!isWaiting(copy.engine))
        for _ in 0..<copy.random.below(700) { try copy.put(tx, copy.random.below(3)) }
        if isRolledBack { throw TestAbort() }
      }
      bench = copy
      #expect(!isWaiting(bench.engine))
    } catch is TestAbort {
      bench.models = before
      #expect(!isWaiting(bench.engine))
    }
  }

  /// Puts until runs have been written that wait.
  private static func fill(_ tx: borrowing WriteTransaction, _ bench: inout Bench) throws {
    let context = bench.engine.core.context
    let before = context.writtenRunCount
    while context.writtenRunCount < before + 3 { try bench.put(tx, 0) }
    #expect(context.waitingPutCount > 100)
    try checkDefects(bench.engine)
  }

  @Test("Every question finds what is in runs") func questions() throws {
    var bench = try Bench(seed: 5, trees: [.bytes, .int64], keyCount: 4000, entries: 1200)
    try bench.change { tx, bench in
      let tree = bench.trees[0]
      func expectSettled() throws {
        #expect(!Self.isWaiting(bench.engine))
        #expect(bench.disk.namelessFileCount() == 0)
        try Self.checkDefects(bench.engine)
      }
      try Self.fill(tx, &bench)
      #expect(bench.disk.namelessFileCount() == 1)
      #expect(try tx.count(of: tree) == bench.models[0].count)
      try expectSettled()
      try Self.fill(tx, &bench)
      let (key, value) = (bench.models[0].keys[400], bench.models[0].values[400])
      #expect(try tx.value(for: key, in: tree) == value)
      try expectSettled()
      try Self.fill(tx, &bench)
      #expect(try tx.rank(of: key, in: tree) == bench.models[0].rank(key).rank)
      try expectSettled()
      try Self.fill(tx, &bench)
      var cursor = try tx.cursor(tree)
      var steps = 0
      while try cursor.next() { steps += 1 }
      #expect(steps == bench.models[0].count)
      try expectSettled()
      try Self.fill(tx, &bench)
      // A tree without runs of its own is asked for: all of them have come to an end.
      #expect(try tx.count(of: bench.trees[1]) == bench.models[1].count)
      try expectSettled()
      try Self.fill(tx, &bench)
      try bench.delete(tx, 0)
      try expectSettled()
      try Self.fill(tx, &bench)
      let loaded = try tx.bulkLoad(into: tree) { loader in try loader.append([7], for: key) }
      #expect(loaded == (bench.models[0].put([7], key) ? 1 : 0))
      try expectSettled()
      try Self.fill(tx, &bench)
      #expect(try tx.upsert([8], for: key, in: tree) == bench.models[0].put([8], key))
      try expectSettled()
      try bench.compare(tx)
      try Self.fill(tx, &bench)
      let gone = try tx.createTree("other", keys: .int64)
      try tx.put([1], for: Int64(1), in: gone)
      try tx.dropTree(gone)
      try expectSettled()
      try Self.fill(tx, &bench)
    }
    #expect(bench.disk.namelessFileCount() == 0)
    try bench.reopen()
    try bench.engine.close()
  }

  @Test("Of one key that is put in many runs, the last one counts; so does what follows a run at the tree's end")
  func equalKeys() throws {
    let disk = SimulatedDisk()
    let engine = try Self.open(disk)
    let tree = try engine.write { tx in
      let tree = try tx.createTree("t", keys: .int64)
      for key in 0..<Int64(1500) { try tx.put([0, 0], for: key * 7919 % 1511, in: tree) }
      return tree
    }
    try engine.write { tx in
      for round in 1...6 as ClosedRange<UInt8> {
        for key in 0..<Int64(1500) {
          try tx.put([round, UInt8(truncatingIfNeeded: key)], for: key * 7919 % 1511, in: tree)
        }
        // Above all others, one after the other: such puts do not wait unless some do already.
        for key in 2000..<Int64(2010) { try tx.put([round], for: key, in: tree) }
      }
      #expect(engine.core.context.writtenRunCount > 10)
    }
    try engine.read { tx throws in
      #expect(try tx.count(of: tree) == 1510)
      for key in 0..<Int64(1500) {
        let value = try tx.value(for: key * 7919 % 1511, in: tree)
        try require(value == [6, UInt8(truncatingIfNeeded: key)], "key \(key): \(String(describing: value))")
      }
      for key in 2000..<Int64(2010) { #expect(try tx.value(for: key, in: tree) == [6]) }
    }
    try engine.verify()
    try engine.close()
  }

  @Test("More runs than are merged at once") func manyRuns() throws {
    var bench = try Bench(seed: 9, trees: [.bytes], keyCount: 20_000, entries: 1500)
    try bench.change { tx, bench in
      let context = bench.engine.core.context
      while context.writtenRunCount < 40 { try bench.put(tx, 0) }
      try Self.checkDefects(bench.engine)
    }
    try bench.reopen()
    try bench.engine.close()
  }

  @Test("Keys that stand close go into the tree at once; runs are for batches that touch most of a tree")
  func clusteredKeys() throws {
    let disk = SimulatedDisk()
    let engine = try Self.open(disk)
    let tree = try engine.write { tx in
      let tree = try tx.createTree("t", keys: .int64)
      for key in 0..<Int64(3000) { try tx.put([UInt8](marked: 1, count: 30), for: key * 7919 % 3001 * 100, in: tree) }
      return tree
    }
    let before = engine.core.context.writtenRunCount
    try engine.write { tx in
      // In the gaps of some leaves, downwards, so that no put is at the tree's end.
      for key in (0..<Int64(4000)).reversed() {
        try tx.put([UInt8](marked: 2, count: 30), for: key / 90 * 100 + 1 + key % 90, in: tree)
      }
    }
    #expect(engine.core.context.writtenRunCount == before)
    try engine.verify()
    try engine.close()
  }

  @Test("Memory stays within the budget") func memory() throws {
    let disk = SimulatedDisk()
    let engine = try Self.open(disk, cachePages: 256)
    let tree = try engine.write { tx in try tx.createTree("t", keys: .bytes) }
    try engine.write { tx in
      for number in 0..<12_000 {
        try tx.put([UInt8](marked: number, count: 40), for: Array("key \(number &* 7919 % 100_003)".utf8), in: tree)
        let resident = engine.statistics.residentPages
        try require(resident <= 256 + 64, "\(resident) pages in memory")
      }
      #expect(engine.core.context.writtenRunCount > 5)
      let count = try tx.count(of: tree)
      #expect(count == 12_000)
      #expect(engine.statistics.residentPages <= 256 + 64)
    }
    #expect(engine.core.store.pool.checkInvariants() == nil)
    try engine.verify()
    try engine.close()
  }
}

private struct TestAbort: Error {}
