// A run of the table of growth: a process for each store, and what they tell.

internal import Foundation

/// What a run measures.
struct GrowthSizes {
  var configurations: [GrowthConfiguration]
  var stores: [any StoreUnderTest.Type]
  var parts: [GrowthPart]
  var runs: Int
  /// The sizes that do not depend on the configuration.
  var plan: GrowthPlan
  /// Whether rows and cache are the plan's own, and nothing is waited for.
  var isCheck = false
}

/// Starts the processes, verifies what they say and keeps it.
final class GrowthRun {
  private let sizes: GrowthSizes
  private let folder: String
  private(set) var report: GrowthReport
  private var foldersMade = 0
  /// Sums of ranges, by the numbers of rows and ranges.
  private var rangeSums: [[Int]: UInt64] = [:]
  /// What is not wanted of several turns, because it is found out once.
  private var isWithoutGroups = false

  /// A run in an existing folder.
  init(_ folder: String, _ sizes: GrowthSizes) throws {
    (self.folder, self.sizes) = (folder, sizes)
    report = GrowthReport(
      machine: Machine(directory: folder), stores: [], plan: sizes.plan,
      arguments: Array(CommandLine.arguments.dropFirst()))
    report.stores = try sizes.stores.map { kind in
      try withFolder { place in
        let store = try kind.init(directory: place, options: sizes.plan.options)
        defer { try? store.close() }
        return Participant(name: kind.name, version: store.version)
      }
    }
  }

  /// Measures one configuration: stores take turns, and who begins changes from run to run.
  func measure(_ configuration: GrowthConfiguration) throws {
    report.begin(configuration)
    for run in 0..<sizes.runs {
      for turn in sizes.stores.indices {
        let kind = sizes.stores[(turn + run) % sizes.stores.count]
        try measure(kind, configuration, run)
      }
    }
    report.end(configuration)
  }

  private func measure(_ kind: any StoreUnderTest.Type, _ configuration: GrowthConfiguration, _ run: Int) throws {
    var plan = sizes.plan
    if !sizes.isCheck { (plan.count, plan.cacheSize) = (configuration.count, configuration.cacheSize) }
    plan.seed &+= UInt64(run) &* 1_000_003
    var turn = Turn(kind: kind, configuration: configuration, plan: plan, run: run)
    if sizes.parts.contains(where: { $0 == .random || $0.needsRandomRows }) {
      try withFolder { place in
        guard let filled = try start(.random, place, &turn) else { return }
        try verifyRanges(filled, plan, kind)
        guard sizes.parts.contains(.crash), let crashed = try start(.die, place, &turn, filled) else { return }
        _ = try start(.recover, place, &turn, crashed)
      }
    }
    for (part, task) in [(GrowthPart.sorted, GrowthTask.sorted), (.load, .load), (.bulk, .bulk)]
    where sizes.parts.contains(part) {
      _ = try withFolder { try start(task, $0, &turn) }
    }
  }

  /// A store's turn.
  private struct Turn {
    let kind: any StoreUnderTest.Type
    let configuration: GrowthConfiguration
    let plan: GrowthPlan
    let run: Int
  }

  /// Starts a process, waits for it, keeps its figures and returns what it left in the store; nil if it did not come so
  /// far.
  private func start(
    _ task: GrowthTask, _ place: String, _ turn: inout Turn, _ state: GrowthState? = nil
  ) throws -> GrowthState? {
    let results = "\(folder)/results"
    guard FileManager.default.createFile(atPath: results, contents: nil) else {
      throw StoreFailure(description: "\(results) cannot be made")
    }
    let group = try memoryGroup(turn.configuration)
    if !sizes.isCheck, group == nil { try MachineMemory.provide(byteCount: 1 << 30) }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    var arguments = ["growth-child", turn.kind.name, task.rawValue, place, results]
    arguments += ["--plan", try text(turn.plan), "--parts", sizes.parts.map(\.rawValue).joined(separator: ",")]
    if let state { arguments += ["--state", try text(state)] }
    if let group { arguments += ["--memory-group", group.path] }
    process.arguments = arguments
    let begin = Clocks.wall()
    try process.run()
    process.waitUntilExit()
    if !sizes.isCheck {
      let seconds = number(Double(Clocks.wall() - begin) / 1e9)
      print("\(turn.kind.name), \(task.rawValue): \(seconds) s, load \(number(Machine.load()))")
    }
    return try withExtendedLifetime(group) { try keep(results, task, turn, process) }
  }

  /// Keeps what a process has written; notes how it ended if it should not have.
  private func keep(_ results: String, _ task: GrowthTask, _ turn: Turn, _ process: Process) throws -> GrowthState? {
    var state: GrowthState?
    var failures: [String] = []
    for line in try GrowthLog.lines(of: results) {
      switch line {
      case .result(let result):
        report.samples.append(
          GrowthSample(
            configuration: turn.configuration, store: turn.kind.name, run: turn.run, result: result))
      case .state(let found): state = found
      case .failure(let text): failures.append(text)
      }
    }
    if process.terminationReason == .uncaughtSignal, task != .die {
      failures.append("killed by signal \(process.terminationStatus)")
    }
    if task == .die, process.terminationReason != .uncaughtSignal {
      failures.append("it was to be killed, and was not")
    }
    let isUnexplained = process.terminationReason == .exit && process.terminationStatus != 0 && failures.isEmpty
    if isUnexplained, process.terminationStatus != GrowthWatchdog.status {
      failures.append("it ended with status \(process.terminationStatus)")
    }
    for failure in failures {
      let text = "\(turn.kind.name), \(task.rawValue), \(turn.configuration.title): \(failure)"
      report.failures.append(text)
      print(text)
    }
    return failures.isEmpty ? state : nil
  }

  /// Compares the sum of all ranges with what it must be.
  private func verifyRanges(_ state: GrowthState, _ plan: GrowthPlan, _ kind: any StoreUnderTest.Type) throws {
    guard state.ranges > 0 else { return }
    let key = [state.filled, state.ranges, Int(truncatingIfNeeded: plan.seed)]
    let expected =
      rangeSums[key]
      ?? GrowthRanges.sum(
        plan.rows, count: state.filled,
        starts: Array(
          GrowthRanges.starts(plan.rangeReads, of: state.filled, seed: plan.seed &+ 13)[..<state.ranges]))
    rangeSums[key] = expected
    try expect(state.rangeSum == expected, "\(kind.name): ranges gave other values than were stored")
  }

  /// A group of its own for each process, so that nobody pays for what another left; nil without a limit, and where the
  /// system has no such groups.
  private func memoryGroup(_ configuration: GrowthConfiguration) throws -> MemoryGroup? {
    guard let mebibytes = configuration.memoryMiB, !isWithoutGroups else { return nil }
    do {
      return try MemoryGroup(byteCount: mebibytes << 20)
    } catch {
      isWithoutGroups = true
      report.failures.append("--memory is left out: \(error)")
      print("--memory is left out: \(error)")
      return nil
    }
  }

  private func text(_ value: some Encodable) throws -> String {
    String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
  }

  /// Runs `body` with a new folder, which is removed afterwards.
  private func withFolder<Result>(_ body: (String) throws -> Result) throws -> Result {
    foldersMade += 1
    let place = "\(folder)/\(foldersMade)"
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: place) }
    return try body(place)
  }
}
