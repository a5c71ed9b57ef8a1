// Testing rows that an index has found against the rest of a condition.

internal import QuireDatabase

extension IndexView {
  /// Where every record has the values of a column; nil if not all have them.
  func place(of column: ColumnID) -> Int? {
    guard let field = list.fields.field(column), map.isComplete[field] else { return nil }
    return map.places[field]
  }

  /// Whether records tell all that a condition asks.
  func tells(_ node: ConditionNode) -> Bool {
    switch node {
    case .all, .none: true
    case .value(let column, _), .elements(let column, _, _): place(of: column.id) != nil
    case .closure, .selection: false
    case .listed: true
    case .and(let nodes), .or(let nodes): nodes.allSatisfy { tells($0) }
    }
  }

  /// Whether a row with this record satisfies a condition that records tell.
  func isTrue(_ node: ConditionNode, _ record: RecordView, of rowID: RowID) -> Bool {
    switch node {
    case .all: true
    case .none, .closure, .selection: false
    case .listed(let list, let isNegated): list.contains(rowID) != isNegated
    case .value(let column, let ranges): has(column.id, record, ranges)
    case .elements(let column, let ranges, let isNegated): has(column.id, record, ranges) != isNegated
    case .and(let nodes): nodes.allSatisfy { isTrue($0, record, of: rowID) }
    case .or(let nodes): nodes.contains { isTrue($0, record, of: rowID) }
    }
  }

  /// Whether one of the values of a column is in `ranges`.
  private func has(_ column: ColumnID, _ record: RecordView, _ ranges: ByteRanges) -> Bool {
    guard let place = place(of: column) else { return false }
    var isFound = false
    unsafe record.forEachValue(at: place) { value in
      if !isFound { isFound = unsafe ranges.contains(value) }
    }
    return isFound
  }

  /// Whether records tell the values by which an order goes.
  func tells(_ order: [KeyColumn]) -> Bool {
    order.allSatisfy { place(of: $0.column.id) != nil }
  }

  /// The first value of a column in a record; no bytes if it has none.
  func value(_ column: ColumnID, _ record: RecordView) -> [UInt8] {
    place(of: column).flatMap { record.values(at: $0).first } ?? []
  }
}

/// Bytes by which rows stand in an order.
enum OrderKey {
  /// Of the values in the order's directions, one behind the other.
  static func bytes(
    _ order: [KeyColumn], _ value: (Column) throws -> [UInt8]
  ) rethrows -> [UInt8] {
    var bytes: [UInt8] = []
    for column in order {
      let own = try value(column.column)
      if column.isDescending { bytes += own.map { ~$0 } } else { bytes += own }
    }
    return bytes
  }
}
