// The victim of the failing calls: does a little of everything, and says what came of each step.

import ArgumentParser
import QuireStorage

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// Opens a database, counts in it, checkpoints, backs up and closes, whatever the system says to it.
///
/// Commit n stores n under `n % 64`, and n in the counter, as `KillChild` does. A line of the output is a step and what
/// came of it; `FailingCalls` reads them.
struct FailingChild: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "failing-child", abstract: "Work while calls to the system fail; for the tests.", shouldDisplay: false)

  /// Seconds after which it is taken to wait for ever.
  static let limit: UInt32 = 60
  /// How many commits are tried.
  static let commitCount = 40

  private static let longKey: Int64 = 1000
  private static let longValue = [UInt8](repeating: 7, count: 40_000)

  @Argument(help: "The path of the database.")
  var path: String

  func run() throws {
    alarm(Self.limit)
    if let engine = step("open", { try open() }) {
      if let tree = step(
        "tree", { try engine.write { tx in try tx.tree(named: "t") ?? tx.createTree("t", keys: .int64) } })
      {
        for attempt in 1...Self.commitCount { try work(engine, tree, attempt) }
      }
      _ = step("close") { try engine.close() }
    }
    say("done")
  }

  private func open() throws -> StorageEngine {
    try StorageEngine(
      at: path, options: StorageOptions(cacheSize: 4 << 20, logLimit: 64 << 10),
      environment: StorageEnvironment(initialSegmentByteCount: 16 << 10, usualLogByteCount: 32 << 10))
  }

  private func work(_ engine: StorageEngine, _ tree: Tree, _ attempt: Int) throws {
    if let number = step("commit", { try KillChild.commitNext(engine, tree) }) { say("acknowledged \(number)") }
    if let shown = step("read", { try engine.read { tx in try KillChild.counter(tx, tree) } }) { say("shows \(shown)") }
    // Values that have pages of their own: both files grow, and become shorter again.
    if attempt % 5 == 0 {
      _ = step("long values") {
        try engine.write { tx in
          let isThere = try tx.value(for: Self.longKey, in: tree) != nil
          for key in Self.longKey..<Self.longKey + 4 {
            if isThere { _ = try tx.delete(key, in: tree) } else { try tx.put(Self.longValue, for: key, in: tree) }
          }
        }
      }
    }
    if attempt % 12 == 0 { _ = step("checkpoint") { try engine.checkpoint() } }
    if attempt == Self.commitCount / 2 { _ = step("backup") { try engine.backup(to: "\(path)-backup") } }
  }

  private func step<Result>(_ name: String, _ body: () throws -> Result) -> Result? {
    do { return try body() } catch let error as StorageError {
      say("\(name) failed: \(error.code)")
    } catch {
      say("\(name) failed with no error of the engine's: \(error)")
    }
    return nil
  }

  private func say(_ text: String) {
    var line = text + "\n"
    line.withUTF8 { _ = write(1, $0.baseAddress, $0.count) }
  }
}
