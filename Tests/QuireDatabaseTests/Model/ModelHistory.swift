// One random life of a database beside its model: transactions, rollbacks, reopening and crashes.

import QuireDatabase
import QuireTesting
import Testing

/// Something that the database did and the model did not.
struct ModelMismatch: Error, CustomStringConvertible {
  let description: String
}

/// A life; the same one for the same seed.
final class ModelHistory {
  /// Why a transaction or a savepoint of the model's ends.
  struct Undo: Error {}

  struct Pin {
    let snapshot: PinnedSnapshot
    var state: ModelState
    /// What must be told by the next `advance`.
    var missed: [(number: Int, changes: ModelChanges)] = []
  }

  let seed: UInt64
  let isFull: Bool
  var random: SeededRandom
  var disk = SimulatedDisk()
  var db: Database
  var connections: [Connection] = []
  var stream: CommitStream
  /// What the stream must have told at its end.
  var told: [Int] = []
  var pins: [Pin] = []
  /// The states that a crash may lead to, the oldest first; the last one is the newest.
  var states = [ModelState()]
  var commitNumber = 0
  var operations = 0
  /// Counts of what has happened, to see that all of it does.
  var counts: [String: Int] = [:]

  /// The extensions that are registered, by name, and the version of each.
  var registered: [String: ValueIndex<Bag, Int>] = [:]
  var versions: [String: Int] = [:]

  // Of the transaction that runs.
  var model = ModelState()
  var changes = ModelChanges()

  init(seed: UInt64, isFull: Bool) throws {
    self.seed = seed
    self.isFull = isFull
    random = SeededRandom(seed: seed)
    db = try disk.openDatabase(seed: seed, Self.options(isFull))
    stream = db.commits
    connections = [db.makeConnection(), db.makeConnection()]
  }

  private static func options(_ isFull: Bool) -> Database.Options {
    var options = Database.Options(
      durability: isFull ? .full : .relaxed, cacheSize: 4 << 20, logLimit: 256 << 10, maintainsWhenIdle: false,
      commitBuffer: .max, objectCache: ObjectCacheOptions(countLimit: 40, byteLimit: 20_000))
    options.buildStepRowCount = 9
    return options
  }

  func count(_ what: String) { counts[what, default: 0] += 1 }
  func expect(_ isRight: Bool, _ what: @autoclosure () -> String) throws {
    if !isRight { throw ModelMismatch(description: "\(what()) (seed \(seed), operation \(operations))") }
  }

  // MARK: Life

  /// Lives for `limit` operations.
  func run(_ limit: Int) async throws {
    while operations < limit {
      switch random.below(60) {
      case 0: try await crash()
      case 1: try await reopen()
      case 2: try flush()
      case 3: try checkpoint()
      case 4, 5: if pins.count < 3 { pins.append(Pin(snapshot: try db.pin(), state: newest)) }
      case 6, 7, 8: try advance()
      case 9: if !pins.isEmpty { pins.remove(at: random.below(pins.count)) }
      case 10...14: try checkAll()
      case 15...18: try extend()
      case 19, 20: try rewrite()
      default: try transact()
      }
      if states.count > 200 { try flush() }
    }
    try checkAll()
    try await reopen()
  }

  var newest: ModelState { states[states.count - 1] }

  private func flush() throws {
    try db.flush()
    states = [newest]
  }

  private func checkpoint() throws { try db.checkpoint() }

  private func advance() throws {
    guard !pins.isEmpty else { return }
    let index = random.below(pins.count)
    count("advance")
    let commits = try pins[index].snapshot.advance()
    let missed = pins[index].missed
    try expect(commits.map { $0.info as? Int } == missed.map(\.number), "advance told \(commits.count) commits")
    for (commit, expected) in zip(commits, missed) {
      let told = ModelChanges(commit.changes)
      try expect(told == expected.changes.told, "commit \(expected.number) told \(told), not \(expected.changes.told)")
    }
    pins[index].missed = []
    pins[index].state = newest
  }

  // MARK: Ends

  private func reopen() async throws {
    count("reopen")
    pins = []
    try close()
    states = [newest.reopened]
    try await drainStream()
    try open()
  }

  private func close() throws { try db.close() }

  private func open() throws {
    db = try disk.openDatabase(seed: random.next(), Self.options(isFull))
    connections = [db.makeConnection(), db.makeConnection()]
    stream = db.commits
    told = []
    registered = [:]
    try db.checkInvariants()
    try check(newest, in: db)
    try registerSome()
  }

  private func crash() async throws {
    count("crash")
    let image = disk.crashImage(.random(random.next()))
    pins = []
    try close()
    try await drainStream()
    disk = image
    registered = [:]
    db = try disk.openDatabase(seed: random.next(), Self.options(isFull))
    // Of equal states the oldest, which asks the least of the ids to come.
    guard let index = try states.firstIndex(where: { try matches($0) }) else {
      throw ModelMismatch(description: "a crash led to no state that was (seed \(seed), operation \(operations))")
    }
    try expect(!isFull || states[index] == newest, "a crash undid a durable commit")
    states = [states[index].reopened]
    try flush()
    connections = [db.makeConnection(), db.makeConnection()]
    stream = db.commits
    told = []
    try db.checkInvariants()
    try registerSome()
  }

  private func matches(_ state: ModelState) throws -> Bool {
    do { try check(state, in: db) } catch is ModelMismatch { return false }
    return true
  }

  /// The database was closed: the stream has told all of its commits.
  private func drainStream() async throws {
    var numbers: [Int] = []
    for try await commit in stream { numbers.append(commit.info as? Int ?? -1) }
    try expect(numbers == told, "the stream told \(numbers.count) commits, not \(told.count)")
  }
}
