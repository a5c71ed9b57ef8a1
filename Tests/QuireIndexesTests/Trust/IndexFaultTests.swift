// Indexes on a disk that fails or is full, while another thread reads: what callers are told is true.
//
// A sample of the calls that may fail in every run of the tests; each of them by
//
//     QUIRE_INDEX_FAULTS=1000 swift test --filter IndexFaultTests

import Foundation
import QuireDatabase
@testable import QuireIndexes
import QuireTesting
import Synchronization
import Testing

@Suite("Indexes and failing disks") struct IndexFaultTests {
  private static let options = Database.Options(
    durability: .full, cacheSize: 2 << 20, logLimit: 64 << 10, maintainsWhenIdle: false)
  private static let old = IndexSchema(numbers: [0, 1, 3, 8])
  private static let new = IndexSchema(numbers: [1, 2, 4, 5, 9, 10, 11], uniqueness: .atCommit)

  /// How a disk fails.
  private enum Fault: CaseIterable {
    /// A write is done in part, or not at all.
    case write, refusedWrite
    case synchronization
    /// There is no more space.
    case full

    /// Lets the disk fail once so many calls, or so many steps of space, are used up.
    func strike(_ disk: SimulatedDisk, after number: Int) {
      switch self {
      case .write: disk.failNext(.write, skipping: number, with: .errorAfter(100, SystemCode.inputOutput))
      case .refusedWrite: disk.failNext(.write, skipping: number, with: .error(SystemCode.noSpace))
      case .synchronization:
        let failure = SyncFailure.allCases[number % SyncFailure.allCases.count]
        disk.failNext(
          .synchronize, skipping: number,
          with: .failedSync(failure, SystemCode.inputOutput, survivorsOneIn: number % 2))
      case .full: disk.capacity = disk.usedByteCount + number * Self.spaceStep
      }
    }

    private static var spaceStep: Int { 512 }

    /// How much of what can fail there was so far.
    func count(_ disk: SimulatedDisk) -> Int {
      switch self {
      case .write, .refusedWrite: disk.counters[.write]
      case .synchronization: disk.counters[.synchronize]
      case .full: disk.usedByteCount / Self.spaceStep
      }
    }
  }

  /// Rows without two of the same values.
  private static func fill(_ db: Database, _ numbers: Range<Int>, _ model: inout TrackModel) throws {
    var random = SeededRandom(seed: UInt64(numbers.lowerBound))
    var changed = model
    try db.write { tx in
      for number in numbers {
        var track = random.track()
        track.added = Date(timeIntervalSinceReferenceDate: Double(number))
        let row = ModelRow(key: "k\(number)", number: number, track: track, plays: Plays(count: number % 4))
        try tx[.tracks].set(track, metadata: row.plays, for: row.key)
        changed[row.key] = row
      }
    }
    model = changed
  }

  /// Queries what indexes serve, again and again, beside rows of the same snapshot.
  private final class Reading: Sendable {
    private let isDone = Atomic(false)
    private let found = Mutex<(count: Int, failure: String?)>((0, nil))
    private let group = DispatchGroup()

    init(_ db: Database) {
      group.enter()
      Thread { [self] in
        while !isDone.load(ordering: .relaxed), found.withLock({ $0.failure }) == nil {
          read(db)
          // Leaves the processor to the builder.
          Thread.sleep(forTimeInterval: 0.001)
        }
        group.leave()
      }.start()
    }

    private func read(_ db: Database) {
      do {
        try db.read { tx in
          let rows = try TrackModel.rows(tx)
          for year in 1988..<1992 {
            let keys = try tx[.tracks].find { $0.year == year && $0.title >= "" }.keys
            guard Set(keys) == Set(rows.filter { $0.object.year == year }.map(\.key)) else {
              throw TrustBroken("\(keys.count) rows of \(year)")
            }
          }
          guard try tx[.tracks].find({ $0.title.folded == "a" }).count == rows.count(where: { $0.object.title == "a" })
          else { throw TrustBroken("another number of titles") }
        }
        found.withLock { $0.count += 1 }
      } catch { found.withLock { $0.failure = "\(error)" } }
    }

    /// How often it has read.
    func end() throws -> Int {
      isDone.store(true, ordering: .relaxed)
      group.wait()
      let (count, failure) = found.withLock { $0 }
      if let failure { throw TrustBroken("a reader beside the failing disk: \(failure)") }
      return count
    }
  }

  /// What was told of a run, and what must be there after it.
  private struct Outcome {
    /// The rows that may be there: the last ones, or what an unknown outcome leaves open.
    var states: [TrackModel]
    var isBuilt = false
    var failed = 0
  }

  /// Fills a database, changes rows, and builds other indexes, whatever fails.
  private static func work(_ db: Database, _ start: TrackModel) -> Outcome {
    var outcome = Outcome(states: [start])
    func attempt(_ numbers: Range<Int>) {
      var model = outcome.states[outcome.states.count - 1]
      var after = model
      // Rows that would be there if it went well.
      if let memory = try? Database.inMemory() { try? fill(memory, numbers, &after) }
      do {
        try fill(db, numbers, &model)
        outcome.states = [model]
      } catch {
        outcome.failed += 1
        if (error as? DatabaseError)?.code == .outcomeUnknown { outcome.states = [outcome.states[0], after] }
      }
    }
    attempt(40..<70)
    do {
      try db.unregister(extensionNamed: old.indexes.name)
      try db.register(new.indexes) { _ in }
      outcome.isBuilt = true
    } catch { outcome.failed += 1 }
    attempt(60..<90)
    return outcome
  }

  private static func prepared() throws -> (SimulatedDisk, TrackModel) {
    let disk = SimulatedDisk()
    let db = try disk.openDatabase(seed: 1, options)
    try db.register(old.indexes)
    var model = TrackModel()
    try fill(db, 0..<50, &model)
    try db.close()
    return (disk, model)
  }

  private static func open(_ disk: SimulatedDisk) throws -> Database {
    var options = options
    options.buildStepRowCount = 9
    return try disk.openDatabase(seed: 2, options)
  }

  /// Once there is space again, indexes are built in the same opening.
  private static func goOn(_ db: Database, shown outcome: Outcome) throws {
    let found = try db.read { tx in try TrackModel.rows(tx) }
    guard !outcome.isBuilt, let state = outcome.states.first(where: { $0.isWhat(found) }) else { return }
    for name in try db.extensions().map(\.name) { try db.unregister(extensionNamed: name) }
    try db.register(new.indexes)
    var random = SeededRandom(seed: 1)
    try db.check(new, state, &random, queries: 1)
  }

  /// One run in which the disk fails; returns what callers were told.
  private static func trial(
    _ disk: SimulatedDisk, _ start: TrackModel, _ fault: Fault, _ number: Int
  ) throws -> Outcome {
    let db = try open(disk)
    try db.register(old.indexes)
    fault.strike(disk, after: number)
    let reading = Reading(db)
    let outcome = work(db, start)
    _ = try reading.end()
    disk.faultsAreEnabled = false
    disk.capacity = nil
    let shown = try db.read { tx in try TrackModel.rows(tx) }
    guard outcome.states.contains(where: { $0.isWhat(shown) }) else { throw TrustBroken("other rows are shown") }
    if case .full = fault { try goOn(db, shown: outcome) }
    // As it is, as after the end of the process, and as after a power cut.
    let images = [disk.processKillImage(), disk.crashImage(.random(UInt64(number)))]
    try? db.close()
    let closed = disk.copy()
    // In the short size either the first or the second.
    let short = [number == 0 ? closed : images[0], images[1]]
    for image in TestSize.isFull ? [closed] + images : short {
      let again = try open(image)
      let found = try again.read { tx in try TrackModel.rows(tx) }
      guard let state = outcome.states.first(where: { $0.isWhat(found) }) else {
        throw TrustBroken("other rows are there after reopening")
      }
      // Building goes on, or begins anew.
      try again.register(new.indexes)
      var random = SeededRandom(seed: UInt64(number))
      try again.check(new, state, &random, queries: 2)
      try again.close()
    }
    return outcome
  }

  @Test(
    "A disk that fails while indexes are built or kept up leaves what was told",
    .enabled(if: TestSize.hasSlowTests, "slow"), arguments: Fault.allCases)
  private func faults(_ fault: Fault) throws {
    let (disk, start) = try Self.prepared()
    // A run in which nothing fails, to know how many calls there are.
    let calm = disk.copy()
    let db = try Self.open(calm)
    try db.register(Self.old.indexes)
    let before = fault.count(calm)
    let outcome = Self.work(db, start)
    #expect(outcome.failed == 0 && outcome.isBuilt)
    let count = fault.count(calm) - before
    try db.close()
    #expect(count > 0)
    let asked = environmentNumber("QUIRE_INDEX_FAULTS")
    let wanted = asked ?? 8
    var (trials, told, unbuilt) = (0, 0, 0)
    for number in stride(from: 0, to: count, by: max(1, count / wanted)) {
      // In the short size a few, until somebody was told and an index was not built.
      if asked == nil, !TestSize.isFull, trials >= 2, told > 0, unbuilt > 0 { break }
      do {
        trials += 1
        let outcome = try Self.trial(disk.copy(), start, fault, number)
        if outcome.failed > 0 { told += 1 }
        if !outcome.isBuilt { unbuilt += 1 }
      } catch { Issue.record("\(fault) of call \(number) of \(count): \(error)") }
    }
    if wanted > 100 { print("\(fault): \(trials) disks, \(told) errors, \(unbuilt) without the indexes") }
    #expect(told > 0 && unbuilt > 0, "\(told) of \(count) were told, and \(unbuilt) built nothing")
  }
}
