// The text of a query, taken apart: a condition, an order, and how many rows are wanted.

internal import Quire

/// What follows `FROM` in SQLite's language, as far as it is known here.
struct QueryText: Sendable {
  /// A place in the order.
  struct Term: Sendable {
    let column: QueryExpression
    var isDescending = false
  }

  /// Nil for every row.
  var condition: QueryExpression?
  var order: [Term] = []
  var limit: QueryExpression?
  var offset: QueryExpression?
  /// How many `?` there are.
  var parameterCount = 0
}

/// A function over all rows that a query finds.
struct QueryAggregate: Sendable {
  enum Function: String, CaseIterable, Sendable {
    case count = "COUNT"
    case sum = "SUM"
    case average = "AVG"
    case least = "MIN"
    case greatest = "MAX"
    case total = "TOTAL"
  }

  let function: Function
  /// Nil for `*`.
  let argument: QueryExpression?
  var isDistinct = false
}

/// Reads the text of a query by recursive descent.
///
/// Invariant: brackets and signs in front of values nest `depthLimit` deep at the most, so that neither reading an
/// expression nor asking it comes near the end of a thread's stack.
struct QueryParser {
  private static let depthLimit = 100
  /// Words that are no names unless they are quoted.
  private static let reserved: Set<String> = [
    "AND", "OR", "NOT", "IN", "IS", "ISNULL", "NOTNULL", "BETWEEN", "WHERE", "ORDER", "LIMIT", "GROUP", "HAVING",
    "SELECT", "FROM", "CASE", "EXISTS", "ESCAPE", "UNION",
  ]

  private let text: [UInt8]
  private let tokens: [QueryToken]
  private var index = 0
  private var depth = 0
  private var parameterCount = 0

  private init(_ text: [UInt8]) throws(DatabaseError) {
    self.text = text
    tokens = try QueryTokenizer.tokens(of: text)
  }

  /// Reads what follows `FROM`; a text of nothing finds every row.
  ///
  /// - Throws: `malformedQuery`.
  static func query(_ text: [UInt8]) throws(DatabaseError) -> QueryText {
    var parser = try QueryParser(text)
    return try parser.query()
  }

  /// Reads a function, like `SUM(salary)`.
  ///
  /// - Throws: `malformedQuery`.
  static func aggregate(_ text: [UInt8]) throws(DatabaseError) -> QueryAggregate {
    var parser = try QueryParser(text)
    return try parser.aggregate()
  }

  // MARK: Tokens

  private var token: QueryToken { tokens[index] }
  /// The one behind that; the end again at the end.
  private var following: QueryToken { tokens[min(index + 1, tokens.count - 1)] }

  private mutating func take(_ word: String) -> Bool {
    guard token.isWord(word) else { return false }
    index += 1
    assert(index < tokens.count, "a query is read beyond its end")
    return true
  }

  private mutating func takeSign(_ sign: String) -> Bool {
    guard token.isSign(sign) else { return false }
    index += 1
    return true
  }

  private func malformed(_ message: String) -> DatabaseError {
    .malformed(message, at: token.kind == .end ? text.count : token.place, of: text)
  }

  private mutating func expectSign(_ sign: String) throws(DatabaseError) {
    guard takeSign(sign) else { throw malformed("“\(sign)” is missing here.") }
  }

  private mutating func nested(
    _ body: (inout QueryParser) throws(DatabaseError) -> QueryExpression
  ) throws(DatabaseError) -> QueryExpression {
    guard depth < Self.depthLimit else {
      throw malformed("This lies more than \(Self.depthLimit) brackets deep. Write the condition with fewer of them.")
    }
    depth += 1
    let inside = depth
    defer {
      assert(depth == inside, "an inner expression is deeper at its end than at its beginning")
      depth -= 1
    }
    return try body(&self)
  }

  // MARK: Clauses

  private mutating func query() throws(DatabaseError) -> QueryText {
    var query = QueryText()
    if take("WHERE") { query.condition = try disjunction() }
    if take("ORDER") {
      guard take("BY") else { throw malformed("`BY` is missing behind `ORDER`.") }
      repeat { query.order.append(try term()) } while takeSign(",")
    }
    if take("LIMIT") {
      query.limit = try operand()
      if take("OFFSET") {
        query.offset = try operand()
      } else if takeSign(",") {
        (query.offset, query.limit) = (query.limit, try operand())
      }
    }
    _ = takeSign(";")
    guard case .end = token.kind else { throw malformed(misplaced) }
    assert(depth == 0, "a bracket is open at the end of a query")
    query.parameterCount = parameterCount
    return query
  }

  /// What is said of a word that nothing leads to.
  private var misplaced: String {
    switch token.kind {
    case .word(let word) where ["GROUP", "HAVING", "UNION", "JOIN", "SELECT", "FROM"].contains(word.uppercased()):
      "`\(word.uppercased())` is not known here. A query is `WHERE … ORDER BY … LIMIT … OFFSET …`, each part optional."
    case .sign("+"), .sign("-"), .sign("*"), .sign("/"), .sign("%"), .sign("||"), .sign("("):
      "Values are not computed in queries. Have the handler's block store what is compared in a column of its own."
    default:
      "This does not belong here. A query is `WHERE … ORDER BY … LIMIT … OFFSET …`, each part optional, in this order."
    }
  }

  private mutating func term() throws(DatabaseError) -> QueryText.Term {
    let column = try operand()
    switch column {
    case .name, .collated(.name, _): break
    default: throw malformed("Rows are ordered by columns. Name one behind `ORDER BY`.")
    }
    if take("DESC") { return QueryText.Term(column: column, isDescending: true) }
    _ = take("ASC")
    return QueryText.Term(column: column)
  }

  private mutating func aggregate() throws(DatabaseError) -> QueryAggregate {
    let names = QueryAggregate.Function.allCases.map(\.rawValue).joined(separator: ", ")
    guard case .word(let word) = token.kind, let function = QueryAggregate.Function(rawValue: word.uppercased()) else {
      throw malformed("This is no function over rows. There are \(names), as in `SUM(salary)`.")
    }
    index += 1
    try expectSign("(")
    var aggregate = QueryAggregate(function: function, argument: nil)
    // `COUNT(*)` and `COUNT()` are about rows, everything else about values.
    if function != .count || !(takeSign("*") || token.isSign(")")) {
      let isDistinct = take("DISTINCT")
      aggregate = QueryAggregate(function: function, argument: try disjunction(), isDistinct: isDistinct)
    }
    try expectSign(")")
    guard parameterCount == 0 else {
      throw malformed("A function takes no parameters. Name the column in it.")
    }
    guard case .end = token.kind else { throw malformed("Nothing may follow the function.") }
    return aggregate
  }

  // MARK: Expressions, from the loosest to the tightest

  private mutating func disjunction() throws(DatabaseError) -> QueryExpression {
    var parts = [try conjunction()]
    while take("OR") { parts.append(try conjunction()) }
    return parts.count == 1 ? parts[0] : .any(parts)
  }

  private mutating func conjunction() throws(DatabaseError) -> QueryExpression {
    var parts = [try negation()]
    while take("AND") { parts.append(try negation()) }
    return parts.count == 1 ? parts[0] : .all(parts)
  }

  private mutating func negation() throws(DatabaseError) -> QueryExpression {
    guard take("NOT") else { return try equality() }
    return .not(try nested { parser throws(DatabaseError) in try parser.negation() })
  }

  private static let equalities: [String: QueryComparison] = [
    "=": .equal, "==": .equal, "!=": .notEqual, "<>": .notEqual,
  ]

  private static let inequalities: [String: QueryComparison] = [
    "<": .less, "<=": .lessOrEqual, ">": .greater, ">=": .greaterOrEqual,
  ]

  /// Comparisons that stand side by side, from left to right. Each makes the expression one level deeper.
  private mutating func equality() throws(DatabaseError) -> QueryExpression {
    var left = try relation()
    let outside = depth
    defer { depth = outside }
    while let next = try equality(left) {
      left = next
      try deepen()
    }
    return left
  }

  private mutating func deepen() throws(DatabaseError) {
    guard depth < Self.depthLimit else {
      throw malformed("Too many comparisons stand side by side. Join them by `AND` or `OR`.")
    }
    depth += 1
  }

  /// One comparison of what stands at the left; nil if none follows.
  private mutating func equality(_ left: QueryExpression) throws(DatabaseError) -> QueryExpression? {
    if case .sign(let sign) = token.kind, let comparison = Self.equalities[sign] {
      index += 1
      return .comparison(comparison, left, try relation(), QueryOperands())
    }
    if take("ISNULL") { return .comparison(.same, left, .value(.null), QueryOperands()) }
    if take("NOTNULL") { return .comparison(.notSame, left, .value(.null), QueryOperands()) }
    if take("IS") {
      let comparison: QueryComparison = take("NOT") ? .notSame : .same
      // Not the values 1 and 0, but whether the left side counts as true or false.
      for (word, number) in [("TRUE", 1), ("FALSE", 0)] as [(String, Int64)] where take(word) {
        return .comparison(comparison, .not(.not(left)), .value(.integer(number)), QueryOperands())
      }
      return .comparison(comparison, left, try relation(), QueryOperands())
    }
    let isNegated = token.isWord("NOT")
    switch (isNegated ? following : token).kind {
    case .word(let word):
      guard let test = Self.tests[word.uppercased()] else { return nil }
      index += isNegated ? 2 : 1
      let found = try test(&self, left)
      return isNegated ? .not(found) : found
    default: return nil
    }
  }

  private typealias Test = @Sendable (inout QueryParser, QueryExpression) throws(DatabaseError) -> QueryExpression

  /// What may stand behind `NOT` as well.
  private static let tests: [String: Test] = [
    "IN": { parser, left throws(DatabaseError) in try parser.list(left) },
    "LIKE": { parser, left throws(DatabaseError) in try parser.like(left) },
    "BETWEEN": { parser, left throws(DatabaseError) in try parser.between(left) },
    // `a NOT NULL` is all that is left.
    "NULL": { _, left in .comparison(.same, left, .value(.null), QueryOperands()) },
  ]

  private mutating func list(_ left: QueryExpression) throws(DatabaseError) -> QueryExpression {
    guard takeSign("(") else {
      throw malformed("Brackets are missing behind `IN`. Write `IN (?)`; a list as parameter fills them.")
    }
    var list: [QueryExpression] = []
    if !token.isSign(")") {
      repeat {
        list.append(try nested { parser throws(DatabaseError) in try parser.disjunction() })
      } while takeSign(",")
    }
    try expectSign(")")
    return .oneOf(left, list, QueryOperands())
  }

  private mutating func like(_ left: QueryExpression) throws(DatabaseError) -> QueryExpression {
    let pattern = try relation()
    return .like(left, pattern, escape: take("ESCAPE") ? try relation() : nil)
  }

  private mutating func between(_ left: QueryExpression) throws(DatabaseError) -> QueryExpression {
    let lower = try relation()
    guard take("AND") else { throw malformed("`AND` is missing: `BETWEEN` takes two bounds, as in `BETWEEN 1 AND 9`.") }
    let upper = try relation()
    return .all([
      .comparison(.greaterOrEqual, left, lower, QueryOperands()),
      .comparison(.lessOrEqual, left, upper, QueryOperands()),
    ])
  }

  private mutating func relation() throws(DatabaseError) -> QueryExpression {
    var left = try operand()
    let outside = depth
    defer { depth = outside }
    while case .sign(let sign) = token.kind, let comparison = Self.inequalities[sign] {
      index += 1
      left = .comparison(comparison, left, try operand(), QueryOperands())
      try deepen()
    }
    return left
  }

  private static let collations: [String: QueryCollation] = [
    "BINARY": .binary, "NOCASE": .noCase, "RTRIM": .trimmed,
  ]

  private mutating func operand() throws(DatabaseError) -> QueryExpression {
    var operand = try primary()
    while take("COLLATE") {
      guard case .word(let word) = token.kind, let collation = Self.collations[word.uppercased()] else {
        throw malformed("This is no way of comparing texts. There are BINARY, NOCASE and RTRIM.")
      }
      index += 1
      // The last one counts.
      if case .collated(let inner, _) = operand { operand = inner }
      operand = .collated(operand, collation)
    }
    return operand
  }

  private mutating func primary() throws(DatabaseError) -> QueryExpression {
    if takeSign("(") {
      let inner = try nested { parser throws(DatabaseError) in try parser.disjunction() }
      try expectSign(")")
      return inner
    }
    if token.isSign("-"), following.isBeyondLeastInteger(in: text) {
      index += 2
      return .value(.integer(.min))
    }
    if takeSign("-") { return .negative(try nested { parser throws(DatabaseError) in try parser.primary() }) }
    if takeSign("+") { return try nested { parser throws(DatabaseError) in try parser.primary() } }
    let found = token
    switch found.kind {
    case .value(let value):
      index += 1
      return .value(value)
    case .parameter:
      index += 1
      parameterCount += 1
      return .parameter(parameterCount - 1)
    case .quoted(let name, let mayBeText):
      index += 1
      return .name(QueryName(text: name, mayBeText: mayBeText, place: found.place))
    case .word(let word):
      if following.isSign("(") {
        throw malformed(
          "Functions are not known here. Have the handler's block store what is to be compared in a column of its own.")
      }
      guard !Self.reserved.contains(word.uppercased()) else {
        throw malformed("A column or a value is missing here. Put a name like this one into \"…\".")
      }
      index += 1
      return word.uppercased() == "NULL" ? .value(.null) : .name(QueryName(text: word, place: found.place))
    case .sign, .end:
      throw malformed("A column, a value or `?` is missing here.")
    }
  }
}
