// The table of growth: what happens when data outgrow memory.

internal import ArgumentParser
internal import Foundation

/// Measures the table of growth.
struct GrowthBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "growth", abstract: "Measures stores of more and more rows, with more and less memory.")

  @Option(help: "Numbers of rows, separated by commas.")
  var count = "1000000"
  @Option(help: "Caches, separated by commas: MiB, default (Quire's own, given to all), or tenth (of keys and values).")
  var cache = "default"
  @Option(help: "Stores, separated by commas; all but GRDB that are installed if there are none.")
  var stores: String?
  @Option(
    help: "Parts of the table, separated by commas: \(GrowthPart.allCases.map(\.rawValue).joined(separator: ", ")).")
  var rows: String?
  @Option(help: "Alternating runs.")
  var runs = 1
  @Option(help: "Seconds for a row of the table; a store that needs longer is stopped.")
  var timeLimit = 60.0
  @Option(help: "MiB that each store's process may take, with what the system keeps of its files in memory.")
  var memory: Int?
  @Option(help: "Seed of keys, values and orders.")
  var seed: UInt64 = 1
  @OptionGroup var files: GrowthFiles
  @Option(help: "Keeps the files below this folder; a temporary one, removed afterwards, if absent.")
  var directory: String?

  func validate() throws {
    guard runs >= 1, timeLimit > 0, memory ?? 1 > 0 else {
      throw ValidationError("--runs, --time-limit and --memory must be positive.")
    }
    _ = try configurations
  }

  /// Rows and caches, each number of rows with all caches.
  private var configurations: [GrowthConfiguration] {
    get throws {
      let counts = try count.split(separator: ",").map { text in
        // A batch is the least that can be committed, and a fifth of the rows must hold one.
        guard let count = Int(text), count >= 10_000 else {
          throw ValidationError("--count must be 10000 at the least: “\(text)”.")
        }
        return count
      }
      let caches = try cache.split(separator: ",").map { text in
        guard let cache = GrowthCache(text) else {
          throw ValidationError("--cache takes MiB, default or tenth: “\(text)”.")
        }
        return cache
      }
      return counts.flatMap { count in
        caches.map { GrowthConfiguration(count: count, cache: $0, memoryMiB: memory) }
      }
    }
  }

  func run() throws {
    let plan = GrowthPlan(count: 0, cacheSize: nil, seed: seed, secondsPerRow: timeLimit)
    let sizes = GrowthSizes(
      configurations: try configurations,
      stores: try chosen(stores, among: Peer.growingStores, named: { $0.name }),
      parts: try chosen(rows, among: GrowthPart.allCases, named: \.rawValue), runs: runs, plan: plan)
    try withWorkDirectory(directory) { folder in
      let run = try GrowthRun(folder, sizes)
      for (place, configuration) in sizes.configurations.enumerated() {
        print("\(configuration.title):")
        try run.measure(configuration)
        print(run.report.markdown(place))
        // After each, because the next may take hours.
        try files.write(run.report)
      }
      if !run.report.failures.isEmpty { throw ExitCode.failure }
    }
  }
}

/// Where a report of growth goes.
struct GrowthFiles: ParsableArguments {
  @Option(help: "Writes all figures to this file as JSON.")
  var json: String?
  @Option(help: "Writes the tables to this file as Markdown.")
  var markdown: String?
  @Option(help: "Writes curves into this folder, one SVG for each size of cache.")
  var plots: String?

  func write(_ report: GrowthReport) throws {
    if let json { try report.json().write(to: URL(fileURLWithPath: json)) }
    if let markdown { try report.markdown.write(toFile: markdown, atomically: true, encoding: .utf8) }
    if let plots { try report.writePlots(to: plots) }
  }
}

extension Peer {
  /// Those that the table of growth has: GRDB's rows are SQLite's.
  static var growingStores: [any StoreUnderTest.Type] { installedStores.filter { $0.name != "grdb" } }
}

/// Measures the table of growth over some thousand rows, and reads back what a run can write.
func checkGrowth(in folder: String) throws {
  let plan = GrowthPlan.check
  let configuration = GrowthConfiguration(count: plan.count, cache: .mebibytes(1), memoryMiB: nil)
  let sizes = GrowthSizes(
    configurations: [configuration], stores: Peer.growingStores, parts: GrowthPart.allCases, runs: 1, plan: plan,
    isCheck: true)
  let run = try GrowthRun(folder, sizes)
  try run.measure(configuration)
  try expect(run.report.failures.isEmpty, run.report.failures.joined(separator: "; "))
  let (rows, latencies) = (run.report.table(configuration, .rows), run.report.table(configuration, .latencies))
  try expect(rows.isSane && latencies.isSane, "growth: not all samples are numbers")
  for name in ["load by a call for many rows", "opening after a crash", "ranges of ten"] {
    try expect(run.report.markdown.contains("`\(name)`"), "the table of growth leaves “\(name)” out")
  }
  let written = try JSONDecoder().decode(GrowthReport.self, from: run.report.json())
  try expect(written.samples.count == run.report.samples.count, "the JSON of growth does not hold all figures")
  try checkMerging(run.report)
  try run.report.writePlots(to: "\(folder)/plots")
  let plot = try XMLDocumentShape(contentsOf: "\(folder)/plots/growth-1.svg")
  try expect(plot.isBalanced, "the curves of growth are not well-formed")
  print("growth: \(rows.count + latencies.count) rows: in order")
}

/// Puts a run beside itself as if it had had twice the rows, which works, and beside itself as it is, which does not.
private func checkMerging(_ report: GrowthReport) throws {
  let double = GrowthConfiguration(count: 2 * report.configurations[0].count, cache: .mebibytes(1), memoryMiB: nil)
  var other = report
  other.configurations = [double]
  other.samples = report.samples.map {
    GrowthSample(configuration: double, store: $0.store, run: $0.run, result: $0.result)
  }
  let whole = try GrowthReport.merging([other, report])
  try expect(
    whole.configurations == report.configurations + [double] && whole.samples.count == 2 * report.samples.count
      && whole.invocations.count == 2, "two runs of growth do not make one report")
  let isRefused: Bool
  do {
    _ = try GrowthReport.merging([report, report])
    isRefused = false
  } catch is StoreFailure { isRefused = true }
  try expect(isRefused, "the same figures were taken twice")
}
