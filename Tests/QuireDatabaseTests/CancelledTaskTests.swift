// Tasks that are cancelled at any moment of any call: each call ends in time, a cancelled write has happened wholly and
// its caller was told so, or not at all, and whoever comes next finds a database that works (goal G22).

import Foundation
import Quire
import QuireTesting
import Synchronization
import Testing

@testable import QuireDatabase

@Suite("Tasks that are cancelled at drawn moments") struct CancelledTaskTests {
  private static var seeds: ClosedRange<UInt64> {
    let first = environmentNumber("QUIRE_TASK_SEED").map { UInt64($0) }
    return first.map { $0...$0 } ?? 1...UInt64(TestSize.trials(8, divisor: 4))
  }

  @Test(
    "Each call ends in time, and each write happened wholly or not at all", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: seeds)
  func drawnCalls(seed: UInt64) async throws {
    let run = try DrawnRun(seed)
    let unended = try await run.history.waitForEnds(seconds: 60)
    // Who waits for a call that does not end would wait for ever.
    try #require(unended.isEmpty, "\(unended) do not end; \(run.replay)")
    #expect(try await run.history.storedAfterwards() == "after all", "\(run.replay)")
    try run.check()
  }
}

/// A database and calls on it that have been drawn, and started.
private struct DrawnRun {
  let history: TaskHistory
  let replay: String
  private let folder: TestFolder
  private let options: Database.Options

  init(_ seed: UInt64) throws {
    folder = try TestFolder()
    var random = SeededRandom(seed: seed)
    let durability: Durability = random.oneIn(2) ? .full : .relaxed
    options = Database.Options(durability: durability, logLimit: 1 << 20, readerThreadCount: 1 + random.below(3))
    history = TaskHistory(try folder.open(options), folder)
    replay = "again with: QUIRE_TASK_SEED=\(seed) swift test --filter CancelledTaskTests"
    try history.prepare()
    let calls = (0..<TestSize.trials(60, least: 40)).map { DrawnCall($0, &random) }
    for call in calls { history.start(call) }
  }

  /// What must be true when all calls have ended, and after reopening.
  func check() throws {
    history.note(try history.check())
    #expect(history.readerCount == 0, "\(replay)")
    try history.close()
    history.database = try folder.open(options)
    history.note(try history.check())
    try history.checkWhole()
    #expect(history.complaints == [], "\(replay)")
  }
}

/// A call that a task makes, and when the task is cancelled.
private struct DrawnCall: Sendable, CustomStringConvertible {
  enum Kind: CaseIterable, Sendable {
    case write, bigWrite, nestedWrite, throwingWrite, read, registration, backup, compaction, check, checkpoint
  }

  let number: Int
  let kind: Kind
  /// How long the task waits with its call, in microseconds.
  let start: Int
  /// How long after the start of the task it is cancelled; nil for never.
  let cancelledAfter: Int?

  init(_ number: Int, _ random: inout SeededRandom) {
    self.number = number
    // Half of them write.
    kind = random.oneIn(2) ? random.pick(Array(Kind.allCases[..<4])) : random.pick(Kind.allCases)
    start = random.below(30_000)
    cancelledAfter = random.oneIn(4) ? nil : random.below(random.oneIn(2) ? 100_000 : 35_000)
  }

  var description: String { "call \(number), \(kind)" }
}

/// A database that many tasks use, and what they were told.
private final class TaskHistory: Sendable {
  private struct State {
    var database: Database
    /// The calls that have ended, and the writes among them: true for those that were told of their commit.
    var ended: Set<Int> = []
    var writes: [Int: Bool] = [:]
    var complaints: [String] = []
    var started: [Int: DrawnCall] = [:]
  }

  private struct OwnError: Error {}

  private static let rowCount = 5
  private let state: Shared<State>
  /// Where backups go.
  private let folder: String

  init(_ database: Database, _ folder: TestFolder) {
    state = Shared(State(database: database))
    self.folder = folder.url.path
  }

  var database: Database {
    get { state.withLock { $0.database } }
    set { state.withLock { $0.database = newValue } }
  }

  var complaints: [String] { state.withLock { $0.complaints } }
  func note(_ complaints: [String]) { state.withLock { $0.complaints += complaints } }

  /// Readers and pins that are alive.
  var readerCount: Int { database.core.engine.statistics.readers }

  func prepare() throws {
    try database.write { tx throws in
      for number in 0..<300 { try tx[.texts("old")].set("old \(number)", metadata: "m", for: "k\(number)") }
    }
  }

  // MARK: Calling

  /// Starts a task with a call, and one that cancels it.
  func start(_ call: DrawnCall) {
    state.withLock { $0.started[call.number] = call }
    let task = Task.detached { [self] in
      // Cancelled or not, the call is made: a sleep would end at once.
      try? await Task.sleep(for: .microseconds(call.start))
      await make(call)
      state.withLock { _ = $0.ended.insert(call.number) }
    }
    guard let cancelledAfter = call.cancelledAfter else { return }
    Task.detached {
      try await Task.sleep(for: .microseconds(cancelledAfter))
      task.cancel()
    }
  }

  /// A text that is stored and read when all calls have ended: the writer's turn is nobody's any more, and neither is a
  /// reader's place.
  func storedAfterwards() async throws -> String? {
    let database = database
    try await database.write { tx in try tx[.texts("rows")].set("after all", for: "last") }
    return try await database.read { tx in try tx[.texts("rows")].get("last") }
  }

  /// The calls that have not ended after a time.
  func waitForEnds(seconds: Int) async throws -> [DrawnCall] {
    for _ in 0..<(seconds * 100) {
      let isDone = state.withLock { $0.ended.count == $0.started.count }
      if isDone { return [] }
      try await Task.sleep(for: .milliseconds(10))
    }
    return state.withLock { state in state.started.values.filter { !state.ended.contains($0.number) } }
  }

  private func make(_ call: DrawnCall) async {
    do {
      switch call.kind {
      case .write, .bigWrite, .nestedWrite, .throwingWrite: try await write(call)
      case .read: note(try await database.read { tx in try Self.halves(tx) })
      case .registration:
        if call.number % 2 == 0 {
          try await database.register(Self.view)
        } else {
          try await database.register(Hooks("hooks \(call.number)", collections: .only(["none"])))
        }
      case .backup: try await database.backup(to: "\(folder)/copy \(call.number).quire")
      case .compaction: try await database.compact()
      case .check: try await database.verify()
      case .checkpoint: try await database.checkpoint()
      }
    } catch is CancellationError {
      if call.cancelledAfter == nil { note(["\(call) was never cancelled"]) }
    } catch {
      // No extension is there twice.
      let isMeant = call.kind == .registration && (error as? DatabaseError)?.code == .extensionExists
      if !isMeant { note(["\(call): \(error)"]) }
    }
  }

  /// Shows all that writes put; building it takes a few steps.
  static let view = AutoView<String, String>(
    "view", over: [.texts("rows"), .texts("old")], grouping: .byObject { String($0.prefix(2)) },
    sorting: .byObject { $0 < $1 })

  /// Puts rows that belong together.
  private func write(_ call: DrawnCall) async throws {
    state.withLock { $0.writes[call.number] = false }
    let (database, number) = (database, call.number)
    do {
      try await database.write { [self] tx in
        let count = call.kind == .bigWrite ? 400 : Self.rowCount
        for index in 0..<count {
          try tx[.texts("rows")].set("by \(number)", metadata: "\(count)", for: "\(number) \(index)")
        }
        if call.kind == .nestedWrite { tryNesting(call, database) }
        if call.kind == .throwingWrite { throw OwnError() }
      }
      state.withLock { $0.writes[call.number] = true }
      if call.kind == .throwingWrite { note(["\(call) was committed"]) }
    } catch is OwnError where call.kind == .throwingWrite {}
  }

  /// A write within a write is refused at once.
  private func tryNesting(_ call: DrawnCall, _ database: Database) {
    let start = ContinuousClock.now
    let code = errorCode { try database.write { tx throws in try tx[.texts("rows")].set("nested", for: "nested") } }
    let time = start.duration(to: .now)
    if code != .nestedTransaction { note(["\(call): a nested write ended with \(String(describing: code))"]) }
    if time > .seconds(2) { note(["\(call): a nested write was refused after \(time)"]) }
  }

  // MARK: Checking

  /// The writes of which a part is there, in one snapshot.
  private static func halves(_ tx: ReadTransaction) throws -> [String] {
    var counts: [String: (found: Int, meant: Int)] = [:]
    for row in tx[.texts("rows")].rows where row.object.hasPrefix("by ") {
      counts[row.object, default: (0, Int(row.metadata ?? "") ?? 0)].found += 1
    }
    var found = counts.filter { $0.value.found != $0.value.meant }.map { "\($0.value.found) rows \($0.key)" }
    if try tx[.texts("rows")].contains("nested") { found.append("a nested write was committed") }
    return found
  }

  /// Checks everything, and closes the database.
  func checkWhole() throws {
    let database = database
    try database.register(Self.view)
    try database.verify(Self.view)
    try database.verify()
    try database.close()
  }

  func close() throws { try database.close() }

  /// What differs between the rows and what the writers were told.
  func check() throws -> [String] {
    let (writes, database) = state.withLock { ($0.writes, $0.database) }
    return try database.read { tx throws in
      var found = try Self.halves(tx)
      for (number, isTold) in writes.sorted(by: { $0.key < $1.key }) {
        let isThere = try tx[.texts("rows")].contains("\(number) 0")
        if isThere != isTold { found.append("write \(number): told \(isTold), and there \(isThere)") }
      }
      return found
    }
  }
}
