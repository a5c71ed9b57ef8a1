// The log, as the format document describes it: the chain of records, marks, parts.

/// Follows the log from where a meta page says.
struct LogDecoder {
  private static let magics: [UInt32: Kind] = [0x3152_5551: .commit, 0x324d_5551: .mark, 0x3350_5551: .part]

  /// What a record is.
  enum Kind { case commit, mark, part }

  /// The fixed part of a record that verifies.
  struct Header {
    let kind: Kind
    let bodyByteCount: Int
    let lsn: UInt64
    let csn: UInt64
    let previousCSN: UInt64
    let chain: UInt64
    let durableLSN: UInt64
    let durableCheckpoint: UInt64
    let part: Int
    let hasUndo: Bool
    let checksum: UInt64
    /// Header, padded body and record checksum.
    var byteCount: Int { 64 + (bodyByteCount + 7) / 8 * 8 + 8 }
  }

  private let meta: DecodedMeta
  private let segments: [DecoderBytes]
  /// The records of the chain.
  private(set) var records: [DecodedRecord] = []
  private(set) var csn: UInt64
  private var chain: UInt64
  private var endLSN: UInt64
  /// What records mark as durable, behind the end of the chain too.
  private(set) var durableLSN: UInt64 = 0
  private(set) var durableCheckpoint: UInt64 = 0
  /// The operations that count, in order.
  private(set) var committed: [[UInt8]] = []
  /// The pieces of the transaction under way: where each begins among all its bodies, and what of it counts.
  private var pieces: [(start: Int, bytes: [UInt8])] = []
  private var partCount = 0
  private var bodyByteCount = 0

  init(_ meta: DecodedMeta, logs: [Int: [UInt8]]) throws(DecodingFailure) {
    self.meta = meta
    csn = meta.csn
    chain = meta.chain
    endLSN = meta.lsn
    var segments: [DecoderBytes] = []
    for segment in meta.segments {
      let bytes = DecoderBytes(file: .log(segment.fileIndex), bytes: logs[segment.fileIndex] ?? [])
      try bytes.require(0, segment.byteCount)
      segments.append(bytes)
    }
    self.segments = segments
    if !segments.isEmpty { try follow() }
  }

  private mutating func follow() throws(DecodingFailure) {
    var (segment, offset) = (0, meta.logOffset)
    while let next = try successor(segment, offset) {
      let header = next.header
      (segment, offset) = (next.segment, next.offset + header.byteCount)
      chain = try segments[segment].word(offset - 8)
      endLSN = meta.segments[segment].firstLSN + UInt64(offset)
      if header.kind != .part { csn = header.csn }
      takeMarks(header)
      try take(header, segments[segment], next.offset)
      records.append(
        DecodedRecord(
          file: segments[segment].file, bytes: next.offset..<offset, lsn: header.lsn, csn: header.csn,
          isCommit: header.kind == .commit, durableLSN: header.durableLSN))
    }
    for index in segment..<segments.count {
      var place = index == segment ? (offset + 7) / 8 * 8 : 4096
      while place + 64 <= meta.segments[index].byteCount {
        if let header = try header(index, place) { takeMarks(header) }
        place += 8
      }
    }
    guard durableLSN <= endLSN else {
      throw segments[segment].failure(offset, "the log ends at \(endLSN), and was durable up to \(durableLSN)")
    }
    guard durableCheckpoint <= meta.checkpoint else {
      throw segments[segment].failure(offset, "the log speaks of checkpoint \(durableCheckpoint)")
    }
  }

  private mutating func takeMarks(_ header: Header) {
    durableLSN = max(durableLSN, header.durableLSN)
    durableCheckpoint = max(durableCheckpoint, header.durableCheckpoint)
  }

  /// The record that goes on with the chain: directly behind, at the next block, or in the next segment.
  private func successor(
    _ segment: Int, _ offset: Int
  ) throws(DecodingFailure) -> (segment: Int, offset: Int, header: Header)? {
    let block = (offset + 4095) / 4096 * 4096
    for (segment, offset) in [(segment, offset), (segment, block), (segment + 1, 4096)] where segment < segments.count {
      guard let header = try header(segment, offset), header.chain == chain, header.previousCSN == csn,
        header.byteCount <= meta.segments[segment].byteCount - offset
      else { continue }
      let (file, padded) = (segments[segment], header.byteCount - 72)
      guard try file.hash(offset + 64, padded, seed: header.checksum) == file.word(offset + 64 + padded) else {
        continue
      }
      return (segment, offset, header)
    }
    return nil
  }

  /// The header at a place of a segment; nil if none verifies.
  private func header(_ segment: Int, _ offset: Int) throws(DecodingFailure) -> Header? {
    let (file, descriptor) = (segments[segment], meta.segments[segment])
    guard offset >= 4096, offset + 64 <= descriptor.byteCount, let kind = Self.magics[try file.half(offset)] else {
      return nil
    }
    let seed =
      descriptor.salt ^ descriptor.number &* 0x9e37_79b9_7f4a_7c15 ^ UInt64(offset) &* 0xc2b2_ae3d_27d4_eb4f
    let checksum = try file.hash(offset, 56, seed: seed)
    guard try file.word(offset + 56) == checksum, try file.word(offset + 8) == descriptor.firstLSN + UInt64(offset)
    else { return nil }
    let (csn, step, parts) = (
      try file.word(offset + 16), UInt64(try file.half(offset + 48)), try file.half(offset + 52)
    )
    guard csn >= step, csn < 1 << 62, (kind == .mark) == (step == 0) else { return nil }
    return Header(
      kind: kind, bodyByteCount: Int(try file.half(offset + 4)), lsn: try file.word(offset + 8), csn: csn,
      previousCSN: csn - step, chain: try file.word(offset + 24), durableLSN: try file.word(offset + 32),
      durableCheckpoint: try file.word(offset + 40), part: Int(parts & 0x7fff_ffff), hasUndo: parts >> 31 == 1,
      checksum: checksum)
  }

  /// Settles what of a transaction's bodies counts.
  private mutating func take(_ header: Header, _ file: DecoderBytes, _ offset: Int) throws(DecodingFailure) {
    if header.kind == .mark { return }
    // A first part, or a commit without parts, makes void what stood before it.
    if header.part == (header.kind == .part ? 1 : 0) { forget() }
    guard header.part == partCount + (header.kind == .part ? 1 : 0) else {
      throw file.failure(offset, "the parts of a transaction are not numbered one after the other")
    }
    var body = try file.slice(offset + 64, header.bodyByteCount)
    if header.hasUndo {
      let position = try file.number(offset + 64)
      guard body.count >= 8, position < bodyByteCount else {
        throw file.failure(offset, "a record undoes what is not there")
      }
      pieces = pieces.compactMap { piece in
        piece.start >= position ? nil : (piece.start, Array(piece.bytes.prefix(position - piece.start)))
      }
      // The position itself takes its eight bytes among the bodies, and is no operation.
      body.removeFirst(8)
    }
    pieces.append((bodyByteCount + (header.hasUndo ? 8 : 0), body))
    bodyByteCount += header.bodyByteCount
    if header.kind == .part {
      partCount += 1
    } else {
      committed += pieces.map(\.bytes)
      forget()
    }
  }

  private mutating func forget() {
    pieces = []
    partCount = 0
    bodyByteCount = 0
  }
}
