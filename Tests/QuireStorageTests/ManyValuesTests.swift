// Looking many keys up at once gives what single lookups give.

import QuireStorage
import QuireTesting
import Testing

@Suite struct ManyValuesTests {
  /// Fills a tree; some of the universe's keys are left out.
  private func fill(_ engine: StorageEngine, _ universe: KeyUniverse, kind: KeyKind) throws -> Tree {
    try engine.write { tx in
      let tree = try tx.createTree("t", keys: kind)
      for (index, key) in universe.keys.enumerated() where index % 5 != 0 {
        let value = [UInt8](marked: index, count: index % 40 + (index % 50 == 1 ? 9000 : 0))
        try tx.modelPut(value, key, in: tree)
      }
      return tree
    }
  }

  @Test(
    arguments: [512, 4096],
    [
      (KeyKind.bytes, KeyUniverse.Shape.scattered), (.bytes, .sharedPrefix), (.bytes, .mixedLengths),
      (.int64, .integers), (.int64, .consecutive),
    ])
  func agreesWithSingleLookups(pageSize: Int, kind: (KeyKind, KeyUniverse.Shape)) throws {
    let disk = SimulatedDisk()
    let options = StorageOptions(pageSize: pageSize, cacheSize: 64 << 20)
    var engine = try disk.openEngine(options)
    let universe = KeyUniverse(count: 1500, shape: kind.1, maximumLength: 60, seed: 5)
    let tree = try fill(engine, universe, kind: kind.0)
    for isCold in [false, true] {
      if isCold {
        try engine.close()
        engine = try disk.openEngine(options, seed: 2)
      }
      var random = SeededRandom(seed: 3)
      for count in [0, 1, 2, 15, 16, 17, 100, 1000] {
        let keys = (0..<count).map { _ in universe.keys[random.below(universe.keys.count)] }
        try engine.read { tx in
          let found =
            try kind.0 == .int64 ? tx.values(for: keys.map(integer), in: tree) : tx.values(for: keys, in: tree)
          #expect(found == (try keys.map { try tx.modelValue($0, in: tree) }))
        }
        try engine.write { tx in
          if let first = keys.first {
            try tx.modelPut([9], first, in: tree)
          }
          let found =
            try kind.0 == .int64 ? tx.values(for: keys.map(integer), in: tree) : tx.values(for: keys, in: tree)
          #expect(found == (try keys.map { try tx.modelValue($0, in: tree) }))
        }
      }
    }
    try engine.close()
  }

  @Test func indexesAscendAndErrorsPass() throws {
    let engine = try SimulatedDisk().openEngine()
    let (tree, empty) = try engine.write { tx in
      let tree = try tx.createTree("t", keys: .bytes)
      for number in 0..<100 { _ = try tx.put("v\(number)", for: "k\(number)", in: tree) }
      return (tree, try tx.createTree("e", keys: .int64))
    }
    try engine.read { tx in
      var seen: [Int] = []
      try tx.withValues(for: (0..<50).map { "k\($0 * 3)" }, in: tree) { index, value in
        seen.append(index)
        #expect((value == nil) == (index * 3 >= 100))
      }
      #expect(seen == Array(0..<50))
      #expect(try tx.values(for: [1, 2] as [Int64], in: empty) == [nil, nil])
      // A key longer than any can be, and one that differs from a key of full length behind it.
      #expect(try tx.values(for: [[UInt8](repeating: 107, count: 5000), []], in: tree) == [nil, nil])
    }
    #expect(throws: StorageError.self) { try engine.read { tx in _ = try tx.values(for: [1 as Int64], in: tree) } }
    #expect(throws: Mismatch.self) {
      try engine.read { tx in
        try tx.withValues(for: ["k1", "k2"], in: tree) { index, _ in if index == 1 { throw Mismatch("stop") } }
      }
    }
    let missing = Tree(id: TreeID(77), keys: .bytes, hint: 0)
    #expect(throws: StorageError.self) { try engine.read { tx in _ = try tx.values(for: ["a"], in: missing) } }
    try engine.close()
  }
}
