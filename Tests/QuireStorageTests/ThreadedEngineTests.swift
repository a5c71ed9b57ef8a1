// Many threads on one engine. Run under the thread sanitizer with --filter Threaded.

import QuireStorage
import QuireTesting
import Synchronization
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Where the database of a test lives.
private enum Place: CaseIterable {
  case simulatedDisk
  case realDisk
}

/// A bank: accounts whose sum never changes, in two trees, and one counter for each writer.
private struct Bank: Sendable {
  static let accountCount = 200
  static let startBalance = 1000

  let engine: StorageEngine
  let accounts: Tree
  let names: Tree
  let counters: Tree

  init(_ engine: StorageEngine) throws {
    self.engine = engine
    (accounts, names, counters) = try engine.write { tx in
      let trees = (
        try tx.createTree("accounts", keys: .int64), try tx.createTree("names", keys: .bytes),
        try tx.createTree("counters", keys: .int64)
      )
      for account in 0..<Int64(Self.accountCount) {
        try tx.put(Self.encode(Self.startBalance), for: account, in: trees.0)
        try tx.put(Self.encode(Self.startBalance), for: Self.name(account), in: trees.1)
      }
      return trees
    }
  }

  /// Balances are padded, so that there are many leaves.
  static func encode(_ number: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0x2e, count: 60)
    for byte in 0..<8 { bytes[byte] = UInt8(truncatingIfNeeded: number >> (8 * byte)) }
    return bytes
  }

  static func decode(_ bytes: [UInt8]?) throws -> Int {
    guard let bytes, bytes.count == 60 else { throw Mismatch("a balance is \(String(describing: bytes))") }
    return (0..<8).reduce(0) { $0 | Int(bytes[$1]) << (8 * $1) }
  }

  static func name(_ account: Int64) -> String { "account number \(account)" }

  /// Moves money, in both trees alike, and counts.
  func transfer(_ tx: borrowing WriteTransaction, writer: Int, _ random: inout SeededRandom) throws {
    let (from, to) = (Int64(random.below(Self.accountCount)), Int64(random.below(Self.accountCount)))
    let amount = random.below(50)
    for (account, change) in [(from, -amount), (to, amount)] {
      let balance = try Self.decode(tx.value(for: account, in: accounts)) + change
      try tx.put(Self.encode(balance), for: account, in: accounts)
      try tx.put(Self.encode(balance), for: Self.name(account), in: names)
    }
    try count(tx, writer: writer)
  }

  /// Reads, adds one and writes.
  func count(_ tx: borrowing WriteTransaction, writer: Int) throws {
    for key in [Int64(writer), -1] {
      let old = try tx.value(for: key, in: counters).map { try Self.decode($0) } ?? 0
      try tx.put(Self.encode(old + 1), for: key, in: counters)
    }
  }

  /// Checks all that must hold in every snapshot; returns a digest of the content.
  @discardableResult
  func check(_ tx: borrowing ReadTransaction) throws -> Int {
    var sum = 0
    var hash = Hasher()
    var cursor = try tx.cursor(accounts)
    var count: Int64 = 0
    while try cursor.next() {
      try require(cursor.integerKey == count, "account \(count) is \(String(describing: cursor.integerKey))")
      let balance = try Self.decode(try cursor.value)
      if count % 16 == 0 {
        let twin = try Self.decode(tx.value(for: Self.name(count), in: names))
        try require(twin == balance, "account \(count) has \(balance) and \(twin) in \(tx.csn)")
      }
      sum += balance
      hash.combine(balance)
      count += 1
    }
    try require(count == Self.accountCount, "\(count) accounts in \(tx.csn)")
    try require(sum == Self.accountCount * Self.startBalance, "the sum is \(sum) in \(tx.csn)")
    return hash.finalize()
  }

  func counter(_ writer: Int) throws -> Int {
    try engine.read { tx in try tx.value(for: Int64(writer), in: counters).map { try Self.decode($0) } ?? 0 }
  }
}

/// A database that goes away with the test.
private final class Home {
  let engine: StorageEngine
  private let folder: TemporaryFolder?

  init(_ place: Place, _ options: StorageOptions, seed: UInt64 = 1) throws {
    switch place {
    case .simulatedDisk:
      folder = nil
      engine = try SimulatedDisk().openEngine(
        options, seed: seed, scheduling: .threads, segmentByteCount: options.logLimit)
    case .realDisk:
      let folder = TemporaryFolder()
      self.folder = folder
      engine = try StorageEngine(
        at: folder.path + "/db", options: options,
        environment: StorageEnvironment(allowsTestPages: true, initialSegmentByteCount: options.logLimit))
    }
  }
}

@Suite struct ThreadedEngineTests {
  /// The tiniest log: every few commits a checkpoint starts, and frames flip under readers.
  private func options(_ durability: Durability) -> StorageOptions {
    StorageOptions(pageSize: 512, cacheSize: 8 << 20, durability: durability, logLimit: 32 << 10)
  }

  @Test(
    "No update is lost and every snapshot is whole", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: Place.allCases, [Durability.full, .interval(.milliseconds(2)), .relaxed])
  fileprivate func threadedWritersAndReaders(place: Place, durability: Durability) throws {
    let home = try Home(place, options(durability))
    let bank = try Bank(home.engine)
    let writers = 4
    let rounds = TestSize.trials(place == .realDisk && durability == .full ? 60 : 150, divisor: 3)
    let (writing, reading) = (ThreadGroup(), ThreadGroup())
    let stop = StopFlag()
    for writer in 0..<writers {
      writing.start {
        var random = SeededRandom(seed: UInt64(writer))
        for _ in 0..<rounds {
          try bank.engine.write { tx in try bank.transfer(tx, writer: writer, &random) }
          // One's own commit is visible at once when it has been acknowledged as durable.
        }
      }
    }
    for _ in 0..<2 { reading.start { try Self.readSnapshots(bank, until: stop) } }
    reading.start { try Self.holdPins(bank, until: stop) }
    reading.start {
      while !stop.isSet {
        try bank.engine.checkpoint()
        usleep(3000)
      }
    }
    let complaints = writing.join()
    stop.set()
    #expect(complaints + reading.join() == [])
    for writer in 0..<writers { #expect(try bank.counter(writer) == rounds) }
    #expect(try bank.counter(-1) == writers * rounds)
    try bank.engine.walkEverything()
    #expect(bank.engine.statistics.checkpoints > 1)
    #expect(bank.engine.statistics.readers == 0)
    try bank.engine.close()
  }

  private static func readSnapshots(_ bank: Bank, until stop: StopFlag) throws {
    var newest = CSN(0)
    while !stop.isSet {
      newest = try bank.engine.read { tx in
        try require(tx.csn >= newest, "\(tx.csn) after \(newest)")
        let first = try bank.check(tx)
        let second = try bank.check(tx)
        try require(first == second, "\(tx.csn) has changed")
        return tx.csn
      }
    }
  }

  private static func holdPins(_ bank: Bank, until stop: StopFlag) throws {
    var pins: [(pin: PinnedSnapshot, digest: Int)] = []
    var random = SeededRandom(seed: 99)
    while !stop.isSet {
      let pin = try bank.engine.pin()
      pins.append((pin, try pin.read { tx in try bank.check(tx) }))
      if pins.count > 6 { pins.remove(at: random.below(pins.count)) }
      let old = pins[random.below(pins.count)]
      let digest = try old.pin.read { tx in try bank.check(tx) }
      try require(digest == old.digest, "the pinned \(old.pin.csn) has changed")
    }
  }

  @Test("A write that has returned is seen by the next read", arguments: Place.allCases)
  fileprivate func threadedOwnWritesAreSeen(place: Place) throws {
    let home = try Home(place, options(.full))
    let bank = try Bank(home.engine)
    let group = ThreadGroup()
    for writer in 0..<3 {
      group.start {
        for round in 1...40 {
          try bank.engine.write { tx in try bank.count(tx, writer: writer) }
          let seen = try bank.counter(writer)
          try require(seen == round, "writer \(writer) reads \(seen) after \(round)")
        }
      }
    }
    #expect(group.join() == [])
    try bank.engine.close()
  }

  @Test("Tasks and threads write and read together", .timeLimit(.minutes(2)), arguments: Place.allCases)
  fileprivate func threadedTasksAndThreads(place: Place) async throws {
    let home = try Home(place, options(.full))
    let bank = try Bank(home.engine)
    let group = ThreadGroup()
    for writer in 0..<2 {
      group.start {
        for _ in 0..<40 { try bank.engine.write { tx in try bank.count(tx, writer: writer) } }
      }
    }
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      for writer in 2..<6 {
        tasks.addTask {
          for _ in 0..<40 { try await bank.engine.write { tx in try bank.count(tx, writer: writer) } }
        }
      }
      for _ in 0..<2 {
        tasks.addTask {
          for _ in 0..<30 { try await bank.engine.read { tx in _ = try bank.check(tx) } }
        }
      }
      try await tasks.waitForAll()
    }
    #expect(group.join() == [])
    for writer in 0..<6 { #expect(try bank.counter(writer) == 40) }
    #expect(try bank.counter(-1) == 240)
    try bank.engine.close()
  }

  @Test("More tasks than cores may call the synchronous form", .timeLimit(.minutes(2)))
  func threadedSynchronousWritesInTasks() async throws {
    let home = try Home(.realDisk, options(.full))
    let bank = try Bank(home.engine)
    let tasks = sysconf(Int32(_SC_NPROCESSORS_ONLN)) + 1
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<tasks {
        group.addTask {
          for _ in 0..<25 {
            try Self.synchronousWrite(bank, writer: writer)
            await Task.yield()
            try await bank.engine.write { tx in try bank.count(tx, writer: writer) }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try bank.counter(-1) == tasks * 50)
    try bank.engine.close()
  }

  /// The synchronous form, which an async function would not choose by itself.
  private static func synchronousWrite(_ bank: Bank, writer: Int) throws {
    try bank.engine.write { tx in try bank.count(tx, writer: writer) }
  }

  @Test("A write inside a write throws at once")
  func threadedNestedWriteThrows() throws {
    let home = try Home(.simulatedDisk, options(.full))
    let bank = try Bank(home.engine)
    func code(_ body: () throws -> Void) -> StorageError.Code? {
      do { try body() } catch { return (error as? StorageError)?.code }
      return nil
    }
    try bank.engine.write { tx in
      try bank.count(tx, writer: 1)
      #expect(code { try bank.engine.write { _ in } } == .nestedWrite)
      #expect(code { try bank.engine.checkpoint() } == .nestedWrite)
      #expect(code { try bank.engine.close() } == .nestedWrite)
    }
    #expect(try bank.counter(1) == 1)
    try bank.engine.close()
  }

  @Test("Closing under way never harms those who are at work", arguments: Place.allCases)
  fileprivate func threadedCloseWhileOthersRun(place: Place) throws {
    for round in 0..<8 {
      let home = try Home(place, options(round % 2 == 0 ? .full : .relaxed), seed: UInt64(round))
      let bank = try Bank(home.engine)
      let group = ThreadGroup()
      let hasGivenUp = Atomic(false)
      for worker in 0..<4 {
        group.start {
          var random = SeededRandom(seed: UInt64(worker))
          do {
            while !hasGivenUp.load(ordering: .relaxed) {
              if worker == 3 { try bank.engine.checkpoint() }
              if worker % 2 == 0 {
                try bank.engine.write { tx in try bank.transfer(tx, writer: worker, &random) }
              } else {
                try bank.engine.read { tx in _ = try bank.check(tx) }
              }
              // Were somebody always at work, the engine would rightly never close.
              usleep(UInt32(random.below(300)))
            }
          } catch let error as StorageError where error.code == .closed {}
        }
      }
      usleep(UInt32(2000 * round))
      var attempts = 0
      var isClosed = false
      while !isClosed {
        attempts += 1
        do {
          try bank.engine.close()
          isClosed = true
        } catch {
          #expect(error.code == .inUse)
          if error.code != .inUse || attempts > 100_000 { break }
        }
      }
      #expect(isClosed)
      hasGivenUp.store(!isClosed, ordering: .relaxed)
      #expect(group.join() == [])
      do { try bank.engine.read { _ in } } catch let error as StorageError { #expect(error.code == .closed) }
    }
  }

  @Test("An interval is over when it is over, and closing does not wait for it")
  func threadedIntervalFlushes() throws {
    let home = try Home(.simulatedDisk, options(.interval(.milliseconds(20))))
    let bank = try Bank(home.engine)
    try bank.engine.write { tx in try bank.count(tx, writer: 0) }
    let began = secondsNow()
    while !bank.engine.core.queue.isClean, secondsNow() - began < 20 { usleep(1000) }
    #expect(bank.engine.core.queue.isClean)
    try bank.engine.close()
    let slow = try Home(.simulatedDisk, options(.interval(.seconds(3600))))
    let other = try Bank(slow.engine)
    try other.engine.write { tx in try other.count(tx, writer: 0) }
    let closing = secondsNow()
    try other.engine.close()
    #expect(secondsNow() - closing < 60)
  }

  @Test("Opening and closing again and again leaks neither descriptors nor threads", .timeLimit(.minutes(3)))
  func threadedOpeningLeaksNothing() async throws {
    let folder = TemporaryFolder()
    let threadsBefore = entries(of: "/proc/self/task").count
    for round in 0..<TestSize.trials(200, divisor: 4) {
      let engine = try openSoon(folder.path + "/db")
      if round == 0 { try await engine.write { tx in _ = try tx.createTree("t", keys: .int64) } }
      try await engine.write { tx in
        let tree = tx.tree(named: "t")
        if let tree { try tx.put("value", for: Int64(round), in: tree) }
      }
      let count = try await engine.read { tx in
        let tree = tx.tree(named: "t")
        return try tree.map { try tx.count(of: $0) }
      }
      #expect(count == round + 1)
      // Half of them are just dropped.
      if round % 2 == 0 { try engine.close() }
    }
    #if os(Linux)
      // Other tests have descriptors and threads of their own, but none in this folder, and not by the hundred.
      let open = entries(of: "/proc/self/fd").compactMap { target(of: "/proc/self/fd/\($0)") }
      #expect(open.filter { $0.hasPrefix(folder.path) } == [])
      #expect(entries(of: "/proc/self/task").count < threadsBefore + 150)
    #endif
  }

  /// Opens a database whose lock may live a moment longer: in a child that another test has forked and that has not
  /// reached its own program yet, which closes what it inherited.
  private func openSoon(_ path: String) throws -> StorageEngine {
    let options = StorageOptions(durability: .relaxed, logLimit: 64 << 10)
    let environment = StorageEnvironment(initialSegmentByteCount: 64 << 10)
    for _ in 0..<200 {
      if let engine = try? StorageEngine(at: path, options: options, environment: environment) { return engine }
      usleep(5000)
    }
    return try StorageEngine(at: path, options: options, environment: environment)
  }

  private func entries(of path: String) -> [String] {
    guard let directory = opendir(path) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      names.append(
        withUnsafePointer(to: &entry.pointee.d_name) { pointer in
          pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        })
    }
    return names.filter { !$0.hasPrefix(".") }
  }

  private func target(of link: String) -> String? {
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = bytes.withUnsafeMutableBytes { buffer in
      buffer.baseAddress.map { readlink(link, $0.assumingMemoryBound(to: CChar.self), buffer.count) } ?? -1
    }
    return count > 0 ? String(decoding: bytes[..<count], as: UTF8.self) : nil
  }
}
