// Indexes on a disk that loses power: whatever is left agrees with the rows.
//
// Some tens of crashes in every run of the tests; more, or those of a chosen seed, by
//
//     QUIRE_INDEX_CRASHES=100000 QUIRE_INDEX_SEED=7 swift test --filter IndexCrashTests

import Foundation
@testable import QuireIndexes
import QuireTesting
import Testing

@Suite("Indexes and crashes") struct IndexCrashTests {
  /// What has to come up.
  private static let wanted = [
    "cut off", "cut off while building", "close", "checkpoint", "unregister", "other list", "change while building",
    "rollback", "savepoint kept", "savepoint undone", "refused", "remove all", "change before registering",
  ]

  @Test(
    "What a crash leaves agrees with the rows, also of indexes that were being built",
    .enabled(if: TestSize.hasSlowTests, "slow"), arguments: [true, false])
  func crashes(isFull: Bool) {
    IndexHistory.crash(
      isFull: isFull, asking: "QUIRE_INDEX_CRASHES", usually: 360, wanted: Self.wanted, suite: "IndexCrashTests")
  }
}

extension IndexHistory {
  /// The crashes of one life; fewer in the short size, whose lives end when all has come up.
  private static func crashesOfALife(isShort: Bool) -> Int { isShort ? 30 : 60 }

  /// Lives random lives until there were as many crashes as are asked for, and, unless a number is given, until all has
  /// come up that is wanted.
  ///
  /// - Parameters:
  ///   - variable: what the environment calls the number of crashes, for both durabilities together.
  ///   - spills: whether what indexes are made of is sorted on disk.
  ///   - suite: what runs the seed of a failure again.
  static func crash(
    isFull: Bool, asking variable: String, usually count: Int, wanted: [String], spills: Bool = false, suite: String
  ) {
    let asked = environmentNumber(variable)
    let limit = (asked ?? TestSize.trials(count, divisor: 12)) / 2
    let first = UInt64(environmentNumber("QUIRE_INDEX_SEED") ?? 1)
    var (seed, crashes, counts) = (first, 0, [String: Int]())
    let (start, durability) = (Date(), isFull ? "full" : "relaxed")
    // What is rare may take a few lives more.
    while crashes < limit || asked == nil && crashes < 3 * count && wanted.contains(where: { counts[$0] == nil }) {
      let history = IndexHistory(seed: seed, isFull: isFull, spills: spills)
      do { try history.run(crashes: crashesOfALife(isShort: asked == nil && !TestSize.isFull)) } catch {
        Issue.record(
          """
          QUIRE_INDEX_SEED=\(seed) \(variable)=2 swift test --filter \(suite): \(durability), \
          crash \(history.crashCount): \(error); \(history.steps)
          """)
        return
      }
      crashes += history.crashCount
      counts.merge(history.counts) { $0 + $1 }
      seed += 1
    }
    if asked != nil {
      let seconds = Int(Date().timeIntervalSince(start))
      let met = counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
      print("\(crashes) crashes, \(durability), seeds \(first) to \(seed - 1), in \(seconds) s: \(met)")
    } else {
      for what in wanted { #expect(counts[what, default: 0] > 0, "no \(what)") }
    }
  }
}
