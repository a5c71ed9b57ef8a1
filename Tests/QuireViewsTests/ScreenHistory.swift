// A view that changes by chance.

import QuireDatabase
import QuireTesting

@testable import QuireViews

/// The groups of a view, changed step by step as transactions would.
struct ScreenHistory {
  private(set) var groups: [String: ScreenGroup]
  private var random: SeededRandom
  private var nextKey = 0
  private let names: [String]

  init(_ screen: ModelScreen, random: SeededRandom) {
    names = screen.names
    let pairs = screen.names.map { ($0, ScreenGroup(window: screen.windows[$0])) }
    groups = Dictionary(uniqueKeysWithValues: pairs)
    self.random = random
  }

  /// How many rows each group has; those without are told or left out.
  mutating func counts() -> [(group: String, count: Int)] {
    names.compactMap { name in
      let count = groups[name]?.rows.count ?? 0
      return count == 0 && random.oneIn(2) ? nil : (name, count)
    }
  }

  /// Puts the marks of the windows where they belong after a change.
  mutating func settle(_ shown: [String], before: [String]) {
    for name in shown { groups[name]?.settle(isNew: !before.contains(name)) }
  }

  /// The steps of some commits.
  mutating func run(stepCount: Int) -> [ViewOperation] {
    var steps: [ViewOperation] = []
    let usual = random.below(3)
    for _ in 0..<stepCount {
      let group = names[random.below(names.count)]
      switch random.below(20) {
      case 0 where random.oneIn(4): reset(group, &steps)
      case 0..<7: insert(usual == 0 && random.oneIn(2) ? 1 : 0, into: group, &steps)
      case 7..<12 where usual != 1: remove(from: group, &steps)
      case 12..<16: move(from: group, to: random.oneIn(3) ? names[random.below(names.count)] : group, &steps)
      default: update(group, &steps)
      }
    }
    return steps
  }

  private func rowCount(_ group: String) -> Int { groups[group]?.rows.count ?? 0 }

  private func rowKey(_ key: Int) -> RowKey { RowKey("c", "k\(key)") }

  private mutating func insert(_ extra: Int, into group: String, _ steps: inout [ViewOperation]) {
    for _ in 0...extra {
      put(ScreenRow(key: nextKey, version: 0), into: group, at: random.below(rowCount(group) + 1), &steps)
      nextKey += 1
    }
  }

  private mutating func put(_ row: ScreenRow, into group: String, at index: Int, _ steps: inout [ViewOperation]) {
    if rowCount(group) == 0 { steps.append(.insertGroup(group)) }
    steps.append(.insert(rowKey(row.key), group: group, index: index))
    groups[group]?.insert(row, at: index)
  }

  private mutating func remove(from group: String, _ steps: inout [ViewOperation]) {
    let count = rowCount(group)
    guard count > 0 else { return }
    _ = take(from: group, at: random.below(count), &steps)
  }

  private mutating func take(from group: String, at index: Int, _ steps: inout [ViewOperation]) -> ScreenRow? {
    guard let row = groups[group]?.rows[index] else { return nil }
    steps.append(.remove(rowKey(row.key), group: group, index: index))
    groups[group]?.remove(at: index)
    if rowCount(group) == 0 { steps.append(.removeGroup(group)) }
    return row
  }

  private mutating func move(from group: String, to other: String, _ steps: inout [ViewOperation]) {
    let count = rowCount(group)
    guard count > 0, var row = take(from: group, at: random.below(count), &steps) else { return }
    if random.oneIn(2) { row.version += 1 }
    // A row may be in several groups: it must not come into one twice.
    if groups[other]?.rows.contains(where: { $0.key == row.key }) == true { return }
    put(row, into: other, at: random.below(rowCount(other) + 1), &steps)
    guard random.oneIn(8) else { return }
    let third = names[random.below(names.count)]
    if groups[third]?.rows.contains(where: { $0.key == row.key }) != true {
      put(row, into: third, at: random.below(rowCount(third) + 1), &steps)
    }
  }

  private mutating func update(_ group: String, _ steps: inout [ViewOperation]) {
    let count = rowCount(group)
    guard count > 0 else { return }
    let index = random.below(count)
    guard var row = groups[group]?.rows[index] else { return }
    row.version += 1
    let aspects: ViewAspects = random.oneIn(2) ? .object : .metadata
    steps.append(.update(rowKey(row.key), group: group, index: index, aspects))
    groups[group]?.update(row, at: index)
  }

  private mutating func reset(_ group: String, _ steps: inout [ViewOperation]) {
    let count = rowCount(group)
    guard count > 0 else { return }
    steps.append(.resetGroup(group, count: count))
    steps.append(.removeGroup(group))
    groups[group]?.removeAll()
  }
}
