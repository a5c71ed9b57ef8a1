// The file becomes short again, whatever interrupts that, and nobody sees anything of it but the length.

import QuireStorage
import QuireTesting
import Synchronization
import Testing

@Suite struct MaintenanceTests {
  private let options = StorageOptions(pageSize: 512, cacheSize: 4096 * 512, logLimit: 64 << 10)

  private func open(_ disk: SimulatedDisk) throws -> StorageEngine {
    let dice = Latch(SeededRandom(seed: 5))
    let environment = StorageEnvironment(
      fileSystem: disk, random: { dice.withLock { $0.next() } }, scheduling: .stepped, allowsTestPages: true,
      initialSegmentByteCount: 32 << 10)
    return try StorageEngine(at: "/db", options: options, environment: environment)
  }

  /// A database with two trees whose first parts, and so most places in front, have been removed.
  private func makeSparse(_ disk: SimulatedDisk, rows: Int64 = 1200) throws -> StorageEngine {
    let engine = try open(disk)
    let trees = try engine.write { tx in
      [try tx.createTree("numbers", keys: .int64), try tx.createTree("texts", keys: .bytes)]
    }
    for start in stride(from: 0, to: rows, by: 40) {
      try engine.write { tx in
        for key in start..<start + 40 {
          let value = [UInt8](repeating: UInt8(truncatingIfNeeded: key), count: 40)
          try tx.put(value, for: key, in: trees[0])
          try tx.put(value, for: Array("key \(key)".utf8), in: trees[1])
        }
      }
    }
    try engine.checkpoint()
    for start in stride(from: 0, to: rows * 3 / 4, by: 40) {
      try engine.write { tx in
        for key in start..<start + 40 {
          try tx.delete(key, in: trees[0])
          try tx.delete(Array("key \(key)".utf8), in: trees[1])
        }
      }
    }
    try engine.checkpoint()
    return engine
  }

  private func content(_ engine: StorageEngine) throws -> [[UInt8]: [UInt8]] {
    try engine.read { try content($0) }
  }

  private func content(_ tx: borrowing ReadTransaction) throws -> [[UInt8]: [UInt8]] {
    var found: [[UInt8]: [UInt8]] = [:]
    for name in tx.treeNames {
      guard let tree = tx.tree(named: name) else { continue }
      var cursor = try tx.cursor(tree)
      while try cursor.next() {
        found[cursor.key ?? Array("\(cursor.integerKey ?? 0)".utf8)] = try cursor.value
      }
    }
    return found
  }

  @Test func shortensTheFile() throws {
    let disk = SimulatedDisk()
    let engine = try makeSparse(disk)
    let before = try content(engine)
    let pages = engine.statistics.filePages
    var lengths: [Int] = []
    try engine.compact { _ in lengths.append(engine.statistics.filePages) }
    let after = engine.statistics
    #expect(after.filePages < pages / 2 && after.freePages < after.filePages / 3, "\(pages) \(lengths) \(after)")
    // What is kept behind the end is what the next transactions need.
    let byteCount = try #require(disk.bytes(of: "/db")).count
    #expect(byteCount <= (after.filePages + 100) * 512)
    #expect(try content(engine) == before)
    try engine.verify()
    #expect(try engine.core.maintainStep() == false, "there is nothing more to gain")
    try engine.close()
    #expect(try #require(disk.bytes(of: "/db")).count < byteCount)
    let again = try open(disk)
    #expect(try content(again) == before)
    try again.close()
  }

  @Test func pinsKeepWhatTheySee() throws {
    let disk = SimulatedDisk()
    let engine = try makeSparse(disk)
    let before = try content(engine)
    let pin = try engine.pin()
    try engine.compact()
    try engine.write { tx in
      if let tree = tx.tree(named: "texts") { try tx.dropTree(tree) }
    }
    try engine.compact()
    #expect(try pin.read { try content($0) } == before)
    try engine.verify()
  }

  @Test(
    "The power fails before each change that maintenance makes to the disk (C6)",
    .enabled(if: TestSize.hasSlowTests, "slow"))
  func crashesAnywhere() throws {
    let disk = SimulatedDisk()
    let engine = try makeSparse(disk, rows: 600)
    let before = try content(engine)
    let start = disk.changeCount
    try engine.compact()
    let changes = disk.changeCount - start
    #expect(changes > 10)
    for cut in 0..<changes {
      let disk = SimulatedDisk()
      var engine: StorageEngine? = try makeSparse(disk, rows: 600)
      disk.powerOff(beforeChange: disk.changeCount + cut)
      // The last change is the cut of the file, whose failure nobody needs to hear of.
      do { try engine?.compact() } catch { try #require(error is StorageError) }
      try #require(disk.isPoweredOff)
      engine = nil
      for mode in [CrashMode.allNew, .allOld, .random(UInt64(cut))] {
        let image = disk.crashImage(mode)
        let recovered = try open(image)
        try #require(try content(recovered) == before, "cut before change \(cut), \(mode)")
        try recovered.verify()
        try recovered.compact()
        try #require(try content(recovered) == before)
        try recovered.close()
      }
    }
  }

  @Test("A reader held for long costs what it sees, and nothing when it is gone (G18)")
  func oldReaderCostsItsView() throws {
    let disk = SimulatedDisk()
    let engine = try open(disk)
    let tree = try engine.write { tx in try tx.createTree("rows", keys: .int64) }
    func overwrite(_ count: Int) throws {
      for index in 0..<count {
        try engine.write { tx in
          try tx.put([UInt8](marked: index, count: 40), for: Int64(index * 7 % 500), in: tree)
        }
        engine.core.stepCheckpoint()
      }
    }
    try overwrite(1500)
    try engine.checkpoint()
    let size = disk.usedByteCount
    var pin: PinnedSnapshot? = try engine.pin()
    let view = engine.statistics.filePages * 512
    try overwrite(6000)
    #expect(disk.usedByteCount <= size + view + 2 * options.logLimit, "\(size) \(view) \(disk.usedByteCount)")
    let held = disk.usedByteCount
    try overwrite(3000)
    #expect(disk.usedByteCount <= held + 32 << 10, "it does not go on growing")
    withExtendedLifetime(pin) {}
    pin = nil
    try engine.write { tx in _ = try tx.put([1] as [UInt8], for: 1 as Int64, in: tree) }
    try engine.compact()
    #expect(disk.usedByteCount <= size + 2 * options.logLimit, "\(size) \(disk.usedByteCount)")
  }
}

extension [UInt8] {
  fileprivate init(marked number: Int, count: Int) {
    self.init(repeating: UInt8(truncatingIfNeeded: number), count: count)
  }
}
