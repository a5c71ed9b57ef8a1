// Compaction: the file shrinks to what it holds, long values included, whatever interrupts it.

import QuireStorage
import QuireTesting
import Testing

@Suite struct CompactionTests {
  private struct Enough: Error {}

  /// Puts rows whose values have lengths of `lengths` in turn, and removes every other one.
  private func makeSparse(
    _ engine: StorageEngine, rows: Int, lengths: [Int], seed: UInt64 = 4
  ) throws -> (content: [Int64: [UInt8]], payload: Int) {
    var random = SeededRandom(seed: seed)
    var content: [Int64: [UInt8]] = [:]
    let tree = try engine.write { tx in try tx.createTree("rows", keys: .int64) }
    for start in stride(from: 0, to: rows, by: 20) {
      try engine.write { tx in
        for key in start..<min(start + 20, rows) {
          let value = [UInt8](marked: key, count: lengths[random.below(lengths.count)])
          content[Int64(key)] = value
          try tx.put(value, for: Int64(key), in: tree)
        }
      }
    }
    try engine.checkpoint()
    for start in stride(from: 0, to: rows, by: 20) {
      try engine.write { tx in
        for key in start..<min(start + 20, rows) where random.oneIn(2) {
          content[Int64(key)] = nil
          try tx.delete(Int64(key), in: tree)
        }
      }
    }
    try engine.checkpoint()
    return (content, content.values.reduce(0) { $0 + $1.count + 8 })
  }

  private func content(_ engine: StorageEngine) throws -> [Int64: [UInt8]] {
    try engine.read { tx in
      var found: [Int64: [UInt8]] = [:]
      guard let tree = tx.tree(named: "rows") else { return found }
      var cursor = try tx.cursor(tree)
      while try cursor.next() { found[cursor.integerKey ?? 0] = try cursor.value }
      return found
    }
  }

  @Test(
    "After half is gone the file is hardly longer than what is left",
    arguments: [[60], [900], [9000], [1500, 40_000], [700, 3000, 9000, 100_000]])
  func shrinksToWhatItHolds(lengths: [Int]) throws {
    let tiny = TinyDatabase(pageSize: 4096)
    let engine = try tiny.open()
    let average = lengths.reduce(0, +) / lengths.count
    let (expected, payload) = try makeSparse(engine, rows: max(160, 800_000 / average), lengths: lengths)
    try engine.compact()
    #expect(try content(engine) == expected)
    try engine.verify()
    // What whole pages and cells take of the payload, as a backup has it, which wastes nothing.
    let backup = try engine.backup(to: "/backup.quire")
    let pages = engine.statistics.filePages
    #expect(Double(pages) <= 1.15 * Double(backup.pages) + 24, "\(pages) of \(backup.pages), payload \(payload)")
    try engine.close()
    let byteCount = try #require(tiny.disk.bytes(of: TinyDatabase.path)).count
    #expect(Double(byteCount) <= 1.15 * Double(backup.byteCount) + 24 * 4096)
  }

  @Test("Long values that fit no hole move all the same")
  func emptiesTheFrontForLongValues() throws {
    let tiny = TinyDatabase(pageSize: 512)
    let engine = try tiny.open()
    let tree = try engine.write { tx in try tx.createTree("rows", keys: .int64) }
    var expected: [Int64: [UInt8]] = [:]
    // Short ones in front and long ones behind: when the short ones go, no hole takes a long one.
    for key in 0..<120 {
      let value = [UInt8](marked: key, count: key % 2 == 0 ? 4000 : 600)
      try engine.write { tx in try tx.put(value, for: Int64(key), in: tree) }
      if key % 2 == 1 { expected[Int64(key)] = value }
    }
    for key in 200..<260 {
      let value = [UInt8](marked: key, count: 9000)
      try engine.write { tx in try tx.put(value, for: Int64(key), in: tree) }
      expected[Int64(key)] = value
    }
    try engine.checkpoint()
    for key in stride(from: 0, to: 120, by: 2) { try engine.write { tx in try tx.delete(Int64(key), in: tree) } }
    let before = engine.statistics.filePages
    try engine.compact()
    #expect(try content(engine) == expected)
    try engine.verify()
    let backup = try engine.backup(to: "/backup.quire")
    let pages = engine.statistics.filePages
    #expect(Double(pages) <= 1.15 * Double(backup.pages) + 24, "\(before), \(pages) of \(backup.pages)")
  }

  /// The catalog stands behind all other pages, and what is deleted is free at once or not yet.
  @Test(
    "A file becomes short although its catalog stands at the end, and right after a delete", arguments: [true, false])
  func catalogMoves(isDeleteDurable: Bool) throws {
    let tiny = TinyDatabase(pageSize: 512)
    let engine = try tiny.open()
    let tree = try engine.write { tx in try tx.createTree("rows", keys: .int64) }
    try engine.write { tx in
      for key in 0..<4000 as Range<Int64> { try tx.put([UInt8](repeating: 1, count: 60), for: key, in: tree) }
    }
    try engine.checkpoint()
    // Empty trees have no pages that could move, only entries in leaves of the catalog.
    try engine.write { tx in for number in 0..<100 { _ = try tx.createTree("empty \(number)", keys: .int64) } }
    try engine.checkpoint()
    let before = engine.statistics.filePages
    try engine.write { tx in _ = try tx.deleteRange(from: Int64(40), in: tree) }
    if isDeleteDurable { try engine.checkpoint() }
    try engine.compact()
    #expect(engine.statistics.filePages < before / 4, "\(engine.statistics.filePages) of \(before)")
    try engine.verify()
    try engine.close()
  }

  @Test func reportsAndEndsOnDemand() throws {
    let tiny = TinyDatabase(pageSize: 512)
    let engine = try tiny.open()
    let (expected, _) = try makeSparse(engine, rows: 1200, lengths: [40, 900, 3000])
    var reports = 0
    #expect(throws: Enough.self) {
      try engine.compact { progress in
        #expect(progress.fraction >= 0 && progress.fraction <= 1)
        reports += 1
        if reports == 4 { throw Enough() }
      }
    }
    #expect(try content(engine) == expected)
    try engine.verify()
    let pages = engine.statistics.filePages
    var last = 0
    try engine.compact { progress in
      #expect(progress.done >= last)
      last = progress.done
    }
    #expect(last > 0 && engine.statistics.filePages < pages)
    #expect(try content(engine) == expected)
  }

  @Test func pinsKeepLongValues() throws {
    let tiny = TinyDatabase(pageSize: 512)
    let engine = try tiny.open()
    let (expected, _) = try makeSparse(engine, rows: 300, lengths: [900, 3000])
    let pin = try engine.pin()
    try engine.compact()
    try engine.write { tx in
      if let tree = tx.tree(named: "rows") { try tx.dropTree(tree) }
    }
    try engine.compact()
    let found = try pin.read { tx in
      var found: [Int64: [UInt8]] = [:]
      if let tree = tx.tree(named: "rows") {
        var cursor = try tx.cursor(tree)
        while try cursor.next() { found[cursor.integerKey ?? 0] = try cursor.value }
      }
      return found
    }
    #expect(found == expected)
    #expect(engine.statistics.heldPages > 0 && engine.statistics.oldestCSN == pin.csn)
    #expect(engine.statistics.oldestSnapshotAge > 0)
    try engine.verify()
  }

  @Test("The power fails before each change that a compaction makes to the disk")
  func crashesAnywhere() throws {
    func make() throws -> (TinyDatabase, StorageEngine, [Int64: [UInt8]]) {
      let tiny = TinyDatabase(SimulatedDisk(), pageSize: 512)
      let engine = try tiny.open()
      let expected = try makeSparse(engine, rows: 80, lengths: [40, 900, 1600]).content
      return (tiny, engine, expected)
    }
    let (tiny, engine, expected) = try make()
    let start = tiny.disk.changeCount
    try engine.compact()
    let changes = tiny.disk.changeCount - start
    #expect(changes > 10)
    for cut in 0..<changes {
      let (tiny, engine, _) = try make()
      tiny.disk.powerOff(beforeChange: tiny.disk.changeCount + cut)
      do { try engine.compact() } catch { try #require(error is StorageError) }
      for mode in [CrashMode.allNew, .allOld, .random(UInt64(cut))] {
        let recovered = try tiny.open(tiny.disk.crashImage(mode))
        try #require(try content(recovered) == expected, "cut \(cut), \(mode)")
        try recovered.verify()
        try recovered.compact()
        try #require(try content(recovered) == expected, "cut \(cut), \(mode)")
        try recovered.close()
      }
    }
  }

  @Test("A full disk ends a compaction, and what it moved stays moved")
  func fullDiskIsACleanError() throws {
    let tiny = TinyDatabase(pageSize: 512)
    let engine = try tiny.open()
    let (expected, _) = try makeSparse(engine, rows: 300, lengths: [40, 900, 3000])
    for room in stride(from: 0, to: 60 << 10, by: 5 << 10) {
      tiny.disk.capacity = tiny.disk.usedByteCount + room
      do { try engine.compact() } catch { #expect((error as? StorageError)?.code == .diskFull, "\(error)") }
      #expect(try content(engine) == expected)
    }
    tiny.disk.capacity = nil
    try engine.compact()
    try engine.verify()
    #expect(try content(engine) == expected)
  }

  @Test func worksBesideReadersAndWriters() throws {
    let folder = TemporaryFolder()
    let options = StorageOptions(durability: .relaxed, logLimit: 256 << 10)
    let engine = try StorageEngine(
      at: folder.path + "/a.quire", options: options,
      environment: StorageEnvironment(initialSegmentByteCount: 64 << 10))
    let (expected, _) = try makeSparse(engine, rows: 1500, lengths: [60, 900, 9000])
    let stop = StopFlag()
    let others = ThreadGroup()
    others.start {
      let tree = try engine.write { tx in try tx.createTree("others", keys: .int64) }
      var random = SeededRandom(seed: 2)
      while !stop.isSet {
        let (key, count) = (Int64(random.below(200)), random.below(12_000))
        try engine.write { tx in try tx.put([UInt8](repeating: 1, count: count), for: key, in: tree) }
      }
    }
    others.start { while !stop.isSet { try require(try content(engine) == expected, "rows differ") } }
    defer { stop.set() }
    for _ in 0..<3 { try engine.compact() }
    stop.set()
    #expect(others.join() == [])
    try engine.compact()
    try engine.verify()
    #expect(try content(engine) == expected)
    try engine.close()
  }
}
