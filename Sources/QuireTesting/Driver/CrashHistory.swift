// A database on a simulated disk beside its model, from operation to operation.

internal import QuireDatabase
internal import QuireStorage

/// Leads one history.
///
/// Invariants, between operations:
/// - `states` are what a power cut may lead to, the oldest first; the last one is what the open database shows, and
///   what is left if the process dies. `unknown` is what a commit leads to that may be there or not;
/// - `registered` are the versions of the extensions that the open database knows, each up to date.
final class CrashHistory {
  static let path = "/app.quire"
  /// The end of a transaction or a savepoint that is to be undone.
  struct Undo: Error {}
  /// The end of a registration that is to be stopped.
  struct Stop: Error {}
  /// An error that came when the power was off.
  private struct PowerIsOff: Error {}

  let test: CrashTest
  var report = CrashTestReport()
  private(set) var disk = SimulatedDisk()
  /// The disk as it was before the last transaction, for tests that forget.
  var remembered: SimulatedDisk?
  private(set) var db: Database?
  var states: [ExpectedRows]
  var unknown: ExpectedRows?
  var registered: [Int: Int] = [:]
  /// What is registered after an opening, unless the operation says that nothing is.
  var wanted: [Int: Int] = [:]
  /// The registration that runs, or that has failed.
  var attempted: (place: Int, version: Int)?
  /// A snapshot that is held, with its rows and extensions.
  private var held: (snapshot: QuireDatabase.PinnedSnapshot, rows: ExpectedRows, registered: [Int: Int])?
  /// What is still to be done.
  private(set) var rest: ArraySlice<HistoryOperation> = []
  let durability: Durability
  private let usesObjectCache: Bool
  private var openings: UInt64 = 0
  /// How often a call of the disk's had failed when the database was opened.
  private var faultsBeforeOpening = 0
  /// Whether the opening that runs has come so far as to show what there is.
  private var hasShown = false

  init(_ test: CrashTest, seed: UInt64) {
    self.test = test
    var random = SeededRandom(seed: seed ^ 0x6d61_6e6e_6572)
    durability = random.oneIn(4) ? .relaxed : .full
    usesObjectCache = random.oneIn(3)
    states = [ExpectedRows(collections: test.collections.map(\.name))]
    // The others begin without extensions, which are then built of rows.
    if random.oneIn(2) { for place in test.extensions.indices { wanted[place] = 0 } }
  }

  var newest: ExpectedRows { states[states.count - 1] }

  private var options: Database.Options {
    var options = Database.Options(
      durability: durability, cacheSize: 2 << 20, pageSize: 4096, logLimit: 256 << 10, maintainsWhenIdle: false,
      objectCache: usesObjectCache ? ObjectCacheOptions() : nil)
    if test.renamesCollections {
      for collection in test.collections { options.renamedCollections[collection.olderName] = collection.name }
    }
    options.buildStepRowCount = 3
    return options
  }

  /// Whether a call of the disk's has failed in this opening.
  private var hasStruck: Bool { disk.counters.faultCount > faultsBeforeOpening }

  // MARK: Operations

  /// Does operations, one after the other.
  ///
  /// - Throws: `CrashFinding`.
  func run(_ operations: [HistoryOperation]) throws {
    rest = operations[...]
    try openInPeace("at the beginning", states)
    var cut: HistoryOperation.PowerCut?
    while let operation = rest.first {
      if operation.isPreparation {
        rest.removeFirst()
        cut = prepare(operation) ?? cut
        continue
      }
      try step(operation, cut)
      cut = nil
      disk.powerOff(beforeChange: nil)
      disk.removeFaults()
    }
    do {
      held = nil
      try db?.close()
    } catch { throw CrashFinding("closing at the end: \(error)") }
    db = nil
    report.historyCount = 1
  }

  /// Has the next operation meet what it shall; returns when the power goes off.
  private func prepare(_ operation: HistoryOperation) -> HistoryOperation.PowerCut? {
    switch operation.action {
    case .cutPower(let cut): return cut
    case .refuse(let call, let count, let refusal): disk.refuse(call, after: count, with: refusal)
    default: break
    }
    return nil
  }

  private func step(_ operation: HistoryOperation, _ cut: HistoryOperation.PowerCut?) throws {
    if case .crash(let seed, let isKilled, let isBare) = operation.action {
      rest.removeFirst()
      return try crash(seed, isKilled: isKilled, isBare: isBare, openingCut: cut)
    }
    if let cut { disk.powerOff(beforeChange: disk.changeCount + cut.change) }
    let faultCount = disk.counters.faultCount
    do {
      if let transaction = takeTransaction() { try transact(transaction) } else { try take(rest.removeFirst()) }
      try compare()
      // Some failures are not told of, such as that a file that nobody needs could not be removed.
      if disk.isPoweredOff { try crash(cut) }
    } catch let finding as CrashFinding { throw finding } catch {
      try judge(error, since: faultCount, HistoryOperation.describe([operation], test).joined(separator: " "))
      try goOn(after: error, cut)
    }
  }

  /// The changes of the transaction that is next, taken off the rest; nil if something else is next.
  func takeTransaction() -> [HistoryOperation]? {
    guard let first = rest.first?.scope else { return nil }
    let transaction = rest.prefix { $0.scope?.transaction == first.transaction }
    rest.removeFirst(transaction.count)
    return Array(transaction)
  }

  private func take(_ operation: HistoryOperation) throws {
    guard let db else { return }
    switch operation.action {
    case .rename(let place, let keys, let seed):
      try rename(place, keys, seed)
      try reopen(isBare: false)
    case .register(let place, let version, let interleaving, let stopAfter):
      try register(place, version, interleaving: interleaving, stopAfter: stopAfter)
    case .unregister(let place): try unregister(place)
    case .reopen(let isBare): try reopen(isBare: isBare)
    case .upgrade(let place, let version):
      wanted[place] = version
      try reopen(isBare: false)
    case .checkpoint, .flush:
      if case .flush = operation.action { try db.flush() } else { try db.checkpoint() }
      states = [newest]
    case .beginCheckpoint: db.engine.core.beginCheckpointInTransaction()
    case .stepCheckpoint(let count): for _ in 0..<count where !db.engine.core.stepCheckpoint() { break }
    case .holdSnapshot:
      held = nil
      held = (try db.pin(), newest, registered)
    default: preconditionFailure("an operation that belongs into a transaction")
    }
  }

  // MARK: Looking

  /// Sees that the open database shows what it must, now and in the snapshot that is held. In peace: reading changes
  /// nothing.
  func compare() throws {
    guard let db, !disk.isPoweredOff else { return }
    disk.faultsAreEnabled = false
    defer { disk.faultsAreEnabled = true }
    report.comparisonCount += 1
    try looking("") { try db.read { tx in try compare(tx, newest, registered) } }
    guard let held else { return }
    try looking("in a snapshot that is held, ") {
      try held.snapshot.read { tx in try compare(tx, held.rows, held.registered) }
    }
  }

  private func compare(_ tx: QuireDatabase.ReadTransaction, _ rows: ExpectedRows, _ extensions: [Int: Int]) throws {
    for collection in test.collections {
      if let difference = try collection.difference(tx, rows) { throw CrashFinding(difference) }
    }
    for (place, version) in extensions.sorted(by: { $0.key < $1.key }) {
      do { try test.extensions[place].check(tx, version, rows) } catch {
        if (error as? DatabaseError)?.code == .failStop { throw error }
        throw CrashFinding("the extension “\(test.extensions[place].name)”: \(error)")
      }
    }
  }

  private func looking(_ moment: String, _ body: () throws -> Void) throws {
    do { try body() } catch {
      if disk.isPoweredOff { throw PowerIsOff() }
      // After a failed sync what was not durable may be unreadable until it is opened again.
      if (error as? DatabaseError)?.code == .failStop, hasStruck { throw error }
      throw CrashFinding("\(moment)\(error)")
    }
  }

  // MARK: Failed calls

  /// Sees that an error is one that may be: the power is off, or a call of the disk's has failed.
  private func judge(_ error: any Error, since faultCount: Int, _ moment: String) throws {
    if disk.isPoweredOff { return }
    let hasStruckNow = disk.counters.faultCount > faultCount
    let isExcused =
      switch (error as? DatabaseError)?.code {
      // It may be told later what a checkpoint has met.
      case .failStop?, .outcomeUnknown?: hasStruck
      case .inputOutput?, .diskFull?, .extensionFailed?: hasStruckNow
      default: false
      }
    guard isExcused else { throw CrashFinding("\(moment): \(error)") }
    report.failedCallCount += 1
  }

  /// Goes on after a call that failed: with the open database, if it can still write; else with another opening.
  private func goOn(after error: any Error, _ cut: HistoryOperation.PowerCut?) throws {
    if disk.isPoweredOff { return try crash(cut) }
    let code = (error as? DatabaseError)?.code
    guard let db, code != .failStop, code != .outcomeUnknown else { return try openAfterStop() }
    disk.powerOff(beforeChange: nil)
    disk.removeFaults()
    do {
      try settleExtensions(db)
      try compare()
    } catch let error as DatabaseError {
      // What it has stopped for is told by whatever comes next.
      guard error.code == .failStop, hasStruck else { throw CrashFinding("after a call that failed: \(error)") }
      try openAfterStop()
    }
  }

  /// Closes a database that cannot write any more, and opens it again.
  private func openAfterStop() throws {
    disk.removeFaults()
    disk.powerOff(beforeChange: nil)
    held = nil
    try? db?.close()
    db = nil
    try openInPeace("after writing stopped", states + [unknown].compactMap { $0 })
  }

  // MARK: Opening and crashing

  private func reopen(isBare: Bool) throws {
    let faultCount = disk.counters.faultCount
    held = nil
    let closing = db
    db = nil
    do {
      try closing?.close()
      states = [newest]
    } catch {
      // What could not be written home stands in the log.
      try judge(error, since: faultCount, "closing")
      if disk.isPoweredOff { throw error }
    }
    disk.removeFaults()
    do { try open(states, isBare: isBare) } catch let finding as CrashFinding { throw finding } catch {
      guard disk.isPoweredOff else { throw CrashFinding("opening after a close: \(error)") }
      throw error
    }
  }

  /// Opens what must show one of `candidates`. Nothing fails meanwhile, but that the power may go off.
  private func open(_ candidates: [ExpectedRows], isBare: Bool) throws {
    openings += 1
    faultsBeforeOpening = disk.counters.faultCount
    (registered, attempted) = ([:], nil)
    let new = try disk.openDatabase(at: Self.path, seed: openings, options)
    db = new
    let shown = try candidates.last { rows in
      try new.read { tx in try test.collections.allSatisfy { try $0.difference(tx, rows) == nil } }
    }
    guard let shown else {
      try looking("") { try new.read { tx in try compare(tx, newest, [:]) } }
      throw CrashFinding("what must not be there")
    }
    // What is shown is on the disk, or else is made so.
    if durability == .relaxed { try new.flush() }
    // If the opening is cut off from here on, the next one shows the same.
    (states, unknown, hasShown) = ([shown], nil, true)
    try new.verify()
    if !isBare { for (place, version) in wanted.sorted(by: { $0.key < $1.key }) { try register(place, version) } }
    try compare()
  }

  private func openInPeace(_ moment: String, _ candidates: [ExpectedRows], isBare: Bool = false) throws {
    do { try open(candidates, isBare: isBare) } catch { throw CrashFinding("opened \(moment): \(error)") }
  }

  /// Goes on after the power went off in the middle of something.
  private func crash(_ cut: HistoryOperation.PowerCut?) throws {
    try crash(cut?.seed ?? 1, isKilled: cut?.isKill ?? false, isBare: false, openingCut: nil)
  }

  /// Goes on with what the disk has after a crash; opening may be cut off, too.
  private func crash(
    _ seed: UInt64, isKilled: Bool, isBare: Bool, openingCut cut: HistoryOperation.PowerCut?
  ) throws {
    // A failed sync may have thrown away what a dead process leaves, and a power cut what was flushed.
    let keepsNewest = isKilled && !hasStruck
    let candidates = (keepsNewest ? [newest] : states) + [unknown].compactMap { $0 }
    fall(seed, isKilled: isKilled)
    guard let cut else { return try openInPeace("after a crash", candidates, isBare: isBare) }
    disk.powerOff(beforeChange: disk.changeCount + cut.change)
    hasShown = false
    do {
      try open(candidates, isBare: isBare)
      disk.powerOff(beforeChange: nil)
      // That the power went off at the end may have been told to nobody.
      if !disk.isPoweredOff { return }
    } catch {
      guard disk.isPoweredOff else { throw CrashFinding("opened after a crash: \(error)") }
      if error is CrashFinding, !hasShown { throw error }
    }
    fall(cut.seed, isKilled: false)
    try openInPeace("after a second crash", states + [unknown].compactMap { $0 }, isBare: isBare)
  }

  /// Ends the process, and takes what the disk has then.
  private func fall(_ seed: UInt64, isKilled: Bool) {
    report.crashCount += 1
    let image = isKilled ? disk.processKillImage() : disk.crashImage(seed: seed)
    disk.removeFaults()
    held = nil
    try? db?.close()
    db = nil
    disk = remembered ?? image
    remembered = nil
  }
}
