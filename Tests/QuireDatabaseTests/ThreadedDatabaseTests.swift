// Writers, readers, pins and streams on threads of their own; run under the thread sanitizer by the gate.

import Foundation
import QuireDatabase
import QuireTesting
import Synchronization
import Testing

@Suite struct ThreadedDatabaseTests {
  private static let accounts = RowCollection<Int, String>("accounts")
  private static let accountCount = 8
  private static let total = 800

  private func prepare(_ folder: TestFolder, _ durability: Durability) throws -> Database {
    let db = try folder.open(Database.Options(durability: durability, logLimit: 1 << 20, commitBuffer: 100_000))
    try db.write { tx throws in
      for number in 0..<Self.accountCount { try tx[Self.accounts].set(100, metadata: "m", for: "\(number)") }
    }
    return db
  }

  /// Moves an amount; the sum of all accounts stays.
  private static func transfer(_ tx: WriteTransaction, _ step: Int) throws {
    let (from, to) = (step % accountCount, (step / accountCount + step + 1) % accountCount)
    try tx[accounts].update("\(from)") { $0 -= 1 }
    try tx[accounts].update("\(to)") { $0 += 1 }
    // Collections that come and go, and one that learns fields.
    try tx[.texts("log \(step % 3)")].set("step", for: "\(step % 5)")
    if step % 7 == 0 { try tx[.texts("log \(step % 3)")].removeAll() }
    if step % 11 == 0 { try tx[.songs].set(Song("s"), metadata: PlayState(plays: step), for: "\(step % 4)") }
    tx.commitInfo = step
  }

  private static func sum(_ tx: ReadTransaction) throws -> Int {
    var sum = 0
    for row in tx[accounts].rows { sum += row.object }
    for name in tx.collections where tx.rawRows(name).count == 0 { throw ThreadedFailure(text: "«\(name)» is empty") }
    return sum
  }

  @Test(arguments: [Durability.relaxed, .full])
  func everybodySeesWholeCommits(_ durability: Durability) async throws {
    let folder = try TestFolder()
    let db = try prepare(folder, durability)
    let stream = db.commits
    let steps = durability == .full ? 60 : 200
    let signals = Signals()
    let follower = Task { () -> Int in
      var count = 0
      for try await commit in stream {
        if commit.changes.isUnknown { throw ThreadedFailure(text: "the stream has missed commits") }
        count += 1
      }
      return count
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<2 {
        group.addTask {
          for step in 0..<steps {
            if writer == 0 {
              try await db.write { tx in try Self.transfer(tx, step) }
            } else {
              try Self.transferNow(db, step)
            }
            signals.commitCount.wrappingAdd(1, ordering: .relaxed)
          }
        }
      }
      for _ in 0..<2 {
        group.addTask {
          while !signals.mustEnd.load(ordering: .relaxed) {
            let sum = try await db.read { tx in try Self.sum(tx) }
            #expect(sum == Self.total)
            // Leaves the pool of threads to the writers.
            if !TestSize.isFull { try await Task.sleep(for: .milliseconds(1)) }
          }
        }
      }
      group.addTask {
        try await Self.onThread { try Self.followWithPins(db, signals) }
      }
      group.addTask {
        while signals.commitCount.load(ordering: .relaxed) < 2 * steps {
          try await Task.sleep(for: .milliseconds(1))
        }
        signals.mustEnd.store(true, ordering: .relaxed)
      }
      try await group.waitForAll()
    }
    try db.checkInvariants()
    try Self.closeNow(db)
    #expect(try await follower.value == 2 * steps)
  }

  private static func transferNow(_ db: Database, _ step: Int) throws { try db.write { tx in try transfer(tx, step) } }
  private static func closeNow(_ db: Database) throws { try db.close() }

  /// Each commit is told once, and the snapshot is that of the last one told.
  private static func followWithPins(_ db: Database, _ signals: Signals) throws {
    let pin = try db.pin()
    while !signals.mustEnd.load(ordering: .relaxed) {
      let before = pin.csn
      let commits = try pin.advance()
      for commit in commits where commit.csn <= before || commit.csn > pin.csn || commit.changes.isUnknown {
        throw ThreadedFailure(text: "a pin at \(before) was told of \(commit.csn)")
      }
      #expect(try pin.read { tx in try sum(tx) } == total)
      if commits.isEmpty {
        _ = try db.pin()
        Thread.sleep(forTimeInterval: 0.001)
      }
    }
  }

  @Test func closingMeetsEverything() async throws {
    for round in 0..<8 {
      let folder = try TestFolder()
      let db = try prepare(folder, round % 2 == 0 ? .relaxed : .full)
      await withTaskGroup(of: Void.self) { group in
        for task in 0..<4 {
          group.addTask {
            for step in 0..<50 {
              do {
                switch task {
                case 0: try await db.write { tx in try Self.transfer(tx, step) }
                case 1: try Self.transferNow(db, step)
                case 2: _ = try await db.read { tx in try Self.sum(tx) }
                default: _ = try db.pin().advance()
                }
              } catch {
                #expect((error as? DatabaseError)?.code == .closed, "\(error)")
                return
              }
            }
          }
        }
        group.addTask { try? await Self.onThread { Self.closeSoon(db) } }
      }
      #expect(try await folder.open().read { tx in try Self.sum(tx) } == Self.total)
    }
  }

  /// Runs `body` on a thread of its own: where the pool has one thread, a loop that waits for nobody would keep all
  /// other tasks out.
  private static func onThread(_ body: @escaping @Sendable () throws -> Void) async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
    }
  }

  private static func closeSoon(_ db: Database) {
    while true {
      do { return try db.close() } catch { if error.code != .inUse { return } }
    }
  }
}

/// What the tasks of a test tell each other.
private final class Signals: Sendable {
  let mustEnd = Atomic<Bool>(false)
  let commitCount = Atomic<Int>(0)
}

private struct ThreadedFailure: Error { let text: String }
