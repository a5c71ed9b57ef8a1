// A history of several threads on one engine, a call of which fails while others are in flight: each thread writes down
// what it was told, and the files must agree with all of them.

import Dispatch
import QuireStorage
import QuireTesting
import Synchronization

/// What a thread was told of one of its transactions.
struct ToldTransaction: Sendable {
  enum Outcome: Hashable, Sendable {
    case returned
    /// `outcomeUnknown`.
    case unknown
    /// Any other error.
    case refused(StorageError.Code)
  }

  let thread: Int
  let number: Int
  let rowCount: Int
  /// The number that the commit has or would have had; nil if the transaction did not begin.
  var csn: CSN?
  var outcome: Outcome
  /// Whether it must be on the disk, and not only with the system.
  var isDurable = false

  /// The first key; the others follow.
  var firstKey: Int64 { Int64(thread) << 40 | Int64(number) << 16 }
  var name: String { "transaction \(number) of thread \(thread) (\(csn.map { "\($0)" } ?? "not begun"), \(outcome))" }
}

/// How a history goes, drawn from its seed. Which thread meets what is up to the threads.
struct ThreadedFaultPlan: Sendable, CustomStringConvertible {
  let seed: UInt64
  var durability = Durability.full
  var threadCount = 3
  var operationCount = 20
  var bigOneIn = 8
  var initialSegmentByteCount = 16 << 10
  var logLimit = 64 << 10
  var unloggedByteCount = 1 << 20
  var alignsLogGroups = false
  var pauseOneIn = 4
  var longestPause = 500
  var closesInBetween = false
  /// Whether the first of the transactions makes the log.
  var startsLog = false
  // The call that fails.
  var kind = OperationKind.write
  var isOfLog = true
  /// Only calls to the meta pages.
  var isMeta = false
  var skipCount = 0
  var delay = 0
  var code = SystemCode.inputOutput
  var syncFailure = SyncFailure.forgets
  var survivorsOneIn = 0
  var isWritten = false

  init(seed: UInt64) {
    self.seed = seed
    var random = SeededRandom(seed: seed ^ 0x7468_7265_6164)
    durability = random.pick([.full, .full, .full, .relaxed, .interval(.milliseconds(1))])
    threadCount = 2 + random.below(4)
    operationCount = random.pick([5, 15, 30])
    bigOneIn = random.pick([2, 6, 20])
    initialSegmentByteCount = random.pick([12, 16, 32]) << 10
    logLimit = random.pick([16, 64, 256]) << 10
    unloggedByteCount = random.pick([1000, 1 << 20])
    alignsLogGroups = random.oneIn(4)
    pauseOneIn = random.pick([1, 2, 8])
    longestPause = random.pick([100, 500, 2000])
    closesInBetween = random.oneIn(4)
    startsLog = random.oneIn(3)
    (kind, isOfLog, isMeta) = random.pick([
      (.write, true, false), (.write, true, false), (.synchronize, true, false), (.synchronize, true, false),
      (.write, false, true), (.synchronize, false, false), (.write, false, false), (.synchronizeDirectory, true, false),
      (.open, true, false), (.allocate, false, false),
    ])
    // Of some there are few.
    let isFrequent = isOfLog && (kind == .write || kind == .synchronize)
    skipCount = random.below(random.pick(isFrequent ? [1, 3, 10, 30] : [1, 3]))
    delay = random.pick([0, 500, 3000])
    code = random.pick([SystemCode.inputOutput, SystemCode.inputOutput, SystemCode.noSpace])
    syncFailure = random.pick(SyncFailure.allCases)
    survivorsOneIn = syncFailure == .reverts ? 0 : random.pick([0, 1, 3])
    isWritten = random.oneIn(3)
  }

  var options: StorageOptions {
    StorageOptions(
      pageSize: 512, cacheSize: 1 << 20, durability: durability, logLimit: logLimit, alignsLogGroups: alignsLogGroups,
      createsIfMissing: true)
  }

  func environment(_ disk: SimulatedDisk, _ scheduling: Scheduling) -> StorageEnvironment {
    let dice = Latch(SeededRandom(seed: seed))
    return StorageEnvironment(
      fileSystem: disk, random: { dice.withLock { $0.next() } }, scheduling: scheduling, allowsTestPages: true,
      initialSegmentByteCount: initialSegmentByteCount, usualLogByteCount: 2 * initialSegmentByteCount,
      partByteCount: 2000, unloggedByteCount: unloggedByteCount, continuedLogByteCount: 0)
  }

  /// What goes wrong with the call that is meant.
  func effect(on operation: DiskOperation) -> FaultEffect {
    switch operation.kind {
    case .synchronize, .synchronizeDirectory: .failedSync(syncFailure, code, survivorsOneIn: survivorsOneIn)
    case .write where isWritten: .errorAfter(operation.count, code)
    default: .error(code)
    }
  }

  func isMeant(_ operation: DiskOperation) -> Bool {
    operation.kind == kind && operation.path.hasPrefix("/db-log") == isOfLog
      && (!isMeta || operation.offset < 2 * 512)
  }

  var description: String {
    """
    \(durability), \(threadCount) threads of \(operationCount), big 1/\(bigOneIn), segments \(initialSegmentByteCount) \
    to \(logLimit), unlogged from \(unloggedByteCount), pauses 1/\(pauseOneIn) up to \(longestPause) µs\
    \(closesInBetween ? ", closed in between" : "")\(startsLog ? ", without a log" : ""), \
    fails: \(kind) \(isOfLog ? "of the log" : isMeta ? "of meta pages" : "of the data file") after \(skipCount), \
    code \(code), \(syncFailure), survivors 1/\(survivorsOneIn), written \(isWritten)
    """
  }
}

/// Runs a history and compares.
final class ThreadedFaultHistory: Sendable {
  /// What was met, over all histories.
  struct Counts: Sendable {
    var returned = 0
    var unknown = 0
    var unknownThere = 0
    var refused = 0
    var struck = 0
    var images = 0
  }

  let plan: ThreadedFaultPlan
  let disk = SimulatedDisk()
  private let told = Latch<[ToldTransaction]>([])
  private let complaints = Latch<[String]>([])
  private let struck = Atomic<Int>(0)
  private let tree: Tree
  private let engine: StorageEngine

  init(seed: UInt64) throws {
    plan = ThreadedFaultPlan(seed: seed)
    var engine = try StorageEngine(at: "/db", options: plan.options, environment: plan.environment(disk, .threads))
    tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    if plan.startsLog {
      try engine.close()
      engine = try StorageEngine(at: "/db", options: plan.options, environment: plan.environment(disk, .threads))
    }
    self.engine = engine
  }

  private func complain(_ text: String) { complaints.withLock { $0.append(text) } }

  /// Runs it; returns what is wrong. Ends the process if threads wait for ever.
  func run(_ counts: inout Counts) -> [String] {
    arm()
    let queue = DispatchQueue(label: "history \(plan.seed)", attributes: .concurrent)
    let group = DispatchGroup()
    for thread in 1...plan.threadCount {
      queue.async(group: group) { [self] in work(thread) }
    }
    if group.wait(timeout: .now() + 60) == .timedOut {
      fatalError("the threads of seed \(plan.seed) do not end (\(plan)); \(ThreadedFaultTests.command(plan.seed))")
    }
    disk.removeInterceptors()
    let transactions = told.withLock { $0 }
    counts.returned += transactions.count { $0.outcome == .returned }
    counts.unknown += transactions.count { $0.outcome == .unknown }
    counts.refused += transactions.count - transactions.count { $0.outcome == .returned || $0.outcome == .unknown }
    counts.struck += struck.load(ordering: .relaxed)
    check(transactions, &counts)
    disk.powerOff()
    do { try engine.close() } catch {}
    return complaints.withLock { $0 }
  }

  /// Makes calls take their time, and one of them fail.
  private func arm() {
    disk.pause(
      DiskPauses(seed: plan.seed, oneIn: plan.pauseOneIn, longestMicroseconds: plan.longestPause))
    disk.interceptOnce(skipping: plan.skipCount, where: { [plan] in plan.isMeant($0) }) { [self] operation in
      struck.add(1, ordering: .relaxed)
      if plan.delay > 0 { Self.sleep(plan.delay) }
      return plan.effect(on: operation)
    }
  }

  static func sleep(_ microseconds: Int) {
    _ = DispatchSemaphore(value: 0).wait(timeout: .now() + .microseconds(microseconds))
  }

  // MARK: Working

  private func work(_ thread: Int) {
    var random = SeededRandom(seed: plan.seed &* 31 &+ UInt64(thread))
    var own: [ToldTransaction] = []
    var refusals = 0
    for number in 0..<plan.operationCount where refusals < 4 {
      switch random.below(12) {
      case 0: makeDurable(&own) { try engine.flush() }
      case 1: makeDurable(&own) { try engine.checkpoint() }
      case 2: abort(&random)
      case 3: look(own)
      default:
        let isBig = random.oneIn(plan.bigOneIn)
        let transaction = transact(thread, number, rowCount: isBig ? 150 + random.below(300) : 1 + random.below(4))
        own.append(transaction)
        if transaction.outcome == .returned { look([transaction]) } else { refusals += 1 }
      }
      if plan.closesInBetween, thread == 1, number == plan.operationCount / 2 { close(&own) }
    }
    told.withLock { $0 += own }
  }

  private func transact(_ thread: Int, _ number: Int, rowCount: Int) -> ToldTransaction {
    var told = ToldTransaction(thread: thread, number: number, rowCount: rowCount, outcome: .returned)
    var csn: CSN?
    do {
      try engine.write { tx in
        csn = tx.csn
        for row in 0..<rowCount {
          try tx.put([UInt8](repeating: UInt8(thread), count: 60), for: told.firstKey + Int64(row), in: tree)
        }
      }
      told.isDurable = plan.durability == .full
    } catch let error as StorageError {
      told.outcome = error.code == .outcomeUnknown ? .unknown : .refused(error.code)
      let expected: [StorageError.Code] = [.failStop, .inputOutput, .diskFull, .outcomeUnknown]
      if !expected.contains(error.code), !(plan.closesInBetween && error.code == .closed) {
        complain("thread \(thread) was told \(error)")
      }
    } catch { complain("thread \(thread) was told \(error)") }
    told.csn = csn
    return told
  }

  /// What makes durable what this thread was told was done.
  private func makeDurable(_ own: inout [ToldTransaction], _ call: () throws -> Void) {
    do { try call() } catch { return }
    for index in own.indices where own[index].outcome == .returned { own[index].isDurable = true }
  }

  private func abort(_ random: inout SeededRandom) {
    struct Enough: Error {}
    let key = Int64(random.below(100))
    do {
      try engine.write { tx in
        try tx.put([1], for: -1 - key, in: tree)
        throw Enough()
      }
    } catch {}
  }

  /// What a thread was told is done must be shown to it.
  private func look(_ own: [ToldTransaction]) {
    for transaction in own where transaction.outcome == .returned {
      do {
        let count = try engine.read { tx in try Self.count(transaction, tx, tree) }
        if count != transaction.rowCount {
          complain("readers see \(count) of \(transaction.rowCount) rows of \(transaction.name)")
        }
      } catch let error as StorageError where error.code == .closed && plan.closesInBetween {
      } catch { complain("reading threw \(error)") }
    }
  }

  private func close(_ own: inout [ToldTransaction]) {
    makeDurable(&own) { try engine.close() }
  }

  private static func count(
    _ transaction: ToldTransaction, _ tx: borrowing ReadTransaction, _ tree: Tree
  ) throws(StorageError) -> Int {
    try tx.rank(of: transaction.firstKey + 1 << 15, in: tree) - tx.rank(of: transaction.firstKey, in: tree)
  }

  // MARK: Comparing

  private func check(_ transactions: [ToldTransaction], _ counts: inout Counts) {
    var images: [(String, SimulatedDisk)] = [
      ("kill", disk.processKillImage()), ("nothing unsynced", disk.crashImage(.allOld)),
      ("all unsynced", disk.crashImage(.allNew)),
    ]
    for seed in plan.seed..<plan.seed + 3 { images.append(("power cut \(seed)", disk.crashImage(.random(seed)))) }
    for (name, image) in images {
      counts.images += 1
      do {
        let engine = try StorageEngine(at: "/db", options: plan.options, environment: plan.environment(image, .stepped))
        let counted = try engine.read { tx in
          let tree = tx.tree(named: "t")
          return try transactions.map { transaction in try tree.map { try Self.count(transaction, tx, $0) } ?? 0 }
        }
        let found = zip(transactions, counted).map { (transaction: $0, count: $1) }
        if name == "kill" { counts.unknownThere += found.count { $0.transaction.outcome == .unknown && $0.count > 0 } }
        for text in Self.contradictions(found) { complain("\(name): \(text)") }
        try engine.verify()
        try engine.close()
      } catch { complain("\(name): opening threw \(error)") }
    }
  }

  /// Where what was told and what is there are not the same.
  private static func contradictions(_ found: [(transaction: ToldTransaction, count: Int)]) -> [String] {
    var texts: [String] = []
    let newest = found.filter { $0.count > 0 }.compactMap(\.transaction.csn).max() ?? CSN(0)
    for (transaction, count) in found {
      let text = "\(count) of \(transaction.rowCount) rows are there of \(transaction.name)"
      if count != 0, count != transaction.rowCount { texts.append(text) }
      switch transaction.outcome {
      case .refused: if count > 0 { texts.append(text) }
      case .returned, .unknown:
        if count > 0 { continue }
        if transaction.isDurable { texts.append("\(text), which is durable") }
        if let csn = transaction.csn, csn < newest { texts.append("\(text), but of \(newest) there are") }
      }
    }
    return texts
  }
}
