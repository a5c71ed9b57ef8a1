// Each read of the disk fails once in calls of every kind: the call tells an error, and made again it gives the right
// answer, or does what it was to do. Whatever was acknowledged is there when the database is opened anew.

import QuireStorage
import QuireTesting
import Testing

@Suite struct ReadFaultTests {
  /// What is asked of a snapshot.
  enum Question: CaseIterable {
    case values, someBytes, presence, manyValues, ranks, rangeCounts, forwards, backwards, places
  }

  /// What is done in a write transaction.
  enum Change: CaseIterable {
    case puts, longPuts, inserts, deletes, rangeDeletion, deferredPuts, bulkLoad, savepoint
  }

  private static let options = StorageOptions(pageSize: 512, cacheSize: 256 * 512, logLimit: 64 << 10)

  /// A database that nobody has open, and what is in it.
  private struct Bench {
    let disk = SimulatedDisk()
    var model = SortedModel()

    /// - Parameter isKilled: whether the process ended before a checkpoint, so that there is a log to be read.
    init(isKilled: Bool = false) throws {
      let engine = try disk.openEngine(ReadFaultTests.options)
      let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
      var random = SeededRandom(seed: 5)
      for start in stride(from: 0, to: 240, by: 40) {
        try engine.write { tx in
          for number in start..<start + 40 {
            let key = Int64(number &* 7919 % 1009)
            let value = [UInt8](marked: number, count: random.oneIn(12) ? 600 + random.below(900) : random.below(60))
            _ = model.put(value, orderedKey(key))
            try tx.put(value, for: key, in: tree)
          }
        }
      }
      if !isKilled { try engine.close() }
    }
  }

  /// Lets the reads of a call fail, one in each run from the opened database on, and makes the call once more where it
  /// throws.
  ///
  /// - Parameters:
  ///   - least: so many reads there have to be.
  ///   - after: what is there when the call has succeeded; until then it is what was there before.
  private func failEachRead(
    _ bench: Bench, least: Int, after: SortedModel, _ call: (StorageEngine, Tree) throws -> Void
  ) throws {
    var (readCount, toldCount) = (0, 0)
    while true {
      let disk = bench.disk.processKillImage()
      let engine = try disk.openEngine(Self.options, putsBeforeDeferral: 20)
      let found = try engine.read { tx in tx.tree(named: "t") }
      let tree = try #require(found)
      let fault = FailingRead(readCount, on: disk)
      do { try call(engine, tree) } catch let error as StorageError {
        try require(error.code == .inputOutput, "read \(readCount): \(error)")
        toldCount += 1
        try engine.read { tx in try tx.compare(tree, with: bench.model, strangers: []) }
        try call(engine, tree)
      }
      let hasFailed = fault.end()
      try engine.walkEverything()
      try engine.close()
      try prove(disk, after)
      if !hasFailed { break }
      // In the short size fewer of the later ones.
      readCount += TestSize.isFull ? 1 : 1 + readCount / 4
    }
    #expect(readCount >= least, "there were \(readCount) reads")
    #expect(toldCount > 0, "of \(readCount) errors none was told")
  }

  /// Opens the database, and throws unless it has what the model has.
  private func prove(_ disk: SimulatedDisk, _ model: SortedModel) throws {
    let engine = try disk.openEngine(Self.options)
    try engine.read { tx in
      guard let tree = tx.tree(named: "t") else { throw Mismatch("no tree") }
      try tx.compare(tree, with: model, strangers: [])
    }
    try engine.close()
  }

  // MARK: Reading

  @Test(
    "A question is answered when it is asked again", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: Question.allCases, [false, true])
  func questions(question: Question, isSameTransaction: Bool) throws {
    let bench = try Bench()
    let model = bench.model
    try failEachRead(bench, least: 5, after: model) { engine, tree in
      guard isSameTransaction else { return try engine.read { tx in try ask(question, tx, tree, model) } }
      var failure: StorageError?
      try engine.read { tx in
        do { try ask(question, tx, tree, model) } catch let error as StorageError {
          failure = error
          try ask(question, tx, tree, model)
        }
      }
      if let failure { throw failure }
    }
  }

  private func ask(
    _ question: Question, _ tx: borrowing ReadTransaction, _ tree: Tree, _ model: SortedModel
  ) throws {
    let numbers = model.keys.map(integer)
    switch question {
    case .values, .presence, .someBytes:
      for key in -1..<Int64(1010) where key % 5 == 0 { try look(question, key, tx, tree, model) }
    case .manyValues:
      var found: [[UInt8]?] = []
      try tx.withValues(count: numbers.count, in: tree, { numbers[$0] }) { _, value in
        found.append(value?.withUnsafeBytes { Array($0) })
      }
      let isSame = found.count == numbers.count && zip(found, model.values).allSatisfy { equal($0, $1) }
      try require(isSame, "values that are looked up together differ")
    case .ranks, .rangeCounts:
      for (rank, key) in numbers.enumerated() where rank % 7 == 0 {
        let found = try question == .ranks ? tx.rank(of: key, in: tree) : tx.count(in: -5..<key, of: tree)
        try require(found == rank, "\(found) keys are below \(key)")
      }
    case .forwards, .backwards:
      var cursor = try tx.cursor(tree)
      var keys: [Int64] = []
      while try question == .forwards ? cursor.next() : cursor.previous() { keys.append(cursor.integerKey ?? -1) }
      try require(keys.elementsEqual(question == .forwards ? numbers : numbers.reversed()), "a walk differs")
    case .places:
      var cursor = try tx.cursor(tree)
      for rank in stride(from: 0, to: numbers.count, by: 9) {
        let isThere = try cursor.seek(toIndex: rank)
        try require(isThere && cursor.integerKey == numbers[rank], "entry \(rank) is another one")
      }
    }
  }

  private func look(
    _ question: Question, _ key: Int64, _ tx: borrowing ReadTransaction, _ tree: Tree, _ model: SortedModel
  ) throws {
    let expected = model[orderedKey(key)]
    switch question {
    case .presence:
      let isThere = try tx.contains(key, in: tree)
      try require(isThere == (expected != nil), "key \(key) is there: \(isThere)")
    case .someBytes:
      let found = try tx.value(for: key, in: tree, range: 10..<700)
      try require(equal(found, expected.map { Array($0.dropFirst(10).prefix(690)) }), "some bytes of \(key) differ")
    default:
      let found = try tx.value(for: key, in: tree)
      try require(equal(found, expected), "the value of \(key) differs")
    }
  }

  // MARK: Writing

  @Test(
    "A transaction that fails changes nothing, and commits when it is run again",
    .enabled(if: TestSize.hasSlowTests, "slow"), arguments: Change.allCases)
  func changes(change: Change) throws {
    let bench = try Bench()
    var after = bench.model
    for (key, value) in Self.effect(change, bench.model) {
      if let value { _ = after.put(value, orderedKey(key)) } else { _ = after.delete(orderedKey(key)) }
    }
    try failEachRead(bench, least: 3, after: after) { engine, tree in
      try engine.write { tx in try make(change, tx, tree, bench.model) }
    }
  }

  /// The entries that a change leaves: values under keys, nil where there is none then.
  private static func effect(_ change: Change, _ model: SortedModel) -> [(key: Int64, value: [UInt8]?)] {
    let keys = model.keys.map(integer)
    func value(_ key: Int64, _ count: Int) -> [UInt8] { [UInt8](marked: Int(key) + 1, count: count) }
    switch change {
    case .puts, .savepoint: return stride(from: 0, to: keys.count, by: 11).map { (keys[$0], value(keys[$0], 50)) }
    case .longPuts: return stride(from: 0, to: keys.count, by: 23).map { (keys[$0], value(keys[$0], 900)) }
    case .inserts: return stride(from: 2000, to: 2400, by: 10).map { ($0, value($0, 30)) }
    case .deletes: return stride(from: 0, to: keys.count, by: 3).map { (keys[$0], nil) }
    case .rangeDeletion: return keys.filter { (100..<700).contains($0) }.map { ($0, nil) }
    case .deferredPuts: return stride(from: 0, to: 1000, by: 3).map { ($0 * 37 % 1009, value($0, 40)) }
    case .bulkLoad: return stride(from: 1, to: 1000, by: 4).map { ($0, value($0, 40)) }
    }
  }

  private func make(
    _ change: Change, _ tx: borrowing WriteTransaction, _ tree: Tree, _ model: SortedModel
  ) throws {
    let effect = Self.effect(change, model)
    switch change {
    case .rangeDeletion:
      let count = try tx.deleteRange(Int64(100)..<700, in: tree)
      try require(count == effect.count, "\(count) entries went")
    case .bulkLoad:
      try tx.bulkLoad(into: tree) { loader in
        for (key, value) in effect { try loader.append(value ?? [], for: key) }
      }
    case .savepoint:
      struct Undone: Error {}
      do {
        try tx.savepoint { tx in
          for key in model.keys.map(integer) where key % 2 == 0 { try tx.delete(key, in: tree) }
          throw Undone()
        }
      } catch is Undone {}
      for (key, value) in effect { try tx.put(value ?? [], for: key, in: tree) }
    default:
      for (key, value) in effect {
        if let value { try tx.put(value, for: key, in: tree) } else { try tx.delete(key, in: tree) }
      }
    }
  }

  @Test("A checkpoint that fails is made again")
  func checkpoints() throws {
    let bench = try Bench()
    var after = bench.model
    for number in 0..<60 { _ = after.put([UInt8](marked: number, count: 20), orderedKey(Int64(number * 17))) }
    try failEachRead(bench, least: 1, after: after) { engine, tree in
      // Nothing that is committed goes with an error of the checkpoint's.
      try engine.write { tx in
        for number in 0..<60 { try tx.put([UInt8](marked: number, count: 20), for: Int64(number * 17), in: tree) }
      }
      var failure: StorageError?
      do { try engine.checkpoint() } catch let error as StorageError { failure = error }
      if let failure {
        try require(failure.code == .inputOutput, "\(failure)")
        try engine.read { tx in try tx.compare(tree, with: after, strangers: []) }
        try engine.checkpoint()
      }
    }
  }

  // MARK: Opening

  @Test("A database that could not be opened is opened, and has all that was acknowledged", arguments: [false, true])
  func openings(isKilled: Bool) throws {
    let bench = try Bench(isKilled: isKilled)
    var (readCount, toldCount) = (0, 0)
    while true {
      let disk = bench.disk.processKillImage()
      let fault = FailingRead(readCount, on: disk)
      var engine: StorageEngine?
      do { engine = try disk.openEngine(Self.options) } catch let error as StorageError {
        try require(error.code == .inputOutput, "read \(readCount): \(error)")
        toldCount += 1
      }
      let hasFailed = fault.end()
      try engine?.close()
      try prove(disk, bench.model)
      if !hasFailed { break }
      readCount += 1
    }
    #expect(readCount >= 2 && toldCount > 0, "of \(readCount) errors \(toldCount) were told")
  }
}
