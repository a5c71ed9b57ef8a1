// Indexes on a disk that loses power: whatever is left agrees with the rows.
//
// Some hundred crashes in every run of the tests; more, or those of a chosen seed, by
//
//     QUIRE_INDEX_CRASHES=100000 QUIRE_INDEX_SEED=7 swift test --filter IndexCrashTests

import Foundation
@testable import QuireIndexes
import QuireTesting
import Testing

@Suite("Indexes and crashes") struct IndexCrashTests {
  /// The crashes of one life.
  private static let crashesOfALife = 60
  /// What has to come up.
  private static let wanted = [
    "cut off", "cut off while building", "close", "checkpoint", "unregister", "other list", "change while building",
    "rollback", "savepoint kept", "savepoint undone", "refused", "remove all", "change before registering",
  ]

  @Test("What a crash leaves agrees with the rows, also of indexes that were being built", arguments: [true, false])
  func crashes(isFull: Bool) throws {
    let asked = environmentNumber("QUIRE_INDEX_CRASHES")
    let limit = (asked ?? 360) / 2
    let first = UInt64(environmentNumber("QUIRE_INDEX_SEED") ?? 1)
    var (seed, crashes, counts) = (first, 0, [String: Int]())
    let start = Date()
    // What is rare may take a few lives more.
    while crashes < limit || asked == nil && crashes < 6 * limit && Self.wanted.contains(where: { counts[$0] == nil }) {
      let history = IndexHistory(seed: seed, isFull: isFull)
      do { try history.run(crashes: Self.crashesOfALife) } catch {
        Issue.record(
          """
          QUIRE_INDEX_SEED=\(seed) QUIRE_INDEX_CRASHES=2 swift test --filter IndexCrashTests: \
          \(isFull ? "full" : "relaxed"), crash \(history.crashCount): \(error); \(history.steps)
          """)
        return
      }
      crashes += history.crashCount
      counts.merge(history.counts) { $0 + $1 }
      seed += 1
    }
    if asked != nil {
      let seconds = Date().timeIntervalSince(start)
      print("\(crashes) crashes, \(isFull ? "full" : "relaxed"), in \(seconds) s: \(counts.sorted { $0.key < $1.key })")
    } else {
      for what in Self.wanted { #expect(counts[what, default: 0] > 0, "no \(what)") }
    }
  }
}
