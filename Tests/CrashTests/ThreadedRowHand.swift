// One of the threads of a history over rows.

import QuireDatabase
import QuireStorage
import QuireTesting
import Synchronization

/// Draws transactions and makes them, one after the other; used by its thread alone.
final class ThreadedRowHand {
  /// Why a transaction is rolled back.
  private struct GivenUp: Error {}

  /// A snapshot that is held while other things go on.
  private struct Held {
    let pin: QuireDatabase.PinnedSnapshot
    /// When it was asked for.
    var began: UInt64
    /// The step that has led to it.
    var passed: RowRecord.Passed?
  }

  private let history: ThreadedRowHistory
  private let plan: ThreadedRowPlan
  private let thread: Int
  private let writes: Bool
  private let connection: Connection
  private var random: SeededRandom
  private var lastNumber = 0
  private var held: Held?
  private var refusals = 0
  private(set) var records: [RowRecord] = []

  init(_ history: ThreadedRowHistory, _ thread: Int, writes: Bool) {
    (self.history, self.thread, self.writes) = (history, thread, writes)
    plan = history.plan
    connection = history.database.makeConnection()
    random = plan.random(thread, 0)
  }

  /// Works until everything is done, or until nothing can be written any more.
  func work() {
    for _ in 0..<plan.operationCount where refusals < 4 {
      switch random.below(16) {
      case 0: makeDurable()
      case 1: history.database.flushMemory()
      case 2, 3: hold()
      case 4: if random.oneIn(3) { held = nil }
      case 5, 6: read()
      default: if writes { write() } else { read() }
      }
    }
    held = nil
  }

  /// The next transaction's number, and its record.
  private func begin() -> (number: Int, record: RowRecord) {
    lastNumber += 1
    return (lastNumber, RowRecord(thread: thread, number: lastNumber, began: ThreadedRowHistory.now))
  }

  private func complain(_ text: String) { history.complain(text) }

  // MARK: Writing

  private func write() {
    var (number, record) = begin()
    let purpose = random.pick([RowPurpose.change, .change, .change, .change, .change, .fill, .touch, .look])
    let isGivenUp = random.oneIn(6)
    let isAwaited = random.oneIn(3)
    let box = RowBox(record)
    do {
      if isAwaited {
        let body = body(number, purpose, isGivenUp, box)
        try history.awaiting { [connection] in try await connection.write(body) }
      } else {
        try connection.write { tx in
          // A snapshot stands beside a transaction, and does not show what it does.
          if held != nil, random.oneIn(6) { readHeld() }
          try body(number, purpose, isGivenUp, box)(tx)
        }
      }
      record = box.value
      record.outcome = .acknowledged
    } catch {
      record = box.value
      record.outcome = outcome(error)
      if record.outcome != .rolledBack, plan.fault != .full { refusals += 1 }
    }
    record.ended = ThreadedRowHistory.now
    if record.outcome == .acknowledged { record.told = history.told(of: record.id) }
    record.label = " (\(purpose)\(isAwaited ? ", awaited" : ""))"
    records.append(record)
  }

  private func body(
    _ number: Int, _ purpose: RowPurpose, _ isGivenUp: Bool, _ box: RowBox
  ) -> @Sendable (RowWriteTransaction) throws -> Void {
    { [history, connection, plan, thread] tx in
      var script = ThreadedRowScript(plan, thread: thread, number: number)
      box.note(tx.csn)
      defer { box.note(tx.csn, script.steps) }
      try script.write(tx, purpose) { Self.expectRefusal(history, connection) }
      if isGivenUp {
        if script.random.oneIn(2) { try tx.rollback() }
        throw GivenUp()
      }
    }
  }

  /// Transactions inside of one on the same thread are refused at once, and do nothing.
  private static func expectRefusal(_ history: ThreadedRowHistory, _ connection: Connection) {
    func expect(_ what: String, _ call: () throws -> Void) {
      do {
        try call()
        history.complain("\(what) inside a transaction returned")
      } catch let error as DatabaseError where error.code == .nestedTransaction {
      } catch { history.complain("\(what) inside a transaction threw \(error)") }
    }
    expect("a write") { try connection.write { _ in history.complain("a write inside a transaction ran") } }
    expect("a read") { try connection.read { _ in history.complain("a read inside a transaction ran") } }
  }

  private func outcome(_ error: any Error) -> RowRecord.Outcome {
    if error is GivenUp { return .rolledBack }
    guard let error = error as? DatabaseError else {
      complain("writing threw \(error)")
      return .refused
    }
    if error.code == .rolledBack { return .rolledBack }
    if !plan.isExpected(error) { complain("writing threw \(error)") }
    return error.code == .outcomeUnknown ? .unknown : .refused
  }

  // MARK: Reading

  private func read() {
    var (number, record) = begin()
    let box = RowBox(record)
    let body = lookingBody(number, box)
    let isAwaited = random.oneIn(4)
    do {
      if isAwaited {
        try history.awaiting { [connection] in try await connection.read(body) }
      } else {
        try connection.read(body)
      }
    } catch { didThrow(error) }
    record = box.value
    record.ended = ThreadedRowHistory.now
    if isAwaited { record.label = " (awaited)" }
    records.append(record)
  }

  private func lookingBody(_ number: Int, _ box: RowBox) -> @Sendable (RowReadTransaction) throws -> Void {
    { [plan, thread] tx in
      var script = ThreadedRowScript(plan, thread: thread, number: number)
      box.note(tx.csn)
      defer { box.note(tx.csn, script.steps) }
      let naps = script.random.oneIn(5)
      for _ in 0..<1 + script.random.below(6) {
        try script.look(tx, count: 1 + script.random.below(3))
        if naps { ThreadedFaultHistory.sleep(200) }
      }
      if script.random.oneIn(6) { try script.lookAtEverything(tx) }
    }
  }

  /// What a failed sync has lost is not shown; what was read before that counts.
  private func didThrow(_ error: any Error) {
    if let error = error as? DatabaseError, plan.mayRefuseReads(error) { return }
    complain("reading threw \(error)")
  }

  // MARK: Held snapshots

  /// Begins to hold a snapshot, reads the one that is held, or goes on from it.
  private func hold() {
    guard let pin = held?.pin else {
      let began = ThreadedRowHistory.now
      do { held = Held(pin: try history.database.pin(), began: began) } catch { didThrow(error) }
      return
    }
    if random.oneIn(3) {
      let (start, began) = (pin.csn.rawValue, ThreadedRowHistory.now)
      do {
        let commits = try pin.advance()
        let told = commits.compactMap { commit in (commit.info as? Int).map { (id: $0, number: commit.csn.rawValue) } }
        if told.count != commits.count { complain("a pin is told of a commit of which nobody knows who made it") }
        held?.began = began
        held?.passed = RowRecord.Passed(start: start, commits: told)
      } catch { didThrow(error) }
    }
    readHeld()
  }

  private func readHeld() {
    guard let held else { return }
    var (number, record) = begin()
    let box = RowBox(record)
    do { try held.pin.read(lookingBody(number, box)) } catch { didThrow(error) }
    record = box.value
    // It shows the moment at which it was made.
    record.began = held.began
    record.ended = ThreadedRowHistory.now
    record.passed = held.passed
    record.label = " (held)"
    if let snapshot = record.snapshot, snapshot != held.pin.csn.rawValue {
      complain("\(record.name) is of a pin at \(held.pin.csn)")
    }
    records.append(record)
  }

  // MARK: The disk

  private func makeDurable() {
    let began = ThreadedRowHistory.now
    do throws(DatabaseError) {
      if random.oneIn(2) { try history.database.flush() } else { try history.database.checkpoint() }
      let ended = ThreadedRowHistory.now
      history.events.withLock { $0.flushes.append((began, ended)) }
    } catch {
      if !plan.isExpected(error) { complain("making durable threw \(error)") }
    }
  }
}
