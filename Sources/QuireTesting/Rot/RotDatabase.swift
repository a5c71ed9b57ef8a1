// Databases to be damaged, and what damage to which of their bytes must come to.

package import QuireStorage

/// A database at rest on a simulated disk, whose every byte the decoder has explained.
package struct RotDatabase: Sendable {
  package let disk: SimulatedDisk
  package let options: StorageOptions
  /// The digest of each commit's content.
  package let states: [UInt64: StateDigest]
  package let newest: UInt64
  /// What the files say before they are damaged.
  package let decoded: DecodedDatabase
  /// Older versions of the data file, as checkpoints left them.
  package let olderImages: [[UInt8]]

  private init(_ workload: RotWorkload, _ image: SimulatedDisk, _ newest: UInt64, _ olderImages: [[UInt8]]) throws {
    disk = SimulatedDisk()
    // At rest for good: damage to bytes that wait to be synced would not be seen.
    for name in image.names { disk.install(image.bytes(of: name) ?? [], at: name) }
    options = workload.options
    states = workload.states
    self.newest = newest
    self.olderImages = olderImages
    decoded = try DecodedDatabase(image, path: RotWorkload.path)
    guard decoded.csn == newest, decoded.digest == states[newest] else {
      throw ContentMismatch(description: "the decoder finds another content than the model")
    }
  }

  /// A database that was closed. Its data file has at least `pageCount` pages, with trees of two levels, long values,
  /// free pages and a free map.
  package static func closed(pageSize: Int = 4096, pageCount: Int = 16, seed: UInt64 = 1) throws -> RotDatabase {
    let options = StorageOptions(pageSize: pageSize, cacheSize: 64 * pageSize, logLimit: 64 << 10)
    let work = try RotWorkload(SimulatedDisk(), options, seed: seed)
    var images: [[UInt8]] = []
    // Two levels first, then long values.
    work.valueByteCount = 60 + pageCount
    try work.commit(changes: 240)
    work.longOneIn = 40
    while work.engine.core.allocator.pageCount < UInt64(pageCount) {
      guard images.count < 400 else { throw ContentMismatch(description: "the work fills no \(pageCount) pages") }
      try work.commit(changes: pageSize / 128)
      try work.engine.checkpoint()
      images.append(work.disk.bytes(of: RotWorkload.path) ?? [])
    }
    let newest = work.newest
    try work.close()
    let database = try RotDatabase(work, work.disk.copy(), newest, images)
    let purposes = database.decoded.liveness.ranges.map(\.purpose)
    guard purposes.contains(.branch), purposes.contains(.extent), purposes.contains(.freeMap) else {
      throw ContentMismatch(description: "the work makes no pages of some kind")
    }
    return database
  }

  /// A database whose process was killed: a log segment of 64 KiB, almost full, whose last group of commits nothing
  /// proves durable. Some transactions are in parts, some of their operations are undone.
  package static func unclean(pageSize: Int = 4096, seed: UInt64 = 1) throws -> RotDatabase {
    let options = StorageOptions(
      pageSize: pageSize, cacheSize: 512 * pageSize, durability: .relaxed, logLimit: 64 << 10)
    let work = try RotWorkload(SimulatedDisk(), options, seed: seed)
    var images: [[UInt8]] = []
    for _ in 0..<3 {
      for _ in 0..<4 { try work.commit(changes: 16) }
      try work.engine.checkpoint()
      images.append(work.disk.bytes(of: RotWorkload.path) ?? [])
    }
    work.longOneIn = 60
    try work.commit(changes: 1)
    let start = work.engine.core.head.endLSN.rawValue
    var count = 0
    while work.engine.core.head.endLSN.rawValue < start + 48 << 10 {
      count += 1
      try work.commit(changes: count % 9 == 0 ? 64 : 1 + count % 5)
      if count % 6 == 0 { try work.engine.flush() }
      // Twice: it is written once nothing has come in between.
      if count % 24 == 0 { for _ in 0..<2 { _ = work.engine.core.appendQuietMark() } }
    }
    try work.engine.flush()
    for _ in 0..<5 { try work.commit(changes: 3) }
    return try RotDatabase(work, work.disk.processKillImage(), work.newest, images)
  }

  /// The path of a file.
  package static func path(_ file: DecodedFile) -> String {
    switch file {
    case .data: RotWorkload.path
    case .log(let index): "\(RotWorkload.path)-log\(index)"
    }
  }

  /// The log file that the meta page's log begins in.
  package var logFile: DecodedFile { decoded.records.first?.file ?? .log(0) }

  /// The length of a file.
  package func byteCount(_ file: DecodedFile) -> Int { disk.bytes(of: Self.path(file))?.count ?? 0 }

  // MARK: Expectations

  /// What opening and reading everything must come to.
  package enum Expectation: Equatable, Sendable {
    /// An error that names the damage.
    case error
    /// The content of a commit: the newest, or the one at which an unproven end is cut.
    case state(UInt64)
    /// Either.
    case errorOrState(UInt64)
  }

  /// What each byte of a file is for, to be asked for many expectations.
  package struct Purposes: Sendable {
    fileprivate let file: DecodedFile
    fileprivate let byByte: [LivenessMap.Purpose?]
  }

  /// Explains the bytes of a file.
  package func purposes(_ file: DecodedFile) -> Purposes {
    Purposes(file: file, byByte: decoded.liveness.purposes(of: file, byteCount: byteCount(file)))
  }

  /// What damage to these bytes, all of one file, must come to.
  package func expectation(_ damaged: some Sequence<Int>, _ purposes: Purposes) -> Expectation {
    var records: Set<Int> = []
    var (hitsMeta, hitsSpare) = (false, false)
    for offset in damaged where offset < purposes.byByte.count {
      switch purposes.byByte[offset] {
      case .record(let index): records.insert(index)
      case .metaPage: hitsMeta = true
      case .spareMetaPage: hitsSpare = true
      case nil: continue
      default: return .error
      }
    }
    if hitsMeta {
      if hitsSpare { return .error }
      return decoded.records.isEmpty ? .state(newest) : .errorOrState(newest)
    }
    guard let first = records.min() else { return .state(newest) }
    let marks = decoded.records.indices.filter { !records.contains($0) }.map { decoded.records[$0].durableLSN }
    if marks.max() ?? 0 > decoded.records[first].lsn { return .error }
    let kept = decoded.records[..<first].last { $0.isCommit }?.csn ?? firstCSN
    // Another damaged record may have a header whose mark still counts.
    return records.count == 1 ? .state(kept) : .errorOrState(kept)
  }

  /// The commit that the trees in the data file hold.
  private var firstCSN: UInt64 { states.keys.filter { $0 < decoded.records.first?.csn ?? 0 }.max() ?? 0 }
}
