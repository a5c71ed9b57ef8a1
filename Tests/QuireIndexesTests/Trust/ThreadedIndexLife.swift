// Several threads on one database with indexes, on a disk that fails, until its process ends: one life of a history.
//
// Writers change rows of their own, and vie for values of a unique index. Readers compare what queries find with the
// rows of the same snapshot; some of them hold old snapshots. One thread registers other lists of indexes, again and
// again. Then the process ends, or the power goes off, while all of them work; what is there is compared with what each
// writer was told, and the next life begins with it.

import Foundation
import QuireDatabase
@testable import QuireIndexes
import struct QuireStorage.Latch
import QuireTesting
import Synchronization

/// How a life goes, drawn from its seed. Which thread meets what is up to the threads.
struct ThreadedIndexPlan: CustomStringConvertible {
  /// What goes wrong.
  enum Fault: CaseIterable {
    case none, runWrite, runRead, runFull, logWrite, logSync, dataWrite, dataSync, full
  }

  /// The seed of the history.
  let history: UInt64
  let seed: UInt64
  let writerCount: Int
  let readerCount: Int
  let milliseconds: Int
  let fault: Fault
  let skipCount: Int
  let pauseOneIn: Int
  let isPowerCut: Bool
  let schema: IndexSchema

  init(history: UInt64, life: Int, milliseconds: Int) {
    var random = SeededRandom(seed: history &* 1000 &+ UInt64(life))
    self.history = history
    seed = random.next()
    writerCount = 1 + random.below(3)
    readerCount = 1 + random.below(2)
    self.milliseconds = milliseconds / 2 + random.below(milliseconds)
    fault = random.oneIn(3) ? .none : random.pick(Fault.allCases)
    skipCount = random.below(random.pick([4, 40]))
    pauseOneIn = random.pick([4, 30])
    isPowerCut = random.oneIn(2)
    schema = .randomWide(&random, version: random.below(3))
  }

  /// Whether the fault may strike a call.
  func isMeant(_ operation: DiskOperation) -> Bool {
    let isOfLog = operation.path.hasPrefix("/db-log")
    return switch fault {
    case .none: false
    case .runWrite, .runFull: operation.kind == .write && isRunFile(operation.path)
    case .runRead: operation.kind == .read && isRunFile(operation.path)
    case .logWrite: operation.kind == .write && isOfLog
    case .logSync: operation.kind == .synchronize && isOfLog
    case .dataWrite: operation.kind == .write && operation.path == "/db"
    case .dataSync: operation.kind == .synchronize && operation.path == "/db"
    case .full: operation.kind == .write
    }
  }

  /// What goes wrong with the call; nil where the disk is full from then on.
  var effect: FaultEffect? {
    switch fault {
    case .logSync, .dataSync:
      .failedSync(
        SyncFailure.allCases[skipCount % SyncFailure.allCases.count], SystemCode.inputOutput,
        survivorsOneIn: skipCount % 2)
    case .runFull: .errorAfter(100, SystemCode.noSpace)
    case .full: nil
    default: .error(SystemCode.inputOutput)
    }
  }

  var description: String {
    """
    \(writerCount) writers, \(readerCount) readers, \(milliseconds) ms, \(fault) after \(skipCount), pauses \
    1/\(pauseOneIn), \(isPowerCut ? "power cut" : "kill")
    """
  }
}

/// The rows of one writer: those that a crash may lead to.
final class WriterRows: Sendable {
  private struct State {
    /// The rows after each of its transactions, the oldest first.
    var states: [TrackModel]
    /// Before this one nothing can be found any more: it was acknowledged.
    var acknowledged = 0
  }

  let number: Int
  private let state: Latch<State>

  init(_ number: Int, _ rows: TrackModel) {
    self.number = number
    state = Latch(State(states: [rows]))
  }

  var prefix: String { "w\(number)-" }
  var newest: TrackModel { state.withLock { $0.states[$0.states.count - 1] } }
  var acknowledged: Int { state.withLock { $0.acknowledged } }

  /// A transaction is about to commit with these rows.
  func begin(_ rows: TrackModel) { state.withLock { $0.states.append(rows) } }

  /// Its commit was acknowledged.
  func acknowledge() { state.withLock { $0.acknowledged = $0.states.count - 1 } }

  /// It was refused: nothing of it is there.
  func refuse() { state.withLock { _ = $0.states.removeLast() } }

  /// Whether rows are those after a transaction that is no older than one that was acknowledged.
  func allow(_ found: [Row<Track, Plays>], from acknowledged: Int) -> Bool {
    let own = found.filter { $0.key.hasPrefix(prefix) }
    return state.withLock { state in state.states[acknowledged...].contains { $0.isWhat(own) } }
  }
}

/// One life of the database.
final class ThreadedIndexLife: Sendable {
  /// What was met.
  struct Counts {
    var commits = 0
    var refusals = 0
    var reads = 0
    /// Reads of snapshots in which indexes were ready.
    var indexedReads = 0
    var pinnedReads = 0
    var lists = 0
    var failures = 0
    var struck = 0

    mutating func add(_ other: Counts) {
      commits += other.commits
      refusals += other.refusals
      reads += other.reads
      indexedReads += other.indexedReads
      pinnedReads += other.pinnedReads
      lists += other.lists
      failures += other.failures
      struck += other.struck
    }
  }

  private let plan: ThreadedIndexPlan
  private let disk: SimulatedDisk
  private let db: Database
  private var hasStruck: Bool { calls.load(ordering: .acquiring) > plan.skipCount }
  private let writers: [WriterRows]
  private let isEnding = Atomic(false)
  /// Set before a power cut that ends the life: from then on the disk fails for everybody.
  private let isOver = Atomic(false)
  private let calls = Atomic(0)
  private let counts = Latch(Counts())
  // Not a `Mutex`, which the thread sanitizer does not see.
  private let complaints = Latch<[String]>([])

  static let options = Database.Options(
    durability: .full, cacheSize: 256 << 10, pageSize: IndexHistory.smallPage, logLimit: 64 << 10)

  init(_ plan: ThreadedIndexPlan, _ disk: SimulatedDisk) throws {
    self.plan = plan
    self.disk = disk
    var options = Self.options
    options.buildStepRowCount = 30
    db = try disk.openDatabase(seed: plan.seed, options, scheduling: .threads, unloggedByteCount: 1000)
    let rows = try db.read { tx in try TrackModel.rows(tx) }
    writers = (0..<3).map { number in
      WriterRows(number, TrackModel.of(rows.filter { $0.key.hasPrefix("w\(number)-") }))
    }
  }

  /// Lives; returns the disk as the end of the process leaves it, and what is wrong. Ends the process if threads wait
  /// for ever.
  func run(_ total: inout Counts) -> (SimulatedDisk, [String]) {
    disk.pause(DiskPauses(seed: plan.seed, oneIn: plan.pauseOneIn, longestMicroseconds: 400))
    strike()
    let group = startThreads()
    Thread.sleep(forTimeInterval: Double(plan.milliseconds) / 1000)
    // What was acknowledged by now is there, whatever the threads do meanwhile.
    let acknowledged = writers.map(\.acknowledged)
    let image = plan.isPowerCut ? disk.crashImage(.random(plan.seed)) : disk.processKillImage()
    image.capacity = nil
    isOver.store(true, ordering: .releasing)
    disk.powerOff()
    isEnding.store(true, ordering: .releasing)
    if group.wait(timeout: .now() + 120) == .timedOut {
      fatalError("the threads do not end (\(plan)); \(ThreadedIndexTests.command(plan.history))")
    }
    disk.removeInterceptors()
    try? db.close()
    do { try check(image, acknowledged) } catch { complain("after reopening: \(error)") }
    if hasStruck { counts.withLock { $0.struck = 1 } }
    total.add(counts.withLock { $0 })
    return (image, complaints.withLock { $0 })
  }

  private func strike() {
    disk.intercept { [self, weak disk] operation in
      guard plan.isMeant(operation), calls.add(1, ordering: .acquiringAndReleasing).oldValue == plan.skipCount else {
        return nil
      }
      if plan.effect == nil { disk?.capacity = disk?.usedByteCount }
      return plan.effect
    }
  }

  private func startThreads() -> DispatchGroup {
    let group = DispatchGroup()
    func start(_ number: Int, _ body: @escaping @Sendable (inout SeededRandom) throws -> Void) {
      group.enter()
      Thread { [self] in
        var random = SeededRandom(seed: plan.seed &* 31 &+ UInt64(number))
        while !isEnding.load(ordering: .acquiring) {
          do { try body(&random) } catch { note(error) }
        }
        group.leave()
      }.start()
    }
    for number in 0..<plan.writerCount { start(number) { [self] in try write(writers[number], &$0) } }
    for number in 0..<plan.readerCount { start(10 + number) { [self] in try read(&$0) } }
    start(20) { [self] in try pin(&$0) }
    start(21) { [self] in try changeList(&$0) }
    start(22) { [self] in try maintain(&$0) }
    return group
  }

  private func complain(_ text: String) { complaints.withLock { $0.append(text) } }

  /// Notes an error that a thread met; complains unless the disk explains it.
  private func note(_ error: any Error) {
    counts.withLock { $0.failures += 1 }
    let codes: [DatabaseError.Code] = [.inputOutput, .diskFull, .failStop, .outcomeUnknown]
    let isOfDisk = (error as? DatabaseError).map { codes.contains($0.code) } ?? false
    if !isOfDisk || !hasStruck && !isOver.load(ordering: .acquiring) { complain("\(error)") }
    // A full disk gets room again.
    if hasStruck { disk.capacity = nil }
    Thread.sleep(forTimeInterval: 0.001)
  }

  // MARK: Writing

  private func write(_ own: WriterRows, _ random: inout SeededRandom) throws {
    var rows = own.newest
    var (dice, hasBegun) = (random.fork(), false)
    do {
      try db.write { tx in
        for _ in 0..<1 + dice.below(6) {
          let key = own.prefix + "\(dice.below(30))"
          if dice.oneIn(5) {
            rows[key] = nil
            try tx[.tracks].remove(key)
          } else {
            var track = dice.wideTrack()
            // Values that several writers are after.
            if dice.oneIn(8) {
              (track.title, track.mood) = ("a", .calm)
              track.added = Date(timeIntervalSinceReferenceDate: Double(dice.below(8)))
            }
            rows[key] = ModelRow(key: key, number: 0, track: track, plays: nil)
            try tx[.tracks].set(track, for: key)
          }
        }
        own.begin(rows)
        hasBegun = true
      }
      own.acknowledge()
      counts.withLock { $0.commits += 1 }
      Thread.sleep(forTimeInterval: Double(random.below(4)) / 1000)
    } catch {
      let isUnknown = (error as? DatabaseError)?.code == .outcomeUnknown
      // Once the power is off nobody tells what the image of the disk has.
      if hasBegun, !isUnknown, !isOver.load(ordering: .acquiring) { own.refuse() }
      guard isNotUnique(error) else { throw error }
      counts.withLock { $0.refusals += 1 }
    }
  }

  // MARK: Reading

  private func read(_ random: inout SeededRandom) throws {
    try db.read { tx in try check(tx, &random) }
    counts.withLock { $0.reads += 1 }
  }

  private func pin(_ random: inout SeededRandom) throws {
    let pin = try db.pin()
    let before = try pin.read { tx in TrackModel.of(try TrackModel.rows(tx)) }
    for _ in 0..<3 {
      Thread.sleep(forTimeInterval: Double(random.below(20)) / 1000)
      try pin.read { tx in
        guard before.isWhat(try TrackModel.rows(tx)) else { throw TrustBroken("a snapshot has other rows than before") }
        try check(tx, &random)
      }
      counts.withLock { $0.pinnedReads += 1 }
      if isEnding.load(ordering: .acquiring) { return }
    }
  }

  /// Queries find what is in the rows of the snapshot; what is unique is; and what is ready agrees with the rows.
  private func check(_ tx: ReadTransaction, _ random: inout SeededRandom) throws {
    let model = TrackModel.of(try TrackModel.rows(tx))
    for _ in 0..<2 { try QueryLife.check(tx[.tracks], model, &random, choices: [.best, .driver(1)]) { _ in } }
    guard let reader = try tx.access(Indexes<Track, Plays>.self, serving: "tracks") else { return }
    counts.withLock { $0.indexedReads += 1 }
    let isUnique = reader.view.list.indexes.contains { $0.uniqueness != nil && reader.isReady(indexNamed: $0.name) }
    if isUnique, model.hasTwins { throw TrustBroken("rows have the same values in a unique index") }
    if random.oneIn(3) { try reader.verify() }
  }

  // MARK: Registering

  private func changeList(_ random: inout SeededRandom) throws {
    var schema = random.oneIn(3) ? plan.schema : .randomWide(&random, version: random.below(3))
    if try db.extensions().contains(where: \.isRegistered) {
      try db.unregister(extensionNamed: schema.indexes.name)
    }
    do { try db.register(schema.indexes) } catch {
      guard isNotUnique(error) else { throw error }
      schema.uniqueness = nil
      try db.register(schema.indexes)
    }
    counts.withLock { $0.lists += 1 }
    Thread.sleep(forTimeInterval: Double(random.below(80)) / 1000)
  }

  private func maintain(_ random: inout SeededRandom) throws {
    Thread.sleep(forTimeInterval: Double(5 + random.below(30)) / 1000)
    if random.oneIn(2) { try db.checkpoint() } else { try db.flush() }
  }

  // MARK: Reopening

  private func check(_ image: SimulatedDisk, _ acknowledged: [Int]) throws {
    let image = image.copy()
    let db = try image.openDatabase(seed: plan.seed, Self.options)
    let found = try db.read { tx in try TrackModel.rows(tx) }
    for (writer, acknowledged) in zip(writers, acknowledged) where !writer.allow(found, from: acknowledged) {
      throw TrustBroken("the rows of writer \(writer.number) are not those that it was told of")
    }
    let model = TrackModel.of(found)
    var schema = plan.schema
    if model.hasTwins { schema.uniqueness = nil }
    try db.register(schema.indexes) { _ in try elsewhere { try db.checkWhatIsReady(schema) } }
    var random = SeededRandom(seed: plan.seed)
    try db.check(schema, model, &random, queries: 2)
    try db.verify()
    try db.close()
    try image.checkForRunFiles()
  }
}

extension TrackModel {
  /// The rows of a transaction, as a model has them.
  static func of(_ rows: [Row<Track, Plays>]) -> TrackModel {
    TrackModel(
      uniqueKeysWithValues: rows.map { row in
        (
          row.key,
          ModelRow(key: row.key, number: Int(row.rowID.rawValue), track: row.object, plays: row.metadata)
        )
      })
  }
}
