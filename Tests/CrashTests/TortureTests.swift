// A short torture in every test run, the seeds that found something once, and the proof that seeds repeat.

import QuireStorage
import QuireTesting
import Testing

@Suite struct TortureTests {
  #if DEBUG
    /// Without optimisation a history takes ten to twenty times as long.
    static let historyCount: UInt64 = 48
    static let exhaustiveCount: UInt64 = 1
  #else
    static let historyCount: UInt64 = 480
    static let exhaustiveCount: UInt64 = 4
  #endif

  /// Places where it is decided whether a commit is there.
  private static let decisive = [FaultPlace.append, .flush, .meta, .mark]

  /// Whether all has happened in the histories that is expected of the full number of them.
  private static func hasAll(_ report: TortureReport) -> Bool {
    guard report.crashes >= 6 * report.histories, report.nested >= 2 * report.histories else { return false }
    guard report.commits > 0, report.checkpoints > 0, report.snapshotReads > 0 else { return false }
    guard decisive.allSatisfy({ report.placedFaults[$0.rawValue] > 0 }) else { return false }
    guard decisive.contains(where: { report.placedUnlogged[$0.rawValue] > 0 }) else { return false }
    return report.unknownKept + report.unknownLost > 0 && report.commitsRefusedForGood > 0
  }

  /// In the short size the histories end as soon as all has happened in them.
  @Test(.enabled(if: TestSize.hasSlowTests, "slow")) func historiesSurviveTheirCrashes() {
    var report = TortureReport()
    for seed in 1...Self.historyCount {
      report.add(TortureHistory(seed: seed).run())
      if !TestSize.isFull, seed >= 3, Self.hasAll(report) { break }
    }
    #expect(report.failures.isEmpty, "\(report.failures)")
    #expect(report.crashes >= 6 * report.histories, "\(report.verdictLine)")
    #expect(report.nested >= 2 * report.histories, "\(report.verdictLine)")
    #expect(report.commits > 0 && report.checkpoints > 0 && report.snapshotReads > 0)
    // Commits fail where it is decided whether they are there.
    for place in Self.decisive { #expect(report.placedFaults[place.rawValue] > 0, "\(place): \(report.outcomeLine)") }
    #expect(Self.decisive.contains { report.placedUnlogged[$0.rawValue] > 0 }, "\(report.outcomeLine)")
    #expect(report.unknownKept + report.unknownLost > 0 && report.commitsRefusedForGood > 0, "\(report.outcomeLine)")
  }

  @Test func everyCrashOfAShortHistoryIsSurvived() {
    var report = TortureReport()
    // In the short size at one of ten changes.
    let stride = TestSize.isFull ? 1 : 20
    for seed in 1...Self.exhaustiveCount { report.add(ExhaustiveTorture(seed: seed, stride: stride).run()) }
    #expect(report.failures.isEmpty, "\(report.failures)")
    #expect(report.crashes > 100 / stride && report.nested > 500 / stride, "\(report.verdictLine)")
  }

  @Test(arguments: TestSize.some([3, 17, 234, 927] as [UInt64], of: 1))
  func seedsRepeat(seed: UInt64) {
    let (first, second) = (TortureHistory(seed: seed).run(), TortureHistory(seed: seed).run())
    #expect(first.hash == second.hash)
    #expect(first.verdictLine == second.verdictLine)
  }

  /// What each seed needs: 254630 a compaction that fails where a transaction of the same number was refused before;
  /// 255813 a disk that is full in the middle of a replay, which begins anew with the places that a proof has found;
  /// 77011418 a checkpoint that fails when the catalog has changed its size already; 9900003985 a sync of the last
  /// meta page that fails, after which the disk forgets what the next opening has found; 219785172472273 one after
  /// which puts that were waiting look for pages that the disk has forgotten.
  @Test(
    .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: [254_630, 255_813, 77_011_418, 9_900_003_985, 219_785_172_472_273] as [UInt64])
  func seedThatFoundSomethingOnce(seed: UInt64) {
    let report = TortureHistory(seed: seed).run()
    #expect(report.failures.isEmpty, "\(report.failures)")
  }

  @Test(.enabled(if: TestSize.isFull)) func exhaustiveSeedsRepeat() {
    #expect(ExhaustiveTorture(seed: 2).run().hash == ExhaustiveTorture(seed: 2).run().hash)
  }

  @Test func differentSeedsDiffer() {
    #expect(TortureHistory(seed: 3).run().hash != TortureHistory(seed: 4).run().hash)
  }
}
