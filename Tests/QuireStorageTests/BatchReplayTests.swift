// Replay in bulk against a sorted array: shapes of keys, deletes, trees that come and go, errors.

import QuireStorage
import QuireTesting
import Testing

/// One run: what the keys look like, and how much of the tree is in the log.
private struct ReplayScenario: CustomTestStringConvertible, Sendable {
  let pageSize: Int
  let shape: KeyUniverse.Shape
  let deletes: Int
  let checkpoints: Bool
  let seed: UInt64

  var testDescription: String {
    "\(pageSize) \(shape), \(deletes) % deletes, checkpoints: \(checkpoints), seed \(seed)"
  }
  var keyKind: KeyKind { shape == .integers || shape == .consecutive ? .int64 : .bytes }

  static let all: [ReplayScenario] = [512, 4096].flatMap { pageSize in
    [KeyUniverse.Shape.scattered, .sharedPrefix, .mixedLengths, .integers, .consecutive].enumerated().flatMap {
      index, shape in
      [(0, true), (10, false), (50, true), (90, true)].enumerated().map { number, load in
        ReplayScenario(
          pageSize: pageSize, shape: shape, deletes: load.0, checkpoints: load.1,
          seed: UInt64(pageSize + index * 10 + number))
      }
    }
  }
}

@Suite struct BatchReplayTests {
  @Test("A log that is long enough for a thread which touches memory ahead is replayed like any other")
  func longLog() throws {
    let options = StorageOptions(pageSize: 4096, cacheSize: 64 << 20, logLimit: 16 << 20)
    let disk = SimulatedDisk()
    let engine = try disk.openEngine(options, segmentByteCount: 16 << 20)
    let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    let count = 40_000
    for start in stride(from: 0, to: count, by: 2000) {
      try engine.write { tx in
        for number in start..<(start + 2000) {
          try tx.put([UInt8](marked: number, count: 120), for: Int64(number &* 7919 % count), in: tree)
        }
      }
    }
    let again = try disk.processKillImage().openEngine(options, scheduling: .threads, segmentByteCount: 16 << 20)
    #expect(again.statistics.recoveredRecords > 20)
    try again.read { tx in
      #expect(try tx.count(of: tree) == count)
      for number in stride(from: 0, to: count, by: 97) {
        let value = try tx.value(for: Int64(number &* 7919 % count), in: tree)
        #expect(value == [UInt8](marked: number, count: 120))
      }
    }
    #expect(again.core.store.pool.checkInvariants() == nil)
    try again.verify()
    try again.close()
  }

  @Test(
    "What is replayed is what was committed", .enabled(if: TestSize.hasSlowTests, "slow"), arguments: ReplayScenario.all
  )
  fileprivate func equalsModel(scenario: ReplayScenario) throws {
    let options = StorageOptions(pageSize: scenario.pageSize, cacheSize: 64 << 20, logLimit: 4 << 20)
    var disk = SimulatedDisk()
    var random = SeededRandom(seed: scenario.seed)
    let limit = Limits.keyByteCount(pageSize: scenario.pageSize)
    let keys = KeyUniverse(count: 900, shape: scenario.shape, maximumLength: limit, seed: scenario.seed).keys
    var model = SortedModel()
    var engine = try disk.openEngine(options, seed: scenario.seed, segmentByteCount: 2 << 20)
    let tree = try engine.write { tx in try tx.createTree("t", keys: scenario.keyKind) }
    for round in 0..<TestSize.trials(3, divisor: 2, least: 2) {
      // Whole stretches of keys are hit in one round, so that leaves fall empty and many entries come at one place.
      let first = random.below(keys.count)
      for _ in 0..<TestSize.trials(12, divisor: 3) {
        try engine.write { tx in
          for _ in 0..<random.below(60) {
            let key = keys[(first + random.below(round == 1 ? 80 : keys.count)) % keys.count]
            if random.below(100) < scenario.deletes {
              _ = try tx.modelDelete(key, in: tree)
              _ = model.delete(key)
              continue
            }
            let room = Limits.entryByteCount(pageSize: scenario.pageSize) - (tree.keys == .int64 ? 0 : key.count)
            let long = random.oneIn(9) ? room + random.below(2 * scenario.pageSize) : 0
            let count = max(long, random.below(random.oneIn(3) ? room + 1 : 24))
            let value = [UInt8](marked: random.below(1000), count: count)
            _ = model.put(value, key)
            try tx.modelPut(value, key, in: tree)
          }
        }
      }
      // The process dies: its locks go, its writes stay.
      disk = disk.processKillImage()
      engine = try disk.openEngine(options, seed: random.next(), segmentByteCount: 2 << 20)
      try engine.read { tx in try tx.compare(tree, with: model, strangers: Array(keys.prefix(20))) }
      try engine.walkEverything(isCheckpointed: true)
      if scenario.checkpoints { try engine.checkpoint() }
    }
    try engine.close()
  }

  @Test("Trees that are made, dropped and made again keep their place among the puts")
  func keepsOrderAroundTrees() throws {
    let disk = SimulatedDisk()
    let engine = try disk.openEngine()
    var expected: [String: Int] = [:]
    var random = SeededRandom(seed: 5)
    for number in 0..<60 {
      let name = "t\(random.below(4))"
      try engine.write { tx in
        if let old = tx.tree(named: name), random.oneIn(2) {
          try tx.dropTree(old)
          expected[name] = nil
        }
        let tree = try tx.tree(named: name) ?? tx.createTree(name, keys: .bytes)
        for key in 0..<10 { try tx.put("\(number)", for: "\(name)/\(key)/\(number)", in: tree) }
        expected[name, default: 0] += 10
        _ = try tx.allocateRowIDs(3)
      }
    }
    let again = try disk.processKillImage().openEngine()
    try again.read { tx in
      #expect(tx.treeNames == expected.keys.sorted())
      for name in tx.treeNames {
        guard let tree = tx.tree(named: name) else { continue }
        let count = try tx.count(of: tree)
        #expect(count == expected[name])
      }
    }
    let next = try again.write { tx in try tx.allocateRowIDs() }
    #expect(next == 181)
    try again.walkEverything()
  }

  @Test("Of several operations on a key the last one counts, whatever its record")
  func lastOperationWins() throws {
    let disk = SimulatedDisk()
    let engine = try disk.openEngine()
    let tree = try engine.write { tx in try tx.createTree("t", keys: .bytes) }
    for round in 0..<5 {
      try engine.write { tx in
        for key in 0..<100 {
          try tx.put("a\(round)", for: "k\(key)", in: tree)
          if key % 3 == 0 { try tx.delete("k\(key)", in: tree) }
          if key % 6 == 0 { try tx.put("b\(round)", for: "k\(key)", in: tree) }
        }
      }
    }
    let again = try disk.processKillImage().openEngine()
    try again.read { tx in
      for key in 0..<100 {
        let value = try tx.value(for: "k\(key)", in: tree)
        let expected = key % 6 == 0 ? "b4" : key % 3 == 0 ? nil : "a4"
        #expect(value == expected.map { Array($0.utf8) }, "k\(key)")
      }
    }
  }
}

@Suite struct OperationSorterTests {
  /// Sorts copies of `keys` and compares with the library's stable sort.
  private func check(_ keys: [[UInt8]], seed: UInt64) {
    let bytes = keys.flatMap { $0 }
    bytes.withUnsafeBytes { buffer in
      var operations: [SortableOperation] = []
      var offset = 0
      for (index, key) in keys.enumerated() {
        let place = UnsafeRawBufferPointer(rebasing: buffer[offset..<(offset + key.count)])
        // The number of the operation stands where the length of its value would.
        let value = UnsafeRawBufferPointer(
          start: place.baseAddress.map { $0 + key.count } ?? UnsafeRawPointer(bitPattern: 8), count: index)
        operations.append(SortableOperation(key: place, value: value))
        offset += key.count
      }
      let sorter = OperationSorter()
      let count = operations.withUnsafeMutableBufferPointer { sorter.sort($0, .bytes) }
      var last: [[UInt8]: Int] = [:]
      for (index, key) in keys.enumerated() { last[key] = index }
      let expected = last.keys.sorted(by: precedes)
      #expect(count == expected.count, "seed \(seed)")
      for (operation, key) in zip(operations, expected) {
        let found = Array(UnsafeRawBufferPointer(start: operation.key, count: Int(operation.keyCount)))
        #expect(found == key && Int(operation.valueCount) == last[key], "seed \(seed)")
      }
    }
  }

  @Test(
    "Operations come out in the order of their keys, the last of each",
    arguments: TestSize.some(0..<UInt64(40), of: 14))
  func sorts(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let alphabet = [2, 3, 256][random.below(3)]
    let start = [UInt8](repeating: 7, count: [0, 3, 8, 20][random.below(4)])
    let count = [1, 2, 17, 300, 3000][random.below(5)]
    check(
      (0..<count).map { _ in start + (0..<random.below(12)).map { _ in UInt8(random.below(alphabet)) } }, seed: seed)
  }

  /// Two collections, one of whose rows is as large as a radix pass wants: the keys of each share more than a head, and
  /// some are no longer than what all share, or end in zeros.
  @Test("Large groups whose keys begin alike come out in order", arguments: TestSize.some(0..<UInt64(20), of: 5))
  func sortsBehindCommonPrefix(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let start = [UInt8](repeating: 7, count: [7, 8, 9, 15, 300][random.below(5)])
    var keys: [[UInt8]] = []
    for _ in 0..<6000 {
      let row = (0..<random.below(random.oneIn(2) ? 20 : 3)).map { _ in random.oneIn(9) ? 0 : UInt8(random.below(256)) }
      keys.append(start + [UInt8(random.oneIn(5) ? 1 : 2)] + (seed % 3 == 0 ? [5] : []) + row)
    }
    if seed % 2 == 0 { keys.append(start) }
    check(keys, seed: seed)
  }

  @Test("Integer keys keep their order, and the last operation on each")
  func sortsIntegers() {
    var random = SeededRandom(seed: 3)
    let keys = (0..<5000).map { _ in random.oneIn(2) ? random.next() : UInt64(random.below(300)) }
    var operations = keys.enumerated().map { index, key in
      SortableOperation(key: key, value: UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: 8), count: index))
    }
    let count = operations.withUnsafeMutableBufferPointer { OperationSorter().sort($0, .int64) }
    var last: [UInt64: Int] = [:]
    for (index, key) in keys.enumerated() { last[key] = index }
    #expect(operations[..<count].map(\.head) == last.keys.sorted())
    #expect(operations[..<count].allSatisfy { last[$0.head] == Int($0.valueCount) })
  }
}
