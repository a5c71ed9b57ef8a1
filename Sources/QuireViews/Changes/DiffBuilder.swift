// From steps and two states of mappings to the changes of a screen.

internal import QuireDatabase

/// Makes one diff: replays the steps group by group, then compares where each row was shown with where it is.
///
/// A row that was shown and is not is deleted, and the like; so the changes lead from the old to the new state by
/// construction, whatever windows, reversal and consolidation do. Runs of untouched rows are compared as a whole.
///
/// Invariants:
/// 1. As many sections are kept after as before, in the same order.
/// 2. The changes of sections and rows, carried out on the old counts of rows, come to the new ones.
struct DiffBuilder {
  /// A group of the old mappings, of the new ones, or of both.
  struct Group {
    let key: ByteString
    let oldPlace: Int?
    let newPlace: Int?
    var replay: GroupReplay
    /// Where its rows were and are shown; nil where it has no section.
    var old: Placement?
    var new: Placement?
    /// Whether its section, or its place among consolidated groups, is the same as before, so that rows need not move.
    var isKept = false
    /// Whether it left the mappings with its section, which takes its remaining rows along.
    var isTakenAlong = false
    var marks = NeighbourMarks()

    var name: String { key.string }
  }

  /// Where the rows of a group are shown.
  struct Placement {
    let section: Int
    let firstRow: Int
    let range: Range<Int>
    let isReversed: Bool

    func path(of index: Int) -> ViewPath? {
      guard range.contains(index) else { return nil }
      let row = isReversed ? range.upperBound - 1 - index : index - range.lowerBound
      return ViewPath(section: section, row: firstRow + row)
    }
  }

  let operations: [ViewOperation]
  let before: ViewMappings
  var after: ViewMappings
  /// First those of the new mappings, then those that only the old ones have.
  var groups: [Group] = []
  private var numbersGone: [ByteString: Int] = [:]
  /// The changes so far, each with what it is sorted by.
  var drafts: [(moment: GroupReplay.Moment, change: ViewRowChange)] = []

  init(_ operations: [ViewOperation], _ mappings: ViewMappings) {
    self.operations = operations
    before = mappings
    after = mappings
  }

  /// The diff, and in `after` the new mappings; nil if the steps do not lead from the old counts to the new ones.
  mutating func build(newCounts: [(group: String, count: Int)], csn: UInt64) -> ViewDiff? {
    let areSame = after.regroup(counts: newCounts, csn: csn)
    guard collectGroups(areSame: areSame), replay() else { return nil }
    settle()
    let sections = compareSections()
    emitTouchedRows()
    for group in groups.indices { emitUpdatedRows(of: group) }
    emitUntouchedRows()
    assert(leadsToNewCounts(sections), "the changes do not lead to the new counts of rows")
    return ViewDiff(
      sections: sections, rows: sortedRows(), isReload: false, rowCounts: after.layout.sections.map(\.count))
  }

  /// Whether the changes, carried out on the old counts of the sections' rows, come to the new ones. O(changes).
  private func leadsToNewCounts(_ changes: [SectionChange]) -> Bool {
    let (old, expected) = (before.layout.sections.map(\.count), after.layout.sections.map(\.count))
    func left(_ sections: [Int], _ kind: SectionChange.Kind) -> [Int] {
      let changed = Set(changes.lazy.filter { $0.kind == kind }.map(\.index))
      return sections.indices.filter { !changed.contains($0) }
    }
    let (oldKept, newKept) = (left(old, .delete), left(expected, .insert))
    guard oldKept.count == newKept.count else { return false }
    var counts = [Int](repeating: 0, count: expected.count)
    for (from, to) in zip(oldKept, newKept) { counts[to] = old[from] }
    let places = Dictionary(uniqueKeysWithValues: zip(oldKept, newKept))
    for (_, change) in drafts where change.kind != .update {
      if let from = change.originalPath, let kept = places[from.section] { counts[kept] -= 1 }
      if let to = change.finalPath { counts[to.section] += 1 }
    }
    return counts == expected
  }

  /// Notes all groups that are or were shown, with the counts that the steps start from.
  private mutating func collectGroups(areSame: Bool) -> Bool {
    groups.reserveCapacity(after.shown.count)
    let net = areSame ? [:] : netCounts()
    for (place, group) in after.shown.enumerated() {
      let oldPlace = areSame ? place : before.place(of: group.name)
      // A group that was not shown may have had rows that the mappings did not choose: what is there now, less what the
      // steps brought.
      let count = oldPlace.map { before.shown[$0].count } ?? group.count &- (net[group.key] ?? 0)
      guard count >= 0, count <= ViewMappings.largestCount else { return false }
      add(group.key, oldPlace, place, count: count)
    }
    if areSame { return true }
    for (place, group) in before.shown.enumerated() where after.place(of: group.name) == nil {
      numbersGone[group.key] = groups.count
      add(group.key, place, nil, count: group.count)
    }
    return true
  }

  private mutating func add(_ key: ByteString, _ oldPlace: Int?, _ newPlace: Int?, count: Int) {
    var tracker: WindowTracker?
    if let oldPlace, !before.settings.windows.isEmpty, let window = before.settings.windows[key],
      window.current.isFlexible, window.hasStarted
    {
      tracker = WindowTracker(window.current, at: before.shown[oldPlace].range)
    }
    let offsets = newPlace == nil ? [] : after.settings.neighbours[key] ?? []
    let replay = GroupReplay(count: count, window: tracker, neighbourOffsets: offsets)
    groups.append(Group(key: key, oldPlace: oldPlace, newPlace: newPlace, replay: replay))
  }

  /// By how many rows the steps change each group.
  private func netCounts() -> [ByteString: Int] {
    var net: [ByteString: Int] = [:]
    for operation in operations {
      switch operation {
      case .insert(_, let group, _): net[ByteString(group), default: 0] &+= 1
      case .remove(_, let group, _): net[ByteString(group), default: 0] &-= 1
      case .resetGroup(let group, let count): net[ByteString(group), default: 0] &-= count
      case .update, .insertGroup, .removeGroup: break
      }
    }
    return net
  }

  /// Which of `groups` has a name: those of the new mappings come first, in their order.
  private func number(of name: String) -> Int? {
    after.place(of: name) ?? (numbersGone.isEmpty ? nil : numbersGone[ByteString(name)])
  }

  /// Whether all steps made sense and the groups have as many rows afterwards as they should.
  private mutating func replay() -> Bool {
    // Steps of one group mostly follow each other.
    var (lastName, lastNumber): (String, Int?) = ("", number(of: ""))
    for step in operations.indices {
      let name = operations[step].group
      if !name.hasSameBytes(as: lastName) { (lastName, lastNumber) = (name, number(of: name)) }
      guard let number = lastNumber else { continue }
      groups[number].replay.replay(operations[step], step: step)
    }
    return groups.allSatisfy { group in
      guard group.replay.fits else { return false }
      return group.newPlace.map { after.shown[$0].count == group.replay.count } ?? true
    }
  }

  /// Computes the new mappings and where all rows are and were.
  private mutating func settle() {
    let windows = groups.compactMap { group in group.replay.window.map { (group.key, $0.range) } }
    let moved = Dictionary(uniqueKeysWithValues: windows)
    after.settleWindows { moved.isEmpty ? nil : moved[$0] }
    for number in groups.indices {
      groups[number].replay.settle()
      groups[number].old = groups[number].oldPlace.flatMap { before.placement(at: $0) }
      groups[number].new = groups[number].newPlace.flatMap { after.placement(at: $0) }
      guard !after.settings.neighbours.isEmpty, let new = groups[number].new else { continue }
      if let offsets = after.settings.neighbours[groups[number].key] {
        groups[number].marks = NeighbourMarks(groups[number].replay, offsets: offsets, within: new.range)
      }
    }
  }

  /// The changes in the order of their steps; those without one as they were added.
  private func sortedRows() -> [ViewRowChange] {
    let order = drafts.indices.sorted { (drafts[$0].moment, $0) < (drafts[$1].moment, $1) }
    return order.map { drafts[$0].change }
  }
}

extension ViewMappings {
  /// Where the rows of the group at a place are shown; nil if it has no section.
  fileprivate func placement(at place: Int) -> DiffBuilder.Placement? {
    layout.sectionOf[place].map { section in
      DiffBuilder.Placement(
        section: section, firstRow: layout.firstRow[place], range: shown[place].range,
        isReversed: settings.reversed.contains(shown[place].key))
    }
  }
}
