// Batches that put entries into nearly every leaf: leaves are merged in runs, and nothing is lost, lent twice or half
// empty for it.

import QuireStorage
import QuireTesting
import Testing

/// One run: what keys and memory look like.
private struct DenseScenario: CustomTestStringConvertible, Sendable {
  let pageSize: Int
  let cachePages: Int
  let shape: KeyUniverse.Shape
  let seed: UInt64

  var testDescription: String { "\(pageSize) \(shape), cache of \(cachePages) pages, seed \(seed)" }
  var keyKind: KeyKind { shape == .integers || shape == .consecutive ? .int64 : .bytes }
  var options: StorageOptions {
    StorageOptions(pageSize: pageSize, cacheSize: cachePages * pageSize, logLimit: 4 << 20)
  }

  static let all: [DenseScenario] = KeyUniverse.Shape.allCases.enumerated().flatMap { index, shape in
    [(512, 8192), (512, 72), (4096, 8192)].map { pageSize, cachePages in
      DenseScenario(
        pageSize: pageSize, cachePages: cachePages, shape: shape, seed: UInt64(pageSize + cachePages + index))
    }
  }
}

@Suite struct DenseBatchTests {
  private struct Abort: Error {}

  @Test(
    "Dense batches agree with a sorted array", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: TestSize.some(DenseScenario.all, of: 5))
  fileprivate func equalsModel(scenario: DenseScenario) throws {
    var disk = SimulatedDisk()
    var random = SeededRandom(seed: scenario.seed)
    let limit = Limits.keyByteCount(pageSize: scenario.pageSize)
    let keys = KeyUniverse(count: 5000, shape: scenario.shape, maximumLength: limit, seed: scenario.seed).keys
    var model = SortedModel()
    var engine = try disk.openEngine(scenario.options, seed: scenario.seed, putsBeforeDeferral: 3)
    let tree = try engine.write { tx in try tx.createTree("t", keys: scenario.keyKind) }
    for round in 0..<TestSize.trials(10, divisor: 2) {
      // All over the tree, or in one half of it; now and then a few keys alone.
      let half = random.oneIn(3) ? keys.count / 2 : keys.count
      let first = random.below(keys.count - half + 1)
      let count = random.oneIn(4) ? 20 : 700
      var changed = model
      let isRolledBack = random.oneIn(5)
      do {
        try engine.write { tx in
          for part in 0..<2 {
            for _ in 0..<count {
              let key = keys[first + random.below(half)]
              // Some that stand in pages of their own, and change places with short ones.
              let long = random.oneIn(60) ? 2 * scenario.pageSize : 0
              let value = [UInt8](marked: round, count: long + random.below(24))
              _ = changed.put(value, key)
              try tx.modelPut(value, key, in: tree)
            }
            // A question: what waited is merged, and the second half meets leaves of the transaction's own.
            if part == 0, try tx.count(of: tree) != changed.count { throw Abort() }
            if part == 0, random.oneIn(3) {
              let before = changed
              do {
                try tx.savepoint { tx in
                  for key in keys.shuffled(using: &random).prefix(count) {
                    try tx.modelPut([UInt8](marked: round, count: 9), key, in: tree)
                  }
                  throw Abort()
                }
              } catch is Abort { changed = before }
            }
          }
          let found = engine.core.transactionDefects()
          try require(found.isEmpty, "\(found.first.map { "\($0)" } ?? "")")
          if isRolledBack { throw Abort() }
        }
        model = changed
      } catch is Abort { #expect(isRolledBack) }
      try engine.read { tx in try tx.compare(tree, with: model, strangers: Array(keys.prefix(20))) }
      let isCheckpointed = random.oneIn(3)
      if isCheckpointed { try engine.checkpoint() }
      // A walk holds pages that a small cache may give to others.
      if scenario.cachePages > 1000 {
        try engine.walkEverything(isCheckpointed: isCheckpointed)
      } else {
        try engine.verify()
      }
      if random.oneIn(4) {
        // The process dies, and all of the log is replayed as one batch.
        disk = disk.processKillImage()
        engine = try disk.openEngine(scenario.options, seed: random.next(), putsBeforeDeferral: 3)
      }
    }
    try engine.verify()
    try engine.close()
  }

  @Test("A replay that removes most entries, or all, leaves no leaf empty", arguments: [60, 97, 100])
  func replayedDeletes(percent: Int) throws {
    let options = StorageOptions(pageSize: 512, cacheSize: 8 << 20, logLimit: 8 << 20)
    let disk = SimulatedDisk()
    let engine = try disk.openEngine(options, segmentByteCount: 4 << 20)
    var random = SeededRandom(seed: UInt64(percent))
    let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    try engine.write { tx in
      for number in 0..<Int64(6000) { try tx.put([UInt8](marked: 1, count: 40), for: number, in: tree) }
    }
    try engine.checkpoint()
    var model = SortedModel()
    try engine.write { tx in
      for number in 0..<Int64(6000) {
        let value = [UInt8](marked: 1, count: 40)
        if random.below(100) < percent {
          try tx.delete(number, in: tree)
        } else {
          _ = model.put(value, orderedKey(number))
        }
      }
    }
    let again = try disk.processKillImage().openEngine(options, segmentByteCount: 4 << 20)
    try again.read { tx in try tx.compare(tree, with: model, strangers: [orderedKey(17)]) }
    try again.walkEverything(isCheckpointed: true)
    let walk = try TreeWalk(again.core.head.trees[0], in: again.core.store)
    // Fourteen leaves have one branch, and what is left of them no more than one that is not full.
    if percent < 100 { #expect(walk.fill > (percent < 90 ? 0.65 : 0.35), "leaves are \(walk.fill) full") }
    try again.close()
  }

  @Test(
    "Transactions of two rows for each leaf or more keep the leaves full", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: [KeyKind.int64, .bytes])
  func keepsLeavesFull(keys: KeyKind) throws {
    let options = StorageOptions(pageSize: 4096, cacheSize: 64 << 20, logLimit: 8 << 20)
    let engine = try SimulatedDisk().openEngine(options, putsBeforeDeferral: 100)
    var random = SeededRandom(seed: 8)
    let tree = try engine.write { tx in try tx.createTree("t", keys: keys) }
    func put(_ count: Int) throws {
      try engine.write { tx in
        for _ in 0..<count {
          let number = Int64(bitPattern: random.next())
          try tx.modelPut([UInt8](repeating: 7, count: 100), orderedKey(number), in: tree)
        }
      }
    }
    for _ in 0..<8 { try put(3000) }
    let dense = try TreeWalk(engine.core.head.trees[0], in: engine.core.store)
    #expect(dense.entries == 24_000)
    #expect(dense.fill > 0.83, "leaves are \(dense.fill) full")
    // There is room for a few puts into each leaf.
    #expect(dense.fill < 0.95, "leaves are \(dense.fill) full")
    // A batch of one row for every third leaf leaves the others where they are.
    let before = dense.references
    try put(250)
    let sparse = try TreeWalk(engine.core.head.trees[0], in: engine.core.store)
    #expect(sparse.references.intersection(before).count > dense.leaves / 2)
    try engine.checkpoint()
    try engine.walkEverything(isCheckpointed: true)
    try engine.close()
  }

  @Test("A dense stretch of a sparse batch leaves the rest of the leaves alone")
  func mergesDenseStretchesAlone() throws {
    let options = StorageOptions(pageSize: 512, cacheSize: 16 << 20, logLimit: 8 << 20)
    let engine = try SimulatedDisk().openEngine(options, putsBeforeDeferral: 10)
    let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    try engine.write { tx in
      for number in 0..<Int64(20_000) { try tx.put([UInt8](marked: 1, count: 20), for: 10 * number, in: tree) }
    }
    let before = try TreeWalk(engine.core.head.trees[0], in: engine.core.store)
    try engine.write { tx in
      // Every entry of a twentieth of the tree, and one in a thousand of the rest; in no order.
      for number in (0..<1000).reversed() { try tx.put([2], for: Int64(50_000 + 10 * number + 1), in: tree) }
      for number in (0..<20).reversed() { try tx.put([3], for: Int64(10_000 * number + 2), in: tree) }
    }
    let after = try TreeWalk(engine.core.head.trees[0], in: engine.core.store)
    #expect(after.entries == 21_020)
    let kept = after.references.intersection(before.references).count
    #expect(kept > before.leaves * 8 / 10, "\(kept) of \(before.leaves) leaves stayed where they are")
    try engine.close()
  }
}
