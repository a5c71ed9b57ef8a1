// How much a plan reads, beside what others would.

import Foundation
import QuireDatabase
@testable import QuireIndexes
import QuireTesting
import Testing

@Suite struct PlannerTests {
  /// Rows of which one value of a field has nearly all.
  private func database(_ random: inout SeededRandom) throws -> Database {
    let db = try Database.inMemory()
    try db.write { tx in
      for number in 0..<TestSize.trials(3000, divisor: 3) {
        var track = random.track()
        if random.below(100) != 0 { track.year = 1999 }
        track.score = Double(number % 500)
        try tx[.tracks].set(
          track, metadata: random.below(2) == 0 ? nil : Plays(count: random.below(50)), for: "k\(number)")
      }
    }
    try db.register(Indexes.tracks())
    return db
  }

  @Test(
    "A plan reads no more than twice what the best one does, or some rows",
    arguments: seeds(TestSize.trials(2, divisor: 2)))
  func readsLittle(seed: UInt64) throws {
    var random = SeededRandom(seed: seed &+ 100)
    let db = try database(&random)
    try db.read { tx in
      for turn in 0..<steps(TestSize.trials(100, divisor: 12)) {
        let condition = random.condition()
        let order = random.order()
        var query = tx[.tracks].find(condition.condition)
        if !order.columns.isEmpty { query = query.ordered(by: order.columns) }
        if random.below(2) == 0 { query = query.limit(1 + random.below(30)) }
        func reads(_ choice: PlanChoice) throws -> Int {
          query.choice = choice
          let run = try QueryRun(query)
          _ = try run.rowIDs()
          return run.cost.reads
        }
        let best = try ([.scan] + (0..<8).map { .driver($0) }).map { try reads($0) }.min() ?? 0
        let chosen = try reads(.best)
        let plan = try query.plan
        #expect(
          chosen <= 2 * best + 64,
          """
          QUIRE_INDEX_SEED=\(seed) swift test --filter PlannerTests: \(turn): \(condition.text) by \(order.text), \
          \(plan): \(chosen) reads, \(best) at best
          """)
      }
    }
    try db.close()
  }
}
