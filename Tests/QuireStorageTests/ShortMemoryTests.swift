// What a transaction has in hand while others take the place of its pages.

import QuireStorage
import QuireTesting
import Testing

@Suite("Nothing moves under a reader when memory is short") struct ShortMemoryTests {
  private static let pageSize = 512
  private static let count = 3000

  /// A database of many times its cache, opened anew. Values of some 400 bytes have a page of their own.
  private func makeDatabase(valueByteCount: Int) throws -> (StorageEngine, Tree) {
    var tiny = TinyDatabase(pageSize: Self.pageSize)
    tiny.options.cacheSize = 256 * Self.pageSize
    var engine = try tiny.open()
    let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    for start in stride(from: 0, to: Self.count, by: 200) {
      try engine.write { tx in
        for number in start..<start + 200 {
          try tx.put(ExtentTests.value(valueByteCount, seed: number), for: Int64(number), in: tree)
        }
      }
    }
    try engine.close()
    engine = try tiny.open()
    return (engine, tree)
  }

  /// Reads every value, so that pages take the places of others.
  private func readAll(_ tx: borrowing ReadTransaction, _ tree: Tree, _ valueByteCount: Int) throws {
    for number in 0..<Self.count {
      let found = try tx.value(for: Int64(number), in: tree)
      try #require(found == ExtentTests.value(valueByteCount, seed: number))
    }
  }

  @Test func cursorsGoOnWhereTheyWere() throws {
    let (engine, tree) = try makeDatabase(valueByteCount: 40)
    try engine.read { tx in
      // It begins in plenty, and goes on into eviction.
      var cursor = try tx.cursor(tree)
      for start in stride(from: 0, to: Self.count - 10, by: 411) {
        try #require(try cursor.seek(toIndex: start))
        for step in 1..<6 {
          if step % 2 == 1 { try readAll(tx, tree, 40) }
          try #require(try cursor.next())
          let (key, value) = (cursor.integerKey, try cursor.value)
          #expect(key == Int64(start + step) && value == ExtentTests.value(40, seed: start + step))
        }
      }
    }
    #expect(engine.statistics.pagesEvicted > 500)
    try engine.close()
  }

  @Test func longValuesStayWhileTheyAreLookedAt() throws {
    let (engine, tree) = try makeDatabase(valueByteCount: 400)
    try engine.read { tx in try readAll(tx, tree, 400) }
    // Memory is short from the beginning of this one.
    try engine.read { tx in
      for number in stride(from: 7, to: Self.count, by: 500) {
        let isSame = try tx.withValue(for: Int64(number), in: tree, range: 0..<400) { span in
          try readAll(tx, tree, 400)
          return span.withUnsafeBytes { Array($0) } == ExtentTests.value(400, seed: number)
        }
        #expect(isSame == true, "value \(number)")
      }
    }
    #expect(engine.statistics.pagesEvicted > 500)
    try engine.close()
  }

  /// Leaves of two entries: each is emptied and taken out of the tree, none is joined with its neighbour.
  @Test func emptiedLeavesAreGivenUp() throws {
    var tiny = TinyDatabase(pageSize: Self.pageSize)
    tiny.options.cacheSize = 1 << 20
    let engine = try tiny.open()
    let tree = try engine.write { tx in try tx.createTree("t", keys: .bytes) }
    func key(_ number: Int) -> [UInt8] { [UInt8](repeating: 3, count: 100) + [UInt8(number)] }
    func fill(_ numbers: Range<Int>) throws {
      try engine.write { tx in
        for number in numbers { try tx.put([UInt8](repeating: 1, count: 100), for: key(number), in: tree) }
      }
    }
    try fill(0..<100)
    var used: [Int] = []
    for _ in 0..<40 {
      try engine.write { tx in
        for number in 20..<80 {
          let isThere = try tx.delete(key(number), in: tree)
          #expect(isThere)
        }
      }
      try fill(20..<80)
      try engine.checkpoint()
      used.append(engine.core.store.frames.usedCount)
    }
    #expect(used[39] <= used[9] + 4, "\(used)")
    #expect(engine.statistics.dirtyPages == 0)
    try engine.walkEverything(isCheckpointed: true)
    try engine.close()
  }
}
