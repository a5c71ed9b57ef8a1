// What a writer is told, held against what the next opening shows, for every call that can fail on the way.

import QuireStorage
import QuireTesting
import Synchronization
import Testing

@Suite struct CommitOutcomeTests {
  /// What the caller of a write knows of it.
  enum Told: Equatable {
    case returned
    case rolledBack
    case unknown
  }

  enum Size: CaseIterable {
    /// The first commit after an opening, which sets the log up.
    case first
    /// A commit in the log.
    case logged
    /// One that is too long for the log, and commits by checkpoint.
    case unlogged
  }

  private static let options = StorageOptions(pageSize: 512, cacheSize: 4 << 20, logLimit: 64 << 10)
  private static let effects: [FaultEffect] = [
    .error(SystemCode.inputOutput), .error(SystemCode.noSpace),
    // All that was to be written stands in the file, and the call says that it does not.
    .errorAfter(1 << 30, SystemCode.inputOutput),
    .failedSync(.forgets, SystemCode.inputOutput, survivorsOneIn: 0),
    .failedSync(.forgets, SystemCode.inputOutput, survivorsOneIn: 1),
    .failedSync(.reverts, SystemCode.inputOutput, survivorsOneIn: 0),
  ]

  private func open(_ disk: SimulatedDisk) throws -> StorageEngine {
    try disk.openEngine(Self.options, segmentByteCount: 16 << 10, partByteCount: 4 << 10)
  }

  /// A disk with a database on it, and an engine that is about to write.
  private func prepare(_ size: Size) throws -> (SimulatedDisk, StorageEngine) {
    let disk = SimulatedDisk()
    let engine = try open(disk)
    try engine.write { tx in
      let tree = try tx.createTree("t", keys: .int64)
      for key in 0..<40 { try tx.put([UInt8](marked: key, count: 50), for: Int64(key), in: tree) }
    }
    guard size == .first else { return (disk, engine) }
    try engine.close()
    return (disk, try open(disk))
  }

  private static func rowCount(_ size: Size) -> Int { size == .unlogged ? 1000 : 3 }

  private func write(_ engine: StorageEngine, _ size: Size) throws {
    try engine.write { tx in
      let tree = try tx.tree(named: "t").orThrow()
      for key in 1000..<(1000 + Self.rowCount(size)) {
        try tx.put([UInt8](marked: key, count: 60), for: Int64(key), in: tree)
      }
    }
  }

  private func told(_ body: () throws -> Void) -> Told {
    do {
      try body()
      return .returned
    } catch let error as StorageError where error.code == .outcomeUnknown {
      return .unknown
    } catch {
      return .rolledBack
    }
  }

  /// How many rows of the transaction an opening of this disk shows.
  private func found(on disk: SimulatedDisk, _ place: String) throws -> Int {
    let engine = try open(disk)
    let count = try engine.read { tx in
      let tree = try tx.tree(named: "t").orThrow()
      for key in 0..<40 where try tx.value(for: Int64(key), in: tree) == nil { throw Mismatch("\(place): lost \(key)") }
      return try tx.count(of: tree) - 40
    }
    try engine.verify()
    return count
  }

  /// The numbers of calls; in the short size some of the many writes of pages first, and the last ones, which decide.
  private static func calls(_ count: Int) -> (cases: [Int], least: Int) {
    let last = max(0, count - TestSize.trials(8, divisor: 2))
    let decisive = Array(last..<count)
    let others = TestSize.someFirst(Array(0..<last), of: 2)
    if others.least == others.cases.count { return (Array(0..<count), count) }
    let first = Array(others.cases.prefix(others.least)) + decisive
    return (first + Array(others.cases.dropFirst(others.least)), first.count)
  }

  /// Whether all has been told that is expected of all calls together: in the short size no more of them fail then.
  private static func hasAll(_ size: Size, _ seen: [Told], _ withoutProof: Int) -> Bool {
    switch size {
    case .first: seen.contains(.rolledBack) && seen.contains(.unknown)
    case .logged: seen.contains(.rolledBack) && seen.contains(.unknown) && seen.count == 2
    case .unlogged: seen.count == 3 && withoutProof > 0
    }
  }

  @Test(
    "What a writer was told is what every later opening shows, whichever call fails",
    .enabled(if: TestSize.hasSlowTests, "slow"), arguments: Size.allCases)
  func toldIsTrue(size: Size) throws {
    let (calm, engine) = try prepare(size)
    let first = calm.operationCount
    try write(engine, size)
    let count = calm.operationCount - first
    if size == .unlogged { #expect(engine.statistics.checkpoints == 1) }
    var seen: [Told] = []
    var withoutProof = 0
    let calls = Self.calls(count)
    for (turn, number) in calls.cases.enumerated() {
      if turn >= calls.least, Self.hasAll(size, seen, withoutProof) { break }
      for (index, effect) in Self.effects.enumerated() {
        let place = "\(size), call \(number) of \(count), \(effect)"
        let (disk, engine) = try prepare(size)
        disk.fail(operation: disk.operationCount + number, with: effect)
        let told = told { try write(engine, size) }
        if !seen.contains(told) { seen.append(told) }
        if told == .returned, engine.core.queue.failure != nil { withoutProof += 1 }
        // What readers of the same process see is what was told, too.
        if told == .returned { #expect(try engine.read { try $0.countAll() } == 40 + Self.rowCount(size), "\(place)") }
        var images = [disk.processKillImage(), disk.crashImage(.allNew), disk.crashImage(.allOld)]
        images += (0..<(TestSize.isFull ? 2 : 1)).map { disk.crashImage(.random(UInt64(number * 16 + index * 2 + $0))) }
        for (index, image) in images.enumerated() {
          let found = try found(on: image, "\(place), image \(index)")
          #expect(found == 0 || found == Self.rowCount(size), "\(place), image \(index): half a transaction")
          switch told {
          case .returned: #expect(found > 0, "\(place), image \(index): lost")
          case .rolledBack: #expect(found == 0, "\(place), image \(index): a ghost")
          case .unknown: break
          }
        }
      }
    }
    switch size {
    case .first: #expect(seen.contains(.rolledBack) && seen.contains(.unknown), "\(seen)")
    // Its two calls, the write and the sync, both stand behind the point of no return.
    // A full disk is found not to have the record.
    case .logged: #expect(Set(seen.map { "\($0)" }) == ["unknown", "rolledBack"], "\(seen)")
    case .unlogged:
      #expect(seen.count == 3, "\(seen)")
      #expect(withoutProof > 0, "a commit whose meta page is durable stands, whatever becomes of the proof")
    }
  }

  @Test("A transaction without a commit is not told that the outcome of its commit is unknown")
  func emptyWritesHaveNoOutcome() throws {
    for isThrowing in [false, true] {
      let disk = SimulatedDisk()
      let engine = try open(disk)
      let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
      _ = try engine.core.writeWithoutWaiting { tx in try tx.put("a", for: Int64(1), in: tree) }
      disk.failNext(.synchronize, with: .error(SystemCode.inputOutput))
      do {
        try engine.write { _ in if isThrowing { throw Mismatch("on purpose") } }
        Issue.record("the disk did not have what the transaction saw")
      } catch let error as StorageError {
        #expect(error.code == .failStop)
      }
    }
  }

  @Test("Who is told of a failure may ask the engine for anything, from any thread", arguments: [false, true])
  func callbacksRunUnderNoLatch(byMark: Bool) throws {
    let disk = SimulatedDisk()
    let engine = try open(disk)
    let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    let (_, ticket) = try engine.core.writeWithoutWaiting { tx in try tx.put("a", for: Int64(1), in: tree) }
    let codes = Latch<[StorageError.Code?]>([])
    try engine.core.queue.notify(whenDurable: ticket.lsn.orThrow()) { failure in
      let group = ThreadGroup()
      group.start { _ = engine.statistics }
      #expect(group.join().isEmpty)
      #expect(engine.statistics.commits == 2)
      codes.withLock { $0.append(failure?.code) }
    }
    disk.failNext(.write, with: .error(SystemCode.inputOutput))
    if byMark {
      #expect(throws: StorageError.self) { try engine.core.log.prove(1, next: nil, isHeaderWritten: true) }
    } else {
      #expect(throws: StorageError.self) { try engine.write { tx in try tx.put("b", for: Int64(2), in: tree) } }
    }
    #expect(codes.withLock { $0 } == [.outcomeUnknown])
  }

  @Test(
    "A sync that fails while the log is set up is final", arguments: [OperationKind.synchronize, .synchronizeDirectory])
  func setUpSyncsAreFinal(kind: OperationKind) throws {
    var struck = 0
    for skipped in 0..<6 {
      let (disk, engine) = try prepare(.first)
      disk.failNext(kind, skipping: skipped, with: .error(SystemCode.inputOutput))
      let first = told { try write(engine, .first) }
      guard first != .returned else { break }
      struck += 1
      #expect(told { try write(engine, .first) } == .rolledBack, "\(kind) \(skipped): a failed sync is final")
      #expect(engine.core.queue.failure?.code == .failStop)
      #expect(try engine.read { try $0.countAll() } == 40)
    }
    #expect(struck >= 2)
  }

  @Test("Of a failed commit with many pages each is given back once")
  func takingBackIsLinear() throws {
    func duration(ofTakingBack rows: Int) throws -> Duration {
      let disk = SimulatedDisk()
      let options = StorageOptions(pageSize: 512, cacheSize: 64 << 20, logLimit: 64 << 10)
      let engine = try disk.openEngine(options, segmentByteCount: 16 << 10, partByteCount: 4 << 10)
      try engine.write { tx in
        let tree = try tx.createTree("t", keys: .int64)
        for key in 0..<rows { try tx.put([UInt8](marked: key, count: 60), for: Int64(key), in: tree) }
      }
      let core = engine.core
      try engine.checkpoint()
      let before = core.allocator.supersededCount
      core.context.begin(on: core.head)
      defer { core.context.rollback() }
      let csn = core.context.csn.rawValue
      try core.context.dropTree(try core.context.tree(named: "t").orThrow())
      try withWriterPermit { permit in core.reclaimer.retire(core.context.superseded, csn: csn, permit) }
      #expect(core.allocator.supersededCount - before > rows / 10)
      let clock = ContinuousClock()
      let time = try clock.measure { try withWriterPermit { permit in core.reclaimer.unretire(csn: csn, permit) } }
      #expect(core.allocator.supersededCount == before)
      #expect(core.allocator.checkInvariants() == nil)
      return time
    }
    let (small, large) = (try duration(ofTakingBack: 4_000), try duration(ofTakingBack: 64_000))
    // Sixteen times as many pages: 16 times the work, where one pass for each takes 256 times.
    #expect(large < small * 100 + .milliseconds(50), "\(small) for 4,000 rows, \(large) for 64,000")
  }
}

extension Optional {
  fileprivate func orThrow() throws -> Wrapped {
    guard let self else { throw Mismatch("there is nothing") }
    return self
  }
}

extension ReadTransaction {
  fileprivate borrowing func countAll() throws -> Int { try count(of: try tree(named: "t").orThrow()) }
}
