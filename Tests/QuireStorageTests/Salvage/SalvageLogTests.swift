// What salvage takes of a log whose records verify and break the format: whole commits, or nothing of them.

import QuireStorage
import QuireTesting
import Testing

@Suite struct SalvageLogTests {
  /// Where a commit of two records breaks the format.
  enum Place: CaseIterable, Sendable {
    case onlyRecord, part, commit
  }

  private static func put(_ key: String, in tree: Tree) -> [UInt8] {
    [LogOperation.Code.put.rawValue, UInt8(tree.id.rawValue), UInt8(key.utf8.count)] + Array(key.utf8) + [1, 7]
  }

  @Test(arguments: Place.allCases) func aCommitThatBreaksTheFormatIsNotAppliedByHalf(place: Place) throws {
    let tiny = TinyDatabase()
    let engine = try tiny.open()
    let tree = try TinyDatabase.storeText(engine)
    try engine.write { tx in try tx.put([7], for: "logged", in: tree) }
    let disk = tiny.disk.processKillImage()
    try engine.close()
    let log = try #require(try Inspector(at: TinyDatabase.path, fileSystem: disk).log())
    let (good, broken) = (Self.put("half", in: tree), Self.put("half", in: tree) + [0xff])
    let first = LogForger.Record(body: Self.put("whole", in: tree))
    let second: [LogForger.Record] =
      switch place {
      case .onlyRecord: [LogForger.Record(body: broken)]
      case .part: [LogForger.Record(kind: .part, body: broken, partNumber: 1), .init(body: good, partNumber: 1)]
      case .commit: [LogForger.Record(kind: .part, body: good, partNumber: 1), .init(body: broken, partNumber: 1)]
      }
    LogForger(meta: log.meta).write([first] + second + [.init(body: Self.put("behind", in: tree))], to: disk)
    let outcome = try SalvageOutcome(disk)
    #expect(
      Set(outcome.entries.keys.map { String(decoding: $0.key, as: UTF8.self) }) == ["stored", "whole"])
    let csn = log.meta.csn.rawValue + 1
    #expect(outcome.source.csn.rawValue == csn && outcome.source.logCommitCount == 1)
    #expect(outcome.source.logEnd.map { $0 < log.scan.endLSN || $0.rawValue > log.meta.lsn.rawValue } == true)
    #expect(
      outcome.losses.contains { $0.kind == .log && $0.reason.contains("breaks the format") },
      "\(outcome.losses.map(\.reason))")
  }

  // MARK: Segments

  /// What has become of the only segment of a log.
  enum Damage: CaseIterable, Sendable {
    case missing, short, foreign, newer, headerUnreadable, recordsUnreadable

    /// What is told of it.
    var reason: String {
      switch self {
      case .missing: "cannot be opened"
      case .short: " of 65536 bytes"
      case .foreign: "is of another database"
      case .newer: "is newer than the meta page"
      case .headerUnreadable: "cannot be read: what it and those behind it hold"
      case .recordsUnreadable: "The log cannot be read"
      }
    }

    func happen(to segment: SegmentDescriptor, of databaseID: DatabaseID, on disk: SimulatedDisk) {
      let path = "\(TinyDatabase.path)-log\(segment.fileIndex)"
      switch self {
      case .missing: disk.remove(path)
      case .short: disk.setLength(segment.byteCount / 2, of: path)
      case .foreign:
        let other = DatabaseID(high: databaseID.high, low: ~databaseID.low)
        disk.overwrite(LogLayout.segmentHeader(segment, databaseID: other), at: 0, of: path)
      case .newer:
        var newer = segment
        newer.number += 5
        disk.overwrite(LogLayout.segmentHeader(newer, databaseID: databaseID), at: 0, of: path)
      case .headerUnreadable: disk.makeUnreadable(0..<512, of: path)
      case .recordsUnreadable:
        disk.makeUnreadable(LogLayout.firstRecordOffset..<segment.byteCount, of: path)
      }
    }
  }

  @Test(
    "What is wrong with a segment is told, and what is in the data file comes all the same",
    arguments: Damage.allCases)
  func damagedSegment(damage: Damage) throws {
    let tiny = TinyDatabase()
    let engine = try tiny.open()
    let tree = try TinyDatabase.storeText(engine)
    try engine.write { tx in try tx.put([7], for: "logged", in: tree) }
    let disk = tiny.disk.processKillImage()
    try engine.close()
    let meta = try Inspector(at: TinyDatabase.path, fileSystem: disk).requireMeta()
    damage.happen(to: try #require(meta.segments.first), of: meta.databaseID, on: disk)
    let outcome = try SalvageOutcome(disk)
    let keys = Set(outcome.entries.keys.map { String(decoding: $0.key, as: UTF8.self) })
    // The record stands in the half that is left.
    #expect(keys == (damage == .short ? ["stored", "logged"] : ["stored"]))
    let loss = outcome.losses.first { $0.reason.contains(damage.reason) }
    #expect(loss?.kind == (damage == .newer ? .metaPage : .log), "\(outcome.losses.map(\.reason))")
    #expect(disk.openFileCount() == 0)
  }

  @Test("A tree that the log empties has what was put afterwards alone")
  func anEmptiedTree() throws {
    let tiny = TinyDatabase()
    let engine = try tiny.open()
    let tree = try TinyDatabase.storeText(engine)
    try engine.write { tx in try tx.put([7], for: "logged", in: tree) }
    try engine.write { tx in
      let count = try tx.deleteAll(in: tree)
      #expect(count == 2)
    }
    try engine.write { tx in try tx.put([8], for: "new", in: tree) }
    let disk = tiny.disk.processKillImage()
    try engine.close()
    let outcome = try SalvageOutcome(disk)
    #expect(outcome.entries.map { String(decoding: $0.key.key, as: UTF8.self) } == ["new"] && outcome.losses.isEmpty)
  }
}

extension TinyDatabase {
  /// Makes a tree "texts" with one entry, "stored", which a checkpoint has written to the data file.
  static func storeText(_ engine: StorageEngine) throws -> Tree {
    let tree = try engine.write { tx in
      let tree = try tx.createTree("texts", keys: .bytes)
      try tx.put([7], for: "stored", in: tree)
      return tree
    }
    try engine.checkpoint()
    return tree
  }
}
