// What a change set costs; run by hand in release: `QUIRE_MEASURE=1 swift test -c release --filter DiffSpeedTests`.

import Foundation
import QuireDatabase
import QuireTesting
import Testing

@testable import QuireViews

@Suite(.serialized, .enabled(if: ProcessInfo.processInfo.environment["QUIRE_MEASURE"] != nil))
struct DiffSpeedTests {
  /// Ten groups of a hundred thousand rows, and steps spread over them.
  private static func history(_ kind: String, stepCount: Int) -> (steps: [ViewOperation], counts: [(String, Int)]) {
    var random = SeededRandom(seed: 7)
    var counts = (0..<10).map { ("group\($0)", 100_000) }
    var steps: [ViewOperation] = []
    for number in 0..<stepCount {
      let place = random.below(counts.count)
      let (group, count) = counts[place]
      let key = RowKey("songs", "song-\(number)")
      let isMixed = kind.hasPrefix("mixed")
      switch isMixed ? ["inserts", "removals", "moves", "updates"][random.below(4)] : kind {
      case "inserts":
        steps.append(.insert(key, group: group, index: random.below(count + 1)))
        counts[place].1 += 1
      case "removals":
        steps.append(.remove(key, group: group, index: random.below(count)))
        counts[place].1 -= 1
      case "moves":
        steps.append(.remove(key, group: group, index: random.below(count)))
        steps.append(.insert(key, group: group, index: random.below(count)))
      default:
        steps.append(.update(key, group: group, index: random.below(count), .object))
      }
    }
    return (steps, counts)
  }

  @Test(arguments: ["inserts", "removals", "moves", "mixed", "mixed, with windows", "mixed, with neighbours"])
  func aDiff(of kind: String) {
    for stepCount in [1_000, 10_000, 100_000] {
      let (steps, counts) = Self.history(kind, stepCount: stepCount)
      var mappings = ViewMappings(view: "v", groups: counts.map(\.0))
      for (group, _) in counts {
        if kind.hasSuffix("windows") { mappings.window[group] = .flexible(50, from: .end, min: 5, max: 100) }
        if kind.hasSuffix("neighbours") { mappings.neighbourOffsets[group] = [-1] }
      }
      mappings.update(counts: counts.map { ($0.0, 100_000) }, csn: 1)
      var told = 0
      let times = (0..<9).map { _ in
        var copy = mappings
        return ContinuousClock().measure {
          let diff = ViewDiff.make(steps, &copy, newCounts: counts.map { ($0.0, $0.1) }, csn: 2)
          told = diff.isReload ? -1 : diff.rows.count
        }
      }.sorted()
      #expect(told >= 0, "\(kind)")
      print("\(kind): \(stepCount) changes, \(told) rows told, median \(times[4]), best \(times[0])")
    }
  }
}
