// The process that measures one store for the table of growth.

internal import ArgumentParser
internal import Foundation

/// What such a process does.
enum GrowthTask: String, CaseIterable, ExpressibleByArgument {
  /// The random filling and what goes on with it.
  case random
  /// Batches, and a death in the middle of it.
  case die
  /// Opening what the dead one left.
  case recover
  case sorted, load, bulk
}

/// Measures one store; `GrowthRun` starts it.
struct GrowthChild: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "growth-child", abstract: "Measures one store for the table of growth.", shouldDisplay: false)

  @Argument(help: "The store.")
  var store: String
  @Argument(help: "What to do.")
  var task: GrowthTask
  @Argument(help: "The folder of its files.")
  var folder: String
  @Argument(help: "The file that takes the results.")
  var results: String
  @Option(help: "The sizes, as JSON.")
  var plan: String
  @Option(help: "What is in the store, as JSON.")
  var state: String?
  @Option(help: "The parts of the table, separated by commas.")
  var parts = ""
  @Option(help: "The control group that holds this process.")
  var memoryGroup: String?

  func run() throws {
    if let memoryGroup { try MemoryGroup.join(memoryGroup) }
    let log = try GrowthLog(path: results)
    let plan = try JSONDecoder().decode(GrowthPlan.self, from: Data(plan.utf8))
    let before = try state.map { try JSONDecoder().decode(GrowthState.self, from: Data($0.utf8)) } ?? GrowthState()
    let parts = Set(parts.split(separator: ",").compactMap { GrowthPart(rawValue: String($0)) })
    do {
      for kind in try chosen(store, among: Peer.installedStores, named: { $0.name }) {
        let measurement = GrowthMeasurement(kind, plan: plan, folder: folder, log: log)
        switch task {
        case .random: try measurement.measureRandomRows(parts)
        case .die: try measurement.putAndDie(before)
        case .recover: try measurement.recover(before)
        case .sorted: try measurement.fillInOrder()
        case .load: try measurement.fillInOneTransaction()
        case .bulk: try measurement.fillInBulk()
        }
      }
    } catch {
      try log.write(.failure("\(error)"))
      throw ExitCode.failure
    }
  }
}
