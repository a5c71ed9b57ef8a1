// Files whose checksums are right and whose content is not: made by an enemy, or by a bug of ours. Whatever they hold,
// reading, checking and writing end with an error or with success, never with a trap, a hang or a wild access.

import QuireStorage
import QuireTesting
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// How many trials a test makes: few in debug builds; more where QUIRE_TRIALS asks for it.
///
/// In the short size one of `divisor`, but no fewer than `least`.
func trialCount(debug: Int, release: Int, divisor: Int = 1, least: Int = 1) -> Int {
  if let text = getenv("QUIRE_TRIALS"), let count = Int(String(cString: text)) { return count }
  #if DEBUG
    return TestSize.trials(debug, divisor: divisor, least: least)
  #else
    return TestSize.trials(release, divisor: divisor, least: least)
  #endif
}

/// Where trials start: another seed for each run of the long loops, if QUIRE_SEED gives one.
func firstSeed() -> UInt64 {
  guard let text = getenv("QUIRE_SEED"), let seed = UInt64(String(cString: text)) else { return 1 }
  return seed
}

/// Before each trial, its name goes to the standard error if QUIRE_TRACE is set: a trap leaves nothing else behind.
func trace(_ text: @autoclosure () -> String) {
  guard getenv("QUIRE_TRACE") != nil else { return }
  let line = Array((text() + "\n").utf8)
  _ = line.withUnsafeBytes { write(2, $0.baseAddress, $0.count) }
}

@Suite struct HostileFileTests {
  /// Opens what a forger made and does all there is to do with it. Any StorageError will do; nothing else will.
  private func exercise(_ bytes: [UInt8], pageSize: Int, seed: UInt64, isUniform: Bool = false) throws {
    let disk = SimulatedDisk()
    disk.install(bytes, at: TinyDatabase.path)
    if let inspector = try? Inspector(at: TinyDatabase.path, fileSystem: disk) {
      _ = try storageErrorsOnly { try inspector.check(defectLimit: 5) }
    }
    var tiny = TinyDatabase(disk, pageSize: pageSize)
    // Half of them as in a large file, to which transactions write before a walk over it has found what is wrong.
    tiny.provenAtOncePageCount = seed % 2 == 0 ? 0 : 4096
    _ = try storageErrorsOnly {
      let engine = try tiny.open()
      _ = try storageErrorsOnly { try engine.verify() }
      _ = try storageErrorsOnly { try DatabaseContent(of: engine) }
      for round in 0..<3 {
        _ = try storageErrorsOnly {
          // Where leaves are uniform, enough of a kind to fill one up.
          try TinyDatabase.fill(
            engine, count: isUniform ? 160 : 40, seed: seed &+ UInt64(round), longOneIn: isUniform ? 0 : 8,
            isUniform: isUniform)
        }
        _ = try storageErrorsOnly { try engine.checkpoint() }
        _ = try storageErrorsOnly { try DatabaseContent(of: engine, checksThoroughly: false) }
      }
      for name in ["texts", "numbers", "paths"] {
        if seed % 3 == 0 { _ = try storageErrorsOnly { try cut(name, of: engine, seed: seed) } }
        _ = try storageErrorsOnly { try empty(name, of: engine, drops: seed % 2 == 0) }
      }
      // Places that were given up are given out again, whoever else refers to them.
      for round in 0..<3 where seed % 3 == 0 {
        _ = try storageErrorsOnly { try engine.checkpoint() }
        _ = try storageErrorsOnly { try TinyDatabase.fill(engine, count: 80, seed: seed &+ UInt64(round)) }
        _ = try storageErrorsOnly { try DatabaseContent(of: engine, checksThoroughly: false) }
      }
      try compact(engine, seed: seed)
      try engine.close()
    }
  }

  /// Makes the file short, at a moment's notice, and as an idle engine would.
  private func compact(_ engine: StorageEngine, seed: UInt64) throws {
    let isEnded = isDone(within: 60) {
      do { try engine.compact() } catch { #expect(error is StorageError, "\(error)") }
      do { while try engine.core.maintainStep() {} } catch { #expect(error is StorageError, "\(error)") }
    }
    try #require(isEnded, "seed \(seed)")
  }

  /// Cuts a range out of a tree, in a transaction of its own.
  private func cut(_ name: String, of engine: StorageEngine, seed: UInt64) throws {
    try engine.write { tx in
      guard let tree = tx.tree(named: name) else { return }
      let start = Int64(seed % 900)
      if tree.keys == .int64 {
        try tx.deleteRange(from: start - 400, to: start + 300, in: tree)
      } else {
        try tx.deleteRange(from: "key\(start % 10)", to: "key\(start % 10 + 5)", in: tree)
        try tx.deleteRange(from: "/home/of/\(start % 7)/", in: tree)
      }
    }
  }

  /// Takes a tree apart, entry by entry or as a whole.
  private func empty(_ name: String, of engine: StorageEngine, drops: Bool) throws {
    try engine.write { tx in
      guard let tree = tx.tree(named: name) else { return }
      if drops { return try tx.dropTree(tree) }
      for number in 0..<1600 {
        if tree.keys == .int64 {
          _ = try tx.delete(Int64(number) - 1365, in: tree)
        } else {
          for text in [true, false].map({ TinyDatabase.text(number, isUniform: $0) }) {
            _ = try tx.delete("key\(text)", in: tree)
            _ = try tx.delete("/home/of/\(number % 7)/somebody/with/a/long/path/\(text)", in: tree)
          }
        }
      }
    }
  }

  private func storageErrorsOnly<Result>(_ body: () throws -> Result) throws -> Result? {
    do { return try body() } catch is StorageError { return nil }
  }

  /// Forges a file for each seed, and exercises it.
  private func tryForging(_ kind: HostileFiles.Kind, pageSize: Int, debug: Int) throws {
    let files = try HostileFiles(kind, pageSize: pageSize)
    let start = firstSeed()
    // What is done with a file depends on its seed: six in a row have all of it.
    let count = trialCount(debug: debug, release: 3000, divisor: 50, least: 6)
    for seed in start..<(start + UInt64(count)) {
      try exercise(files.forged(seed: seed), pageSize: pageSize, seed: seed, isUniform: kind == .uniformPages)
    }
  }

  @Test(arguments: [512, 4096]) func forgedPages(pageSize: Int) throws {
    try tryForging(.pages, pageSize: pageSize, debug: 300)
  }

  /// The same where leaves are uniform: full ones are divided without being measured.
  @Test(arguments: [512, 4096]) func forgedUniformPages(pageSize: Int) throws {
    try tryForging(.uniformPages, pageSize: pageSize, debug: 100)
  }

  /// What once ended in a trap: a branch counts entries that are not there, and a range begins behind those that are.
  @Test(arguments: [148_600_024_904_280]) func forgedUniformPagesFound(seed: UInt64) throws {
    let files = try HostileFiles(.uniformPages, pageSize: 512)
    try exercise(files.forged(seed: seed), pageSize: 512, seed: seed, isUniform: true)
  }

  /// Forged references to extents, next to other changes.
  @Test(.enabled(if: TestSize.hasSlowTests, "slow"), arguments: [512, 4096]) func forgedExtents(pageSize: Int) throws {
    try tryForging(.extents, pageSize: pageSize, debug: 60)
  }

  @Test func forgedMetaPages() throws { try tryForging(.metaPages, pageSize: 512, debug: 300) }

  /// What the check says of references that cannot be, each by itself.
  @Test(.enabled(if: TestSize.hasSlowTests, "slow"), arguments: ExtentForgery.allCases)
  func checkFindsForgedExtent(forgery: ExtentForgery) throws {
    let bytes = try HostileFiles.makeFile(pageSize: 512, longOneIn: 4)
    var forger = try #require(Forger(bytes, pageSize: 512))
    let places = forger.extentPlaces()
    try #require(places.count > 4)
    forger.forge(forgery, places[1], other: places[3])
    forger.seal()
    let disk = SimulatedDisk()
    disk.install(forger.bytes, at: TinyDatabase.path)
    let defects = try Inspector(at: TinyDatabase.path, fileSystem: disk).check()
    #expect(defects.contains { $0.code == .damagedPage && $0.page != nil && $0.offset != nil }, "\(defects)")
    // And whoever uses the file meets errors at the worst.
    for seed in 1...UInt64(TestSize.isFull ? 2 : 1) { try exercise(forger.bytes, pageSize: 512, seed: seed) }
  }

  @Test func sealingAlonePassesTheCheck() throws {
    let bytes = try HostileFiles.makeFile(pageSize: 512, longOneIn: 4)
    var forger = try #require(Forger(bytes, pageSize: 512))
    forger.seal()
    let disk = SimulatedDisk()
    disk.install(forger.bytes, at: TinyDatabase.path)
    let defects = try Inspector(at: TinyDatabase.path, fileSystem: disk).check()
    #expect(defects.isEmpty, "\(defects)")
  }
}
