// A view and a screen as somebody would do them with plain lists.

import QuireDatabase
import QuireTesting
import Synchronization

@testable import QuireViews

/// What a screen draws of a row: the row, and the neighbours that its drawing uses.
struct ScreenItem: Equatable {
  let row: ScreenRow
  let neighbours: [ScreenRow?]
}

/// Which groups dynamic mappings accept, and in which order; changed between two states behind the mappings' back.
final class GroupChoice: Sendable {
  private let state = Mutex<(hidden: Set<String>, isDescending: Bool, odd: String)>(([], false, ""))

  func includes(_ group: String) -> Bool { state.withLock { !$0.hidden.contains(group) } }

  /// By name, either way, with one group out of its place before all.
  func areInOrder(_ left: String, _ right: String) -> Bool {
    state.withLock { state in
      if left == state.odd || right == state.odd { return left == state.odd && right != state.odd }
      return state.isDescending ? left > right : left < right
    }
  }

  func change(_ random: inout SeededRandom, among groups: [String]) {
    let hidden = Set(groups.filter { _ in random.oneIn(4) })
    let isDescending = random.oneIn(2)
    let odd = random.oneIn(2) ? groups[random.below(groups.count)] : ""
    state.withLock { $0 = (hidden, isDescending, odd) }
  }
}

/// The options of one screen, drawn by chance, and what it must show by them.
struct ModelScreen {
  let names: [String]
  let isDynamic: Bool
  let choice = GroupChoice()
  private(set) var mappings: ViewMappings
  /// In the view's own order of rows.
  private(set) var windows: [String: ViewWindow] = [:]
  private var reversed: Set<String> = []
  private var offsets: [String: [Int]] = [:]
  private var hidesEmpty: [String: Bool] = [:]
  private var threshold = 0
  let mappedNames: [String]

  init(_ random: inout SeededRandom) {
    let names = (0...random.below(5)).map { "g\($0)" }
    self.names = names
    isDynamic = random.oneIn(3)
    // Fixed groups leave some of the view's out, and come in any order.
    mappedNames = isDynamic ? names : names.filter { _ in !random.oneIn(5) }.shuffled(using: &random)
    let choice = choice
    mappings =
      isDynamic
      ? ViewMappings(view: "v", where: { choice.includes($0) }, orderedBy: { choice.areInOrder($0, $1) })
      : ViewMappings(view: "v", groups: mappedNames)
    let hidesAll = random.oneIn(2)
    mappings.hidesEmpty.all = hidesAll
    for name in names {
      hidesEmpty[name] = hidesAll
      if random.oneIn(4) { hide(name, random.oneIn(2)) }
      drawOptions(of: name, &random)
    }
    if random.oneIn(3) {
      threshold = 1 + random.below(16)
      mappings.consolidate(below: threshold, as: "all")
    }
  }

  private mutating func hide(_ name: String, _ hides: Bool) {
    mappings.hidesEmpty[name] = hides
    hidesEmpty[name] = hides
  }

  private mutating func drawOptions(of name: String, _ random: inout SeededRandom) {
    let reversal = random.below(4)
    if reversal == 1 { mappings.isReversed[name] = true }
    if !random.oneIn(3) {
      let window = Self.window(&random)
      mappings.window[name] = window
      windows[name] = window
      if reversal == 1 { windows[name]?.pin = window.pin.opposite }
    }
    if random.oneIn(3) {
      let drawn = [[-1], [1], [-1, 1], [-2], [2], [-3, 1], [0, 2, -1], [-2, 3]][random.below(8)]
      mappings.neighbourOffsets[name] = Set(drawn)
      offsets[name] = drawn.filter { $0 != 0 }.map { reversal == 1 ? -$0 : $0 }
    }
    if reversal == 2 { mappings.isReversed[name] = true }
    if reversal == 1 || reversal == 2 { reversed.insert(name) }
  }

  private static func window(_ random: inout SeededRandom) -> ViewWindow {
    let (length, offset) = (random.below(9), random.oneIn(2) ? 0 : random.below(4))
    let pin: ViewWindow.Pin = random.oneIn(2) ? .beginning : .end
    if random.oneIn(3) { return .fixed(length, offset: offset, from: pin) }
    let least = random.oneIn(2) ? 0 : random.below(5)
    return .flexible(
      length, offset: offset, from: pin, min: least, max: random.oneIn(2) ? .max : max(least, 1) + random.below(8),
      grow: ViewWindow.Growth(rawValue: UInt8(random.below(4))))
  }

  /// Takes note of a new state as the product does.
  mutating func withMappings<Result>(_ body: (inout ViewMappings) -> Result) -> Result { body(&mappings) }

  /// The groups that the mappings must choose.
  func groupNames(of groups: [String: ScreenGroup]) -> [String] {
    guard isDynamic else { return mappedNames }
    let present = groups.filter { !$0.value.rows.isEmpty }.keys
    return present.filter { choice.includes($0) }.sorted { choice.areInOrder($0, $1) }
  }

  /// What the screen must show.
  func sections(of groups: [String: ScreenGroup]) -> [[ScreenItem]] {
    let all = groupNames(of: groups).map { name in (name, items(of: name, groups[name])) }
    if all.reduce(0, { $0 + $1.1.count }) < threshold { return [all.flatMap(\.1)] }
    return all.filter { !$1.isEmpty || hidesEmpty[$0] != true }.map(\.1)
  }

  private func items(of name: String, _ group: ScreenGroup?) -> [ScreenItem] {
    guard let group else { return [] }
    let rows = group.rows
    // Keys are unique in a group.
    let items = group.shown.map { row in
      let index = rows.firstIndex(of: row) ?? 0
      let neighbours = (offsets[name] ?? []).map { offset in
        rows.indices.contains(index + offset) ? rows[index + offset] : nil
      }
      return ScreenItem(row: row, neighbours: neighbours)
    }
    return reversed.contains(name) ? items.reversed() : items
  }
}
