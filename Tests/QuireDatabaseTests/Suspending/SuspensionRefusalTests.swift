// Suspending while somebody is at work: who is waited for, who is sent away, and when it is refused.

import Foundation
import QuireDatabase
import QuireTesting
import Testing

@Suite("Suspending beside transactions", .serialized) struct SuspensionRefusalTests {
  let folder: TestFolder

  init() throws { folder = try TestFolder() }

  @Test("Inside a transaction it is refused at once") func inside() throws {
    let db = try folder.open()
    try db.store("1", for: "k")
    try db.read { _ in
      #expect(errorCode { try db.suspendHere() } == .nestedTransaction)
      #expect(errorCode { try db.resumeHere() } == .nestedTransaction)
    }
    try db.write { tx throws in
      #expect(errorCode { try db.suspendHere() } == .nestedTransaction)
      try tx[.texts("t")].set("2", for: "k")
    }
    try db.pin().read { _ in #expect(errorCode { try db.suspendHere() } == .nestedTransaction) }
    #expect(!db.isSuspended)
    #expect(try db.text("k") == "2")
  }

  @Test("A transaction that takes longer than the timeout refuses it, and the database is open as before")
  func refusedByTimeout() throws {
    let db = try folder.open()
    try db.store("1", for: "k")
    for writes in [true, false] {
      let (begun, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let done = DispatchSemaphore(value: 0)
      let problem = Shared<(any Error)?>(nil)
      Thread.detachNewThread {
        do {
          if writes {
            try db.write { tx throws in
              begun.signal()
              ended.wait()
              try tx[.texts("t")].set("long", for: "k")
            }
          } else {
            try db.read { tx throws in
              begun.signal()
              ended.wait()
              #expect(try tx[.texts("t")].get("k") == "long")
            }
          }
        } catch { problem.withLock { $0 = error } }
        done.signal()
      }
      begun.wait()
      let error = #expect(throws: DatabaseError.self) { try db.suspend(timeout: .milliseconds(20)) }
      #expect(error?.code == .inUse && error?.message.contains(writes ? "write transaction" : "1 reader") == true)
      #expect(!db.isSuspended)
      // As before: others read, and nobody else has the file.
      #expect(try db.read { tx in tx[.texts("t")].count } == 1)
      #expect(errorCode { _ = try folder.open() } == .alreadyOpen)
      ended.signal()
      done.wait()
      #expect(problem.withLock { $0 } == nil)
    }
    try db.store("after", for: "k")
    try db.suspend(timeout: .seconds(10))
    try db.resumeHere()
    #expect(try db.text("k") == "after")
  }

  @Test("Without a timeout transactions are waited for; those that have not begun are told")
  func waitsForTransactions() throws {
    let db = try folder.open(Database.Options(durability: .full))
    try db.store("1", for: "k")
    let (begun, go) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let outcomes = Shared<[String]>([])
    let group = DispatchGroup()
    @Sendable func note(_ outcome: String) { outcomes.withLock { $0.append(outcome) } }
    group.enter()
    Thread.detachNewThread {
      try? db.write { tx throws in
        begun.signal()
        go.wait()
        try tx[.texts("t")].set("first", for: "k")
      }
      group.leave()
    }
    begun.wait()
    for _ in 0..<3 {
      group.enter()
      Thread.detachNewThread {
        let code = errorCode { try db.store("late", for: "late") }
        note(code?.description ?? "committed")
        group.leave()
      }
    }
    group.enter()
    Thread.detachNewThread {
      note((errorCode { try db.suspendHere() })?.description ?? "done")
      group.leave()
    }
    // The suspension has begun when reads are refused.
    while errorCode({ try db.read { _ in } }) == nil { usleep(200) }
    go.signal()
    group.wait()
    // Those in line may have been sent away or, before the suspension began, be in front of it.
    let told = outcomes.withLock { $0 }
    #expect(told.filter { $0 == "done" }.count == 1 && told.count == 4)
    #expect(told.allSatisfy { ["done", "suspended", "committed"].contains($0) }, "\(told)")
    let other = try folder.open()
    #expect(try other.text("k") == "first")
    try other.close()
    try db.resumeHere()
    let isThere = try db.text("late") != nil
    #expect(isThere == told.contains("committed"))
  }

  @Test("Many threads suspend and resume at once, beside readers, writers, pins and async calls: nothing is lost")
  func threads() async throws {
    let db = try folder.open(Database.Options(durability: .full))
    let rounds = TestSize.trials(40, divisor: 4)
    let acknowledged = Shared<Set<String>>([])
    let isOver = Shared(false)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<3 {
        group.addTask {
          var number = 0
          while !isOver.withLock({ $0 }) {
            let key = "\(writer)-\(number)"
            number += 1
            do {
              if number % 2 == 0 {
                try await db.write { tx throws in try tx[.texts("t")].set("x", for: key) }
              } else {
                try db.store("x", for: key)
              }
              acknowledged.withLock { _ = $0.insert(key) }
            } catch let error as DatabaseError where error.code == .suspended {
              try await db.waitUntilResumed()
            }
          }
        }
      }
      group.addTask {
        while !isOver.withLock({ $0 }) {
          do {
            let pin = try db.pin()
            let seen = acknowledged.withLock { $0 }
            _ = try await pin.read { tx in tx[.texts("t")].count }
            let found = Set(try db.allTexts().keys)
            #expect(seen.isSubset(of: found))
            try pin.advance()
          } catch let error as DatabaseError where error.code == .suspended || error.code == .snapshotGone {}
          await Task.yield()
        }
      }
      group.addTask {
        await withTaskGroup(of: Void.self) { group in
          for _ in 0..<2 {
            group.addTask {
              for _ in 0..<rounds {
                #expect(errorOf { try db.suspendHere() } == nil)
                #expect(errorOf { try db.resumeHere() } == nil)
                await Task.yield()
              }
            }
          }
        }
        isOver.withLock { $0 = true }
      }
      try await group.waitForAll()
    }
    if db.isSuspended { try db.resumeHere() }
    let keys = acknowledged.withLock { $0 }
    #expect(try keys.isSubset(of: db.allTexts().keys))
    try db.checkInvariants()
    try db.close()
    let again = try folder.open()
    #expect(try keys.isSubset(of: again.allTexts().keys))
  }
}
