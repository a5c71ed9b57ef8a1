// Many threads on a database that is larger than their cache. Run under the thread sanitizer with --filter Threaded.

import QuireStorage
import QuireTesting
import Testing

@Suite struct ThreadedMemoryTests {
  private static let entryCount = 6000
  private static let rounds = 60

  /// Entries tell which key they belong to and which round wrote them, and all entries of a group are written together.
  private static func value(_ key: Int, _ round: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: key &* 7 &+ round), count: 60)
    bytes.withUnsafeMutableBytes {
      $0.storeBytes(of: UInt64(key), as: UInt64.self)
      $0.storeBytes(of: UInt64(round), toByteOffset: 8, as: UInt64.self)
    }
    return bytes
  }

  private static func check(_ bytes: RawSpan, _ key: Int) throws -> Int {
    let found = bytes.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt64.self)
    let round = Int(bytes.unsafeLoadUnaligned(fromByteOffset: 8, as: UInt64.self))
    guard found == UInt64(key), bytes.byteCount == 60 else { throw Mismatch("key \(key) shows the entry of \(found)") }
    let fill = bytes.unsafeLoad(fromByteOffset: 59, as: UInt8.self)
    guard fill == UInt8(truncatingIfNeeded: key &* 7 &+ round) else {
      throw Mismatch("the entry of key \(key) is torn")
    }
    return round
  }

  @Test(
    "Readers, cursors and pins find what their snapshots hold while pages come and go",
    .enabled(if: TestSize.hasSlowTests, "slow"))
  func readersUnderEviction() throws {
    let options = StorageOptions(pageSize: 512, cacheSize: 200 * 512, durability: .relaxed, logLimit: 128 << 10)
    let engine = try SimulatedDisk().openEngine(options, scheduling: .threads)
    let tree = try Self.fill(engine)
    let isDone = StopFlag()
    let threads = ThreadGroup()
    threads.start {
      defer { isDone.set() }
      try Self.overwrite(engine, tree)
    }
    for reader in 0..<2 {
      threads.start {
        var random = SeededRandom(seed: UInt64(100 + reader))
        while !isDone.isSet { try Self.readAtRandom(engine, tree, &random) }
      }
    }
    threads.start {
      while !isDone.isSet { try Self.scanTwice(engine, tree) }
    }
    #expect(threads.join().isEmpty)
    #expect(engine.statistics.pagesEvicted > 500)
    try engine.verify()
    try engine.close()
  }

  private static func fill(_ engine: StorageEngine) throws -> Tree {
    try engine.write { tx in
      let tree = try tx.createTree("t", keys: .int64)
      for key in 0..<entryCount { try tx.put(value(key, 0), for: Int64(key), in: tree) }
      return tree
    }
  }

  private static func overwrite(_ engine: StorageEngine, _ tree: Tree) throws {
    var random = SeededRandom(seed: 3)
    for round in 1...rounds {
      let first = random.below(entryCount - 200)
      try engine.write { tx in
        for key in first..<(first + 200) { try tx.put(value(key, round), for: Int64(key), in: tree) }
      }
      if round % 20 == 0 { try engine.checkpoint() }
    }
  }

  private static func readAtRandom(_ engine: StorageEngine, _ tree: Tree, _ random: inout SeededRandom) throws {
    let keys = (0..<50).map { _ in random.below(entryCount) }
    try engine.read { tx in
      for key in keys {
        let round = try tx.withValue(for: Int64(key), in: tree) { outer in
          // The inner loan must not take the outer one's bytes away.
          let other = (key + 1) % entryCount
          _ = try tx.withValue(for: Int64(other), in: tree) { try check($0, other) }
          return try check(outer, key)
        }
        if round == nil { throw Mismatch("key \(key) is gone") }
      }
    }
  }

  /// A pinned snapshot shows the same from beginning to end, twice.
  private static func scanTwice(_ engine: StorageEngine, _ tree: Tree) throws {
    let pin = try engine.pin()
    var sums: [Int] = []
    for _ in 0..<2 {
      try pin.read { tx in
        var cursor = try tx.cursor(tree)
        var (key, sum) = (0, 0)
        while try cursor.next() {
          sum = sum &* 31 &+ (try cursor.withValue { try check($0, key) } ?? -1)
          key += 1
        }
        guard key == entryCount else { throw Mismatch("a scan found \(key) of \(entryCount) entries") }
        sums.append(sum)
      }
    }
    guard sums[0] == sums[1] else { throw Mismatch("a pinned snapshot has changed") }
  }
}
