// The victim of recorded power cuts: several threads commit, and one does all that lasts longer.

import ArgumentParser
import Dispatch
import QuireStorage
import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// Counts in a database with three threads, checkpoints, compacts, backs up and closes, and says what is acknowledged.
///
/// Commit n is that of `KillChild`. `PowerCuts` reads what it says.
struct RecordedChild: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "recorded-child", abstract: "Work that is recorded; for the tests.", shouldDisplay: false)

  private static let longValue = [UInt8](repeating: 7, count: 40_000)

  @Argument(help: "The path of the database.")
  var path: String
  @Option(help: "How many commits there are.")
  var commits = 150

  func run() throws {
    alarm(FailingChild.limit)
    // Twice, so that an opening is among what is recorded.
    for half in 0..<2 {
      let engine = try StorageEngine(
        at: path, options: StorageOptions(cacheSize: 4 << 20, durability: .full, logLimit: 64 << 10),
        environment: StorageEnvironment(initialSegmentByteCount: 16 << 10, usualLogByteCount: 32 << 10))
      let tree = try engine.write { tx in try tx.tree(named: "t") ?? tx.createTree("t", keys: .int64) }
      let left = Atomic(commits / 2)
      DispatchQueue.concurrentPerform(iterations: 4) { thread in
        do {
          if thread == 3 { return try work(engine, tree, half) }
          while left.subtract(1, ordering: .relaxed).newValue >= 0 {
            Self.say("acknowledged \(try KillChild.commitNext(engine, tree))")
          }
        } catch {
          Self.exit(withError: error)
        }
      }
      try engine.close()
    }
    Self.say("done")
  }

  private func work(_ engine: StorageEngine, _ tree: Tree, _ half: Int) throws {
    try engine.checkpoint()
    for round in Int64(0)..<3 {
      try engine.write { tx in
        for key in 0..<4 as Range<Int64> { try tx.put(Self.longValue, for: 1000 + 10 * round + key, in: tree) }
      }
    }
    try engine.backup(to: "\(path)-backup\(half)")
    Self.say("backup \(half)")
    try engine.write { tx in _ = try tx.deleteRange(from: Int64(1000), in: tree) }
    try engine.compact()
  }

  /// In one call, whole or not at all.
  private static func say(_ text: String) {
    var line = text + "\n"
    line.withUTF8 { _ = write(1, $0.baseAddress, $0.count) }
  }
}
