// Random histories under random options: the old list and the diff make the new list.

import Foundation
import QuireDatabase
import QuireTesting
import QuireViews
import Testing

@Suite struct RandomDiffTests {
  /// `QUIRE_VIEW_STEPS` steps over all histories (1,000,000 in the full run); `QUIRE_VIEW_SEED` runs one history again.
  private static func number(_ name: String) -> Int? { ProcessInfo.processInfo.environment[name].flatMap(Int.init) }

  private static let historyCount = 600

  @Test func oldListAndDiffMakeTheNewList() throws {
    if let seed = Self.number("QUIRE_VIEW_SEED") { return try Self.run(seed: seed, stepCount: 4_000) }
    let stepCount = max(1, (Self.number("QUIRE_VIEW_STEPS") ?? 60_000) / Self.historyCount)
    for seed in 0..<Self.historyCount { try Self.run(seed: seed, stepCount: stepCount) }
  }

  /// One screen, its view, and what it shows at present.
  private static func run(seed: Int, stepCount: Int) throws {
    var random = SeededRandom(seed: UInt64(seed))
    var screen = ModelScreen(&random)
    var history = ModelHistory(screen, random: random.fork())
    _ = history.run(stepCount: random.below(30))
    if screen.isDynamic { screen.choice.change(&random, among: screen.names) }
    let counts = history.counts()
    screen.withMappings { $0.update(counts: counts, csn: 1) }
    var shown = screen.groupNames(of: history.groups)
    history.settle(shown, before: [])
    var list = screen.sections(of: history.groups)
    var (steps, csn) = (0, UInt64(1))
    while steps < stepCount {
      let operations = history.run(stepCount: random.below(random.oneIn(4) ? 60 : 8))
      steps += max(operations.count, 1)
      csn += 1
      if screen.isDynamic, random.oneIn(4) { screen.choice.change(&random, among: screen.names) }
      let counts = history.counts()
      let before = screen.mappings
      let isMaybe = operations.hasChanges(for: before)
      let diff = screen.withMappings { ViewDiff.make(operations, &$0, newCounts: counts, csn: csn) }
      let names = screen.groupNames(of: history.groups)
      history.settle(names, before: shown)
      shown = names
      screen.mappings.checkInvariants()
      #expect(screen.mappings.groups == names)
      let new = screen.sections(of: history.groups)
      try check(diff, from: list, to: new, screen, "seed \(seed), csn \(csn)")
      #expect(isMaybe || diff.isEmpty || screen.isDynamic, "seed \(seed), csn \(csn)")
      list = new
    }
  }

  private static func check(
    _ diff: ViewDiff, from old: [[ModelItem]], to new: [[ModelItem]], _ screen: ModelScreen, _ place: String
  ) throws {
    try #require(!diff.isReload, "\(place): a reload")
    try #require(diff.rowCounts == new.map(\.count), "\(place): \(diff)")
    let made = try diff.applied(to: old) { path in new[path.section][path.row] }
    try #require(made == new, "\(place): \(diff.sections) \(diff.rows)")
    for change in diff.rows {
      guard let key = change.key?.key else { continue }
      if let path = change.originalPath {
        try #require("k\(old[path.section][path.row].row.key)" == key, "\(place): \(change)")
      }
      if let path = change.finalPath {
        try #require("k\(new[path.section][path.row].row.key)" == key, "\(place): \(change)")
      }
    }
    for (section, rows) in new.enumerated() {
      for row in rows.indices {
        let path = ViewPath(section: section, row: row)
        let location = try #require(screen.mappings.location(of: path), "\(place): \(path)")
        try #require(screen.mappings.path(of: location.index, in: location.group) == path, "\(place): \(path)")
      }
    }
  }
}
