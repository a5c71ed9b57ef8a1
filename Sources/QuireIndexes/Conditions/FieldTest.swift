// A condition as a test of the fields of stored rows.

internal import QuireDatabase

/// A condition as far as fields tell it, each by what the reader calls it.
indirect enum FieldTest {
  /// Fields do not tell.
  case unknown
  case constant(Bool)
  /// The value, or one of the elements, is in the ranges; or none is.
  case values(Int, RangeTest, isNegated: Bool)
  /// The row is listed; or it is not.
  case listed(RowIDList, isNegated: Bool)
  case and([FieldTest])
  case or([FieldTest])

  /// - Parameter add: has a column read, or each element of it.
  init(_ node: ConditionNode, _ add: (ColumnID, _ each: Bool) -> Int?) {
    switch node {
    case .all: self = .constant(true)
    case .none: self = .constant(false)
    case .value(let column, let ranges):
      self = add(column.id, false).map { .values($0, RangeTest(ranges), isNegated: false) } ?? .unknown
    case .elements(let column, let ranges, let isNegated):
      self = add(column.id, true).map { .values($0, RangeTest(ranges), isNegated: isNegated) } ?? .unknown
    case .closure, .selection: self = .unknown
    case .listed(let list, let isNegated): self = .listed(list, isNegated: isNegated)
    case .and(let nodes): self = .and(nodes.map { Self($0, add) })
    case .or(let nodes): self = .or(nodes.map { Self($0, add) })
    }
  }

  /// Whether the row that is lent satisfies the condition; nil if its fields do not tell.
  func isTrue(_ rowID: RowID, _ fields: StoredFields) -> Bool? {
    switch self {
    case .unknown: return nil
    case .constant(let isTrue): return isTrue
    case .values(let field, let test, let isNegated):
      guard let isIn = fields.hasValue(field, where: { test.contains($0) }) else { return nil }
      return isIn != isNegated
    case .listed(let list, let isNegated): return list.contains(rowID) != isNegated
    case .and(let tests): return Self.decide(tests, deciding: false, rowID, fields)
    case .or(let tests): return Self.decide(tests, deciding: true, rowID, fields)
    }
  }

  /// What a part decides that has the deciding value, whether or not others are unknown.
  private static func decide(
    _ tests: [FieldTest], deciding: Bool, _ rowID: RowID, _ fields: StoredFields
  ) -> Bool? {
    var areKnown = true
    for test in tests {
      guard let isTrue = test.isTrue(rowID, fields) else {
        areKnown = false
        continue
      }
      if isTrue == deciding { return deciding }
    }
    return areKnown ? !deciding : nil
  }
}

extension FieldReader {
  /// Has a column read, or each of its elements; nil if rows never tell it, as it is not one of the object.
  func add(_ column: ColumnID, each: Bool = false) -> Int? {
    guard column.half == .object, let path = column.path as? PartialKeyPath<Object> else { return nil }
    return add(path, each: each)
  }
}
