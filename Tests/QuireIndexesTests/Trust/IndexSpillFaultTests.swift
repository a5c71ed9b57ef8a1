// Indexes that are sorted on disk while they are built, on a disk that fails: what callers are told is true and names
// the file, and building is repeated once the disk is well.
//
// A sample of the calls that may fail in every run of the tests; each of them, or one, by
//
//     QUIRE_SPILL_FAULTS=100000 swift test --filter IndexSpillFaultTests
//     QUIRE_SPILL_FAULT=runWrite QUIRE_SPILL_CALL=3 swift test --filter IndexSpillFaultTests

import Foundation
import QuireDatabase
@testable import QuireIndexes
import QuireTesting
import Synchronization
import Testing

@Suite("Indexes sorted on disk, and failing disks") struct IndexSpillFaultTests {
  private static let options = Database.Options(
    durability: .full, cacheSize: 128 << 10, pageSize: IndexHistory.smallPage, logLimit: 64 << 10,
    maintainsWhenIdle: false)
  private static let old = IndexSchema(numbers: [0, 1, 4], sortedByteCount: 0)
  /// One index stays; several are new, and look at fields that no record has yet.
  private static let new = IndexSchema(
    numbers: [1, 6, 11], uniqueness: .atCommit, wideNumbers: [0, 1, 2], sortedByteCount: 0)

  /// Which calls fail, and how.
  private enum Fault: String, CaseIterable {
    case runOpen, runUnlink, runWrite, runWriteFull, runRead, runReadShort
    case logWrite, logWriteFull, logSync, logOpen
    case dataWrite, dataWriteFull, dataSync, dataRead, dataGrowth
    /// From one call on there is no more space.
    case full

    var isOfRunFile: Bool { rawValue.hasPrefix("run") }

    private var kind: OperationKind {
      switch self {
      case .runOpen, .logOpen: .open
      case .runUnlink: .unlink
      case .runWrite, .runWriteFull, .logWrite, .logWriteFull, .dataWrite, .dataWriteFull, .full: .write
      case .runRead, .runReadShort, .dataRead: .read
      case .logSync, .dataSync: .synchronize
      case .dataGrowth: .allocate
      }
    }

    /// Whether it concerns a call.
    func concerns(_ operation: DiskOperation) -> Bool {
      if self == .full { return operation.kind == .write || operation.kind == .allocate }
      guard operation.kind == kind else { return false }
      if isOfRunFile { return isRunFile(operation.path) }
      let isOfLog = operation.path.hasPrefix("/db-log")
      return rawValue.hasPrefix("log") ? isOfLog : operation.path == "/db"
    }

    func effect(_ number: Int) -> FaultEffect {
      switch self {
      case .runOpen: .error(SystemCode.tooManyFiles)
      case .runUnlink, .runRead, .dataRead, .logOpen: .error(SystemCode.inputOutput)
      case .runReadShort: .short(1 + number % 700)
      case .runWrite, .logWrite, .dataWrite: .errorAfter(number * 97 % 2000, SystemCode.inputOutput)
      case .runWriteFull: .errorAfter(number * 97 % 2000, SystemCode.noSpace)
      case .logWriteFull, .dataWriteFull, .dataGrowth, .full: .error(SystemCode.noSpace)
      case .logSync, .dataSync:
        .failedSync(
          SyncFailure.allCases[number % SyncFailure.allCases.count], SystemCode.inputOutput,
          survivorsOneIn: number % 2)
      }
    }

    /// Whether the engine can do without the call: it makes another one, or takes another way.
    var mayBeGoneOver: Bool { [.runReadShort, .runUnlink, .logWriteFull, .dataGrowth].contains(self) }

    /// What callers may be told of it, besides that the database accepts no changes any more.
    var codes: [DatabaseError.Code] {
      switch self {
      case .runWriteFull, .logWriteFull, .dataWriteFull, .dataGrowth, .full: [.diskFull]
      default: [.inputOutput]
      }
    }
  }

  /// Counts the calls that a fault concerns, and has one of them fail.
  private final class Striking: Sendable {
    private let state = Mutex((count: 0, struck: 0))
    private let fault: Fault
    private let number: Int?

    /// - Parameter number: which of the calls fails; nil for none.
    init(_ disk: SimulatedDisk, _ fault: Fault, _ number: Int?) {
      (self.fault, self.number) = (fault, number)
      disk.intercept { [self, weak disk] operation in
        guard self.fault.concerns(operation) else { return nil }
        return state.withLock { state in
          state.count += 1
          guard let number = self.number, state.count == number + 1 else { return nil }
          state.struck += 1
          guard fault == .full else { return fault.effect(number) }
          disk?.capacity = disk?.usedByteCount
          return nil
        }
      }
    }

    /// From here on the disk is well.
    func end(_ disk: SimulatedDisk) {
      disk.removeInterceptors()
      disk.capacity = nil
    }

    var count: Int { state.withLock { $0.count } }
    var hasStruck: Bool { state.withLock { $0.struck > 0 } }
  }

  /// The rows that may be there, and what was told.
  private struct Outcome {
    /// The last rows; before them, where an outcome is unknown, those without the last change.
    var states: [TrackModel]
    var error: (any Error)?
    /// What another writer was told.
    var writerError: (any Error)?
  }

  private static func change(_ db: Database, _ numbers: Range<Int>, _ outcome: inout Outcome) throws {
    var random = SeededRandom(seed: UInt64(numbers.lowerBound))
    var changed = outcome.states[outcome.states.count - 1]
    let rows = numbers.map { number in
      var track = random.wideTrack()
      // No two rows have the same values.
      track.added = Date(timeIntervalSinceReferenceDate: Double(number + numbers.count))
      return ModelRow(
        key: "k\(number)", number: changed["k\(number)"]?.number ?? number, track: track, plays: nil)
    }
    for row in rows { changed[row.key] = row }
    do {
      try db.write { tx in for row in rows { try tx[.tracks].set(row.track, for: row.key) } }
      outcome.states = [changed]
    } catch {
      if (error as? DatabaseError)?.code == .outcomeUnknown { outcome.states.append(changed) }
      throw error
    }
  }

  /// A database at rest.
  private struct Rest {
    let disk: SimulatedDisk
    let rows: TrackModel
    /// How many calls each fault concerns in a run in which nothing fails.
    var counts: [Fault: Int] = [:]
  }

  private static let rest = Result { try prepared() }

  private static func prepared() throws -> Rest {
    let disk = SimulatedDisk()
    let db = try disk.openDatabase(seed: 1, options)
    try db.register(old.indexes)
    var outcome = Outcome(states: [[:]])
    for start in [0, 20] { try change(db, start..<start + 20, &outcome) }
    try db.close()
    var rest = Rest(disk: disk, rows: outcome.states[0])
    let calm = disk.copy()
    let again = try open(calm)
    let counting = Fault.allCases.map { (fault: $0, striking: Striking(calm, $0, nil)) }
    build(again, &outcome)
    for (fault, striking) in counting { rest.counts[fault] = striking.count }
    calm.removeInterceptors()
    try again.close()
    if let error = outcome.error ?? outcome.writerError { throw error }
    return rest
  }

  private static func open(_ disk: SimulatedDisk) throws -> Database {
    try disk.openDatabase(seed: 2, options, unloggedByteCount: 1000)
  }

  /// Registers the other list, while another thread changes rows once what is ready is built.
  private static func build(_ db: Database, _ outcome: inout Outcome) {
    var changed = outcome
    var calls = 0
    do {
      try db.register(new.indexes) { _ in
        calls += 1
        guard calls % 2 == 1, changed.writerError == nil else { return }
        do { try elsewhere { try change(db, 30 + 3 * calls..<35 + 3 * calls, &changed) } } catch {
          changed.writerError = error
        }
      }
    } catch { changed.error = error }
    outcome = changed
  }

  /// Throws unless an error says what has failed.
  private static func check(_ error: any Error, _ fault: Fault, isWriter: Bool) throws {
    guard let error = error as? DatabaseError else { throw TrustBroken("told: \(error)") }
    var codes = fault.codes
    if !fault.isOfRunFile { codes += [.failStop, .outcomeUnknown] }
    guard codes.contains(error.code), !error.message.isEmpty, let path = error.path, path.hasPrefix("/db") else {
      throw TrustBroken("\(isWriter ? "a writer" : "the builder") was told: \(error)")
    }
    guard !fault.isOfRunFile || isRunFile(path) else { throw TrustBroken("it names another file: \(error)") }
  }

  private static func check(_ db: Database, _ outcome: Outcome, isBuilt: Bool) throws {
    let found = try db.read { tx in try TrackModel.rows(tx) }
    guard let state = outcome.states.last(where: { $0.isWhat(found) }) else {
      throw TrustBroken("other rows are there")
    }
    var random = SeededRandom(seed: 1)
    if isBuilt { return try db.check(new, state, &random, queries: 2) }
    // Without indexes a query finds the same rows.
    try db.read { tx in
      for _ in 0..<2 { try QueryLife.check(tx[.tracks], state, &random, choices: [.best]) { _ in } }
    }
  }

  /// What was there while the disk was failing, and afterwards in the same opening. Returns whether the database takes
  /// changes.
  private static func checkAfterwards(
    _ disk: SimulatedDisk, _ db: Database, _ outcome: inout Outcome, _ fault: Fault, _ number: Int
  ) throws -> Bool {
    // A name that the disk has refused to take away stays until the next file is made.
    if fault != .runUnlink { try disk.checkForRunFiles() }
    try check(db, outcome, isBuilt: outcome.error == nil)
    guard outcome.error != nil else { return true }
    guard try db.extensions().allSatisfy({ !$0.isRegistered }) else {
      throw TrustBroken("it is registered all the same")
    }
    // Rows may change while nobody follows them.
    do {
      if number % 2 == 1 { try change(db, 15..<18, &outcome) }
      try db.register(new.indexes)
    } catch {
      guard !fault.isOfRunFile, (error as? DatabaseError)?.code == .failStop else {
        throw TrustBroken("building is not repeated: \(error)")
      }
      try check(db, outcome, isBuilt: false)
      return false
    }
    try check(db, outcome, isBuilt: true)
    try disk.checkForRunFiles()
    return true
  }

  /// One run in which a call fails; returns what callers were told.
  private static func trial(
    _ disk: SimulatedDisk, _ start: TrackModel, _ fault: Fault, _ number: Int
  ) throws -> Outcome {
    let db = try open(disk)
    var outcome = Outcome(states: [start])
    let striking = Striking(disk, fault, number)
    build(db, &outcome)
    striking.end(disk)
    for error in [outcome.error, outcome.writerError].compactMap({ $0 }) {
      guard striking.hasStruck else { throw TrustBroken("nothing has failed, and was told: \(error)") }
    }
    if let error = outcome.error { try check(error, fault, isWriter: false) }
    if let error = outcome.writerError { try check(error, fault, isWriter: true) }
    let isTold = outcome.error != nil
    if [.runOpen, .runWrite, .runWriteFull, .runRead].contains(fault), striking.hasStruck != isTold {
      throw TrustBroken("a call has failed, and nobody was told")
    }
    // As it is when the process ends now, or the power.
    var images = [(number % 3 == 0 ? disk.processKillImage() : disk.crashImage(.random(UInt64(number))), outcome)]
    let told = outcome
    _ = try checkAfterwards(disk, db, &outcome, fault, number)
    try? db.close()
    // In the short size that is looked at where the temporary files are concerned.
    if TestSize.isFull || fault.isOfRunFile { images.append((disk.copy(), outcome)) }
    for (image, outcome) in images {
      let again = try open(image)
      try image.checkForRunFiles()
      try check(again, outcome, isBuilt: false)
      var isChecked = false
      try again.register(new.indexes) { now in
        // Some are ready, and others are not.
        guard !isChecked, now.done == now.total else { return }
        isChecked = true
        try elsewhere { try again.checkWhatIsReady(new) }
      }
      try check(again, outcome, isBuilt: true)
      try again.close()
      try image.checkForRunFiles()
    }
    return told
  }

  @Test(
    "An index that is ready stays so when the disk fails while others are built", arguments: [Fault.full, .dataRead])
  private func readyIndexStays(_ fault: Fault) throws {
    let rest = try Self.rest.get()
    func trees(_ db: Database) throws -> [String]? {
      try db.read { tx in try tx.storedIndexes()[0].indexes.first { $0.name == "year" }?.engineTrees }
    }
    var told = 0
    for number in [0, 1, 2, 5, 9, 30] {
      if !TestSize.isFull, told > 1 { break }
      let disk = rest.disk.copy()
      let db = try Self.open(disk)
      let before = try trees(db)
      #expect(before != nil)
      let striking = Striking(disk, fault, number)
      // What is read ahead is read again.
      do { try db.register(Self.new.indexes) } catch {
        told += 1
        striking.end(disk)
        try Self.check(error, fault, isWriter: false)
        try db.register(Self.new.indexes)
      }
      striking.end(disk)
      #expect(try trees(db) == before, "call \(number): it was built anew")
      try Self.check(db, Outcome(states: [rest.rows]), isBuilt: true)
      try db.close()
    }
    #expect(told > 1, "only \(told) calls were told")
  }

  /// In the short size without those that IndexFaultTests has as well, unless one is asked for.
  private static var triedFaults: [Fault] {
    let environment = ProcessInfo.processInfo.environment
    let isAsked = environment["QUIRE_SPILL_FAULTS"] != nil || environment["QUIRE_SPILL_FAULT"] != nil
    if TestSize.isFull || isAsked { return Fault.allCases }
    return Fault.allCases.filter { $0.isOfRunFile || [.logOpen, .dataRead, .dataGrowth, .full].contains($0) }
  }

  @Test(
    "A disk that fails while indexes are sorted on it leaves what was told",
    .enabled(if: TestSize.hasSlowTests, "slow"), arguments: triedFaults)
  private func faults(_ fault: Fault) throws {
    let chosen = ProcessInfo.processInfo.environment["QUIRE_SPILL_FAULT"]
    if let chosen, chosen != fault.rawValue { return }
    let rest = try Self.rest.get()
    let count = rest.counts[fault, default: 0]
    #expect(count > 0, "no call is concerned")
    let asked = environmentNumber("QUIRE_SPILL_FAULTS")
    let wanted = asked ?? 2
    var (trials, told) = (0, 0)
    for number in stride(from: 0, to: count, by: max(1, count / wanted)) {
      // In the short size no more calls fail than it takes until somebody is told.
      if asked == nil, !TestSize.isFull, told > 0 { break }
      let number = environmentNumber("QUIRE_SPILL_CALL") ?? number
      do {
        trials += 1
        if try Self.trial(rest.disk.copy(), rest.rows, fault, number).error != nil { told += 1 }
      } catch {
        Issue.record(
          """
          QUIRE_SPILL_FAULT=\(fault.rawValue) QUIRE_SPILL_CALL=\(number) swift test --filter IndexSpillFaultTests: \
          call \(number) of \(count): \(error)
          """)
      }
      if environmentNumber("QUIRE_SPILL_CALL") != nil { return }
    }
    if wanted > 100 { print("\(fault): \(trials) disks, \(told) errors") }
    #expect(told > 0 || fault.mayBeGoneOver, "nobody was told")
  }
}
