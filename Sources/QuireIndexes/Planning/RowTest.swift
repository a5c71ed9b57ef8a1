// Testing rows that an index has found against the rest of a condition.

internal import QuireDatabase

extension IndexView {
  /// Where every record has the values of a column; nil if not all have them.
  func place(of column: ColumnID) -> Int? {
    guard let field = list.fields.field(column), map.isComplete[field] else { return nil }
    return map.places[field]
  }

  /// Whether records tell all that a condition asks.
  func tells(_ node: ConditionNode) -> Bool { test(node) != nil }

  /// A condition as a test of records; nil if records do not tell all that it asks.
  func test(_ node: ConditionNode) -> RecordTest? {
    switch node {
    case .all: return .constant(true)
    case .none: return .constant(false)
    case .value(let column, let ranges): return place(of: column.id).map { .values($0, ranges, isNegated: false) }
    case .elements(let column, let ranges, let isNegated):
      return place(of: column.id).map { .values($0, ranges, isNegated: isNegated) }
    case .closure, .selection: return nil
    case .listed(let list, let isNegated): return .listed(list, isNegated: isNegated)
    case .and(let nodes):
      let tests = nodes.compactMap { test($0) }
      return tests.count == nodes.count ? .and(tests) : nil
    case .or(let nodes):
      let tests = nodes.compactMap { test($0) }
      return tests.count == nodes.count ? .or(tests) : nil
    }
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

/// A condition that records tell, with the places where they do.
indirect enum RecordTest {
  case constant(Bool)
  /// One of the values at a place is in the ranges; or none is.
  case values(Int, ByteRanges, isNegated: Bool)
  /// The row is listed; or it is not.
  case listed(RowIDList, isNegated: Bool)
  case and([RecordTest])
  case or([RecordTest])

  /// Whether a row with this record satisfies it.
  func isTrue(_ record: RecordView, of rowID: RowID) -> Bool {
    switch self {
    case .constant(let isTrue): return isTrue
    case .values(let place, let ranges, let isNegated):
      guard let (first, count) = unsafe record.firstValue(at: place) else { return isNegated }
      if count <= 1 { return unsafe (first.map { unsafe ranges.contains($0) } ?? false) != isNegated }
      var isFound = false
      unsafe record.forEachValue(at: place) { value in
        if !isFound { isFound = unsafe ranges.contains(value) }
      }
      return isFound != isNegated
    case .listed(let list, let isNegated): return list.contains(rowID) != isNegated
    case .and(let tests): return tests.allSatisfy { $0.isTrue(record, of: rowID) }
    case .or(let tests): return tests.contains { $0.isTrue(record, of: rowID) }
    }
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
