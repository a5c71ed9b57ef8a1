// Whole groups in an order that closures give.

internal import QuireDatabase

/// A row that a group is to have, and what places it if that follows from the row alone.
struct RowMember {
  let rowID: RowID
  let order: [UInt8]
}

extension RowPlacer {
  /// What places a row within its groups, if that follows from the row alone.
  func sortKey(
    _ row: ViewRow<Object, Metadata>, _ rowID: RowID, _ sorting: ViewSorting<Object, Metadata>
  ) throws -> [UInt8] {
    switch sorting.order {
    case .keyed(let key): try ViewEntry.order(key(row), rowID)
    case .compared: []
    }
  }

  /// The rows of a group in their new order.
  func arranged(
    _ members: [RowMember], in name: String, _ sorting: ViewSorting<Object, Metadata>
  ) throws -> [(rowID: RowID, order: [UInt8])] {
    guard !members.isEmpty else { return [] }
    switch sorting.order {
    case .keyed:
      return members.sorted { $0.order.lexicographicallyPrecedes($1.order) }.map { ($0.rowID, $0.order) }
    case .compared(let isBefore):
      // In the old order at first: sorting is stable, so rows that are equal do not move.
      var places: [RowID: Int] = [:]
      for (place, row) in try storage.members(of: name).enumerated() { places[row.rowID] = place }
      let known = members.sorted { (places[$0.rowID] ?? .max) < (places[$1.rowID] ?? .max) }
      let rows = try known.map { (rowID: $0.rowID, row: try viewRow($0.rowID)) }
      let sorted = try rows.sorted { try isBefore(name, $0.row, $1.row) }.map(\.rowID)
      let hasLabels = if case .compared = self.sorting.order { true } else { false }
      return Array(zip(sorted, try labels.labels(for: sorted, in: name, keepsLabels: hasLabels)))
    }
  }

  /// The rows of a group and others that come into it, in their order. Those that are there are in order, and have what
  /// places them; of the others that is known which follows from the row alone.
  ///
  /// Sorting by comparison decodes the others, and about log2(n) of the group's rows for each.
  func merged(
    _ old: [RowMember], with added: [RowMember], in name: String
  ) throws -> [(rowID: RowID, order: [UInt8])] {
    if added.isEmpty { return old.map { ($0.rowID, $0.order) } }
    switch sorting.order {
    case .keyed:
      return (old + added).sorted { $0.order.lexicographicallyPrecedes($1.order) }.map { ($0.rowID, $0.order) }
    case .compared(let isBefore):
      var known: [RowID: ViewRow<Object, Metadata>] = [:]
      func row(_ rowID: RowID) throws -> ViewRow<Object, Metadata> {
        if let row = known[rowID] { return row }
        let row = try viewRow(rowID)
        known[rowID] = row
        return row
      }
      let new = try added.map { try row($0.rowID) }
      let places = try new.indices.sorted { try isBefore(name, new[$0], new[$1]) }
      var (merged, next) = ([RowID](), 0)
      for place in places {
        // Behind all that are not behind it.
        var (low, high) = (next, old.count)
        while low < high {
          let middle = (low + high) / 2
          if try isBefore(name, new[place], row(old[middle].rowID)) { high = middle } else { low = middle + 1 }
        }
        merged += old[next..<low].map(\.rowID)
        merged.append(added[place].rowID)
        next = low
      }
      merged += old[next...].map(\.rowID)
      assert(merged.count == old.count + added.count, "a row is lost where two lists become one")
      return Array(zip(merged, try labels.labels(for: merged, in: name, keepsLabels: true)))
    }
  }
}
