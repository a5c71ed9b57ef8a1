// Threads that read and write an engine and write down what they did and saw.

import Dispatch
import QuireStorage
import QuireTesting
import Synchronization

/// How such a history goes, drawn from its seed. Which thread meets what is up to the threads.
struct SnapshotPlan: Sendable, CustomStringConvertible {
  let seed: UInt64
  var durability = Durability.full
  var writerCount = 2
  var readerCount = 2
  var operationCount = 60
  var keyCount = 64
  var cachePages = 64
  var longestValue = 40
  var logLimit = 64 << 10
  var unloggedByteCount = 1 << 20
  var pauseOneIn = 4
  var longestPause = 300
  /// The call that fails; nil if none does.
  var failing: OperationKind?
  var isOfLog = true
  var skipCount = 0
  var syncFailure = SyncFailure.forgets

  init(seed: UInt64) {
    self.seed = seed
    var random = SeededRandom(seed: seed ^ 0x6869_7374)
    durability = random.pick([.full, .full, .relaxed, .interval(.milliseconds(1))])
    writerCount = 1 + random.below(4)
    readerCount = 1 + random.below(4)
    operationCount = random.pick([30, 80, 150])
    keyCount = random.pick([4, 40, 400, 2000])
    cachePages = random.pick([32, 48, 200, 2000])
    longestValue = random.pick([8, 60, 200, 3000])
    logLimit = random.pick([16, 64, 256]) << 10
    unloggedByteCount = random.pick([1000, 1 << 20])
    pauseOneIn = random.pick([1, 3, 10])
    longestPause = random.pick([50, 300, 1000])
    failing = random.pick([nil, nil, .write, .synchronize])
    isOfLog = !random.oneIn(3)
    skipCount = random.below(random.pick([4, 20, 60]))
    syncFailure = random.pick(SyncFailure.allCases)
  }

  var options: StorageOptions {
    var options = StorageOptions(
      pageSize: 512, cacheSize: cachePages * 512, durability: durability, logLimit: logLimit, createsIfMissing: true)
    // Maintenance commits, too, and writes nothing down.
    options.maintainsWhenIdle = false
    return options
  }

  func environment(_ disk: SimulatedDisk, _ scheduling: Scheduling) -> StorageEnvironment {
    let dice = Latch(SeededRandom(seed: seed))
    return StorageEnvironment(
      fileSystem: disk, random: { dice.withLock { $0.next() } }, scheduling: scheduling, allowsTestPages: true,
      initialSegmentByteCount: 12 << 10, usualLogByteCount: 24 << 10, partByteCount: 2000,
      unloggedByteCount: unloggedByteCount, continuedLogByteCount: 0)
  }

  var description: String {
    """
    \(durability), \(writerCount) writers and \(readerCount) readers of \(operationCount), \(keyCount) keys, cache \
    \(cachePages) pages, values up to \(longestValue), log \(logLimit), unlogged from \(unloggedByteCount), pauses \
    1/\(pauseOneIn) up to \(longestPause) µs, fails: \(failing.map { "\($0)" } ?? "nothing") \
    \(isOfLog ? "of the log" : "of the data file") after \(skipCount), \(syncFailure)
    """
  }
}

/// Runs such a history, and gives what was written down.
final class ThreadedSnapshotHistory: Sendable {
  let plan: SnapshotPlan
  let disk = SimulatedDisk()
  private let engine: StorageEngine
  private let tree: Tree
  /// The commit that made the tree.
  private let first: UInt64
  private let records = Latch<[TransactionRecord]>([])
  private let complaints = Latch<[String]>([])

  init(_ plan: SnapshotPlan) throws {
    self.plan = plan
    engine = try StorageEngine(at: "/db", options: plan.options, environment: plan.environment(disk, .threads))
    tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    first = try engine.read { $0.csn.rawValue }
    try engine.flush()
  }

  private static var now: UInt64 { Pause.nanoseconds }

  private func complain(_ text: String) { complaints.withLock { $0.append(text) } }

  /// Runs it; returns what is wrong, and how many transactions there were. Ends the process if threads wait for ever.
  func run() throws -> (complaints: [String], transactionCount: Int) {
    arm()
    let queue = DispatchQueue(label: "history \(plan.seed)", attributes: .concurrent)
    let group = DispatchGroup()
    for body in bodies { queue.async(group: group, execute: body) }
    if group.wait(timeout: .now() + 60) == .timedOut {
      fatalError("the threads of seed \(plan.seed) do not end (\(plan))")
    }
    return try judge(end())
  }

  /// What each thread does.
  var bodies: [@Sendable () -> Void] {
    (1...plan.writerCount + plan.readerCount).map { thread in
      { [self] in work(thread, writes: thread <= plan.writerCount) }
    }
  }

  /// Takes what the end of the process, or a power cut, would leave now that the threads have ended, and closes.
  func end() -> [(name: String, disk: SimulatedDisk)] {
    disk.removeInterceptors()
    if plan.failing == nil {
      do {
        if let text = try engine.core.checkInvariantsBesideCheckpoint() { complain(text) }
      } catch { complain("the invariants cannot be checked: \(error)") }
    }
    let images = images()
    disk.powerOff()
    do { try engine.close() } catch {}
    return images
  }

  /// What is wrong with what was written down, and with these images.
  func judge(_ images: [(name: String, disk: SimulatedDisk)]) throws -> (complaints: [String], transactionCount: Int) {
    let all = records.withLock { $0 }
    for text in HistoryChecker(all, after: first).violations { complain(text) }
    let end = all.map(\.ended).max() ?? 0
    for (name, image) in images {
      var record = try read(image)
      (record.began, record.ended) = (max(record.began, end), max(record.ended, end))
      for text in HistoryChecker(all + [record], after: first).violations { complain("\(name): \(text)") }
    }
    return (complaints.withLock { $0 }, all.count)
  }

  /// Makes calls take their time, and one of them fail.
  func arm() {
    disk.pause(DiskPauses(seed: plan.seed, oneIn: plan.pauseOneIn, longestMicroseconds: plan.longestPause))
    guard let kind = plan.failing else { return }
    disk.failOnce(kind, ofLog: plan.isOfLog, skipping: plan.skipCount, plan.syncFailure)
  }

  // MARK: Working

  private func work(_ thread: Int, writes: Bool) {
    var random = SeededRandom(seed: plan.seed &* 31 &+ UInt64(thread))
    var own: [TransactionRecord] = []
    var refusals = 0
    for number in 0..<plan.operationCount where refusals < 4 {
      if !writes || random.oneIn(8) {
        if random.oneIn(10) {
          own += pin(thread, &random)
        } else {
          own.append(read(thread, &random) { try engine.read($0) })
        }
        if writes, random.oneIn(3) { do { try engine.checkpoint() } catch {} }
        continue
      }
      let record = write(thread, number, &random)
      if record.commit?.outcome != .acknowledged { refusals += 1 }
      if record.commit != nil { own.append(record) }
    }
    records.withLock { $0 += own }
  }

  /// A snapshot that is read more than once.
  private func pin(_ thread: Int, _ random: inout SeededRandom) -> [TransactionRecord] {
    let began = Self.now
    guard let pin = try? engine.pin() else { return [] }
    return (0..<2 + random.below(3)).map { _ in
      var record = read(thread, &random) { try pin.read($0) }
      // It shows the moment at which it was made.
      record.began = began
      record.ended = Self.now
      return record
    }
  }

  private func read(
    _ thread: Int, _ random: inout SeededRandom, _ run: ((borrowing ReadTransaction) throws -> Void) throws -> Void
  ) -> TransactionRecord {
    var record = TransactionRecord(thread: thread, began: Self.now)
    let keys = (0..<1 + random.below(6)).map { _ in Int64(random.below(plan.keyCount)) }
    let (readsAll, naps) = (random.oneIn(4), random.oneIn(6))
    do {
      try run { tx in
        record.snapshot = tx.csn.rawValue
        for key in keys {
          record.reads.append(.init(key, try value(tx.value(for: key, in: tree))))
          if naps { Pause.sleep(microseconds: 200) }
        }
        if readsAll { record.content = try content(tx, tree) }
      }
    } catch let error as StorageError where error.code == .failStop && plan.failing != nil {
      // What a failed sync has lost is not shown; what was read before that counts.
    } catch { complain("reading threw \(error)") }
    record.ended = Self.now
    return record
  }

  private func write(_ thread: Int, _ number: Int, _ random: inout SeededRandom) -> TransactionRecord {
    struct GivenUp: Error {}
    var record = TransactionRecord(thread: thread, began: Self.now)
    var csn: UInt64?
    let changeCount = 1 + random.below(random.pick([2, 5, 30]))
    let isGivenUp = random.oneIn(8)
    var outcome = TransactionRecord.Outcome.acknowledged
    do {
      try engine.write { tx in
        csn = tx.csn.rawValue
        for change in 0..<changeCount {
          let key = Int64(random.below(plan.keyCount))
          // What this transaction has changed itself is not what was there.
          if !record.writes.contains(where: { $0.key == key }) {
            record.reads.append(.init(key, try value(tx.value(for: key, in: tree))))
          }
          if change > 0, random.oneIn(4) {
            try tx.delete(key, in: tree)
            record.writes.append(.init(key, nil))
          } else {
            let value = WrittenValue(thread: thread, number: number << 8 | change)
            try tx.put(value.bytes(count: 8 + random.below(plan.longestValue)), for: key, in: tree)
            record.writes.append(.init(key, value))
          }
        }
        // A value that nothing else takes away: whoever finds it knows that the transaction is there.
        let mark = WrittenValue(thread: thread, number: number << 8 | 0xff)
        try tx.put(mark.bytes(count: 8), for: Int64(-thread), in: tree)
        record.writes.append(.init(Int64(-thread), mark))
        if isGivenUp { throw GivenUp() }
      }
    } catch is GivenUp {
      outcome = .refused
    } catch let error as StorageError {
      outcome = error.code == .outcomeUnknown ? .unknown : .refused
      let expected: [StorageError.Code] = [.failStop, .inputOutput, .diskFull, .outcomeUnknown]
      if !expected.contains(error.code) || plan.failing == nil { complain("writing threw \(error)") }
    } catch { complain("writing threw \(error)") }
    record.ended = Self.now
    if let csn {
      record.snapshot = csn - 1
      record.commit = (csn, outcome)
    }
    return record
  }

  private func value(_ bytes: [UInt8]?) -> WrittenValue? {
    guard let bytes else { return nil }
    guard let value = WrittenValue(bytes) else {
      complain("a value has \(bytes.count) bytes")
      return nil
    }
    if value.bytes(count: bytes.count) != bytes { complain("the value \(value) has other bytes behind it") }
    return value
  }

  private func content(_ tx: borrowing ReadTransaction, _ tree: Tree) throws -> [Int64: WrittenValue] {
    var content: [Int64: WrittenValue] = [:]
    var cursor = try tx.cursor(tree)
    while try cursor.next() {
      guard let key = cursor.integerKey else { continue }
      content[key] = try value(cursor.value)
    }
    if try tx.count(of: tree) != content.count { complain("a tree counts other entries than a cursor") }
    return content
  }

  // MARK: Afterwards

  /// What the end of the process leaves, and power cuts where commits wait for the disk.
  private func images() -> [(String, SimulatedDisk)] {
    // What a failed sync has dropped from the cache is not there for the next process.
    var images: [(String, SimulatedDisk)] = plan.failing == nil ? [("kill", disk.processKillImage())] : []
    if plan.durability == .full {
      images += [("nothing unsynced", disk.crashImage(.allOld)), ("all unsynced", disk.crashImage(.allNew))]
      images.append(("power cut", disk.crashImage(.random(plan.seed))))
    }
    return images
  }

  /// All that an image has, as one more read.
  private func read(_ image: SimulatedDisk) throws -> TransactionRecord {
    var record = TransactionRecord(thread: 0, began: Self.now)
    let engine = try StorageEngine(at: "/db", options: plan.options, environment: plan.environment(image, .stepped))
    try engine.read { tx in
      record.snapshot = tx.csn.rawValue
      if let tree = tx.tree(named: "t") { record.content = try content(tx, tree) }
    }
    try engine.verify()
    try engine.close()
    record.ended = Self.now
    return record
  }
}
