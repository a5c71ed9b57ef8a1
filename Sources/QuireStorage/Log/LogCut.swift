// Where a log that a crash has ended is cut, so that it can go on in a fresh segment.

/// The end of what is proven durable of a log, and what stands behind it.
///
/// Nothing is ever appended behind the end that recovery has found (hazard A1), and what no later record marks durable
/// may be in the system's page cache alone (A5): it is written anew, in the fresh segment.
struct LogCut {
  /// The segment that holds the cut, by its index in the meta page, and the offset in it.
  let segment: Int
  let offset: Int
  /// The checksum of the record before the cut, and the CSN of the commit before it.
  let chain: UInt64
  let csn: CSN
  /// The commits behind the cut, all of them in that segment and of one record each.
  let tail: [LogScan.Record]
  /// The bytes that the records of `tail` take.
  var tailByteCount: Int { tail.reduce(0) { $0 + $1.header.recordByteCount } }
}

extension LogReader {
  /// The cut of a log that has been scanned and whose marks hold; nil if it must not go on: parts of a transaction
  /// without a commit stand at its end, the part to be written anew reaches over the end of a segment or holds parts, a
  /// segment behind has a record that no chain leads to or cannot be read, or too little would be left of the segment
  /// for the format.
  func cut(_ scan: LogScan) -> LogCut? {
    let records = scan.records
    let proven = records.prefix { meta.segments[$0.segment].lsn(at: $0.end) <= scan.durableLSN }
    let unproven = records[proven.endIndex...]
    let segment = proven.last?.segment ?? 0
    let offset = proven.last?.end ?? meta.logOffset
    guard offset >= Limits.leastSegmentByteCount, !endsInParts(proven),
      unproven.allSatisfy({ $0.segment == segment && $0.header.kind != .part && $0.header.partNumber == 0 }),
      unproven.allSatisfy({ !$0.header.hasUndo }),
      !((segment + 1)..<max(segment + 1, meta.segments.count)).contains(where: hasRecord(inSegment:)),
      failure == nil
    else { return nil }
    return LogCut(
      segment: segment, offset: offset, chain: unproven.first?.header.chain ?? scan.endChain,
      csn: unproven.first?.header.previousCSN ?? scan.endCSN, tail: unproven.filter { $0.header.kind == .commit })
  }

  private func endsInParts(_ records: ArraySlice<LogScan.Record>) -> Bool {
    records.last { $0.header.kind != .mark }?.header.kind == .part
  }
}

extension LogScan.Record {
  /// The offset behind the record.
  fileprivate var end: Int { offset + header.recordByteCount }
}
