// Long values on disks that fail: full ones, ones that rot, ones that stop.

import QuireStorage
import QuireTesting
import Testing

@Suite struct ExtentDamageTests {
  private let pageSize = 512
  private var chunk: Int { 16 * pageSize }

  private func makeTree(_ tiny: TinyDatabase) throws -> (StorageEngine, Tree) {
    let engine = try tiny.open()
    return (engine, try engine.write { tx in try tx.createTree("t", keys: .int64) })
  }

  @Test func flippedBitIsReportedWithItsPage() throws {
    let tiny = TinyDatabase(pageSize: pageSize)
    let (engine, tree) = try makeTree(tiny)
    let length = 5 * chunk + 700
    try engine.write { tx in try tx.put(ExtentTests.value(length), for: Int64(1), in: tree) }
    try engine.close()
    let extent = try #require(try firstExtent(of: tiny))
    let start = Int(extent.first.rawValue) * pageSize
    let inspector = try Inspector(at: TinyDatabase.path, fileSystem: tiny.disk)
    let owner = try inspector.extent(at: PageNumber(extent.first.rawValue + 20))
    #expect(owner?.extent == extent && owner?.tree == tree.id)
    for index in 0...6 {
      // The last place is in the list of chunks.
      let offset = index < 6 ? index * chunk + 77 * index : length + 9
      let copy = tiny.disk.copy()
      copy.flipBit(index % 8, at: start + offset, of: TinyDatabase.path)
      let place = index < 6 ? index * chunk : length
      let page = PageNumber(UInt64((start + place) / pageSize))
      let defects = try Inspector(at: TinyDatabase.path, fileSystem: copy).check()
      #expect(defects.map(\.page) == [page] && defects.map(\.offset) == [start + place], "\(defects)")
      let opened = try tiny.open(copy)
      let error = #expect(throws: StorageError.self) {
        try opened.read { tx in _ = try tx.value(for: Int64(1), in: tree) }
      }
      #expect(error?.code == .damagedPage && error?.page == page && error?.offset == start + place)
      let found = #expect(throws: StorageError.self) { try opened.verify() }
      #expect(found?.page == page)
      if index == 6 { continue }
      // Every part that does not touch the chunk can be read.
      try opened.read { tx in
        let whole = ExtentTests.value(length)
        for other in 0..<6 where other != index {
          let range = (other * chunk)..<min(other * chunk + chunk, length)
          let part = try tx.value(for: Int64(1), in: tree, range: range)
          #expect(part == Array(whole[range]))
        }
      }
    }
  }

  private func firstExtent(of tiny: TinyDatabase) throws -> ExtentReference? {
    let inspector = try Inspector(at: TinyDatabase.path, fileSystem: tiny.disk)
    for number in 2..<(try inspector.requireMeta().pageCount) {
      if let found = try inspector.extent(at: PageNumber(number)) { return found.extent }
    }
    return nil
  }

  @Test func fullDiskLeavesTheTransactionUsable() throws {
    let tiny = TinyDatabase(pageSize: pageSize)
    let (engine, tree) = try makeTree(tiny)
    try engine.write { tx in try tx.put(ExtentTests.value(3000), for: Int64(1), in: tree) }
    try engine.checkpoint()
    let pages = engine.statistics.filePages
    tiny.disk.capacity = tiny.disk.usedByteCount + 20 * pageSize
    try engine.write { (tx) -> Void in
      try tx.put("before", for: Int64(2), in: tree)
      for _ in 0..<3 {
        let error = #expect(throws: StorageError.self) {
          try tx.put(ExtentTests.value(100_000), for: Int64(1), in: tree)
        }
        #expect(error?.code == .diskFull)
      }
      let kept = try tx.value(for: Int64(1), in: tree)
      #expect(kept == ExtentTests.value(3000))
      try tx.put("after", for: Int64(3), in: tree)
    }
    #expect(engine.statistics.filePages == pages, "the places were given back")
    tiny.disk.capacity = nil
    try engine.write { tx in try tx.put(ExtentTests.value(100_000), for: Int64(1), in: tree) }
    try engine.checkpoint()
    let values = try engine.read { tx in
      [
        try tx.value(for: Int64(1), in: tree), try tx.value(for: Int64(2), in: tree),
        try tx.value(for: Int64(3), in: tree),
      ]
    }
    #expect(values == [ExtentTests.value(100_000), Array("before".utf8), Array("after".utf8)])
    try engine.walkEverything(isCheckpointed: true)
    try engine.verify()
    try engine.close()
  }

  @Test func nothingIsWrittenAfterAFailedSync() throws {
    let tiny = TinyDatabase(pageSize: pageSize)
    let (engine, tree) = try makeTree(tiny)
    var written = (before: 0, after: 0)
    var code: StorageError.Code?
    let failure = #expect(throws: StorageError.self) {
      try engine.write { tx in
        try tx.put("short", for: Int64(1), in: tree)
        engine.core.queue.fail(StorageError(.inputOutput, "The disk has failed. Buy another."))
        written.before = tiny.disk.counters.writtenByteCount
        do throws(StorageError) { try tx.put(ExtentTests.value(900), for: Int64(2), in: tree) } catch {
          code = error.code
        }
        written.after = tiny.disk.counters.writtenByteCount
        try tx.put("short", for: Int64(3), in: tree)
      }
    }
    #expect(failure?.code == .failStop && code == .failStop && written.before == written.after)
  }

  @Test func refusedLogLeavesTheFileAsItIs() throws {
    let tiny = TinyDatabase(pageSize: pageSize)
    let (engine, tree) = try makeTree(tiny)
    try engine.write { tx in try tx.put(ExtentTests.value(900), for: Int64(1), in: tree) }
    let disk = tiny.disk.processKillImage()
    let log = try #require(try Inspector(at: TinyDatabase.path, fileSystem: disk).log())
    // A long value, and then an operation that cannot be.
    var bodies = LogForger.bodies(log)
    let buffer = LogBuffer()
    buffer.dropTree(TreeID(99))
    let header = LogRecordHeader(
      kind: .commit, bodyByteCount: buffer.bodyByteCount, lsn: LSN(0), csn: CSN(1), previousCSN: CSN(0), chain: 0,
      durableLSN: LSN(0), durableCheckpoint: 0)
    bodies.append(Array(buffer.seal(header, seed: 0)[64..<(64 + buffer.bodyByteCount)]))
    LogForger(meta: log.meta).write(bodies.map { LogForger.Record(body: $0) }, to: disk)
    let before = disk.bytes(of: TinyDatabase.path)
    let error = #expect(throws: StorageError.self) { _ = try tiny.open(disk) }
    #expect(error?.code == .damagedLog)
    #expect(disk.bytes(of: TinyDatabase.path) == before)
  }
}
