// Functions over the rows of a query.

internal import Quire

/// The rows of a query that a function is asked about, gathered one by one.
private struct AggregateSum {
  private var distinct: Set<[UInt8]>?
  private(set) var count = 0
  private(set) var least: QueryValue?
  private(set) var greatest: QueryValue?
  /// The sum as long as all values are whole; nil once that is too large.
  private var whole: Int64? = 0
  private var isWhole = true
  private var real = 0.0
  /// What `real` has lost by rounding, after Neumaier.
  private var lost = 0.0

  init(isDistinct: Bool) { distinct = isDistinct ? [] : nil }

  mutating func add(_ value: QueryValue) {
    guard let number = value.numeric, distinct?.insert(value.keyBytes).inserted ?? true else { return }
    count += 1
    if least.map({ value.compared(to: $0) < 0 }) ?? true { least = value }
    if greatest.map({ value.compared(to: $0) > 0 }) ?? true { greatest = value }
    if case .integer(let integer) = number {
      let sum = whole.map { $0.addingReportingOverflow(integer) }
      whole = sum.flatMap { $0.overflow ? nil : $0.partialValue }
    } else {
      isWhole = false
    }
    let (term, sum) = (number.real, real + number.real)
    lost += abs(real) >= abs(term) ? (real - sum) + term : (term - sum) + real
    real = sum
  }

  /// The sum as a real.
  var total: Double { (real + lost).isNaN ? real : real + lost }

  /// The sum, whole if all values are; nil if a whole one is too large.
  var sum: QueryValue? { isWhole ? whole.map { .integer($0) } : QueryValue(real: total) }
}

extension SecondaryIndexTrees {
  /// The value of a query's function.
  ///
  /// - Throws: `malformedQuery` also if it has none, or if a sum is too large.
  func value(of query: YapDatabaseQuery) throws -> QueryValue {
    guard let aggregate = try query.aggregate?.get() else {
      throw DatabaseError(
        .malformedQuery,
        "The query has no function over rows. Make it with `YapDatabaseQuery(aggregateFunction:string:parameters:)`.")
    }
    let bound = try query.bound(columns)
    guard let unbound = aggregate.argument else {
      return .integer(Int64(try SecondaryIndexQuery(self, bound).count()))
    }
    let text = Array((query.aggregateFunction ?? "").utf8)
    let argument = try unbound.bound(QueryScope(columns: columns, parameters: [], text: text))
    if let end = try end(aggregate.function, argument, bound) { return end }
    var sum = AggregateSum(isDistinct: aggregate.isDistinct)
    try SecondaryIndexQuery(self, bound).forEachValues { row in
      sum.add(argument.value(row))
      return true
    }
    switch aggregate.function {
    case .count: return .integer(Int64(sum.count))
    case .least: return sum.least ?? .null
    case .greatest: return sum.greatest ?? .null
    case .total: return QueryValue(real: sum.total)
    case .average: return sum.count == 0 ? .null : QueryValue(real: sum.total / Double(sum.count))
    case .sum:
      if sum.count == 0 { return .null }
      if let value = sum.sum { return value }
      throw DatabaseError(
        .malformedQuery, "The sum is larger than a whole number of 64 bits. Use `TOTAL`, which is a real number.")
    }
  }

  /// The least or the greatest value of a column, as the first one in its order; nil for other functions, and for
  /// queries that choose some of their rows.
  private func end(
    _ function: QueryAggregate.Function, _ argument: QueryExpression, _ query: BoundQuery
  ) throws -> QueryValue? {
    guard function == .least || function == .greatest, case .column(let column) = argument, query.limit == nil,
      query.offset == 0
    else { return nil }
    let isKnown = QueryExpression.comparison(.notSame, argument, .value(.null), QueryOperands())
    let term = BoundQuery.Term(column: argument, collation: .binary, isDescending: function == .greatest)
    let first = BoundQuery(
      condition: .all((query.condition?.conjuncts ?? []) + [isKnown]), order: [term], limit: 1, offset: 0)
    guard let rowID = try SecondaryIndexQuery(self, first).rowIDs().first else { return .null }
    return try rows.withValue(for: rowID) { try row(rowID, $0).values[column] } ?? .null
  }
}
