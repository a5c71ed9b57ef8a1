// The two meta pages: roots of everything. They take turns, so that one of them is always whole.
//
//   bytes     meta page, in the first 512 bytes of pages 0 and 1; the rest of the page is zero
//   0..<8     magic number, "QuireDB" and a zero byte
//   8..<16    checksum: XXH3-64 of bytes 16..<512, seeded by the magic number plus the slot, 0 or 1. Guards against a
//             copy of the one page where the other should be.
//   16..<20   format version: a reader refuses a version above its own; files of version 1 have no uniform leaves
//   20..<24   page size
//   24..<40   database identity
//   40..<48   checkpoint number: the valid page with the higher one counts
//   48..<56   CSN of the state that the trees hold
//   56..<64   page count: the file is at least that long
//   64..<72   catalog: root page, 0 if there are no trees
//   72..<80   catalog: checksum of the root
//   80..<88   catalog: level of the root
//   88..<96   catalog: number of trees
//   96..<104  free map: root page, 0 if it is empty
//   104..<112 free map: checksum of the root
//   112..<120 free map: level of the root
//   120..<128 next tree id
//   128..<136 next row id
//   136..<144 newest CSN that the log before this checkpoint holds: below the CSN if the last commit was not logged
//   144..<152 LSN at which the log goes on, or will
//   152..<160 checksum of the log record before that LSN
//   160..<168 offset in the first segment at which the log goes on
//   168..<176 number of segments named below; 0: complete, no log is needed
//   176..<336 four segments of 40 bytes: number, salt, size in bytes, first LSN, index of the file

/// What a meta page says of a log segment. Its salt is trusted from here only, never from the segment (hazard A3).
package struct SegmentDescriptor: Equatable, Sendable {
  /// Counts all segments that the database ever had.
  package var number: UInt64
  /// Random; seeds the checksums of the segment's records, so that those of an earlier life never verify.
  package var salt: UInt64
  package var byteCount: Int
  /// The LSN of the segment's first byte.
  package var firstLSN: LSN
  /// Which of the database's log files holds the segment.
  package var fileIndex: Int

  /// Describes a segment; nothing is checked here.
  package init(number: UInt64, salt: UInt64, byteCount: Int, firstLSN: LSN, fileIndex: Int) {
    self.number = number
    self.salt = salt
    self.byteCount = byteCount
    self.firstLSN = firstLSN
    self.fileIndex = fileIndex
  }

  /// The LSN of the byte at `offset`.
  package func lsn(at offset: Int) -> LSN { LSN(firstLSN.rawValue + UInt64(offset)) }
  /// The LSN behind the last byte.
  package var endLSN: LSN { lsn(at: byteCount) }
}

/// Where a tree of the file's own starts: the catalog, or the free map.
package struct PageRoot: Equatable, Sendable {
  package var number: PageNumber
  package var checksum: UInt64
  package var level: Int

  /// A root; without arguments that of an empty tree.
  package init(number: PageNumber = .none, checksum: UInt64 = 0, level: Int = 0) {
    self.number = number
    self.checksum = checksum
    self.level = level
  }
}

/// The content of a meta page.
package struct MetaPage: Equatable, Sendable {
  package var pageSize: Int
  package var databaseID: DatabaseID
  package var checkpointNumber: UInt64
  package var csn: CSN
  package var pageCount: UInt64
  package var catalog: PageRoot
  package var treeCount: Int
  package var freeMap: PageRoot
  package var nextTreeID: UInt64
  package var nextRowID: Int64
  package var loggedCSN: CSN
  package var lsn: LSN
  package var chain: UInt64
  package var logOffset: Int
  /// The segments that hold the log from `lsn` on, in order; empty if no log is needed.
  package var segments: [SegmentDescriptor]

  /// "QuireDB" and a zero byte, as a little-endian number.
  package static let magic: UInt64 = 0x0042_4465_7269_7551
  /// What is written: 2 since leaves may be uniform.
  package static let formatVersion: UInt32 = 2
  package static let byteCount = 512
  private static let segmentsOffset = 176
  private static let segmentByteCount = 40

  /// The first meta page of a new database.
  package init(pageSize: Int, databaseID: DatabaseID) {
    self.pageSize = pageSize
    self.databaseID = databaseID
    checkpointNumber = 1
    csn = CSN(0)
    pageCount = 2
    catalog = PageRoot()
    treeCount = 0
    freeMap = PageRoot()
    nextTreeID = 1
    nextRowID = 1
    loggedCSN = CSN(0)
    lsn = LSN(1 << 20)
    chain = 0
    logOffset = 0
    segments = []
  }

  /// Whether the trees hold everything and no log is needed.
  package var isComplete: Bool { segments.isEmpty }

  /// Which of the two pages holds this checkpoint if nothing speaks against it.
  package func offset(inSlot slot: Int) -> Int { slot * pageSize }

  /// The page's first 512 bytes.
  package func encoded(slot: Int) -> [UInt8] {
    var writer = ByteWriter(byteCount: Self.byteCount)
    writer.put(Self.magic, at: 0)
    writer.put(Self.formatVersion, at: 16)
    writer.put(UInt32(pageSize), at: 20)
    writer.put(databaseID.high, at: 24)
    writer.put(databaseID.low, at: 32)
    writer.put(checkpointNumber, at: 40)
    writer.put(csn.rawValue, at: 48)
    writer.put(pageCount, at: 56)
    writer.put(catalog, at: 64)
    writer.put(UInt64(treeCount), at: 88)
    writer.put(freeMap, at: 96)
    writer.put(nextTreeID, at: 120)
    writer.put(UInt64(bitPattern: nextRowID), at: 128)
    writer.put(loggedCSN.rawValue, at: 136)
    writer.put(lsn.rawValue, at: 144)
    writer.put(chain, at: 152)
    writer.put(UInt64(logOffset), at: 160)
    writer.put(UInt64(segments.count), at: 168)
    for (index, segment) in segments.enumerated() {
      let offset = Self.segmentsOffset + index * Self.segmentByteCount
      writer.put(segment.number, at: offset)
      writer.put(segment.salt, at: offset + 8)
      writer.put(UInt64(segment.byteCount), at: offset + 16)
      writer.put(segment.firstLSN.rawValue, at: offset + 24)
      writer.put(UInt64(segment.fileIndex), at: offset + 32)
    }
    writer.put(Self.checksum(writer.bytes, slot: slot), at: 8)
    return writer.bytes
  }

  private static func checksum(_ bytes: [UInt8], slot: Int) -> UInt64 {
    bytes.withUnsafeBytes { buffer in
      guard let base = buffer.baseAddress else { return 0 }
      return XXH3.hash(base + 16, count: byteCount - 16, seed: magic &+ UInt64(slot))
    }
  }

  /// What 512 bytes say.
  package enum Decoded: Equatable, Sendable {
    case valid(MetaPage)
    case newerFormat(version: UInt32)
    /// The magic number is there, the rest does not verify.
    case damaged(String)
    case notAMetaPage
  }

  /// Decodes the first 512 bytes of a meta page. Never traps, whatever they hold.
  package static func decode(_ bytes: [UInt8], slot: Int) -> Decoded {
    guard bytes.count >= byteCount else { return .notAMetaPage }
    let reader = ByteReader(bytes)
    guard reader.word(at: 0) == magic else { return .notAMetaPage }
    guard reader.word(at: 8) == checksum(bytes, slot: slot) else { return .damaged("its checksum does not match") }
    let version = reader.half(at: 16)
    guard version <= formatVersion else { return .newerFormat(version: version) }
    let pageSize = Int(reader.half(at: 20))
    guard version >= 1, pageSize >= 512, pageSize <= 32768, pageSize & (pageSize - 1) == 0 else {
      return .damaged("its page size, \(pageSize), or version, \(version), is none that was ever written")
    }
    var page = MetaPage(
      pageSize: pageSize, databaseID: DatabaseID(high: reader.word(at: 24), low: reader.word(at: 32)))
    page.checkpointNumber = reader.word(at: 40)
    page.csn = CSN(reader.word(at: 48))
    page.pageCount = reader.word(at: 56)
    page.nextTreeID = reader.word(at: 120)
    page.nextRowID = Int64(bitPattern: reader.word(at: 128))
    page.loggedCSN = CSN(reader.word(at: 136))
    page.lsn = LSN(reader.word(at: 144))
    page.chain = reader.word(at: 152)
    let count = reader.word(at: 168)
    // Counters stay so far below their largest value that nothing the engine adds to them overflows.
    guard page.pageCount >= 2, page.pageCount <= Limits.pageCount, page.nextRowID > 0,
      let trees = Int(exactly: reader.word(at: 88)), let logOffset = Int(exactly: reader.word(at: 160)),
      trees <= Limits.treeID, (1...UInt64(Limits.treeID)).contains(page.nextTreeID),
      count <= Limits.segmentsInMetaPage, page.lsn.rawValue < 1 << 62, page.csn.rawValue < 1 << 62,
      page.loggedCSN <= page.csn, (1..<(1 << 48)).contains(page.checkpointNumber),
      let catalog = reader.root(at: 64, pageCount: page.pageCount),
      let freeMap = reader.root(at: 96, pageCount: page.pageCount)
    else { return .damaged("its numbers contradict each other") }
    page.treeCount = trees
    page.logOffset = logOffset
    page.catalog = catalog
    page.freeMap = freeMap
    for index in 0..<Int(count) {
      guard let segment = reader.segment(at: segmentsOffset + index * segmentByteCount) else {
        return .damaged("what it says of its log segments is impossible")
      }
      page.segments.append(segment)
    }
    guard page.hasConsistentLog else { return .damaged("its log segments and its log position contradict each other") }
    return .valid(page)
  }

  /// Whether what is written from here on can be read again: the counters are below half of the largest values that are
  /// read. No database gets there by being written; a million commits in a second take 70,000 years.
  package var hasRoom: Bool {
    csn.rawValue < 1 << 61 && lsn.rawValue < 1 << 61 && checkpointNumber < 1 << 47
      && segments.allSatisfy { $0.number < 1 << 61 }
  }

  /// Whether the log goes on inside the first segment, and every other segment directly behind the one before.
  private var hasConsistentLog: Bool {
    guard let first = segments.first else { return true }
    guard (LogLayout.firstRecordOffset...first.byteCount).contains(logOffset), logOffset % 8 == 0,
      lsn == first.lsn(at: logOffset), Set(segments.map(\.fileIndex)).count == segments.count
    else { return false }
    return zip(segments, segments.dropFirst()).allSatisfy { before, after in
      after.firstLSN == before.endLSN && after.number > before.number
    }
  }
}

extension ByteWriter {
  fileprivate mutating func put(_ root: PageRoot, at offset: Int) {
    put(root.number.rawValue, at: offset)
    put(root.checksum, at: offset + 8)
    put(UInt64(root.level), at: offset + 16)
  }
}

extension ByteReader {
  fileprivate func root(at offset: Int, pageCount: UInt64) -> PageRoot? {
    let number = word(at: offset)
    let level = word(at: offset + 16)
    guard number == 0 || (number >= 2 && number < pageCount), level < UInt64(Limits.treeLevels) else { return nil }
    return PageRoot(number: PageNumber(number), checksum: word(at: offset + 8), level: Int(level))
  }

  fileprivate func segment(at offset: Int) -> SegmentDescriptor? {
    let byteCount = word(at: offset + 16)
    let firstLSN = word(at: offset + 24)
    let fileIndex = word(at: offset + 32)
    guard byteCount >= UInt64(Limits.leastSegmentByteCount), byteCount <= UInt64(Limits.segmentByteCounts.upperBound),
      firstLSN < 1 << 62, byteCount % 8 == 0, word(at: offset) < 1 << 62, fileIndex < UInt64(Limits.segmentFileCount)
    else { return nil }
    return SegmentDescriptor(
      number: word(at: offset), salt: word(at: offset + 8), byteCount: Int(byteCount), firstLSN: LSN(firstLSN),
      fileIndex: Int(fileIndex))
  }
}
