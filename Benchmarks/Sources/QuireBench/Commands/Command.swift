// The command line.

internal import ArgumentParser
internal import Foundation

@main
struct Command: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "quire-bench",
    abstract: "Measures Quire beside its peers: same rows, same order, alternating runs.",
    subcommands: [
      Run.self, Check.self, Instructions.self, Sections.self, MemoryOf.self, ObjectsBench.self, CrashChild.self,
      ObjectLayer.self, ObjectCompression.self, IndexBench.self, GrowthBench.self, GrowthMerge.self, GrowthChild.self,
      Figures.self, FeedBench.self, SearchBench.self, RelevanceBench.self, RotBench.self, RotChild.self,
    ],
    defaultSubcommand: Run.self)
}

/// What all runs take.
struct PlanOptions: ParsableArguments {
  @Option(help: "Multiplies the sizes of everything: 1 is a million rows.")
  var scale = 1.0
  @Option(help: "Seed of keys, values and orders.")
  var seed = Plan().seed
  @Option(help: "Mebibytes of pages or blocks kept in memory, for stores that keep them.")
  var cache = Plan().cacheSize >> 20
  @Flag(help: "Takes memory as it comes: on some virtual machines the host's then decides about rows that load.")
  var coldMemory = false
  @Option(help: "Keeps the files below this folder; a temporary one, removed afterwards, if absent.")
  var directory: String?

  func validate() throws {
    guard scale >= 0, scale <= 1000, cache >= 1 else {
      throw ValidationError("--scale must be from 0 to 1000, --cache positive.")
    }
  }

  /// The sizes.
  var plan: Plan {
    var plan = Plan(scale: scale)
    (plan.seed, plan.cacheSize) = (seed, cache << 20)
    if coldMemory { plan.memoryAtHand = 0 }
    return plan
  }
}

/// Runs everything at tiny sizes.
struct Check: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Runs every row at tiny sizes and verifies what the stores hold; measures nothing.")

  func run() throws {
    let stores = Peer.installedStores
    for peer in Peer.all where peer.store == nil { print(peer.advice) }
    try withWorkDirectory(nil) { folder in
      let bench = try Bench(plan: .check, directory: folder)
      var report = try Report(of: bench, stores)
      for row in BenchmarkRow.all {
        let results = try measure(row, stores, in: bench)
        let runs = min(bench.plan.runs, row.mostRuns)
        for result in results {
          let values = result.samples.map(\.value)
          let isSane = values.allSatisfy { $0.isFinite && $0 >= 0 } && values.count == runs
          try expect(isSane, "\(row.name) of \(result.store) gave \(values)")
        }
        try expect(results.contains { $0.store == QuireStore.name }, "\(row.name) left Quire out")
        report.results += results
        print("\(row.name): \(results.map(\.store).joined(separator: ", ")): in order")
      }
      for kind in stores { try bench.reopenAndVerify(kind) }
      try bench.closeAll()
      try check(report, in: folder)
      print("\(stores.count) stores, \(BenchmarkRow.all.count) rows: in order")
    }
    try checkObjects()
    try withWorkDirectory(nil) { try checkGrowth(in: $0) }
    try withWorkDirectory(nil) { try checkRot(in: $0) }
    try withWorkDirectory(nil) { try checkSearch(in: $0) }
    try checkFigures()
  }

  /// Measures the table of objects over a thousand rows: each store verifies what it does.
  private func checkObjects() throws {
    try withWorkDirectory(nil) { folder in
      let table = try ObjectsRun(folder, count: 1_000, runs: 1, isCheck: true)
      for part in ObjectsPart.allCases {
        try table.measure(part)
        print("objects, \(part.rawValue): \(table.take().count) rows: in order")
      }
      try expect(table.markdown.contains("`get by key`"), "the table of objects leaves getting out")
    }
  }

  /// Writes everything that a run can write and reads the JSON back.
  private func check(_ report: Report, in folder: String) throws {
    let written = try JSONDecoder().decode(Report.self, from: report.json())
    try expect(written.results.count == report.results.count, "the JSON does not hold all results")
    try report.writePlots(to: "\(folder)/plots")
    for group in RowGroup.allCases {
      let plot = try XMLDocumentShape(contentsOf: "\(folder)/plots/\(group.rawValue).svg")
      try expect(plot.isBalanced, "the plot of \(group.rawValue) is not well-formed")
    }
    for row in BenchmarkRow.all {
      try expect(report.markdown.contains("`\(row.name)`"), "the table leaves \(row.name) out")
    }
  }
}

/// Measures the memory of one store in this process; `measureMemory` starts it.
struct MemoryOf: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Prints the memory that a store takes, as JSON.", shouldDisplay: false)

  @Argument(help: "The store.")
  var store: String
  @OptionGroup var options: PlanOptions

  func run() throws {
    let kind = try chosen(store, among: Peer.installedStores, named: { $0.name })
    try withWorkDirectory(options.directory) { folder in
      let bench = try Bench(plan: options.plan, directory: folder)
      for kind in kind {
        print(String(decoding: try JSONEncoder().encode(MemoryUse.measure(bench, kind)), as: UTF8.self))
      }
    }
  }
}

/// Those of `all` that `list` names, in the order of the list; all without a list.
func chosen<Element>(
  _ list: String?, among all: [Element], named name: (Element) -> String
) throws -> [Element] {
  guard let list else { return all }
  return try list.split(separator: ",").map { wanted in
    guard let found = all.first(where: { name($0) == wanted }) else {
      throw ValidationError("“\(wanted)” is not one of \(all.map(name).joined(separator: ", ")).")
    }
    return found
  }
}

/// Runs `body` with a fresh folder below `parent`, or in the temporary folder, and removes it whatever happens.
func withWorkDirectory<Result>(_ parent: String?, _ body: (String) throws -> Result) throws -> Result {
  let place = parent ?? FileManager.default.temporaryDirectory.path
  let folder = "\(place)/quire-bench-\(ProcessInfo.processInfo.processIdentifier)"
  try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(atPath: folder) }
  return try body(folder)
}
