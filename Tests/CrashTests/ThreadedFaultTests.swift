// Calls to the disk that fail while those of other threads are in flight. Run under the thread sanitizer with --filter
// Threaded; a longer run, or one history, by
//
//     QUIRE_FAULT_ROUNDS=2000 QUIRE_FAULT_SEED=7 swift test --filter ThreadedFaultTests

import Dispatch
import QuireStorage
import QuireTesting
import Synchronization
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// An engine with threads on a simulated disk, and a tree to write to.
private struct Stage: Sendable {
  let disk = SimulatedDisk()
  let engine: StorageEngine
  let tree: Tree

  static func environment(_ disk: SimulatedDisk, _ scheduling: Scheduling) -> StorageEnvironment {
    let dice = Latch(SeededRandom(seed: 5))
    return StorageEnvironment(
      fileSystem: disk, random: { dice.withLock { $0.next() } }, scheduling: scheduling,
      initialSegmentByteCount: 64 << 10, unloggedByteCount: 1000, continuedLogByteCount: 0)
  }

  static func open(
    _ disk: SimulatedDisk, _ durability: Durability = .full, _ scheduling: Scheduling = .stepped
  ) throws -> StorageEngine {
    var options = StorageOptions(cacheSize: 4 << 20, durability: durability, logLimit: 64 << 10)
    options.maintainsWhenIdle = false
    return try StorageEngine(at: "/db", options: options, environment: environment(disk, scheduling))
  }

  init(_ durability: Durability = .full, _ scheduling: Scheduling = .threads) throws {
    engine = try Self.open(disk, durability, scheduling)
    tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    try engine.write { [tree] tx in try tx.put("before", for: Int64(0), in: tree) }
    try engine.flush()
    if scheduling == .stepped { return }
    // The quiet mark comes a few milliseconds after a flush, and would be in the way of what is to come.
    let written = disk.writeCount(of: "/db-log0")
    for _ in 0..<40 where disk.writeCount(of: "/db-log0") == written { ThreadedFaultHistory.sleep(1000) }
  }

  /// What a transaction that puts `key` is told; nil if it returns.
  func put(_ key: Int64) -> StorageError.Code? {
    do {
      try engine.write { tx in try tx.put("value", for: key, in: tree) }
      return nil
    } catch { return (error as? StorageError)?.code ?? .closed }
  }

  /// The keys that readers see.
  func keys(_ engine: StorageEngine) throws -> [Int64] {
    try engine.read { tx in
      let tree = tx.tree(named: "t")
      return try (0..<40 as Range<Int64>).filter { key in
        try tree.map { tree in try tx.value(for: key, in: tree) != nil } ?? false
      }
    }
  }

  /// The keys that are there when the process has been killed, and when the power has been cut in two ways.
  func keysAfterwards() throws -> [[Int64]] {
    try [disk.processKillImage(), disk.crashImage(.allOld), disk.crashImage(.allNew)].map { image in
      try keys(try Self.open(image))
    }
  }
}

/// A value that another thread finds out.
final class Promise<Value: Sendable>: Sendable {
  private let value = Latch<Value?>(nil)
  private let isKept = DispatchSemaphore(value: 0)

  /// Runs `body` on a thread of its own.
  init(_ body: @escaping @Sendable () -> Value) {
    DispatchQueue.global().async { [self] in
      let found = body()
      value.withLock { $0 = found }
      isKept.signal()
    }
  }

  /// Waits for it; nil if that takes too long.
  func get() -> Value? {
    guard isKept.wait(timeout: .now() + 30) == .success else { return nil }
    return value.withLock { $0 }
  }
}

@Suite(.serialized) struct ThreadedFaultTests {
  private static func number(_ name: String) -> Int? { getenv(name).flatMap { Int(String(cString: $0)) } }

  static func command(_ seed: UInt64) -> String {
    "QUIRE_FAULT_ROUNDS=200 QUIRE_FAULT_SEED=\(seed) QUIRE_FAULT_REPEATS=1 swift test --filter ThreadedFaultTests"
  }

  @Test("A commit whose sync succeeds is seen, though the next record could not be written meanwhile")
  func syncOutlivesAnAppend() throws {
    let stage = try Stage()
    let sync = stage.disk.hold(.synchronize, of: "/db-log0")
    let first = Promise { stage.put(1) }
    try #require(sync.awaitCall())
    stage.disk.failNext(.write, of: "/db-log0", with: .error(SystemCode.inputOutput))
    let second = try #require(stage.put(2))
    #expect(second == .inputOutput || second == .failStop || second == .outcomeUnknown)
    sync.release()
    let told = try #require(first.get(), "the first commit does not end")
    #expect(told == nil, "its sync has succeeded")
    #expect(try stage.keys(stage.engine) == [0, 1], "what was acknowledged is not shown")
    #expect(stage.put(3) == .failStop)
    #expect(try stage.keysAfterwards() == [[0, 1], [0, 1], [0, 1]])
  }

  @Test("Who waits for a sync that fails is told that nobody knows, and so is who waited for the next one")
  func syncFailsForAll() throws {
    for survivors in [0, 1] {
      let stage = try Stage()
      let sync = stage.disk.hold(.synchronize, of: "/db-log0")
      let first = Promise { stage.put(1) }
      try #require(sync.awaitCall())
      let second = Promise { stage.put(2) }
      while stage.engine.statistics.appendedCSN.rawValue < stage.engine.statistics.publishedCSN.rawValue + 2 {
        ThreadedFaultHistory.sleep(200)
      }
      sync.release(.failedSync(.forgets, SystemCode.inputOutput, survivorsOneIn: survivors))
      #expect(try #require(first.get()) == .outcomeUnknown)
      #expect(try #require(second.get()) == .outcomeUnknown)
      #expect(try stage.keys(stage.engine) == [0])
      for keys in try stage.keysAfterwards() { #expect([[0], [0, 1], [0, 1, 2]].contains(keys), "\(keys)") }
    }
  }

  @Test("A relaxed commit that returns is seen, though a sync failed while it was appended")
  func syncFailsDuringAnAppend() throws {
    let stage = try Stage(.relaxed)
    #expect(stage.put(1) == nil)
    let append = stage.disk.hold(.write, of: "/db-log0")
    let second = Promise { stage.put(2) }
    try #require(append.awaitCall())
    stage.disk.failNext(
      .synchronize, of: "/db-log0", with: .failedSync(.forgets, SystemCode.inputOutput, survivorsOneIn: 1))
    #expect(throws: StorageError.self) { try stage.engine.flush() }
    append.release()
    let told = try #require(second.get(), "the second commit does not end")
    let shown = try stage.keys(stage.engine)
    #expect(told == nil ? shown == [0, 1, 2] : shown == [0, 1], "told \(told.map { "\($0)" } ?? "nothing"), \(shown)")
    if told != nil, told != .outcomeUnknown {
      #expect(try stage.keysAfterwards().allSatisfy { !$0.contains(2) }, "told \(String(describing: told))")
    }
  }

  @Test(
    "Commits go on while a checkpoint's meta page is on its way, and are there whatever becomes of that",
    arguments: [0, 1])
  func metaPageFailsBesideCommits(survivors: Int) throws {
    let stage = try Stage()
    let meta = stage.disk.hold(.write, of: "/db") { $0.offset < 2 * 4096 }
    let checkpoint = Promise { () -> StorageError.Code? in
      do {
        try stage.engine.checkpoint()
        return nil
      } catch { return (error as? StorageError)?.code }
    }
    try #require(meta.awaitCall())
    for key in Int64(1)...5 { #expect(stage.put(key) == nil) }
    let sync = stage.disk.hold(.synchronize, of: "/db")
    meta.release()
    try #require(sync.awaitCall())
    for key in Int64(6)...10 { #expect(stage.put(key) == nil) }
    let all = Array(0...10 as ClosedRange<Int64>)
    #expect(try stage.keysAfterwards() == [all, all, all])
    sync.release(.failedSync(.forgets, SystemCode.inputOutput, survivorsOneIn: survivors))
    let told = try #require(checkpoint.get(), "the checkpoint does not end")
    #expect(told == .failStop)
    #expect(stage.put(11) == .failStop)
    #expect(try stage.keys(stage.engine) == all)
    #expect(try stage.keysAfterwards() == [all, all, all])
  }

  @Test("A close whose last sync fails says so, and loses nothing", arguments: [0, 1])
  func closeFails(survivors: Int) throws {
    let stage = try Stage()
    for key in Int64(1)...5 { #expect(stage.put(key) == nil) }
    let sync = stage.disk.hold(.synchronize, of: "/db")
    let close = Promise { () -> StorageError.Code? in
      do {
        try stage.engine.close()
        return nil
      } catch { return (error as? StorageError)?.code }
    }
    try #require(sync.awaitCall())
    let late = Promise { stage.put(6) }
    sync.release(.failedSync(.reverts, SystemCode.inputOutput, survivorsOneIn: survivors))
    #expect(try #require(close.get()) == .failStop)
    #expect(try #require(late.get()) == .closed)
    let all = Array(0...5 as ClosedRange<Int64>)
    #expect(try stage.keysAfterwards() == [all, all, all])
  }

  @Test(
    "A commit too long for the log has no mark written beside it, whether it succeeds or not",
    arguments: [true, false])
  func noMarkBesideAnUnloggedCommit(fails: Bool) throws {
    // Without threads of its own it writes no mark but those that are asked for here.
    let stage = try Stage(.full, .stepped)
    #expect(stage.put(1) == nil)
    let write = stage.disk.hold(.write, of: "/db") { $0.offset >= 2 * 4096 }
    let long = Promise { () -> StorageError.Code? in
      do {
        try stage.engine.write { tx in
          for key in Int64(1000)..<6000 { try tx.put([UInt8](repeating: 7, count: 60), for: key, in: stage.tree) }
        }
        return nil
      } catch { return (error as? StorageError)?.code ?? .closed }
    }
    try #require(write.awaitCall())
    // One that looks for quiet, and one that finds it.
    for _ in 0..<3 { stage.engine.core.appendQuietMark() }
    if fails { write.release(.error(SystemCode.noSpace)) } else { write.release() }
    #expect(try #require(long.get(), "the long commit does not end") == (fails ? .diskFull : nil))
    for key in Int64(2)...5 { #expect(stage.put(key) == nil) }
    #expect(try stage.keysAfterwards() == Array(repeating: [0, 1, 2, 3, 4, 5], count: 3))
  }

  #if os(Linux)
    @Test("Whoever is called when a commit has failed may ask for statistics")
    func callbackAsksForStatistics() async {
      await #expect(processExitsWith: .success) {
        guard let stage = try? Stage() else { exit(3) }
        let sync = stage.disk.hold(.synchronize, of: "/db-log0")
        guard
          let (_, ticket) = try? stage.engine.core.writeWithoutWaiting({ tx in
            try tx.put("value", for: Int64(1), in: stage.tree)
          }), let lsn = ticket.lsn
        else { exit(4) }
        let told = Promise { () -> Bool in
          let called = DispatchSemaphore(value: 0)
          stage.engine.core.queue.notify(whenDurable: lsn) { error in
            if error != nil, stage.engine.statistics.commits > 0 { called.signal() }
          }
          return called.wait(timeout: .now() + 10) == .success
        }
        if !sync.awaitCall() { exit(5) }
        stage.disk.failNext(.write, of: "/db-log0", with: .error(SystemCode.inputOutput))
        let second = Promise { stage.put(2) }
        if second.get() == nil { exit(6) }
        sync.release(.failedSync(.forgets, SystemCode.inputOutput, survivorsOneIn: 0))
        exit(told.get() == true ? 0 : 7)
      }
    }
  #endif

  @Test("What each of several threads was told is so, whatever call fails beside them", .timeLimit(.minutes(30)))
  func historiesAgreeWithAllThreads() throws {
    let rounds = Self.number("QUIRE_FAULT_ROUNDS") ?? TestSize.trials(40, divisor: 3)
    let first = UInt64(Self.number("QUIRE_FAULT_SEED") ?? 1)
    let isOne = getenv("QUIRE_FAULT_REPEATS") != nil
    var counts = ThreadedFaultHistory.Counts()
    for round in 0..<UInt64(rounds) {
      let history = try ThreadedFaultHistory(seed: isOne ? first : first + round)
      let complaints = history.run(&counts)
      #expect(
        complaints.isEmpty,
        """
        seed \(history.plan.seed) (\(history.plan)): \(complaints.prefix(6).joined(separator: "\\n"))
        \(Self.command(history.plan.seed))
        """)
      if !complaints.isEmpty { break }
    }
    if rounds >= 40, !isOne {
      #expect(
        counts.returned > 0 && counts.unknown > 0 && counts.refused > 0 && counts.struck > rounds / 4, "\(counts)")
    }
    print("threaded faults: \(counts)")
  }
}
