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
    let tree = try engine.write { tx in
      let tree = try tx.createTree("texts", keys: .bytes)
      try tx.put([7], for: "stored", in: tree)
      return tree
    }
    try engine.checkpoint()
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
}
