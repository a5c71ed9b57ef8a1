// Log records with valid checksums and impossible content.

import QuireStorage
import QuireTesting
import Testing

@Suite struct HostileLogTests {
  private static let path = TinyDatabase.path

  /// Opens the disk; whatever comes of it, it is a StorageError or a database that checks and can be written.
  private func exercise(_ disk: SimulatedDisk, seed: UInt64) throws {
    let before = disk.bytes(of: Self.path)
    do {
      let inspector = try Inspector(at: Self.path, fileSystem: disk)
      _ = try inspector.check()
    } catch is StorageError {}
    let engine: StorageEngine
    do { engine = try TinyDatabase(disk).open() } catch let error as StorageError {
      #expect(error.code == .damagedLog, "\(error)")
      #expect(error.lsn != nil && error.offset != nil, "\(error)")
      #expect(disk.bytes(of: Self.path) == before, "seed \(seed): a refusal changed the file")
      return
    }
    try engine.verify()
    let content = try DatabaseContent(of: engine)
    try TinyDatabase.fill(engine, count: 8, seed: seed)
    try engine.close()
    let defects = try Inspector(at: Self.path, fileSystem: disk).check()
    #expect(defects.isEmpty, "seed \(seed): \(defects)")
    _ = content
    let again = try TinyDatabase(disk).open()
    try again.close()
  }

  @Test func sealingAloneReplays() throws {
    let logs = try HostileLogs()
    let (disk, log) = (logs.honest, logs.log)
    let expected = try DatabaseContent(of: TinyDatabase(disk).open(disk.copy()))
    LogForger(meta: log.meta).write(LogForger.bodies(log).map { LogForger.Record(body: $0) }, to: disk)
    let found = try DatabaseContent(of: TinyDatabase(disk).open())
    #expect(found == expected)
  }

  /// The fuzzer mends logs so that are bytes to it.
  @Test func resealingBytesChangesNothing() throws {
    let logs = try HostileLogs()
    let (disk, log) = (logs.honest, logs.log)
    let forger = LogForger(meta: log.meta)
    let bytes = try forger.bytes(on: disk)
    #expect(forger.recordOffsets(in: bytes).count == log.scan.records.count)
    var sealed = bytes
    forger.reseal(&sealed)
    #expect(sealed == bytes)
  }

  @Test func mutatedBodies() throws {
    let logs = try HostileLogs()
    let start = firstSeed()
    for seed in start..<(start + UInt64(trialCount(debug: TestSize.trials(300, divisor: 4), release: 5000))) {
      try exercise(logs.forged(seed: seed), seed: seed)
    }
  }

  /// Operations that no transaction could have logged.
  @Test(arguments: 0..<17) func impossibleOperations(index: Int) throws {
    let logs = try HostileLogs()
    let (disk, log) = (logs.honest, logs.log)
    let buffer = LogBuffer()
    let huge = [UInt8](repeating: 3, count: 5000)
    let text = TreeID(1)
    huge.withUnsafeBytes { bytes in
      let some = UnsafeRawBufferPointer(rebasing: bytes[..<20])
      switch index {
      case 0: buffer.createTree(TreeID(.max), .bytes, name: "highest")
      case 1: buffer.createTree(TreeID(1), .bytes, name: "again")
      case 2: buffer.createTree(TreeID(1000), .bytes, name: "")
      case 3: buffer.createTree(TreeID(1000), .bytes, name: "texts")
      case 4: buffer.createTree(TreeID(1000), .int64, name: String(repeating: "n", count: 300))
      case 5: buffer.dropTree(TreeID(99))
      case 6: _ = buffer.put(TreeID(99), .bytes, SearchKey(some), some)
      case 7: _ = buffer.put(text, .int64, SearchKey(7), some)
      case 8: _ = buffer.put(text, .bytes, SearchKey(bytes), some)
      case 9: _ = buffer.delete(TreeID(2), .bytes, SearchKey(some))
      case 10: buffer.nextRowID(-5)
      case 11: _ = buffer.deleteRange(TreeID(99), .bytes, from: nil, to: nil)
      case 12: _ = buffer.deleteRange(text, .int64, from: SearchKey(1), to: SearchKey(2))
      case 13: _ = buffer.deleteRange(text, .bytes, from: SearchKey(some), to: SearchKey(some))
      case 14: _ = buffer.deleteRange(text, .bytes, from: SearchKey(bytes), to: nil)
      case 15: _ = buffer.deleteRange(TreeID(2), .int64, from: SearchKey(2), to: SearchKey(1))
      default: buffer.nextRowID(0)
      }
    }
    let header = LogRecordHeader(
      kind: .commit, bodyByteCount: buffer.bodyByteCount, lsn: LSN(0), csn: CSN(1), previousCSN: CSN(0), chain: 0,
      durableLSN: LSN(0), durableCheckpoint: 0)
    let body = Array(buffer.seal(header, seed: 0)[64..<(64 + buffer.bodyByteCount)])
    LogForger(meta: log.meta).write([LogForger.Record(body: body)], to: disk)
    let before = disk.bytes(of: Self.path)
    let error = #expect(throws: StorageError.self) { _ = try TinyDatabase(disk).open() }
    #expect(error?.code == .damagedLog)
    #expect(error?.offset == log.meta.logOffset)
    #expect(disk.bytes(of: Self.path) == before)
  }

  @Test func impossibleMarks() throws {
    let logs = try HostileLogs()
    let (disk, log) = (logs.honest, logs.log)
    let body = try #require(LogForger.bodies(log).first)
    for (lsn, checkpoint, code) in [
      (LSN(.max), UInt64(0), StorageError.Code.damagedLog), (LSN(0), .max, .damagedMetaPage),
    ] {
      let copy = disk.copy()
      let record = LogForger.Record(body: body, durableLSN: lsn, durableCheckpoint: checkpoint)
      LogForger(meta: log.meta).write([record], to: copy)
      let error = #expect(throws: StorageError.self) { _ = try TinyDatabase(copy).open() }
      #expect(error?.code == code)
    }
  }
}
