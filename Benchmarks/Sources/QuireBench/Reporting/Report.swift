// What a run says: a plain table for people, JSON for programs.

internal import Foundation

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// Where and with what a run took place.
struct Machine: Codable {
  let processor: String
  let cores: Int
  let memoryMiB: Int
  let system: String
  let fileSystem: String
  let loadAverage: Double
  let date: String
  /// False where a flush costs nothing because the files live in memory.
  let filesAreOnDisk: Bool

  /// Looks at this machine and at the file system of `directory`.
  init(directory: String) {
    let lines = lines(of: "/proc/cpuinfo")
    let model = lines.first { $0.hasPrefix("model name") }?.split(separator: ":").last.map(String.init)
    processor = model?.trimmingCharacters(in: .whitespaces) ?? "unknown processor"
    cores = ProcessInfo.processInfo.activeProcessorCount
    memoryMiB = Int(ProcessInfo.processInfo.physicalMemory >> 20)
    system = ProcessInfo.processInfo.operatingSystemVersionString
    fileSystem = QuireBench.fileSystem(of: directory) ?? "unknown file system"
    loadAverage = Machine.load()
    date = ISO8601DateFormatter().string(from: Date())
    filesAreOnDisk = fileSystem != "tmpfs"
  }

  /// The machine in a few words.
  var summary: String { "\(processor), \(cores) cores, \(memoryMiB >> 10) GiB, \(system), \(fileSystem)" }

  /// What stands above tables that have no other word on where they come from.
  func heading(count: Int, runs: Int) -> String {
    """
    \(summary); load \(number(loadAverage)) at the beginning and \(number(Machine.load())) at the end. \
    Quire \(QuireStore.checkout). \(count) rows, median of \(runs) alternating runs, with the lowest and the highest.
    """
  }

  /// How many threads have wanted a core in the last minute.
  static func load() -> Double {
    var averages = [0.0, 0.0, 0.0]
    return getloadavg(&averages, 3) > 0 ? averages[0] : 0
  }
}

/// A store that took part.
struct Participant: Codable {
  let name: String
  let version: String
}

/// What a run says, to be read by other programs.
protocol JSONReport: Encodable {}

extension JSONReport {
  /// The report as indented JSON.
  func json() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    return try encoder.encode(self)
  }
}

/// All results of a run.
struct Report: Codable, JSONReport {
  let machine: Machine
  let stores: [Participant]
  let plan: Plan
  /// What the command line asked for.
  let arguments: [String]
  var results: [RowResult] = []
  /// When the last row was done.
  var loadAverageAtTheEnd = 0.0
  /// How many measurements began although some store's threads were still at work.
  var unquietMeasurements = 0

  /// What stands above the table.
  var heading: String {
    var text = """
      \(machine.summary), load \(number(machine.loadAverage))
      \(stores.map { "\($0.name) \($0.version)" }.joined(separator: ", "))
      \(plan.count) rows of 24 + 150 bytes, seed \(plan.seed), cache \(plan.cacheSize >> 20) MiB, \
      median of \(plan.runs) alternating runs (spread)
      """
    if !machine.filesAreOnDisk { text += "\nThe files are in memory: rows that wait for a disk mean nothing here." }
    return text
  }

  /// The rows that have results, in order, each with its results.
  var rows: [[RowResult]] {
    var names: [String] = []
    for result in results where names.last != result.row { names.append(result.row) }
    return names.map { name in results.filter { $0.row == name } }
  }

  /// One row of the table per store, in columns.
  static func table(_ results: [RowResult]) -> String {
    let head = ["row", "store", "median", "unit", "spread", "× best peer", "notes"]
    let body = results.map { result in
      [
        result.row, result.store, number(result.median), result.unit,
        "\(number(result.lowest)) to \(number(result.highest))",
        result.store == QuireStore.name ? ratioToBestPeer(of: result, in: results).map(number) ?? "" : "",
        result.notes.map { "\($0.name) \(number($0.value))" }.joined(separator: ", "),
      ]
    }
    let widths = head.indices.map { column in ([head] + body).map { $0[column].count }.max() ?? 0 }
    return ([head] + body).map { cells in
      zip(cells, widths).map { cell, width in
        cell + String(repeating: " ", count: width - cell.count)
      }.joined(separator: "  ").trimmingTrailingSpaces()
    }.joined(separator: "\n")
  }
}

/// The median as a multiple of the best peer's; nil where there is none, or where it took nothing.
func ratioToBestPeer(of result: RowResult, in results: [RowResult]) -> Double? {
  let peers = results.filter { $0.row == result.row && $0.store != QuireStore.name }.map(\.median)
  guard let best = result.higherIsBetter ? peers.max() : peers.min(), best > 0 else { return nil }
  return result.median / best
}

/// Three significant digits, without exponents.
func number(_ value: Double) -> String {
  let magnitude = abs(value)
  let decimals = magnitude >= 100 || value == 0 ? 0 : magnitude >= 10 ? 1 : magnitude >= 1 ? 2 : 3
  return String(format: "%.\(decimals)f", value)
}

extension String {
  fileprivate func trimmingTrailingSpaces() -> String {
    var text = self
    while text.hasSuffix(" ") { text.removeLast() }
    return text
  }
}
