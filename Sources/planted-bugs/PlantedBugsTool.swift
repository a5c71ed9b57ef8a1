// The tool that asks what the tests would notice.

internal import ArgumentParser
internal import Dispatch
internal import Foundation
internal import Synchronization

/// `planted-bugs`: builds a copy of the package with bugs in it, and has the tests look for them, one at a time.
@main
struct PlantedBugsTool: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "planted-bugs",
    abstract: "Plants bugs in a copy of the package, and tells which of them its tests notice.",
    discussion: """
      A planted bug is a mutation of one line, listed in Fixtures/PlantedBugs. All are planted at once, each behind a \
      number that the environment chooses, so that one build serves for all of them. Run it in the package's folder, \
      on Linux, with nothing else at work: what takes too long counts as noticed.
      """,
    subcommands: [Check.self, Plant.self, Run.self])
}

/// Where the lists are, and where the copy is made.
struct Places: ParsableArguments {
  @Option(help: "The folder of the package.")
  var package = "."
  @Option(help: "The folder of the copy.")
  var copy = ".build-planted"

  var root: URL { URL(fileURLWithPath: package, isDirectory: true) }
  var target: URL { URL(fileURLWithPath: copy, isDirectory: true) }

  /// The bugs of all lists.
  func bugs() throws -> [PlantedBug] { try PlantedBug.all(in: root.appendingPathComponent(PlantedBug.folder)) }
}

/// `planted-bugs check`.
struct Check: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Tells whether the sources have each line that is mutated.")

  @OptionGroup var places: Places

  func run() throws {
    let bugs = try places.bugs()
    _ = try Planting(bugs: bugs).plantedFiles(of: places.root)
    let areas = Dictionary(grouping: bugs, by: \.area).map { "\($0.key) \($0.value.count)" }.sorted()
    print("\(bugs.count) bugs: \(areas.joined(separator: ", "))")
  }
}

/// `planted-bugs plant`.
struct Plant: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Makes the copy, and builds nothing.")

  @OptionGroup var places: Places

  func run() throws {
    let changed = try Planting(bugs: try places.bugs()).copy(places.root, to: places.target)
    print("\(changed) files written to \(places.copy)")
  }
}

/// `planted-bugs run`.
struct Run: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Makes the copy, builds it, and runs the tests once for each bug, until one of them fails.",
    discussion: "Ends with status 1 if the copy fails without a bug, or if a smaller share than --share is noticed.")

  @OptionGroup var places: Places
  @Option(help: "Only bugs whose names or areas contain this, or whose list says that this is to notice them.")
  var only: [String] = []
  @Option(help: "How long to look: `first` where the list says, `gate` with all that the gate runs, `nightly` longer.")
  var size = Battery.Size.gate
  @Option(help: "How many bugs are looked for at once. What several threads do is noticed more rarely, the more do so.")
  var jobs = 1
  @Option(help: "The share that is to be noticed, in per cent.")
  var share = 0.0
  @Option(help: "Where the table goes, in Markdown.")
  var markdown: String?

  func run() throws {
    let all = try places.bugs()
    _ = try Planting(bugs: all).copy(places.root, to: places.target)
    let battery = Battery(size: size, folder: places.target)
    let chosen = all.filter { bug in
      only.isEmpty || only.contains { bug.name.contains($0) || bug.area.contains($0) || bug.killer == $0 }
    }
    // Always: what was built of an older copy would look for other bugs than it says.
    try battery.build(for: chosen)
    guard try battery.passesWithoutBugs(chosen) else { throw ExitCode(1) }
    let report = try look(for: chosen, with: battery)
    print(report.summary)
    if let markdown { try report.table.write(toFile: markdown, atomically: true, encoding: .utf8) }
    if report.noticedShare * 100 < share { throw ExitCode(1) }
  }

  /// Looks for bugs, several at once, and prints what came of each.
  private func look(for bugs: [PlantedBug], with battery: Battery) throws -> BugReport {
    let state = Mutex((next: 0, report: BugReport(), failure: (any Error)?.none))
    DispatchQueue.concurrentPerform(iterations: max(1, jobs)) { _ in
      while true {
        let index = state.withLock { state in
          defer { state.next += 1 }
          return state.failure == nil && state.next < bugs.count ? state.next : nil
        }
        guard let index else { return }
        do {
          let outcome = try battery.look(for: bugs[index])
          state.withLock { state in
            state.report.add(bugs[index], outcome)
            print(state.report.lastLine)
            fflush(nil)
          }
        } catch {
          state.withLock { $0.failure = error }
        }
      }
    }
    return try state.withLock { state in
      if let failure = state.failure { throw failure }
      return state.report
    }
  }
}
