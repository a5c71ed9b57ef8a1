// A process that has no thread left: work is done on the caller's, or refused before it begins.

import QuireStorage
import QuireTesting
import Synchronization
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Threads of which there are so many and no more.
final class ThreadSupply: Sendable {
  private let left: Atomic<Int>
  /// How many were asked for in vain.
  let refused = Atomic<Int>(0)

  init(_ count: Int) { left = Atomic(count) }

  func refill(_ count: Int) { left.store(count, ordering: .sequentiallyConsistent) }

  var starter: ThreadStarter {
    ThreadStarter { [self] body throws(SystemError) in
      if left.wrappingSubtract(1, ordering: .sequentiallyConsistent).oldValue <= 0 {
        left.wrappingAdd(1, ordering: .sequentiallyConsistent)
        refused.wrappingAdd(1, ordering: .sequentiallyConsistent)
        throw SystemError(code: EAGAIN, call: "pthread_create")
      }
      try ThreadStarter.system.start(body)
    }
  }
}

@Suite struct ScarceThreadTests {
  private static func open(
    _ disk: SimulatedDisk, _ supply: ThreadSupply, _ durability: Durability = .full
  ) throws -> StorageEngine {
    var options = StorageOptions(pageSize: 512, cacheSize: 64 * 512, logLimit: 64 << 10)
    options.durability = durability
    var environment = disk.environment(scheduling: .threads, segmentByteCount: 16 << 10)
    environment.threadStarter = supply.starter
    return try StorageEngine(at: "/db", options: options, environment: environment)
  }

  private static func tree(_ engine: StorageEngine) throws -> Tree {
    try engine.write { tx in try tx.tree(named: "t") ?? tx.createTree("t", keys: .int64) }
  }

  private static func put(_ engine: StorageEngine, _ round: Int, _ tree: Tree) throws {
    try engine.write { tx in
      for number in Int64(0)..<40 {
        try tx.put([UInt8](marked: round, count: 60), for: number + Int64(round % 7) * 40, in: tree)
      }
    }
  }

  @Test(
    "Who waits for his own commits needs no thread",
    arguments: [Durability.full, .relaxed, .interval(.milliseconds(1))])
  func writersNeedNoThread(durability: Durability) throws {
    let (disk, supply) = (SimulatedDisk(), ThreadSupply(0))
    var engine = try Self.open(disk, supply, durability)
    let tree = try Self.tree(engine)
    for round in 0..<300 { try Self.put(engine, round, tree) }
    // The log is full several times over, and memory too: checkpoints have run.
    #expect(engine.statistics.checkpoints > 3)
    try engine.checkpoint()
    try engine.flush()
    try engine.verify()
    #expect(supply.refused.load(ordering: .relaxed) > 0)
    let expected = try DatabaseContent(of: engine)
    try engine.close()
    engine = try disk.openEngine()
    let found = try DatabaseContent(of: engine)
    #expect(found == expected)
    try engine.close()
  }

  @Test("What was acknowledged without a thread is there after a crash") func acknowledgedIsDurable() throws {
    let (disk, supply) = (SimulatedDisk(), ThreadSupply(0))
    let engine = try Self.open(disk, supply)
    let tree = try Self.tree(engine)
    for round in 0..<40 {
      try Self.put(engine, round, tree)
      guard round % 8 == 7 else { continue }
      let expected = try DatabaseContent(of: engine)
      let crashed = try disk.crashImage(.allOld).openEngine()
      let found = try DatabaseContent(of: crashed)
      #expect(found == expected, "round \(round)")
      try crashed.close()
    }
    try engine.close()
  }

  @Test("A call that needs a thread is refused before anything is done") func asyncCallsAreRefused() async throws {
    let (disk, supply) = (SimulatedDisk(), ThreadSupply(0))
    let engine = try Self.open(disk, supply)
    let ran = Shared(Atomic<Int>(0))
    @Sendable func note() { ran.value.wrappingAdd(1, ordering: .relaxed) }
    let csn = try newestCSN(engine)
    func expectRefusal(_ call: () async throws -> Void) async {
      let error = await #expect(throws: StorageError.self) { try await call() }
      #expect(error?.code == .limitReached && error?.systemError?.code == EAGAIN, "\(error.debugDescription)")
      #expect(error?.path == "/db")
    }
    await expectRefusal { try await engine.read { _ in note() } }
    await expectRefusal {
      try await engine.write { tx in
        note()
        _ = try tx.createTree("t", keys: .int64)
      }
    }
    await expectRefusal { _ = try await engine.verify() }
    #expect(ran.value.load(ordering: .relaxed) == 0)
    #expect(try newestCSN(engine) == csn)
    supply.refill(100)
    try await engine.write { tx in _ = try tx.createTree("t", keys: .int64) }
    try await engine.read { tx in #expect(tx.tree(named: "t") != nil) }
    _ = try await engine.verify()
    try close(engine)
  }

  /// One thread after the other runs out: at the first, at the second, and so on.
  @Test("Each commit is acknowledged or refused, wherever threads run out", arguments: 0..<8)
  func nothingHangs(count: Int) async throws {
    let (disk, supply) = (SimulatedDisk(), ThreadSupply(count))
    let engine = try Self.open(disk, supply)
    let tree = try Self.tree(engine)
    var committed: Set<Int> = []
    for round in 0..<30 {
      do {
        try await engine.write { tx in
          for number in Int64(0)..<40 {
            try tx.put([UInt8](marked: round, count: 60), for: number + Int64(round) * 40, in: tree)
          }
        }
        committed.insert(round)
      } catch { #expect((error as? StorageError)?.code == .limitReached, "\(error)") }
    }
    if count < 2 { #expect(committed.isEmpty) }
    // What marks, tidies and checkpoints may have been first to take one each.
    if count > 4 { #expect(committed.count == 30) }
    let crashed = try disk.crashImage(.allOld).openEngine()
    for round in 0..<30 {
      let value = try read(crashed, Int64(round) * 40 + 39, tree)
      #expect((value != nil) == committed.contains(round), "round \(round)")
    }
    try close(crashed)
    try close(engine)
  }

  private func read(_ engine: StorageEngine, _ key: Int64, _ tree: Tree) throws -> [UInt8]? {
    try engine.read { tx in try tx.value(for: key, in: tree) }
  }
  private func newestCSN(_ engine: StorageEngine) throws -> CSN { try engine.read { tx in tx.csn } }
  private func close(_ engine: StorageEngine) throws { try engine.close() }

  #if os(Linux)
    /// The real thing: a user who may have no more threads.
    @Test func processWithoutThreads() async {
      let folder = TemporaryFolder()
      await #expect(processExitsWith: .success) { [path = folder.path as String] in
        // The limit is none for a user who may do anything: such a process becomes somebody else.
        if geteuid() == 0 { guard chown(path, 65_533, 65_533) == 0 else { exit(3) } }
        var limit = rlimit(rlim_cur: 1, rlim_max: 1)
        guard setrlimit(__rlimit_resource_t(__RLIMIT_NPROC.rawValue), &limit) == 0 else { exit(4) }
        if geteuid() == 0 { guard setgid(65_533) == 0, setuid(65_533) == 0 else { exit(5) } }
        do {
          do throws(SystemError) {
            try ThreadStarter.system.start {}
            exit(6)
          } catch { if error.code != EAGAIN { exit(7) } }
          let options = StorageOptions(cacheSize: 4 << 20, logLimit: 64 << 10)
          var engine = try StorageEngine(at: path + "/a.quire", options: options)
          let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
          for round in 0..<100 {
            try engine.write { tx in
              for number in Int64(0)..<20 { try tx.put([UInt8](marked: round, count: 200), for: number, in: tree) }
            }
          }
          do throws(StorageError) {
            try engine.core.threads.runReader {}
            exit(8)
          } catch { if error.code != .limitReached { exit(9) } }
          try engine.checkpoint()
          try engine.close()
          engine = try StorageEngine(at: path + "/a.quire")
          let value = try engine.read { tx in try tx.value(for: Int64(19), in: tree) }
          guard value == [UInt8](marked: 99, count: 200) else { exit(10) }
          try engine.close()
          exit(0)
        } catch {
          print(error)
          exit(11)
        }
      }
    }
  #endif

  // MARK: Readers

  @Test("One reader too many is refused, and in nobody's way") func readersHaveALimit() throws {
    let disk = SimulatedDisk()
    var environment = disk.environment()
    environment.readerBlockCount = 2
    let engine = try StorageEngine(at: "/db", options: StorageOptions(pageSize: 512), environment: environment)
    let tree = try Self.tree(engine)
    var pins: [PinnedSnapshot] = []
    // One slot is the writer's.
    for _ in 0..<127 { pins.append(try engine.pin()) }
    func expectRefusal(_ call: () throws -> Void) {
      let error = #expect(throws: StorageError.self) { try call() }
      #expect(error?.code == .limitReached && error?.path == "/db", "\(error.debugDescription)")
      #expect(error?.message.contains("127 reads and pinned snapshots") == true)
    }
    expectRefusal { _ = try engine.pin() }
    expectRefusal { try engine.read { _ in } }
    expectRefusal { try pins[0].read { _ in } }
    expectRefusal { _ = try engine.verify() }
    #expect(engine.statistics.readers == 127)
    // Writers, and checkpoints, which announce a snapshot for themselves, go on.
    for round in 0..<20 { try Self.put(engine, round, tree) }
    try engine.checkpoint()
    pins.removeLast()
    let count = try engine.read { tx in try tx.count(of: tree) }
    #expect(count > 0)
    pins.removeAll()
    try engine.verify()
    try engine.close()
  }
}
