// Logs whose checksums are right, with whatever in them.

package import QuireStorage

/// Writes log records with right checksums and a right chain.
package struct LogForger {
  /// A record to be written.
  package struct Record {
    package var kind: LogRecordKind
    package var body: [UInt8]
    package var csnStep: UInt64
    package var durableLSN: LSN
    package var durableCheckpoint: UInt64
    package var partNumber: Int
    package var undoPosition: UInt64?

    /// A commit with this body, if nothing else is said.
    package init(
      kind: LogRecordKind = .commit, body: [UInt8], csnStep: UInt64 = 1, durableLSN: LSN = LSN(0),
      durableCheckpoint: UInt64 = 0, partNumber: Int = 0, undoPosition: UInt64? = nil
    ) {
      self.kind = kind
      self.body = body
      self.csnStep = csnStep
      self.durableLSN = durableLSN
      self.durableCheckpoint = durableCheckpoint
      self.partNumber = partNumber
      self.undoPosition = undoPosition
    }

    /// The body with the undo position in front.
    fileprivate var bytes: [UInt8] {
      guard let undoPosition else { return body }
      return withUnsafeBytes(of: undoPosition.littleEndian) { Array($0) } + body
    }
  }

  /// What the data file says of the log.
  package let meta: MetaPage

  /// Forges the log that `meta` leads to.
  package init(meta: MetaPage) { self.meta = meta }

  /// The bodies of the records that `inspector` finds.
  package static func bodies(_ log: Inspector.Log) -> [[UInt8]] {
    log.scan.records.filter { $0.header.kind == .commit }.map { Array(log.reader.body(of: $0)) }
  }

  /// Puts records into the first segment of the log of `disk`, in the place of what is there.
  package func write(_ records: [Record], to disk: SimulatedDisk) {
    guard let segment = meta.segments.first else { return }
    let path = "\(TinyDatabase.path)-log\(segment.fileIndex)"
    var offset = meta.logOffset
    disk.overwrite([UInt8](repeating: 0, count: segment.byteCount - offset), at: offset, of: path)
    var (chain, csn) = (meta.chain, meta.csn.rawValue)
    for record in records {
      let body = record.bytes
      let padded = LogLayout.align(body.count, to: 8)
      let byteCount = LogLayout.recordByteCount(body: body.count)
      guard offset + byteCount <= segment.byteCount else { return }
      let header = LogRecordHeader(
        kind: record.kind, bodyByteCount: body.count, lsn: segment.lsn(at: offset),
        csn: CSN(csn + record.csnStep), previousCSN: CSN(csn), chain: chain, durableLSN: record.durableLSN,
        durableCheckpoint: record.durableCheckpoint, partNumber: record.partNumber,
        hasUndo: record.undoPosition != nil)
      var bytes = [UInt8](repeating: 0, count: LogLayout.headerByteCount) + body
      bytes += [UInt8](repeating: 0, count: padded - body.count + 8)
      bytes.withUnsafeMutableBytes { buffer in
        guard let base = buffer.baseAddress else { return }
        let headerChecksum = header.encode(to: base, seed: LogLayout.seed(segment, offset: offset))
        chain = LogRecordHeader.recordChecksum(
          body: UnsafeRawPointer(base + LogLayout.headerByteCount), paddedByteCount: padded,
          headerChecksum: headerChecksum)
        base.storeBytes(of: chain, toByteOffset: byteCount - 8, as: UInt64.self)
      }
      disk.overwrite(bytes, at: offset, of: path)
      if record.kind == .commit { csn += record.csnStep }
      offset += byteCount
    }
  }
}
