// Puts that wait: whatever looks at the trees must find them there.

import QuireStorage
import QuireTesting
import Testing

@Suite struct DeferredPutTests {
  private let disk = SimulatedDisk()
  private let options = StorageOptions(pageSize: 512, cacheSize: 1 << 20)

  private func engine(after count: Int = 0, _ options: StorageOptions? = nil) throws -> StorageEngine {
    try disk.openEngine(options ?? self.options, putsBeforeDeferral: count)
  }

  /// A key of its own for each number, in no order.
  private static func key(_ number: Int) -> [UInt8] {
    withUnsafeBytes(of: UInt64(number &* 7919).multipliedReportingOverflow(by: 0x9E37_79B9_7F4A_7C15).partialValue) {
      Array($0)
    }
  }

  private func isWaiting(_ engine: StorageEngine) -> Bool { engine.core.context.waitingPutCount > 0 }

  private func check(_ engine: StorageEngine) throws {
    let found = engine.core.transactionDefects()
    try require(found.isEmpty, "\(found)")
  }

  private static func fill(
    _ tx: borrowing WriteTransaction, _ tree: Tree, _ numbers: Range<Int>, mark: UInt8 = 1
  ) throws {
    for number in numbers { try tx.put([mark, UInt8(truncatingIfNeeded: number)], for: key(number), in: tree) }
  }

  /// Puts ten entries from `number` on, which then wait; returns the number behind.
  private func more(
    _ tx: borrowing WriteTransaction, _ tree: Tree, _ number: Int, _ engine: StorageEngine
  ) throws -> Int {
    try Self.fill(tx, tree, number..<(number + 10))
    #expect(isWaiting(engine))
    try check(engine)
    return number + 10
  }

  @Test func everyQuestionFindsThem() throws {
    let engine = try engine()
    try engine.write { tx in
      let tree = try tx.createTree("t", keys: .bytes)
      var number = 0
      number = try more(tx, tree, number, engine)
      #expect(try tx.count(of: tree) == 10)
      #expect(!isWaiting(engine))
      try check(engine)
      number = try more(tx, tree, number, engine)
      #expect(try tx.value(for: Self.key(12), in: tree) == [1, 12])
      number = try more(tx, tree, number, engine)
      #expect(try tx.contains(Self.key(25), in: tree))
      number = try more(tx, tree, number, engine)
      #expect(try tx.rank(of: [UInt8](repeating: 255, count: 9), in: tree) == 40)
      number = try more(tx, tree, number, engine)
      #expect(try tx.valueByteCount(for: Self.key(44), in: tree) == 2)
      number = try more(tx, tree, number, engine)
      var found = 0
      let keys = (50..<60).map(Self.key)
      try tx.withValues(for: keys, in: tree) { _, value in found += value == nil ? 0 : 1 }
      #expect(found == 10)
      number = try more(tx, tree, number, engine)
      var cursor = try tx.cursor(tree)
      var steps = 0
      while try cursor.next() { steps += 1 }
      #expect(steps == 70)
      number = try more(tx, tree, number, engine)
      #expect(try tx.insert([9], for: Self.key(71), in: tree) == false)
      number = try more(tx, tree, number, engine)
      #expect(try tx.upsert([9], for: Self.key(81), in: tree) == false)
      number = try more(tx, tree, number, engine)
      #expect(try tx.delete(Self.key(92), in: tree))
      number = try more(tx, tree, number, engine)
      #expect(try tx.deleteAll(in: tree) == 109)
      number = try more(tx, tree, number, engine)
      #expect(try tx.bulkLoad(into: tree) { loader in try loader.append([7], for: Self.key(111)) } == 0)
      #expect(try tx.value(for: Self.key(111), in: tree) == [7])
      number = try more(tx, tree, number, engine)
      try tx.dropTree(tree)
      #expect(!isWaiting(engine))
      try check(engine)
    }
    try engine.close()
  }

  /// Few puts into a large tree go down one by one, behind descents that only ask for memory; where keys stand close,
  /// leaves are merged all the same. Some pages are in memory and some are not.
  @Test(.enabled(if: TestSize.hasSlowTests, "slow"), arguments: [1, 2, 3, 4] as [UInt64])
  func fewIntoMany(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let kind: KeyKind = seed % 2 == 0 ? .bytes : .int64
    var engine = try engine(after: 2)
    var model: [Int: [UInt8]] = [:]
    func put(_ number: Int, _ tx: borrowing WriteTransaction, _ tree: Tree) throws {
      let value = [UInt8](marked: number, count: 8 + random.below(60))
      model[number] = value
      if kind == .bytes {
        try tx.put(value, for: Self.key(number), in: tree)
      } else {
        try tx.put(value, for: Int64(number &* 7919 % 1_000_003), in: tree)
      }
    }
    let tree = try engine.write { tx in
      let tree = try tx.createTree("t", keys: kind)
      for number in 0..<4000 { try put(number, tx, tree) }
      return tree
    }
    for round in 0..<12 {
      if round % 4 == 3 {
        try engine.close()
        engine = try self.engine(after: 2)
      }
      try engine.write { tx in
        let start = random.below(4000)
        for step in 0..<(20 + random.below(150)) {
          // A third of them side by side, a third over what is there.
          let number = [random.below(100_000), start + step, random.below(4000)][random.below(3)]
          try put(number, tx, tree)
        }
        #expect(isWaiting(engine))
        try check(engine)
      }
      try engine.verify()
    }
    try engine.read { tx throws in
      #expect(try tx.count(of: tree) == model.count)
      for (number, value) in model {
        let found =
          kind == .bytes
          ? try tx.value(for: Self.key(number), in: tree)
          : try tx.value(for: Int64(number &* 7919 % 1_000_003), in: tree)
        try require(found == value, "\(number) of seed \(seed)")
      }
    }
    try engine.close()
  }

  @Test func theLastOfEqualKeysCounts() throws {
    let engine = try engine()
    let tree = try engine.write { tx in
      let tree = try tx.createTree("t", keys: .bytes)
      for round in 0..<5 {
        for number in 0..<40 { try tx.put([UInt8(round), UInt8(number)], for: Self.key(number), in: tree) }
      }
      #expect(isWaiting(engine))
      // One that does not fit beside its key, in between.
      try tx.put([UInt8](repeating: 5, count: 3000), for: Self.key(7), in: tree)
      try tx.put([6], for: Self.key(8), in: tree)
      try tx.put([UInt8](repeating: 5, count: 3000), for: Self.key(9), in: tree)
      try tx.put([6], for: Self.key(9), in: tree)
      return tree
    }
    try engine.read { (tx) throws in
      #expect(try tx.count(of: tree) == 40)
      #expect(try tx.value(for: Self.key(3), in: tree) == [4, 3])
      #expect(try tx.value(for: Self.key(7), in: tree)?.count == 3000)
      #expect(try tx.value(for: Self.key(8), in: tree) == [6])
      #expect(try tx.value(for: Self.key(9), in: tree) == [6])
    }
    try engine.close()
  }

  @Test func savepointsTakeThemBack() throws {
    let engine = try engine()
    try engine.write { tx in
      let tree = try tx.createTree("t", keys: .bytes)
      try Self.fill(tx, tree, 0..<20)
      #expect(throws: TestAbort.self) {
        try tx.savepoint { tx in
          #expect(!isWaiting(engine))
          try Self.fill(tx, tree, 10..<50, mark: 2)
          #expect(isWaiting(engine))
          throw TestAbort()
        }
      }
      #expect(!isWaiting(engine))
      #expect(try tx.count(of: tree) == 20)
      #expect(try tx.value(for: Self.key(15), in: tree) == [1, 15])
      try Self.fill(tx, tree, 20..<25)
      try tx.savepoint { tx in try Self.fill(tx, tree, 25..<40, mark: 3) }
      try Self.fill(tx, tree, 40..<45)
      #expect(try tx.count(of: tree) == 45)
      #expect(try tx.value(for: Self.key(30), in: tree) == [3, 30])
      try check(engine)
    }
    try engine.close()
  }

  @Test func aRollbackForgetsThem() throws {
    let engine = try engine()
    let tree = try engine.write { tx in try tx.createTree("t", keys: .bytes) }
    let lent = engine.core.store.pool.lentCount
    #expect(throws: TestAbort.self) {
      try engine.write { tx in
        try Self.fill(tx, tree, 0..<100)
        #expect(isWaiting(engine))
        throw TestAbort()
      }
    }
    #expect(engine.core.store.pool.lentCount == lent)
    let count = try engine.read { (tx) throws in try tx.count(of: tree) }
    #expect(count == 0)
    try engine.close()
  }

  @Test func cursorsEndWithThePut() throws {
    let engine = try engine()
    try engine.write { tx in
      let tree = try tx.createTree("t", keys: .bytes)
      try Self.fill(tx, tree, 0..<50)
      var cursor = try tx.cursor(tree)
      #expect(try cursor.next())
      #expect(!isWaiting(engine))
      try Self.fill(tx, tree, 50..<52)
      #expect(isWaiting(engine))
      var failure: StorageError?
      do throws(StorageError) { _ = try cursor.next() } catch { failure = error }
      #expect(failure?.code == .cursorInvalidated)
    }
    try engine.close()
  }

  @Test func whatIsWrongIsSaidAtOnce() throws {
    let engine = try engine()
    try engine.write { tx in
      let tree = try tx.createTree("t", keys: .bytes)
      let gone = try tx.createTree("gone", keys: .bytes)
      try tx.dropTree(gone)
      try Self.fill(tx, tree, 0..<20)
      #expect(isWaiting(engine))
      let long = [UInt8](repeating: 1, count: Limits.keyByteCount + 1)
      var first: StorageError?
      do throws(StorageError) { try tx.put([1], for: long, in: tree) } catch { first = error }
      #expect(first?.code == .keyTooLong)
      var second: StorageError?
      do throws(StorageError) { try tx.put([1], for: [UInt8(2)], in: gone) } catch { second = error }
      #expect(second?.code == .noSuchTree)
      var third: StorageError?
      do throws(StorageError) { try tx.put([1], for: Int64(1), in: tree) } catch { third = error }
      #expect(third?.code == .treeMismatch)
      #expect(try tx.count(of: tree) == 20)
    }
    try engine.close()
  }

  /// A value that is lent by the transaction may be put, even if that fills the memory for puts that wait.
  @Test func borrowedValuesAreCopied() throws {
    let engine = try engine(after: 0, StorageOptions(pageSize: 512, cacheSize: 32 * 512))
    let tree = try engine.write { tx in
      let tree = try tx.createTree("t", keys: .bytes)
      for number in 0..<10 { try tx.put([UInt8](repeating: UInt8(number), count: 90), for: Self.key(number), in: tree) }
      return tree
    }
    try engine.write { tx in
      for number in 0..<10 {
        _ = try tx.withValue(for: Self.key(number), in: tree) { value in
          try value.withUnsafeBytes { bytes in
            let copy = Array(bytes)
            for other in 10..<40 { try tx.put(copy, for: Self.key(100 * number + other), in: tree) }
          }
        }
      }
      try check(engine)
    }
    try engine.read { (tx) throws in
      #expect(try tx.count(of: tree) == 310)
      #expect(try tx.value(for: Self.key(325), in: tree) == [UInt8](repeating: 3, count: 90))
    }
    try engine.close()
  }

  /// Two trees at once, more than memory holds, in a log that streams; then recovery from it.
  @Test(arguments: [0, 3, 50]) func manyTreesInLittleMemory(after count: Int) throws {
    let options = StorageOptions(pageSize: 512, cacheSize: 64 * 512)
    var random = SeededRandom(seed: UInt64(count) + 11)
    var engine = try disk.openEngine(options, segmentByteCount: 32 << 10, partByteCount: 900, putsBeforeDeferral: count)
    var models: [[Int: [UInt8]]] = [[:], [:]]
    let trees = try engine.write { tx in
      [try tx.createTree("a", keys: .bytes), try tx.createTree("b", keys: .int64)]
    }
    for round in 0..<6 {
      try engine.write { tx in
        for step in 0..<400 {
          let (which, number) = (random.below(2), random.below(600))
          let value = [UInt8](marked: step + round, count: random.below(60))
          if which == 0 {
            try tx.put(value, for: Self.key(number), in: trees[0])
          } else {
            try tx.put(value, for: Int64(number), in: trees[1])
          }
          models[which][number] = value
          if random.oneIn(150) { #expect(try tx.count(of: trees[which]) == models[which].count) }
        }
        try check(engine)
      }
      if round == 3 {
        try engine.close()
        engine = try self.engine(after: count, options)
      }
    }
    try engine.verify()
    try engine.read { (tx) throws in
      for (number, value) in models[0] { #expect(try tx.value(for: Self.key(number), in: trees[0]) == value) }
      for (number, value) in models[1] { #expect(try tx.value(for: Int64(number), in: trees[1]) == value) }
      #expect(try tx.count(of: trees[0]) == models[0].count)
      #expect(try tx.count(of: trees[1]) == models[1].count)
    }
    try engine.close()
  }

  /// An error that the trees meet comes out of what had the puts applied, and the transaction is then unfit.
  @Test func errorsComeOutOfTheNextQuestion() throws {
    var engine = try engine()
    let tree = try engine.write { tx in
      let tree = try tx.createTree("t", keys: .bytes)
      try Self.fill(tx, tree, 0..<400)
      return tree
    }
    try engine.close()
    engine = try self.engine()
    let end = code {
      try engine.write { (tx) throws in
        // The first put of a row does not wait.
        try Self.fill(tx, tree, 0..<1)
        disk.failNext(.read, with: .error(SystemCode.inputOutput))
        try Self.fill(tx, tree, 300..<420, mark: 2)
        #expect(isWaiting(engine))
        var first: StorageError?
        do throws(StorageError) { _ = try tx.count(of: tree) } catch { first = error }
        #expect(first?.code == .inputOutput)
        #expect(!isWaiting(engine))
        var second: StorageError?
        do throws(StorageError) { try tx.put([1], for: [UInt8(1)], in: tree) } catch { second = error }
        #expect(second?.code == .transactionFailed)
      }
    }
    #expect(end == .transactionFailed)
    // In a savepoint, the savepoint alone is lost.
    try engine.close()
    engine = try self.engine()
    try engine.write { (tx) throws in
      var inside: (any Error)?
      do {
        try tx.savepoint { (tx) throws in
          try Self.fill(tx, tree, 0..<1)
          disk.failNext(.read, with: .error(SystemCode.inputOutput))
          try Self.fill(tx, tree, 300..<420, mark: 2)
        }
      } catch {
        inside = error
      }
      #expect((inside as? StorageError)?.code == .inputOutput)
      let count = try tx.count(of: tree)
      #expect(count == 400)
    }
    try engine.read { (tx) throws in
      let value = try tx.value(for: Self.key(310), in: tree)
      #expect(value == [1, UInt8(truncatingIfNeeded: 310)])
    }
    try engine.close()
  }

  /// What the storage error says that `body` throws.
  private func code(_ body: () throws -> Void) -> StorageError.Code? {
    do {
      try body()
      return nil
    } catch {
      return (error as? StorageError)?.code
    }
  }

  /// Keys that ascend stay on the fast way to the tree's end.
  @Test func ascendingPutsDoNotWait() throws {
    let engine = try engine(after: 40)
    try engine.write { tx in
      let tree = try tx.createTree("t", keys: .int64)
      for number in 0..<5000 {
        try tx.put([UInt8](marked: number, count: 8), for: Int64(number), in: tree)
        try require(!isWaiting(engine), "put \(number) waits")
      }
      #expect(try tx.count(of: tree) == 5000)
    }
    try engine.close()
  }
}

private struct TestAbort: Error {}
