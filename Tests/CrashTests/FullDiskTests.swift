// A disk that is full for a while, a quota that is used up, a limit for the length of files: what was acknowledged
// stays, calls throw `diskFull` or work, deletes get through, and the engine goes on by itself once there is space
// (hazard A13, goal G8).

import QuireStorage
import QuireTesting
import Synchronization
import Testing

/// An engine on a disk that gets full, and what it must hold.
private final class SpaceHistory {
  let disk: SimulatedDisk
  var engine: StorageEngine?
  private var random: SeededRandom
  private var seed: UInt64
  /// What every acknowledged commit adds up to.
  var content: [Int64: [UInt8]] = [:]
  var fullCount = 0
  /// What the system says when there is no space.
  let fullCode: Int32
  var checkpoints = 0
  /// Called after each `diskFull`.
  var whenFull: (SpaceHistory) throws -> Void = { _ in }
  private let options = StorageOptions(pageSize: 512, cacheSize: 256 * 512, logLimit: 16 << 10)

  init(disk: SimulatedDisk = SimulatedDisk(), fullCode: Int32 = SystemCode.noSpace, seed: UInt64 = 7) {
    self.disk = disk
    self.fullCode = fullCode
    disk.fullCode = fullCode
    self.seed = seed
    random = SeededRandom(seed: seed)
  }

  private func environment() -> StorageEnvironment {
    seed &+= 1
    let dice = SeededDice(seed: seed)
    return StorageEnvironment(
      fileSystem: disk, random: { dice.next() }, scheduling: .stepped, allowsTestPages: true,
      initialSegmentByteCount: 12 << 10)
  }

  /// Whether a call worked; false if the disk was full.
  func works(_ body: () throws -> Void) throws -> Bool {
    do {
      try body()
      return true
    } catch let error as StorageError where error.code == .diskFull {
      fullCount += 1
      try #require(error.systemError?.code == fullCode, "\(error)")
      try whenFull(self)
      return false
    }
  }

  /// Opens the database, again and again while the disk is full: each attempt takes some of its calls.
  func open() throws {
    for _ in 0..<1000 where engine == nil {
      _ = try works { engine = try StorageEngine(at: "/db", options: options, environment: environment()) }
    }
    _ = try #require(engine)
  }

  func close() throws {
    checkpoints += engine?.statistics.checkpoints ?? 0
    _ = try works { try engine?.close() }
    engine = nil
  }

  /// One commit; what it did counts if it was acknowledged.
  func commit(_ body: (borrowing WriteTransaction, Tree, inout [Int64: [UInt8]]) throws -> Void) throws -> Bool {
    let engine = try #require(engine)
    var after = content
    let isDone = try works {
      try engine.write { tx in
        let tree = try tx.tree(named: "rows") ?? tx.createTree("rows", keys: .int64)
        try body(tx, tree, &after)
      }
    }
    if isDone { content = after }
    return isDone
  }

  func put(_ keys: some Sequence<Int64>, byteCount: Int = 60) throws -> Bool {
    let value = [UInt8](repeating: UInt8(random.below(256)), count: byteCount)
    return try commit { tx, tree, after in
      for key in keys {
        try tx.put(value, for: key, in: tree)
        after[key] = value
      }
    }
  }

  func delete(_ keys: some Sequence<Int64>) throws -> Bool {
    try commit { tx, tree, after in
      for key in keys {
        try tx.delete(key, in: tree)
        after[key] = nil
      }
    }
  }

  func step(_ count: Int) {
    for _ in 0..<count where engine?.core.stepCheckpoint() != true { return }
  }

  /// Compares everything.
  func check(_ engine: StorageEngine? = nil) throws {
    let engine = try #require(engine ?? self.engine)
    try engine.read { tx in
      var found: [Int64: [UInt8]] = [:]
      if let tree = tx.tree(named: "rows") {
        var cursor = try tx.cursor(tree)
        while try cursor.next() { found[cursor.integerKey ?? .min] = try cursor.value ?? [] }
      }
      try #require(found == content)
    }
  }

  /// Recovers what a power cut would leave now.
  func checkCrash(_ mode: CrashMode) throws {
    let image = disk.crashImage(mode)
    image.capacity = nil
    let dice = SeededDice(seed: 3)
    let environment = StorageEnvironment(
      fileSystem: image, random: { dice.next() }, scheduling: .stepped, allowsTestPages: true,
      initialSegmentByteCount: 12 << 10)
    let recovered = try StorageEngine(at: "/db", options: options, environment: environment)
    try check(recovered)
    try recovered.verify()
    try recovered.close()
  }

  /// The history of the exhaustive test; `settle` to leave nothing under way.
  func run() throws {
    try open()
    for round in 0..<4 as Range<Int64> {
      for index in 0..<14 as Range<Int64> {
        _ = try put((0..<9).map { ($0 * 31 + index * 17 + round * 5) % 300 })
        step(1)
      }
      _ = try delete((0..<100).map { $0 * 3 })
      if round == 1 { _ = try works { try engine?.checkpoint() } }
      _ = try put(1000..<1040)
      step(2)
      _ = try delete(1000..<1040)
      if round == 1 {
        try close()
        try open()
      }
    }
  }
}

private final class SeededDice: Sendable {
  private let random: Latch<SeededRandom>
  init(seed: UInt64) { random = Latch(SeededRandom(seed: seed)) }
  func next() -> UInt64 { random.withLock { $0.next() } }
}

@Suite struct FullDiskTests {
  /// What there may not be more of.
  enum Limit: CaseIterable, Sendable {
    case disk, quota, file

    var code: Int32 {
      switch self {
      case .disk: SystemCode.noSpace
      case .quota: SystemCode.quotaExceeded
      case .file: SystemCode.fileTooLarge
      }
    }

    func apply(to disk: SimulatedDisk, byteCount: Int?) {
      // A file system has much room left for a file that may not become longer.
      if self == .file { disk.fileByteLimit = byteCount ?? 1 << 30 } else { disk.capacity = byteCount }
    }
  }

  @Test(
    "Fill until the disk is full, delete half, fill again: for ever, on one open engine",
    .enabled(if: TestSize.hasSlowTests, "slow"), arguments: Limit.allCases)
  func fillAndDelete(limit: Limit) throws {
    let history = SpaceHistory(fullCode: limit.code)
    try history.open()
    limit.apply(to: history.disk, byteCount: 400 << 10)
    var counts: [Int] = []
    for round in 0..<Int64(TestSize.trials(12, divisor: 3)) {
      var key = round * 1_000_000
      while try history.put(key..<key + 10) { key += 10 }
      counts.append(history.content.count)
      try history.check()
      let gone = history.content.keys.sorted().enumerated().filter { $0.offset % 2 == 0 }.map(\.element)
      for start in stride(from: 0, to: gone.count, by: 8) {
        let batch = gone[start..<min(gone.count, start + 8)]
        try #require(try history.delete(batch), "a delete did not get through on a full disk")
      }
      try #require(try history.works { try history.engine?.checkpoint() })
      try history.check()
    }
    let least = try #require(counts.min())
    // Half of each leaf is empty after the first round, and new keys go elsewhere.
    #expect(least * 3 > counts[0] && least > 1000, "\(counts)")
    limit.apply(to: history.disk, byteCount: nil)
    #expect(try history.put(0..<10))
    try history.engine?.verify()
    try history.close()
    try history.open()
    try history.check()
  }

  @Test(
    "The disk is full at every call that needs space, for one call, for a few, or for long",
    .enabled(if: TestSize.hasSlowTests, "slow"), arguments: [1, 5, 60],
    Limit.allCases)
  func fullAtEveryCall(period: Int, limit: Limit) throws {
    let whole = SpaceHistory(fullCode: limit.code)
    whole.disk.isTracing = true
    try whole.run()
    let count = whole.disk.operationCount
    try #require(whole.fullCount == 0 && whole.checkpoints + (whole.engine?.statistics.checkpoints ?? 0) > 1)
    // Only calls that may need space differ from those before them. Without optimisation a sample of the writes is
    // tried, another one for each period.
    var numbers = whole.disk.trace.filter { [.write, .allocate, .open, .resize].contains($0.operation.kind) }
    #if DEBUG
      let oneIn = TestSize.isFull ? 37 : 293
      numbers = numbers.filter { $0.operation.kind == .allocate || $0.number % oneIn == period % oneIn }
    #endif
    var fullCount = 0
    for number in numbers.map(\.number) {
      let history = SpaceHistory(fullCode: limit.code)
      history.disk.fill(duringOperations: number..<number + period)
      var crashes = 0
      history.whenFull = { history in
        crashes += 1
        if crashes == 1, history.engine != nil { try history.checkCrash(number % 2 == 0 ? .allOld : .allNew) }
      }
      do {
        try history.run()
        history.disk.fill(duringOperations: 0..<0)
        try #require(try history.put(2000..<2010), "no space came back")
        try #require(try history.works { try history.engine?.checkpoint() })
        try history.check()
        try history.engine?.verify()
        try history.checkCrash(.allOld)
        try history.close()
        try history.open()
        try history.check()
      } catch {
        throw HistoryFailure(text: "\(limit), full from call \(number) of \(count) on, \(period) calls: \(error)")
      }
      fullCount += history.fullCount
    }
    #expect(fullCount > 0)
  }
}

/// Says where a history failed.
private struct HistoryFailure: Error, CustomStringConvertible {
  let text: String
  var description: String { text }
}
