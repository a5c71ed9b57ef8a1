// Conditions on keys, and on rows that something beside their fields tells.

import Foundation
import QuireDatabase
@testable import QuireIndexes
import QuireTesting
import QuireViews
import Synchronization
import Testing

/// Counts calls on any thread.
private final class Counter: Sendable {
  private let calls = Atomic<Int>(0)
  var value: Int { calls.load(ordering: .relaxed) }
  func count() { calls.add(1, ordering: .relaxed) }
}

private struct Entry: Codable, Sendable, Equatable { var number: Int }

extension RowCollection where Object == Entry, Metadata == NoMetadata {
  fileprivate static var entries: Self { .init("entries") }
  fileprivate static var strangers: Self { .init("others") }
}

private typealias EntryCondition = Condition<Entry, NoMetadata>

private struct EntryID: RawRepresentable, RowKeyConvertible, Comparable {
  var rawValue: Int
  static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

@Suite struct KeyConditionTests {
  /// Rows under the keys of the numbers from −500 to 499.
  private func database(isIndexed: Bool = false) throws -> Database {
    let db = try Database.inMemory()
    try db.write { tx throws in
      for number in -500..<500 { try tx[.entries].set(Entry(number: number % 50), for: EntryID(rawValue: number)) }
      try tx[.strangers].set(Entry(number: 1), for: "other")
    }
    if isIndexed { try db.register(Indexes("entries.indexes", over: .entries) { Index("number", \Entry.number) }) }
    return db
  }

  private func keys(
    _ db: Database, _ condition: (Fields<Entry, NoMetadata>) throws -> EntryCondition
  ) throws -> [Int] {
    try db.read { tx in try tx[.entries].find(condition).keys.compactMap { Int.fromRowKey($0) } }
  }

  @Test func offsetsAndLimitsHoldForOneKey() throws {
    let db = try database()
    try db.read { tx in
      let one = tx[.entries].find { $0.key == EntryID(rawValue: 42) }
      for found in [one, one.orderByKey(), one.orderByKey(descending: true)] {
        let (all, count) = (try found.keys, try found.count)
        #expect(all.count == 1 && count == 1)
        let (behind, none, first) = (
          try found.offset(1).keys, try found.limit(0).keys, try found.offset(0).limit(3).keys
        )
        #expect(behind.isEmpty && none.isEmpty && first == all)
      }
    }
  }

  @Test func identifiersAreComparedInTheirOrder() throws {
    let db = try database()
    #expect(try keys(db) { $0.key == EntryID(rawValue: -7) } == [-7])
    #expect(try keys(db) { $0.key == "b42" } == [42])
    #expect(try keys(db) { $0.key >= 498 } == [498, 499])
    #expect(try keys(db) { $0.key < -498 } == [-500, -499])
    #expect(try keys(db) { $0.key.isIn(-2...2) } == [-2, -1, 0, 1, 2])
    #expect(try keys(db) { $0.key.isIn(-2..<2) } == [-2, -1, 0, 1])
    #expect(try keys(db) { $0.key.isIn(EntryID(rawValue: 8)...EntryID(rawValue: 10)) } == [8, 9, 10])
    #expect(try keys(db) { $0.key.isIn(EntryID(rawValue: 8)..<EntryID(rawValue: 10)) } == [8, 9])
    #expect(try keys(db) { $0.key.isBetween(99, and: 101) } == [99, 100, 101])
    #expect(try keys(db) { $0.key.isIn([3, 1000, 1]) } == [1, 3])
    #expect(try keys(db) { $0.key.isIn([String]()) } == [])
    #expect(try keys(db) { $0.key.hasPrefix("c12") }.count == 10)
    #expect(try keys(db) { $0.key > 497 && $0.key != 498 } == [499])
    #expect(try keys(db) { !($0.key < 498) || $0.key == 0 && $0.number == 0 } == [0, 498, 499])
  }

  @Test(arguments: [false, true]) func rowsComeInTheOrderOfKeys(isIndexed: Bool) throws {
    let db = try database(isIndexed: isIndexed)
    var random = SeededRandom(seed: 3)
    try db.read { tx throws in
      let all = (-500..<500).map { EntryID(rawValue: $0).rowKey }.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
      let conditions: [(EntryCondition, (Int) -> Bool)] = [
        (.all, { _ in true }), (Fields().number == 7, { $0 % 50 == 7 }), (Fields().number < 3, { $0 % 50 < 3 }),
        (Fields().key >= 480, { $0 >= 480 }),
        (Fields().key < -3 && Fields().number == -7, { $0 < -3 && $0 % 50 == -7 }),
      ]
      for (condition, isTrue) in conditions {
        let wanted = all.filter { Int.fromRowKey($0).map(isTrue) ?? false }
        let found = tx[.entries].find(condition)
        #expect(try found.orderByKey().keys == wanted)
        #expect(try found.orderByKey(descending: true).keys == wanted.reversed())
        #expect(try found.orderByKey().offset(2).limit(5).keys == Array(wanted.dropFirst(2).prefix(5)))
        for _ in 0..<4 {
          let (offset, limit, isReversed) = (random.below(wanted.count + 3), random.below(9), random.oneIn(2))
          let part = found.orderByKey(descending: isReversed).offset(offset).limit(limit)
          let expected = Array((isReversed ? wanted.reversed() : wanted).dropFirst(offset).prefix(limit))
          let run = try QueryRun(part)
          #expect(try part.keys == expected)
          // Nothing is read behind the last one that is wanted, nor in front of the first.
          if case .keys = run.description.order, try run.rowIDs().count == expected.count {
            #expect(run.cost.entries == expected.count)
          }
        }
        let query = RowCollection.entries.query(condition).orderByKey(descending: true).limit(3)
        #expect(try tx.find(query).keys == Array(wanted.reversed().prefix(3)))
      }
      // No row is read where keys alone are walked.
      #expect(try tx[.entries].find(.all).orderByKey().requireIndex().limit(2).keys == Array(all.prefix(2)))
      let plan = try tx[.entries].find { $0.key >= 480 }.orderByKey(descending: true).plan
      #expect(plan.order == .keys(isReversed: true))
      #expect(plan.description.hasSuffix("backwards in the order of keys"))
    }
  }

  @Test func plansCountKeys() throws {
    let db = try database(isIndexed: true)
    try db.read { tx throws in
      func plan(_ condition: (Fields<Entry, NoMetadata>) throws -> EntryCondition) throws -> String {
        let found = try tx[.entries].find(condition).requireIndex()
        return try found.plan.description
      }
      #expect(try plan { $0.key == 7 } == "1 key")
      #expect(try plan { $0.key == 7000 } == "0 keys")
      #expect(try plan { $0.key.isIn(0..<100) } == "100 keys")
      // The smaller side comes first, whichever it is.
      let narrow = try plan { $0.key.isIn(0..<3) && $0.number == 2 }
      #expect(narrow == "3 keys, each tested for one more part of the condition on its record")
      let wide = try plan { $0.key >= 0 && $0.number == 2 }
      #expect(wide == "10 entries of “number”, each tested for one more part of the condition on its record")
      #expect(try tx[.entries].find { $0.key >= 0 }.count == 500)
      #expect(try plan { $0.key == 1 || $0.number == 3 } == "(1 key and 10 entries of “number”)")
    }
  }

  @Test func selectionsAreFoundOrTested() throws {
    let db = try database(isIndexed: true)
    let even = EntryCondition.rows("even") { tx in
      let keys = tx[.entries].keys.filter { Int.fromRowKey($0)?.isMultiple(of: 2) ?? false }
      return try keys.compactMap { try tx[.entries].rowID($0) }
    }
    try db.read { tx throws in
      let found = tx[.entries].find { $0.number == 4 && even }
      #expect(try found.count == 10)
      #expect(try tx[.entries].find { !even && $0.key >= 490 }.keys == [491, 493, 495, 497, 499].map(\.rowKey))
      #expect(try tx[.entries].find { even || $0.number == 3 }.count == 510)
      #expect(try tx[.entries].find(even).requireIndex().count == 500)
    }
  }

  @Test(arguments: [false, true]) func selectionsComeInTheOrderOfKeys(isIndexed: Bool) async throws {
    let db = try database(isIndexed: isIndexed)
    let even = EntryCondition.rows("even") { tx in
      let keys = tx[.entries].keys.filter { Int.fromRowKey($0)?.isMultiple(of: 2) ?? false }
      return try keys.compactMap { try tx[.entries].rowID($0) }
    }
    let condition = even && (Fields().number < 5 || Fields().key >= 490)
    let query = RowCollection.entries.query(condition).orderByKey(descending: true).offset(1).limit(6)
    func check(_ shown: [String]) async throws {
      try await db.read { tx throws in
        let wanted = tx[.entries].rows.filter { row in
          guard let number = Int.fromRowKey(row.key) else { return false }
          return number.isMultiple(of: 2) && (row.object.number < 5 || number >= 490)
        }.map(\.key).sorted { $1.utf8.lexicographicallyPrecedes($0.utf8) }
        #expect(try tx[.entries].find(condition).orderByKey().keys == wanted.reversed())
        #expect(try tx.find(query).keys == Array(wanted.dropFirst().prefix(6)))
        #expect(shown == Array(wanted.dropFirst().prefix(6)))
      }
    }
    var updates = try db.updates(of: query).makeAsyncIterator()
    var shown = try #require(try await updates.next()).keys
    try await check(shown)
    for (removed, number) in [(498, 4), (494, 7), (490, 1)] {
      try await db.write { tx throws in
        try tx[.entries].remove(EntryID(rawValue: removed).rowKey)
        try tx[.entries].set(Entry(number: number), for: EntryID(rawValue: 1000 + 2 * removed))
      }
      // What takes the place of a row that is skipped is no change.
      if let update = try updates.nextIfReady() { shown = update.keys }
      try await check(shown)
    }
  }

  @Test func rowsOfOtherCollectionsAreRefused() throws {
    let db = try database()
    let wrong = EntryCondition.rows("wrong") { tx in try tx[.strangers].rowIDs }
    let error = #expect(throws: IndexError.self) { try db.read { tx in try tx[.entries].find(wrong).count } }
    #expect(error == .foreignRow(selection: "wrong", row: "others/other", collection: "entries"))
    #expect(error?.description.hasSuffix("Give it the numbers of rows of “entries” alone.") ?? false)
  }

  @Test func conditionsOfIndexesAskFieldsAlone() throws {
    let db = try database()
    let some = EntryCondition.rows("some") { _ in [] }
    for condition in [Fields<Entry, NoMetadata>().key == "a1" || .none, some] {
      let error = #expect(throws: DatabaseError.self) {
        try db.register(
          Indexes("entries.indexes", over: .entries) { Index("number", \Entry.number).where { _ in condition } })
      }
      #expect(error?.cause as? IndexError == .asksBeyondFields(index: "number"))
    }
  }

  @Test func someOfTheRowsAreAskedFor() throws {
    let db = try database(isIndexed: true)
    try db.read { tx throws in
      let candidates = try tx[.entries].rows(for: (0..<100).map(\.rowKey)).map(\.rowID) + tx[.strangers].rowIDs
      let query = RowCollection.entries.query { $0.number == 7 }
      #expect(try tx[.entries].keys(withIDs: tx.find(query).rowIDs(among: candidates)) == [7, 57].map(\.rowKey))
      // With a limit the rows are those that the query has without candidates.
      let first = query.order(by: .ascending(\.number)).limit(1)
      #expect(try tx[.entries].keys(withIDs: tx.find(first).rowIDs(among: candidates)) == [7].map(\.rowKey))
    }
  }

  @Test func numbersOfRowsComeByRangesOfKeysAndGoBackToKeys() throws {
    let db = try database()
    try db.read { tx throws in
      let (entries, other) = (tx[.entries], try #require(try tx[.strangers].rowIDs.first))
      let found = try entries.rowIDs(from: 98.rowKey, upTo: 101.rowKey)
      #expect(try found == [98, 99, 100].map { try entries.rowID($0.rowKey) })
      #expect(try entries.rowIDs(from: nil, upTo: nil) == entries.rowIDs)
      #expect(try entries.rowIDs(from: 101.rowKey, upTo: 98.rowKey).isEmpty)
      let places = try entries.places(of: [found[2], other, RowID(.max), found[0]])
      #expect(places.map(\.key) == [100, 98].map(\.rowKey) && places.map(\.rowID) == [found[2], found[0]])
    }
  }

  @Test(arguments: [false, true])
  func liveQueriesWithSelectionsAreRunForWhatTheyHaveRead(isIndexed: Bool) async throws {
    let db = try database(isIndexed: isIndexed)
    let runs = Counter()
    let listed = EntryCondition.rows("listed") { tx in
      runs.count()
      return try tx[.strangers].keys(prefix: "a").compactMap { try tx[.entries].rowID($0) }
    }
    let query = RowCollection.entries.query { listed && $0.number < 20 }
    var updates = try db.updates(of: query).makeAsyncIterator()
    #expect(try await updates.next()?.keys == [])
    let first = runs.value
    // Elsewhere: other keys of the same collections, and a collection that is not read.
    try await db.write { tx in try tx[.strangers].set(Entry(number: 0), for: "b1") }
    try await db.write { tx in try tx[RowCollection<Entry, NoMetadata>("elsewhere")].set(Entry(number: 0), for: "a1") }
    try await db.write { tx in try tx[.strangers].touch("b1") }
    #expect(try updates.nextIfReady() == nil)
    #expect(runs.value == first)
    // What it has read: a key of the list, and a row that the list leads to.
    try await db.write { tx throws in
      try tx[.entries].set(Entry(number: 3), for: "a1")
      try tx[.strangers].set(Entry(number: 0), for: "a1")
    }
    #expect(try updates.nextIfReady()?.keys == ["a1"])
    #expect(runs.value == first + 1)
    try await db.write { tx in try tx[.strangers].set(Entry(number: 1), for: "b2") }
    try await db.write { tx in try tx[.entries].set(Entry(number: 4), for: "a1") }
    #expect(try updates.nextIfReady()?.diff.rows.map(\.kind) == [.update])
    #expect(runs.value == first + 2)
    try await db.write { tx in try tx[.entries].set(Entry(number: 40), for: "a1") }
    #expect(try updates.nextIfReady()?.keys == [])
    try await db.write { tx in try tx[.entries].set(Entry(number: 5), for: "a1") }
    #expect(try updates.nextIfReady()?.keys == ["a1"])
    let before = runs.value
    for number in 0..<5 { try await db.write { tx in try tx[.strangers].set(Entry(number: number), for: "c") } }
    #expect(try updates.nextIfReady() == nil)
    #expect(runs.value == before)
  }

  @Test func liveQueriesWithSelectionsAreRunAnew() async throws {
    let db = try database()
    // Which rows are selected stands in another collection.
    let listed = EntryCondition.rows("listed") { tx in
      try tx[.strangers].keys.compactMap { try tx[.entries].rowID($0) }
    }
    var updates = try db.updates(of: RowCollection.entries.query(listed)).makeAsyncIterator()
    #expect(try await updates.next()?.keys == [])
    try await db.write { tx in try tx[.strangers].set(Entry(number: 0), for: 5) }
    let added = try #require(try await updates.next())
    #expect(added.keys == [5.rowKey])
    #expect(added.diff.rows.map(\.kind) == [.insert])
    try await db.write { tx in try tx[.entries].set(Entry(number: 99), for: 5) }
    #expect(try await updates.next()?.diff.rows.map(\.kind) == [.update])
    try await db.write { tx throws in
      try tx[.strangers].remove(5)
      try tx[.strangers].set(Entry(number: 0), for: 6)
    }
    let exchanged = try #require(try await updates.next())
    #expect(exchanged.keys == [6.rowKey])
    #expect(Set(exchanged.diff.rows.map(\.kind)) == [.delete, .insert])
  }
}
