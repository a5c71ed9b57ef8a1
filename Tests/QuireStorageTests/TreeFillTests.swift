// How full pages are, which decides how large files get.

import QuireStorage
import QuireTesting
import Testing

@Suite struct TreeFillTests {
  private func walk(_ engine: StorageEngine) throws -> TreeWalk {
    try TreeWalk(engine.core.head.trees[0], in: engine.core.store)
  }

  private func makeEngine(_ keys: KeyKind, pageSize: Int = 4096) throws -> (StorageEngine, Tree) {
    let engine = try SimulatedDisk().openEngine(StorageOptions(pageSize: pageSize, logLimit: 4 << 20))
    return (engine, try engine.write { tx in try tx.createTree("t", keys: keys) })
  }

  @Test("Ascending keys fill pages to the brim", arguments: [KeyKind.int64, .bytes])
  func ascendingKeysFillPages(keys: KeyKind) throws {
    let (engine, tree) = try makeEngine(keys)
    try engine.write { tx in
      for number in 0..<Int64(4000) {
        if keys == .int64 {
          try tx.put([UInt8](repeating: 7, count: 40), for: number, in: tree)
        } else {
          try tx.put([UInt8](repeating: 7, count: 40), for: orderedKey(number), in: tree)
        }
      }
    }
    let fill = try walk(engine).fill
    #expect(fill >= 0.95, "leaves are \(fill) full")
  }

  @Test("Keys in random order fill most of each page")
  func randomKeysFillPages() throws {
    let (engine, tree) = try makeEngine(.int64)
    var random = SeededRandom(seed: 6)
    try engine.write { tx in
      for _ in 0..<4000 {
        try tx.put([UInt8](repeating: 7, count: 40), for: Int64(bitPattern: random.next()), in: tree)
      }
    }
    let fill = try walk(engine).fill
    #expect(fill >= 0.6, "leaves are \(fill) full")
  }

  @Test("Deletes give pages back")
  func deletesMergePages() throws {
    let (engine, tree) = try makeEngine(.int64)
    try engine.write { tx in
      for number in 0..<Int64(4000) { try tx.put([UInt8](repeating: 7, count: 40), for: number, in: tree) }
    }
    let before = try walk(engine)
    try engine.write { tx in for number in 0..<Int64(4000) where number % 20 != 0 { try tx.delete(number, in: tree) } }
    let after = try walk(engine)
    #expect(after.entries == 200)
    #expect(after.leaves * 4 < before.leaves, "\(before.leaves) leaves became \(after.leaves)")
    #expect(after.fill >= 0.25)
  }
}
