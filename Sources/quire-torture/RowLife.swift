// A database of rows, extensions, backups and crashes on a simulated disk, beside its model.

import QuireDatabase
import QuireTesting

/// Leads one life, step after step.
///
/// Invariants, between steps:
/// - `states` are what a crash may lead to, the oldest first; the last one is what the open database shows;
/// - `registered` are the extensions that the open database knows, each up to date.
final class RowLife {
  static let keyCount = 60

  private struct Undo: Error {}

  /// What makes one life another from the beginning.
  private let durability: Durability
  private let faults: FaultPlan
  /// Whether the disk forgets at a crash what it has confirmed: what no database survives, and every life must notice.
  private let isForgetful: Bool
  /// The disk as it was before the last transaction, if it is to forget that.
  private var remembered: SimulatedDisk?
  private var disk = SimulatedDisk()
  private var db: Database?
  private var registered: Set<TortureExtension> = []
  private var states = [RowState()]
  private var isUpgraded = false
  private var openings: UInt64 = 0
  private(set) var crashCount = 0
  /// How often what was done.
  private(set) var counts: [String: Int] = [:]

  init(seed: UInt64, isForgetful: Bool = false) {
    self.isForgetful = isForgetful
    var random = SeededRandom(seed: seed ^ 0x726f_7773)
    durability = random.oneIn(3) ? .relaxed : .full
    // Half of the lives have calls that fail beside power cuts.
    faults = random.oneIn(2) ? FaultPlan(seed: random.next(), allowing: Self.kinds) : .none
  }

  /// Faults after which the engine goes on or says that it cannot.
  private static let kinds = FaultPlan.harmlessKinds + [.readError, .writeError, .diskFull, .resizeError]

  private var newest: RowState { states[states.count - 1] }

  private var options: Database.Options {
    var options = Database.Options(
      durability: durability, cacheSize: 2 << 20, pageSize: 4096, logLimit: 256 << 10, maintainsWhenIdle: false)
    options.buildStepRowCount = 7
    return options
  }

  // MARK: Steps

  /// Takes steps, one after the other.
  ///
  /// - Throws: `RowFinding`.
  func run(_ steps: [RowStep]) throws {
    try open()
    for step in steps {
      if let cut = step.cutAfter { disk.powerOff(beforeChange: disk.changeCount + cut) }
      var random = SeededRandom(seed: step.seed)
      do {
        if let db { try take(step, db, &random) }
        // Some failures are not told of, such as that a file that nobody needs could not be removed.
        if disk.isPoweredOff { try crash(step, &random, isKilled: false) }
      } catch let finding as RowFinding { throw finding } catch {
        try judge(error, step)
        try crash(step, &random, isKilled: false)
      }
      disk.powerOff(beforeChange: nil)
    }
    try checkAll()
    try crash(RowStep(action: .powerCut, seed: 1, cutAfter: nil, cutOpeningAfter: nil), isKilled: false)
    try checkAll()
    try close()
  }

  private func take(_ step: RowStep, _ db: Database, _ random: inout SeededRandom) throws {
    counts[step.action.rawValue, default: 0] += 1
    switch step.action {
    case .transact:
      if isForgetful { remembered = disk.processKillImage() }
      try transact(db, &random)
    case .fill: try fill(db, &random)
    case .clear: try clear(db, &random)
    case .checkpoint, .flush:
      if step.action == .checkpoint { try db.checkpoint() } else { try db.flush() }
      states = [newest]
    case .reopen, .upgrade:
      try db.close()
      self.db = nil
      states = [newest]
      if step.action == .upgrade { isUpgraded = true }
      try open()
    case .register: try register(random.pick(TortureExtension.allCases), db)
    case .unregister:
      let gone = random.pick(TortureExtension.allCases)
      if registered.remove(gone) != nil { try db.unregister(extensionNamed: gone.name) }
    case .backup: try backUp(db)
    case .compact: try db.compact()
    case .rewrite:
      if isUpgraded { try db.rewriteRows(of: .notes) }
      try db.rewriteRows(of: .rows)
    case .check: try checkAll()
    case .kill: try crash(step, &random, isKilled: true)
    case .powerCut: try crash(step, &random, isKilled: false)
    }
  }

  /// Sees that an error is one that may be: the power is off, or a call of the disk's was made to fail.
  private func judge(_ error: any Error, _ step: RowStep) throws {
    guard let error = error as? DatabaseError else { throw RowFinding("\(step): \(type(of: error)): \(error)") }
    let excuses: [DatabaseError.Code] = [
      .inputOutput, .diskFull, .failStop, .outcomeUnknown, .extensionFailed, .transactionFailed, .extensionNotReady,
    ]
    if disk.isPoweredOff { return }
    guard !faults.isCalm, excuses.contains(error.code) else { throw RowFinding("\(step): \(error)") }
    counts["failed call", default: 0] += 1
  }

  // MARK: Opening and crashing

  private func open() throws {
    openings += 1
    let before = registered
    registered = []
    disk.setFaultPlan(.none)
    let new = try disk.openDatabase(seed: openings, options)
    db = new
    let found = try new.read { tx in try RowState(tx, isUpgraded: isUpgraded) }
    guard let state = states.last(where: { $0 == found }) else {
      let difference = found.difference(from: newest)
      throw RowFinding("after opening it is none of the \(states.count) states that may be: \(difference)")
    }
    if durability == .relaxed { try new.flush() }
    states = [state]
    try new.verify()
    // Half of the time what was registered is looked at as it was left; else it may become stale.
    if openings % 2 == 0 {
      for known in inOrder(before) {
        try known.register(in: new)
        registered.insert(known)
        try known.check(new, state.rows)
      }
    }
    if !faults.isCalm { disk.setFaultPlan(faults) }
  }

  /// A set has another order in each process.
  private func inOrder(_ extensions: Set<TortureExtension>) -> [TortureExtension] {
    extensions.sorted { $0.rawValue < $1.rawValue }
  }

  private func close() throws {
    disk.setFaultPlan(.none)
    try db?.close()
    db = nil
  }

  private func crash(_ step: RowStep, isKilled: Bool) throws {
    var random = SeededRandom(seed: step.seed)
    try crash(step, &random, isKilled: isKilled)
  }

  /// Goes on with what the disk has after a crash; opening may be cut off, too.
  private func crash(_ step: RowStep, _ random: inout SeededRandom, isKilled: Bool) throws {
    crashCount += 1
    var image = isKilled ? disk.processKillImage() : disk.crashImage(.random(random.next()))
    disk.setFaultPlan(.none)
    try? db?.close()
    db = nil
    disk = remembered ?? image
    remembered = nil
    if let cut = step.cutOpeningAfter {
      disk.powerOff(beforeChange: disk.changeCount + cut)
      let (states, registered) = (states, registered)
      do {
        try open()
        disk.powerOff(beforeChange: nil)
        return
      } catch let finding as RowFinding { throw finding } catch {
        guard disk.isPoweredOff else { throw RowFinding("opening after a crash: \(error)") }
        crashCount += 1
        counts["opening cut off", default: 0] += 1
        image = disk.crashImage(.random(random.next()))
        try? db?.close()
        (disk, self.states, self.registered) = (image, states, registered)
      }
    }
    do { try open() } catch let finding as RowFinding { throw finding } catch {
      throw RowFinding("opening after a crash: \(error)")
    }
  }

  // MARK: Changing

  private func transact(_ db: Database, _ random: inout SeededRandom) throws {
    var changed = newest
    try commit(db, &changed) { [self] tx, changed in
      try change(tx, &changed, &random)
      for _ in 0..<random.below(3) {
        let before = changed
        do {
          try tx.savepoint {
            try change(tx, &changed, &random)
            if random.oneIn(2) { throw Undo() }
          }
        } catch is Undo { changed = before }
      }
      if random.oneIn(8) { throw Undo() }
    }
  }

  /// Has `body` change rows and model, and notes what may be there then.
  private func commit(
    _ db: Database, _ changed: inout RowState, _ body: (WriteTransaction, inout RowState) throws -> Void
  ) throws {
    do { try db.write { tx in try body(tx, &changed) } } catch is Undo { return } catch {
      // Anything else says that nothing of it is there.
      if (error as? DatabaseError)?.code == .outcomeUnknown { states.append(changed) }
      throw error
    }
    states = durability == .full ? [changed] : states + [changed]
  }

  private func change(_ tx: WriteTransaction, _ state: inout RowState, _ random: inout SeededRandom) throws {
    for _ in 0..<1 + random.below(9) {
      let key = "k\(random.below(Self.keyCount))"
      switch random.below(20) {
      case 0...9:
        let row = RowState.Row(row: .random(&random), metadata: random.oneIn(2) ? random.below(1000) : nil)
        try tx[.rows].set(row.row, metadata: row.metadata, for: key)
        state.rows[key] = row
      case 10...12:
        try tx[.rows].remove(key)
        state.rows[key] = nil
      case 13:
        let metadata = random.oneIn(3) ? nil : random.below(1000)
        try tx[.rows].replaceMetadata(metadata, for: key)
        state.rows[key]?.metadata = metadata
      case 14...16:
        let row = TortureRow.random(&random)
        try tx[.documents].set(row, for: key)
        state.documents[key] = row
      case 17:
        try tx[.documents].remove(key)
        state.documents[key] = nil
      default:
        let text = "note \(random.below(100))"
        if isUpgraded {
          try tx[.notes].set(Note(text), for: key)
        } else {
          try tx[.oldNotes].set(OldNote(text: text), for: key)
        }
        state.notes[key] = text
      }
    }
  }

  /// So many rows that a dictionary may be trained from them, in one transaction.
  private func fill(_ db: Database, _ random: inout SeededRandom) throws {
    var changed = newest
    try commit(db, &changed) { tx, changed in
      for number in 0..<400 {
        var row = TortureRow.random(&random)
        row.title += String(repeating: "what most of them have in common, ", count: 8)
        let key = "f\(random.below(1500))-\(number % 3)"
        try tx[.rows].set(row, for: key)
        changed.rows[key] = RowState.Row(row: row, metadata: nil)
      }
    }
  }

  private func clear(_ db: Database, _ random: inout SeededRandom) throws {
    var changed = newest
    let isAll = random.oneIn(4)
    try commit(db, &changed) { tx, changed in
      if isAll {
        try tx.removeAll()
        changed = RowState()
      } else {
        try tx[.rows].removeAll()
        changed.rows = [:]
      }
    }
  }

  // MARK: Extensions, backups, checks

  private func register(_ new: TortureExtension, _ db: Database) throws {
    if registered.contains(new) { return }
    try new.register(in: db)
    registered.insert(new)
    try new.check(db, newest.rows)
  }

  private func backUp(_ db: Database) throws {
    // Of a backup that was stopped nothing is under its name.
    disk.remove("/backup")
    _ = try db.backup(to: "/backup")
    let copy = disk.copy()
    copy.setFaultPlan(.none)
    copy.powerOff(beforeChange: nil)
    let backup = try copy.openDatabase(at: "/backup", seed: 1, options)
    let found = try backup.read { tx in try RowState(tx, isUpgraded: isUpgraded) }
    if found != newest { throw RowFinding("the backup is another state: \(found.difference(from: newest))") }
    try backup.verify()
    try backup.close()
  }

  private func checkAll() throws {
    guard let db else { return }
    // Reading changes nothing: it is looked at in peace.
    disk.powerOff(beforeChange: nil)
    disk.setFaultPlan(.none)
    let found = try db.read { tx in try RowState(tx, isUpgraded: isUpgraded) }
    if found != newest { throw RowFinding("the open database shows another state: \(found.difference(from: newest))") }
    do { try db.verify() } catch { throw RowFinding("verify: \(error)") }
    for known in inOrder(registered) {
      do { try known.check(db, newest.rows) } catch let finding as RowFinding { throw finding } catch {
        throw RowFinding("\(known.name): \(error)")
      }
    }
    if !faults.isCalm { disk.setFaultPlan(faults) }
  }
}
