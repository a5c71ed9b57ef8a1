// Two relationships beside a model that works by the written rules.
//
// A short life in every run of the tests; a long one, or a chosen one, by
//
//     QUIRE_GRAPH_STEPS=100000 QUIRE_GRAPH_SEED=7 swift test --filter RandomGraphTests

import Foundation
import QuireTesting
import Testing

@Suite struct RandomGraphTests {
  @Test func theEdgesAreThoseOfTheModel() throws {
    let limit = environmentNumber("QUIRE_GRAPH_STEPS") ?? TestSize.trials(4000)
    let seeds: [UInt64] = environmentNumber("QUIRE_GRAPH_SEED").map { [UInt64($0)] } ?? [1, 2]
    var counts: [String: Int] = [:]
    for seed in seeds {
      let history = try GraphHistory(seed: seed, limit: limit)
      try history.run()
      counts.merge(history.counts, uniquingKeysWith: +)
    }
    guard limit >= 4000 else { return }
    for what in [
      "set", "add", "drop", "drop nothing", "flush", "clear", "rollback", "savepoint kept", "savepoint undone",
      "reopen", "other version", "file", "crash", "crash while deleting", "late", "failed registration", "unregister",
      "change while building", "rename", "other type",
    ] {
      #expect(counts[what, default: 0] > 0, "no \(what) in \(limit) steps of the seeds \(seeds)")
    }
  }
}
