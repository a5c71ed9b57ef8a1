// Indexes that are sorted on disk while they are built, and a disk that loses power: whatever is left agrees with the
// rows, building goes on, and no temporary file stays.
//
// Some tens of crashes in every run of the tests; more, or those of a chosen seed, by
//
//     QUIRE_SPILL_CRASHES=100000 QUIRE_INDEX_SEED=7 swift test --filter IndexSpillCrashTests

import Foundation
import QuireDatabase
@testable import QuireIndexes
import QuireTesting
import Testing

@Suite("Indexes sorted on disk, and crashes") struct IndexSpillCrashTests {
  /// What has to come up.
  private static let wanted = [
    "sorted on disk", "cut off with runs on disk", "cut off while building", "change while building", "other list",
    "unregister", "fill",
  ]

  @Test(
    "What a crash leaves of sorting agrees with the rows, and building goes on",
    .enabled(if: TestSize.hasSlowTests, "slow"), arguments: [true, false])
  func crashes(isFull: Bool) {
    IndexHistory.crash(
      isFull: isFull, asking: "QUIRE_SPILL_CRASHES", usually: 120, wanted: Self.wanted, spills: true,
      suite: "IndexSpillCrashTests")
  }

  private static let options = Database.Options(
    durability: .full, cacheSize: 1 << 20, pageSize: IndexHistory.smallPage, maintainsWhenIdle: false)

  @Test("A temporary file that a crash leaves its name goes when the database is opened", arguments: [true, false])
  func leftFileGoes(isKilled: Bool) throws {
    let disk = SimulatedDisk()
    let db = try disk.openDatabase(seed: 1, Self.options)
    var random = SeededRandom(seed: 1)
    try db.write { tx in for number in 0..<90 { try tx[.tracks].set(random.wideTrack(), for: "k\(number)") } }
    // The file is made, and the machine stops before its name is taken away.
    let watch = RunFileWatch(disk, afterRunFile: 1)
    let schema = IndexSchema(wideNumbers: [0, 1, 2], sortedByteCount: 0)
    #expect(throws: DatabaseError.self) { try db.register(schema.indexes) }
    #expect(watch.count == 1 && watch.cutsRuns)
    let image = isKilled ? disk.processKillImage() : disk.crashImage(.allNew)
    #expect(image.names.contains(where: isRunFile))
    let again = try image.openDatabase(seed: 2, Self.options)
    #expect(!image.names.contains(where: isRunFile), "\(image.names)")
    // Even if nothing is sorted on disk any more.
    var roomy = schema
    roomy.sortedByteCount = nil
    try again.register(roomy.indexes)
    try again.read { tx in try tx.access(to: roomy.indexes).verify() }
    try again.close()
    try image.checkForRunFiles()
  }
}
