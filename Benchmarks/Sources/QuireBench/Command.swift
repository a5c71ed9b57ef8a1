// The command line.

internal import ArgumentParser
internal import Foundation

@main
struct Command: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "quire-bench",
    abstract: "Measures Quire beside its peers: same rows, same order, alternating runs.",
    subcommands: [Run.self, Check.self, Stores.self, Objects.self],
    defaultSubcommand: Run.self)
}

/// Measures and prints.
struct Run: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Measures rows of the table (the default).")

  @Option(help: "Rows of the table, separated by commas: \(BenchmarkRow.all.map(\.name).joined(separator: ", ")).")
  var rows: String?
  @Option(help: "Stores, separated by commas: \(installedStores.map { $0.name }.joined(separator: ", ")).")
  var stores: String?
  @Option(help: "Rows in the loaded store.")
  var count = Plan().count
  @Option(help: "Alternating runs per row of the table.")
  var runs = Plan().runs
  @Option(help: "Seed of keys, values and orders.")
  var seed = Plan().seed
  @Option(help: "Mebibytes of pages kept in memory, for stores that keep them.")
  var cache = Plan().cacheSize >> 20
  @Option(help: "Writes all samples to this file as JSON.")
  var json: String?
  @Option(help: "Keeps the files below this folder; a temporary one, removed afterwards, if absent.")
  var directory: String?
  @Option(help: "Runs one measured section once, for a profiler: get or put.")
  var instructions: String?

  func validate() throws {
    guard count >= 20, runs >= 1, cache >= 1 else {
      throw ValidationError("--count must be 20 or more, --runs and --cache positive.")
    }
    if let instructions, MeasuredSection(rawValue: instructions) == nil {
      throw ValidationError("--instructions knows only: get, put.")
    }
  }

  func run() throws {
    let kinds = try chosen(stores, among: installedStores, named: { $0.name })
    let chosenRows = try chosen(rows, among: BenchmarkRow.all, named: \.name)
    guard !kinds.isEmpty else { throw ValidationError("No store was built in: install one, see Package.swift.") }
    var plan = Plan()
    (plan.count, plan.runs, plan.seed, plan.cacheSize) = (count, runs, seed, cache << 20)
    plan.rangeReads = min(plan.rangeReads, count)
    if let json { try expectWritable(json) }
    try withWorkDirectory(directory) { folder in
      let bench = try Bench(plan: plan, directory: folder)
      if let section = instructions.flatMap(MeasuredSection.init) { return try run(section, bench, kinds) }
      var report = Report(machine: Machine(directory: folder), plan: plan)
      print(report.heading)
      for row in chosenRows {
        let results = try measure(row, kinds, in: bench)
        report.results += results
        print("\n\(Report.table(results))")
      }
      try bench.closeAll()
      if let json { try report.json().write(to: URL(fileURLWithPath: json)) }
    }
  }

  private func run(_ section: MeasuredSection, _ bench: Bench, _ kinds: [any StoreUnderTest.Type]) throws {
    for kind in kinds {
      let operations = try section.run(bench, kind)
      print("\(kind.name): \(operations) operations")
    }
    try bench.closeAll()
  }

  /// Fails now rather than after minutes of measuring.
  private func expectWritable(_ path: String) throws {
    guard FileManager.default.createFile(atPath: path, contents: nil) else {
      throw ValidationError("\(path) cannot be written.")
    }
  }
}

/// Runs everything at tiny sizes.
struct Check: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Runs every row at tiny sizes and verifies what the stores hold; measures nothing.")

  func run() throws {
    try expect(!installedStores.isEmpty, "no store was built in, so nothing was checked")
    try withWorkDirectory(nil) { folder in
      let bench = try Bench(plan: .check, directory: folder)
      for row in BenchmarkRow.all {
        for result in try measure(row, installedStores, in: bench) {
          let isSane = result.samples.allSatisfy { $0.isFinite && $0 >= 0 } && result.samples.count == bench.plan.runs
          try expect(isSane, "\(row.name) of \(result.store) gave \(result.samples)")
          print("\(row.name) of \(result.store): in order")
        }
      }
      for kind in installedStores { try bench.reopenAndVerify(kind) }
      try bench.closeAll()
      print("\(installedStores.count) stores, \(BenchmarkRow.all.count) rows: in order")
    }
  }
}

/// Lists the stores, one to a line, for scripts.
struct Stores: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Prints the names of the stores that were built in.")

  func run() {
    for kind in installedStores { print(kind.name) }
  }
}

/// Those of `all` that `list` names, in the order of the list; all without a list.
private func chosen<Element>(
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
private func withWorkDirectory(_ parent: String?, _ body: (String) throws -> Void) throws {
  let place = parent ?? FileManager.default.temporaryDirectory.path
  let folder = "\(place)/quire-bench-\(ProcessInfo.processInfo.processIdentifier)"
  try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(atPath: folder) }
  try body(folder)
}
