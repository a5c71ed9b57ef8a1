// Write transactions of a history, each compared with a draft of the model step by step.

internal import QuireStorage

/// What a transaction would leave if it committed.
struct TortureDraft {
  var state: ModelState
  var trees: [NamedTree]
}

/// What a transaction is to do.
struct TransactionPlan {
  var changes = 1
  var isAborted = false
  var changesTrees = false
  var allocatesRowIDs = false
  /// How many bulk loads it is to do.
  var loads = 0
  /// The record is to be at least so long, in bytes.
  var byteCount = 0
}

/// A transaction's closure asks for its end.
struct TortureAbort: Error {}

/// Makes write transactions, and waits for their commits.
///
/// Invariants:
/// 1. `tickets` are those of commits of this life that nobody has waited for.
/// 2. `isHalfDone` is true only while a transaction runs in which an operation has failed and was gone over: it must
///    not commit.
final class TortureWriter {
  let configuration: TortureConfiguration
  let log: TortureLog
  let random: TortureRandom
  let system: TortureSystem
  let oracle: TortureOracle
  let reader: TortureReader
  private(set) var tickets: [(csn: CSN, ticket: CommitTicket)] = []
  /// How often a change is a deletion in this life, in tenths.
  var deletionTenths = 2
  /// Whether an operation of the transaction failed and was gone over.
  var isHalfDone = false

  init(_ configuration: TortureConfiguration, _ random: TortureRandom, _ reader: TortureReader) {
    self.configuration = configuration
    self.random = random
    self.reader = reader
    log = reader.log
    system = reader.system
    oracle = reader.oracle
  }

  /// The life has ended: nobody waits any more.
  func forgetTickets() { tickets = [] }

  /// Runs a transaction; its commit is appended to the model, and its ticket kept. Nil if there is no commit to wait
  /// for.
  @discardableResult
  func transact(_ plan: TransactionPlan) throws -> CSN? {
    let engine = try system.opened()
    var draft = TortureDraft(state: oracle.model.newest, trees: oracle.trees)
    var isBodyDone = false
    var csn = CSN(0)
    let faults = system.disk.counters.faultCount
    let base = oracle.model.newest.csn
    isHalfDone = false
    do {
      let ticket: CommitTicket
      do throws(WriteFailure) {
        (_, ticket) = try engine.core.writeWithoutWaiting { tx in
          csn = tx.csn
          try fill(tx, plan, &draft)
          if plan.isAborted { throw TortureAbort() }
          isBodyDone = true
        }
      } catch { throw error.reason }
      if isHalfDone { throw log.failure(.ghost, "a transaction committed although an operation had failed half-way") }
      return try didCommit(draft, ticket, base: base)
    } catch let error as StorageError where error.code == .transactionFailed && isHalfDone {
      log.note("refused, as an operation had failed half-way")
    } catch let failure as TortureFailure {
      throw failure
    } catch is TortureAbort {
      // What the transaction saw must outlive a crash now (hazard B4).
      if oracle.waitsForFlush { oracle.model.acknowledge(base) }
      log.note("aborted on \(base)")
    } catch {
      try system.judge(error, since: faults, during: "a transaction")
      system.checkForStop()
      if isBodyDone, csn > base { try oracle.noteFailedCommit(draft, csn, error, isForGood: system.hasStopped) }
    }
    return nil
  }

  private func didCommit(_ draft: TortureDraft, _ ticket: CommitTicket, base: CSN) throws -> CSN? {
    let engine = try system.opened()
    let csn = engine.core.head.csn
    guard csn > base else {
      if draft.state.digest != oracle.model.newest.digest {
        throw log.failure(.lost, "a commit on \(base) came to nothing")
      }
      tickets.append((base, ticket))
      return base
    }
    try oracle.append(draft, as: csn)
    oracle.certain = csn
    log.report.commits += 1
    // In stepped mode no other checkpoint can have come to its end in between.
    if engine.core.meta.current.csn == csn { log.report.commitsByCheckpoint += 1 }
    log.note("appended \(csn)")
    if ticket.lsn == nil {
      if oracle.waitsForFlush { oracle.model.acknowledge(csn) }
      log.note("\(csn) was acknowledged at once")
      try expectShown(csn)
    }
    tickets.append((csn, ticket))
    return csn
  }

  /// Waits for one of the tickets.
  private func wait(at index: Int) throws {
    let (csn, ticket) = tickets.remove(at: index)
    let faults = system.disk.counters.faultCount
    do {
      try system.opened().core.wait(ticket)
      if oracle.waitsForFlush { oracle.model.acknowledge(csn) }
      log.note("waited for \(csn)")
      try expectShown(csn)
    } catch {
      try system.judge(error, since: faults, during: "waiting")
      // A commit was appended: any other error would say that it was rolled back. A ticket without a commit of its own
      // waited for those of others, and has lost nothing.
      guard (error as? StorageError)?.code == (ticket.hasOwnCommit ? .outcomeUnknown : .failStop) else {
        throw log.failure(.broken, "who waited for \(csn) was told \(error)")
      }
      if ticket.hasOwnCommit { oracle.noteUnknown(csn) }
    }
  }

  /// Waits for the newest ticket.
  func waitForLast() throws { try wait(at: tickets.count - 1) }

  /// Waits for one of the tickets, if there is one.
  func waitForAny() throws {
    if !tickets.isEmpty { try wait(at: random.below(tickets.count)) }
  }

  /// Readers must see what was acknowledged, whatever has failed since.
  private func expectShown(_ csn: CSN) throws {
    let shown = try system.opened().core.slots.newest.csn
    if shown < csn { throw log.failure(.lost, "\(csn) was acknowledged, and readers are shown \(shown)") }
  }

  // MARK: Inside a transaction

  private func fill(_ tx: borrowing WriteTransaction, _ plan: TransactionPlan, _ draft: inout TortureDraft) throws {
    if plan.changesTrees || draft.trees.isEmpty { try changeTrees(tx, &draft) }
    if plan.allocatesRowIDs { try allocate(tx) }
    if draft.trees.isEmpty { return }
    var done = 0
    var written = 0
    var loads = plan.loads
    if loads > 0, random.oneIn(2) {
      try loadInBulk(tx, &draft)
      loads -= 1
    }
    while !isHalfDone, done < plan.changes || written < plan.byteCount {
      if plan.byteCount == 0, random.oneIn(configuration.savepointOneIn) {
        done += try changeInSavepoint(tx, plan.changes - done, &draft)
      } else {
        written += try change(tx, &draft, isPut: plan.byteCount > 0)
        done += 1
      }
      if isHalfDone { return }
      if random.oneIn(12) { try interrupt() }
    }
    while loads > 0, !isHalfDone {
      try loadInBulk(tx, &draft)
      loads -= 1
    }
    if random.oneIn(4), !isHalfDone { try ask(tx, draft) }
  }

  /// What other threads may do in the midst of a transaction.
  func interrupt() throws {
    let core = try system.opened().core
    switch random.below(8) {
    case 0, 1: core.appendQuietMark()
    case 2:
      let newest = oracle.certain
      try core.queue.flush()
      oracle.model.acknowledge(newest)
    case 3...6: try system.step(upTo: 1 + random.below(4))
    default: core.beginCheckpointInTransaction()
    }
  }

  /// A savepoint that is rolled back every other time.
  private func changeInSavepoint(
    _ tx: borrowing WriteTransaction, _ limit: Int, _ draft: inout TortureDraft, depth: Int = 0
  ) throws -> Int {
    let before = draft
    let count = 1 + random.below(max(1, limit))
    let isRolledBack = random.oneIn(2)
    do {
      try tx.savepoint { tx in
        for _ in 0..<count {
          if depth < 2, random.oneIn(6) {
            _ = try changeInSavepoint(tx, 2, &draft, depth: depth + 1)
          } else {
            _ = try change(tx, &draft, isPut: false)
          }
          // The savepoint ends as if nothing had happened; it must notice.
          if isHalfDone { return }
        }
        if random.oneIn(4) { try allocate(tx) }
        if random.oneIn(12) { try changeTrees(tx, &draft) }
        if isRolledBack { throw TortureAbort() }
      }
    } catch is TortureAbort {
      draft = before
    } catch let error as StorageError where error.code == .transactionFailed && isHalfDone {
      draft = before
      isHalfDone = false
    }
    if isHalfDone {
      throw log.failure(.broken, "a savepoint ended well although an operation in it had failed half-way")
    }
    return isRolledBack ? 0 + (random.oneIn(2) ? 1 : 0) : count
  }

  /// One put, insertion or deletion, or a question; returns about how many bytes it adds to the record.
  private func change(_ tx: borrowing WriteTransaction, _ draft: inout TortureDraft, isPut: Bool) throws -> Int {
    guard !draft.trees.isEmpty else { return 0 }
    let tree = random.pick(draft.trees).tree
    let drawn = isPut ? 2 : drawChange()
    if drawn == 6, random.oneIn(10) { return try deleteRange(tx, tree, &draft) }
    let key = random.nextKey(tree.keys)
    if drawn >= 9 {
      try ask(tx, draft)
      return 0
    }
    let old = draft.state.value(of: key, in: tree.id)
    if drawn == 8 {
      let found = try tx.find(key, in: tree)
      try log.expect(found == old, "a transaction read another value than it had written")
      return 0
    }
    let value = drawn < 6 ? random.nextValue(beside: key) : []
    let result: Bool?
    do throws(StorageError) {
      switch drawn {
      case 0...1: result = try tx.store(value, key, in: tree)
      case 2...4:
        try tx.storeLater(value, key, in: tree)
        result = nil
      case 5: result = try tx.insertNew(value, key, in: tree)
      default: result = try tx.remove(key, in: tree)
      }
    } catch {
      // Callers who do not care about errors must not get half an operation committed.
      let isLong = try system.opened().core.context.failure == nil
      let isTolerable = error.code == .inputOutput || (isLong && error.code == .diskFull)
      guard random.oneIn(2), isTolerable, !system.disk.isPoweredOff else { throw error }
      // What failed was the writing of a long value: nothing has changed, and the transaction goes on.
      if isLong { try log.expect(try tx.find(key, in: tree) == old, "a put failed and changed what was there") }
      isHalfDone = !isLong
      return 0
    }
    return try enter(result, drawn, key, value, old, in: tree, &draft)
  }

  /// 0 to 4 for a put, of which the last three may wait, 5 for an insertion, 6 and 7 for a deletion, 8 and 9 for
  /// questions.
  private func drawChange() -> Int {
    if random.below(10) < deletionTenths { return 6 }
    return [0, 1, 2, 3, 4, 5, 8, 9][random.below(8)]
  }

  /// Enters a change into the draft, and checks what the engine said of it.
  private func enter(
    _ result: Bool?, _ drawn: Int, _ key: [UInt8], _ value: [UInt8], _ old: [UInt8]?, in tree: Tree,
    _ draft: inout TortureDraft
  ) throws -> Int {
    guard let result else {
      draft.state.put(key, value, in: tree.id)
      return key.count + value.count + 6
    }
    switch drawn {
    case 0...4:
      draft.state.put(key, value, in: tree.id)
      try log.expect(result == (old == nil), "a put said new: \(result)")
      return key.count + value.count + 6
    case 5:
      if result { draft.state.put(key, value, in: tree.id) }
      try log.expect(result == (old == nil), "an insertion said new: \(result)")
      return result ? key.count + value.count + 6 : 0
    default:
      draft.state.delete(key, in: tree.id)
      try log.expect(result == (old != nil), "a deletion said there: \(result)")
      return result ? key.count + 4 : 0
    }
  }

  private func allocate(_ tx: borrowing WriteTransaction) throws {
    let count = 1 + random.below(3)
    let first = try tx.allocateRowIDs(count)
    guard first >= oracle.nextRowID else {
      throw log.failure(.wrongRead, "row id \(first) was given out again; \(oracle.nextRowID) was next")
    }
    oracle.nextRowID = first + Int64(count)
  }

  /// Makes a tree, or drops one.
  private func changeTrees(_ tx: borrowing WriteTransaction, _ draft: inout TortureDraft) throws {
    if draft.trees.count >= configuration.treeLimit || (!draft.trees.isEmpty && random.oneIn(2)) {
      let index = random.below(draft.trees.count)
      let gone = draft.trees.remove(at: index)
      try tx.dropTree(gone.tree)
      draft.state.drop(gone.tree.id)
      return
    }
    let name = (0..<configuration.treeLimit).map { "t\($0)" }
      .first { name in !draft.trees.contains { $0.name == name } }
    guard let name else { return }
    let tree = try tx.createTree(name, keys: random.oneIn(2) ? .bytes : .int64)
    guard tree.id.rawValue >= oracle.nextTreeID else {
      throw log.failure(.wrongRead, "\(tree.id) was given out again; \(oracle.nextTreeID) was next")
    }
    oracle.nextTreeID = tree.id.rawValue + 1
    draft.trees.append(NamedTree(name: name, tree: tree))
    draft.state.create(tree.id)
  }

  /// Compares what the transaction sees of a tree with the draft.
  func ask(_ tx: borrowing WriteTransaction, _ draft: TortureDraft) throws {
    guard !draft.trees.isEmpty else { return }
    let tree = random.pick(draft.trees).tree
    let count = try tx.count(of: tree)
    try log.expect(count == draft.state.count(of: tree.id), "a transaction counted \(count)")
    let key = random.nextKey(tree.keys)
    let rank = try tx.rank(key, in: tree)
    try log.expect(rank == draft.state.rank(of: key, in: tree.id), "a transaction found rank \(rank)")
    if random.oneIn(4) { try reader.checkMany(tx, draft.state, tree) }
    var cursor = try tx.cursor(tree)
    try reader.walk(&cursor, tree, draft.state, steps: 4)
  }
}
