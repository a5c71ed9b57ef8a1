// Reading a log back: which records form the chain, what is known to have been durable, and whether the two agree.

/// The result of reading the segments that a meta page names.
package struct LogScan {
  /// A record of the chain.
  package struct Record {
    /// Index in the meta page's list of segments.
    package let segment: Int
    package let offset: Int
    package let header: LogRecordHeader
  }

  /// The records of the chain, in order.
  package fileprivate(set) var records: [Record] = []
  /// The LSN behind the last record of the chain.
  package fileprivate(set) var endLSN: LSN
  /// The checksum of the last record.
  package fileprivate(set) var endChain: UInt64
  /// The newest CSN of the chain, or the meta page's.
  package fileprivate(set) var endCSN: CSN
  /// The highest LSN that any record found, in the chain or behind it, testifies to have been durable.
  package fileprivate(set) var durableLSN = LSN(0)
  /// The highest checkpoint number that any record found testifies to have been durable.
  package fileprivate(set) var durableCheckpoint: UInt64 = 0
}

/// Reads segments into memory and follows the chain.
///
/// Memory: the size of the segments, which a verified meta page states and the files' lengths confirm.
package final class LogReader {
  private let meta: MetaPage
  private let files: [any File]
  private let segments: [UnsafeMutableRawBufferPointer]

  /// Reads the segments of `meta` through `files`, which correspond to them in number and order.
  package init(_ meta: MetaPage, files: [any File]) throws(StorageError) {
    self.meta = meta
    self.files = files
    var segments: [UnsafeMutableRawBufferPointer] = []
    do throws(StorageError) {
      for (segment, file) in zip(meta.segments, files) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: segment.byteCount, alignment: 16)
        segments.append(buffer)
        try file.readFully(into: buffer, at: 0)
      }
    } catch {
      for segment in segments { segment.deallocate() }
      throw error
    }
    self.segments = segments
  }

  deinit { for segment in segments { segment.deallocate() } }

  /// The body of a record of this log.
  package func body(of record: LogScan.Record) -> UnsafeRawBufferPointer {
    let start = record.offset + LogLayout.headerByteCount
    return UnsafeRawBufferPointer(
      rebasing: UnsafeRawBufferPointer(segments[record.segment])[start..<(start + record.header.bodyByteCount)])
  }

  /// Follows the chain to its end, and looks for testimony behind it. Linear in the size of the segments.
  package func scan() -> LogScan {
    var scan = LogScan(endLSN: meta.lsn, endChain: meta.chain, endCSN: meta.csn)
    guard !meta.segments.isEmpty else { return scan }
    var segment = 0
    var offset = meta.logOffset
    while let record = successor(of: scan, segment: segment, offset: offset) {
      segment = record.segment
      offset = record.offset + record.header.recordByteCount
      scan.endLSN = meta.segments[segment].lsn(at: offset)
      scan.endChain = storedChecksum(record)
      scan.endCSN = record.header.csn
      scan.take(record.header)
      scan.records.append(record)
    }
    for behind in segment..<meta.segments.count {
      searchTestimony(in: behind, from: behind == segment ? offset : LogLayout.firstRecordOffset, &scan)
    }
    return scan
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
      return LogScan.Record(segment: segment, offset: offset, header: header)
    }
    return nil
  }

  /// The header at a place, if one verifies there.
  private func header(segment: Int, offset: Int) -> LogRecordHeader? {
    let descriptor = meta.segments[segment]
    guard offset >= LogLayout.firstRecordOffset, offset + LogLayout.headerByteCount <= descriptor.byteCount,
      let base = segments[segment].baseAddress,
      let decoded = LogRecordHeader.decode(
        UnsafeRawPointer(base + offset), seed: LogLayout.seed(descriptor, offset: offset)),
      decoded.header.lsn == descriptor.lsn(at: offset)
    else { return nil }
    return decoded.header
  }

  private func hasIntactBody(_ header: LogRecordHeader, segment: Int, offset: Int) -> Bool {
    guard header.recordByteCount <= meta.segments[segment].byteCount - offset,
      let base = segments[segment].baseAddress
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

  /// Looks at every place where a record could start. A header that verifies was written by us in this life of the
  /// segment, so what it says of durability was true, whatever has become of its body.
  private func searchTestimony(in segment: Int, from start: Int, _ scan: inout LogScan) {
    guard let base = segments[segment].baseAddress else { return }
    let end = meta.segments[segment].byteCount - LogLayout.headerByteCount
    var offset = LogLayout.align(start, to: 8)
    while offset <= end {
      let word = (base + offset).loadUnaligned(as: UInt32.self)
      if word == LogRecordKind.commit.rawValue || word == LogRecordKind.mark.rawValue,
        let header = header(segment: segment, offset: offset)
      {
        scan.take(header)
      }
      offset &+= 8
    }
  }

  /// Whether the chain holds everything that is known to have been durable; throws what is missing.
  ///
  /// - Throws: `damagedLog` with file, offset and LSN where the chain breaks; `damagedMetaPage` if the log testifies to
  ///   a checkpoint newer than the meta page it was read by.
  package func checkTestimony(_ scan: LogScan, path: String) throws(StorageError) {
    guard scan.durableCheckpoint <= meta.checkpointNumber else {
      throw StorageError(
        .damagedMetaPage,
        """
        The log testifies to checkpoint \(scan.durableCheckpoint), but the newest meta page that verifies is that of \
        checkpoint \(meta.checkpointNumber). Restore the database from a backup.
        """, path: path, lsn: scan.endLSN)
    }
    guard scan.durableLSN <= scan.endLSN else {
      let segment = meta.segments.lastIndex { $0.firstLSN <= scan.endLSN } ?? 0
      throw StorageError(
        .damagedLog,
        """
        The record at \(scan.endLSN) does not verify, but a later one testifies that the log was durable up to \
        \(scan.durableLSN). This is damage and not the torn end of a crash. Restore the database from a backup.
        """, path: files[segment].path, lsn: scan.endLSN,
        offset: Int(scan.endLSN.rawValue - meta.segments[segment].firstLSN.rawValue))
    }
  }
}

extension LogScan {
  /// Takes a record's testimony.
  fileprivate mutating func take(_ header: LogRecordHeader) {
    durableLSN = max(durableLSN, header.durableLSN)
    durableCheckpoint = max(durableCheckpoint, header.durableCheckpoint)
  }
}
