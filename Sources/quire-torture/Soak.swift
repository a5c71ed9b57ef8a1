// Long runs that show what becomes of the files: full-size forms of what the test suite does in seconds.

import ArgumentParser
import QuireStorage
import QuireTesting

/// `quire-torture soak`: sizes of files under long work.
struct Soak: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Works for long on a new database and tells the sizes of its files.",
    discussion: """
      First: so many commits, each overwriting one of 1,000 rows, with one reader held from the start to the end; the \
      files may hold the live data, the reader's view and twice the log limit; if they hold more, it ends with status \
      1. Then: so many rows are put in, half of them removed at random, and the file is tidied; if files and log hold \
      more than three times the payload after a checkpoint and before they are tidied, it ends with status 1 as well.
      """,
    shouldDisplay: false)

  @Argument(help: "A folder for the databases, which stay there.")
  var folder: String
  @Option(help: "Commits under the reader.")
  var commits = 1_000_000
  @Option(help: "Rows to put in, half of which are removed.")
  var rows = 1_000_000
  @Option(help: "The log limit of the first part in MiB.")
  var logLimit = 8

  func run() throws {
    try overwrite()
    try removeHalf()
  }

  /// The length of the data file and of all log files.
  private func byteCount(_ path: String) throws -> Int { try byteCount(of: [path]) + logByteCount(path) }

  private func logByteCount(_ path: String) throws -> Int { try byteCount(of: (0..<8).map { "\(path)-log\($0)" }) }

  private func byteCount(of names: [String]) throws -> Int {
    let files = RealFileSystem()
    var total = 0
    for name in names {
      do throws(SystemError) {
        let file = try files.open(name, .readOnly)
        defer { file.close() }
        total += try file.status().byteCount
      } catch { continue }
    }
    return total
  }

  private func overwrite() throws {
    let path = folder + "/overwrite.quire"
    let options = StorageOptions(durability: .relaxed, logLimit: logLimit << 20, maintainsWhenIdle: false)
    let engine = try StorageEngine(at: path, options: options)
    let tree = try engine.write { tx in try tx.createTree("rows", keys: .int64) }
    func put(_ index: Int) throws {
      let value = [UInt8](repeating: UInt8(truncatingIfNeeded: index), count: 150)
      try engine.write { tx in try tx.put(value, for: Int64(index &* 7919 % 1000), in: tree) }
    }
    for index in 0..<20_000 { try put(index) }
    try engine.checkpoint()
    let live = try byteCount(path)
    let view = engine.statistics.filePages * options.pageSize
    var pin: PinnedSnapshot? = try engine.pin()
    var largest = 0
    for index in 0..<commits {
      try put(index)
      if index % 5000 == 0 { largest = max(largest, try byteCount(path)) }
    }
    // The tail that was allocated in advance is part of what the file took at first.
    let limit = live + view + 2 * options.logLimit
    print("\(commits) commits under a reader: at first \(live) bytes, at most \(largest), allowed \(limit)")
    withExtendedLifetime(pin) {}
    pin = nil
    try put(0)
    try engine.compact()
    let after = try byteCount(path)
    try engine.close()
    print("without the reader, tidied: \(after); closed: \(try byteCount(path))")
    guard largest <= limit else { throw ExitCode(1) }
  }

  private func removeHalf() throws {
    let path = folder + "/half.quire"
    let options = StorageOptions(maintainsWhenIdle: false)
    let engine = try StorageEngine(at: path, options: options)
    let tree = try engine.write { tx in try tx.createTree("rows", keys: .int64) }
    for start in stride(from: 0, to: rows, by: 1000) {
      let value = [UInt8](repeating: UInt8(truncatingIfNeeded: start), count: 150)
      try engine.write { tx in for key in start..<start + 1000 { try tx.put(value, for: Int64(key), in: tree) } }
    }
    try engine.checkpoint()
    let (full, fullLog) = (try byteCount(path), try logByteCount(path))
    let checkpoints = engine.statistics.checkpoints
    var random = SeededRandom(seed: 1)
    var left = rows
    for start in stride(from: 0, to: rows, by: 1000) {
      try engine.write { tx in
        for key in start..<start + 1000 where random.oneIn(2) {
          try tx.delete(Int64(key), in: tree)
          left -= 1
        }
      }
    }
    try engine.checkpoint()
    let payload = left * 158
    let (atOnce, log) = (try byteCount(path), try logByteCount(path))
    let statistics = engine.statistics
    let free = statistics.freePages * options.pageSize
    try engine.compact()
    let tidied = try byteCount(path)
    try engine.close()
    let closed = try byteCount(path)
    func ratio(_ byteCount: Int) -> String { "\(byteCount) bytes, \(byteCount * 100 / payload) % of the payload" }
    print("\(rows) rows: \(full) bytes, of which log \(fullLog)")
    print("half removed: \(ratio(atOnce)) at once, of which log \(log) and free \(free)")
    print("\(statistics.checkpoints - checkpoints) checkpoints; tidied: \(ratio(tidied)); closed: \(ratio(closed))")
    guard atOnce <= 3 * payload else { throw ExitCode(1) }
  }
}
