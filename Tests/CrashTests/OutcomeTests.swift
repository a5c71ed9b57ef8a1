// What the caller of a transaction was told, and what reopening shows: for every call to the disk that a commit makes,
// and every way in which that can fail.

@testable import QuireDatabase
import QuireStorage
import QuireTesting
import Synchronization
import Testing

/// What a transaction does, and where the database stands when it begins.
enum OutcomeScene: CaseIterable, Sendable {
  /// The first transaction after an opening: it makes the log.
  case first
  /// One of many that fit the log.
  case small
  /// It finds its segment full: the log goes on in the next one, becomes longer, or is checkpointed.
  case segmentEnd
  /// It is too large for the log, and the first after an opening.
  case largeFirst
  /// It is too large for the log.
  case large
  /// As before, and a checkpoint is under way.
  case largeBehindCheckpoint

  var isLarge: Bool { self == .largeFirst || self == .large || self == .largeBehindCheckpoint }
  var rowCount: Int { isLarge ? 500 : 3 }
}

/// What somebody was told of a transaction.
private struct Told: CustomStringConvertible {
  /// What was thrown; nil if the call returned.
  var error: DatabaseError?
  /// Whether the closure ran.
  var hasBegun = false
  /// How often the actions ran that wait for the commit, and for its failure.
  var committed = 0
  var rolledBack = 0

  var isUnknown: Bool { error?.code == .outcomeUnknown }
  var description: String {
    "\(error.map { "threw \($0.code)" } ?? "returned"), onCommit \(committed), onRollback \(rolledBack)"
  }
}

/// One transaction on a simulated disk, of whose calls one may fail.
private struct OutcomeTrial {
  static let rows = RowCollection<String, Int>("rows", compression: .none)
  static let earlier = 40

  let scene: OutcomeScene
  let disk: SimulatedDisk
  let db: Database
  /// The number of the first call that belongs to the transaction.
  let start: Int

  static func open(_ disk: SimulatedDisk) throws -> Database {
    let options = Database.Options(
      durability: .full, cacheSize: 4 << 20, logLimit: 64 << 10, maintainsWhenIdle: false, commitBuffer: 16)
    let dice = Latch(SeededRandom(seed: 3))
    return try Database(
      at: "/db", options: options,
      environment: StorageEnvironment(
        fileSystem: disk, random: { dice.withLock { $0.next() } }, scheduling: .stepped,
        initialSegmentByteCount: 16 << 10, usualLogByteCount: 32 << 10, partByteCount: 2000, unloggedByteCount: 8000,
        continuedLogByteCount: 0))
  }

  /// A database that was closed, with some rows.
  static func makeBase() throws -> SimulatedDisk {
    let disk = SimulatedDisk()
    let db = try open(disk)
    try db.write { tx in
      for number in 0..<earlier { try tx[rows].set("\(number)", metadata: nil, for: "earlier \(number)") }
    }
    try db.close()
    return disk
  }

  init(_ scene: OutcomeScene, on base: SimulatedDisk) throws {
    self.scene = scene
    disk = base.copy()
    db = try Self.open(disk)
    // What they leave is the same each time; every number of calls is.
    let count: Int
    switch scene {
    case .first, .largeFirst: count = 0
    case .small, .large, .largeBehindCheckpoint: count = 3
    case .segmentEnd: count = 30
    }
    for _ in 0..<count {
      try db.write { tx in
        for number in 0..<Self.earlier {
          try tx[Self.rows].set("again \(number)", metadata: 1, for: "earlier \(number)")
        }
      }
    }
    if scene == .segmentEnd { try Self.fillSegment(db) }
    if scene == .largeBehindCheckpoint {
      db.core.storage.beginCheckpointInTransaction()
      for _ in 0..<2 { db.core.storage.stepCheckpoint() }
    }
    start = disk.operationCount
  }

  /// Commits until the next record of that size has no room in its segment.
  private static func fillSegment(_ db: Database) throws {
    func room() -> Int { db.core.storage.log.with { $0.map { $0.current.descriptor.byteCount - $0.position } ?? 0 } }
    var before = room()
    for number in 0..<1000 {
      try db.write { tx in try tx[rows].set("again", metadata: number, for: "earlier 1") }
      // The next one is larger than this.
      if room() < 2 * (before - room()), room() < before { return }
      before = room()
    }
    Issue.record("no segment was ever full")
  }

  /// Does the transaction; the rows named `name`.
  func transact(_ name: String, rowCount: Int) -> Told {
    let counts = Latch((committed: 0, rolledBack: 0))
    var told = Told()
    do {
      try db.write { tx in
        told.hasBegun = true
        tx.onCommit { counts.withLock { $0.committed += 1 } }
        tx.onRollback { counts.withLock { $0.rolledBack += 1 } }
        for number in 0..<rowCount {
          try tx[Self.rows].set(String(repeating: "\(number) ", count: 20), metadata: nil, for: "\(name) \(number)")
        }
      }
    } catch { told.error = error as? DatabaseError ?? DatabaseError.unexpected(error) }
    (told.committed, told.rolledBack) = counts.withLock { $0 }
    return told
  }

  /// How many rows of the transaction `name` there are.
  static func count(_ name: String, in db: Database) throws -> Int {
    try db.read { tx in try tx[rows].count(prefix: "\(name) ") }
  }
}

extension DatabaseError {
  fileprivate static func unexpected(_ error: any Error) -> DatabaseError {
    DatabaseError(.inputOutput, "not an error of the database's: \(error)")
  }
}

@Suite struct OutcomeTests {
  private static let base = Result { try OutcomeTrial.makeBase() }

  /// Every call that a commit makes fails once, in every way. In the short size some do, and as many more as it takes
  /// until an outcome is unknown.
  @Test(
    "Whoever is told that a commit failed does not find it, and whoever is told that it worked does",
    .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: OutcomeScene.allCases)
  func everyCallFails(scene: OutcomeScene) throws {
    let base = try Self.base.get()
    let calm = try OutcomeTrial(scene, on: base)
    calm.disk.isTracing = true
    let told = calm.transact("new", rowCount: scene.rowCount)
    #expect(told.error == nil && told.committed == 1 && told.rolledBack == 0, "\(told)")
    let core = calm.db.core.storage
    #expect(scene.isLarge == (core.meta.current.csn == core.head.csn), "\(scene) takes the other way")
    var complaints: [String] = []
    var unknown = 0, trials = 0
    let failures = TestSize.someFirst(
      allFailures(calm.disk.trace[...], calm.disk.trace.count), of: TestSize.isFull ? 8 : 6)
    for (call, effect) in failures.cases {
      if trials >= failures.least, unknown > 0 { break }
      trials += 1
      let trial = try OutcomeTrial(scene, on: base)
      trial.disk.fail(operation: call.number, with: effect)
      let told = trial.transact("new", rowCount: scene.rowCount)
      let after = trial.transact("after", rowCount: 2)
      if told.isUnknown { unknown += 1 }
      let text = "\(scene), call \(call.number - trial.start) (\(call)) with \(effect)"
      for complaint in try check(trial, told, after, seed: UInt64(trials)) {
        complaints.append("\(text): \(complaint)")
      }
    }
    #expect(complaints.isEmpty, "\(complaints.count) of \(trials): \(complaints.prefix(12).joined(separator: "\n"))")
    #expect(trials > 5 && (unknown > 0 || !complaints.isEmpty), "\(trials) trials, \(unknown) unknown")
  }

  /// The syncs that set the log up are like any other: asked again, the system may say that all is well.
  @Test("After a failed sync nothing is acknowledged, the first transaction's syncs among them")
  func failedSyncIsFinal() throws {
    let base = try Self.base.get()
    let calm = try OutcomeTrial(.first, on: base)
    calm.disk.isTracing = true
    _ = calm.transact("new", rowCount: 3)
    let syncs = calm.disk.trace.filter {
      $0.operation.kind == .synchronize || $0.operation.kind == .synchronizeDirectory
    }
    #expect(syncs.count >= 5)
    for call in syncs {
      let trial = try OutcomeTrial(.first, on: base)
      trial.disk.fail(
        operation: call.number, with: .failedSync(.forgets, SystemCode.inputOutput, survivorsOneIn: 0))
      let told = trial.transact("new", rowCount: 3)
      let after = trial.transact("after", rowCount: 2)
      #expect(told.error != nil, "\(call): \(told)")
      #expect(after.error?.code == .failStop, "\(call): new \(told), and after \(after)")
    }
  }

  private static func open(_ disk: SimulatedDisk, salt: UInt64 = 7) throws -> StorageEngine {
    try StorageEngine(
      at: "/db", options: StorageOptions(),
      environment: StorageEnvironment(fileSystem: disk, random: { salt }, scheduling: .stepped))
  }

  /// What a process leaves that was killed between the name of a new database and the sync that makes it durable.
  private static func killedBeforeTheName() throws -> SimulatedDisk {
    let made = SimulatedDisk()
    let naming = made.hold(.synchronizeDirectory)
    let making = Promise { _ = try? open(made) }
    try #require(naming.awaitCall())
    let disk = made.processKillImage()
    naming.release()
    _ = making.get()
    #expect(disk.names.contains("/db") && !disk.durableNames.contains("/db"))
    return disk
  }

  /// Whoever made the database was killed before its name was durable, and the first transaction of the next process
  /// finds that it cannot be made so.
  @Test("What was acknowledged is not lost with the name of the file")
  func nameThatIsNotDurable() throws {
    let disk = try Self.killedBeforeTheName()
    let engine = try Self.open(disk, salt: 8)
    disk.failNext(.synchronizeDirectory, with: .failedSync(.forgets, SystemCode.inputOutput, survivorsOneIn: 0))
    var acknowledged: [String] = []
    for name in ["a", "b", "c"] {
      do {
        try engine.write { tx in try tx.createTree(name, keys: .bytes) }
        acknowledged.append(name)
      } catch {}
    }
    let image = disk.crashImage(.allOld)
    do {
      let found = try Self.open(image, salt: 9).read { tx in tx.treeNames }
      #expect(found == acknowledged)
    } catch { Issue.record("\(acknowledged) were acknowledged, \(image.names) are there, and opening threw \(error)") }
  }

  /// Whoever made the database was killed before its name was durable, the next process could not make it so,
  /// and the one after that finds nothing wrong.
  @Test("A name that was forgotten before anybody wrote is made anew", arguments: [0, 1, 2])
  func nameThatWasForgottenLater(failingCall: Int) throws {
    let killed = try Self.killedBeforeTheName()
    killed.failNext(
      .synchronizeDirectory, skipping: failingCall,
      with: .failedSync(.forgets, SystemCode.inputOutput, survivorsOneIn: 0))
    do {
      let engine = try Self.open(killed, salt: 8)
      try engine.write { tx in try tx.createTree("a", keys: .bytes) }
      #expect(failingCall > 0, "nobody synced the folder")
    } catch {}
    let disk = killed.processKillImage()
    let engine = try Self.open(disk, salt: 9)
    try engine.write { tx in try tx.createTree("b", keys: .bytes) }
    for mode in [CrashMode.allOld, .allNew, .random(1)] {
      let names = try Self.open(disk.crashImage(mode)).read { tx in tx.treeNames }
      #expect(names.contains("b"), "\(mode)")
    }
  }

  /// Whoever made the database while this process was about to was killed, and the sync of the folder has failed.
  @Test func nameThatSomebodyElseMadeIsMadeAnew() throws {
    let other = SimulatedDisk()
    _ = try Self.open(other)
    var bytes = try #require(other.bytes(of: "/db"))
    bytes.replaceSubrange(MetaPage.byteCount..., with: repeatElement(0, count: bytes.count - MetaPage.byteCount))
    let disk = SimulatedDisk()
    let linking = disk.hold(.link)
    let opening = Promise { try? Self.open(disk, salt: 8) }
    try #require(linking.awaitCall())
    let file = try disk.open("/other", .createNew)
    try file.put(bytes, at: 0)
    try file.synchronize()
    try disk.link("/other", to: "/db")
    disk.failNext(.synchronizeDirectory, with: .failedSync(.forgets, SystemCode.inputOutput, survivorsOneIn: 0))
    #expect(throws: SystemError.self) { try disk.synchronizeDirectory(of: "/db") }
    linking.release()
    let engine = try #require(opening.get() ?? nil)
    try engine.write { tx in try tx.createTree("a", keys: .bytes) }
    #expect(try Self.open(disk.crashImage(.allOld), salt: 9).read { tx in tx.treeNames } == ["a"])
  }

  @Test func nameThatIsDurableIsLeftAlone() throws {
    let disk = SimulatedDisk()
    _ = try Self.open(disk)
    let again = disk.processKillImage()
    _ = try Self.open(again)
    #expect(again.counters[.rename] == 0)
    // The note was not synced; without it the file has another one in its place.
    let cut = disk.crashImage(.allOld)
    let engine = try Self.open(cut, salt: 8)
    #expect(cut.counters[.rename] == 1)
    try engine.write { tx in try tx.createTree("a", keys: .bytes) }
    #expect(try Self.open(cut.crashImage(.allOld)).read { tx in tx.treeNames } == ["a"])
  }

  /// A sync of the folder that has failed may have forgotten the name: no later one would make it durable, and what
  /// came after it would be.
  @Test("A name that could not be made durable goes, and is made anew", arguments: [0, 1, 2])
  func nameThatWasForgotten(survivorsOneIn: Int) throws {
    let disk = SimulatedDisk()
    let effect = FaultEffect.failedSync(.forgets, SystemCode.inputOutput, survivorsOneIn: survivorsOneIn)
    disk.failNext(.synchronizeDirectory, with: effect)
    #expect(throws: StorageError.self) { _ = try Self.open(disk) }
    #expect(!disk.names.contains("/db"))
    let engine = try Self.open(disk)
    try engine.write { tx in try tx.createTree("a", keys: .bytes) }
    for mode in [CrashMode.allOld, .allNew, .random(1)] {
      let names = try Self.open(disk.crashImage(mode)).read { tx in tx.treeNames }
      #expect(names == ["a"], "\(mode)")
    }
  }

  /// Where the proof of a meta page fails, recovery writes over that page: it may be on its way when the power fails.
  @Test("What was acknowledged survives a power cut in the recovery after it", arguments: [OutcomeScene.large, .small])
  func recoveryIsCut(scene: OutcomeScene) throws {
    let base = try Self.base.get()
    let calm = try OutcomeTrial(scene, on: base)
    calm.disk.isTracing = true
    _ = calm.transact("new", rowCount: scene.rowCount)
    // From the meta page on, or, of a transaction in the log, all calls.
    let decisive = calm.disk.trace.drop { scene.isLarge && !Self.isMeta($0) }
    let failures = TestSize.someFirst(allFailures(decisive, 0), of: 6)
    var cuts = 0
    for (index, (call, effect)) in failures.cases.enumerated() {
      if index >= failures.least, cuts > 10 { break }
      let trial = try OutcomeTrial(scene, on: base)
      trial.disk.fail(operation: call.number, with: effect)
      let told = trial.transact("new", rowCount: scene.rowCount)
      for image in [trial.disk.processKillImage(), trial.disk.crashImage(.allOld)] {
        for found in try rowsAfterCutRecoveries(image, &cuts) {
          let isRight =
            told.isUnknown ? [0, scene.rowCount].contains(found) : told.error != nil || found == scene.rowCount
          #expect(isRight, "\(scene), \(call) with \(effect): \(told), and \(found) rows are there")
        }
      }
    }
    #expect(cuts > 10)
  }

  private static func isMeta(_ call: TracedOperation) -> Bool {
    call.operation.kind == .write && call.operation.path == "/db" && call.operation.offset < 2 * 4096
  }

  /// How many rows there are after recoveries that were cut while a meta page was on its way, one count for each.
  private func rowsAfterCutRecoveries(_ image: SimulatedDisk, _ cuts: inout Int) throws -> Set<Int> {
    let probe = image.copy()
    probe.isTracing = true
    let start = probe.operationCount
    _ = try OutcomeTrial.open(probe)
    var found: Set<Int> = []
    for write in probe.trace.filter(Self.isMeta) {
      let disk = image.copy()
      disk.powerOff(beforeOperation: disk.operationCount + write.number - start + 1)
      _ = try? OutcomeTrial.open(disk)
      for seed in 0..<UInt64(TestSize.trials(8, divisor: 2)) {
        cuts += 1
        let again = try OutcomeTrial.open(disk.crashImage(.random(seed)))
        found.insert(try OutcomeTrial.count("new", in: again))
      }
    }
    return found
  }

  /// Every way in which each of some calls may fail.
  private func allFailures(
    _ calls: ArraySlice<TracedOperation>, _ callCount: Int
  ) -> [(call: TracedOperation, effect: FaultEffect)] {
    calls.flatMap { call in effects(on: call, callCount).map { (call: call, effect: $0) } }
  }

  /// How a call may fail. Of the many writes of pages and of parts of records, which are alike, only some are tried.
  private func effects(on call: TracedOperation, _ callCount: Int) -> [FaultEffect] {
    let (eio, full) = (SystemCode.inputOutput, SystemCode.noSpace)
    switch call.operation.kind {
    case .read, .lock, .status: return []
    case .synchronize:
      return [
        .failedSync(.forgets, eio, survivorsOneIn: 1), .failedSync(.forgets, eio, survivorsOneIn: 0),
        .failedSync(.reverts, eio, survivorsOneIn: 0), .failedSync(.forgets, full, survivorsOneIn: 1),
      ]
    case .synchronizeDirectory:
      return [.failedSync(.forgets, eio, survivorsOneIn: 1), .failedSync(.forgets, eio, survivorsOneIn: 0)]
    case .write:
      if call.operation.count > MetaPage.byteCount, callCount > 30, call.number % 6 != 0 { return [] }
      return [.error(eio), .errorAfter(call.operation.count, eio), .error(full)]
    case .open, .link, .rename, .unlink, .resize, .allocate: return [.error(eio), .error(full)]
    }
  }

  // MARK: Comparing

  /// What was told and is not so, now and after reopening.
  private func check(_ trial: OutcomeTrial, _ told: Told, _ after: Told, seed: UInt64) throws -> [String] {
    var complaints = [("new", told), ("after", after)].compactMap { name, told in
      complaint(of: told).map { "\(name) \($0)" }
    }
    let expected = [("new", told, trial.scene.rowCount), ("after", after, 2)]
    for (name, told, rowCount) in expected {
      // Nobody is shown what is not certain.
      let shown = try OutcomeTrial.count(name, in: trial.db)
      if shown != (told.error == nil ? rowCount : 0) { complaints.append("\(name) \(told), and readers see \(shown)") }
    }
    if told.isUnknown, after.error == nil { complaints.append("new \(told), and after was acknowledged") }
    let images: [(String, SimulatedDisk)] = [
      ("kill", trial.disk.processKillImage()), ("nothing unsynced", trial.disk.crashImage(.allOld)),
      ("all unsynced", trial.disk.crashImage(.allNew)), ("power cut \(seed)", trial.disk.crashImage(.random(seed))),
    ]
    for (image, disk) in images {
      do {
        let db = try OutcomeTrial.open(disk)
        if try OutcomeTrial.count("earlier", in: db) != OutcomeTrial.earlier {
          complaints.append("\(image): rows are gone")
        }
        for (name, told, rowCount) in expected {
          let found = try OutcomeTrial.count(name, in: db)
          let isRight = told.isUnknown ? found == 0 || found == rowCount : found == (told.error == nil ? rowCount : 0)
          if !isRight { complaints.append("\(image): \(name) \(told), and \(found) of \(rowCount) rows are there") }
        }
        try db.close()
      } catch { complaints.append("\(image): \(error)") }
    }
    return complaints
  }

  /// What contradicts itself.
  private func complaint(of told: Told) -> String? {
    let expected = (told.error == nil ? 1 : 0, told.error == nil || told.isUnknown || !told.hasBegun ? 0 : 1)
    return (told.committed, told.rolledBack) == expected ? nil : "\(told)"
  }
}
