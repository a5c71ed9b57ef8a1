// Random histories under random options: the old list and the diff make the new list.

import Foundation
import QuireDatabase
import QuireTesting
import Testing

@testable import QuireViews

@Suite struct DiffModelTests {
  private static let historyCount = 600

  /// `QUIRE_DIFF_STEPS` steps over all histories (1,000,000 in the full run); `QUIRE_DIFF_SEED` runs one history again.
  @Test func oldListAndDiffMakeTheNewList() throws {
    if let seed = environmentNumber("QUIRE_DIFF_SEED") {
      var seen = Sightings()
      return try Self.run(seed: seed, stepCount: 4_000, &seen)
    }
    let asked = environmentNumber("QUIRE_DIFF_STEPS")
    let stepCount = max(1, (asked ?? 60_000) / Self.historyCount)
    // In the short size fewer histories, each as long as the others.
    let isShort = asked == nil && !TestSize.isFull
    let (historyCount, least) = isShort ? (Self.historyCount / 4, 1) : (Self.historyCount, 20)
    var seen = Sightings()
    for seed in 0..<historyCount { try Self.run(seed: seed, stepCount: stepCount, &seen) }
    for (what, count) in seen.counts { #expect(count > least, "\(what): \(count) in \(stepCount) steps each") }
  }

  /// How often the histories met with what they are there for.
  private struct Sightings {
    var counts = [
      "reload": 0, "insert": 0, "delete": 0, "move": 0, "update": 0, "neighbour": 0, "shift": 0, "carried": 0,
      "section in": 0, "section out": 0, "consolidated": 0, "parted": 0, "group in another order": 0,
    ]

    mutating func note(_ diff: ViewDiff, _ before: ViewMappings, _ after: ViewMappings) {
      if diff.isReload { return counts["reload", default: 0] += 1 }
      for row in diff.rows {
        counts["\(row.kind)", default: 0] += 1
        if row.kind == .update, row.aspects.contains(.dependency) { counts["neighbour", default: 0] += 1 }
        if row.kind == .move, row.key == nil { counts["carried", default: 0] += 1 }
        if row.kind == .insert, row.key == nil { counts["shift", default: 0] += 1 }
      }
      let (gone, new) = (diff.sections.filter { $0.kind == .delete }, diff.sections.filter { $0.kind == .insert })
      counts["section in", default: 0] += new.count
      counts["section out", default: 0] += gone.count
      if !before.isConsolidated, after.isConsolidated { counts["consolidated", default: 0] += 1 }
      if before.isConsolidated, !after.isConsolidated { counts["parted", default: 0] += 1 }
      let names = Set(gone.map(\.group))
      counts["group in another order", default: 0] += new.filter { names.contains($0.group) }.count
    }
  }

  /// One screen, its view, and what it shows at present.
  private static func run(seed: Int, stepCount: Int, _ seen: inout Sightings) throws {
    var random = SeededRandom(seed: UInt64(seed))
    var screen = ModelScreen(&random)
    var history = ScreenHistory(screen, random: random.fork())
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
      let isLost = random.oneIn(50)
      let diff = screen.withMappings { mappings in
        isLost
          ? ViewDiff.reload(&mappings, newCounts: counts, csn: csn)
          : ViewDiff.make(operations, &mappings, newCounts: counts, csn: csn)
      }
      let names = screen.groupNames(of: history.groups)
      history.settle(names, before: isLost ? [] : shown)
      shown = names
      try #require(diff.isReload == isLost, "seed \(seed), csn \(csn)")
      seen.note(diff, before, screen.mappings)
      screen.mappings.checkInvariants()
      #expect(screen.mappings.groups == names)
      let new = screen.sections(of: history.groups)
      try check(diff, from: list, to: new, screen, "seed \(seed), csn \(csn)")
      #expect(isMaybe || diff.isEmpty || screen.isDynamic || isLost, "seed \(seed), csn \(csn)")
      list = new
    }
  }

  private static func check(
    _ diff: ViewDiff, from old: [[ScreenItem]], to new: [[ScreenItem]], _ screen: ModelScreen, _ place: String
  ) throws {
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
