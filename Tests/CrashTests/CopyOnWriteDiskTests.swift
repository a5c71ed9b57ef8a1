// Disks that find no space for what was allocated already, as file systems do that write each change to a new place.

import QuireStorage
import QuireTesting
import Synchronization
import Testing

@Suite struct CopyOnWriteDiskTests {
  private static func open(_ disk: SimulatedDisk) throws -> StorageEngine {
    let dice = Latch(SeededRandom(seed: 5))
    return try StorageEngine(
      at: "/db", options: StorageOptions(pageSize: 512, cacheSize: 256 * 512, logLimit: 64 << 10),
      environment: StorageEnvironment(
        fileSystem: disk, random: { dice.withLock { $0.next() } }, scheduling: .stepped, allowsTestPages: true,
        initialSegmentByteCount: 16 << 10))
  }

  private static func put(_ keys: Range<Int64>, in engine: StorageEngine) throws {
    try engine.write { tx in
      let tree = try tx.tree(named: "rows") ?? tx.createTree("rows", keys: .int64)
      for key in keys { try tx.put([UInt8](repeating: UInt8(key & 0x7f), count: 50), for: key, in: tree) }
    }
  }

  private static func keys(_ engine: StorageEngine) throws -> [Int64] {
    try engine.read { tx in
      guard let tree = tx.tree(named: "rows") else { return [] }
      var keys: [Int64] = []
      var cursor = try tx.cursor(tree)
      while try cursor.next() { keys.append(cursor.integerKey ?? .min) }
      return keys
    }
  }

  /// What a crash leaves.
  private static func recovered(_ disk: SimulatedDisk, _ mode: CrashMode) throws -> [Int64] {
    let image = disk.crashImage(mode)
    image.capacity = nil
    let engine = try open(image)
    try engine.verify()
    let found = try keys(engine)
    try engine.close()
    return found
  }

  private func code(_ body: () throws -> Void) -> StorageError.Code? {
    do {
      try body()
      return nil
    } catch { return (error as? StorageError)?.code }
  }

  @Test(
    "A record that finds no space, at its start or half-way, is refused as a full disk; the next one takes its place",
    arguments: [0, 1, 8, 24, 60, 200, 400])
  func recordWithoutSpace(writtenByteCount: Int) throws {
    let disk = SimulatedDisk()
    let engine = try Self.open(disk)
    try Self.put(0..<5, in: engine)
    disk.failNext(.write, of: "/db-log0", with: .errorAfter(writtenByteCount, SystemCode.noSpace))
    #expect(code { try Self.put(100..<110, in: engine) } == .diskFull)
    #expect(try Self.keys(engine) == Array(0..<5))
    // Nothing of it comes back, whatever the disk has kept.
    for mode in [CrashMode.allOld, .allNew] + (0..<8).map({ .random($0) }) {
      #expect(try Self.recovered(disk, mode) == Array(0..<5))
    }
    // Shorter than what stands there, so that some of that stands behind it.
    try Self.put(5..<6, in: engine)
    for mode in [CrashMode.allOld, .allNew] + (0..<8).map({ .random($0) }) {
      #expect(try Self.recovered(disk, mode) == Array(0..<6))
    }
    try Self.put(6..<30, in: engine)
    try engine.checkpoint()
    #expect(try Self.recovered(disk, .allOld) == Array(0..<30))
    try engine.close()
  }

  @Test(
    "A record that is there in full although the write was refused ends all writing: nobody knows what a crash leaves")
  func recordThatIsThereAllTheSame() throws {
    let disk = SimulatedDisk()
    let engine = try Self.open(disk)
    try Self.put(0..<5, in: engine)
    disk.failNext(.write, of: "/db-log0", with: .errorAfter(1 << 20, SystemCode.noSpace))
    #expect(code { try Self.put(5..<10, in: engine) } != .diskFull)
    #expect(code { try Self.put(10..<11, in: engine) } == .failStop)
    #expect(try Self.keys(engine) == Array(0..<5))
    let found = try Self.recovered(disk, .allNew)
    #expect(found == Array(0..<5) || found == Array(0..<10))
  }

  @Test("Pages that find no space in a checkpoint leave the one before, and the next one is done")
  func checkpointWithoutSpace() throws {
    let disk = SimulatedDisk()
    let engine = try Self.open(disk)
    try Self.put(0..<50, in: engine)
    for skipped in 0..<4 {
      let count = Int64(100 + 50 * skipped)
      try Self.put(count - 50..<count, in: engine)
      // Each checkpoint writes several pages before it comes to its meta page.
      disk.failNext(.write, of: "/db", skipping: skipped, with: .errorAfter(100, SystemCode.noSpace))
      #expect(code { try engine.checkpoint() } == .diskFull)
      #expect(try Self.recovered(disk, .allOld) == Array(0..<count))
      try engine.checkpoint()
    }
    try engine.verify()
    try engine.close()
  }

  @Test("A disk that is full for whatever is written, for a while: no commit is lost, none comes back, and it goes on")
  func fullForEveryWrite() throws {
    for seed in 0..<UInt64(TestSize.trials(40, divisor: 4)) {
      let disk = SimulatedDisk()
      disk.isCopyOnWrite = true
      var random = SeededRandom(seed: seed)
      var engine = try Self.open(disk)
      var content: [Int64] = []
      var fullCount = 0
      var next: Int64 = 0
      for _ in 0..<60 {
        if random.oneIn(6) {
          let start = disk.operationCount + random.below(12)
          disk.fill(duringOperations: start..<start + 1 + random.below(20))
        }
        let keys = next..<next + Int64(1 + random.below(12))
        next = keys.upperBound
        switch code({ try Self.put(keys, in: engine) }) {
        case nil: content += keys
        case .diskFull?:
          fullCount += 1
          #expect(try Self.recovered(disk, .random(seed)) == content, "seed \(seed)")
        case let other?:
          // The meta page found no space: only the next opening knows which one there is.
          try #require(other == .failStop || other == .outcomeUnknown, "seed \(seed): \(other)")
          _ = code { try engine.close() }
          disk.fill(duringOperations: 0..<0)
          engine = try Self.open(disk)
          let found = try Self.keys(engine)
          try #require(found == content || (other == .outcomeUnknown && found == content + keys), "seed \(seed)")
          content = found
        }
        #expect(try Self.keys(engine) == content, "seed \(seed)")
        if random.oneIn(5) { _ = code { try engine.checkpoint() } }
      }
      disk.fill(duringOperations: 0..<0)
      #expect(try Self.recovered(disk, .allOld) == content, "seed \(seed)")
      _ = code { try engine.close() }
    }
  }
}
