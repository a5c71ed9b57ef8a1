// Transactions that write their pages home without a sync, beside checkpoints, readers of old snapshots, compaction and
// verification. Run under the thread sanitizer with --filter ThreadedSpill.
//
//     QUIRE_SPILL_SEED=7 QUIRE_SPILL_ROUNDS=1000 swift test --filter ThreadedSpillTests

import QuireStorage
import QuireTesting
import Synchronization
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite("Spills beside everything else") struct ThreadedSpillTests {
  private static let keyCount = 3000

  /// An entry tells its key and its version; the entry of `sumKey` tells the sum of the others, by `hash`.
  private static let sumKey = Int64(-1)

  private static func hash(_ key: Int64, _ version: Int, _ count: Int) -> UInt64 {
    (UInt64(bitPattern: key) &* 0x9e37_79b9_7f4a_7c15) ^ (UInt64(version) &* 1_000_003) &+ UInt64(count)
  }

  private static func value(_ key: Int64, _ version: Int, _ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: version &+ Int(key)), count: count)
    bytes.withUnsafeMutableBytes {
      $0.storeBytes(of: key, as: Int64.self)
      $0.storeBytes(of: UInt64(version), toByteOffset: 8, as: UInt64.self)
    }
    return bytes
  }

  /// What a transaction leaves of each key.
  private struct Model {
    var entries: [Int64: (version: Int, count: Int)] = [:]
    var sum: UInt64 { entries.reduce(0) { $0 &+ ThreadedSpillTests.hash($1.key, $1.value.version, $1.value.count) } }
  }

  /// The one writer, with its dice and what it has committed.
  private struct Writer {
    let engine: StorageEngine
    let tree: Tree
    var random: SeededRandom
    var model = Model()
    /// What the last transaction would leave that has come to its end; committed or not.
    var attempted = Model()
    var version = 0

    mutating func draw() -> (key: Int64, count: Int) {
      let key = Int64(random.below(ThreadedSpillTests.keyCount))
      let count = random.oneIn(40) ? 600 + random.below(3000) : random.oneIn(6) ? 260 : 16 + random.below(90)
      return (key, count)
    }

    mutating func change(_ tx: borrowing WriteTransaction, _ count: Int, _ model: inout Model) throws {
      for _ in 0..<count {
        let (key, byteCount) = draw()
        version += 1
        if random.oneIn(4) {
          let isThere = try tx.delete(key, in: tree)
          try require(isThere == (model.entries.removeValue(forKey: key) != nil), "key \(key) is there, or is not")
        } else {
          try tx.put(ThreadedSpillTests.value(key, version, byteCount), for: key, in: tree)
          model.entries[key] = (version, byteCount)
        }
      }
    }

    mutating func load(_ tx: borrowing WriteTransaction, _ model: inout Model) throws {
      let first = Int64(random.below(ThreadedSpillTests.keyCount / 2))
      version += 1
      let (version, keys) = (version, first..<(first + 1200))
      try tx.bulkLoad(into: tree) { loader in
        for key in keys { try loader.append(ThreadedSpillTests.value(key, version, 120), for: key) }
      }
      for key in keys { model.entries[key] = (version, 120) }
    }

    mutating func run() throws {
      let before = model
      let size = random.pick([1, 3, 20, 60, 400, 1500])
      do {
        var next = model
        try engine.write { tx throws in
          try change(tx, size, &next)
          for _ in 0..<random.pick([0, 0, 1, 2]) {
            let kept = next
            do {
              try tx.savepoint { tx throws in
                try change(tx, random.pick([2, 50, 700]), &next)
                if random.oneIn(2) { throw Mismatch("back") }
              }
            } catch is Mismatch { next = kept }
            try change(tx, random.pick([0, 5, 200]), &next)
          }
          if random.oneIn(25) { try load(tx, &next) }
          if random.oneIn(12) {
            let first = Int64(random.below(ThreadedSpillTests.keyCount))
            _ = try tx.deleteRange(first..<(first + 300), in: tree)
            for key in first..<(first + 300) { next.entries[key] = nil }
            try change(tx, random.pick([0, 5, 200]), &next)
          }
          if random.oneIn(6) { throw Mismatch("all back") }
          var sum = [UInt8](repeating: 0, count: 8)
          sum.withUnsafeMutableBytes { $0.storeBytes(of: next.sum, as: UInt64.self) }
          try tx.put(sum, for: ThreadedSpillTests.sumKey, in: tree)
          attempted = next
        }
        model = next
      } catch is Mismatch { model = before }
    }
  }

  /// Reads everything that a snapshot shows.
  private static func check(_ tx: borrowing ReadTransaction, _ tree: Tree) throws -> UInt64 {
    var cursor = try tx.cursor(tree)
    var (sum, told, last) = (UInt64(0), UInt64(0), Int64.min)
    while try cursor.next() {
      try cursor.withValue { bytes throws in
        if bytes.byteCount == 8 {
          told = bytes.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt64.self)
          return
        }
        let key = bytes.unsafeLoadUnaligned(fromByteOffset: 0, as: Int64.self)
        let version = Int(bytes.unsafeLoadUnaligned(fromByteOffset: 8, as: UInt64.self))
        let fill = UInt8(truncatingIfNeeded: version &+ Int(key))
        if bytes.byteCount > 16 {
          let end = bytes.unsafeLoad(fromByteOffset: bytes.byteCount - 1, as: UInt8.self)
          try require(end == fill, "the entry of key \(key) is torn")
        }
        try require(key > last, "key \(key) comes behind \(last)")
        last = key
        sum = sum &+ hash(key, version, bytes.byteCount)
      }
    }
    try require(sum == told, "the entries of a snapshot do not add up")
    return sum
  }

  private static func read(
    _ engine: StorageEngine, _ tree: Tree, _ random: inout SeededRandom, _ isDone: StopFlag
  ) throws {
    var pins: [(pin: PinnedSnapshot, sum: UInt64)] = []
    while !isDone.isSet {
      _ = try engine.read { tx throws in try check(tx, tree) }
      if pins.count < 4, random.oneIn(2) {
        let pin = try engine.pin()
        pins.append((pin, try pin.read { tx throws in try check(tx, tree) }))
      }
      for (pin, sum) in pins {
        let again = try pin.read { tx throws in try check(tx, tree) }
        try require(again == sum, "a pinned snapshot has changed")
      }
      if !pins.isEmpty, random.oneIn(2) { pins.remove(at: random.below(pins.count)) }
    }
  }

  @Test(
    "Writers spill beside checkpoints, pins, compaction and verification", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: [0, 1, 2])
  func everythingAtOnce(_ number: Int) throws {
    let seed = UInt64(environmentNumber("QUIRE_SPILL_SEED") ?? 1) &+ UInt64(number)
    let asked = environmentNumber("QUIRE_SPILL_ROUNDS")
    let rounds = asked ?? 20
    // In the short size fewer will do once something was spilled.
    let least = asked ?? TestSize.trials(20, divisor: 7)
    let disk = SimulatedDisk()
    let options = StorageOptions(
      pageSize: 512, cacheSize: 160 * 512, durability: number == 0 ? .full : .relaxed, logLimit: 256 << 10,
      maintainsWhenIdle: false)
    let engine = try disk.openEngine(options, seed: seed, scheduling: .threads)
    let tree = try engine.write { tx throws in
      let tree = try tx.createTree("t", keys: .int64)
      try tx.put([UInt8](repeating: 0, count: 8), for: Self.sumKey, in: tree)
      return tree
    }
    disk.pause(DiskPauses(seed: seed, oneIn: 20, longestMicroseconds: 3000))
    let isDone = StopFlag()
    let threads = ThreadGroup()
    let result = Latch<Model>(Model())
    threads.start {
      defer { isDone.set() }
      var writer = Writer(engine: engine, tree: tree, random: SeededRandom(seed: seed))
      for round in 0..<rounds where !isDone.isSet {
        if round >= least, engine.statistics.pagesSpilled > 0 { break }
        try writer.run()
      }
      let model = writer.model
      result.withLock { $0 = model }
    }
    for reader in 0..<2 {
      threads.start {
        defer { isDone.set() }
        var random = SeededRandom(seed: seed &+ 100 &+ UInt64(reader))
        try Self.read(engine, tree, &random, isDone)
      }
    }
    threads.start {
      defer { isDone.set() }
      var random = SeededRandom(seed: seed &+ 200)
      while !isDone.isSet {
        switch random.below(number == 2 ? 3 : 1) {
        case 0: try engine.checkpoint()
        case 1: try engine.compact { _ throws in if isDone.isSet { throw Mismatch("done") } }
        default: try engine.verify()
        }
      }
    }
    let complaints = threads.join().filter { $0 != "done" }
    #expect(complaints.isEmpty, "seed \(seed): \(complaints)")
    #expect(engine.statistics.pagesSpilled > 0)
    disk.removeInterceptors()
    let model = result.withLock { $0 }
    try Self.settle(engine, tree, model, "seed \(seed)")
    try engine.close()
    // With room for all pages at once, as the walk holds addresses.
    let again = try disk.openEngine(StorageOptions(pageSize: 512, cacheSize: 16 << 20), seed: seed)
    try again.verify()
    try again.checkpoint()
    try again.walkEverything(isCheckpointed: true)
    let sum = try again.read { tx throws in try Self.check(tx, tree) }
    #expect(sum == model.sum)
    try again.close()
  }

  @Test(
    "A sync that fails beside spills is told as what it is, and opening again has all that was acknowledged",
    arguments: TestSize.some(0..<6, of: 2))
  func failedSync(_ number: Int) throws {
    let seed = UInt64(environmentNumber("QUIRE_SPILL_SEED") ?? 1) &+ UInt64(number)
    let disk = SimulatedDisk()
    let options = StorageOptions(pageSize: 512, cacheSize: 160 * 512, logLimit: 1 << 20, maintainsWhenIdle: false)
    let engine = try disk.openEngine(options, seed: seed, scheduling: .threads)
    let tree = try engine.write { tx throws in
      let tree = try tx.createTree("t", keys: .int64)
      try tx.put([UInt8](repeating: 0, count: 8), for: Self.sumKey, in: tree)
      return tree
    }
    var warm = Writer(engine: engine, tree: tree, random: SeededRandom(seed: seed))
    for _ in 0..<200 where engine.statistics.pagesSpilled == 0 { try warm.run() }
    #expect(engine.statistics.pagesSpilled > 0)
    let writerAtFirst = warm
    disk.failNext(.synchronize, of: "/db", skipping: 3 + 5 * number, with: .error(SystemCode.inputOutput))
    let isDone = StopFlag()
    let threads = ThreadGroup()
    let outcome = Latch<(model: Model, attempted: Model, error: StorageError?)>((Model(), Model(), nil))
    threads.start {
      defer { isDone.set() }
      var writer = writerAtFirst
      // Whoever else is refused first: the writer is as well, before long.
      var rounds = 0
      let error = Self.untilStopped(StopFlag()) {
        rounds += 1
        try require(rounds < 2000, "writing goes on")
        try writer.run()
      }
      let (model, attempted) = (writer.model, writer.attempted)
      outcome.withLock { $0 = (model, attempted, error) }
    }
    threads.start {
      let error = Self.untilStopped(isDone) { _ = try engine.read { tx throws in try Self.check(tx, tree) } }
      try require(error == nil || error?.code == .failStop, "a reader was told \(String(describing: error))")
    }
    threads.start {
      let error = Self.untilStopped(isDone) { try engine.checkpoint() }
      try require(error == nil || [.failStop, .inputOutput].contains(error?.code), "\(String(describing: error))")
    }
    #expect(threads.join().isEmpty)
    let (model, attempted, error) = outcome.withLock { $0 }
    #expect([.failStop, .inputOutput, .outcomeUnknown].contains(error?.code), "\(String(describing: error))")
    do { try engine.close() } catch {}
    disk.evictCache()
    for found in [disk, disk.crashImage(.random(seed))] {
      let again = try found.openEngine(StorageOptions(pageSize: 512, cacheSize: 16 << 20), seed: seed)
      try again.verify()
      let sum = try again.read { tx throws in try Self.check(tx, tree) }
      #expect(sum == model.sum || error?.code == .outcomeUnknown && sum == attempted.sum, "seed \(seed)")
      try again.close()
    }
  }

  /// Repeats `body` until it is refused by the engine, or somebody else has been; what is wrong ends it as well.
  private static func untilStopped(_ isDone: StopFlag, _ body: () throws -> Void) -> StorageError? {
    do {
      while !isDone.isSet { try body() }
      return nil
    } catch let error as StorageError {
      return error
    } catch {
      return StorageError(.damagedPage, "\(error)")
    }
  }

  /// How many syncs of the data file were begun.
  private final class SyncCount: Sendable {
    let state = Latch(0)
  }

  @Test("Values written home beside a checkpoint are not synced beside its sync, which would miss an error")
  func oneSyncAtATime() throws {
    let disk = SimulatedDisk()
    let options = StorageOptions(
      pageSize: 512, cacheSize: 160 * 512, durability: .relaxed, logLimit: 4 << 20, maintainsWhenIdle: false)
    let engine = try disk.openEngine(options, scheduling: .threads, segmentByteCount: 1 << 20)
    let tree = try engine.write { tx throws in
      let tree = try tx.createTree("t", keys: .int64)
      for key in 0..<40 { try tx.put(Self.value(Int64(key), 1, 60), for: Int64(key), in: tree) }
      return tree
    }
    let syncs = SyncCount()
    disk.intercept { operation in
      if operation.kind == .synchronize, operation.path == "/db" { syncs.state.withLock { $0 += 1 } }
      return nil
    }
    let sync = disk.hold(.synchronize, of: "/db")
    let threads = ThreadGroup()
    threads.start { try engine.checkpoint() }
    #expect(sync.awaitCall())
    threads.start {
      try engine.write { tx throws in
        for key in 0..<600 { try tx.put(Self.value(Int64(key), 2, 300), for: Int64(key), in: tree) }
      }
    }
    usleep(300_000)
    #expect(syncs.state.withLock { $0 } == 1)
    sync.release()
    #expect(threads.join().isEmpty)
    #expect(syncs.state.withLock { $0 } > 2)
    disk.removeInterceptors()
    try engine.verify()
    try engine.close()
  }

  /// At rest every page has one owner, and nothing is left of what was spilled.
  private static func settle(_ engine: StorageEngine, _ tree: Tree, _ model: Model, _ text: String) throws {
    let sum = try engine.read { tx throws in try check(tx, tree) }
    try require(sum == model.sum, "\(text): the newest commit is not what was written")
    try engine.verify()
    for _ in 0..<4 {
      try engine.checkpoint()
      // What a checkpoint gives up is due with the commit behind it.
      try engine.write { tx throws in
        let value = try tx.value(for: Self.sumKey, in: tree) ?? []
        try tx.put(value, for: Self.sumKey, in: tree)
      }
    }
    try engine.checkpoint()
    let core = engine.core
    for broken in [
      try core.checkInvariants(), core.store.pool.checkInvariants(), core.store.frames.checkInvariants(),
      core.allocator.checkInvariants(), core.store.checkUnwritten(),
    ] {
      try require(broken == nil, "\(text): \(broken ?? "")")
    }
    try require(core.store.dirtyCount == 0, "\(text): \(core.store.dirtyCount) pages are dirty")
    core.reclaimer.collect()
    try require(core.reclaimer.waitingCount < 50, "\(text): \(core.reclaimer.waitingCount) items wait")
  }
}
