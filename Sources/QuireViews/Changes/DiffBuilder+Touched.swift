// The rows that steps removed, inserted and changed.

import QuireDatabase

extension DiffBuilder {
  /// A removed row, or an inserted one, in a group.
  private struct Reference {
    let group: Int
    let number: Int
  }

  /// Tells the rows that were removed and inserted; as a move where one key was both.
  mutating func emitTouchedRows() {
    let moves = findMoves()
    drafts.reserveCapacity(groups.reduce(0) { $0 + $1.replay.removals.count + $1.replay.arrivals.count })
    var isMoved = groups.map { [Bool](repeating: false, count: $0.replay.arrivals.count) }
    for group in groups.indices {
      for (number, removal) in groups[group].replay.removals.enumerated() {
        if let arrival = moves[group].isEmpty ? nil : moves[group][number] {
          isMoved[arrival.group][arrival.number] = true
          emitMove(removal, from: group, to: arrival)
        } else {
          emitRemoval(removal, from: group)
        }
      }
    }
    for group in groups.indices {
      for (number, arrival) in groups[group].replay.arrivals.enumerated() where !isMoved[group][number] {
        guard let index = arrival.index, let path = groups[group].new?.path(of: index) else { continue }
        draft(
          at: .step(arrival.step), nil, path, [.object, .metadata], from: nil, to: group,
          key: operations[arrival.step].key)
      }
    }
  }

  /// Tells rows that were updated: as a move if the number of their section changed, and as what it is if a window let
  /// them in or out.
  mutating func emitUpdatedRows(of number: Int) {
    let group = groups[number]
    for update in group.replay.updates {
      var aspects = update.aspects
      if group.marks.contains(update.new) { aspects.insert(.dependency) }
      let (old, new) = (group.old?.path(of: update.old), group.new?.path(of: update.new))
      if new == nil, group.isTakenAlong { continue }
      draft(
        at: update.moment, old, new, aspects, from: number, to: number, key: operations[update.step].key,
        staysInPlace: group.isKept && old?.section == new?.section)
    }
  }

  private mutating func emitRemoval(_ removal: GroupReplay.Removal, from group: Int) {
    guard let placement = groups[group].old else { return }
    let key = removal.hasKey ? operations[removal.keyStep].key : nil
    for index in removal.indexes.clamped(to: placement.range).reversed() {
      draft(at: removal.moment, placement.path(of: index), nil, [], from: group, to: nil, key: key)
    }
  }

  private mutating func emitMove(_ removal: GroupReplay.Removal, from group: Int, to arrival: Reference) {
    let inserted = groups[arrival.group].replay.arrivals[arrival.number]
    let old = groups[group].old?.path(of: removal.first)
    let new = inserted.index.flatMap { groups[arrival.group].new?.path(of: $0) }
    draft(
      at: min(removal.moment, .step(inserted.step)), old, new, [.object, .metadata], from: group, to: arrival.group,
      key: operations[inserted.step].key)
  }

  /// For each group, and each of its removals, where the row was inserted again; empty for a group without such rows.
  ///
  /// A row may be in several groups: it moves within its group if it can.
  private func findMoves() -> [[Reference?]] {
    var moves = [[Reference?]](repeating: [], count: groups.count)
    var arrived: [Reference] = []
    guard groups.contains(where: { $0.replay.removals.contains(where: \.hasKey) }) else { return moves }
    var index = KeyIndex(minimumCapacity: groups.reduce(0) { $0 + $1.replay.arrivals.count })
    for (group, content) in groups.enumerated() {
      for (number, arrival) in content.replay.arrivals.enumerated() where arrival.index != nil {
        guard let key = operations[arrival.step].key else { continue }
        index.add(key)
        arrived.append(Reference(group: group, number: number))
      }
    }
    guard !arrived.isEmpty else { return moves }
    var isTaken = [Bool](repeating: false, count: arrived.count)
    for isSameGroup in [true, false] {
      for (group, content) in groups.enumerated() {
        if isSameGroup { moves[group] = [Reference?](repeating: nil, count: content.replay.removals.count) }
        for (number, removal) in content.replay.removals.enumerated()
        where removal.hasKey && moves[group][number] == nil {
          guard let key = operations[removal.keyStep].key else { continue }
          let isFree = { entry in !isTaken[entry] && (!isSameGroup || arrived[entry].group == group) }
          guard let entry = index.first(key, where: isFree) else { continue }
          isTaken[entry] = true
          moves[group][number] = arrived[entry]
        }
      }
    }
    return moves
  }

  /// Adds a change of a row by where it was and is shown; none if it neither was nor is.
  mutating func draft(
    at moment: GroupReplay.Moment, _ old: ViewPath?, _ new: ViewPath?, _ aspects: ViewAspects, from oldGroup: Int?,
    to newGroup: Int?, key: RowKey?, staysInPlace: Bool = false
  ) {
    let kind: ViewRowChange.Kind
    var told = aspects
    switch (old, new) {
    case (nil, nil): return
    case (nil, _):
      kind = .insert
      told = [.object, .metadata]
    case (_, nil):
      kind = .delete
      told = []
    default: kind = staysInPlace ? .update : .move
    }
    let change = ViewRowChange(
      kind: kind, originalPath: old, finalPath: new, aspects: told,
      originalGroup: old == nil ? nil : oldGroup.map { groups[$0].name },
      finalGroup: new == nil ? nil : newGroup.map { groups[$0].name }, key: key)
    drafts.append((moment, change))
  }
}
