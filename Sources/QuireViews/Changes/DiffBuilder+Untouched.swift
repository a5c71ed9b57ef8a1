// The rows that no step touched: shifted in or out by windows, moved with their group, or drawn anew.

extension DiffBuilder {
  /// Tells the untouched rows whose place on the screen changed, and those that draw a neighbour that changed.
  mutating func emitUntouchedRows() {
    var moves: [(old: ViewPath, new: ViewPath, aspects: ViewAspects, group: Int)] = []
    for number in groups.indices {
      let group = groups[number]
      let stretches = group.replay.untouched
      emitShifts(of: number, stretches)
      guard let old = group.old, let new = group.new, !group.isKept || !group.marks.isEmpty else { continue }
      for stretch in stretches {
        let shown = shownBefore(stretch, old).clamped(to: shownAfter(stretch, new))
        guard !shown.isEmpty else { continue }
        let shift = stretch.new - stretch.old
        if group.isKept {
          for mark in group.marks.marks(within: shown.lowerBound + shift..<shown.upperBound + shift) {
            for row in mark.rows {
              let moment = group.replay.noticeMoment(ofRow: row - shift) ?? .neighbour(mark.step)
              emitRedrawn(row - shift, row, in: number, at: moment)
            }
          }
          continue
        }
        for row in shown {
          guard let from = old.path(of: row), let to = new.path(of: row + shift) else { continue }
          moves.append((from, to, group.marks.contains(row + shift) ? .dependency : [], number))
        }
      }
    }
    for move in moves.sorted(by: { $0.old < $1.old }) {
      draft(at: .end, move.old, move.new, move.aspects, from: move.group, to: move.group, key: nil)
    }
  }

  private mutating func emitRedrawn(_ old: Int, _ new: Int, in number: Int, at moment: GroupReplay.Moment) {
    let (from, to) = (groups[number].old?.path(of: old), groups[number].new?.path(of: new))
    draft(
      at: moment, from, to, .dependency, from: number, to: number, key: nil,
      staysInPlace: from?.section == to?.section)
  }

  /// Tells the rows that entered or left the window at its edges: at the pin's side first, and from the outside in.
  private mutating func emitShifts(of number: Int, _ stretches: [GroupReplay.Stretch]) {
    let group = groups[number]
    var low: [(old: Int?, new: Int?)] = []
    var high: [(old: Int?, new: Int?)] = []
    let isWhole = group.oldPlace == nil || group.newPlace == nil
    for stretch in stretches {
      let shift = stretch.new - stretch.old
      let before = shownBefore(stretch, group.old)
      let after = shownAfter(stretch, group.new)
      guard before != after else { continue }
      if !group.isTakenAlong {
        for row in Self.rows(of: before, outside: after) {
          let isLow = isWhole || row + shift < group.new?.range.lowerBound ?? 0
          if isLow { low.append((row, nil)) } else { high.append((row, nil)) }
        }
      }
      for row in Self.rows(of: after, outside: before) {
        let isLow = isWhole || row < group.old?.range.lowerBound ?? 0
        if isLow { low.append((nil, row + shift)) } else { high.append((nil, row + shift)) }
      }
    }
    guard !low.isEmpty || !high.isEmpty else { return }
    let isPinnedAtEnd = self.after.settings.windows[group.key]?.current.pin == .end
    for row in isPinnedAtEnd ? high.reversed() + low : low + high.reversed() {
      let old = row.old.flatMap { group.old?.path(of: $0) }
      let new = row.new.flatMap { group.new?.path(of: $0) }
      draft(at: .end, old, new, [], from: number, to: number, key: nil)
    }
  }

  /// The rows of a stretch that were shown, by their old indexes.
  private func shownBefore(_ stretch: GroupReplay.Stretch, _ placement: Placement?) -> Range<Int> {
    guard let placement else { return stretch.old..<stretch.old }
    return stretch.oldIndexes.clamped(to: placement.range)
  }

  /// The rows of a stretch that are shown, by their old indexes too.
  private func shownAfter(_ stretch: GroupReplay.Stretch, _ placement: Placement?) -> Range<Int> {
    guard let placement else { return stretch.old..<stretch.old }
    let shown = stretch.newIndexes.clamped(to: placement.range)
    let shift = stretch.new - stretch.old
    return shown.lowerBound - shift..<shown.upperBound - shift
  }

  /// The numbers of one range that are not in another, in order.
  private static func rows(of range: Range<Int>, outside other: Range<Int>) -> [Int] {
    let common = range.clamped(to: other)
    guard !common.isEmpty else { return Array(range) }
    return Array(range.lowerBound..<common.lowerBound) + Array(common.upperBound..<range.upperBound)
  }
}
