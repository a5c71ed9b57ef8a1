// Databases and transactions that are larger than the memory they are given.

import QuireStorage
import QuireTesting
import Testing

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

  @Test("Four times the cache: random reads and writes under pins that are held throughout")
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
            #expect(found == wasThere)
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
          #expect(found == model[key])
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
          #expect(found == value)
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

  @Test("A transaction of four times the cache commits", arguments: [64 << 10, 8 << 20])
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
      #expect(engine.core.context.checkInvariants().isEmpty)
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
        #expect(found == value)
      }
    }
  }

  @Test("A transaction of four times the cache rolls back, as a whole and to savepoints")
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
          #expect(engine.core.context.checkInvariants().isEmpty)
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
