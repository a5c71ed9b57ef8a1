// Maps of free places that take several pages.

import QuireStorage
import QuireTesting
import Synchronization
import Testing

@Suite("Maps of several pages") struct LargeMapTests {
  private static func open(_ disk: SimulatedDisk) throws -> StorageEngine {
    var options = StorageOptions(pageSize: 512, cacheSize: 16 << 20, durability: .relaxed, createsIfMissing: true)
    options.maintainsWhenIdle = false
    let dice = Latch(SeededRandom(seed: 3))
    return try StorageEngine(
      at: "/db", options: options,
      environment: StorageEnvironment(
        fileSystem: disk, random: { dice.withLock { $0.next() } }, scheduling: .stepped, allowsTestPages: true))
  }

  @Test("Places that one commit frees are free in each page of the map, for the second reader, too")
  func allPagesAreWritten() throws {
    let disk = SimulatedDisk()
    var engine = try Self.open(disk)
    // A leaf has one of these; a page of the map is about 3,700 places.
    let value = [UInt8](repeating: 7, count: 300)
    let count = Int64(TestSize.isFull ? 9_000 : 4_500)
    let tree = try engine.write { tx in
      let tree = try tx.createTree("t", keys: .int64)
      for key in 0..<count { try tx.put(value, for: key, in: tree) }
      return tree
    }
    try engine.checkpoint()
    let pageCount = try #require(disk.bytes(of: "/db")).count / 512
    #expect(pageCount > Int(count) / 9 * 8)
    try engine.write { tx in
      for key in 0..<count where key % 3 > 0 { try tx.delete(key, in: tree) }
    }
    try engine.checkpoint()
    for image in TestSize.some([disk.processKillImage(), disk.crashImage(.allOld)], of: 1) {
      let decoded = try DecodedDatabase(image, path: "/db")
      #expect(decoded.trees.values.first { $0.name == "t" }?.entries.count == Int(count) / 3)
    }
    try engine.close()
    // What was freed is given out again: the file does not grow.
    engine = try Self.open(disk)
    let again = try #require(try engine.read { $0.tree(named: "t") })
    try engine.write { tx in
      for key in 0..<count where key % 3 > 0 { try tx.put(value, for: key, in: again) }
    }
    try engine.checkpoint()
    #expect(try #require(disk.bytes(of: "/db")).count / 512 < pageCount + pageCount / 8)
    try engine.verify()
    try engine.close()
  }
}
