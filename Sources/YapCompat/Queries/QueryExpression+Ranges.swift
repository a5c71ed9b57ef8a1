// What the index of one column tells of a condition: the ranges of keys outside of which it is not true.

/// The rows for which a condition may be true, as values of one column.
struct ColumnRanges {
  let column: Int
  var ranges: KeyRanges
  /// Whether it is true for all of them.
  var isExact: Bool
}

extension QueryExpression {
  /// The parts that all have to be true.
  var conjuncts: [QueryExpression] {
    if case .all(let parts) = self { return parts.flatMap(\.conjuncts) }
    return [self]
  }

  /// The column that this is, whatever collation stands behind it.
  private var columnIndex: Int? {
    switch self {
    case .column(let column): column
    case .collated(let inner, _): inner.columnIndex
    default: nil
    }
  }

  /// Whether this is the row's number.
  private var isRowID: Bool {
    switch self {
    case .rowID: true
    case .collated(let inner, _): inner.isRowID
    default: false
    }
  }

  /// The values of one column for which the condition may be true; nil if it is not about one column alone, or in a way
  /// that an order of values does not answer.
  ///
  /// - Parameter columns: the columns, whose affinity tells what values they may have.
  func ranges(_ columns: [QueryColumn]) -> ColumnRanges? {
    switch self {
    case .comparison(let comparison, let left, let right, let operands):
      guard case .binary = operands.collation else { return nil }
      if let column = left.columnIndex, let value = right.constant {
        return ColumnRanges(column: column, ranges: Self.ranges(comparison, value), isExact: true)
      }
      guard let column = right.columnIndex, let value = left.constant else { return nil }
      return ColumnRanges(column: column, ranges: Self.ranges(comparison.turned, value), isExact: true)
    case .member(let value, let members, _):
      guard let column = value.columnIndex else { return nil }
      let ranges = KeyRanges(members.values.map { KeyRange(prefix: $0.bytes) })
      return ColumnRanges(column: column, ranges: ranges, isExact: true)
    case .matching(let value, let pattern):
      guard let column = value.columnIndex, columns[column].affinity == .text else { return nil }
      guard let ranges = Self.ranges(beginningWith: pattern.prefix) else { return nil }
      return ColumnRanges(column: column, ranges: ranges, isExact: false)
    case .not(let inner): return inner.rangesOfNegation(columns)
    case .all(let parts):
      return Self.combined(parts.map { $0.ranges(columns) }) { all in all.reduce(.all) { $0.intersection($1) } }
    case .any(let parts):
      return Self.combined(parts.map { $0.ranges(columns) }) { all in KeyRanges(all.flatMap(\.list)) }
    default: return nil
    }
  }

  /// The values for which the condition is known to be false.
  private func rangesOfNegation(_ columns: [QueryColumn]) -> ColumnRanges? {
    switch self {
    case .comparison(let comparison, let left, let right, let operands):
      return QueryExpression.comparison(comparison.negated, left, right, operands).ranges(columns)
    case .member(let value, let members, _):
      guard let column = value.columnIndex else { return nil }
      // What is not in a list with null is unknown; nothing at all is in an empty one, nor is null.
      if members.isEmpty { return ColumnRanges(column: column, ranges: .all, isExact: true) }
      if members.hasNull { return ColumnRanges(column: column, ranges: .none, isExact: true) }
      let others = KeyRanges(members.values.map { KeyRange(prefix: $0.bytes) }).complement
      return ColumnRanges(
        column: column, ranges: others.intersection(KeyRanges([QueryValue.notNullKeys])), isExact: true)
    case .not(let inner): return inner.ranges(columns)
    case .all(let parts): return QueryExpression.any(parts.map { .not($0) }).ranges(columns)
    case .any(let parts): return QueryExpression.all(parts.map { .not($0) }).ranges(columns)
    default: return nil
    }
  }

  /// The ranges of several parts as those of one; nil if they are not all about the same column.
  private static func combined(_ parts: [ColumnRanges?], _ combine: ([KeyRanges]) -> KeyRanges) -> ColumnRanges? {
    let known = parts.compactMap { $0 }
    guard let column = known.first?.column, known.count == parts.count, known.allSatisfy({ $0.column == column }) else {
      return nil
    }
    return ColumnRanges(
      column: column, ranges: combine(known.map(\.ranges)), isExact: known.allSatisfy(\.isExact))
  }

  private static func ranges(_ comparison: QueryComparison, _ value: QueryValue) -> KeyRanges {
    let key = value.keyBytes
    let point = KeyRange(prefix: key)
    switch comparison {
    case .same: return KeyRanges([point])
    case .notSame: return KeyRanges([point]).complement
    default: break
    }
    if value == .null { return .none }
    let known = KeyRanges([QueryValue.notNullKeys])
    switch comparison {
    case .equal, .same: return KeyRanges([point])
    case .notEqual, .notSame: return KeyRanges([point]).complement.intersection(known)
    case .less: return KeyRanges([KeyRange(lower: [], upper: key)]).intersection(known)
    case .lessOrEqual: return KeyRanges([KeyRange(lower: [], upper: point.upper)]).intersection(known)
    case .greater: return KeyRanges([KeyRange(lower: point.upper ?? key, upper: nil)])
    case .greaterOrEqual: return KeyRanges([KeyRange(lower: key, upper: nil)])
    }
  }

  /// So many spellings of a beginning are looked for: four letters in either case.
  private static var spellingLimit: Int { 16 }

  /// The ranges of texts that begin with `prefix` in upper or lower case; nil if every text may.
  private static func ranges(beginningWith prefix: [UInt8]) -> KeyRanges? {
    var spellings: [[UInt8]] = [[]]
    for byte in prefix {
      let forms = Set([byte.lowercasedLetter, byte.uppercasedLetter])
      guard spellings.count * forms.count <= spellingLimit else { break }
      spellings = spellings.flatMap { spelling in forms.map { spelling + [$0] } }
    }
    assert(
      spellings.count <= spellingLimit && Set(spellings).count == spellings.count, "a spelling is looked for twice")
    guard spellings != [[]] else { return nil }
    return KeyRanges(spellings.flatMap { QueryValue.keyRanges(beginningWith: $0) })
  }

  /// The numbers of the rows for which the condition can be true, as ranges in no order; nil if it is not about the
  /// number alone.
  var rowIDRanges: [ClosedRange<Int64>]? {
    switch self {
    case .comparison(let comparison, let left, let right, _):
      if left.isRowID, case .integer(let number) = right.constant { return Self.numbers(comparison, number) }
      guard right.isRowID, case .integer(let number) = left.constant else { return nil }
      return Self.numbers(comparison.turned, number)
    case .oneOf(let value, let list, _):
      guard value.isRowID, list.isEmpty else { return nil }
      return []
    case .member(let value, let members, _):
      guard value.isRowID else { return nil }
      return members.values.compactMap { QueryValue.integer(ofKey: $0.bytes) }.map { $0...$0 }
    default: return nil
    }
  }

  private static func numbers(_ comparison: QueryComparison, _ number: Int64) -> [ClosedRange<Int64>]? {
    switch comparison {
    case .equal, .same: [number...number]
    case .less: number == .min ? [] : [.min...number - 1]
    case .lessOrEqual: [.min...number]
    case .greater: number == .max ? [] : [number + 1 ... .max]
    case .greaterOrEqual: [number ... .max]
    case .notEqual, .notSame: nil
    }
  }
}
