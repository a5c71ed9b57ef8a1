// Measuring the table.

internal import ArgumentParser
internal import Foundation

/// Measures and prints.
struct Run: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Measures rows of the table (the default).")

  @Option(
    help: """
      What to measure, separated by commas: A for the whole engine's table, \
      \(RowGroup.allCases.map(\.rawValue).joined(separator: ", ")) for parts of it, or rows by name (see --list).
      """)
  var rows = "A"
  @Option(help: "Peers, separated by commas, or none: \(Peer.all.map(\.name).joined(separator: ", ")). Default: all.")
  var peers: String?
  @OptionGroup var options: PlanOptions
  @Option(help: "Alternating runs per row of the table.")
  var runs = Plan().runs
  @Option(help: "Writes all samples to this file as JSON.")
  var json: String?
  @Option(help: "Writes the table to this file as Markdown.")
  var markdown: String?
  @Option(help: "Writes plots into this folder, one SVG per part of the table.")
  var plots: String?
  @Flag(help: "Prints what each row measures, and measures nothing.")
  var list = false

  func validate() throws {
    guard runs >= 1 else { throw ValidationError("--runs must be positive.") }
  }

  func run() throws {
    if list { return printList() }
    let kinds: [any StoreUnderTest.Type] = [QuireStore.self] + (try chosenPeers())
    let chosenRows = try chosenRows()
    for file in [json, markdown].compactMap({ $0 }) { try expectWritable(file) }
    var plan = options.plan
    plan.runs = runs
    try withWorkDirectory(options.directory) { folder in
      let bench = try Bench(plan: plan, directory: folder)
      var report = try Report(of: bench, kinds)
      print(report.heading)
      for row in chosenRows {
        let results = try measure(row, kinds, in: bench)
        report.results += results
        print("\n\(row.summary)\n\(Report.table(results))")
      }
      try bench.closeAll()
      report.loadAverageAtTheEnd = Machine.load()
      report.unquietMeasurements = bench.unquietCount
      if bench.unquietCount > 0 { print("\n\(bench.unquietCount) measurements began while a store was at work.") }
      try write(report)
    }
  }

  private func printList() {
    for group in RowGroup.allCases {
      print("\(group.rawValue): \(group.title)")
      for row in BenchmarkRow.all where row.group == group { print("  \(row.line)") }
    }
  }

  /// The peers that were asked for, as far as they are installed; says what it leaves out.
  private func chosenPeers() throws -> [any StoreUnderTest.Type] {
    if peers == "none" { return [] }
    return try chosen(peers, among: Peer.all, named: \.name).compactMap { peer in
      if peer.store == nil { print(peer.advice) }
      return peer.store
    }
  }

  /// The rows that were asked for, in the order of the table: those that read come before those that add rows.
  private func chosenRows() throws -> [BenchmarkRow] {
    let wanted = rows.split(separator: ",").map(String.init)
    let groups = RowGroup.allCases.map(\.rawValue)
    for name in wanted where name != "A" && !groups.contains(name) {
      _ = try chosen(name, among: BenchmarkRow.all, named: \.name)
    }
    return BenchmarkRow.all.filter { row in
      wanted.contains(row.name) || (!row.isLong && (wanted.contains("A") || wanted.contains(row.group.rawValue)))
    }
  }

  private func write(_ report: Report) throws {
    if let json { try report.json().write(to: URL(fileURLWithPath: json)) }
    if let markdown { try report.markdown.write(toFile: markdown, atomically: true, encoding: .utf8) }
    if let plots { try report.writePlots(to: plots) }
  }

  /// Fails now rather than after minutes of measuring.
  private func expectWritable(_ path: String) throws {
    guard FileManager.default.createFile(atPath: path, contents: nil) else {
      throw ValidationError("\(path) cannot be written.")
    }
  }
}

extension Report {
  /// A report of `stores` without results; asks each for its version.
  init(of bench: Bench, _ stores: [any StoreUnderTest.Type]) throws {
    let participants = try stores.map { kind in
      try bench.withEmptyStore(kind) { store, _ in Participant(name: kind.name, version: store.version) }
    }
    self.init(
      machine: Machine(directory: bench.directory), stores: participants, plan: bench.plan,
      arguments: Array(CommandLine.arguments.dropFirst()))
  }

  /// Writes a picture per part of the table into `folder`.
  func writePlots(to folder: String) throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    for group in RowGroup.allCases {
      guard let plot = Plot(group, of: self) else { continue }
      try plot.svg.write(toFile: "\(folder)/\(group.rawValue).svg", atomically: true, encoding: .utf8)
    }
  }
}
