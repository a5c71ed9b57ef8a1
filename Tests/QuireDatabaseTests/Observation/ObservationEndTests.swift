// How observations end.

import Foundation
import QuireDatabase
import QuireTesting
import Testing

@Suite struct ObservationEndTests {
  let folder: TestFolder
  let db: Database

  init() throws {
    folder = try TestFolder()
    db = try folder.open()
  }

  private struct Refusal: Error {}

  @Test func endsWithTheTask() async throws {
    let observation = db.observe { tx in tx.count }
    let waiting = Task { () -> Int in
      var results = 0
      for try await _ in observation { results += 1 }
      return results
    }
    while !(db.observerCount == 1 && db.areObserversWaiting) { try await Task.sleep(for: .milliseconds(1)) }
    try db.checkObservers()
    waiting.cancel()
    #expect(try await waiting.value == 1)
    #expect(db.observerCount == 0)
    // One that is cancelled before it begins reads nothing.
    let never = Task { () -> Int in
      while !Task.isCancelled { try? await Task.sleep(for: .milliseconds(1)) }
      var results = 0
      for try await _ in observation { results += 1 }
      return results
    }
    never.cancel()
    #expect(try await never.value == 0)
  }

  @Test func endsWithTheDatabase() async throws {
    let observation = db.observe { tx in tx.count }
    let waiting = Task { () -> Int in
      var results = 0
      for try await _ in observation { results += 1 }
      return results
    }
    while !(db.observerCount == 1 && db.areObserversWaiting) { try await Task.sleep(for: .milliseconds(1)) }
    try synchronously { try db.close() }
    #expect(try await waiting.value == 1)
    for try await _ in observation { Issue.record("a result after the end") }
  }

  @Test func doesNotKeepTheDatabaseOpen() async throws {
    let folder = try TestFolder()
    let observation = try opened(folder)
    for try await _ in observation { Issue.record("a result of a database that has gone") }
    // Nobody holds the file's lock any more.
    #expect(try synchronously { try folder.open().path } == folder.path)
  }

  private func opened(_ folder: TestFolder) throws -> ObservedResults<Int> {
    try folder.open().observe { tx in tx.count }
  }

  @Test func endsWhenTheIteratorGoes() async throws {
    for try await count in db.observe({ tx in tx.count }) {
      #expect(count == 0 && db.observerCount == 1)
      break
    }
    #expect(db.observerCount == 0)
    try db.checkObservers()
  }

  @Test func endsWithTheErrorOfTheClosure() async throws {
    let observation = db.observe { tx in
      guard try tx[.texts("t")].get("k") == nil else { throw Refusal() }
      return 1
    }
    var iterator = observation.makeAsyncIterator()
    #expect(try await iterator.next() == 1)
    try await db.write { tx in try tx[.texts("t")].set("v", for: "k") }
    await #expect(throws: Refusal.self) { try await iterator.next() }
    #expect(try await iterator.next() == nil)
    #expect(db.observerCount == 0)
  }

  @Test func endsWithWhatCouldNotThrow() async throws {
    let db = db
    try await db.write { tx in try tx[.texts("t")].set("v", for: "k") }
    var iterator = db.observe { tx in tx[RowCollection<Int, Int>("t")].count }.makeAsyncIterator()
    do {
      _ = try await iterator.next()
      Issue.record("another type was let through")
    } catch {
      #expect((error as? DatabaseError)?.code == .collectionMismatch)
    }
  }

  @Test func connectionsObserveIfTheyPermitIt() async throws {
    var iterator = db.makeConnection().observe { tx in tx.count }.makeAsyncIterator()
    #expect(try await iterator.next() == 0)
    let writing = db.makeConnection(Connection.Options(permits: .writes))
    var refused = writing.observe { tx in tx.count }.makeAsyncIterator()
    do {
      _ = try await refused.next()
      Issue.record("the connection permits no reads")
    } catch {
      #expect((error as? DatabaseError)?.code == .notPermitted)
    }
  }

  @Test func observesInMemoryAndManyAtOnce() async throws {
    let db = try Database.inMemory()
    let total = 40
    try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 0..<total {
        group.addTask {
          var results = 0
          for try await value in db.observe({ tx in try tx[.texts("t")].get("k\(number)") }) {
            results += 1
            if value != nil { break }
          }
          return results
        }
      }
      while !(db.observerCount == total && db.areObserversWaiting) { try await Task.sleep(for: .milliseconds(1)) }
      for number in 0..<total { _ = try await db.write { tx in try tx[.texts("t")].set("v", for: "k\(number)") } }
      // Two each: none was woken for the key of another.
      for try await results in group { #expect(results == 2) }
    }
    #expect(db.observerCount == 0)
  }

  private func synchronously<Result>(_ body: () throws -> Result) rethrows -> Result { try body() }
}
