// Writers, readers, old snapshots and changing lists of indexes at once, on a disk that fails, several lives long. Run
// under the thread sanitizer with --filter Threaded; more histories, or those of a chosen seed, by
//
//     QUIRE_INDEX_HISTORIES=500 QUIRE_INDEX_SEED=7 swift test --filter ThreadedIndexTests

import Foundation
@testable import QuireIndexes
import QuireTesting
import Testing

@Suite("Indexes beside threads and failures", .serialized) struct ThreadedIndexTests {
  /// How often the process ends in a history.
  private static let lives = 3

  static func command(_ seed: UInt64) -> String {
    "QUIRE_INDEX_SEED=\(seed) QUIRE_INDEX_HISTORIES=20 swift test --filter ThreadedIndexTests"
  }

  @Test("Queries agree with the rows at all times, and after each end of the process", .timeLimit(.minutes(60)))
  func threads() throws {
    let asked = environmentNumber("QUIRE_INDEX_HISTORIES")
    let first = UInt64(environmentNumber("QUIRE_INDEX_SEED") ?? 1)
    var counts = ThreadedIndexLife.Counts()
    for seed in first..<first + UInt64(asked ?? 3) {
      var disk = SimulatedDisk()
      for life in 0..<Self.lives {
        let plan = ThreadedIndexPlan(history: seed, life: life, milliseconds: asked == nil ? 300 : 800)
        let (image, complaints) = try ThreadedIndexLife(plan, disk).run(&counts)
        disk = image
        guard complaints.isEmpty else {
          Issue.record("\(Self.command(seed)): life \(life), \(plan): \(complaints.prefix(4).joined(separator: "; "))")
          return
        }
      }
    }
    if asked != nil { print("\(counts)") }
    #expect(
      counts.commits > 0 && counts.indexedReads > 0 && counts.pinnedReads > 0 && counts.lists > 0, "\(counts)")
  }
}
