// Range deletes against a sorted array: ranges of every size and position, in trees of every shape.

import QuireStorage
import QuireTesting
import Testing

@Suite struct DeleteRangeTests {
  /// A tree with its model.
  private struct Run {
    let engine: StorageEngine
    let tree: Tree
    let keys: [[UInt8]]
    let pageSize: Int
    var model = SortedModel()
    var random: SeededRandom

    init(_ kind: KeyKind, _ shape: KeyUniverse.Shape, count: Int, pageSize: Int, seed: UInt64) throws {
      self.pageSize = pageSize
      let disk = SimulatedDisk()
      engine = try disk.openEngine(StorageOptions(pageSize: pageSize, cacheSize: 64 << 20, logLimit: 256 << 10))
      tree = try engine.write { tx in try tx.createTree("t", keys: kind) }
      let limit = min(60, Limits.keyByteCount(pageSize: pageSize))
      keys = KeyUniverse(count: count, shape: shape, maximumLength: limit, seed: seed).keys
      random = SeededRandom(seed: seed)
    }

    mutating func fill(_ tx: borrowing WriteTransaction, count: Int) throws {
      for _ in 0..<count {
        let key = keys[random.below(keys.count)]
        let long = random.oneIn(12) ? random.below(5 * pageSize) : 0
        let value = [UInt8](marked: random.below(1000), count: random.below(70) + long)
        _ = model.put(value, key)
        try tx.modelPut(value, key, in: tree)
      }
    }

    /// A bound: none, a key, or a neighbour of one.
    mutating func bound() -> [UInt8]? {
      if random.oneIn(10) { return nil }
      var key = keys[random.below(keys.count)]
      if tree.keys == .int64 { return random.oneIn(3) ? orderedKey(integer(key) &+ 1) : key }
      switch random.below(6) {
      case 0: key.append(UInt8(random.below(256)))
      case 1: if !key.isEmpty { key.removeLast() }
      case 2: key = [UInt8](repeating: 255, count: random.below(1200))
      default: break
      }
      return key
    }

    mutating func deleteRange(_ tx: borrowing WriteTransaction) throws {
      var (lower, upper) = (bound(), bound())
      if let a = lower, let b = upper, precedes(b, a), !random.oneIn(10) { swap(&lower, &upper) }
      // Short ranges, too.
      if random.oneIn(2), let a = lower {
        let end = model.rank(a).rank + random.below(30)
        if end < model.count { upper = model.keys[end] }
      }
      let expected = model.deleteRange(from: lower, to: upper)
      let count = try tx.deleteRange(lower, upper, in: tree)
      try require(count == expected, "\(lower as Any) to \(upper as Any) removed \(count), expected \(expected)")
      let broken = engine.core.transactionDefects()
      try require(broken.isEmpty, "\(lower as Any) to \(upper as Any): \(broken)")
    }
  }

  @Test(
    "Range deletes agree with a sorted array", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: [512, 4096],
    [
      (KeyKind.bytes, KeyUniverse.Shape.scattered), (.bytes, .sharedPrefix), (.bytes, .mixedLengths),
      (.int64, .integers), (.int64, .consecutive),
    ])
  func agreesWithModel(pageSize: Int, kind: (KeyKind, KeyUniverse.Shape)) throws {
    for seed in 1...(trialCount(debug: 3, release: 12, divisor: 3)) {
      var run = try Run(
        kind.0, kind.1, count: pageSize == 512 ? 600 : 2000, pageSize: pageSize, seed: UInt64(seed * 77))
      for round in 0..<TestSize.trials(14, divisor: 2) {
        var draft = run
        let isRolledBack = round % 5 == 4
        do {
          try draft.engine.write { tx in
            try draft.fill(tx, count: round % 4 == 0 ? draft.keys.count : 60)
            for _ in 0..<4 {
              try draft.deleteRange(tx)
              if draft.random.oneIn(3) { try draft.fill(tx, count: 20) }
              if draft.random.oneIn(3) { try inSavepoint(tx, &draft) }
            }
            if isRolledBack { try tx.rollback() }
          }
          run = draft
        } catch let error as StorageError where error.code == .rolledBack {
          run.random = draft.random
        }
        try run.engine.read { tx in try tx.compare(run.tree, with: run.model, strangers: []) }
        try run.engine.walkEverything()
        if round % 3 == 0 {
          try run.engine.checkpoint()
          try run.engine.walkEverything(isCheckpointed: true)
        }
      }
      try run.engine.close()
    }
  }

  private func inSavepoint(_ tx: borrowing WriteTransaction, _ run: inout Run) throws {
    var inner = run
    let isRolledBack = run.random.oneIn(2)
    do {
      try tx.savepoint { tx in
        try inner.deleteRange(tx)
        try inner.fill(tx, count: 10)
        try inner.deleteRange(tx)
        if isRolledBack { try tx.rollback() }
      }
      run = inner
    } catch let error as StorageError where error.code == .rolledBack {
      run.random = inner.random
      try tx.compare(run.tree, with: run.model, strangers: [])
    }
  }

  @Test func edgesOfTheTree() throws {
    for kind in [KeyKind.bytes, .int64] {
      let engine = try SimulatedDisk().openEngine()
      let tree = try engine.write { tx in try tx.createTree("t", keys: kind) }
      func key(_ number: Int) -> [UInt8] { orderedKey(Int64(number)) }
      func fill() throws {
        try engine.write { tx in
          for number in 0..<500 {
            _ = try kind == .int64 ? tx.put([1], for: Int64(number), in: tree) : tx.put([1], for: key(number), in: tree)
          }
        }
      }
      let ranges: [(Int?, Int?, Int)] = [
        (nil, nil, 500), (0, 500, 500), (nil, 500, 500), (0, nil, 500), (0, 0, 0), (-5, 0, 0), (500, nil, 0),
        (499, nil, 1), (nil, 1, 1), (1, 499, 498), (250, 251, 1), (300, 200, 0), (-9, 900, 500), (249, nil, 251),
      ]
      for (lower, upper, expected) in ranges {
        try fill()
        let count = try engine.write { tx in
          let count = try tx.deleteRange(lower.map(key), upper.map(key), in: tree)
          #expect(engine.core.transactionDefects().isEmpty)
          return count
        }
        #expect(count == expected, "\(lower as Any) to \(upper as Any)")
        #expect(try engine.read { tx in try tx.count(of: tree) } == 500 - expected)
        try engine.walkEverything()
      }
      let removed = try engine.write { tx in try (tx.deleteAll(in: tree), tx.deleteAll(in: tree)) }
      #expect(removed == (249, 0))
      try engine.checkpoint()
      try engine.walkEverything(isCheckpointed: true)
      try engine.close()
    }
  }

  /// A bound that is longer than any key may be lies behind the longest key that it begins with.
  @Test(arguments: [512, 4096]) func boundsMayBeLongerThanKeys(pageSize: Int) throws {
    let engine = try SimulatedDisk().openEngine(StorageOptions(pageSize: pageSize))
    let tree = try engine.write { tx in try tx.createTree("t", keys: .bytes) }
    let longest = [UInt8](repeating: 7, count: Limits.keyByteCount(pageSize: pageSize))
    let bounds = [longest + [0], longest + [0, 0], longest + [255]]
    for bound in bounds {
      try engine.write { tx in
        for key in [[1], longest, [8]] { try tx.put([1], for: key, in: tree) }
      }
      let (behind, isThere) = try engine.write { tx in
        (try tx.deleteRange(from: bound, in: tree), try tx.value(for: longest, in: tree) != nil)
      }
      #expect(behind == 1 && isThere, "from a bound of \(bound.count) bytes")
      let (inFront, isGone) = try engine.write { tx in
        (try tx.deleteRange(to: bound, in: tree), try tx.value(for: longest, in: tree) == nil)
      }
      #expect(inFront == 2 && isGone, "to a bound of \(bound.count) bytes")
    }
    try engine.walkEverything()
    try engine.close()
  }

  @Test func nothingLoggedIfNothingGoes() throws {
    let engine = try SimulatedDisk().openEngine()
    let tree = try engine.write { tx in try tx.createTree("t", keys: .bytes) }
    try engine.write { tx in _ = try tx.put([1], for: "b", in: tree) }
    let before = engine.core.head.csn
    let removed = try engine.write { tx in
      try tx.deleteRange(from: "c", to: "d", in: tree) + tx.deleteRange(from: "b", to: "b", in: tree)
        + tx.deleteRange(to: "b", in: tree)
    }
    #expect(removed == 0)
    #expect(engine.core.head.csn == before)
    #expect(throws: StorageError.self) {
      try engine.write { tx in _ = try tx.deleteRange(from: 1 as Int64, in: tree) }
    }
    try engine.close()
  }

  @Test func leavesAreNotRead() throws {
    let disk = SimulatedDisk()
    let tiny = TinyDatabase(disk)
    var engine = try tiny.open()
    let tree = try engine.write { tx in
      let tree = try tx.createTree("t", keys: .int64)
      for number in 0..<40_000 { _ = try tx.put([UInt8](repeating: 1, count: 100), for: Int64(number), in: tree) }
      return tree
    }
    try engine.close()
    for drops in [false, true] {
      let copy = disk.copy()
      engine = try tiny.open(copy)
      let before = engine.statistics.pagesRead
      let removed = try engine.write { tx in
        guard drops else { return try tx.deleteRange(from: 1000 as Int64, to: 39_000, in: tree) }
        try tx.dropTree(tree)
        return 38_000
      }
      #expect(removed == 38_000)
      let read = engine.statistics.pagesRead - before
      #expect(read < 40, "\(read) pages were read of some 1100")
      try engine.checkpoint()
      try engine.checkpoint()
      try engine.walkEverything(isCheckpointed: true)
      try engine.verify()
      if !drops { #expect(try engine.read { tx in try tx.count(of: tree) } == 2000) }
      // The log has the range, not its entries.
      let again = try tiny.open(copy.processKillImage(), seed: 2)
      try again.verify()
      try again.close()
      try engine.close()
    }
  }
}

extension SortedModel {
  /// Removes the keys of a range; returns how many there were.
  fileprivate mutating func deleteRange(from lower: [UInt8]?, to upper: [UInt8]?) -> Int {
    let first = lower.map { rank($0).rank } ?? 0
    let end = max(first, upper.map { rank($0).rank } ?? count)
    for key in keys[first..<end].reversed() { _ = delete(key) }
    return end - first
  }
}

extension WriteTransaction {
  /// Deletes a range of keys given in the model's form.
  fileprivate func deleteRange(_ lower: [UInt8]?, _ upper: [UInt8]?, in tree: Tree) throws(StorageError) -> Int {
    if tree.keys == .int64 {
      switch (lower.map(integer), upper.map(integer)) {
      case (let lower?, let upper?): return try deleteRange(from: lower, to: upper, in: tree)
      case (let lower?, nil): return try deleteRange(from: lower, in: tree)
      case (nil, let upper?): return try deleteRange(to: upper, in: tree)
      case (nil, nil): return try deleteAll(in: tree)
      }
    }
    switch (lower, upper) {
    case (let lower?, let upper?): return try deleteRange(from: lower, to: upper, in: tree)
    case (let lower?, nil): return try deleteRange(from: lower, in: tree)
    case (nil, let upper?): return try deleteRange(to: upper, in: tree)
    case (nil, nil): return try deleteAll(in: tree)
    }
  }
}
