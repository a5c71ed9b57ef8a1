// Several runs as one report: a table of all sizes takes longer than a machine stays quiet.

internal import Foundation

/// How a run was started.
struct GrowthInvocation: Codable {
  let arguments: [String]
  let secondsPerRow: Double
  let date: String

  /// The arguments without the files and folders of whoever ran it.
  var sizes: [String] {
    var (kept, isPath): ([String], Bool) = ([], false)
    for argument in arguments {
      if isPath {
        isPath = false
      } else if ["--json", "--markdown", "--plots", "--directory"].contains(argument) {
        isPath = true
      } else {
        kept.append(argument)
      }
    }
    return kept
  }
}

extension GrowthReport {
  /// The runs that it consists of, itself first.
  var invocations: [GrowthInvocation] {
    let own = GrowthInvocation(arguments: arguments, secondsPerRow: plan.secondsPerRow, date: machine.date)
    return [own] + (merged ?? [])
  }

  /// One report of runs on one machine, of one version of each store, with no store measured twice at one size; its
  /// configurations are in the order of their caches and then of their numbers of rows.
  static func merging(_ reports: [GrowthReport]) throws -> GrowthReport {
    guard var whole = reports.first else { throw StoreFailure(description: "there is no report to merge") }
    for report in reports.dropFirst() { try whole.add(report) }
    whole.sortConfigurations()
    return whole
  }

  private mutating func add(_ other: GrowthReport) throws {
    try expect(
      machine.summary == other.machine.summary,
      "one run was on “\(machine.summary)”, another one on “\(other.machine.summary)”")
    for store in other.stores {
      guard let known = stores.first(where: { $0.name == store.name }) else {
        stores.append(store)
        continue
      }
      try expect(
        known.version == store.version, "one run measured \(store.name) \(known.version), another one \(store.version)")
    }
    for (configuration, otherLoads) in zip(other.configurations, other.loads) {
      guard let place = configurations.firstIndex(of: configuration) else {
        configurations.append(configuration)
        loads.append(otherLoads)
        continue
      }
      let twice = measuredStores(configuration).intersection(other.measuredStores(configuration))
      try expect(twice.isEmpty, "“\(configuration.title)” was measured in two runs of \(twice.sorted())")
      loads[place] += otherLoads
    }
    samples += other.samples
    failures += other.failures
    merged = (merged ?? []) + other.invocations
  }

  private func measuredStores(_ configuration: GrowthConfiguration) -> Set<String> {
    Set(samples.filter { $0.configuration == configuration }.map(\.store))
  }

  private mutating func sortConfigurations() {
    let caches = configurations.map(\.cache.name)
    let order = configurations.indices.sorted { one, other in
      let (first, second) = (configurations[one], configurations[other])
      let places = (caches.firstIndex(of: first.cache.name) ?? 0, caches.firstIndex(of: second.cache.name) ?? 0)
      if places.0 != places.1 { return places.0 < places.1 }
      return (first.memoryMiB ?? 0, first.count) < (second.memoryMiB ?? 0, second.count)
    }
    loads = order.map { loads[$0] }
    configurations = order.map { configurations[$0] }
  }
}
