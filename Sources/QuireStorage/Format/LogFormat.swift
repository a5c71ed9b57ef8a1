// The write-ahead log on disk: segments of a fixed size, and in them one record per commit, or several in a row.
//
//   bytes     segment header, at the start of a 4096-byte block of its own; for identification only
//   0..<8     magic number, "QuireLog"
//   8..<16    checksum: XXH3-64 of bytes 16..<64, seeded by the magic number
//   16..<32   database identity
//   32..<40   segment number
//   40..<48   salt
//   48..<56   first LSN
//   56..<64   size of the segment
//
//   bytes     record, at a multiple of 8; directly behind the last one, or at the next 4096-byte boundary
//   0..<4     magic and kind
//   4..<8     bytes of the body
//   8..<16    LSN of the record's first byte. Guards against a record at the wrong place.
//   16..<24   CSN
//   24..<32   checksum of the record before: the chain. Guards against ghosts behind a cut tail (hazard A1).
//   32..<40   LSN up to which the log was known durable when the record was written: proof against rot
//   40..<48   checkpoint number known durable then: proof against a rotten meta page (hazard A4)
//   48..<52   CSN less that of the commit before; commits that change no disk leave gaps
//   52..<56   part: its number in its transaction, from 1; commit: how many parts belong to it; mark: zero.
//             The highest bit: the body begins with an undo position.
//   56..<64   header checksum: XXH3-64 of bytes 0..<56, seeded by salt, segment number and offset
//   64...     body: an undo position of 8 bytes if the header says so, then operations; padded with zeros to 8 bytes
//   then 8    record checksum: XXH3-64 of the padded body, seeded by the header checksum. It is the next one's chain.
//
// The chain is a field and not a seed, so that a record behind a damaged one still verifies by itself and its
// durable LSN still counts.
//
// A long transaction appends its operations in parts while it runs; its commit record holds the last of them and counts
// for all. Parts of a transaction that ended without a commit are void. They bear the CSN that the next one bears too,
// and may be of the same length, so their CSN tells nothing: the commit record says how many parts it has, and these
// must be numbered 1 to n, with nothing but marks between. A part with the number 1 makes void what stood before it, a
// commit without parts does too.
//
// An undo position counts the bytes of all bodies of the transaction, from the first part's on: what stands from there
// up to this record was undone by a savepoint.

/// Kinds of log records; the values are on disk and must not change.
package enum LogRecordKind: UInt32, Sendable {
  /// The operations of one commit.
  case commit = 0x3152_5551
  /// No operations: marks what came before as durable.
  case mark = 0x324d_5551
  /// Some of the operations of a commit that may follow.
  case part = 0x3350_5551

  /// Whether a record may start with this word.
  @inline(__always) package static func isKind(_ word: UInt32) -> Bool {
    word == commit.rawValue || word == mark.rawValue || word == part.rawValue
  }
}

/// Sizes of the log's format.
package enum LogLayout {
  package static let segmentMagic: UInt64 = 0x676f_4c65_7269_7551
  package static let blockByteCount = 4096
  /// Where a segment's first record stands.
  package static let firstRecordOffset = blockByteCount
  package static let headerByteCount = 64
  package static let trailerByteCount = 8
  /// The bytes of an undo position.
  package static let undoByteCount = 8
  package static let segmentHeaderByteCount = 64

  /// `offset` rounded up to a multiple of `alignment`, a power of two.
  @inline(__always) package static func align(_ offset: Int, to alignment: Int) -> Int {
    (offset &+ alignment &- 1) & ~(alignment &- 1)
  }

  /// The bytes that a record with a body of `bodyByteCount` takes.
  @inline(__always) package static func recordByteCount(body bodyByteCount: Int) -> Int {
    headerByteCount + align(bodyByteCount, to: 8) + trailerByteCount
  }

  /// Seeds the checksums of the record at `offset` of a segment.
  @inline(__always) package static func seed(_ segment: SegmentDescriptor, offset: Int) -> UInt64 {
    segment.salt ^ (segment.number &* 0x9e37_79b9_7f4a_7c15) ^ (UInt64(offset) &* 0xc2b2_ae3d_27d4_eb4f)
  }

  /// The content of a segment's first block.
  package static func segmentHeader(_ segment: SegmentDescriptor, databaseID: DatabaseID) -> [UInt8] {
    var writer = ByteWriter(byteCount: segmentHeaderByteCount)
    writer.put(segmentMagic, at: 0)
    writer.put(databaseID.high, at: 16)
    writer.put(databaseID.low, at: 24)
    writer.put(segment.number, at: 32)
    writer.put(segment.salt, at: 40)
    writer.put(segment.firstLSN.rawValue, at: 48)
    writer.put(UInt64(segment.byteCount), at: 56)
    writer.put(segmentHeaderChecksum(writer.bytes), at: 8)
    return writer.bytes
  }

  /// The database and the segment that a header names; nil if it does not verify. It does not say in which file it is.
  package static func segment(inHeader bytes: [UInt8]) -> (owner: DatabaseID, segment: SegmentDescriptor)? {
    guard bytes.count >= segmentHeaderByteCount else { return nil }
    let reader = ByteReader(bytes)
    guard reader.word(at: 0) == segmentMagic, reader.word(at: 8) == segmentHeaderChecksum(bytes),
      let byteCount = Int(exactly: reader.word(at: 56))
    else { return nil }
    let segment = SegmentDescriptor(
      number: reader.word(at: 32), salt: reader.word(at: 40), byteCount: byteCount,
      firstLSN: LSN(reader.word(at: 48)), fileIndex: 0)
    return (DatabaseID(high: reader.word(at: 16), low: reader.word(at: 24)), segment)
  }

  private static func segmentHeaderChecksum(_ bytes: [UInt8]) -> UInt64 {
    bytes.withUnsafeBytes { buffer in
      guard let base = buffer.baseAddress else { return 0 }
      return XXH3.hash(base + 16, count: segmentHeaderByteCount - 16, seed: segmentMagic)
    }
  }
}

/// The fixed part of a log record.
package struct LogRecordHeader: Equatable, Sendable {
  package var kind: LogRecordKind
  package var bodyByteCount: Int
  package var lsn: LSN
  package var csn: CSN
  package var previousCSN: CSN
  package var chain: UInt64
  package var durableLSN: LSN
  package var durableCheckpoint: UInt64
  /// A part's number, from 1; of a commit how many parts belong to it.
  package var partNumber: Int
  /// Whether the body begins with an undo position.
  package var hasUndo: Bool

  private static let undoBit: UInt32 = 1 << 31

  /// Puts a header together; `csn` must not be below `previousCSN`.
  package init(
    kind: LogRecordKind, bodyByteCount: Int, lsn: LSN, csn: CSN, previousCSN: CSN, chain: UInt64, durableLSN: LSN,
    durableCheckpoint: UInt64, partNumber: Int = 0, hasUndo: Bool = false
  ) {
    self.kind = kind
    self.bodyByteCount = bodyByteCount
    self.lsn = lsn
    self.csn = csn
    self.previousCSN = previousCSN
    self.chain = chain
    self.durableLSN = durableLSN
    self.durableCheckpoint = durableCheckpoint
    self.partNumber = partNumber
    self.hasUndo = hasUndo
  }

  /// The bytes that the whole record takes.
  package var recordByteCount: Int { LogLayout.recordByteCount(body: bodyByteCount) }
  /// Where in the body the operations start.
  package var operationsStart: Int { hasUndo && bodyByteCount >= LogLayout.undoByteCount ? LogLayout.undoByteCount : 0 }

  /// Writes the 64 bytes of the header; returns the header checksum.
  package func encode(to target: UnsafeMutableRawPointer, seed: UInt64) -> UInt64 {
    target.storeBytes(of: kind.rawValue, toByteOffset: 0, as: UInt32.self)
    target.storeBytes(of: UInt32(bodyByteCount), toByteOffset: 4, as: UInt32.self)
    target.storeBytes(of: lsn.rawValue, toByteOffset: 8, as: UInt64.self)
    target.storeBytes(of: csn.rawValue, toByteOffset: 16, as: UInt64.self)
    target.storeBytes(of: chain, toByteOffset: 24, as: UInt64.self)
    target.storeBytes(of: durableLSN.rawValue, toByteOffset: 32, as: UInt64.self)
    target.storeBytes(of: durableCheckpoint, toByteOffset: 40, as: UInt64.self)
    target.storeBytes(of: UInt32(csn.rawValue - previousCSN.rawValue), toByteOffset: 48, as: UInt32.self)
    let parts = UInt32(truncatingIfNeeded: partNumber) | (hasUndo ? Self.undoBit : 0)
    target.storeBytes(of: parts, toByteOffset: 52, as: UInt32.self)
    let checksum = XXH3.hash(UnsafeRawPointer(target), count: 56, seed: seed)
    target.storeBytes(of: checksum, toByteOffset: 56, as: UInt64.self)
    return checksum
  }

  /// Reads the header at `source`, which has 64 bytes; nil if it does not verify.
  package static func decode(_ source: UnsafeRawPointer, seed: UInt64) -> (header: Self, checksum: UInt64)? {
    guard let kind = LogRecordKind(rawValue: source.loadUnaligned(as: UInt32.self)) else { return nil }
    let checksum = XXH3.hash(source, count: 56, seed: seed)
    guard checksum == source.loadUnaligned(fromByteOffset: 56, as: UInt64.self) else { return nil }
    func word(_ offset: Int) -> UInt64 { source.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
    let csn = word(16)
    let delta = UInt64(source.loadUnaligned(fromByteOffset: 48, as: UInt32.self))
    let parts = source.loadUnaligned(fromByteOffset: 52, as: UInt32.self)
    // A commit has a number of its own, which its parts bear too; a mark has none.
    guard csn >= delta, csn < 1 << 62, (kind != .mark) == (delta > 0) else { return nil }
    let header = LogRecordHeader(
      kind: kind, bodyByteCount: Int(source.loadUnaligned(fromByteOffset: 4, as: UInt32.self)), lsn: LSN(word(8)),
      csn: CSN(csn), previousCSN: CSN(csn - delta), chain: word(24), durableLSN: LSN(word(32)),
      durableCheckpoint: word(40), partNumber: Int(parts & ~undoBit), hasUndo: parts & undoBit != 0)
    return (header, checksum)
  }

  /// The record checksum of a padded body.
  package static func recordChecksum(
    body: UnsafeRawPointer, paddedByteCount: Int, headerChecksum: UInt64
  ) -> UInt64 {
    XXH3.hash(body, count: paddedByteCount, seed: headerChecksum)
  }
}
