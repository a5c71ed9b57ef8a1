// A database of rows, extensions, files, backups and crashes on a simulated disk, beside its model.

import QuireDatabase
import QuireTesting

/// Leads one life, step after step.
///
/// Invariants, between steps:
/// - `states` are what a power cut may lead to, the oldest first; the last one is what the open database shows, and
///   what is left if the process is killed. `unknown` is what a commit leads to that may be there or not;
/// - `registered` are the extensions that the open database knows, each up to date.
final class RowLife {
  static let keyCount = 60

  /// What makes one life another from the beginning.
  let durability: Durability
  let faults: FaultPlan
  /// What goes wrong on purpose.
  let control: RowControl?
  var disk = SimulatedDisk()
  var db: Database?
  var registered: Set<TortureExtension> = []
  /// What is being unregistered, and the states as they were before: it stays if that fails.
  var unregistering: (gone: TortureExtension, states: [RowState])?
  var states = [RowState()]
  var unknown: RowState?
  var isUpgraded = false
  var secrets: RowSecrets
  /// What a backup shows if it is there, and whether it must be.
  var backup: (state: RowState, isDone: Bool)?
  private var openings: UInt64 = 0
  /// How often a call of the disk's had failed when the database was opened.
  private var faultsBeforeOpening = 0
  /// The disk as it was before the last transaction, for those that forget.
  var remembered: SimulatedDisk?
  /// Whether the opening that runs has come so far as to show what there is.
  private var hasShown = false
  /// How many files were made.
  var fileCount = 0
  /// How often what was done.
  private(set) var counts: [String: Int] = [:]
  private(set) var crashCount = 0

  init(seed: UInt64, control: RowControl? = nil) {
    self.control = control
    var random = SeededRandom(seed: seed ^ 0x726f_7773)
    durability = random.oneIn(3) ? .relaxed : .full
    // Half of the lives have calls that fail beside power cuts.
    faults = random.oneIn(2) ? FaultPlan(seed: random.next(), allowing: Self.kinds) : .none
    secrets = RowSecrets(isPlain: control == .secrets)
    // The others begin without extensions, which are then built of rows.
    if !random.oneIn(3) { registered = Set(TortureExtension.allCases) }
  }

  /// Faults after which the engine goes on or says that it cannot. None spoils what was durable.
  private static let kinds = FaultKind.allCases.filter { $0 != .badSector }

  var newest: RowState {
    get { states[states.count - 1] }
    set { states[states.count - 1] = newValue }
  }

  var options: Database.Options {
    var options = Database.Options(
      durability: durability, cacheSize: 2 << 20, pageSize: 4096, logLimit: 256 << 10, maintainsWhenIdle: false)
    options.buildStepRowCount = 7
    return options
  }

  /// Whether a call of the disk's has failed in this opening.
  var hasStruck: Bool { disk.counters.faultCount > faultsBeforeOpening }

  func note(_ what: String) { counts[what, default: 0] += 1 }

  // MARK: Steps

  /// Takes steps, one after the other.
  ///
  /// - Throws: `RowFinding`.
  func run(_ steps: [RowStep]) throws {
    try open(states)
    for step in steps {
      if let cut = step.cutAfter { disk.powerOff(beforeChange: disk.changeCount + cut) }
      var random = SeededRandom(seed: step.seed)
      let faultCount = disk.counters.faultCount
      do {
        if let db { try take(step, db, &random) }
        // Some failures are not told of, such as that a file that nobody needs could not be removed.
        if disk.isPoweredOff { try crash(step, &random, isKilled: random.oneIn(3)) }
      } catch let finding as RowFinding { throw finding } catch {
        try judge(error, since: faultCount, step)
        try goOn(after: error, step, &random)
      }
      disk.powerOff(beforeChange: nil)
    }
    do { try checkAll() } catch let error as DatabaseError {
      // What a checkpoint has met was told of by nobody yet.
      note("failed call: \(error.code)")
      try openAfterStop()
      try checkAll()
    }
    var random = SeededRandom(seed: 1)
    let end = RowStep(action: .powerCut, seed: 1, cutAfter: nil, cutOpeningAfter: nil)
    try crash(end, &random, isKilled: false)
    try checkAll()
    disk.setFaultPlan(.none)
    try db?.close()
    db = nil
  }

  private func take(_ step: RowStep, _ db: Database, _ random: inout SeededRandom) throws {
    note(step.action.rawValue)
    switch step.action {
    case .transact: try transact(db, &random)
    case .fill: try fill(db, &random)
    case .clear: try clear(db, &random)
    case .checkpoint, .flush:
      if step.action == .checkpoint { try db.checkpoint() } else { try db.flush() }
      states = [newest]
    case .begin: if !db.engine.core.beginCheckpointInTransaction() { note("checkpoint not begun") }
    case .reopen, .upgrade:
      if step.action == .upgrade { isUpgraded = true }
      try reopen(db)
    case .register:
      let all = TortureExtension.allCases
      for new in random.oneIn(2) ? all : [random.pick(all)] { try register(new, db) }
    case .unregister: try unregister(random.pick(TortureExtension.allCases), db)
    case .backup: try backUp(db, &random)
    case .compact: try db.compact()
    case .rewrite:
      if isUpgraded { try db.rewriteRows(of: .notes) }
      try db.rewriteRows(of: .rows)
      secrets.changeKey()
      try secrets.rewrite(db)
      // Nothing needs the keys before, also not after a power cut; but a backup of before would.
      secrets.forgetOlder()
      if RowSecrets.isOn { backup = nil }
    case .check: try checkAll()
    case .kill: try crash(step, &random, isKilled: true)
    case .powerCut: try crash(step, &random, isKilled: false)
    }
  }

  // MARK: Failed calls

  /// Sees that an error is one that may be: the power is off, or a call of the disk's has failed.
  private func judge(_ error: any Error, since faultCount: Int, _ step: RowStep) throws {
    if disk.isPoweredOff || error is Refusal { return }
    guard let error = error as? DatabaseError else { throw RowFinding("\(step): \(type(of: error)): \(error)") }
    let hasStruckNow = disk.counters.faultCount > faultCount
    let isExcused =
      switch error.code {
      // It may be told later what a checkpoint has met.
      case .failStop, .outcomeUnknown: hasStruck
      case .inputOutput, .diskFull: hasStruckNow
      default: false
      }
    guard isExcused else { throw RowFinding("\(step): \(error), and the disk has done nothing") }
    note("failed call: \(error.code)")
  }

  /// Goes on after a call that failed: with the open database, if it can still write; else with another opening.
  private func goOn(after error: any Error, _ step: RowStep, _ random: inout SeededRandom) throws {
    // What ends at this change of the disk may be the process alone.
    if disk.isPoweredOff { return try crash(step, &random, isKilled: random.oneIn(3)) }
    let code = (error as? DatabaseError)?.code
    if random.oneIn(6) { return try crash(step, &random, isKilled: random.oneIn(2)) }
    guard let db, code != .failStop, code != .outcomeUnknown else { return try openAfterStop() }
    do { try settleFailure(db) } catch let error as DatabaseError {
      // What it has stopped for is told by whatever comes next.
      guard error.code == .failStop, hasStruck else { throw RowFinding("after \(step) failed: \(error)") }
      try openAfterStop()
    }
  }

  /// Closes a database that cannot write any more, and opens it again.
  private func openAfterStop() throws {
    note("opened after a stop")
    disk.setFaultPlan(.none)
    disk.powerOff(beforeChange: nil)
    try? db?.close()
    db = nil
    try openInPeace("after writing stopped", states + [unknown].compactMap { $0 })
  }

  private func reopen(_ db: Database) throws {
    let faultCount = disk.counters.faultCount
    self.db = nil
    do {
      try db.close()
      states = [newest]
    } catch {
      // What could not be written home stands in the log.
      try judge(error, since: faultCount, RowStep(action: .reopen, seed: 0, cutAfter: nil, cutOpeningAfter: nil))
      if disk.isPoweredOff { throw error }
    }
    disk.setFaultPlan(.none)
    do { try open(states) } catch let finding as RowFinding { throw finding } catch {
      guard disk.isPoweredOff else { throw RowFinding("opening after a close: \(error)") }
      throw error
    }
  }

  // MARK: Opening and crashing

  /// Opens what must show one of `candidates`. Nothing fails meanwhile, but that the power may go off.
  private func open(_ candidates: [RowState]) throws {
    openings += 1
    faultsBeforeOpening = disk.counters.faultCount
    let before = registered
    (registered, unregistering) = ([], nil)
    disk.setFaultPlan(.none)
    let new = try disk.openDatabase(seed: openings, options)
    db = new
    let found = try new.read { tx in try RowState(tx, isUpgraded: isUpgraded, secrets) }
    guard var state = candidates.last(where: { found.difference(from: $0) == nil }) else {
      let difference = found.difference(from: newest) ?? "nothing"
      throw RowFinding("after opening it is none of the \(candidates.count) states that may be: \(difference)")
    }
    // What is shown is on the disk, or else is made so.
    if durability == .relaxed { try new.flush() }
    try forgetUnstored(&state, new)
    // If the opening is cut off from here on, the next one shows the same.
    (states, unknown, hasShown) = ([state], nil, true)
    try new.verify()
    try checkFiles()
    // As a rule what was registered is looked at as it was left; else it may become stale.
    if openings % 4 != 0 { for known in inOrder(before) { try register(known, new) } }
    try checkDeletedFiles(new)
    var plan = faults
    plan.seed = faults.seed &+ openings
    if !faults.isCalm { disk.setFaultPlan(plan) }
  }

  private func openInPeace(_ moment: String, _ candidates: [RowState]) throws {
    do { try open(try openUnderFaults(candidates)) } catch let finding as RowFinding {
      throw RowFinding("\(moment): \(finding)")
    } catch {
      throw RowFinding("opening \(moment): \(error)")
    }
  }

  /// Opens while calls fail, every third time, and closes again. Returns what the next opening may show: the same, if
  /// this one has come so far as to show something.
  private func openUnderFaults(_ candidates: [RowState]) throws -> [RowState] {
    if faults.isCalm || openings % 3 != 0 { return candidates }
    var plan = faults
    plan.seed = ~faults.seed &+ openings
    let faultCount = disk.counters.faultCount
    disk.setFaultPlan(plan)
    defer { disk.setFaultPlan(.none) }
    var shown: RowState?
    do {
      let new = try disk.openDatabase(seed: ~openings, options)
      note("opened while calls may fail")
      defer { try? new.close() }
      let found = try new.read { tx in try RowState(tx, isUpgraded: isUpgraded, secrets) }
      shown = candidates.last { found.difference(from: $0) == nil }
      if shown == nil {
        throw RowFinding("opened while calls may fail, it shows: \(found.difference(from: newest) ?? "")")
      }
    } catch let finding as RowFinding { throw finding } catch {
      guard disk.counters.faultCount > faultCount else { throw RowFinding("opening while calls may fail: \(error)") }
      note("opening failed")
    }
    if let shown, durability == .full { return [shown] }
    return disk.counters.faultCount > faultCount ? states + [unknown].compactMap { $0 } : candidates
  }

  /// A set has another order in each process.
  func inOrder(_ extensions: Set<TortureExtension>) -> [TortureExtension] {
    extensions.sorted { $0.rawValue < $1.rawValue }
  }

  /// Goes on with what the disk has after a crash; opening may be cut off, too.
  private func crash(_ step: RowStep, _ random: inout SeededRandom, isKilled: Bool) throws {
    note(isKilled ? "crash by kill" : "crash by power cut")
    let previous = remembered
    // A failed sync may have thrown away what a kill leaves, and a power cut what was flushed.
    let keepsNewest = isKilled && !hasStruck
    let candidates = (keepsNewest ? [newest] : states) + [unknown].compactMap { $0 }
    if control != .forgets { remembered = nil }
    try fall(random.next(), isKilled: isKilled && control != .kills)
    if let cut = step.cutOpeningAfter {
      disk.powerOff(beforeChange: disk.changeCount + cut)
      let known = registered
      hasShown = false
      do {
        try open(candidates)
        disk.powerOff(beforeChange: nil)
        // That the power went off at the end may have been told to nobody.
        if !disk.isPoweredOff { return }
      } catch let finding as RowFinding { throw finding } catch {
        guard disk.isPoweredOff else { throw RowFinding("opening after a crash: \(error)") }
      }
      note("opening cut off")
      if hasShown { note("opening cut off when it had shown what there is") }
      if control == .openings, hasShown { remembered = previous }
      try fall(random.next(), isKilled: false)
      registered = known
      return try openInPeace("after a second crash", states + [unknown].compactMap { $0 })
    }
    try openInPeace("after a crash", candidates)
  }

  /// Ends the process, and takes what the disk has then.
  private func fall(_ seed: UInt64, isKilled: Bool) throws {
    crashCount += 1
    let image = isKilled ? disk.processKillImage() : disk.crashImage(.random(seed))
    disk.setFaultPlan(.none)
    try? db?.close()
    db = nil
    if let remembered { disk = remembered } else { disk = image }
    remembered = nil
    if control == .lostFiles, let file = newest.files.min() { disk.remove(file) }
    try checkBackup(disk)
  }
}
