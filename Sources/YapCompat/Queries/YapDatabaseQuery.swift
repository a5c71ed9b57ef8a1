// Queries under their original name.

internal import Quire

/// A question to a secondary index, in the words of SQLite: `WHERE … ORDER BY … LIMIT … OFFSET …`, each part optional.
/// New type: `FoundRows`.
///
/// Known are `=`, `==`, `!=`, `<>`, `<`, `<=`, `>`, `>=`, `IS`, `IN (…)`, `BETWEEN`, `LIKE`, `IS NULL`, `AND`, `OR`,
/// `NOT`, brackets, `COLLATE`, the columns of the index and `rowid`, literals, and `?` for parameters. Values are
/// compared as SQLite does, with the affinities of the columns.
public final class YapDatabaseQuery: @unchecked Sendable {
  // Sendable: safe because all is constant, and parameters are values that nobody changes.
  /// The text, in which a list among the parameters has a `?` for each of its values. New call: none.
  public let queryString: String
  /// The parameters, the values of lists one by one. New call: none.
  public let queryParameters: [Any]
  /// The function over the rows, like `SUM(salary)`; nil if the query finds rows. New call: none.
  public let aggregateFunction: String?

  /// What the text says, or what is wrong with it.
  let parsed: Result<QueryText, DatabaseError>
  let aggregate: Result<QueryAggregate, DatabaseError>?
  let values: Result<[QueryValue], DatabaseError>

  /// A query that finds rows. New call: `tx[…].find(_:)`.
  ///
  /// - Parameters:
  ///   - string: what follows the name of the table in SQLite's language. Nothing finds every row.
  ///   - parameters: a number, string, `Data`, `Date` or `NSNull` for each `?`, or a list of such, which takes the
  ///     place of the one `?` in `IN (?)`; nothing is in an empty one.
  public convenience init(string: String, parameters: [Any]? = nil) {
    self.init(nil, string, parameters ?? [])
  }

  /// A query for a function over rows: COUNT, SUM, AVG, MIN, MAX or TOTAL. New call: `FoundRows.sum(_:)` and the like.
  ///
  /// - Parameters:
  ///   - aggregateFunction: the function with a column, like `SUM(salary)` or `COUNT(*)`.
  ///   - string: as for other queries.
  ///   - parameters: as for other queries.
  public convenience init(aggregateFunction: String, string: String? = nil, parameters: [Any]? = nil) {
    self.init(aggregateFunction, string ?? "", parameters ?? [])
  }

  /// A query that finds every row. New call: `tx[…].find(_:)`.
  public static func matchingAll() -> YapDatabaseQuery { YapDatabaseQuery(string: "") }

  /// Whether it is for a function over rows. New call: none.
  public var isAggregateQuery: Bool { aggregateFunction != nil }

  private init(_ aggregateFunction: String?, _ string: String, _ parameters: [Any]) {
    self.aggregateFunction = aggregateFunction
    aggregate = aggregateFunction.map { text in Self.result { try QueryParser.aggregate(Array(text.utf8)) } }
    (queryString, queryParameters) = Self.expanded(string, parameters)
    let text = Array(queryString.utf8)
    parsed = Self.result { try QueryParser.query(text) }
    values = Self.values(queryParameters, text)
  }

  private static func result<Value>(_ body: () throws -> Value) -> Result<Value, DatabaseError> {
    do { return .success(try body()) } catch let error as DatabaseError { return .failure(error) } catch {
      return .failure(DatabaseError(.malformedQuery, "\(error)"))
    }
  }

  private static func values(_ parameters: [Any], _ text: [UInt8]) -> Result<[QueryValue], DatabaseError> {
    result {
      try parameters.enumerated().map { number, parameter in
        guard let value = QueryValue(parameter) else {
          throw DatabaseError(
            .malformedQuery,
            """
            Parameter \(number + 1) of the query is of type \(type(of: parameter)). Hand over a number, a string, \
            data, a date, or `NSNull`.
            """)
        }
        return value
      }
    }
  }

  /// The text and the parameters with the values of lists in the place of these. An empty list is one null, which is in
  /// no list.
  private static func expanded(_ string: String, _ parameters: [Any]) -> (String, [Any]) {
    guard parameters.contains(where: { $0 is [Any] }) else { return (string, parameters) }
    let text = Array(string.utf8)
    guard let tokens = try? QueryTokenizer.tokens(of: text) else { return (string, parameters) }
    let places = tokens.filter { $0.kind == .parameter }.map(\.place)
    guard places.count == parameters.count else { return (string, parameters) }
    var (expanded, values): ([UInt8], [Any]) = ([], [])
    var end = 0
    for (place, parameter) in zip(places, parameters) {
      expanded += text[end...place]
      end = place + 1
      guard let list = parameter as? [Any] else {
        values.append(parameter)
        continue
      }
      for _ in list.dropFirst() { expanded += [UInt8(ascii: ","), UInt8(ascii: "?")] }
      values += list.isEmpty ? [QueryValue.null.object] : list
    }
    return (String(decoding: expanded + text[end...], as: UTF8.self), values)
  }

  /// The parts of the query for the columns of an index: what is asked of rows, in which order, and how many of them.
  ///
  /// - Throws: `malformedQuery`.
  func bound(_ columns: [QueryColumn]) throws(DatabaseError) -> BoundQuery {
    let (text, values) = (try parsed.get(), try values.get())
    let scope = QueryScope(columns: columns, parameters: values, text: Array(queryString.utf8))
    guard text.parameterCount == values.count else {
      throw DatabaseError(
        .malformedQuery,
        """
        There are \(values.count) parameters for \(text.parameterCount) `?` in the query. Hand over one for each, or a \
        list for the one in `IN (?)`. [\(queryString.prefix(200))]
        """)
    }
    var order: [BoundQuery.Term] = []
    for term in text.order {
      var (column, collation) = (try term.column.bound(scope), QueryCollation.binary)
      if case .collated(let inner, let other) = column { (column, collation) = (inner, other) }
      // A text between double quotes, as which every row is the same.
      if column.constant != nil { continue }
      order.append(BoundQuery.Term(column: column, collation: collation, isDescending: term.isDescending))
    }
    return BoundQuery(
      condition: try text.condition?.bound(scope), order: order,
      limit: try Self.count(text.limit, "LIMIT", scope), offset: try Self.count(text.offset, "OFFSET", scope) ?? 0)
  }

  /// The value of `LIMIT` or `OFFSET`; nil for none, or for a negative one, which means the same.
  private static func count(
    _ expression: QueryExpression?, _ clause: String, _ scope: QueryScope
  ) throws(DatabaseError) -> Int? {
    guard let expression else { return nil }
    let value = try expression.bound(scope).constant.map { QueryAffinity.integer.stored($0) }
    guard case .integer(let count) = value else {
      throw DatabaseError(
        .malformedQuery, "`\(clause)` takes a whole number. [\(String(decoding: scope.text, as: UTF8.self))]")
    }
    return count < 0 ? nil : Int(count)
  }
}

/// A query for the columns of one index.
struct BoundQuery {
  /// A place in the order.
  struct Term {
    /// A column, or the row's number.
    let column: QueryExpression
    let collation: QueryCollation
    let isDescending: Bool
  }

  /// Nil for every row.
  let condition: QueryExpression?
  let order: [Term]
  /// Nil for all.
  var limit: Int?
  var offset: Int
}
