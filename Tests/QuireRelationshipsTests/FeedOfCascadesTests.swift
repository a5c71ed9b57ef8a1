// What change feeds tell of rows that rules of edges remove and change.

import Foundation
import Quire
import QuireTesting
import Testing

@Suite("Change feeds of cascades") struct FeedOfCascadesTests {
  private static let feeds = [ChangeFeed("keys"), ChangeFeed("new", keeping: .newValues)]

  /// A consumer that keeps the nodes it is told of.
  private struct Consumer {
    let feed: ChangeFeed
    let mode: FeedMode
    var nodes: [String: Node] = [:]
    var cursor: FeedCursor?

    /// Takes one batch over; calls `atCommit` where all of a commit is there. Returns whether there was a batch.
    mutating func pull(
      _ db: Database, _ limit: FeedLimit, atCommit: (CSN, [String: Node]) throws -> Void
    ) throws -> Bool {
      guard let batch = try db.nextChanges(of: feed, after: cursor, limit: limit, mode: mode) else { return false }
      let changes = try batch.changes(in: .nodes)
      for (place, change) in changes.enumerated() {
        switch change.kind {
        case .cleared, .clearedAll: nodes = [:]
        default: nodes[change.key] = try change.new?.object
        }
        let isLast = place + 1 == changes.count
        let isWhole = isLast ? batch.endsCommit : changes[place + 1].csn != change.csn
        if mode == .log, isWhole { try atCommit(change.csn, nodes) }
      }
      if mode == .state, !batch.isCatchingUp { try atCommit(try db.read { tx in tx.csn }, nodes) }
      cursor = batch.cursor
      return true
    }
  }

  private static func nodes(_ db: Database) throws -> [String: Node] {
    try db.read { tx in Dictionary(uniqueKeysWithValues: tx[.nodes].rows.map { ($0.key, $0.object) }) }
  }

  @Test("Replaying a feed gives the rows at every commit, those that went with others included")
  func replays() throws {
    var cascades = 0
    for seed in TestSize.some(0..<60 as Range<UInt64>, of: 3) {
      var random = SeededRandom(seed: seed)
      let db = try Database.inMemory(
        options: Database.Options(durability: .relaxed, maintainsWhenIdle: false, feeds: Self.feeds))
      try db.register(nodeGraph())
      var states: [CSN: [String: Node]] = [:]
      var consumers = [
        Consumer(feed: Self.feeds[0], mode: .state), Consumer(feed: Self.feeds[1], mode: .state),
        Consumer(feed: Self.feeds[1], mode: .log),
      ]
      for _ in 0..<TestSize.trials(200) {
        let before = try Self.nodes(db).count
        var removals = 0
        try db.write { tx throws in
          for _ in 0...random.below(3) {
            let key = "n\(random.below(12))"
            if random.oneIn(3) {
              if try tx[.nodes].remove(key) { removals += 1 }
            } else {
              let rules = EdgeRules(rawValue: UInt8(1 << random.below(6)))
              try tx[.nodes].set(Node(Link("e", "n\(random.below(12))", rules)), for: key)
            }
          }
        }
        let after = try Self.nodes(db)
        if before - after.count > removals { cascades += 1 }
        states[try db.read { tx in tx.csn }] = after
        let index = random.below(consumers.count)
        let limit = FeedLimit(rows: 1 + random.below(9), bytes: random.oneIn(2) ? 200 : 1 << 20)
        _ = try consumers[index].pull(db, limit) { csn, nodes throws in
          #expect(nodes == states[csn], "seed \(seed), \(csn)")
        }
      }
      for index in consumers.indices {
        while try consumers[index].pull(db, .rows(5), atCommit: { _, _ in }) {}
        #expect(try consumers[index].nodes == Self.nodes(db), "seed \(seed), consumer \(index)")
      }
    }
    #expect(cascades > 0)
  }
}
