// Loops over the rows of a view, which are fetched ahead: in every direction, over every part, and beside damage.

import Dispatch
import QuireDatabase
import QuireTesting
import Synchronization
import Testing

@testable import QuireViews

@Suite struct ViewWalkTests {
  private static let count = 60

  private func view() -> AutoView<Int, String> {
    AutoView(
      "order", over: [.numbers], grouping: .byObject { $0 == -1 ? nil : "" }, sorting: .byObject(key: { -$0 }))
  }

  private func open() throws -> (Database, AutoView<Int, String>) {
    let db = try Database.inMemory()
    let view = view()
    try db.register(view)
    try db.write { tx throws in
      for number in 0..<Self.count {
        try tx[.numbers].set(number, metadata: number % 3 == 0 ? nil : "m\(number)", for: "k\(number)")
      }
    }
    return (db, view)
  }

  @Test(arguments: 0..<UInt64(8)) func everyPartComesInItsOrder(seed: UInt64) throws {
    let (db, view) = try open()
    var random = SeededRandom(seed: seed)
    func check(_ reader: ViewReader<Int, String>) throws {
      for _ in 0..<20 {
        let start = random.below(Self.count + 5)
        let range = random.oneIn(4) ? nil : start..<(start + random.below(40))
        let expected = (range ?? 0..<Self.count).clamped(to: 0..<Self.count).map { Self.count - 1 - $0 }
        let rows = reader.rows(in: "", range)
        #expect(try rows.map { try $0.row.object } == expected, "seed \(seed), \(String(describing: range))")
        #expect(rows.reversed().map(\.row.key) == expected.reversed().map { "k\($0)" }, "seed \(seed)")
        for (index, row) in rows {
          let number = Self.count - 1 - index
          #expect(try row.key == "k\(number)" && row.metadata == (number % 3 == 0 ? nil : "m\(number)"))
          if random.oneIn(9) { break }
        }
      }
    }
    try db.read { tx throws in try check(tx.view(view)) }
    try db.write { tx throws in try check(tx.view(view)) }
  }

  /// Rows in front of one that is not there are handed out; the transaction's next call says what is wrong.
  @Test(arguments: [false, true], [nil, 15..<30]) func rowsInFrontOfDamageAreGood(
    isReversed: Bool, range: Range<Int>?
  ) throws {
    let (db, view) = try open()
    let damaged = 20
    try db.write { tx throws in
      let trees = try tx.access(to: view).storage.trees
      let group = try #require(try trees.group(""))
      let entry = try #require(try trees.entry(at: damaged, in: group)).entry
      try trees.entries.put(RowID(1 << 40).orderedBytes, for: entry.key)
    }
    let all = range ?? 0..<Self.count
    let expected = isReversed ? Array((damaged + 1..<all.upperBound).reversed()) : Array(all.lowerBound..<damaged)
    let failure = #expect(throws: DatabaseError.self) {
      try db.read { tx throws in
        let rows = try tx.view(view).rows(in: "", range)
        #expect((isReversed ? rows.reversed() : rows).map(\.index) == expected)
        _ = try tx[.numbers].get("k1")
      }
    }
    #expect(failure?.code == .damagedRow)
  }

  @Test func aRowOfNoCollectionOfTheViewIsDamage() throws {
    let (db, view) = try open()
    try db.write { tx throws in
      try tx[RowCollection<Int, NoMetadata>("others")].set(1, for: "other")
      let other = try #require(try tx[RowCollection<Int, NoMetadata>("others")].rowID("other"))
      let trees = try tx.access(to: view).storage.trees
      let group = try #require(try trees.group(""))
      try trees.entries.put(other.orderedBytes, for: try #require(try trees.entry(at: 3, in: group)).entry.key)
    }
    let failure = #expect(throws: DatabaseError.self) {
      try db.read { tx throws in #expect(try tx.view(view).rows(in: "").map(\.index) == [0, 1, 2]) }
    }
    #expect(failure?.code == .damagedRow)
  }

  /// What is kept of a loop beyond the transaction says that this is over, and harms nobody.
  @Test func aLoopEndsWithItsTransaction() throws {
    let (db, view) = try open()
    var kept: ViewRows<Int, String>.Iterator?
    var row: ViewRow<Int, String>?
    try db.read { tx throws in
      kept = try tx.view(view).rows(in: "").makeIterator()
      row = kept?.next()?.row
      #expect(try row?.object == Self.count - 1)
    }
    #expect(kept?.next() == nil)
    #expect(try row?.object == Self.count - 1, "what was decoded stays")
    #expect(throws: DatabaseError.self) { _ = try row?.metadata }
  }

  /// Throws unless a view shows all rows of one round, in their order.
  private static func checkRound(_ tx: some TransactionReading, _ view: AutoView<Int, String>) throws -> Int {
    let objects = try tx.view(view).rows(in: "").map { try $0.row.object }
    let round = try #require(objects.last) / 1000
    #expect(objects == (0..<count).reversed().map { round * 1000 + $0 })
    return round
  }

  private static func checkNewest(_ db: Database, _ view: AutoView<Int, String>) throws {
    let pinned = try db.pin()
    let newer = try db.read { tx throws in try checkRound(tx, view) }
    let round = try pinned.read { tx throws in try checkRound(tx, view) }
    #expect(newer >= round)
  }

  /// Whoever loops while others write sees all rows of one commit, in a transaction and in a pinned snapshot.
  @Test func everyLoopSeesOneCommit() throws {
    let (db, view) = try open()
    let failures = Mutex<[String]>([])
    DispatchQueue.concurrentPerform(iterations: 3) { thread in
      do {
        for round in 1...30 {
          if thread > 0 { try Self.checkNewest(db, view) } else { try Self.write(round, db, view) }
        }
      } catch { failures.withLock { $0.append("\(error)") } }
    }
    #expect(failures.withLock { $0 } == [])
  }

  private static func write(_ round: Int, _ db: Database, _ view: AutoView<Int, String>) throws {
    try db.write { tx throws in
      // In no order of the view, so that rows pass each other while a loop is under way elsewhere.
      for number in 0..<count { try tx[.numbers].set(round * 1000 + (number * 7 + round) % count, for: "k\(number)") }
      #expect(try checkRound(tx, view) == round)
    }
  }

  /// A function for both kinds of transactions sees what the one that writes has done so far.
  @Test func bothKindsOfTransactionsShowAView() throws {
    func first(_ view: some ViewExtension<Int, String>, in tx: some TransactionReading) throws -> Int? {
      try tx.view(view).rows(in: "").first?.row.object
    }
    let (db, view) = try open()
    try db.write { tx throws in
      #expect(try first(view, in: tx) == Self.count - 1)
      try tx[.numbers].set(1000, for: "new")
      #expect(try first(view, in: tx) == 1000)
      #expect(try db.pin().read { old throws in try first(view, in: old) } == Self.count - 1)
    }
    try db.read { tx throws in #expect(try first(view, in: tx) == 1000) }
  }
}
