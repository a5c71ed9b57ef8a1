// Files whose checksums are right and whose content is not, asked through indexes: whatever they hold, a query ends
// with an error or with rows, never with a trap or without an end.
//
// A few trials in every run of the tests; more, or one, by
//
//     QUIRE_INDEX_TRIALS=10000 QUIRE_INDEX_SEED=7 swift test --filter HostileIndexTests
//
// A trap leaves nothing behind but what QUIRE_TRACE=1 has told before.

import Foundation
import QuireDatabase
@testable import QuireIndexes
import QuireTesting
import Testing

@Suite("Indexes in files with right checksums") struct HostileIndexTests {
  private static let options = Database.Options(
    durability: .relaxed, cacheSize: 256 << 10, pageSize: IndexHistory.smallPage, maintainsWhenIdle: false)
  private static let schema = IndexSchema(numbers: Array(Indexes<Track, Plays>.all.indices))

  /// The file of a closed database with indexes of several levels, and what it holds.
  private static func prepared() throws -> (bytes: [UInt8], model: TrackModel) {
    var random = SeededRandom(seed: 1)
    let disk = SimulatedDisk()
    let db = try disk.openDatabase(seed: 1, options)
    try db.register(schema.indexes)
    var model = TrackModel()
    try db.write { tx in
      for number in 0..<TestSize.trials(600, divisor: 2) {
        let row = ModelRow(
          key: "k\(number)", number: number, track: random.track(),
          plays: random.oneIn(2) ? nil : Plays(count: random.below(4)))
        model[row.key] = row
        try tx[.tracks].set(row.track, metadata: row.plays, for: row.key)
      }
    }
    try db.close()
    return (try #require(disk.bytes(of: "/db")), model)
  }

  /// Runs what may end with any error of ours.
  private static func mayFail(_ body: () throws -> Void) throws {
    do { try body() } catch {
      // Rows that differ from those that were stored are what such a file says.
      guard error is DatabaseError || error is IndexError || error is QueryLife.Differs else { throw error }
    }
  }

  private static func exercise(_ bytes: [UInt8], _ model: TrackModel, _ random: inout SeededRandom) throws {
    let disk = SimulatedDisk()
    disk.install(bytes, at: "/db")
    try mayFail {
      let db = try disk.openDatabase(seed: 3, options)
      defer { try? db.close() }
      try mayFail { try db.register(schema.indexes) }
      for _ in 0..<6 { try mayFail { try ask(db, model, &random) } }
      for _ in 0..<3 { try mayFail { try change(db, &random) } }
      for _ in 0..<2 { try mayFail { try ask(db, model, &random) } }
      try mayFail { try db.read { tx in try tx.access(to: schema.indexes).verify() } }
      try mayFail { try db.unregister(extensionNamed: schema.indexes.name) }
      try mayFail { try db.register(schema.indexes) }
      try mayFail { try ask(db, model, &random) }
    }
  }

  private static func ask(_ db: Database, _ model: TrackModel, _ random: inout SeededRandom) throws {
    try db.read { tx in
      let rows = tx[.tracks]
      try mayFail { try QueryLife.check(rows, model, &random) { _ in } }
      // Many spans at once, walked and counted.
      let titles = (0..<60).map { _ in random.title() }
      let days = (0..<60).map { _ in Date(timeIntervalSinceReferenceDate: Double(random.below(40))) }
      try mayFail { _ = try rows.find { $0.title.isIn(titles) }.keys }
      try mayFail { _ = try rows.find { $0.title.isIn(titles) }.count }
      try mayFail { _ = try rows.find { $0.added.isIn(days) && $0.year >= 1995 }.count }
      try mayFail { _ = try rows.find { $0.year > 1990 }.order(by: \.title).limit(10).keys }
      try mayFail { _ = try rows.find { $0.year > 1990 }.max(\.score) }
      try mayFail { _ = try rows.find { $0.tags.contains("x") }.groupCounts(by: \.album.name) }
    }
  }

  private static func change(_ db: Database, _ random: inout SeededRandom) throws {
    try db.write { tx in
      for _ in 0..<20 {
        let key = "k\(random.below(700))"
        if random.oneIn(3) { try tx[.tracks].remove(key) } else { try tx[.tracks].set(random.track(), for: key) }
      }
    }
  }

  @Test("Queries end, whatever a file says", .enabled(if: TestSize.hasSlowTests, "slow"))
  func end() throws {
    let (bytes, model) = try Self.prepared()
    let first = UInt64(environmentNumber("QUIRE_INDEX_SEED") ?? 1)
    let count = environmentNumber("QUIRE_INDEX_TRIALS") ?? TestSize.trials(40, divisor: 20)
    let isTraced = environmentNumber("QUIRE_TRACE") != nil
    for seed in first..<first + UInt64(count) {
      var random = SeededRandom(seed: seed)
      var forger = try #require(Forger(bytes, pageSize: IndexHistory.smallPage))
      let what = (0..<1 + random.below(3)).map { _ in forger.mutate(&random) }
      forger.seal()
      let (forged, trial) = (forger.bytes, random)
      let hint = "QUIRE_INDEX_SEED=\(seed) QUIRE_INDEX_TRIALS=1 swift test --filter HostileIndexTests: \(what)"
      if isTraced { FileHandle.standardError.write(Data("\(hint)\n".utf8)) }
      let isEnded = isDone(within: 120) {
        var random = trial
        do { try Self.exercise(forged, model, &random) } catch { Issue.record("\(hint): \(error)") }
      }
      try #require(isEnded, "\(hint): it does not end")
    }
  }
}
