// Disks of a few MiB: most of them is for the rows, and deletes work when it is full.

import QuireStorage
import QuireTesting
import Testing

@Suite struct SmallDiskTests {
  private static func open(_ disk: SimulatedDisk) throws -> StorageEngine {
    try StorageEngine(
      at: "/db", options: StorageOptions(), environment: StorageEnvironment(fileSystem: disk, scheduling: .stepped))
  }

  /// Puts rows, ten at a time, until the disk is full. Returns how many there are then.
  private static func fill(_ engine: StorageEngine, _ tree: Tree, from first: Int64) throws -> Int64 {
    var next = first
    while true {
      do {
        try engine.write { tx in
          for key in next..<next + 10 {
            try tx.put([UInt8](repeating: UInt8(key & 0x7f), count: 100), for: key, in: tree)
          }
        }
        next += 10
      } catch let error as StorageError where error.code == .diskFull { return next }
    }
  }

  @Test(
    "On a small disk, four tenths of it are payload when it is full; then deletes work, and make room again",
    .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: TestSize.isFull ? [2, 4, 8, 24] : [2, 4])
  func mostOfASmallDiskIsForRows(mebibytes: Int) throws {
    let disk = SimulatedDisk()
    disk.capacity = mebibytes << 20
    var engine = try Self.open(disk)
    let tree = try engine.write { tx in try tx.createTree("rows", keys: .int64) }
    let count = try Self.fill(engine, tree, from: 0)
    #expect(Int(count) * 108 * 10 > (mebibytes << 20) * 4, "\(count) rows of 108 bytes fit")
    // All but the last hundred go, some at a time.
    for start in stride(from: 0, to: count - 100, by: 50) {
      try engine.write { tx in for key in start..<start + 50 where key < count - 100 { try tx.delete(key, in: tree) } }
    }
    try engine.checkpoint()
    let again = try Self.fill(engine, tree, from: count)
    #expect(again - count > count / 2, "\(again - count) rows fit after \(count) were deleted")
    try engine.verify()
    try engine.close()
    // Opened on the full disk, where the log must find room.
    engine = try Self.open(disk)
    try engine.write { tx in for key in count..<count + 50 { try tx.delete(key, in: tree) } }
    let left = try engine.read { tx in try tx.count(of: tree) }
    #expect(left == Int(again - count) + 100 - 50)
    try engine.close()
  }

  @Test("A disk with room for a small log and nothing else lets a database be opened and rows be deleted")
  func noRoomForTheUsualLog() throws {
    let disk = SimulatedDisk()
    var engine = try Self.open(disk)
    let tree = try engine.write { tx in try tx.createTree("rows", keys: .int64) }
    try engine.write { tx in
      for key in 0..<20_000 as Range<Int64> { try tx.put([UInt8](repeating: 7, count: 100), for: key, in: tree) }
    }
    try engine.close()
    disk.capacity = disk.usedByteCount + (512 << 10)
    engine = try Self.open(disk)
    try engine.write { tx in for key in 0..<100 as Range<Int64> { try tx.delete(key, in: tree) } }
    let left = try engine.read { tx in try tx.count(of: tree) }
    #expect(left == 19_900)
    try engine.close()
  }
}
