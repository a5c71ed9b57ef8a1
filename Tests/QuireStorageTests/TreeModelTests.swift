// The trees against a sorted array: every page size, shape of key and size of value, in every order.

import QuireStorage
import QuireTesting
import Testing

/// One run: what the keys look like and in which order they come.
private struct Scenario: CustomTestStringConvertible, Sendable {
  enum Shape: CaseIterable {
    case scattered
    case sharedPrefix
    case mixedLengths
    case integers
    case consecutive
    /// A few groups with long common beginnings, and short keys between them that break the prefix of a page.
    case groups
    /// Keys that continue each other: "a", "aa", "aaa" and so on to the limit.
    case staircase
  }
  enum Order: CaseIterable {
    case uniform
    case ascending
    case descending
    case sawtooth
  }

  let pageSize: Int
  let shape: Shape
  let order: Order
  let seed: UInt64

  var testDescription: String { "\(pageSize) \(shape) \(order) seed \(seed)" }
  var keyKind: KeyKind { shape == .integers || shape == .consecutive ? .int64 : .bytes }
  var keyLimit: Int { Limits.keyByteCount(pageSize: pageSize) }
  var entryLimit: Int { Limits.entryByteCount(pageSize: pageSize) }

  static let all: [Scenario] = [512, 1024, 4096, 32768].flatMap { pageSize in
    Shape.allCases.enumerated().flatMap { index, shape in
      Order.allCases.enumerated().map { number, order in
        Scenario(pageSize: pageSize, shape: shape, order: order, seed: UInt64(pageSize + index * 10 + number))
      }
    }
  }

  /// The keys, ascending.
  func makeKeys() -> [[UInt8]] {
    let count = 250
    switch shape {
    case .scattered: return KeyUniverse(count: count, shape: .scattered, seed: seed).keys
    case .sharedPrefix:
      return KeyUniverse(count: count, shape: .sharedPrefix, maximumLength: keyLimit, seed: seed).keys
    case .mixedLengths:
      return KeyUniverse(count: count, shape: .mixedLengths, maximumLength: keyLimit, seed: seed).keys
    case .integers: return KeyUniverse(count: count, shape: .integers, seed: seed).keys
    case .consecutive: return KeyUniverse(count: count, shape: .consecutive, seed: seed).keys
    case .groups: return groups(count)
    case .staircase:
      return (0..<min(count, keyLimit)).map { [UInt8](repeating: 97, count: $0 * keyLimit / min(count, keyLimit)) }
    }
  }

  private func groups(_ count: Int) -> [[UInt8]] {
    var random = SeededRandom(seed: seed)
    var keys: Set<[UInt8]> = []
    let prefixes = (0..<5).map { group in
      [UInt8](repeating: UInt8(60 + group * 9), count: keyLimit - 3 - group * keyLimit / 8)
    }
    while keys.count < count {
      let prefix = prefixes[random.below(prefixes.count)]
      let cut = random.oneIn(6) ? random.below(prefix.count) : prefix.count
      keys.insert(Array(prefix.prefix(cut)) + (0..<random.below(4)).map { _ in UInt8(random.below(256)) })
    }
    return keys.sorted(by: precedes)
  }
}

/// Writes to an engine and to a model of it at once.
private struct ModelRun {
  let scenario: Scenario
  let keys: [[UInt8]]
  var random: SeededRandom
  var model = SortedModel()
  var picks = 0

  init(_ scenario: Scenario) {
    self.scenario = scenario
    keys = scenario.makeKeys()
    random = SeededRandom(seed: scenario.seed)
  }

  mutating func pick() -> [UInt8] {
    picks += 1
    switch scenario.order {
    case .uniform: return keys[random.below(keys.count)]
    case .ascending: return keys[picks % keys.count]
    case .descending: return keys[keys.count - 1 - picks % keys.count]
    case .sawtooth: return keys[(picks / 16 * 4 + picks % 16) % keys.count]
    }
  }

  mutating func value(beside key: [UInt8]) -> [UInt8] {
    let limit = scenario.entryLimit - (scenario.keyKind == .int64 ? 0 : key.count)
    let counts = [0, 1, limit, limit - 1, random.below(limit + 1), random.below(24), random.below(24)]
    let count = min(limit, max(0, counts[random.below(counts.count)]))
    // Now and then one that does not fit beside the key: just not, or by pages or chunks.
    guard scenario.pageSize < 4096, random.oneIn(12) else { return [UInt8](marked: picks, count: count) }
    let page = scenario.pageSize
    let long = [limit + 1, page, page + 1, 3 * page - 1, random.below(4 * page) + limit + 1, 17 * page]
    return [UInt8](marked: picks, count: long[random.below(long.count)])
  }

  /// One operation; deletes come up in `deletes` of 100.
  mutating func change(_ tx: borrowing WriteTransaction, _ tree: Tree, deletes: Int) throws {
    let key = pick()
    if random.below(100) < deletes {
      let isDeleted = try tx.modelDelete(key, in: tree)
      try require(isDeleted == model.delete(key), "delete \(key) did: \(isDeleted)")
      return
    }
    let value = value(beside: key)
    if random.oneIn(5) {
      let isNew =
        try tree.keys == .int64
        ? tx.insert(value, for: integer(key), in: tree)
        : tx.insert(value, for: key, in: tree)
      try require(isNew == (model[key] == nil), "insert \(key) did: \(isNew)")
      if isNew { _ = model.put(value, key) }
      return
    }
    if random.oneIn(2) {
      let isNew =
        try tree.keys == .int64
        ? tx.upsert(value, for: integer(key), in: tree) : tx.upsert(value, for: key, in: tree)
      try require(isNew == model.put(value, key), "put \(key) was new: \(isNew)")
    } else {
      try tx.modelPut(value, key, in: tree)
      _ = model.put(value, key)
    }
    if random.oneIn(20) {
      let found = try tx.modelValue(key, in: tree)
      try require(equal(found, value), "a value just put is \(String(describing: found))")
    }
  }

  /// Some operations, with savepoints in between, some of which are rolled back.
  mutating func changes(_ tx: borrowing WriteTransaction, _ tree: Tree, deletes: Int, depth: Int = 0) throws {
    for _ in 0..<random.below(40) {
      guard depth < 3, random.oneIn(20) else {
        try change(tx, tree, deletes: deletes)
        continue
      }
      let before = model
      var inner = self
      let isRolledBack = random.oneIn(2)
      do {
        try tx.savepoint { tx in
          try inner.changes(tx, tree, deletes: deletes, depth: depth + 1)
          if isRolledBack { try tx.rollback() }
        }
      } catch let error as StorageError where error.code == .rolledBack {
        inner.model = before
      }
      self = inner
      if random.oneIn(8) { try tx.compare(tree, with: model, strangers: []) }
    }
  }
}

@Suite struct TreeModelTests {
  @Test("Trees agree with a sorted array", arguments: TestSize.some(Scenario.all, of: 9))
  fileprivate func agreesWithModel(scenario: Scenario) throws {
    do {
      try run(scenario)
    } catch let error as Mismatch {
      Issue.record("\(scenario.testDescription): \(error)")
    }
  }

  private func run(_ scenario: Scenario) throws {
    var disk = SimulatedDisk()
    let options = StorageOptions(pageSize: scenario.pageSize, cacheSize: 64 << 20, logLimit: 256 << 10)
    var engine = try disk.openEngine(
      options, seed: scenario.seed, putsBeforeDeferral: scenario.seed % 2 == 0 ? 0 : 2000)
    var run = ModelRun(scenario)
    let tree = try engine.write { tx in try tx.createTree("t", keys: scenario.keyKind) }
    // Fill, churn, drain, fill again.
    for (batches, deletes) in [(5, 5), (3, 45), (4, 95), (2, 30)] {
      for _ in 0..<batches {
        let before = run.model
        let isRolledBack = run.random.oneIn(6)
        do {
          try engine.write { tx in
            try run.changes(tx, tree, deletes: deletes)
            if isRolledBack { try tx.rollback() }
          }
        } catch let error as StorageError where error.code == .rolledBack {
          run.model = before
        }
        try compare(engine, tree, &run)
        if run.random.oneIn(4) {
          try engine.checkpoint()
          try engine.walkEverything(isCheckpointed: true)
        }
        if run.random.oneIn(8) {
          if run.random.oneIn(2) { try engine.close() }
          // The process dies: its locks go, its writes stay.
          disk = disk.processKillImage()
          engine = try disk.openEngine(options, seed: run.random.next(), putsBeforeDeferral: 2)
          try compare(engine, tree, &run)
        }
      }
    }
    try drain(engine, tree, &run)
    try engine.close()
  }

  private func compare(_ engine: StorageEngine, _ tree: Tree, _ run: inout ModelRun) throws {
    let strangers = (0..<10).map { _ in run.pick() }
    try engine.read { tx in try tx.compare(tree, with: run.model, strangers: strangers) }
    try engine.walkEverything()
  }

  /// Deletes all that is left, fills the tree again and checks both.
  private func drain(_ engine: StorageEngine, _ tree: Tree, _ run: inout ModelRun) throws {
    try engine.write { tx in
      for key in run.model.keys {
        let isDeleted = try tx.modelDelete(key, in: tree)
        try require(isDeleted, "\(key) is not there to be deleted")
      }
    }
    run.model = SortedModel()
    try compare(engine, tree, &run)
    try engine.write { tx in for _ in 0..<100 { try run.change(tx, tree, deletes: 0) } }
    try compare(engine, tree, &run)
    try engine.checkpoint()
    try engine.walkEverything(isCheckpointed: true)
  }
}
