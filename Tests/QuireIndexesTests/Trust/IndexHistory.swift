// A collection with indexes that come and go, on a disk that loses power: one random life beside its model.

import Foundation
import QuireDatabase
@testable import QuireIndexes
import QuireTesting

/// A life; the same one for the same seed.
final class IndexHistory {
  private struct Undo: Error {}

  /// The size of pages with which few entries are more than the least memory for sorting.
  static let smallPage = 1024

  private var random: SeededRandom
  private let durability: Durability
  /// Whether rows and keys are long, and indexes are sorted on disk.
  private let spills: Bool
  private var watch: RunFileWatch?
  private var disk = SimulatedDisk()
  private var db: Database?
  private var schema = IndexSchema()
  private var isRegistered = false
  /// Whether the indexes are just being registered, and built.
  private var isRegistering = false
  private var lastVersion = 0
  /// The rows that a crash may lead to, the oldest first; the last ones are the newest.
  private var states: [TrackModel] = [[:]]
  /// The number of the next row.
  private var number = 0
  private(set) var crashCount = 0
  /// Counts of what has happened, to see that all of it does.
  private(set) var counts: [String: Int] = [:]
  /// The last steps, for a failure to tell.
  private(set) var steps: [String] = []

  init(seed: UInt64, isFull: Bool, spills: Bool = false) {
    random = SeededRandom(seed: seed)
    durability = isFull ? .full : .relaxed
    self.spills = spills
  }

  private var newest: TrackModel { states[states.count - 1] }

  private var options: Database.Options {
    var options = Database.Options(
      durability: durability, cacheSize: 4 << 20, pageSize: spills ? Self.smallPage : 4096, logLimit: 256 << 10,
      maintainsWhenIdle: false)
    options.buildStepRowCount = 9
    return options
  }

  private func note(_ what: String) {
    counts[what, default: 0] += 1
    steps.append(what)
    if steps.count > 30 { steps.removeFirst() }
  }

  // MARK: Life

  /// Lives until there were so many crashes.
  func run(crashes limit: Int) throws {
    while crashCount < limit {
      if spills { watch = plannedWatch() } else { disk.powerOff(beforeChange: planned()) }
      do { try live() } catch {
        guard isOutage(error) else { throw error }
        note(isRegistering ? "cut off while building" : "cut off")
        isRegistering = false
      }
      noteRuns()
      try crash()
    }
  }

  /// The change of the disk before which the power goes off, while a life lasts; nil if it goes off at its end.
  private func planned() -> Int? {
    switch random.below(5) {
    case 0: disk.changeCount + random.below(14)
    case 1...3: disk.changeCount + random.below(90)
    default: nil
    }
  }

  /// The same, or while an index is being sorted on disk.
  private func plannedWatch() -> RunFileWatch {
    if random.oneIn(4) { return RunFileWatch(disk, cutBefore: planned()) }
    return RunFileWatch(disk, afterRunFile: random.below(random.pick([4, 12, 60])))
  }

  private func noteRuns() {
    guard let watch else { return }
    if watch.count > 0 { counts["sorted on disk", default: 0] += watch.count }
    if watch.cutsRuns { note("cut off with runs on disk") }
    disk.removeInterceptors()
  }

  /// Whether an error is no more than that the power is off.
  private func isOutage(_ error: any Error) -> Bool {
    guard disk.isPoweredOff, let error = error as? DatabaseError else { return false }
    return !(error.cause is IndexError) && !(error.cause is TrustBroken)
  }

  private func live() throws {
    try open()
    for _ in 0..<1 + random.below(9) {
      guard let db else { return }
      switch random.below(spills ? 20 : 14) {
      case 0: try reopen()
      case 14...: try unregister(db)
      case 1: try unregister(db)
      case 2: try checkpoint(db)
      case 3: if isRegistered { try db.check(schema, newest, &random, queries: 2) }
      default: try transact(db)
      }
    }
  }

  private func open() throws {
    note("open")
    isRegistered = false
    // Large loads, as of the entries of an index, commit by a checkpoint; here small ones do, too.
    let unlogged = random.pick([0, 1000, 4 << 20])
    let new = try disk.openDatabase(seed: random.next(), options, unloggedByteCount: unlogged)
    db = new
    try disk.checkForRunFiles()
    let state = try recognized(new)
    if durability == .relaxed {
      // Another crash may lead to an older one until it is flushed.
      states.append(state)
      try new.flush()
    }
    states = [state]
    if random.oneIn(10) {
      note("change before registering")
      try transact(new)
    }
    if spills, newest.count < 40 { try fill(new) }
    try changeSchema()
    try register(new)
  }

  /// Stores so many rows that an index of them is sorted on disk.
  private func fill(_ db: Database) throws {
    note("fill")
    var filled = newest
    do {
      try db.write { tx in for number in 0..<60 { try set(tx, newTrack(), "k\(number)", &filled) } }
    } catch {
      if (error as? DatabaseError)?.code == .outcomeUnknown { states.append(filled) }
      throw error
    }
    states = durability == .full ? [filled] : states + [filled]
  }

  private func newTrack() -> Track { spills ? random.wideTrack() : random.track() }

  private func reopen() throws {
    note("close")
    try db?.close()
    db = nil
    states = [newest]
    try open()
  }

  private func checkpoint(_ db: Database) throws {
    note("checkpoint")
    if random.oneIn(2) { try db.checkpoint() }
    try db.flush()
    states = [newest]
  }

  /// The state that an opened database has.
  private func recognized(_ db: Database) throws -> TrackModel {
    let found = try db.read { tx in try TrackModel.rows(tx) }
    guard let state = states.last(where: { $0.isWhat(found) }) else {
      throw TrustBroken("\(found.count) rows, which are none of the \(states.count) states that may be there")
    }
    return state
  }

  // MARK: Registering

  private func changeSchema() throws {
    guard random.oneIn(3) else { return }
    // Under the same version what both lists say stays, and what is new is built alone.
    if random.oneIn(4) { lastVersion += 1 }
    schema = spills ? .randomWide(&random, version: lastVersion) : .random(&random, version: lastVersion)
    note("other list")
  }

  private func unregister(_ db: Database) throws {
    note("unregister")
    if isRegistered { try db.unregister(extensionNamed: schema.indexes.name) }
    isRegistered = false
    try changeSchema()
    if random.oneIn(4) { try transact(db) }
    try register(db)
  }

  private func register(_ db: Database) throws {
    note("register")
    isRegistering = true
    do {
      try db.register(schema.indexes) { [self] _ in
        try checkNowAndThen(db, schema)
        guard random.oneIn(3) else { return }
        note("change while building")
        // On a thread of its own: a snapshot is open on this one while entries are sorted.
        try elsewhere { try transact(db) }
      }
    } catch {
      guard isNotUnique(error) else { throw error }
      guard newest.hasTwins, schema.uniqueness != nil else { throw TrustBroken("refused without reason: \(error)") }
      note("list refused")
      schema.uniqueness = nil
      return try register(db)
    }
    (isRegistered, isRegistering) = (true, false)
    try disk.checkForRunFiles()
    if newest.hasTwins, schema.uniqueness != nil { throw TrustBroken("rows with the same values pass") }
    try db.check(schema, newest, &random, queries: 1)
  }

  /// Checks what is ready while something else is being built.
  private func checkNowAndThen(_ db: Database, _ schema: IndexSchema) throws {
    if spills, random.oneIn(8) { try elsewhere { try db.checkWhatIsReady(schema) } }
  }

  /// Whether the unique index, if there is one, refuses what is not.
  private func refusesTwins(_ db: Database) throws -> Bool {
    guard schema.uniqueness != nil else { return false }
    return try db.read { tx in
      do { return try tx.access(to: schema.indexes).isReady(indexNamed: "seat") } catch let error as DatabaseError {
        switch error.code {
        case .extensionNotReady, .extensionNotRegistered: return false
        default: throw error
        }
      }
    }
  }

  // MARK: Changing

  private func transact(_ db: Database) throws {
    note("transaction")
    let refuses = try refusesTwins(db)
    var changed = newest
    do {
      try db.write { [self] tx in
        try change(tx, &changed, refuses)
        for _ in 0..<random.below(3) { try changeInSavepoint(tx, &changed, refuses) }
        if random.oneIn(6) {
          try QueryLife.check(tx[.tracks].readTransaction[.tracks], changed, &random, choices: [.best]) { _ in }
        }
        if random.oneIn(8) { throw Undo() }
      }
    } catch is Undo {
      return note("rollback")
    } catch {
      if isNotUnique(error) {
        guard changed.hasTwins, refuses else { throw TrustBroken("refused without reason: \(error)") }
        return note("refused")
      }
      // Anything else says that nothing of it is there.
      if (error as? DatabaseError)?.code == .outcomeUnknown {
        note("outcome unknown")
        states.append(changed)
      }
      throw error
    }
    if refuses, changed.hasTwins { throw TrustBroken("rows with the same values were committed") }
    if durability == .full { states = [] }
    states.append(changed)
    if states.count > 40 { try checkpoint(db) }
  }

  private func changeInSavepoint(_ tx: WriteTransaction, _ rows: inout TrackModel, _ refuses: Bool) throws {
    let before = rows
    let isKept = random.oneIn(2)
    note(isKept ? "savepoint kept" : "savepoint undone")
    do {
      try tx.savepoint { [self] in
        try change(tx, &rows, refuses)
        if !isKept { throw Undo() }
      }
    } catch is Undo { rows = before }
  }

  private func change(_ tx: WriteTransaction, _ rows: inout TrackModel, _ refuses: Bool) throws {
    for _ in 0..<1 + random.below(8) {
      let key = "k\(random.below(60))"
      switch random.below(40) {
      case 0...24: try set(tx, newTrack(), key, &rows)
      case 25...28:
        // A field that few indexes have.
        guard var track = rows[key]?.track else { continue }
        track.rating = Double(random.below(10))
        rows[key]?.track = track
        let isThere = try tx[.tracks].update(key) { $0.rating = track.rating }
        guard isThere else { throw TrustBroken("\(key) is not there") }
      case 29...31:
        let plays = random.oneIn(2) ? nil : Plays(count: random.below(4))
        rows[key]?.plays = plays
        try tx[.tracks].replaceMetadata(plays, for: key)
      case 32...36:
        rows[key] = nil
        try tx[.tracks].remove(key)
      case 37: for number in 0..<3 { try tx[.others].set(number, for: "o\(random.below(30))") }
      case 38: try removeSome(tx, &rows)
      default:
        guard random.oneIn(5) else { continue }
        note("remove all")
        rows = [:]
        if random.oneIn(3) { try tx.removeAll() } else { try tx[.tracks].removeAll() }
      }
      if refuses, schema.uniqueness == .immediate, rows.hasTwins {
        throw TrustBroken("rows with the same values are stored, if only for a while")
      }
    }
  }

  private func set(_ tx: WriteTransaction, _ track: Track, _ key: String, _ rows: inout TrackModel) throws {
    let plays = random.oneIn(3) ? nil : Plays(count: random.below(4))
    // A row that is replaced keeps its number.
    let own = rows[key]?.number ?? number
    if rows[key] == nil { number += 1 }
    rows[key] = ModelRow(key: key, number: own, track: track, plays: plays)
    try tx[.tracks].set(track, metadata: plays, for: key)
  }

  private func removeSome(_ tx: WriteTransaction, _ rows: inout TrackModel) throws {
    let year = 1988 + random.below(12)
    let gone = rows.filter { $0.value.track.year == year }
    for key in gone.keys { rows[key] = nil }
    let count = try tx[.tracks].remove(where: { $0.year == year })
    guard count == gone.count else { throw TrustBroken("\(count) rows of \(year) were removed, not \(gone.count)") }
  }

  // MARK: Crashing

  private func crash() throws {
    let images = (0..<3).map { _ in
      random.oneIn(4) ? disk.processKillImage() : disk.crashImage(.random(random.next()))
    }
    try? db?.close()
    db = nil
    crashCount += images.count
    // Of what the crash may have left some is looked at, and with one it goes on.
    for image in images.dropLast() { try look(at: image) }
    disk = images[images.count - 1]
  }

  /// Checks an image of the disk, and leaves it.
  private func look(at image: SimulatedDisk) throws {
    note("look")
    let db = try image.openDatabase(seed: random.next(), options)
    let state = try recognized(db)
    var own = schema
    // What was to be built, or another list.
    if spills, random.oneIn(3) { own = .randomWide(&random, version: schema.version) }
    do { try db.register(own.indexes) { _ in try checkNowAndThen(db, own) } } catch {
      guard isNotUnique(error), state.hasTwins else { throw error }
      own.uniqueness = nil
      try db.register(own.indexes)
    }
    try db.check(own, state, &random, queries: 1)
    try db.close()
    try image.checkForRunFiles()
  }
}
