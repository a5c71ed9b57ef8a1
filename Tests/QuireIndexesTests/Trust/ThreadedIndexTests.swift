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

  /// How many histories are added at the most.
  private static let mostMore: UInt64 = 8

  static func command(_ seed: UInt64) -> String {
    "QUIRE_INDEX_SEED=\(seed) QUIRE_INDEX_HISTORIES=20 swift test --filter ThreadedIndexTests"
  }

  @Test(
    "Queries agree with the rows at all times, and after each end of the process",
    .enabled(if: TestSize.hasSlowTests, "slow"), .timeLimit(.minutes(60)))
  func threads() throws {
    let asked = environmentNumber("QUIRE_INDEX_HISTORIES")
    let first = UInt64(environmentNumber("QUIRE_INDEX_SEED") ?? 1)
    let isShort = asked == nil && !TestSize.isFull
    let wanted = UInt64(asked ?? (isShort ? 1 : 3))
    var counts = ThreadedIndexLife.Counts()
    var seed = first
    // Where all is slow, some thread may not have come to anything yet: then it gets more time.
    while seed < first + wanted || !counts.haveAll && seed < first + wanted + Self.mostMore {
      let milliseconds = seed < first + wanted ? (asked == nil ? 300 : 800) : isShort ? 1000 : 3000
      var disk = SimulatedDisk()
      for life in 0..<Self.lives {
        let plan = ThreadedIndexPlan(history: seed, life: life, milliseconds: milliseconds)
        let (image, complaints) = try ThreadedIndexLife(plan, disk).run(&counts)
        disk = image
        guard complaints.isEmpty else {
          Issue.record("\(Self.command(seed)): life \(life), \(plan): \(complaints.prefix(4).joined(separator: "; "))")
          return
        }
      }
      seed += 1
    }
    if asked != nil { print("\(counts)") }
    #expect(counts.haveAll, "\(counts)")
  }
}

extension ThreadedIndexLife.Counts {
  /// Whether each thread has done something.
  fileprivate var haveAll: Bool { commits > 0 && indexedReads > 0 && pinnedReads > 0 && lists > 0 }
}
