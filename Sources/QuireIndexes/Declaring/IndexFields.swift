// What records hold, as the list of indexes says.

internal import QuireDatabase

/// What rows are asked for on behalf of a list of indexes: the distinct columns of all, and which filtered indexes hold
/// a row.
///
/// Invariants:
/// 1. `columns`, `held` and `filters` have an element for each index; what is in the first two are places in `fields`.
/// 2. A column is one field, however many indexes have it; so is the condition of an index that has one.
struct IndexFields: Sendable {
  /// One thing that a record holds.
  enum Field: Sendable {
    case column(Column)
    /// Whether the condition of an index lets the row through.
    case isHeld(index: Int)
  }

  let fields: [Field]
  /// For each index the fields of its columns.
  let columns: [[Int]]
  /// For each index the field that tells whether it holds the row; nil for those that hold all.
  let held: [Int?]
  let filters: [ConditionNode]
  let needsMetadata: Bool
  private let needsObject: Bool

  init(_ indexes: [IndexDeclaration]) {
    var fields: [Field] = []
    columns = indexes.map { index in
      index.columns.map { column in
        if let known = fields.firstIndex(where: { $0.column?.id == column.column.id }) { return known }
        fields.append(.column(column.column))
        return fields.count - 1
      }
    }
    filters = indexes.map(\.filter)
    held = indexes.indices.map { number in
      if indexes[number].filter.conjuncts.isEmpty { return nil }
      fields.append(.isHeld(index: number))
      return fields.count - 1
    }
    self.fields = fields
    assert(
      columns.count == indexes.count && columns.joined().allSatisfy { fields[$0].column != nil },
      "a column of an index is no field")
    assert(held.count { $0 != nil } == fields.count { $0.column == nil }, "a condition has no field, or two")
    let isFiltered = held.contains { $0 != nil }
    needsMetadata = isFiltered || fields.contains { $0.column?.id.half == .metadata }
    needsObject = isFiltered || fields.contains { $0.column?.id.half == .object }
  }

  /// The halves of rows that records are made of.
  var halves: ChangedHalves {
    var halves: ChangedHalves = []
    if needsObject { halves.insert(.storedObject) }
    if needsMetadata { halves.insert(.storedMetadata) }
    return halves
  }

  /// The field of a column; nil if no index has it.
  func field(_ column: ColumnID) -> Int? { fields.firstIndex { $0.column?.id == column } }
}

extension IndexFields.Field {
  /// The column, if it is one.
  var column: Column? { if case .column(let column) = self { column } else { nil } }
}
