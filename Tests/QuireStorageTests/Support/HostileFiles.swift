// Data files and logs whose checksums are right and whose content is not, by a seed.

import QuireStorage
import QuireTesting
import Testing

/// Files that a forger has changed.
struct HostileFiles {
  /// What is changed.
  enum Kind: String, CaseIterable, Sendable {
    case pages
    /// Pages among uniform leaves, of which full ones are divided without being measured.
    case uniformPages
    /// References to extents, next to other changes.
    case extents
    case metaPages
  }

  let kind: Kind
  let pageSize: Int
  /// The file as it was: a closed database with trees of several levels.
  let honest: [UInt8]

  init(_ kind: Kind, pageSize: Int) throws {
    (self.kind, self.pageSize) = (kind, pageSize)
    honest = try Self.makeFile(
      pageSize: pageSize, longOneIn: kind == .extents ? pageSize / 64 : 0, isUniform: kind == .uniformPages)
  }

  static func makeFile(pageSize: Int, longOneIn: Int = 0, isUniform: Bool = false) throws -> [UInt8] {
    let tiny = TinyDatabase(pageSize: pageSize)
    let engine = try tiny.open()
    try TinyDatabase.fill(engine, count: pageSize / 3, longOneIn: longOneIn, isUniform: isUniform)
    try engine.checkpoint()
    try TinyDatabase.fill(engine, count: pageSize / 8, seed: 9, longOneIn: longOneIn, isUniform: isUniform)
    try engine.close()
    return try #require(tiny.disk.bytes(of: TinyDatabase.path))
  }

  /// The file of a seed. What was changed goes to the standard error, if QUIRE_TRACE is set.
  func forged(seed: UInt64) throws -> [UInt8] {
    var random = SeededRandom(seed: seed)
    var forger = try #require(Forger(honest, pageSize: pageSize))
    if kind == .metaPages {
      trace("meta page, seed \(seed)")
      var bytes = Self.forgingMetaPages(forger, &random)
      Forger.resealMetaPages(&bytes, pageSize: pageSize)
      return bytes
    }
    var changes: [String]
    switch kind {
    case .pages, .metaPages: changes = (0...random.below(3)).map { _ in forger.mutate(&random) }
    case .uniformPages: changes = (0...random.below(6)).map { _ in forger.mutate(&random) }
    case .extents:
      changes = (0...random.below(3)).map { _ in forger.mutateExtent(&random) }
      if random.oneIn(4) { changes.append(forger.mutate(&random)) }
    }
    trace("\(kind), page size \(pageSize), seed \(seed): \(changes)")
    forger.seal()
    return forger.bytes
  }

  private static func forgingMetaPages(_ forger: Forger, _ random: inout SeededRandom) -> [UInt8] {
    var forger = forger
    // Everything behind version and page size is fair game.
    for slot in 0..<2 {
      for _ in 0...random.below(3) {
        let offset = slot * forger.pageSize + 24 + 8 * random.below(40)
        forger.put(random.oneIn(2) ? random.next() : UInt64(random.below(70)), at: offset)
      }
      // Sometimes one slot alone.
      if random.oneIn(2) { break }
    }
    return forger.bytes
  }
}

/// Logs of a killed process that a forger has changed.
struct HostileLogs {
  /// The database as the process left it.
  let honest: SimulatedDisk
  let log: Inspector.Log
  private let bodies: [[UInt8]]

  init() throws {
    let tiny = TinyDatabase()
    let engine = try tiny.open()
    try TinyDatabase.fill(engine, count: 100)
    try engine.checkpoint()
    try TinyDatabase.fill(engine, count: 60, seed: 2)
    honest = tiny.disk.processKillImage()
    log = try #require(try Inspector(at: TinyDatabase.path, fileSystem: honest).log())
    bodies = LogForger.bodies(log)
  }

  /// The disk of a seed.
  func forged(seed: UInt64) -> SimulatedDisk {
    trace("log, seed \(seed)")
    var random = SeededRandom(seed: seed)
    var records = bodies.map { LogForger.Record(body: $0) }
    for _ in 0...random.below(2) { mutate(&records[random.below(records.count)], &random) }
    let disk = honest.copy()
    LogForger(meta: log.meta).write(records, to: disk)
    return disk
  }

  private func mutate(_ record: inout LogForger.Record, _ random: inout SeededRandom) {
    switch random.below(8) {
    case 0: record.body = (0..<random.below(300)).map { _ in UInt8(random.below(256)) }
    case 1: record.body = (0..<random.below(300)).map { _ in UInt8(random.below(11)) }
    case 2: record.body.removeLast(random.below(record.body.count + 1))
    case 3: record.body += [UInt8(1 + random.below(9))]
    case 4: record.csnStep = UInt64(random.below(3))
    case 5: record.kind = .mark
    default:
      for _ in 0...random.below(4) where !record.body.isEmpty {
        record.body[random.below(record.body.count)] = UInt8(random.below(random.oneIn(2) ? 10 : 256))
      }
    }
  }
}
