// Threads that read and write the rows of one database, and write down what they did and saw.

import Dispatch
import Foundation
import QuireDatabase
import QuireStorage
import QuireTesting
import Synchronization

/// Runs tasks on a thread of their own: a history does not wait for the tests beside it.
private final class RowTaskExecutor: TaskExecutor {
  private let queue: DispatchQueue

  init(_ label: String) { queue = DispatchQueue(label: label) }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
  }
}

/// Runs a history, and holds what was written down against one order of commits.
final class ThreadedRowHistory: Sendable {
  /// What was met.
  struct Counts: Sendable {
    var acknowledged = 0
    var rolledBack = 0
    var refused = 0
    var unknown = 0
    var reads = 0
    var steps = 0
    var images = 0
    /// Transactions that were told of under the number that they built on, or without any.
    var withoutNumber = 0
    var cacheHits = 0
  }

  let plan: ThreadedRowPlan
  let disk = SimulatedDisk()
  let database: Database
  private let stream: CommitStream
  private let executor: RowTaskExecutor
  /// The commit at which the history begins.
  let first: UInt64
  let records = Latch<[RowRecord]>([])
  let events = Latch(RowEvents())
  private let told = Latch<[Int: ToldCommit]>([:])
  let complaints = Latch<[String]>([])

  init(seed: UInt64) throws {
    plan = ThreadedRowPlan(seed: seed)
    database = try disk.openDatabase(
      seed: seed, plan.options, scheduling: .threads, unloggedByteCount: plan.unloggedByteCount)
    first = try database.read { $0.csn.rawValue }
    try database.flush()
    stream = database.commits
    executor = RowTaskExecutor("row history \(seed)")
  }

  static var now: UInt64 { DispatchTime.now().uptimeNanoseconds }

  func complain(_ text: String) { complaints.withLock { $0.append(text) } }

  // MARK: Threads

  /// Lets the threads work. Ends the process if they wait for ever.
  func work() {
    arm()
    let group = DispatchGroup()
    for thread in 1...plan.writerCount + plan.readerCount {
      group.enter()
      Thread.detachNewThread { [self] in
        let hand = ThreadedRowHand(self, thread, writes: thread <= plan.writerCount)
        hand.work()
        records.withLock { $0 += hand.records }
        group.leave()
      }
    }
    if group.wait(timeout: .now() + 300) == .timedOut {
      fatalError("the threads of seed \(plan.seed) do not end (\(plan)); \(ThreadedRowHistoryTests.command(plan.seed))")
    }
    disk.removeInterceptors()
    if plan.fault == .full { disk.fill(duringOperations: 0..<0) }
    listen()
  }

  /// Makes calls take their time, and some of them fail.
  private func arm() {
    disk.pause(DiskPauses(seed: plan.seed, oneIn: plan.pauseOneIn, longestMicroseconds: plan.longestPause))
    events.withLock { $0.hasFaults = plan.fault != .nothing }
    let kind: OperationKind
    switch plan.fault {
    case .nothing: return
    case .full:
      let start = disk.operationCount + 4 * plan.skipCount
      return disk.fill(duringOperations: start..<start + plan.fullCount)
    case .write: kind = .write
    case .synchronize: kind = .synchronize
    }
    disk.failOnce(kind, ofLog: plan.isOfLog, skipping: plan.skipCount, plan.syncFailure)
  }

  /// Waits for what is awaited, without blocking a thread of the pool that tests run on.
  func awaiting(_ body: @escaping @Sendable () async throws -> Void) throws {
    let failure = Latch<(any Error)?>(nil)
    let done = DispatchSemaphore(value: 0)
    Task(executorPreference: executor) {
      do { try await body() } catch { failure.withLock { $0 = error } }
      done.signal()
    }
    done.wait()
    if let error = failure.withLock({ $0 }) { throw error }
  }

  // MARK: The stream

  /// What the stream has told of a transaction by now.
  func told(of id: Int) -> ToldCommit? {
    listen()
    return told.withLock { $0[id] }
  }

  /// Takes what the stream has ready.
  private func listen() {
    told.withLock { told in
      var commits = stream.makeAsyncIterator()
      while let commit = commits.nextIfReady() {
        let number = commit.csn.rawValue
        events.withLock { $0.heard.append((Self.now, number)) }
        guard let id = commit.info as? Int, !commit.changes.isUnknown else {
          complain("the stream tells of commit \(number), of which nobody knows who made it")
          continue
        }
        let rows = commit.changes.changedRows.compactMap { RowPlace($0) }
        let cleared = (0..<plan.collectionCount).filter {
          commit.changes.didClear(collectionNamed: RowPlace.collectionName($0))
        }
        told[id] = ToldCommit(number: number, rows: Set(rows), cleared: Set(cleared))
        events.withLock { $0.told.append((id, number)) }
      }
    }
  }
}

/// What a transaction does is noted here, also by a thread of the database's.
final class RowBox: Sendable {
  private let record: Latch<RowRecord>

  init(_ record: RowRecord) { self.record = Latch(record) }

  var value: RowRecord { record.withLock { $0 } }

  func note(_ snapshot: CSN, _ steps: [RowStep] = []) {
    record.withLock { record in
      record.snapshot = snapshot.rawValue
      record.steps = steps
    }
  }
}
