// Databases and transactions that are larger than the memory they are given.

import QuireTesting
import Testing

@testable import QuireStorage

@Suite("Memory stays within the budget")
struct MemoryBudgetTests {
  private static let pageSize = 512
  private static let cachePages = 256
  /// What may be lent beyond the budget: pages of the operations under way, and what waits for readers.
  private static let slack = 64

  private static func options(logLimit: Int = 64 << 10) -> StorageOptions {
    StorageOptions(pageSize: pageSize, cacheSize: cachePages * pageSize, durability: .relaxed, logLimit: logLimit)
  }

  private static func key(_ number: Int) -> [UInt8] { Array("key \(number &* 7919 % 100_003)".utf8) }

  private func checkMemory(_ engine: StorageEngine, sourceLocation: SourceLocation = #_sourceLocation) {
    let resident = engine.statistics.residentPages
    #expect(resident <= Self.cachePages + Self.slack, "\(resident) pages in memory", sourceLocation: sourceLocation)
    #expect(engine.core.store.pool.checkInvariants() == nil, sourceLocation: sourceLocation)
    #expect(engine.core.allocator.checkInvariants() == nil, sourceLocation: sourceLocation)
  }

  @Test("What structures beside pages take is missing in the budget, and comes back")
  func chargesTakeFromTheBudget() throws {
    let pool = SlotPool(pageSize: 4096, cacheSize: 16 << 20)
    let slots = try (0..<6000).map { _ in try pool.allocate() }
    #expect(pool.budget == 4096 && pool.room == 4096 - 6000)
    // Beyond the budget and 4 MiB, what comes back loses its memory.
    let before = pool.byteCount
    pool.release(slots[0])
    #expect(pool.byteCount == before - 4096 && pool.checkInvariants() == nil)
    for slot in slots.dropFirst() { pool.release(slot) }
    #expect(pool.lentCount == 0 && pool.byteCount <= 20 << 20)
    pool.charge(5 << 20, to: .load)
    #expect(pool.budget == 4096 - 1024 && pool.byteCount <= 16 << 20, "all but the allowance of 1 MiB")
    pool.charge(100 << 20, to: .reclaimer)
    #expect(pool.budget == 2048, "half is left to pages")
    pool.charge(0, to: .load)
    pool.charge(0, to: .reclaimer)
    #expect(pool.budget == 4096 && pool.checkInvariants() == nil)
    // A bare slot is as good as any.
    let again = try (0..<6000).map { _ in try pool.allocate() }
    #expect(Set(again).count == 6000)
    for slot in again { slot.storeBytes(of: UInt(bitPattern: slot), as: UInt.self) }
    #expect(again.allSatisfy { $0.load(as: UInt.self) == UInt(bitPattern: $0) })
    pool.release(again)
    #expect(pool.checkInvariants() == nil)
  }

  @Test("A few slabs are made ready for who is about to take many, never more than the cache has room for")
  func preparedSlabs() throws {
    let pool = SlotPool(pageSize: 4096, cacheSize: 32 << 20)
    let preparer = SlabPrefaulter(pool, .system)
    preparer.start()
    let slots = try (0..<5000).map { _ in try pool.allocate() }
    #expect(Set(slots).count == 5000 && slots.allSatisfy { $0.load(as: UInt64.self) == 0 })
    preparer.stop()
    #expect(pool.lentCount == 5000 && pool.checkInvariants() == nil)
    // What was ready and not taken is gone: as many slabs as the slots need, the first one a small one or not.
    #expect(pool.byteCount == 20 << 20 || pool.byteCount == (20 << 20) + (256 << 10))
    let isFirstSmall = pool.byteCount > 20 << 20
    let left = isFirstSmall ? 5 : 6
    #expect((0..<left).allSatisfy { _ in pool.prepareSlab() } && !pool.prepareSlab(), "\(left) of sixteen were left")
    pool.releasePrepared()
    pool.release(slots)
    #expect(pool.lentCount == 0 && pool.checkInvariants() == nil)
  }

  @Test("Retired slots wait for whoever is in an older epoch, and for nobody else")
  func retiredSlotsWaitForReaders() throws {
    let snapshots = SnapshotPool()
    let readers = ReaderSlots(snapshots.make(csn: CSN(0), trees: [], names: TreeNames([:])))
    let pool = SlotPool(pageSize: 512, cacheSize: 1 << 20)
    let retired = RetiredSlots(pool: pool, epochs: readers)
    func retire(_ count: Int) throws {
      retired.retire(try (0..<count).map { _ in UInt(bitPattern: try pool.allocate()) })
    }
    try retire(3)
    let reader = try readers.announce(CSN(0))
    try retire(5)
    #expect(retired.collect() == 5, "the reader came after the first three were taken away")
    #expect(pool.lentCount == 5 && retired.count == 5)
    _ = readers.enterEpoch(reader)
    try retire(2)
    #expect(retired.collect() == 2)
    readers.end(reader)
    #expect(retired.collect() == 0 && pool.lentCount == 0 && pool.checkInvariants() == nil)
  }

  @Test("A file that is mostly free is shortened before it is closed")
  func mostlyFreeFileIsShortened() throws {
    let disk = SimulatedDisk()
    var options = Self.options()
    options.cacheSize = 16 << 20
    var engine = try disk.openEngine(options)
    let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    try engine.write { tx in
      for key in 0..<8000 as Range<Int64> { try tx.put([UInt8](repeating: 1, count: 100), for: key, in: tree) }
    }
    try engine.close()
    engine = try disk.openEngine(options)
    let full = engine.statistics.filePages
    try engine.write { tx in
      for key in 0..<8000 as Range<Int64> where key % 2 == 0 { _ = try tx.delete(key, in: tree) }
    }
    try engine.close()
    engine = try disk.openEngine(options)
    // Half of the rows are left: beside the old pages they would make one and a half of what the file was.
    #expect(engine.statistics.filePages < full * 28 / 20)
    try engine.verify()
    try engine.read { tx in
      let count = try tx.count(of: tree)
      #expect(count == 4000)
      for key in 0..<8000 as Range<Int64> {
        let value = try tx.value(for: key, in: tree)
        #expect((value != nil) == (key % 2 == 1))
      }
    }
    try engine.close()
  }

  @Test(
    "Four times the cache: random reads and writes under pins that are held throughout",
    .enabled(if: TestSize.hasSlowTests, "slow"))
  func largerThanTheCache() throws {
    var random = SeededRandom(seed: 11)
    let engine = try SimulatedDisk().openEngine(Self.options())
    let tree = try engine.write { tx in try tx.createTree("t", keys: .bytes) }
    var model: [[UInt8]: [UInt8]] = [:]
    var pins: [(pin: PinnedSnapshot, model: [[UInt8]: [UInt8]])] = []
    for round in 0..<300 {
      try engine.write { tx in
        for _ in 0..<40 {
          let key = Self.key(random.below(12_000))
          if random.oneIn(6) {
            let wasThere = model.removeValue(forKey: key) != nil
            let found = try tx.delete(key, in: tree)
            if found != wasThere { Issue.record("\(key) was there: \(wasThere)") }
          } else {
            let value = [UInt8](marked: random.below(1 << 20), count: 40)
            try tx.put(value, for: key, in: tree)
            model[key] = value
          }
        }
      }
      while random.oneIn(2), engine.core.stepCheckpoint() {}
      if round % 60 == 30 { pins.append((try engine.pin(), model)) }
      try engine.read { tx in
        for _ in 0..<40 {
          let key = Self.key(random.below(12_000))
          let found = try tx.value(for: key, in: tree)
          if found != model[key] { Issue.record("\(key) has another value in round \(round)") }
        }
      }
      if let pinned = pins.randomElement(using: &random) {
        let key = Self.key(random.below(12_000))
        let value = try pinned.pin.read { tx in try tx.value(for: key, in: tree) }
        #expect(value == pinned.model[key])
      }
      checkMemory(engine)
    }
    for (pin, model) in pins {
      try pin.read { tx in
        let found = try tx.count(of: tree)
        #expect(found == model.count)
        for (key, value) in model {
          let found = try tx.value(for: key, in: tree)
          if found != value { Issue.record("\(key) has another value at \(pin.csn)") }
        }
      }
    }
    #expect(engine.statistics.filePages > 4 * Self.cachePages && engine.statistics.pagesEvicted > 1000)
    pins = []
    try engine.checkpoint()
    try engine.verify()
    checkMemory(engine)
    try engine.close()
  }

  @Test("Readers are lent copies while memory is short, and no longer")
  func plentyComesBack() throws {
    let engine = try SimulatedDisk().openEngine(Self.options())
    let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    var round = 0
    func change() throws {
      round += 1
      try engine.write { tx in
        for key in 0..<600 as Range<Int64> { try tx.put([UInt8](marked: round, count: 60), for: key, in: tree) }
      }
    }
    try change()
    #expect(!engine.core.store.lendsCopies)
    // Snapshots keep what is replaced.
    var pins: [PinnedSnapshot] = []
    while !engine.core.store.lendsCopies {
      pins.append(try engine.pin())
      try change()
      try #require(pins.count < 20, "memory is never short")
    }
    let expected = [UInt8](marked: round, count: 60)
    try engine.read { tx in
      // While the transaction lasts, there is plenty again. It goes on as it has begun: between its calls it is in no
      // epoch, so a cursor that is made now must not keep an address either.
      pins = []
      try engine.checkpoint()
      try engine.write { tx in try tx.put([1], for: Int64(-1), in: tree) }
      #expect(!engine.core.store.lendsCopies, "copies are lent with \(engine.core.store.pool.room) slots free")
      var cursor = try tx.cursor(tree)
      let hasCopy = cursor.state.pointee.path.hasCopy
      #expect(hasCopy)
      var count = 0
      while try cursor.next() {
        if count % 100 == 0 {
          try change()
          try engine.checkpoint()
        }
        let value = try cursor.value
        #expect(value == expected)
        count += 1
      }
      #expect(count == 600)
    }
    try engine.read { tx in
      let lendsCopies = tx.lendsCopies
      let cursor = try tx.cursor(tree)
      let hasCopy = cursor.state.pointee.path.hasCopy
      #expect(!lendsCopies && !hasCopy)
    }
    checkMemory(engine)
    try engine.close()
  }

  @Test(
    "A cursor shows its entry whatever else its transaction reads", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: [KeyKind.bytes, .int64])
  func cursorsBesideReads(keys: KeyKind) throws {
    let disk = SimulatedDisk()
    var engine = try disk.openEngine(Self.options())
    let tree = try engine.write { tx in try tx.createTree("t", keys: keys) }
    func name(_ number: Int) -> [UInt8] { keys == .bytes ? Self.key(number) : orderedKey(Int64(number)) }
    for start in stride(from: 0, to: 6000, by: 200) {
      try engine.write { tx in
        for number in start..<(start + 200) {
          try tx.modelPut([UInt8](marked: number, count: 40), name(number), in: tree)
        }
      }
    }
    try engine.close()
    engine = try disk.openEngine(Self.options())
    try engine.read { tx in
      // The transaction begins with an empty cache, in plenty, and goes on into eviction.
      let isShort = tx.lendsCopies
      #expect(!isShort)
      var first = try tx.cursor(tree)
      var second = try tx.cursor(tree)
      for round in 0..<12 {
        let isThere = try first.seek(toIndex: round * 450)
        let (key, value) = (first.key, try first.value)
        // All other pages come in, and some of them take the place of those that go.
        for number in stride(from: round, to: 6000, by: 7) {
          let found = try tx.modelValue(name(number), in: tree)
          try #require(found == [UInt8](marked: number, count: 40))
          if number % 5 == 0 { _ = try second.seek(toIndex: number) }
        }
        let (keyAgain, valueAgain, integer) = (first.key, try first.value, first.integerKey)
        #expect(isThere && key != nil && keyAgain == key && valueAgain == value && first.valueByteCount == 40)
        #expect((integer != nil) == (keys == .int64))
        // What a cursor has lent stays, though another one steps on.
        let stays = try first.withValue { span in
          for number in 0..<600 { _ = try tx.modelValue(name(number * 9), in: tree) }
          var third = try tx.cursor(tree)
          for _ in 0..<50 { _ = try third.next() }
          return span.withUnsafeBytes { Array($0) } == value
        }
        #expect(stays == true, "round \(round)")
      }
    }
    #expect(engine.core.store.lendsCopies && engine.statistics.pagesEvicted > 500)
    try engine.close()
  }

  @Test(
    "A transaction of four times the cache commits", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: [64 << 10, 8 << 20])
  func hugeTransactionCommits(logLimit: Int) throws {
    let disk = SimulatedDisk()
    let engine = try disk.openEngine(Self.options(logLimit: logLimit), segmentByteCount: logLimit)
    let tree = try engine.write { tx in try tx.createTree("t", keys: .bytes) }
    try engine.write { tx in try tx.put("before", for: Self.key(0), in: tree) }
    let pin = try engine.pin()
    try engine.write { tx in
      for number in 0..<12_000 { try tx.put([UInt8](marked: number, count: 40), for: Self.key(number), in: tree) }
      for number in stride(from: 0, to: 12_000, by: 3) { try tx.delete(Self.key(number), in: tree) }
      for number in stride(from: 1, to: 12_000, by: 6) {
        try tx.put([UInt8](marked: number + 1, count: 44), for: Self.key(number), in: tree)
      }
      #expect(engine.core.transactionDefects().isEmpty)
      #expect(engine.statistics.residentPages <= Self.cachePages + Self.slack)
    }
    #expect(engine.statistics.pagesSpilled > 2 * Self.cachePages)
    let pinnedCount = try pin.read { tx in try tx.count(of: tree) }
    #expect(pinnedCount == 1)
    try engine.verify()
    checkMemory(engine)
    try engine.flush()
    let copy = disk.crashImage(.random(5))
    let again = try copy.openEngine(Self.options(logLimit: logLimit), segmentByteCount: logLimit)
    try Self.checkHuge(engine, tree)
    try Self.checkHuge(again, tree)
    try again.verify()
  }

  private static func checkHuge(_ engine: StorageEngine, _ tree: Tree) throws {
    try engine.read { tx in
      let found = try tx.count(of: tree)
      #expect(found == 8000)
      for number in 0..<12_000 {
        let isUpdated = number % 6 == 1
        let value: [UInt8]? =
          number % 3 == 0 ? nil : [UInt8](marked: isUpdated ? number + 1 : number, count: isUpdated ? 44 : 40)
        let found = try tx.value(for: key(number), in: tree)
        if found != value { Issue.record("\(number) has another value") }
      }
    }
  }

  @Test(
    "A transaction of four times the cache rolls back, as a whole and to savepoints",
    .enabled(if: TestSize.hasSlowTests, "slow"))
  func hugeTransactionRollsBack() throws {
    let disk = SimulatedDisk()
    let engine = try disk.openEngine(Self.options())
    let tree = try engine.write { tx in
      let tree = try tx.createTree("t", keys: .bytes)
      for number in 0..<3000 { try tx.put([UInt8](marked: number, count: 40), for: Self.key(number), in: tree) }
      return tree
    }
    try engine.checkpoint()
    let free = engine.core.allocator.freeCount
    for isCommitted in [false, true] {
      do {
        try engine.write { tx in
          for number in 0..<100 { try tx.put("x", for: Self.key(number), in: tree) }
          do {
            try tx.savepoint { tx in
              for number in 0..<9000 {
                try tx.put([UInt8](marked: -number, count: 44), for: Self.key(number), in: tree)
              }
              throw Mismatch("undo")
            }
          } catch is Mismatch {}
          #expect(engine.core.transactionDefects().isEmpty)
          for number in 0..<9000 where number % 2 == 0 { try tx.put("y", for: Self.key(number), in: tree) }
          #expect(engine.statistics.residentPages <= Self.cachePages + Self.slack)
          if !isCommitted { throw Mismatch("undo") }
        }
      } catch is Mismatch {}
      if !isCommitted {
        let count = try engine.read { tx in try tx.count(of: tree) }
        #expect(count == 3000)
        #expect(engine.core.allocator.freeCount >= free, "every place has been given back")
      }
      try engine.verify()
      checkMemory(engine)
    }
    try engine.read { tx in
      let found = try tx.count(of: tree)
      #expect(found == 3000 + 3000)
      for number in 0..<9000 {
        let value: [UInt8]? =
          number % 2 == 0
          ? Array("y".utf8)
          : number < 100
            ? Array("x".utf8)
            : number < 3000 ? [UInt8](marked: number, count: 40) : nil
        let found = try tx.value(for: Self.key(number), in: tree)
        #expect(found == value)
      }
    }
    try engine.close()
    try disk.openEngine(Self.options()).verify()
  }

  @Test("Loans may be nested, and hold what they lend while everything else is evicted")
  func nestedLoans() throws {
    let engine = try SimulatedDisk().openEngine(Self.options())
    let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    for start in stride(from: 0, to: 8000, by: 500) {
      try engine.write { tx in
        for number in start..<(start + 500) {
          try tx.put([UInt8](marked: number, count: 60), for: Int64(number), in: tree)
        }
      }
    }
    try engine.checkpoint()
    for isBeforeShortage in [true, false] {
      try engine.read { tx in
        try tx.withValue(for: Int64(17), in: tree) { outer in
          var cursor = try tx.cursor(tree)
          while try cursor.next() {
            try cursor.withValue { value in
              let next = try tx.value(for: min((cursor.integerKey ?? 0) + 1, 7999), in: tree)
              #expect(value.byteCount == 60 && next?.count == 60)
            }
          }
          #expect(
            outer.unsafeLoad(fromByteOffset: 0, as: UInt8.self) == [UInt8](marked: 17, count: 60)[0],
            "\(isBeforeShortage)")
        }
      }
    }
    #expect(engine.statistics.pagesEvicted > 0)
    checkMemory(engine)
  }
}
