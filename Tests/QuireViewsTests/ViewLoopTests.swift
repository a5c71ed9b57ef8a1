// Loops over views whose transaction changes what they go over.

import QuireDatabase
import QuireTesting
import QuireViews
import Testing

@Suite struct ViewLoopTests {
  private typealias Reader = ViewReader<Item, Int>

  /// The ways to go over a view.
  enum Loop: String, CaseIterable, Sendable {
    case rows
    case reversed
    case part
    case range
  }

  /// What is done to the database inside the loop.
  enum Change: String, CaseIterable, Sendable {
    case insert
    case remove
    case move
    case update
    case otherRow
    case removeAll
  }

  private static func make(
    _ isPersistent: Bool
  ) throws -> (
    Database, AutoView<Item, Int>, FilteredView<AutoView<Item, Int>>, ManualView<Item, Int>
  ) {
    let db = try Database.inMemory()
    let view = AutoView(
      "view", over: [RowCollection<Item, Int>.items()], isPersistent: isPersistent, grouping: .byObject { $0.group },
      sorting: .byObject { $0.rank })
    let few = FilteredView("few", of: view, isPersistent: isPersistent, filter: .byObject { $0.rank < 100 })
    let list = ManualView("list", over: [RowCollection<Item, Int>.items()], isPersistent: isPersistent)
    try db.register(view)
    try db.register(few)
    try db.register(list)
    try db.write { tx throws in
      for rank in 0..<200 {
        try tx[.items()].set(Item(group: "a", rank: rank), for: "k\(rank)")
        try tx.access(to: list).append("k\(rank)", to: "a")
      }
    }
    return (db, view, few, list)
  }

  private static func change(_ change: Change, _ tx: WriteTransaction) throws {
    let rows = tx[.items()]
    switch change {
    case .insert: try rows.set(Item(group: "a", rank: 50), for: "new")
    case .remove: try rows.remove("k51")
    case .move: try rows.set(Item(group: "a", rank: 98), for: "k50")
    case .update: try rows.set(Item(group: "a", rank: 50), for: "k50")
    case .otherRow: try tx[.items("others")].set(Item(group: "a", rank: 50), for: "k50")
    case .removeAll: try rows.removeAll()
    }
  }

  private static func loop(_ loop: Loop, _ reader: Reader, _ body: (ViewRow<Item, Int>) throws -> Void) throws {
    switch loop {
    case .rows: for (_, row) in reader.rows(in: "a") { try body(row) }
    case .reversed: for (_, row) in reader.rows(in: "a").reversed() { try body(row) }
    case .part: for (_, row) in reader.rows(in: "a", 20..<90) { try body(row) }
    case .range:
      _ = try reader.range(in: "a") { row in
        try body(row)
        return try row.object.rank < 40 ? -1 : 0
      }
    }
  }

  @Test(.enabled(if: TestSize.hasSlowTests, "slow"), arguments: [true, false], Loop.allCases)
  func aLoopEndsWithAnErrorWhenItsTransactionChangesSomething(_ isPersistent: Bool, _ loop: Loop) throws {
    let (db, view, few, list) = try Self.make(isPersistent)
    let place = (Loop.allCases.firstIndex(of: loop) ?? 0) + (isPersistent ? 1 : 0)
    for (number, name) in ["view", "few", "list"].enumerated() {
      // In the short size each change of one of them.
      for (turn, change) in Change.allCases.enumerated() where TestSize.isFull || (place + turn) % 3 == number {
        var steps = 0
        var thrown: DatabaseError?
        do {
          try db.write { tx throws in
            let reader =
              switch name {
              case "view": try tx.view(view)
              case "few": try tx.view(few)
              default: try tx.view(list)
              }
            try Self.loop(loop, reader) { _ in
              steps += 1
              if steps == 3 { try Self.change(change, tx) }
            }
          }
        } catch let error as DatabaseError { thrown = error }
        let place = "\(loop) \(change) of \(name), persistent: \(isPersistent)"
        #expect(steps == 3, "\(place)")
        #expect(thrown?.code == .mutatedDuringIteration, "\(place): \(thrown.map { "\($0)" } ?? "nothing")")
        let text = thrown?.message ?? ""
        #expect(text.contains("“\(name)”") && text.contains("“a”") && !text.contains("tree "), "\(place): \(text)")
      }
    }
  }

  @Test(arguments: [true, false]) func aLoopGoesOnWhenNothingChangesOrOnlyTouches(_ isPersistent: Bool) throws {
    let (db, view, _, _) = try Self.make(isPersistent)
    try db.write { tx throws in
      var count = 0
      for (_, row) in try tx.view(view).rows(in: "a") {
        count += 1
        try tx[.items()].touch(row.key)
        #expect(try tx[.items()].get(row.key) != nil)
      }
      #expect(count == 200)
    }
  }
}
