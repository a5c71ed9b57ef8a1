// Values of one page in memory: read once, never stale, never taken for a page.

import QuireStorage
import QuireTesting
import Testing

@Suite struct ExtentMemoryTests {
  private static let pageSize = 512

  /// How many reads of files `disk` has seen.
  private func reads(_ disk: SimulatedDisk) -> Int { disk.counters[.read] }

  private func makeTree(_ tiny: TinyDatabase) throws -> (StorageEngine, Tree) {
    let engine = try tiny.open()
    return (engine, try engine.write { tx in try tx.createTree("t", keys: .int64) })
  }

  @Test func aValueOfOnePageIsReadOnce() throws {
    let tiny = TinyDatabase(pageSize: Self.pageSize)
    let (engine, tree) = try makeTree(tiny)
    let lengths = [141, 300, 511, 512]
    try engine.write { tx in
      for length in lengths { try tx.put(ExtentTests.value(length), for: Int64(length), in: tree) }
    }
    try engine.close()
    let again = try tiny.open()
    for length in lengths {
      for round in 0..<4 {
        let before = reads(tiny.disk)
        try again.read { tx in
          let found = try tx.value(for: Int64(length), in: tree)
          #expect(found == ExtentTests.value(length))
          let isSame = try tx.withValue(for: Int64(length), in: tree) { value in
            value.withUnsafeBytes { Array($0) } == ExtentTests.value(length)
          }
          #expect(isSame == true)
          let part = try tx.value(for: Int64(length), in: tree, range: 7..<90)
          #expect(part == Array(ExtentTests.value(length)[7..<90]))
          var cursor = try tx.cursor(tree)
          _ = try cursor.seek(Int64(length))
          let shown = try cursor.value
          #expect(shown == ExtentTests.value(length))
        }
        if round > 0 { #expect(reads(tiny.disk) == before, "a value of \(length) bytes was read again") }
      }
    }
    try again.verify()
    try again.close()
  }

  @Test func aValueOfSeveralPagesTakesNoSlot() throws {
    let tiny = TinyDatabase(pageSize: Self.pageSize)
    let (engine, tree) = try makeTree(tiny)
    try engine.write { tx in try tx.put(ExtentTests.value(513), for: Int64(1), in: tree) }
    for _ in 0..<2 {
      let (before, resident) = (reads(tiny.disk), engine.statistics.residentPages)
      let found = try engine.read { tx in try tx.value(for: Int64(1), in: tree) }
      #expect(found == ExtentTests.value(513))
      #expect(reads(tiny.disk) > before && engine.statistics.residentPages == resident)
    }
    try engine.close()
  }

  /// Places change hands all the time: between commits, within one, at savepoints and rollbacks, and under readers of
  /// older snapshots, with a cache that holds a part of the values.
  @Test(arguments: [1, 2, 3]) func noValueIsStale(seed: Int) throws {
    struct Stop: Error {}
    var tiny = TinyDatabase(pageSize: Self.pageSize)
    tiny.options.cacheSize = (seed == 1 ? 4096 : 96) * Self.pageSize
    let (engine, tree) = try makeTree(tiny)
    var random = SeededRandom(seed: UInt64(seed))
    var model: [Int64: Int] = [:]
    var pins: [(pin: PinnedSnapshot, model: [Int64: Int])] = []
    /// The value of a number: two in three take one page, the others three.
    func value(_ number: Int) -> [UInt8] {
      ExtentTests.value(number % 3 == 0 ? 1300 : 200 + number % 300, seed: number)
    }
    var next = 0
    func change(_ tx: borrowing WriteTransaction, _ model: inout [Int64: Int]) throws {
      for _ in 0..<(1 + random.below(12)) {
        let key = Int64(random.below(120))
        if random.oneIn(4) {
          let isDeleted = try tx.delete(key, in: tree)
          #expect(isDeleted == (model.removeValue(forKey: key) != nil))
        } else {
          next += 1
          try tx.put(value(next), for: key, in: tree)
          model[key] = next
        }
        let other = Int64(random.below(120))
        let found = try tx.value(for: other, in: tree)
        #expect(found == model[other].map(value))
      }
    }
    for round in 0..<TestSize.trials(300, divisor: 8) {
      var changed = model
      do {
        try engine.write { tx in
          try change(tx, &changed)
          if random.oneIn(2) {
            var inner = changed
            do {
              try tx.savepoint { tx in
                try change(tx, &inner)
                if random.oneIn(2) { throw Stop() }
              }
              changed = inner
            } catch is Stop {}
            try change(tx, &changed)
          }
          if random.oneIn(4) { throw Stop() }
        }
        model = changed
      } catch is Stop {}
      for _ in 0..<10 {
        let key = Int64(random.below(120))
        let found = try engine.read { tx in try tx.value(for: key, in: tree) }
        #expect(found == model[key].map(value))
      }
      if random.oneIn(8) { pins.append((try engine.pin(), model)) }
      if let (pin, old) = pins.randomElement(using: &random) {
        let key = Int64(random.below(120))
        let found = try pin.read { tx in try tx.value(for: key, in: tree) }
        #expect(found == old[key].map(value))
      }
      if pins.count > 3 { pins.removeFirst() }
      if round % 20 == 19 { try engine.checkpoint() }
    }
    try engine.walkEverything(isCheckpointed: false)
    try engine.verify()
    pins = []
    try engine.close()
  }

  @Test func aPageIsNeverFoundWhereAValueStands() throws {
    let tiny = TinyDatabase(pageSize: Self.pageSize)
    let (engine, tree) = try makeTree(tiny)
    try engine.write { tx in try tx.put(ExtentTests.value(500), for: Int64(1), in: tree) }
    try engine.checkpoint()
    let inspector = try Inspector(at: TinyDatabase.path, fileSystem: tiny.disk)
    let extent = try #require(
      try (2..<(try inspector.requireMeta().pageCount)).lazy
        .compactMap { try inspector.extent(at: PageNumber($0))?.extent }.first)
    try engine.read { tx in
      let found = try tx.value(for: Int64(1), in: tree)
      #expect(found == ExtentTests.value(500))
      #expect(engine.core.store.isResident(extent.first))
      // What a reference of a forged file would do.
      let error = #expect(throws: StorageError.self) {
        _ = try engine.core.reader.page(PageReference(extent.first), checksum: extent.checksum, level: 0)
      }
      #expect(error?.code == .damagedPage && error?.page == extent.first)
      // And what another reference to the value would: it is not believed.
      let other = ExtentReference(
        valueByteCount: 400, first: extent.first, birth: extent.birth, checksum: extent.checksum &+ 1)
      let target = UnsafeMutableRawPointer.allocate(byteCount: 400, alignment: 16)
      defer { target.deallocate() }
      #expect(throws: StorageError.self) { try engine.core.store.readExtent(other, 0..<400, into: target) }
    }
    try engine.close()
  }
}
