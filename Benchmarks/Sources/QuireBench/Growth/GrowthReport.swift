// What a run of the table of growth says: tables, what Quire loses, JSON, and curves.

internal import Foundation

/// One figure of one store.
struct GrowthSample: Codable {
  let configuration: GrowthConfiguration
  let store: String
  let run: Int
  let result: GrowthResult
}

/// All results of a run.
struct GrowthReport: Codable, JSONReport {
  let machine: Machine
  var stores: [Participant]
  /// The sizes; rows and cache are those of each configuration.
  let plan: GrowthPlan
  let arguments: [String]
  var configurations: [GrowthConfiguration] = []
  /// How many threads wanted a core, before and after each configuration.
  var loads: [[Double]] = []
  var samples: [GrowthSample] = []
  /// What went wrong.
  var failures: [String] = []
  /// Runs whose results were added to this one's.
  var merged: [GrowthInvocation]?

  mutating func begin(_ configuration: GrowthConfiguration) {
    configurations.append(configuration)
    loads.append([Machine.load()])
  }

  mutating func end(_ configuration: GrowthConfiguration) { loads[loads.count - 1].append(Machine.load()) }

  /// One of the tables of a configuration.
  func table(_ configuration: GrowthConfiguration, _ table: GrowthResult.Table) -> StoreTable {
    var rows = StoreTable()
    for sample in samples where sample.configuration == configuration && sample.result.table == table {
      let result = sample.result
      if let value = result.value { rows.add(result.row, result.unit, sample.store, value) }
      if let remark = result.remark { rows.remark(result.row, result.unit, sample.store, remark) }
    }
    return rows
  }

  /// The tables of each configuration, and below them the rows that Quire loses.
  var markdown: String {
    var text = """
      \(machine.summary). \(stores.map { "\($0.name) \($0.version)" }.joined(separator: ", ")). \
      Rows of 24 + 150 random bytes, batches of \(plan.batchRows), commits wait for the system; seconds for a row of \
      the table at the most: \(invocations.map { number($0.secondsPerRow) }.joined(separator: ", ")).

      ```
      \(invocations.map { "quire-bench \($0.sizes.joined(separator: " "))" }.joined(separator: "\n"))
      ```


      """
    for place in configurations.indices { text += markdown(place) }
    if !failures.isEmpty { text += "Went wrong:\n\n" + failures.map { "- \($0)\n" }.joined() }
    return text
  }

  /// The tables of the configuration at `place`.
  func markdown(_ place: Int) -> String {
    let configuration = configurations[place]
    let names = stores.map(\.name)
    let (rows, latencies) = (table(configuration, .rows), table(configuration, .latencies))
    let load = loads[place].map(number).joined(separator: ", ")
    let lost = rows.losses + latencies.losses
    return """
      ### \(configuration.title)

      Load before and after: \(load).

      \(rows.markdown(names))
      Latencies:

      \(latencies.markdown(names))
      Counted beside:

      \(table(configuration, .notes).markdown(names, marksBest: false))
      \(lost.isEmpty ? "Quire loses no row." : "Rows that we lose:\n\n\(lost.joined(separator: "\n"))")


      """
  }

  /// The rows of the table that are drawn over the number of rows.
  private static let plotted = [
    "random insertion in batches", "sorted insertion in batches", "load in one transaction", "point reads, uniform",
    "point reads, skewed", "ranges of ten", "full scan", "update at random in batches", "removal at random in batches",
  ]

  /// Writes a picture for each size of cache and of memory into `folder`: a panel for each row, a curve for each store.
  func writePlots(to folder: String) throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    var seen: Set<String> = []
    for configuration in configurations {
      let memory = configuration.memoryMiB.map { "-in-\($0)" } ?? ""
      let name = "growth-\(configuration.cache.name)\(memory)"
      guard seen.insert(name).inserted else { continue }
      let alike = samples.filter {
        $0.configuration.cache == configuration.cache && $0.configuration.memoryMiB == configuration.memoryMiB
      }
      let panels = Self.plotted.compactMap { panel($0, alike) }
      let held = configuration.memoryMiB.map { ", memory of \($0) MiB" } ?? ""
      let plot = CurvePlot(
        title: "Growth: cache “\(configuration.cache.name)”\(held)",
        subtitle: "cost over the number of rows, both logarithmic; lower is better", panels: panels,
        stores: stores.map(\.name))
      try plot.svg.write(toFile: "\(folder)/\(name).svg", atomically: true, encoding: .utf8)
    }
  }

  /// The curves of a row: medians over the number of rows, without stores that were stopped; nil without any.
  private func panel(_ row: String, _ samples: [GrowthSample]) -> CurvePlot.Panel? {
    let known = samples.filter { $0.result.row == row && $0.result.value != nil && $0.result.remark == nil }
    guard let unit = known.first?.result.unit else { return nil }
    let curves = stores.map { store in
      let own = Dictionary(grouping: known.filter { $0.store == store.name }, by: \.configuration.count)
      let points = own.map { CurvePlot.Point(x: Double($0.key), y: median($0.value.compactMap(\.result.value))) }
      return CurvePlot.Curve(name: store.name, points: points.sorted { $0.x < $1.x })
    }
    return CurvePlot.Panel(title: row, unit: unit, curves: curves.filter { !$0.points.isEmpty })
  }
}
