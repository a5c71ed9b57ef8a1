// The victim of the kill test: writes, says what has been acknowledged, and waits to be killed.

import ArgumentParser
import Dispatch
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

/// Counts in a database for ever and tells the number of each acknowledged commit to the reader of its output.
///
/// Commit n stores n under `n % 64`, and n in the counter. `Tests/CrashTests/KillTests.swift` is the other side.
struct KillChild: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "kill-child", abstract: "Commit numbers until killed; for the tests.", shouldDisplay: false)

  /// The key of the newest number.
  static let counterKey: Int64 = -1

  @Argument(help: "The path of the database.")
  var path: String

  @Flag(help: "Acknowledge before the disk has confirmed.")
  var relaxed = false

  @Option(help: "How many threads commit.")
  var writers = 1

  func run() throws {
    let engine = try StorageEngine(
      at: path, options: StorageOptions(durability: relaxed ? .relaxed : .full, logLimit: 64 << 10),
      environment: StorageEnvironment(initialSegmentByteCount: 16 << 10))
    let tree = try engine.write { tx in try tx.tree(named: "t") ?? tx.createTree("t", keys: .int64) }
    DispatchQueue.concurrentPerform(iterations: writers) { _ in
      do {
        while true {
          let number = try Self.commitNext(engine, tree)
          let count = withUnsafeBytes(of: number.littleEndian) { write(1, $0.baseAddress, $0.count) }
          // The reader has gone, and with it the reason to go on.
          if count != 8 { return }
        }
      } catch {
        // At once, also if others could go on: a victim that ends by itself has failed.
        Self.exit(withError: error)
      }
    }
  }

  /// Commits the next number, and returns it.
  static func commitNext(_ engine: StorageEngine, _ tree: Tree) throws -> Int64 {
    try engine.write { tx in
      let old = try tx.value(for: counterKey, in: tree).map { String(decoding: $0, as: UTF8.self) }
      let next = (old.flatMap { Int64($0) } ?? 0) + 1
      // Long enough that the log turns over every few dozen commits.
      let text = String(next)
      try tx.put(text + String(repeating: " ", count: 400), for: next % 64, in: tree)
      try tx.put(text, for: counterKey, in: tree)
      return next
    }
  }

  /// The newest number that a snapshot shows; 0 before the first.
  static func counter(_ tx: borrowing ReadTransaction, _ tree: Tree) throws -> Int64 {
    let text = try tx.value(for: counterKey, in: tree).map { String(decoding: $0, as: UTF8.self) }
    return text.flatMap { Int64($0) } ?? 0
  }

  /// What a number left: itself under its place, and those of the 63 before it. Throws if a snapshot shows otherwise.
  static func check(_ tx: borrowing ReadTransaction, _ tree: Tree) throws {
    let counter = try counter(tx, tree)
    for key in 0..<Int64(64) {
      let value = try tx.value(for: key, in: tree).map { String(decoding: $0.prefix { $0 != 32 }, as: UTF8.self) }
      let expected = counter - (counter - key) % 64
      guard value.flatMap({ Int64($0) }) == (expected > 0 && counter >= key ? expected : nil) else {
        throw ValidationError("under \(key) there is \(value ?? "nothing"), and the counter is \(counter)")
      }
    }
  }
}
