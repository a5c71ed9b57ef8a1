// The conditions of queries, as they are written and as they are asked about rows.

internal import Quire

/// A name in a query's text.
struct QueryName: Hashable, Sendable {
  let text: String
  /// Whether it is a text if no column is called so: names between double quotes.
  var mayBeText = false
  let place: Int
}

/// How two values are compared.
enum QueryComparison: Sendable {
  case equal
  case notEqual
  case less
  case lessOrEqual
  case greater
  case greaterOrEqual
  /// As `equal` and `notEqual`, but null is the same as null.
  case same
  case notSame

  /// The comparison that is true where this one is false.
  var negated: QueryComparison {
    switch self {
    case .equal: .notEqual
    case .notEqual: .equal
    case .less: .greaterOrEqual
    case .lessOrEqual: .greater
    case .greater: .lessOrEqual
    case .greaterOrEqual: .less
    case .same: .notSame
    case .notSame: .same
    }
  }

  /// The comparison with its sides exchanged.
  var turned: QueryComparison {
    switch self {
    case .less: .greater
    case .lessOrEqual: .greaterOrEqual
    case .greater: .less
    case .greaterOrEqual: .lessOrEqual
    default: self
    }
  }

  /// Whether it is true of two values that are in this order: less than 0, 0, or more.
  func holds(_ order: Int) -> Bool {
    switch self {
    case .equal, .same: order == 0
    case .notEqual, .notSame: order != 0
    case .less: order < 0
    case .lessOrEqual: order <= 0
    case .greater: order > 0
    case .greaterOrEqual: order >= 0
    }
  }
}

/// What both sides of a comparison are taken as.
struct QueryOperands: Sendable {
  var affinity = QueryAffinity.blob
  var collation = QueryCollation.binary
}

/// The constants of `IN (…)`, as the left side's affinity takes them.
struct QueryMembers: Sendable {
  var values: Set<QueryKey> = []
  var hasNull = false
  /// Whether nothing stands between the brackets.
  var isEmpty = true
}

/// A value by the bytes of its key: numbers that are equal are the same, whole or not.
struct QueryKey: Hashable, Sendable {
  let bytes: [UInt8]
}

/// A part of a condition.
///
/// The parser makes names and parameters; `bound` puts columns and values in their place, which alone can be asked.
indirect enum QueryExpression: Sendable {
  case value(QueryValue)
  case parameter(Int)
  case name(QueryName)
  case column(Int)
  case rowID
  case collated(QueryExpression, QueryCollation)
  case negative(QueryExpression)
  case comparison(QueryComparison, QueryExpression, QueryExpression, QueryOperands)
  /// Whether the first value is one of the list.
  case oneOf(QueryExpression, [QueryExpression], QueryOperands)
  case member(QueryExpression, QueryMembers, QueryAffinity)
  case like(QueryExpression, QueryExpression, escape: QueryExpression?)
  /// `like` with a pattern that is the same for every row.
  case matching(QueryExpression, LikePattern)
  case not(QueryExpression)
  case all([QueryExpression])
  case any([QueryExpression])

  /// The value, if it is the same for every row.
  var constant: QueryValue? {
    if case .value(let value) = self { return value }
    return nil
  }
}

// MARK: Binding

/// A column that conditions may name.
struct QueryColumn: Hashable, Sendable {
  let name: String
  let affinity: QueryAffinity
}

/// What the names and the parameters of a query stand for.
struct QueryScope {
  let columns: [QueryColumn]
  let parameters: [QueryValue]
  /// The query, for errors.
  let text: [UInt8]

  static let rowIDNames: Set<String> = ["rowid", "oid", "_rowid_"]

  /// What a name stands for.
  ///
  /// - Throws: `malformedQuery` if there is no such column.
  func expression(_ name: QueryName) throws(DatabaseError) -> QueryExpression {
    let folded = name.text.lowercased()
    if let column = columns.firstIndex(where: { $0.name.lowercased() == folded }) { return .column(column) }
    if Self.rowIDNames.contains(folded) { return .rowID }
    if name.mayBeText { return .value(.text(Array(name.text.utf8))) }
    if folded == "true" || folded == "false" { return .value(.integer(folded == "true" ? 1 : 0)) }
    let names = columns.map { "“\($0.name)”" }.joined(separator: ", ")
    throw .malformed(
      """
      There is no column “\(name.text)”. The columns are \(names). Put texts into '…', or hand them over as parameters.
      """,
      at: name.place, of: text)
  }

  /// The value of a parameter.
  func parameter(_ number: Int) -> QueryValue { number < parameters.count ? parameters[number] : .null }

  /// What an expression makes of the values that it is compared with; nil for what is no column.
  fileprivate func affinity(_ expression: QueryExpression) -> QueryAffinity? {
    switch expression {
    case .column(let column): columns[column].affinity
    case .rowID: .integer
    case .collated(let inner, _): affinity(inner)
    default: nil
    }
  }

  fileprivate func collation(_ expression: QueryExpression) -> QueryCollation? {
    if case .collated(_, let collation) = expression { return collation }
    return nil
  }
}

extension QueryExpression {
  /// The same with columns and values in the place of names and parameters, and what depends on no row worked out.
  ///
  /// - Throws: `malformedQuery`.
  func bound(_ scope: QueryScope) throws(DatabaseError) -> QueryExpression {
    switch self {
    case .value, .column, .rowID, .member, .matching: return self
    case .parameter(let number): return .value(scope.parameter(number))
    case .name(let name): return try scope.expression(name)
    case .collated(let inner, let collation):
      let inner = try inner.bound(scope)
      return inner.constant == nil ? .collated(inner, collation) : inner
    case .negative(let inner): return QueryExpression.negative(try inner.bound(scope)).folded([inner])
    case .comparison(let comparison, let left, let right, _):
      let (one, two) = (try left.bound(scope), try right.bound(scope))
      let operands = QueryOperands(
        affinity: .common(scope.affinity(one), scope.affinity(two)),
        collation: scope.collation(left) ?? scope.collation(right) ?? .binary)
      return QueryExpression.comparison(comparison, one.taken(as: operands), two.taken(as: operands), operands)
        .folded([one, two])
    case .oneOf(let value, let list, _): return try Self.oneOf(value, list, scope)
    case .like(let value, let pattern, let escape):
      return Self.like(try value.bound(scope), try pattern.bound(scope), try escape?.bound(scope))
    case .not(let inner):
      let inner = try inner.bound(scope)
      return QueryExpression.not(inner).folded([inner])
    case .all(let parts):
      let parts = try Self.bound(parts, scope)
      return QueryExpression.all(parts).folded(parts)
    case .any(let parts):
      let parts = try Self.bound(parts, scope)
      return QueryExpression.any(parts).folded(parts)
    }
  }

  private static func bound(
    _ parts: [QueryExpression], _ scope: QueryScope
  ) throws(DatabaseError) -> [QueryExpression] {
    var bound: [QueryExpression] = []
    for part in parts { bound.append(try part.bound(scope)) }
    return bound
  }

  private static func oneOf(
    _ value: QueryExpression, _ list: [QueryExpression], _ scope: QueryScope
  ) throws(DatabaseError) -> QueryExpression {
    let one = try value.bound(scope)
    let affinity = scope.affinity(one) ?? .blob
    let operands = QueryOperands(affinity: affinity, collation: scope.collation(value) ?? .binary)
    let members = try bound(list, scope).map { $0.taken(as: operands) }
    let constants = members.compactMap(\.constant)
    guard constants.count == members.count, case .binary = operands.collation else {
      return .oneOf(one, members, operands)
    }
    let values = Set(constants.filter { $0 != .null }.map { QueryKey(bytes: $0.keyBytes) })
    let set = QueryMembers(values: values, hasNull: constants.contains(.null), isEmpty: constants.isEmpty)
    return QueryExpression.member(one, set, affinity).folded([one])
  }

  private static func like(
    _ value: QueryExpression, _ pattern: QueryExpression, _ escape: QueryExpression?
  ) -> QueryExpression {
    guard let constant = pattern.constant, escape.map({ $0.constant != nil }) ?? true else {
      return .like(value, pattern, escape: escape)
    }
    guard let text = constant.textBytes, escape?.constant != .null else { return .value(.null) }
    return QueryExpression.matching(value, LikePattern(text, escape: escape?.constant?.textBytes)).folded([value])
  }

  /// A constant as it is compared.
  private func taken(as operands: QueryOperands) -> QueryExpression {
    constant.map { .value(operands.affinity.compared($0)) } ?? self
  }

  /// The value of the expression if all of its parts have one.
  private func folded(_ parts: [QueryExpression]) -> QueryExpression {
    parts.allSatisfy { $0.constant != nil } ? .value(value(QueryRow.none)) : self
  }
}
