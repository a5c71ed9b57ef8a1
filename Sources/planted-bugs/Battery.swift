// What looks for a bug, and how long.

internal import ArgumentParser
internal import Foundation

/// The tests that look for bugs in a copy of the package.
struct Battery {
  /// How long they look.
  enum Size: String, CaseIterable, ExpressibleByArgument {
    /// Only where the list says.
    case first
    /// With all that the gate runs.
    case gate
    /// Longer, for those that the gate would miss.
    case nightly
  }

  /// One program that looks.
  enum Stage: Hashable {
    /// `quire-torture crashes` from a seed.
    case crashes(seed: UInt64, count: Int)
    case rot
    /// `Tests/postgres`: a feeder and its server under torture.
    case postgres
    /// The tests whose names match.
    case tests(String)
    /// All tests but those of the texts.
    case allTests

    /// What the table calls it.
    var name: String {
      switch self {
      case .crashes(_, let count): "\(count) crashes"
      case .rot: "rot"
      case .postgres: "Tests/postgres"
      case .tests(let filter): filter
      case .allTests: "all tests"
      }
    }

    /// Seconds after which it hangs.
    var limit: Int {
      switch self {
      case .crashes(_, let count): 120 + count / 100
      case .rot, .postgres: 900
      case .tests: 1800
      case .allTests: 3600
      }
    }
  }

  /// What became of a bug.
  enum Outcome: Equatable {
    case noticed(by: String, seconds: Double, hung: Bool)
    case survived(seconds: Double)
  }

  let size: Size
  let folder: URL

  // MARK: Building

  /// Builds what looks for some bugs.
  func build(for bugs: [PlantedBug]) throws {
    let tests = ["build", "--build-tests", "--traits", "Encryption"]
    var builds = [tests, ["build"] + Self.torture + ["--product", "quire-torture"]]
    if bugs.allSatisfy({ $0.killer == "postgres" }) { builds = [] }
    if bugs.contains(where: { $0.killer == "postgres" }) {
      builds.append(["build"] + Self.postgres + ["--product", "quire-postgres"])
    }
    for arguments in builds {
      let end = try Command("swift", arguments, in: folder).run(limit: 3600, showing: true)
      guard end.status == 0 else { throw PlantedBug.Fault(description: "the copy does not build: see above") }
    }
  }

  /// As optimised as a release, with assertions, in a folder of its own: as the gate runs it.
  private static let torture = [
    "-c", "release", "-Xswiftc", "-assert-config", "-Xswiftc", "Debug", "--scratch-path", ".build-assert",
  ]

  /// With the trait that needs libpq, in a folder of its own: what else is built does without.
  private static let postgres = ["-c", "release", "--traits", "Postgres", "--scratch-path", ".build-postgres"]

  private func command(_ stage: Stage) -> Command {
    let torture = ".build-assert/release/quire-torture"
    let tests = [
      ".build/debug/quirePackageTests.xctest", "--testing-library", "swift-testing",
    ]
    switch stage {
    case .crashes(let seed, let count):
      return Command(
        torture,
        ["crashes", "--seed", "\(seed)", "--crashes", "\(count)", "--nested", "\(count / 4)", "--minutes", "60"],
        in: folder)
    case .rot: return Command(torture, ["rot"], in: folder)
    case .postgres:
      return Command(
        "Tests/postgres",
        ["--program", ".build-postgres/release/quire-postgres", "--rounds", "60", "--seed", "1", "--quiet"], in: folder)
    case .tests(let filter): return Command(tests[0], tests[1...] + ["--filter", filter], in: folder)
    case .allTests:
      return Command(
        tests[0], tests[1...] + ["TidyTests", "ListingTests", "QuickstartTests"].flatMap { ["--skip", $0] }, in: folder)
    }
  }

  // MARK: Looking

  private static let crashes = Stage.crashes(seed: 1, count: 10_000)

  /// What the list names for a bug.
  private func namedStages(for bug: PlantedBug) -> [Stage] {
    switch bug.killer {
    case "crashes": [Self.crashes]
    case "rot": [.rot]
    case "postgres": [.postgres]
    case "threads": [.tests("Scheduled"), .tests("Threaded")]
    default: [.tests(bug.killer)]
    }
  }

  /// The tests of the module that a bug is in.
  private static func moduleTests(of bug: PlantedBug) -> String {
    let module = bug.file.split(separator: "/").dropFirst().first ?? ""
    return bug.isOfEngine ? "QuireStorageTests|CrashTests" : "\(module)Tests"
  }

  /// What looks for a bug, one after the other.
  func stages(for bug: PlantedBug) -> [Stage] {
    let named = namedStages(for: bug)
    // What needs a server is in no other stage.
    if size == .first || named == [.postgres] { return named }
    var stages = named + [.tests(Self.moduleTests(of: bug))]
    // The torture is the engine's: it runs no line of what stands on it.
    if bug.isOfEngine { stages += [Self.crashes, .crashes(seed: 500_001, count: 10_000), .rot] }
    stages.append(.allTests)
    if size == .nightly, bug.isOfEngine { stages.append(.crashes(seed: 1_000_001, count: 300_000)) }
    var seen: Set<Stage> = []
    return stages.filter { seen.insert($0).inserted }
  }

  /// Tests do all they can in the nightly run, and in others what they do at the gate.
  private var environment: [String: String] { ["QUIRE_TESTS": size == .nightly ? "full" : "gate"] }

  /// Whether what looks for some bugs finds nothing where there is none.
  func passesWithoutBugs(_ bugs: [PlantedBug]) throws -> Bool {
    var passes = true
    var stages: Set<Stage> = []
    var filters: Set<String> = []
    for stage in bugs.flatMap({ namedStages(for: $0) }) {
      if case .tests(let filter) = stage { filters.insert(filter) } else { stages.insert(stage) }
    }
    // All tests at once: they share the processors better than one after the other.
    if !filters.isEmpty { stages.insert(.tests(filters.sorted().joined(separator: "|"))) }
    for stage in stages.sorted(by: { $0.name < $1.name }) {
      let end = try command(stage).run(limit: Stage.allTests.limit, environment: environment)
      let hasRun = !end.output.contains("Test run with 0 tests")
      if end.status == 0, hasRun { continue }
      print("\(stage.name) \(hasRun ? "fails without a bug (status \(end.status))" : "matches no test")")
      print(Self.excerpt(of: end.output))
      passes = false
    }
    return passes
  }

  /// What an output says of that which failed; its end if it says nothing of it.
  static func excerpt(of output: String) -> String {
    let lines = output.split(whereSeparator: \.isNewline)
    func tells(_ line: Substring) -> Bool { ["✘", "error:", "Fatal error"].contains { line.contains($0) } }
    guard lines.contains(where: tells) else { return String(output.suffix(2000)) }
    // What a test recorded goes on behind this mark, which also stands in front of versions.
    return lines.filter { tells($0) || $0.contains("↳") }.prefix(60).joined(separator: "\n")
  }

  /// Has the tests look for a bug until one of them fails.
  func look(for bug: PlantedBug) throws -> Outcome {
    let chosen = environment.merging([Planting.variable: "\(bug.number)"]) { $1 }
    var seconds = 0.0
    for stage in stages(for: bug) {
      let end = try command(stage).run(limit: stage.limit, environment: chosen)
      seconds += end.seconds
      // That fails, and has looked for nothing.
      guard !end.output.contains("Test run with 0 tests") else {
        throw PlantedBug.Fault(description: "\(stage.name), which is to notice \(bug.name), matches no test")
      }
      if end.status != 0 { return .noticed(by: stage.name, seconds: seconds, hung: end.hung) }
    }
    return .survived(seconds: seconds)
  }
}
