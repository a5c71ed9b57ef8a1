// A view over rows that were loaded shows what it shows over rows that were stored one by one.

import QuireDatabase
import QuireTesting
import QuireViews
import Testing

@Suite("Views over loaded rows") struct ViewLoadTests {
  @Test(arguments: TestSize.some([1, 2, 3, 4] as [UInt64], of: 2)) func same(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let databases = [try Database.inMemory(), try Database.inMemory()]
    let view = AutoView("byRank", over: .items(), group: { $0.group }, sortKey: { $0.rank })
    for db in databases { try db.register(view) }
    for _ in 0..<4 {
      let rows = (0..<random.below(200)).map { _ in
        ("k\(random.below(150))", Item(group: ["a", "b", nil][random.below(3)], rank: random.below(20)))
      }
      try databases[0].write { tx throws in for (key, item) in rows { try tx[.items()].set(item, for: key) } }
      try databases[1].write { tx throws in try tx[.items()].load(rows) }
      let shown = try databases.map { db in try db.read { tx in try tx.view(view).shown() } }
      #expect(shown[0] == shown[1])
    }
    for db in databases { try db.checkInvariants() }
  }
}
