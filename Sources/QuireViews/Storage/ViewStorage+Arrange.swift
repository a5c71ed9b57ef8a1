// Bringing whole groups into another order at once.

internal import QuireDatabase

/// What a group is to show.
struct GroupArrangement {
  /// The group's name.
  let name: String
  /// Its rows in their order, and what places each of them. No row comes twice.
  var rows: [(rowID: RowID, order: [UInt8])]
  /// Those of the rows that were not in the group before; known when it has been arranged.
  var added: Set<RowID> = []

  /// Whether what places the rows ascends.
  fileprivate var isInOrder: Bool {
    zip(rows, rows.dropFirst()).allSatisfy { $0.order.lexicographicallyPrecedes($1.order) }
  }
}

extension ViewStorage {
  /// The rows of a group in their order.
  func members(of name: String) throws -> [(rowID: RowID, entry: ViewEntry)] {
    guard let group = try group(name) else { return [] }
    var members: [(rowID: RowID, entry: ViewEntry)] = []
    let cursor = try trees.entries.cursor()
    var isOnEntry = try cursor.seek(group.prefix)
    while isOnEntry, let (key, value) = try cursor.entry, key.starts(with: group.prefix) {
      members.append((try trees.rowID(value), ViewEntry(key: key)))
      isOnEntry = try cursor.next()
    }
    return members
  }

  /// Makes groups show other rows, or the same in another order, by the fewest steps; groups that are not named stay as
  /// they are. Rows leave all groups before any enters one, so that a row that changes its group is in one at a time.
  func arrange(_ groups: [GroupArrangement]) throws {
    assert(groups.allSatisfy(\.isInOrder), "rows of a group are arranged otherwise than their orders say")
    let plans = try groups.map { try GroupPlan(from: members(of: $0.name), to: $0.rows.map(\.rowID)) }
    for (group, plan) in zip(groups, plans) { try takeOut(plan, group) }
    for (group, plan) in zip(groups, plans) { try putIn(plan, group) }
    try tell { listener in
      try listener.didArrange(
        zip(groups, plans).map { group, plan in
          let added = zip(group.rows, plan.origins).filter { $1 == nil }.map(\.0.rowID)
          return GroupArrangement(name: group.name, rows: group.rows, added: Set(added))
        })
    }
  }

  /// Takes out what does not stay, the last first: so the index of each is its old one.
  private func takeOut(_ plan: GroupPlan, _ group: GroupArrangement) throws {
    guard !plan.old.isEmpty, let id = try self.group(group.name) else { return }
    for index in plan.old.indices.reversed() where !plan.oldStays[index] {
      let (rowID, entry) = plan.old[index]
      try trees.entries.remove(entry.key)
      try setEntries(of: rowID, try trees.entries(of: rowID).filter { $0 != entry })
      try note(.remove(key(of: rowID), group: group.name, index: index))
    }
    // One that gets other rows in a moment is the same group still.
    if group.rows.isEmpty { try removeGroupIfEmpty(group.name, id) }
  }

  /// Puts in what is missing, the first first: so the index of each is its new one.
  private func putIn(_ plan: GroupPlan, _ group: GroupArrangement) throws {
    guard !group.rows.isEmpty else { return }
    let id = try makeGroup(group.name)
    var relabelled: [Relabelling] = []
    for (index, row) in group.rows.enumerated() where plan.newStays[index] {
      guard let origin = plan.origins[index], plan.old[origin].entry.order != row.order else { continue }
      relabelled.append(Relabelling(rowID: row.rowID, from: plan.old[origin].entry, order: row.order))
    }
    try replace(relabelled, in: id)
    for (index, row) in group.rows.enumerated() where !plan.newStays[index] {
      let entry = ViewEntry(id, row.order)
      try trees.entries.put(row.rowID.orderedBytes, for: entry.key)
      try setEntries(of: row.rowID, try trees.entries(of: row.rowID) + [entry])
      try note(.insert(key(of: row.rowID), group: group.name, index: index))
    }
  }

  private func key(of rowID: RowID) throws -> RowKey {
    guard let key = try store.readTransaction.key(of: rowID) else { throw trees.damaged() }
    return key
  }
}
