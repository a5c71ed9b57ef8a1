// Counting instructions, and checking the counts.

internal import ArgumentParser
internal import CCallgrind
internal import Foundation

/// Counts instructions under callgrind.
struct Instructions: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Counts the instructions of hot paths under callgrind, which are the same on every run. Needs valgrind.")

  @Option(help: "Sections, separated by commas: \(MeasuredSection.allCases.map(\.rawValue).joined(separator: ", ")).")
  var sections: String?
  @Option(help: "Stores, separated by commas: \(Peer.installedStores.map { $0.name }.joined(separator: ", ")).")
  var stores = QuireStore.name
  @Option(help: "Rows in the store.")
  var rows = 20_000
  @Option(help: "Fails if Quire takes more than this file of thresholds allows.")
  var check: String?
  @Option(help: "Writes Quire's counts to this file of thresholds.")
  var write: String?

  func validate() throws {
    guard rows >= 1000 else { throw ValidationError("--rows must be 1000 or more.") }
  }

  func run() throws {
    let chosenSections = try chosen(sections, among: MeasuredSection.allCases, named: \.rawValue)
    let kinds = try chosen(stores, among: Peer.installedStores, named: { $0.name })
    let thresholds = try check.map { try Thresholds(contentsOf: $0) }
    if let thresholds, thresholds.rows != rows {
      throw ValidationError("The thresholds are for \(thresholds.rows) rows: pass --rows \(thresholds.rows).")
    }
    try withWorkDirectory(nil) { folder in
      for kind in kinds {
        let sections = chosenSections.filter { kind.name == QuireStore.name || !$0.usesObjects }
        let costs = try Callgrind.count(sections, of: kind.name, rows: rows, directory: folder)
        for (section, cost) in costs { print(line(kind.name, section, cost)) }
        if kind.name != QuireStore.name { continue }
        if let write {
          let old = try? Thresholds(contentsOf: write)
          try Thresholds(rows: rows, costs, keeping: old).write(to: write)
        }
        if let thresholds { try judge(costs, thresholds) }
      }
    }
  }

  private func line(_ store: String, _ section: MeasuredSection, _ cost: SectionCost) -> String {
    let calls = Callgrind.watched.compactMap { name in
      cost.calls[name].map { "\(name) \(String(format: "%.3f", $0))" }
    }
    let text = calls.isEmpty ? "none of the watched calls" : calls.joined(separator: ", ")
    return "\(store) \(section.rawValue): \(number(cost.instructions)) instructions; \(text)"
  }

  private func judge(
    _ costs: [(section: MeasuredSection, cost: SectionCost)], _ thresholds: Thresholds
  ) throws {
    var failures: [String] = []
    for (section, cost) in costs {
      let verdict = thresholds.judge(section, cost)
      failures += verdict.failures
      for gain in verdict.gains { print("better than it must be, write it down: \(gain)") }
    }
    try expect(failures.isEmpty, "slower than allowed:\n\(failures.joined(separator: "\n"))")
    print("\(costs.count) sections within their thresholds")
  }
}

/// Runs sections, for callgrind to count; `Instructions` starts it.
struct Sections: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Runs measured sections once and prints how many operations each had.", shouldDisplay: false)

  @Option(help: "The store.")
  var store: String
  @Option(help: "Rows in the store.")
  var rows: Int
  @Option(help: "Sections, separated by commas.")
  var names: String
  @Option(help: "Keeps the files below this folder.")
  var directory: String?

  func run() throws {
    let kinds = try chosen(store, among: Peer.installedStores, named: { $0.name })
    let sections = try chosen(names, among: MeasuredSection.allCases, named: \.rawValue)
    var plan = Plan(scale: Double(rows) / 1_000_000)
    (plan.count, plan.lookups, plan.rangeReads, plan.cacheSize) = (rows, rows, rows / 4, 64 << 20)
    // What a thread of the store does meanwhile would be counted as well, and depends on the clock.
    plan.tidiesWhenIdle = false
    try withWorkDirectory(directory) { folder in
      let bench = try Bench(plan: plan, directory: folder)
      for kind in kinds {
        // What loading has left to do is no section's.
        let loaded = try bench.loadedStore(kind)
        try loaded.store.settle()
        _ = try loaded.store.scan()
        // What the language's runtime finds out at the first use of a type is no section's either.
        let ranges = bench.ranges
        _ = try loaded.store.sumOfRanges(from: ranges.starts, 0..<1, length: ranges.length)
        _ = try loaded.store.sumOfValues(of: bench.keys, bench.lookups.prefix(1))
        _ = try loaded.store.sumOfManyValues(of: bench.keys, bench.lookups.prefix(1))
        for section in sections {
          print(try section.run(bench, kind))
          callgrind_dump()
        }
      }
      try bench.closeAll()
    }
  }
}
