// The object layer beside a model of dictionaries.
//
// A short life in every run of the tests; a long one, or a chosen one, by
//
//     QUIRE_MODEL_OPERATIONS=100000 QUIRE_MODEL_SEED=7 swift test --filter RandomModelTests

import Foundation
import QuireTesting
import Testing

@Suite struct RandomModelTests {
  @Test(.enabled(if: TestSize.hasSlowTests, "slow"), arguments: [true, false])
  func theDatabaseIsItsModel(_ isFull: Bool) async throws {
    let operations = environmentNumber("QUIRE_MODEL_OPERATIONS") ?? TestSize.trials(3000, divisor: 2)
    let seed = UInt64(environmentNumber("QUIRE_MODEL_SEED") ?? 1)
    let history = try ModelHistory(seed: seed, isFull: isFull)
    try await history.run(operations)
    if operations >= 3000 {
      for what in [
        "commit", "rollback", "savepoint kept", "savepoint undone", "refused", "crash", "reopen", "advance", "check",
        "clear all", "register", "register again", "register stopped", "unregister", "stale", "rewrite",
        "rewrite stopped",
      ] {
        #expect(history.counts[what, default: 0] > 0, "no \(what) in \(operations) operations of seed \(seed)")
      }
    }
  }
}
