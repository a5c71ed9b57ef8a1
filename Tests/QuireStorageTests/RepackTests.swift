// Packing under-filled leaves: nothing is lost, pages get full, and a walk in small steps comes to its end.

import QuireTesting
import Testing

@testable import QuireStorage

@Suite struct RepackTests {
  @Test(
    "Packing keeps every entry and fills the leaves", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: [512, 4096], KeyUniverse.Shape.allCases)
  func packsAll(pageSize: Int, shape: KeyUniverse.Shape) throws {
    let disk = SimulatedDisk()
    let options = StorageOptions(pageSize: pageSize, cacheSize: 64 << 20, logLimit: 1 << 20)
    let engine = try disk.openEngine(options)
    let kind: KeyKind = shape == .integers || shape == .consecutive ? .int64 : .bytes
    let limit = Limits.keyByteCount(pageSize: pageSize)
    let keys = KeyUniverse(count: 3000, shape: shape, maximumLength: limit, seed: 5).keys
    var random = SeededRandom(seed: UInt64(pageSize))
    var model = SortedModel()
    let tree = try engine.write { tx in try tx.createTree("t", keys: kind) }
    for round in 0..<6 {
      try engine.write { tx in
        for key in keys.shuffled(using: &random).prefix(round < 3 ? 900 : 500) {
          if round >= 3 {
            _ = model.delete(key)
            _ = try kind == .int64 ? tx.delete(integer(key), in: tree) : tx.delete(key, in: tree)
          } else {
            let value = [UInt8](marked: round, count: random.below(20) + (random.oneIn(40) ? 2 * pageSize : 0))
            _ = model.put(value, key)
            try tx.modelPut(value, key, in: tree)
          }
        }
      }
    }
    try engine.checkpoint()
    let before = try TreeWalk(engine.core.head.trees[0], in: engine.core.store)
    // As maintenance does: a few leaves at a time, from key to key.
    var key: [UInt8]?
    var steps = 0
    repeat {
      try engine.core.rearrange { (context, _) throws(StorageError) -> Bool in
        key = try context.rearrange(treeAt: 0) { (editor, root) throws(StorageError) in
          try TreeRepacker(editor, .all).repack(&root, from: key, leafLimit: 20)
        }
        return !context.born.isEmpty
      }
      // Readers see it once it is durable, the next writer at once.
      try engine.write { tx in try tx.compare(tree, with: model, strangers: []) }
      try engine.walkEverything()
      steps += 1
    } while key != nil && steps < 2000
    #expect(key == nil)
    try engine.checkpoint()
    let after = try TreeWalk(engine.core.head.trees[0], in: engine.core.store)
    #expect(after.leaves <= before.leaves)
    if shape != .mixedLengths, after.leaves > 40 { #expect(after.fill > 0.85, "\(before.fill) became \(after.fill)") }
    try engine.walkEverything(isCheckpointed: true)
    try engine.close()
    let again = try disk.openEngine(options)
    try again.read { tx in try tx.compare(tree, with: model, strangers: Array(keys.prefix(30))) }
    try again.close()
  }

  @Test("A large transaction leaves full pages behind, a small one is left alone")
  func packsLargeTransactions() throws {
    let engine = try SimulatedDisk().openEngine(StorageOptions(pageSize: 4096, logLimit: 8 << 20))
    var random = SeededRandom(seed: 6)
    let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    try engine.write { tx in
      for _ in 0..<30_000 {
        try tx.put([UInt8](repeating: 7, count: 60), for: Int64(bitPattern: random.next()), in: tree)
      }
    }
    let large = try TreeWalk(engine.core.head.trees[0], in: engine.core.store)
    #expect(large.fill > 0.95, "leaves are \(large.fill) full")
    try engine.write { tx in
      for _ in 0..<2000 {
        try tx.put([UInt8](repeating: 7, count: 60), for: Int64(bitPattern: random.next()), in: tree)
      }
    }
    let count = try engine.read { tx in try tx.count(of: tree) }
    #expect(count == 32_000)
    try engine.checkpoint()
    try engine.walkEverything(isCheckpointed: true)
  }
}
