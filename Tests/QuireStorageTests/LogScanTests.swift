// Reading a log back after the accidents that the hazards describe.

import QuireStorage
import QuireTesting
import Synchronization
import Testing

/// A latch that a copyable bench can have.
private final class LogLatchBox {
  let latch = LogLatch()
}

/// Two segments on a simulated disk, and a writer at their start.
private struct LogBench {
  let disk = SimulatedDisk()
  let meta: MetaPage
  let files: LogFiles
  let writer: LogWriter
  private let buffer = LogBuffer()
  private let latch = LogLatchBox()

  init(salt: UInt64 = 77) throws {
    var meta = MetaPage(pageSize: 4096, databaseID: DatabaseID(high: 1, low: 2))
    meta.checkpointNumber = 5
    meta.segments = (0..<2).map {
      SegmentDescriptor(
        number: UInt64(10 + $0), salt: salt + UInt64($0), byteCount: 32 << 10, firstLSN: LSN(UInt64($0) * (32 << 10)),
        fileIndex: $0)
    }
    meta.logOffset = LogLayout.firstRecordOffset
    meta.lsn = meta.segments[0].lsn(at: meta.logOffset)
    self.meta = meta
    files = LogFiles(fileSystem: disk, databasePath: "/db", databaseID: meta.databaseID)
    let first = try files.create(meta.segments[0])
    let second = try files.create(meta.segments[1])
    writer = LogWriter(current: first, next: second, offset: meta.logOffset, chain: 0, lastCSN: CSN(0))
  }

  /// Appends a commit whose record has a length of its own choice; returns where it stands.
  @discardableResult
  func append(_ csn: UInt64, tree: UInt64 = 1, durable: UInt64 = 0, checkpoint: UInt64 = 0) throws -> Int {
    buffer.reset()
    buffer.dropTree(TreeID(tree))
    let offset = writer.position
    _ = try change { (writer, alone) throws(AppendFailure) in
      try writer.append(
        buffer, kind: .commit, csn: CSN(csn), durableLSN: LSN(durable), durableCheckpoint: checkpoint, alone)
    }
    return offset
  }

  func mark() throws {
    _ = try change { (writer, alone) throws(AppendFailure) in
      try writer.appendMark(buffer, durableLSN: writer.endLSN, durableCheckpoint: 0, alone)
    }
  }

  /// Moves the end of the log.
  func change<Result, Failure: Error>(
    _ body: (LogWriter, borrowing LogPermit) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try latch.latch.withLock { (alone: borrowing LogPermit) throws(Failure) in try body(writer, alone) }
  }

  func scan() throws -> (scan: LogScan, reader: LogReader) {
    let reader = try LogReader(meta, files: try meta.segments.map { try files.open($0, .readOnly) })
    return (try reader.scan(), reader)
  }

  /// The CSNs of the chain; throws what recovery would.
  func recovered() throws -> [UInt64] {
    let (scan, reader) = try scan()
    try reader.checkMarks(scan, path: "/db")
    return scan.records.filter { $0.header.kind == .commit }.map(\.header.csn.rawValue)
  }

  func damage(_ offset: Int, file: Int = 0) throws {
    let file = try disk.open(files.path(file), .readWrite)
    try [UInt8](repeating: 0xa5, count: 4).withUnsafeBytes { try file.writeFully($0, at: offset) }
  }
}

@Suite struct LogScanTests {
  @Test func followsTheChainOverSegmentsAndMarks() throws {
    let bench = try LogBench()
    for csn in 1...3 { try bench.append(UInt64(csn)) }
    try bench.mark()
    try bench.append(4)
    bench.change { writer, alone in writer.switchSegment(alone) }
    try bench.append(5)
    // A commit that reached no log leaves a gap that the next record bridges.
    bench.change { writer, alone in
      writer.beginUnloggedCommit(CSN(5), alone)
      writer.endUnloggedCommit(remaining: CSN(5), alone)
    }
    try bench.append(9)
    #expect(try bench.recovered() == [1, 2, 3, 4, 5, 9])
    let scan = try bench.scan().scan
    #expect(scan.endLSN == bench.writer.endLSN && scan.endCSN == CSN(9) && scan.endChain == bench.writer.chain)
  }

  @Test("A torn record ends the chain, and what stood behind it never comes back (A1)")
  func ghostsStayGone() throws {
    let bench = try LogBench()
    let places = try (1...3).map { try bench.append(UInt64($0)) }
    // The second is torn, the third intact: a power cut may leave that.
    try bench.damage(places[1] + 70)
    #expect(try bench.recovered() == [1])
    let after = try bench.scan().scan
    // Somebody goes on where the chain ended, with a record of the same length. The old third must not follow it.
    let file = try bench.disk.open(bench.files.path(0), .readWrite)
    let segment = OpenSegment(descriptor: bench.meta.segments[0], file: file)
    let writer = LogWriter(
      current: segment, next: segment, offset: places[1], chain: after.endChain, lastCSN: after.endCSN)
    let buffer = LogBuffer()
    buffer.dropTree(TreeID(2))
    try bench.change { (_, alone) throws(AppendFailure) in
      _ = try writer.append(buffer, kind: .commit, csn: CSN(2), durableLSN: LSN(0), durableCheckpoint: 0, alone)
    }
    #expect(writer.position == places[2])
    #expect(try bench.recovered() == [1, 2])
  }

  @Test("A sync covers the segment before as well (A2)")
  func syncCoversAllSegments() throws {
    let bench = try LogBench()
    try bench.append(1)
    bench.change { writer, alone in writer.switchSegment(alone) }
    try bench.append(2)
    let (durable, _) = try bench.writer.synchronize()
    #expect(durable == bench.writer.endLSN)
    #expect(bench.disk.pendingByteCount(of: "/db-log0") == 0 && bench.disk.pendingByteCount(of: "/db-log1") == 0)
  }

  @Test("A segment's header may be lost: its salt comes from the meta page (A3)")
  func segmentHeaderIsNotNeeded() throws {
    let bench = try LogBench()
    try bench.append(1)
    try bench.damage(8)
    #expect(try bench.recovered() == [1])
  }

  @Test("Damage below a durable mark is an error, with its place (A4, A11)")
  func damageBelowAMarkIsFound() throws {
    let bench = try LogBench()
    let places = try (1...3).map { try bench.append(UInt64($0)) }
    try bench.mark()
    for damaged in [places[1], places[1] + 24, places[1] + 66] {
      let copy = bench.disk.bytes(of: "/db-log0")
      try bench.damage(damaged)
      do {
        _ = try bench.recovered()
        Issue.record("damage at \(damaged) was taken for a torn tail")
      } catch let error as StorageError {
        #expect(error.code == .damagedLog && error.offset == places[1] && error.path == "/db-log0")
      }
      bench.disk.install(try #require(copy), at: "/db-log0")
    }
    #expect(try bench.recovered() == [1, 2, 3])
  }

  @Test("Damage in one segment is found by what a record of the next one marks as durable (A4)")
  func laterSegmentsProveEarlierOnes() throws {
    let bench = try LogBench()
    let places = try (1...3).map { try bench.append(UInt64($0)) }
    let end = bench.writer.endLSN.rawValue
    bench.change { writer, alone in writer.switchSegment(alone) }
    try bench.append(4, durable: end)
    #expect(try bench.recovered() == [1, 2, 3, 4])
    try bench.damage(places[2] + 66)
    let error = #expect(throws: StorageError.self) { _ = try bench.recovered() }
    #expect(error?.code == .damagedLog && error?.offset == places[2] && error?.path == "/db-log0")
  }

  @Test("A meta page older than a checkpoint that a record marks as durable is damage (A4)")
  func olderMetaPageIsFound() throws {
    let bench = try LogBench()
    try bench.append(1, checkpoint: 5)
    #expect(try bench.recovered() == [1])
    try bench.append(2, checkpoint: 6)
    do {
      _ = try bench.recovered()
      Issue.record("a meta page older than a marked checkpoint was accepted")
    } catch let error as StorageError {
      #expect(error.code == .damagedMetaPage)
    }
  }

  @Test("A mark stands in a block of its own (A12)")
  func markHasItsOwnBlock() throws {
    let bench = try LogBench()
    let place = try bench.append(1)
    try bench.mark()
    let mark = try #require(try bench.scan().scan.records.last)
    #expect(mark.header.kind == .mark && mark.offset % LogLayout.blockByteCount == 0)
    #expect(mark.offset / LogLayout.blockByteCount > place / LogLayout.blockByteCount)
  }

  @Test("Records of another life of the segment are nobody's (A1, A3)")
  func recycledRecordsAreForeign() throws {
    let bench = try LogBench(salt: 77)
    for csn in 1...3 { try bench.append(UInt64(csn), durable: 1 << 19) }
    let other = try LogBench(salt: 78)
    other.disk.install(try #require(bench.disk.bytes(of: "/db-log0")), at: "/db-log0")
    #expect(try other.recovered() == [])
  }

  @Test("A record that does not fit is never begun, and noise is no log")
  func noiseIsNoLog() throws {
    var random = SeededRandom(seed: 5)
    for _ in 0..<20 {
      let bench = try LogBench()
      try bench.append(1)
      var bytes = try #require(bench.disk.bytes(of: "/db-log0"))
      let start = bench.writer.position
      for index in stride(from: start, to: bytes.count, by: 1 + random.below(9)) {
        bytes[index] = UInt8(truncatingIfNeeded: random.next() >> 16)
      }
      bench.disk.install(bytes, at: "/db-log0")
      #expect(try bench.recovered() == [1])
    }
  }
}
