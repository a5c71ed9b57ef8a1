// The identity of a database whose meta pages are both gone: without it no checksum can be computed.

/// Searches what is left of meta pages and log files for an identity with which pages verify.
struct SalvageIdentity {
  private let file: any File
  private let byteCount: Int
  /// Segments that say by themselves what they are, with the database they belong to.
  private let segments: [(owner: DatabaseID, segment: SegmentDescriptor)]

  private static let pageSizes = Limits.pageSizes + [512, 1024, 2048]
  /// At so many places of a file pages are looked for.
  private static let sampleCount = 1 << 16

  init(_ file: any File, byteCount: Int, _ fileSystem: any FileSystem) {
    self.file = file
    self.byteCount = byteCount
    let logFiles = LogFiles(
      fileSystem: fileSystem, databasePath: file.path, databaseID: DatabaseID(high: 0, low: 0))
    segments = (0..<Limits.segmentFileCount).compactMap { index in
      guard logFiles.exists(index) else { return nil }
      do throws(SystemError) {
        let log = try fileSystem.open(logFiles.path(index), .readOnly)
        defer { log.close() }
        guard let bytes = Self.read(log, LogLayout.segmentHeaderByteCount, at: 0),
          let (owner, found) = LogLayout.segment(inHeader: bytes),
          Limits.segmentByteCounts.contains(found.byteCount), found.byteCount % 8 == 0,
          found.firstLSN.rawValue < 1 << 62, found.number < 1 << 62
        else { return nil }
        var segment = found
        segment.fileIndex = index
        return (owner, segment)
      } catch {
        return nil
      }
    }
  }

  private static func read(_ file: any File, _ count: Int, at offset: Int) -> [UInt8]? {
    do throws(StorageError) { return try LogFiles.read(file, count, at: offset) } catch { return nil }
  }

  /// The identity and the page size with which a page verifies; nil if none does.
  func find() -> (id: DatabaseID, pageSize: Int)? {
    var candidates = Set(segments.map(\.owner))
    for offset in [0] + Self.pageSizes {
      guard let bytes = Self.read(file, 40, at: offset) else { continue }
      let reader = ByteReader(bytes)
      candidates.insert(DatabaseID(high: reader.word(at: 24), low: reader.word(at: 32)))
    }
    candidates.remove(DatabaseID(high: 0, low: 0))
    for pageSize in Self.pageSizes {
      var found: DatabaseID?
      forEachPlausiblePage(pageSize) { page in
        found = candidates.first {
          PageChecksum.compute(page, pageSize: pageSize, seed: $0.checksumSeed) == page.checksum
        }
        return found == nil
      }
      if let found { return (found, pageSize) }
    }
    return nil
  }

  /// The page size with which most pages say that they are where they belong; nil if none does.
  func likelyPageSize() -> Int? {
    var best: (count: Int, pageSize: Int)?
    for pageSize in Self.pageSizes {
      var count = 0
      forEachPlausiblePage(pageSize) { _ in
        count += 1
        return true
      }
      if count > best?.count ?? 0 { best = (count, pageSize) }
    }
    return best?.pageSize
  }

  /// Calls `body` with pages whose headers say that they belong where they stand, at places all over the file, until it
  /// returns false.
  private func forEachPlausiblePage(_ pageSize: Int, _ body: (PageBytes) -> Bool) {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: pageSize, alignment: 16)
    defer { buffer.deallocate() }
    guard let base = buffer.baseAddress else { return }
    let page = PageBytes(base)
    let header = UnsafeMutableRawBufferPointer(rebasing: buffer[..<PageLayout.headerByteCount])
    let pageCount = byteCount / pageSize
    var number = 2
    while number < pageCount {
      defer { number += 1 + pageCount / Self.sampleCount }
      do throws(StorageError) {
        try file.readFully(into: header, at: number * pageSize)
        guard page.pageNumber == UInt64(number), PageKind(rawValue: page.kind) != nil else { continue }
        try file.readFully(into: buffer, at: number * pageSize)
      } catch {
        continue
      }
      if !body(page) { return }
    }
  }

  /// What the meta page would say of the log: the newest segments that follow each other. Nil if there are none.
  func logMeta(_ id: DatabaseID, pageSize: Int, _ fileSystem: any FileSystem) -> MetaPage? {
    var chain: [SegmentDescriptor] = []
    for segment in segments.filter({ $0.owner == id }).map(\.segment).sorted(by: { $0.number > $1.number }) {
      if let last = chain.last, segment.endLSN != last.firstLSN { break }
      chain.append(segment)
    }
    chain.reverse()
    guard let first = chain.first else { return nil }
    let offset = LogLayout.firstRecordOffset
    let logFiles = LogFiles(fileSystem: fileSystem, databasePath: file.path, databaseID: id)
    var record: LogRecordHeader?
    do throws(SystemError) {
      let log = try fileSystem.open(logFiles.path(first.fileIndex), .readOnly)
      defer { log.close() }
      record = Self.read(log, LogLayout.headerByteCount, at: offset)?.withUnsafeBytes { bytes in
        bytes.baseAddress.flatMap {
          LogRecordHeader.decode($0, seed: LogLayout.seed(first, offset: offset))?.header
        }
      }
    } catch {
      return nil
    }
    guard let record, record.lsn == first.lsn(at: offset) else { return nil }
    var meta = MetaPage(pageSize: pageSize, databaseID: id)
    meta.csn = record.previousCSN
    meta.lsn = record.lsn
    meta.chain = record.chain
    meta.logOffset = offset
    meta.segments = chain
    // Nothing that the log marks as durable is newer than what nobody knows.
    meta.checkpointNumber = .max
    return meta
  }
}
