// Logs whose records come in parts: which of them count, and forgeries that nobody can have written.

import QuireStorage
import QuireTesting
import Testing

@Suite struct LogPartsTests {
  private static let path = TinyDatabase.path

  /// An unclean database with an empty tree "t", and the log that its meta page names.
  private func makeUnclean() throws -> (disk: SimulatedDisk, log: Inspector.Log) {
    let tiny = TinyDatabase()
    let engine = try tiny.open()
    try engine.write { tx in _ = try tx.createTree("t", keys: .int64) }
    try engine.checkpoint()
    let disk = tiny.disk.processKillImage()
    return (disk, try #require(try Inspector(at: Self.path, fileSystem: disk).log()))
  }

  /// The operations that put these keys, with values of equal length.
  private func puts(_ keys: Int64...) -> [UInt8] {
    let buffer = LogBuffer()
    for key in keys {
      [UInt8](repeating: UInt8(key), count: 3).withUnsafeBytes { value in
        _ = buffer.put(TreeID(1), .int64, SearchKey(key), value)
      }
    }
    let header = LogRecordHeader(
      kind: .commit, bodyByteCount: buffer.bodyByteCount, lsn: LSN(0), csn: CSN(1), previousCSN: CSN(0), chain: 0,
      durableLSN: LSN(0), durableCheckpoint: 0)
    return Array(buffer.seal(header, seed: 0)[64..<(64 + buffer.bodyByteCount)])
  }

  private func part(_ number: Int, _ keys: Int64..., undo: UInt64? = nil, csnStep: UInt64 = 1) -> LogForger.Record {
    LogForger.Record(
      kind: .part, body: keys.flatMap { puts($0) }, csnStep: csnStep, partNumber: number, undoPosition: undo)
  }

  private func commit(_ parts: Int, _ keys: Int64..., undo: UInt64? = nil) -> LogForger.Record {
    LogForger.Record(body: keys.flatMap { puts($0) }, partNumber: parts, undoPosition: undo)
  }

  private var mark: LogForger.Record { LogForger.Record(kind: .mark, body: [], csnStep: 0) }

  /// The bytes that one put takes.
  private var putByteCount: UInt64 { UInt64(puts(1).count) }

  /// The keys that recovery finds after these records.
  private func recovered(_ records: [LogForger.Record]) throws -> [Int64] {
    let (disk, log) = try makeUnclean()
    LogForger(meta: log.meta).write(records, to: disk)
    let engine = try TinyDatabase(disk).open()
    let keys = try engine.read { tx in
      let found = tx.tree(named: "t")
      let tree = try #require(found)
      var cursor = try tx.cursor(tree)
      var keys: [Int64] = []
      while try cursor.next() { keys.append(cursor.integerKey ?? -1) }
      return keys
    }
    try engine.close()
    return keys
  }

  @Test func aCommitCountsForItsParts() throws {
    #expect(try recovered([part(1, 1), part(2, 2), commit(2, 3)]) == [1, 2, 3])
    #expect(try recovered([part(1, 1, 2), commit(1)]) == [1, 2])
    #expect(try recovered([commit(0, 1), part(1, 2), commit(1, 3), commit(0, 4)]) == [1, 2, 3, 4])
  }

  @Test("A mark may stand between parts, and settles nothing")
  func marksBetweenParts() throws {
    #expect(try recovered([mark, part(1, 1), mark, part(2, 2), mark, commit(2, 3), mark]) == [1, 2, 3])
    #expect(try recovered([part(1, 1), mark]) == [])
  }

  @Test("Parts without their commit are void, whatever comes behind them (A1)")
  func partsWithoutACommit() throws {
    #expect(try recovered([part(1, 1)]) == [])
    #expect(try recovered([part(1, 1), part(2, 2)]) == [])
    // The next transactions bear the same CSN, and their parts have the same length.
    #expect(try recovered([part(1, 1), part(2, 2), commit(0, 3)]) == [3])
    #expect(try recovered([part(1, 1), part(2, 2), part(1, 4), commit(1, 5)]) == [4, 5])
    #expect(try recovered([part(1, 1), part(1, 2), part(2, 3), commit(2)]) == [2, 3])
    #expect(try recovered([part(1, 1), part(2, 2), part(1, 3), part(2, 4)]) == [])
    #expect(try recovered([part(1, 1), commit(0, 3), part(1, 4), commit(1, 5), part(1, 6)]) == [3, 4, 5])
  }

  @Test("What a savepoint undid stays undone")
  func undoneBytes() throws {
    let one = putByteCount
    #expect(try recovered([part(1, 1, 2), commit(1, 3, undo: one)]) == [1, 3])
    #expect(try recovered([part(1, 1, 2), part(2, 3, undo: one), commit(2, 4)]) == [1, 3, 4])
    // Behind the second part's undo position stand two operations; the third record undoes the later one.
    let second = 2 * one + 8
    #expect(try recovered([part(1, 1, 2), part(2, 3, 4, undo: one), commit(2, 5, undo: second + one)]) == [1, 3, 5])
    // Both parts at once, back into the first; and everything.
    #expect(try recovered([part(1, 1, 2), part(2, 3, 4), commit(2, 5, undo: one)]) == [1, 5])
    #expect(try recovered([part(1, 1, 2), part(2, 3, 4), commit(2, 5, undo: 0)]) == [5])
    // What was undone once is not there for a later undo to keep.
    #expect(try recovered([part(1, 1, 2), part(2, 3, undo: one), commit(2, 4, undo: 2 * one)]) == [1, 4])
  }

  @Test("Parts that nobody can have written are damage, with its place", arguments: 0..<12)
  func forgeries(index: Int) throws {
    let one = putByteCount
    let logs: [[LogForger.Record]] = [
      [part(1, 1), commit(2, 2)],
      [part(1, 1), part(2, 2), commit(1, 3)],
      [commit(1, 1)],
      [part(2, 1), commit(1, 2)],
      [part(1, 1), part(3, 2), commit(2, 3)],
      [part(1, 1), part(2, 2), part(2, 3), commit(2, 4)],
      [part(0, 1), commit(0, 2)],
      [part(1, 1), part(2, 2, csnStep: 7), commit(2, 3)],
      [commit(0, 1, undo: 0)],
      [part(1, 1), commit(1, 2, undo: one)],
      [part(1, 1), commit(1, 2), part(2, 3), commit(2, 4)],
      [part(1, 1), LogForger.Record(kind: .mark, body: [], csnStep: 0, partNumber: 1), commit(1, 2)],
    ]
    let (disk, log) = try makeUnclean()
    LogForger(meta: log.meta).write(logs[index], to: disk)
    let before = disk.bytes(of: Self.path)
    let error = #expect(throws: StorageError.self) { _ = try TinyDatabase(disk).open() }
    #expect(error?.code == .damagedLog)
    #expect(error?.lsn != nil && error?.offset != nil)
    #expect(disk.bytes(of: Self.path) == before)
    let found = try Inspector(at: Self.path, fileSystem: disk).log()
    #expect(found?.defect?.code == .damagedLog)
  }

  @Test("An undo position inside an operation is damage")
  func undoInsideAnOperation() throws {
    let (disk, log) = try makeUnclean()
    LogForger(meta: log.meta).write([part(1, 1, 2), commit(1, 3, undo: putByteCount + 2)], to: disk)
    let error = #expect(throws: StorageError.self) { _ = try TinyDatabase(disk).open() }
    #expect(error?.code == .damagedLog)
  }

  @Test("Any order of parts gives a database or an error, and takes little memory")
  func randomParts() throws {
    let start = firstSeed()
    for seed in start..<(start + UInt64(trialCount(debug: 60, release: 2000))) {
      var random = SeededRandom(seed: seed)
      let records = (0..<(1 + random.below(12))).map { _ -> LogForger.Record in
        let isPart = random.oneIn(2)
        return LogForger.Record(
          kind: isPart ? .part : random.oneIn(6) ? .mark : .commit, body: puts(Int64(random.below(40))),
          csnStep: random.oneIn(9) ? UInt64(random.below(3)) : 1, partNumber: random.below(4),
          undoPosition: random.oneIn(3) ? UInt64(random.below(random.oneIn(4) ? .max : 40)) : nil)
      }
      do { _ = try recovered(records) } catch let error as StorageError {
        #expect(error.code == .damagedLog, "seed \(seed): \(error)")
      }
    }
  }
}
