// Reading a log back: which records form the chain, what is known to have been durable, and whether the two agree.

/// The result of reading the segments that a meta page names.
package struct LogScan {
  /// A record of the chain.
  package struct Record {
    /// Index in the meta page's list of segments.
    package let segment: Int
    package let offset: Int
    package let header: LogRecordHeader
    /// Which bytes of the body were committed; none of a mark, or of a part whose transaction was not.
    package fileprivate(set) var committed: Range<Int>
  }

  /// The records of the chain, in order.
  package fileprivate(set) var records: [Record] = []
  /// The LSN behind the last record of the chain.
  package fileprivate(set) var endLSN: LSN
  /// The checksum of the last record.
  package fileprivate(set) var endChain: UInt64
  /// The newest CSN of the chain, or the meta page's.
  package fileprivate(set) var endCSN: CSN
  /// The highest LSN that any record found, in the chain or behind it, marks as durable.
  package fileprivate(set) var durableLSN = LSN(0)
  /// The highest checkpoint number that any record found marks as durable.
  package fileprivate(set) var durableCheckpoint: UInt64 = 0
  /// How many headers behind the chain verify: of records that a crash has left behind a gap, or behind damage.
  package fileprivate(set) var headersBehind = 0
  /// The first record whose parts do not fit together, by its index, and why: nobody has ever written such a log.
  package fileprivate(set) var defect: (record: Int, text: String)?
}

/// Reads segments into memory and follows the chain.
///
/// Memory: what the records of the chain take, and a piece more, within the size of the segments, which a verified meta
/// page states. Used by one thread at a time.
///
/// Invariant: the first `loaded[n]` bytes of segment n are in memory.
package final class LogReader {
  let meta: MetaPage
  private let files: [any File]
  private let segments: [UnsafeMutableRawBufferPointer]
  private let memory: [VirtualMemory]
  private var loaded: [Int]
  /// Why a segment could not be read.
  private(set) var failure: StorageError?

  /// Segments from here on are read into huge pages: touching 64 MiB page by page takes longer than reading it. They
  /// are read in pieces of one, as far as the chain leads: fresh memory costs more than what is read into it.
  private static let hugePageByteCount = 2 << 20
  /// What lies behind the chain is looked at in pieces of this size.
  private static let windowByteCount = 256 << 10

  /// Will read the segments of `meta` through `files`, which correspond to them in number and order.
  package init(_ meta: MetaPage, files: [any File]) throws(StorageError) {
    self.meta = meta
    self.files = files
    var memory: [VirtualMemory] = []
    do throws(StorageError) {
      for segment in meta.segments {
        let isHuge = segment.byteCount >= Self.hugePageByteCount
        let range = try VirtualMemory.reserve(
          byteCount: (segment.byteCount + 4095) & ~4095, alignment: isHuge ? Self.hugePageByteCount : 4096)
        memory.append(range)
        if isHuge { range.adviseHugePages() }
      }
    } catch {
      for range in memory { range.release() }
      throw error
    }
    self.memory = memory
    segments = zip(meta.segments, memory).map {
      UnsafeMutableRawBufferPointer(start: $1.base, count: $0.byteCount)
    }
    loaded = segments.map { _ in 0 }
  }

  deinit { for range in memory { range.release() } }

  /// Reads a segment up to `end` at least; false if that fails, and then nothing more is read.
  @inline(__always) private func load(_ segment: Int, upTo end: Int) -> Bool {
    end <= loaded[segment] || loadMore(segment, upTo: end)
  }

  @inline(never) private func loadMore(_ segment: Int, upTo end: Int) -> Bool {
    guard failure == nil else { return false }
    let target = min(LogLayout.align(end, to: Self.hugePageByteCount), meta.segments[segment].byteCount)
    let start = loaded[segment]
    do throws(StorageError) {
      try files[segment].readFully(
        into: UnsafeMutableRawBufferPointer(rebasing: segments[segment][start..<target]), at: start)
    } catch {
      failure = error
      return false
    }
    loaded[segment] = target
    return true
  }

  /// The operations of a record of this log, committed or not.
  package func body(of record: LogScan.Record) -> UnsafeRawBufferPointer {
    bytes(of: record, record.header.operationsStart..<record.header.bodyByteCount)
  }

  /// The operations of a record that were committed: none of a part of a transaction that was not, and not those that a
  /// savepoint undid.
  package func committedBody(of record: LogScan.Record) -> UnsafeRawBufferPointer {
    bytes(of: record, record.committed)
  }

  /// The position at which a record says that the operations of its transaction up to here end; nil if it says nothing.
  package func undoPosition(of record: LogScan.Record) -> UInt64? {
    guard record.header.operationsStart > 0 else { return nil }
    return bytes(of: record, 0..<LogLayout.undoByteCount).loadUnaligned(as: UInt64.self)
  }

  private func bytes(of record: LogScan.Record, _ range: Range<Int>) -> UnsafeRawBufferPointer {
    let start = record.offset + LogLayout.headerByteCount
    return UnsafeRawBufferPointer(
      rebasing: UnsafeRawBufferPointer(segments[record.segment])[
        (start + range.lowerBound)..<(start + range.upperBound)])
  }

  /// Follows the chain to its end, and looks for marks behind it. Linear in the size of the segments.
  ///
  /// - Throws: `inputOutput`, `truncatedFile`.
  package func scan() throws(StorageError) -> LogScan {
    var scan = LogScan(endLSN: meta.lsn, endChain: meta.chain, endCSN: meta.csn)
    guard !meta.segments.isEmpty else { return scan }
    var parts = LogParts()
    var segment = 0
    var offset = meta.logOffset
    while let record = successor(of: scan, segment: segment, offset: offset) {
      segment = record.segment
      offset = record.offset + record.header.recordByteCount
      scan.endLSN = meta.segments[segment].lsn(at: offset)
      scan.endChain = storedChecksum(record)
      // A part is of a commit that is still to come.
      if record.header.kind != .part { scan.endCSN = record.header.csn }
      scan.take(record.header)
      scan.records.append(record)
      if scan.defect == nil { take(scan.records.count - 1, into: &parts, &scan) }
    }
    if let failure { throw failure }
    for behind in segment..<meta.segments.count {
      try searchMarks(in: behind, from: behind == segment ? offset : LogLayout.firstRecordOffset, &scan)
    }
    return scan
  }

  /// Follows the parts of transactions; a commit settles what of them counts.
  private func take(_ index: Int, into parts: inout LogParts, _ scan: inout LogScan) {
    let record = scan.records[index]
    if let defect = parts.take(index, record.header, undoPosition: undoPosition(of: record)) {
      scan.defect = (index, defect)
    }
    guard record.header.kind == .commit else { return }
    for part in parts.committed { scan.records[part.record].committed = part.range }
  }

  /// The record that continues the chain: directly behind, at the next block, or at the start of the next segment.
  private func successor(of scan: LogScan, segment: Int, offset: Int) -> LogScan.Record? {
    var candidates = [(segment, offset)]
    let block = LogLayout.align(offset, to: LogLayout.blockByteCount)
    if block != offset { candidates.append((segment, block)) }
    if segment + 1 < meta.segments.count { candidates.append((segment + 1, LogLayout.firstRecordOffset)) }
    for (segment, offset) in candidates {
      guard let header = header(segment: segment, offset: offset), header.chain == scan.endChain,
        header.previousCSN == scan.endCSN, hasIntactBody(header, segment: segment, offset: offset)
      else { continue }
      return LogScan.Record(segment: segment, offset: offset, header: header, committed: 0..<0)
    }
    return nil
  }

  /// The header at a place, if one verifies there.
  private func header(segment: Int, offset: Int) -> LogRecordHeader? {
    let descriptor = meta.segments[segment]
    guard offset >= LogLayout.firstRecordOffset, offset + LogLayout.headerByteCount <= descriptor.byteCount,
      let base = segments[segment].baseAddress, load(segment, upTo: offset + LogLayout.headerByteCount)
    else { return nil }
    return header(at: UnsafeRawPointer(base + offset), descriptor, offset: offset)
  }

  /// The header in bytes that a segment has at `offset`.
  private func header(at bytes: UnsafeRawPointer, _ descriptor: SegmentDescriptor, offset: Int) -> LogRecordHeader? {
    guard let decoded = LogRecordHeader.decode(bytes, seed: LogLayout.seed(descriptor, offset: offset)),
      decoded.header.lsn == descriptor.lsn(at: offset)
    else { return nil }
    return decoded.header
  }

  /// Whether a record of this life of the segment stands at its beginning, wherever it belongs. No if it cannot be
  /// read, and then there is a `failure`.
  func hasRecord(inSegment segment: Int) -> Bool {
    header(segment: segment, offset: LogLayout.firstRecordOffset) != nil
  }

  private func hasIntactBody(_ header: LogRecordHeader, segment: Int, offset: Int) -> Bool {
    guard header.recordByteCount <= meta.segments[segment].byteCount - offset,
      let base = segments[segment].baseAddress, load(segment, upTo: offset + header.recordByteCount)
    else { return false }
    let record = UnsafeRawPointer(base + offset)
    let padded = LogLayout.align(header.bodyByteCount, to: 8)
    let body = record + LogLayout.headerByteCount
    let checksum = LogRecordHeader.recordChecksum(
      body: body, paddedByteCount: padded, headerChecksum: record.loadUnaligned(fromByteOffset: 56, as: UInt64.self))
    return checksum == (body + padded).loadUnaligned(as: UInt64.self)
  }

  private func storedChecksum(_ record: LogScan.Record) -> UInt64 {
    segments[record.segment].loadUnaligned(
      fromByteOffset: record.offset + record.header.recordByteCount - LogLayout.trailerByteCount, as: UInt64.self)
  }

  /// Why the chain ends where it does, in words for people. Looks at the place directly behind the last record.
  package func reasonForEnd(of scan: LogScan) -> String {
    guard let segment = meta.segments.lastIndex(where: { $0.firstLSN <= scan.endLSN }) else {
      return "there is no log"
    }
    let descriptor = meta.segments[segment]
    let offset = Int(scan.endLSN.rawValue - descriptor.firstLSN.rawValue)
    guard offset + LogLayout.headerByteCount <= descriptor.byteCount else { return "the segment is full" }
    guard let header = header(segment: segment, offset: offset) else {
      if loaded[segment] < offset + LogLayout.headerByteCount { return "the segment cannot be read" }
      let bytes = UnsafeRawBufferPointer(segments[segment])[offset..<(offset + LogLayout.headerByteCount)]
      return bytes.allSatisfy { $0 == 0 }
        ? "nothing was written behind the last record" : "what stands behind the last record is no record of this log"
    }
    guard header.chain == scan.endChain else { return "the next record was not written behind this one" }
    guard header.previousCSN == scan.endCSN else {
      return "the next record follows \(header.previousCSN), which is not in the log"
    }
    return "the next record's body does not verify"
  }

  /// Whether something shows that there was a record behind the end of the chain: a header that verifies, or what is
  /// left of one where the next record would stand. What an earlier life of a segment has left has neither this place's
  /// LSN nor the last record's checksum.
  package func hasTrace(behind scan: LogScan) -> Bool {
    if scan.headersBehind > 0 { return true }
    guard let segment = meta.segments.lastIndex(where: { $0.firstLSN <= scan.endLSN }) else { return false }
    let offset = Int(scan.endLSN.rawValue - meta.segments[segment].firstLSN.rawValue)
    var places = [(segment, offset), (segment, LogLayout.align(offset, to: LogLayout.blockByteCount))]
    if segment + 1 < meta.segments.count { places.append((segment + 1, LogLayout.firstRecordOffset)) }
    return places.contains { segment, offset in
      let end = offset + LogLayout.headerByteCount
      guard offset >= LogLayout.firstRecordOffset, end <= meta.segments[segment].byteCount, load(segment, upTo: end),
        let base = segments[segment].baseAddress
      else { return false }
      let header = UnsafeRawPointer(base + offset)
      return header.loadUnaligned(fromByteOffset: 8, as: UInt64.self) == meta.segments[segment].lsn(at: offset).rawValue
        || (scan.endChain != 0 && header.loadUnaligned(fromByteOffset: 24, as: UInt64.self) == scan.endChain)
    }
  }

  /// Looks at every place where a record could start. A header that verifies was written by us in this life of the
  /// segment, so what it says of durability was true, whatever has become of its body.
  private func searchMarks(
    in segment: Int, from start: Int, _ scan: inout LogScan
  ) throws(StorageError) {
    var offset = LogLayout.align(start, to: 8)
    if let base = segments[segment].baseAddress {
      offset = searchMarks(at: UnsafeRawPointer(base), of: segment, 0..<loaded[segment], from: offset, &scan)
    }
    let end = meta.segments[segment].byteCount
    guard offset + LogLayout.headerByteCount <= end else { return }
    let window = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.windowByteCount, alignment: 4096)
    defer { window.deallocate() }
    while offset + LogLayout.headerByteCount <= end, let base = window.baseAddress {
      let range = offset..<min(offset + Self.windowByteCount, end)
      try files[segment].readFully(into: UnsafeMutableRawBufferPointer(rebasing: window[..<range.count]), at: offset)
      offset = searchMarks(at: UnsafeRawPointer(base), of: segment, range, from: offset, &scan)
    }
  }

  /// The same for the bytes `range` of a segment, which stand at `bytes`; returns the first place that was not looked
  /// at.
  private func searchMarks(
    at bytes: UnsafeRawPointer, of segment: Int, _ range: Range<Int>, from start: Int, _ scan: inout LogScan
  ) -> Int {
    let descriptor = meta.segments[segment]
    let end = range.upperBound - LogLayout.headerByteCount
    var offset = start
    while offset <= end {
      let place = bytes + (offset &- range.lowerBound)
      // Most of a segment was never written to.
      if place.loadUnaligned(as: SIMD8<UInt64>.self) == SIMD8<UInt64>() {
        offset &+= MemoryLayout<SIMD8<UInt64>>.size
        continue
      }
      for step in 0..<8 where offset + 8 * step <= end {
        let place = place + 8 * step
        guard LogRecordKind.isKind(place.loadUnaligned(as: UInt32.self)),
          let header = header(at: place, descriptor, offset: offset + 8 * step)
        else { continue }
        scan.take(header)
        scan.headersBehind += 1
      }
      offset &+= 64
    }
    return max(start, min(offset, (end + 8) & ~7))
  }

  /// Whether the chain holds everything that is known to have been durable, and whether the parts in it fit together;
  /// throws what is missing.
  ///
  /// - Throws: `damagedLog` with file, offset and LSN where the chain breaks; `damagedMetaPage` if the log marks a
  ///   checkpoint durable that is newer than the meta page it was read by.
  package func checkMarks(_ scan: LogScan, path: String) throws(StorageError) {
    if let defect = scan.defect {
      let record = scan.records[defect.record]
      throw StorageError(
        .damagedLog, "A log record \(defect.text). \(StorageError.restoring)",
        path: files[record.segment].path, lsn: record.header.lsn, offset: record.offset)
    }
    guard scan.durableCheckpoint <= meta.checkpointNumber else {
      throw StorageError(
        .damagedMetaPage,
        """
        The log marks checkpoint \(scan.durableCheckpoint) as durable, but the newest meta page that verifies is that \
        of checkpoint \(meta.checkpointNumber). \(StorageError.restoring)
        """, path: path, lsn: scan.endLSN)
    }
    guard scan.durableLSN <= scan.endLSN else {
      let segment = meta.segments.lastIndex { $0.firstLSN <= scan.endLSN } ?? 0
      throw StorageError(
        .damagedLog,
        """
        The record at \(scan.endLSN) does not verify, but a later one marks the log as durable up to \
        \(scan.durableLSN). This is damage and not the torn end of a crash. \(StorageError.restoring)
        """, path: files[segment].path, lsn: scan.endLSN,
        offset: Int(scan.endLSN.rawValue - meta.segments[segment].firstLSN.rawValue))
    }
  }
}

extension LogScan {
  /// Takes what a record marks as durable.
  fileprivate mutating func take(_ header: LogRecordHeader) {
    durableLSN = max(durableLSN, header.durableLSN)
    durableCheckpoint = max(durableCheckpoint, header.durableCheckpoint)
  }
}
