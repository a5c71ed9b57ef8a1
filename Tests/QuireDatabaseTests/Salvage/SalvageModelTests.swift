// Salvaging drawn databases with drawn damage: every row outside of it is there, and every other is told.

import Foundation
import QuireDatabase
import QuireStorage
import QuireTesting
import Testing

@Suite("Salvaging drawn databases") struct SalvageModelTests {
  private func salvage(
    _ history: SalvagedHistory, _ options: SalvageOptions = SalvageOptions()
  ) throws -> (outcome: SalvageOutcome, result: SalvagedResult)? {
    let target = history.folder.url.appendingPathComponent("new.quire").path
    let before = try Self.image(history)
    var findings: [SalvageFinding] = []
    let salvage = DatabaseSalvage(history.path, options: options, report: { findings.append($0) })
    let outcome: SalvageOutcome
    do { outcome = try salvage.run(to: target) } catch let error as DatabaseError {
      #expect([.damagedPage, .damagedMetaPage].contains(error.code), "\(error)")
      #expect(try Self.image(history) == before, "the damaged files, or something beside them, are others")
      return nil
    }
    defer { try? FileManager.default.removeItem(atPath: target) }
    var after = try Self.image(history)
    after["new.quire"] = nil
    #expect(after == before, "the damaged files, or something beside them, are others")
    #expect(outcome.defects.isEmpty, "\(outcome.defects)")
    #expect(outcome.lossCount == findings.count(where: \.isLoss))
    let db = try Database(at: target, options: Database.Options(durability: .relaxed, maintainsWhenIdle: false))
    try db.checkInvariants()
    #expect(try db.defects().isEmpty)
    let rows = try SalvagedHistory.rows(db.engine)
    #expect(rows.count == outcome.rowCount && outcome.collections.reduce(0) { $0 + $1.kept } == rows.count)
    // It can be written: no number is given again.
    let texts = RowCollection<String, NoMetadata>("new")
    try db.write { tx throws in try tx[texts].set("text", for: "k") }
    let new = try db.read { tx throws in try tx.rowID(of: RowKey("new", "k")) }
    #expect(new.map { $0.rawValue > rows.keys.max() ?? 0 } == true)
    try db.close()
    return (outcome, SalvagedResult(rows: rows, findings: findings))
  }

  private static func image(_ history: SalvagedHistory) throws -> [String: Data] {
    let folder = history.folder.url
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    return try Dictionary(
      uniqueKeysWithValues: names.map { ($0, try Data(contentsOf: folder.appendingPathComponent($0))) })
  }

  @Test("An undamaged database comes over whole", arguments: 0..<UInt64(TestSize.trials(40, divisor: 14)))
  func undamaged(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let history = try SalvagedHistory(&random)
    let (outcome, result) = try #require(try salvage(history))
    #expect(result.rows == history.rows)
    #expect(outcome.lossCount == 0 && result.findings.allSatisfy { $0.kind == .leftOut }, "\(result.findings)")
  }

  /// Of the last one nothing but notes is left in the end.
  private static let seeds = Set(0..<UInt64(TestSize.trials(400, divisor: 80))).union([222]).sorted()

  @Test("Rows outside the damage are there, others are told", arguments: seeds)
  func damaged(seed: UInt64) throws {
    var random = SeededRandom(seed: 1000 + seed)
    let history = try SalvagedHistory(&random)
    for round in 0..<3 {
      let damage = try history.damage(&random)
      guard let (_, result) = try salvage(history) else {
        #expect(damage.isWide, "seed \(seed), round \(round): nothing was read")
        continue
      }
      let problems = result.problems(history)
      #expect(
        problems.isEmpty, "seed \(seed), round \(round), \(damage): \(problems.prefix(5)) \(result.findings.prefix(8))")
      if let limit = history.rowLimit(damage) {
        let lost = history.rows.count { result.rows[$0.key] != $0.value }
        #expect(
          lost <= limit, "seed \(seed), round \(round), \(damage): \(lost) of \(history.rows.count) rows are lost")
      }
    }
  }

  @Test("Without meta pages all rows are there, told as old", arguments: 0..<UInt64(TestSize.trials(40, divisor: 20)))
  func withoutMetaPages(seed: UInt64) throws {
    var random = SeededRandom(seed: 9000 + seed)
    let history = try SalvagedHistory(&random, keepsLog: true)
    var files = history.files
    files["test.quire"]?.replaceSubrange(0..<8192, with: repeatElement(0, count: 8192))
    try history.restore(files)
    let (_, result) = try #require(try salvage(history))
    #expect(!history.rows.isEmpty && history.rows.allSatisfy { result.rows[$0.key] == $0.value })
    let old = Set(result.findings.filter { $0.kind == .oldRow }.compactMap(\.row))
    #expect(old.isSuperset(of: history.rows.keys))
    #expect(result.problems(history).isEmpty)
  }

  @Test("Without old rows, none is old", arguments: 0..<UInt64(TestSize.trials(80, divisor: 40)))
  func withoutOldRows(seed: UInt64) throws {
    var random = SeededRandom(seed: 5000 + seed)
    let history = try SalvagedHistory(&random)
    let damage = try history.damage(&random)
    guard let (outcome, result) = try salvage(history, SalvageOptions(includesStale: false)) else { return }
    #expect(result.findings.allSatisfy { $0.kind != .oldRow })
    #expect(outcome.collections.allSatisfy { $0.old == 0 })
    #expect(result.problems(history).isEmpty, "seed \(seed), \(damage)")
  }

  /// What the tests above find when a loss is not told, when a row is another one, and when one is too many.
  @Test("The checks find what is wrong") func checksFindWhatIsWrong() throws {
    var random = SeededRandom(seed: 3)
    let history = try SalvagedHistory(&random, size: 200)
    var data = try #require(history.files["test.quire"])
    // Every other leaf of rows.
    let leaves = (2..<data.count / 4096).filter { data[$0 * 4096 + 24] == 1 && data[$0 * 4096 + 32] == 1 }
    for index in stride(from: 0, to: leaves.count, by: 2) { data[leaves[index] * 4096 + 500] ^= 1 }
    var files = history.files
    files["test.quire"] = data
    try history.restore(files)
    var found = try #require(try salvage(history, SalvageOptions(includesStale: false))).result
    #expect(found.problems(history).isEmpty && found.rows.count < history.rows.count)
    let findings = found.findings
    found.findings = []
    #expect(!found.problems(history).isEmpty)
    found.findings = findings
    found.rows[1 << 40] = [0]
    #expect(found.problems(history) == ["row \(1 << 40) never was like this"])
  }
}
