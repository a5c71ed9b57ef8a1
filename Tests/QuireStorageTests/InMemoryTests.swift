// Databases without files.

import QuireStorage
import QuireTesting
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite struct InMemoryTests {
  private func open(cacheSize: Int = 1 << 20, scheduling: Scheduling = .stepped) throws -> StorageEngine {
    try StorageEngine.inMemory(
      options: StorageOptions(cacheSize: cacheSize, logLimit: 256 << 10),
      environment: StorageEnvironment(scheduling: scheduling, initialSegmentByteCount: 64 << 10))
  }

  /// The same operations on a disk and in memory leave the same, whatever the size of the cache.
  @Test(arguments: [128 << 10, 64 << 20]) func doesWhatADiskDoes(cacheSize: Int) throws {
    let (memory, tiny) = (try open(cacheSize: cacheSize), TinyDatabase())
    let disk = try tiny.open()
    let count = TestSize.trials(600, divisor: 6)
    for seed in UInt64(1)...4 {
      for engine in [memory, disk] { try TinyDatabase.fill(engine, count: count, seed: seed, longOneIn: 9) }
      if seed == 2 { try memory.checkpoint() }
      let (found, expected) = (try DatabaseContent(of: memory), try DatabaseContent(of: disk))
      #expect(found == expected, "seed \(seed)")
    }
    try memory.verify()
    #expect(memory.statistics.checkpoints > 0)
    #expect(throws: StorageError.self) {
      try memory.write { (tx) -> Void in
        guard let tree = tx.tree(named: "texts") else { return }
        try tx.dropTree(tree)
        try tx.rollback()
      }
    }
    let (found, expected) = (try DatabaseContent(of: memory), try DatabaseContent(of: disk))
    #expect(found == expected)
    try memory.close()
    try disk.close()
  }

  @Test func snapshotsAndSavepoints() throws {
    let engine = try open()
    try TinyDatabase.fill(engine, count: 400)
    let before = try DatabaseContent(of: engine)
    var pin: PinnedSnapshot? = try engine.pin()
    for seed in UInt64(5)...9 { try TinyDatabase.fill(engine, count: 400, seed: seed) }
    let names = try pin?.read { tx in
      var counts: [Int] = []
      for name in tx.treeNames { if let tree = tx.tree(named: name) { counts.append(try tx.count(of: tree)) } }
      return counts
    }
    #expect(names == before.trees.keys.sorted().map { before.trees[$0]?.count ?? 0 })
    pin = nil
    try engine.write { tx in
      guard let tree = tx.tree(named: "texts") else { throw Mismatch("the tree is gone") }
      try? tx.savepoint { inner in
        try inner.put("gone", for: "savepoint", in: tree)
        throw Mismatch("enough")
      }
      let isThere = try tx.contains("savepoint", in: tree)
      #expect(!isThere)
    }
    try engine.close()
  }

  @Test func bulkLoad() throws {
    let engine = try open(cacheSize: 256 << 10)
    let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    try engine.write { tx in
      let options = BulkLoadOptions(bufferByteCount: 256 << 10)
      _ = try tx.bulkLoad(into: tree, options: options) { loader in
        for number in stride(from: Int64(30_000), to: 0, by: -1) { try loader.append("value \(number)", for: number) }
      }
    }
    let count = try engine.read { tx in try tx.count(of: tree) }
    #expect(count == 30_000)
    try engine.verify()
    try engine.close()
  }

  @Test func twoAreTwo() throws {
    let (first, second) = (try open(), try open())
    try TinyDatabase.fill(first, count: 40)
    let names = try second.read { tx in tx.treeNames }
    #expect(names.isEmpty)
    try first.close()
    try second.close()
    #expect(access("memory", F_OK) != 0 && access("memory-log0", F_OK) != 0)
  }

  /// Rows that come and go take no more than they did the first time, and maintenance gives back what they took.
  @Test func memoryIsUsedAgain() throws {
    let engine = try open(cacheSize: 256 << 10)
    let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    let value = [UInt8](repeating: 7, count: 300), long = [UInt8](repeating: 8, count: 20_000)
    var filePages: [Int] = []
    for _ in 0..<6 {
      for batch in Int64(0)..<40 {
        try engine.write { tx in
          for number in 0..<Int64(100) { try tx.put(value, for: batch * 100 + number, in: tree) }
          try tx.put(long, for: 100_000 + batch, in: tree)
        }
      }
      try engine.write { tx in _ = try tx.deleteRange(from: Int64.min, to: Int64.max, in: tree) }
      try engine.checkpoint()
      try engine.checkpoint()
      filePages.append(engine.statistics.filePages)
    }
    #expect(filePages[5] <= filePages[1] + filePages[1] / 4, "\(filePages)")
    try engine.compact()
    #expect(engine.statistics.filePages < filePages[5] / 4, "\(filePages), then \(engine.statistics.filePages)")
    try engine.close()
  }

  @Test func durabilityIsOfNoConcern() throws {
    let engine = try StorageEngine.inMemory(options: StorageOptions(durability: .full, createsIfMissing: false))
    try TinyDatabase.fill(engine, count: 40)
    try engine.flush()
    try engine.compact()
    try engine.close()
  }

  @Test func readersBesideAWriter() async throws {
    let engine = try open(cacheSize: 256 << 10, scheduling: .threads)
    let tree = try await engine.write { tx in try tx.createTree("t", keys: .int64) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<2 {
        group.addTask {
          for _ in 0..<TestSize.trials(300, divisor: 6) {
            try await engine.read { tx in
              // Every commit writes the same text under all keys.
              let first = try tx.value(for: Int64(0), in: tree), last = try tx.value(for: Int64(199), in: tree)
              try require(first == last, "two commits in one snapshot")
            }
          }
        }
      }
      group.addTask {
        for round in 0..<TestSize.trials(200, divisor: 6) {
          try await engine.write { tx in
            for number in Int64(0)..<200 { try tx.put("round \(round)", for: number, in: tree) }
          }
        }
      }
      try await group.waitForAll()
    }
    let check = try await engine.verify()
    #expect(check.defects.isEmpty)
    try engine.close()
  }
}
