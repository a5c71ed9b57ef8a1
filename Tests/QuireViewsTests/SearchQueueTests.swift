// Searches that overtake each other, are given up, or are cancelled.

import Foundation
import QuireDatabase
import QuireTesting
import Synchronization
import Testing

@testable import QuireViews

@Suite struct SearchQueueTests {
  typealias Search = SearchView<Int, String>

  private let search = Search("found", over: [.numbers], grouping: .all(), sorting: .byObject { $0 })

  private func database(_ count: Int) throws -> Database {
    let db = try Database.inMemory()
    try db.register(search)
    try db.write { tx throws in
      for number in 0..<count { try tx[.numbers].set(number, for: "k\(number)") }
      try tx.access(to: search).search(Picked(name: "none") { _ in false })
    }
    return db
  }

  private func shown(_ db: Database) throws -> (name: String?, isPartial: Bool?, count: Int) {
    try db.read { tx throws in
      let view = try tx.view(search)
      try view.trees.checkInvariants()
      let search = try view.shownSearch
      return (search?.name, search?.isPartial, view.count)
    }
  }

  /// The smallest number of the database.
  private func first(_ db: Database) throws -> Int? { try db.read { tx in tx[.numbers].rows.map(\.object).min() } }

  /// A selection of all rows that does something at one of them.
  private func all(at number: Int, _ body: @escaping @Sendable () throws -> Void) -> Picked {
    let count = Mutex(0)
    var selection = Picked(name: "all") { _ in true }
    selection.onFind = { _ in
      let isDue = count.withLock { count in
        count += 1
        return count == number
      }
      if isDue { try body() }
    }
    return selection
  }

  @Test func theNewestSearchWins() throws {
    let db = try database(20)
    let queue = SearchQueue()
    for number in 2...4 { queue.enqueue(Picked.multiples(of: number)) }
    #expect(queue.enqueuedCount == 3)
    #expect(queue.enqueued.map(\.name) == ["multiples of 2", "multiples of 3", "multiples of 4"])
    #expect(try db.write { tx in try tx.access(to: search).search(from: queue) })
    #expect(queue.enqueuedCount == 0)
    #expect(try shown(db) == ("multiples of 4", false, 5))
    #expect(try !db.write { tx in try tx.access(to: search).search(from: queue) })
    #expect(try shown(db) == ("multiples of 4", false, 5))
  }

  @Test func aSearchGivenUpBeforeItBeginsChangesNothing() throws {
    let db = try database(20)
    let queue = SearchQueue()
    queue.enqueue(Picked.multiples(of: 2))
    queue.abort(rollingBack: false)
    #expect(try !db.write { tx in try tx.access(to: search).search(from: queue) })
    #expect(try shown(db) == ("none", false, 0))
    // What comes later is searched.
    queue.enqueue(Picked.multiples(of: 5))
    #expect(try db.write { tx in try tx.access(to: search).search(from: queue) })
    #expect(try shown(db) == ("multiples of 5", false, 4))
  }

  @Test(.enabled(if: TestSize.hasSlowTests, "slow")) func aSearchGivenUpShowsWhatItHasFound() throws {
    let db = try database(10_000)
    let queue = SearchQueue()
    queue.enqueue(all(at: 5_000) { queue.abort(rollingBack: false) })
    #expect(try db.write { tx in try tx.access(to: search).search(from: queue) })
    let partial = try shown(db)
    // It is asked at every 4,096th row, and found the one before that.
    #expect(partial == ("all", true, 2 * SearchWatch.interval - 1))
    // Rows that it has not found come in when they change.
    let missing = try #require(
      try db.read { tx throws in
        let view = try tx.view(search)
        return try tx[.numbers].keys.first { try view.position(of: $0) == nil }
      })
    try db.write { tx throws in try tx[.numbers].touch(missing) }
    #expect(try shown(db) == ("all", true, partial.count + 1))
    queue.enqueue(Picked(name: "all") { _ in true })
    #expect(try db.write { tx in try tx.access(to: search).search(from: queue) })
    #expect(try shown(db) == ("all", false, 10_000))
  }

  /// Rows that have changed before are asked about still, as such a search may not have come to them.
  @Test(.enabled(if: TestSize.hasSlowTests, "slow")) func aSearchGivenUpForgetsNoChange() throws {
    let db = try database(10_000)
    let queue = SearchQueue()
    queue.enqueue(all(at: 5_000) { queue.abort(rollingBack: false) })
    try db.write { tx throws in
      try tx[.numbers].set(-1, for: "new")
      try tx.access(to: search).search(from: queue)
    }
    try db.read { tx throws in
      #expect(try tx.view(search).position(of: "new")?.index == 0)
      #expect(try tx.view(search).count == 2 * SearchWatch.interval)
    }
  }

  @Test(arguments: [true, false]) func aSearchCanTakeItsTransactionWithIt(_ hasBegun: Bool) throws {
    let db = try database(10_000)
    let queue = SearchQueue()
    queue.enqueue(all(at: 5_000) { queue.abort(rollingBack: true) })
    if !hasBegun { queue.abort(rollingBack: true) }
    for isCaught in [false, true] {
      queue.enqueue(all(at: 5_000) { queue.abort(rollingBack: true) })
      if !hasBegun { queue.abort(rollingBack: true) }
      #expect {
        try db.write { tx throws in
          try tx[.numbers].set(-1, for: "new")
          do { try tx.access(to: search).search(from: queue) } catch { if !isCaught { throw error } }
        }
      } throws: { ($0 as? DatabaseError)?.code == .rolledBack }
      #expect(try shown(db) == ("none", false, 0))
      #expect(try db.read { tx in try tx[.numbers].get("new") } == nil)
    }
  }

  /// One that waits and is given up twice is rolled back if one of the two has said so.
  @Test func theStricterOfTwoOrdersCounts() throws {
    let db = try database(1)
    let queue = SearchQueue()
    queue.enqueue(Picked.multiples(of: 2))
    queue.abort(rollingBack: true)
    queue.abort(rollingBack: false)
    #expect(throws: DatabaseError.self) { try db.write { tx in try tx.access(to: search).search(from: queue) } }
  }

  @Test func aCancelledTaskEndsItsSearch() async throws {
    let db = try database(SearchWatch.interval + 100)
    let selection = all(at: 10) { withUnsafeCurrentTask { $0?.cancel() } }
    let found = search
    let ended = await Task {
      try db.write { tx throws in
        try tx[.numbers].set(-1, for: "new")
        #expect(throws: CancellationError.self) { try tx.access(to: found).search(selection) }
        // Nothing has changed, and the transaction may go on.
        #expect(try tx.view(found).shownSearch?.name == "none")
      }
    }.result
    #expect(throws: Never.self) { try ended.get() }
    #expect(try shown(db) == ("none", false, 0))
    #expect(try first(db) == -1)
  }

  @Test func aCancelledTaskEndsTheSearchThatItAwaits() async throws {
    let db = try database(SearchWatch.interval + 100)
    let task = Mutex<Task<Void, any Error>?>(nil)
    let selection = all(at: 10) {
      // On a thread of the database's.
      while task.withLock({ $0 }) == nil { Thread.sleep(forTimeInterval: 0.001) }
      task.withLock { $0?.cancel() }
    }
    let found = search
    let made = Task { try await db.write { tx throws in try tx.access(to: found).search(selection) } }
    task.withLock { $0 = made }
    await #expect(throws: CancellationError.self) { try await made.value }
    #expect(try shown(db) == ("none", false, 0))
  }

  /// What a commit searches again belongs to the commit.
  @Test(.enabled(if: TestSize.hasSlowTests, "slow")) func aCancelledTaskCommitsWhatFollows() async throws {
    let db = try database(10_000)
    let found = search
    let ended = await Task {
      try db.write { tx throws in
        try tx.access(to: found).search(Smallest(count: 9_000))
        withUnsafeCurrentTask { $0?.cancel() }
        try tx[.numbers].set(-1, for: "new")
      }
    }.result
    #expect(throws: Never.self) { try ended.get() }
    #expect(try first(db) == -1 && shown(db).count == 9_000)
  }

  @Test func manyThreadsMayEnqueue() async throws {
    let db = try database(50)
    let (queue, found) = (SearchQueue(), search)
    await withTaskGroup(of: Void.self) { group in
      for number in 1...8 {
        group.addTask {
          for _ in 0..<200 {
            queue.enqueue(Picked.multiples(of: number))
            if number == 1 { queue.abort(rollingBack: false) }
          }
        }
      }
      group.addTask { for _ in 0..<50 { _ = try? db.write { tx in try tx.access(to: found).search(from: queue) } } }
    }
    queue.enqueue(Picked.multiples(of: 7))
    _ = try await db.write { tx throws in try tx.access(to: found).search(from: queue) }
    #expect(try shown(db) == ("multiples of 7", false, 8) && queue.enqueuedCount == 0)
  }
}
