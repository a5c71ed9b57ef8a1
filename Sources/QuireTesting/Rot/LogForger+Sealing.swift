// Logs as bytes: what stands in the first segment, changed at will and made right again.

internal import QuireStorage

extension LogForger {
  /// The records of the first segment as `disk` holds them, from the place at which the log goes on.
  package func bytes(on disk: SimulatedDisk) throws -> [UInt8] {
    guard let segment = meta.segments.first, let file = disk.bytes(of: path(segment)),
      let log = try Inspector(at: TinyDatabase.path, fileSystem: disk).log(),
      let last = log.scan.records.last(where: { $0.segment == 0 })
    else { return [] }
    return Array(file[meta.logOffset..<min(file.count, last.offset + last.header.recordByteCount)])
  }

  /// Puts such bytes in the place of all records of the first segment.
  package func install(_ bytes: [UInt8], on disk: SimulatedDisk) {
    guard let segment = meta.segments.first else { return }
    let room = segment.byteCount - meta.logOffset
    let kept = Array(bytes.prefix(room))
    disk.overwrite(kept + [UInt8](repeating: 0, count: room - kept.count), at: meta.logOffset, of: path(segment))
  }

  /// Where the records of such bytes begin, as far as their lengths lead.
  package func recordOffsets(in bytes: [UInt8]) -> [Int] {
    var offsets: [Int] = []
    var offset = 0
    while offset + LogLayout.recordByteCount(body: 0) <= bytes.count {
      guard LogRecordKind.isKind(word(bytes, offset)) else {
        // It may go on in the next block.
        let block = LogLayout.align(meta.logOffset + offset + 1, to: LogLayout.blockByteCount)
        offset = block - meta.logOffset
        continue
      }
      offsets.append(offset)
      offset += LogLayout.recordByteCount(body: Int(word(bytes, offset + 4)))
    }
    return offsets
  }

  /// Makes places, numbers, the chain and all checksums of such bytes right; lengths, marks and bodies stay. A record
  /// that is longer than the bytes ends with them.
  package func reseal(_ bytes: inout [UInt8]) {
    guard let segment = meta.segments.first else { return }
    var (chain, csn) = (meta.chain, meta.csn.rawValue)
    for offset in recordOffsets(in: bytes) {
      let room = bytes.count - offset - LogLayout.recordByteCount(body: 0)
      let bodyByteCount = min(Int(word(bytes, offset + 4)), room & ~7)
      let step = word(bytes, offset + 48)
      let byteCount = LogLayout.recordByteCount(body: bodyByteCount)
      let isCommit = word(bytes, offset) == LogRecordKind.commit.rawValue
      let isMark = word(bytes, offset) == LogRecordKind.mark.rawValue
      bytes.withUnsafeMutableBytes { buffer in
        guard let base = buffer.baseAddress.map({ $0 + offset }) else { return }
        base.storeBytes(of: UInt32(bodyByteCount), toByteOffset: 4, as: UInt32.self)
        base.storeBytes(of: segment.lsn(at: meta.logOffset + offset).rawValue, toByteOffset: 8, as: UInt64.self)
        base.storeBytes(of: isMark ? csn : csn &+ UInt64(step), toByteOffset: 16, as: UInt64.self)
        base.storeBytes(of: chain, toByteOffset: 24, as: UInt64.self)
        let seed = LogLayout.seed(segment, offset: meta.logOffset + offset)
        let checksum = XXH3.hash(UnsafeRawPointer(base), count: 56, seed: seed)
        base.storeBytes(of: checksum, toByteOffset: 56, as: UInt64.self)
        chain = LogRecordHeader.recordChecksum(
          body: UnsafeRawPointer(base + LogLayout.headerByteCount),
          paddedByteCount: LogLayout.align(bodyByteCount, to: 8), headerChecksum: checksum)
        base.storeBytes(of: chain, toByteOffset: byteCount - 8, as: UInt64.self)
      }
      if isCommit { csn &+= UInt64(step) }
    }
  }

  private func path(_ segment: SegmentDescriptor) -> String { "\(TinyDatabase.path)-log\(segment.fileIndex)" }

  /// The four bytes at an offset; 0 outside.
  private func word(_ bytes: [UInt8], _ offset: Int) -> UInt32 {
    guard offset >= 0, offset + 4 <= bytes.count else { return 0 }
    return bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self) }
  }
}
