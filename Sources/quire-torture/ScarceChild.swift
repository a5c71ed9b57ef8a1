// The victim of the tests of scarce resources: does a little of everything within a limit, and says how far it came.

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

/// Opens a database, writes, reads, checkpoints, backs up and closes, with no more of something than it is given.
///
/// Every line of the output is a step and what came of it. `Tests/CrashTests/ScarceResourceTests.swift` is the other
/// side, which takes every end but the last line for a failure.
struct ScarceChild: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "scarce-child", abstract: "Work with scarce resources; for the tests.", shouldDisplay: false)

  /// How many transactions there are, of which every tenth is too large for the log.
  static let transactionCount = 30

  @Argument(help: "The path of the database.")
  var path: String

  @Option(help: "How many descriptors the process may have.")
  var descriptors: Int?

  @Option(help: "How many threads the process may have. As root it becomes the user given by --user first.")
  var threads: Int?

  @Option(help: "The user to become.")
  var user: UInt32?

  @Option(help: "After how many reservations of memory the system gives no more.")
  var reservations: Int?

  func run() throws {
    try limit()
    guard let engine = step("open", { try open() }) else { return say("done") }
    if let tree = step(
      "tree", { try engine.write { tx in try tx.tree(named: "t") ?? tx.createTree("t", keys: .int64) } })
    {
      for number in 0..<Self.transactionCount {
        _ = step("commit \(number)") { try commit(number, engine, tree) }
      }
      _ = step("read") { try engine.read { tx in try tx.count(of: tree) } }
    }
    _ = step("checkpoint") { try engine.checkpoint() }
    _ = step("backup") { try engine.backup(to: "\(path)-backup") }
    _ = step("close") { try engine.close() }
    say("done")
  }

  private func open() throws -> StorageEngine {
    try StorageEngine(
      at: path, options: StorageOptions(cacheSize: 4 << 20, logLimit: 64 << 10),
      environment: StorageEnvironment(
        initialSegmentByteCount: 16 << 10, usualLogByteCount: 32 << 10, partByteCount: 4 << 10,
        unloggedByteCount: 8 << 10))
  }

  private func commit(_ number: Int, _ engine: StorageEngine, _ tree: Tree) throws {
    try engine.write { tx in
      for row in 0..<(number % 10 == 9 ? 1000 : 2) {
        try tx.put([UInt8](repeating: UInt8(number), count: 100), for: Int64(number) << 16 | Int64(row), in: tree)
      }
    }
  }

  // MARK: Limits

  private func limit() throws {
    if let user, setgid(user) != 0 || setuid(user) != 0 { throw ValidationError("The process cannot become \(user).") }
    #if os(Linux)
      if let descriptors {
        // What the parent had open for others at this moment would count.
        closefrom(3)
        try set(RLIMIT_NOFILE, to: descriptors)
      }
      if let threads { try set(__RLIMIT_NPROC, to: threads) }
    #endif
    if let reservations { EngineMemory.grant(reservations) }
  }

  #if os(Linux)
    private func set(_ resource: __rlimit_resource, to count: Int) throws {
      var limit = rlimit(rlim_cur: rlim_t(count), rlim_max: rlim_t(count))
      guard setrlimit(__rlimit_resource_t(resource.rawValue), &limit) == 0 else {
        throw ValidationError("The limit cannot be set.")
      }
    }
  #endif

  // MARK: Telling

  private func step<Result>(_ name: String, _ body: () throws -> Result) -> Result? {
    do {
      let result = try body()
      say("\(name): done")
      return result
    } catch let error as StorageError {
      say("\(name): \(error.code)")
    } catch {
      say("\(name): not an error of the engine's: \(error)")
    }
    return nil
  }

  private func say(_ text: String) {
    var line = text + "\n"
    line.withUTF8 { _ = write(1, $0.baseAddress, $0.count) }
  }
}
