// The work of quire-torture memory: everything several times larger than the cache, and all at once.

import Dispatch
import QuireStorage
import QuireTesting
import Synchronization

/// What a phase took.
struct MemoryPhase {
  let name: String
  /// The most memory that the process had.
  let highest: Int
  /// The most memory that the engine had lent to pages, in bytes.
  let highestPages: Int
  /// What of that was lent to pages, and what the budget for pages was.
  let pagesThen: (lent: Int, budget: Int)
  /// What the heap had in use, and what it kept for later, when the process had the most.
  let heap: (used: Int, kept: Int)
  let seconds: Double
  let pagesSpilled: Int
  let pagesEvicted: Int
  let pagesRead: Int
  let checkpoints: Int
}

/// A database under work, and threads that read it. Entries say which key they belong to, and each read checks it.
final class MemoryRun: Sendable {
  let entryCount: Int
  private let engine: StorageEngine
  private let tree: Tree
  private let readers: Int
  private let duration: Double
  private let seed: UInt64
  private let watch = MemoryWatch()
  private let isDone = Atomic<Bool>(false)
  private let reads = Atomic<Int>(0)
  private let complaint = Mutex<(any Error)?>(nil)

  private static let valueByteCount = 200
  private static let loadBufferByteCount = 8 << 20
  private static let pinCount = 4

  /// Creates the database.
  init(_ path: String, cacheByteCount: Int, readers: Int, seconds: Double, seed: UInt64) throws {
    self.readers = readers
    duration = seconds
    self.seed = seed
    entryCount = 4 * cacheByteCount / (Self.valueByteCount + 24)
    engine = try StorageEngine(
      at: path, options: StorageOptions(cacheSize: cacheByteCount, durability: .relaxed))
    tree = try engine.write { tx in try tx.createTree("entries", keys: .int64) }
  }

  /// Samples taken so far.
  var sampleCount: Int { watch.sampleCount }
  /// Entries that the reading threads have looked at.
  var readCount: Int { reads.load(ordering: .relaxed) }
  /// The length of the data file as the engine counts it.
  var fileByteCount: Int { engine.statistics.filePages * StorageOptions().pageSize }

  /// Goes through all phases, tells of each, and closes the database.
  func work(_ report: (MemoryPhase) -> Void) throws {
    let group = DispatchGroup()
    var threads: [DispatchQueue] = []
    func start(_ name: String, _ body: @escaping @Sendable () throws -> Void) {
      let queue = DispatchQueue(label: name)
      threads.append(queue)
      queue.async(group: group) { [self] in
        do { try body() } catch { complaint.withLock { $0 = $0 ?? error } }
      }
    }
    start("watch") { [self] in
      let pool = engine.core.store.pool
      watch.run(until: { isDone.load(ordering: .relaxed) }, pages: { (pool.lentCount, pool.budget) })
    }
    defer {
      isDone.store(true, ordering: .relaxed)
      group.wait()
    }
    try phase("fill", report) { try fill() }
    for reader in 0..<readers {
      start("reader \(reader)") { [self] in try readAtRandom(SeededRandom(seed: seed &+ 100 &+ UInt64(reader))) }
    }
    start("pins") { [self] in try holdPins(SeededRandom(seed: seed &+ 99)) }
    try phase("random work", report) { try writeAtRandom() }
    try phase("rolled back", report) { try writeEverything(isCommitted: false) }
    try phase("committed", report) { try writeEverything(isCommitted: true) }
    try phase("bulk load", report) { try loadEverything() }
    try phase("check", report) { try engine.verify() }
    isDone.store(true, ordering: .relaxed)
    group.wait()
    if let error = complaint.withLock({ $0 }) { throw error }
    try engine.close()
  }

  private func phase(_ name: String, _ report: (MemoryPhase) -> Void, _ body: () throws -> Void) throws {
    let before = engine.statistics
    let begin = ContinuousClock.now
    _ = watch.takeHighest()
    _ = watch.takeHighestPages()
    try body()
    let after = engine.statistics
    let (heap, pages) = (watch.heapThen, watch.pagesThen)
    let pageSize = StorageOptions().pageSize
    report(
      MemoryPhase(
        name: name, highest: watch.takeHighest(), highestPages: watch.takeHighestPages() * pageSize,
        pagesThen: (pages.lent * pageSize, pages.budget * pageSize), heap: heap,
        seconds: (ContinuousClock.now - begin) / .seconds(1),
        pagesSpilled: after.pagesSpilled - before.pagesSpilled,
        pagesEvicted: after.pagesEvicted - before.pagesEvicted, pagesRead: after.pagesRead - before.pagesRead,
        checkpoints: after.checkpoints - before.checkpoints))
    if let error = complaint.withLock({ $0 }) { throw error }
  }

  // MARK: Writing

  /// Writes the entry of a key: the key, and noise.
  private func put(_ tx: borrowing WriteTransaction, _ key: Int, _ value: inout [UInt8]) throws {
    value.withUnsafeMutableBytes { $0.storeBytes(of: UInt64(key), as: UInt64.self) }
    try tx.put(value, for: Int64(key), in: tree)
  }

  private func value(_ round: Int) -> [UInt8] {
    [UInt8](repeating: UInt8(truncatingIfNeeded: round), count: Self.valueByteCount)
  }

  private func fill() throws {
    for start in stride(from: 0, to: entryCount, by: 1000) {
      try engine.write { tx in
        var value = value(0)
        for key in start..<min(entryCount, start + 1000) { try put(tx, key, &value) }
      }
    }
  }

  private func writeAtRandom() throws {
    var random = SeededRandom(seed: seed)
    let end = ContinuousClock.now + .seconds(duration)
    var round = 0
    while ContinuousClock.now < end {
      round += 1
      let count = random.oneIn(50) ? 20_000 : 1 + random.below(200)
      try engine.write { tx in
        var value = value(round)
        for _ in 0..<count { try put(tx, random.below(entryCount), &value) }
      }
    }
  }

  private struct RolledBack: Error {}

  /// Writes every entry anew, in an order that touches another leaf each time, with savepoints on the way.
  private func writeEverything(isCommitted: Bool) throws {
    var step = 7_368_787 % entryCount
    while Self.greatestCommonDivisor(step, entryCount) != 1 { step += 1 }
    do {
      try engine.write { tx in
        var value = value(isCommitted ? 254 : 255)
        var key = 0
        for part in 0..<8 {
          try tx.savepoint { tx in
            for _ in (part * entryCount / 8)..<((part + 1) * entryCount / 8) {
              try put(tx, key, &value)
              key = (key + step) % entryCount
            }
          }
        }
        if !isCommitted { throw RolledBack() }
      }
    } catch is RolledBack {}
  }

  private static func greatestCommonDivisor(_ a: Int, _ b: Int) -> Int {
    var (a, b) = (a, b)
    while b != 0 { (a, b) = (b, a % b) }
    return a
  }

  private func loadEverything() throws {
    let options = BulkLoadOptions(bufferByteCount: Self.loadBufferByteCount)
    var random = SeededRandom(seed: seed &+ 5)
    try engine.write { tx in
      var value = value(17)
      try tx.bulkLoad(into: tree, options: options) { loader in
        for _ in 0..<entryCount {
          let key = random.below(entryCount)
          value.withUnsafeMutableBytes { $0.storeBytes(of: UInt64(key), as: UInt64.self) }
          try loader.append(value, for: Int64(key))
        }
      }
    }
  }

  // MARK: Reading

  private struct WrongEntry: Error, CustomStringConvertible {
    let description: String
  }

  private func check(_ value: RawSpan?, _ key: Int) throws {
    guard let value, value.byteCount == Self.valueByteCount,
      value.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt64.self) == UInt64(key)
    else { throw WrongEntry(description: "key \(key) shows another entry, or none") }
  }

  private func read(_ tx: borrowing ReadTransaction, _ random: inout SeededRandom) throws {
    if random.oneIn(20) {
      var cursor = try tx.cursor(tree)
      var key = random.below(entryCount)
      guard try cursor.seek(Int64(key)) else { throw WrongEntry(description: "key \(key) is not there") }
      for _ in 0..<2000 {
        try cursor.withValue { value in try check(value, key) }
        key += 1
        guard try cursor.next() else { break }
      }
      reads.add(2000, ordering: .relaxed)
      return
    }
    let keys = (0..<100).map { _ in Int64(random.below(entryCount)) }
    try tx.withValues(for: keys, in: tree) { index, value in try check(value, Int(keys[index])) }
    reads.add(keys.count, ordering: .relaxed)
  }

  private func readAtRandom(_ source: SeededRandom) throws {
    var random = source
    while !isDone.load(ordering: .relaxed) { try engine.read { tx in try read(tx, &random) } }
  }

  /// Holds a few snapshots of different ages, and gives one up now and then.
  private func holdPins(_ source: SeededRandom) throws {
    var random = source
    var pins: [PinnedSnapshot] = []
    while !isDone.load(ordering: .relaxed) {
      pins.append(try engine.pin())
      for _ in 0..<20 where !isDone.load(ordering: .relaxed) {
        let pin = pins[random.below(pins.count)]
        try pin.read { tx in try read(tx, &random) }
        pause()
      }
      // The oldest stays longest.
      if pins.count > Self.pinCount { pins.remove(at: random.oneIn(8) ? 0 : 1 + random.below(pins.count - 1)) }
    }
  }

  private func pause() {
    _ = DispatchSemaphore(value: 0).wait(timeout: .now() + .milliseconds(5))
  }
}
