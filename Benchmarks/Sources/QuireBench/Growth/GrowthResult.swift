// What the process that measures a store tells the one that started it: a line of JSON for each thing it has measured.

internal import Foundation
internal import Synchronization

/// A figure, or a word on why there is none.
struct GrowthResult: Codable {
  /// Which of the tables it stands in.
  enum Table: String, Codable {
    case rows, latencies
    /// What was counted beside the rows: nobody wins or loses by it.
    case notes
  }

  let table: Table
  let row: String
  let unit: String
  /// Nil where a store was stopped.
  let value: Double?
  let remark: String?
}

/// What is in the store when a process ends, for the next process and for those who verify.
struct GrowthState: Codable {
  /// Rows of the random filling that are or were in the store, fewer than planned if it was stopped.
  var filled = 0
  var rowCount = 0
  var valueSum: UInt64 = 0
  /// Ranges that were read of the filled store, and the sum that they gave.
  var ranges = 0
  var rangeSum: UInt64 = 0
  /// Rows that were put after the filling, numbered from where the filling was to end.
  var added = 0

  var contents: Contents { Contents(count: rowCount, sum: valueSum) }
}

/// A line of the file.
enum GrowthLine: Codable {
  case result(GrowthResult)
  case state(GrowthState)
  /// What went wrong, in the store's words.
  case failure(String)
}

/// The file of results, written line by line so that nothing is lost with the process.
///
/// Any thread may write.
final class GrowthLog: Sendable {
  private let file: Mutex<FileHandle>

  /// Appends to the file at `path`, which is there.
  init(path: String) throws {
    let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    try handle.seekToEnd()
    file = Mutex(handle)
  }

  func write(_ line: GrowthLine) throws {
    let data = try JSONEncoder().encode(line) + Data([10])
    try file.withLock { try $0.write(contentsOf: data) }
  }

  /// All lines of a file.
  static func lines(of path: String) throws -> [GrowthLine] {
    try QuireBench.lines(of: path).map { try JSONDecoder().decode(GrowthLine.self, from: Data($0.utf8)) }
  }
}

/// Ends the process if a row of the table takes far longer than it may: some calls cannot be interrupted.
///
/// Any thread may use it.
final class GrowthWatchdog: Sendable {
  /// What the process returns then.
  static let status: CInt = 3
  private let row = Mutex<(name: String, unit: String, end: Int)?>(nil)

  /// Watches on a thread of its own, until the process ends.
  init(log: GrowthLog) {
    Thread.detachNewThread { [self] in
      while true {
        Thread.sleep(forTimeInterval: 0.2)
        guard let (name, unit, end) = row.withLock({ $0 }), Clocks.wall() > end else { continue }
        let result = GrowthResult(
          table: .rows, row: name, unit: unit, value: nil, remark: "stopped: a call that could not be interrupted")
        try? log.write(.result(result))
        _exit(Self.status)
      }
    }
  }

  /// A row of the table begins, and must end after so many seconds.
  func begin(_ name: String, _ unit: String, seconds: Double) {
    row.withLock { $0 = (name, unit, Clocks.wall() + Int(seconds * 1e9)) }
  }

  /// No row is being measured.
  func end() { row.withLock { $0 = nil } }
}
