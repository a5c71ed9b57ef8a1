// Testing rows that an index has found against the rest of a condition.

internal import QuireDatabase

extension RecordLayout {
  /// Whether records tell all that a condition asks.
  func tells(_ node: Condition<Object, Metadata>.Node) -> Bool {
    switch node {
    case .all, .none: true
    case .value(let column, _): columns.contains { $0.id == column.id }
    case .elements(let column, _, _): columns.contains { $0.id == column.id }
    case .closure: false
    case .and(let nodes), .or(let nodes): nodes.allSatisfy { tells($0) }
    }
  }

  /// Whether a row with this record satisfies a condition that records tell.
  func isTrue(_ node: Condition<Object, Metadata>.Node, _ record: RowRecord) -> Bool {
    switch node {
    case .all: true
    case .none, .closure: false
    case .value(let column, let ranges): values(column.id, record).contains { ranges.contains($0) }
    case .elements(let column, let ranges, let isNegated):
      values(column.id, record).contains { ranges.contains($0) } != isNegated
    case .and(let nodes): nodes.allSatisfy { isTrue($0, record) }
    case .or(let nodes): nodes.contains { isTrue($0, record) }
    }
  }

  /// The values of a column that records have.
  func values(_ column: ColumnID, _ record: RowRecord) -> [[UInt8]] {
    columns.firstIndex { $0.id == column }.map { record.values[$0] } ?? []
  }

  /// Whether records tell the values by which an order goes.
  func tells(_ order: [IndexColumn<Object, Metadata>]) -> Bool {
    order.allSatisfy { column in columns.contains { $0.id == column.column.id } }
  }
}

/// Bytes by which rows stand in an order.
enum OrderKey {
  /// Of the values in the order's directions, one behind the other.
  static func bytes<Object, Metadata>(
    _ order: [IndexColumn<Object, Metadata>], _ value: (Column<Object, Metadata>) throws -> [UInt8]
  ) rethrows -> [UInt8] {
    var bytes: [UInt8] = []
    for column in order {
      let own = try value(column.column)
      if column.isDescending { bytes += own.map { ~$0 } } else { bytes += own }
    }
    return bytes
  }
}
