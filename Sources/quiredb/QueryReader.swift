// Queries in text: a condition, an order, a limit and an offset.

import QuireIndexes

/// Reads a query of the form
///
///     artist = 'Miles' AND (year >= 1990 OR rating IS NULL) ORDER BY year DESC LIMIT 20 OFFSET 40
///
/// whose names are those of columns that a planner knows; `KEY` is the row's key. `NOT` binds more than `AND`, and
/// `AND` more than `OR`.
struct QueryReader {
  private let planner: StoredPlanner
  private let tokens: QueryTokens
  private var next = 0
  private var depth = 0
  /// The columns that were named.
  private(set) var columns: [(name: String, column: StoredColumn)] = []

  private(set) var condition = StoredCondition.all
  private(set) var order: [(column: StoredColumn, isDescending: Bool)] = []
  private(set) var limit: Int?
  private(set) var offset = 0

  /// Brackets and negations within each other are refused beyond this.
  private static let mostDepth = 64
  /// So many names of fields are told where one is missing.
  private static let toldNames = 12
  private static let conditionWords: Set<String> = ["AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "IS", "NULL"]
  private static let clauseWords: Set<String> = ["ORDER", "LIMIT", "OFFSET"]

  init(_ text: String, _ planner: StoredPlanner) throws {
    self.planner = planner
    tokens = try QueryTokens(text)
    if !Self.clauseWords.contains(where: token.isWord), token.kind != .end { condition = try alternatives() }
    if take(word: "ORDER") {
      try expect(word: "BY")
      let place = token.place
      repeat { order.append(try orderColumn()) } while take(sign: ",")
      if order.count > 1, order.contains(where: \.column.isKey) {
        throw wrong("no two rows have the same key, so that KEY is an order by itself", at: place)
      }
    }
    if take(word: "LIMIT") { limit = try count() }
    if take(word: "OFFSET") { offset = try count() }
    guard token.kind == .end else {
      throw wrong("here AND, OR, ORDER BY, LIMIT, OFFSET or the end is expected")
    }
  }

  // MARK: Words

  private var token: QueryToken { tokens.all[next] }

  private func wrong(_ message: String, at place: Int? = nil) -> QueryTextError {
    QueryTextError(message, place ?? token.place, in: tokens.text)
  }

  /// Steps over the next token; the end stays.
  private mutating func advance() { if next < tokens.all.count - 1 { next += 1 } }

  private mutating func take(word: String) -> Bool {
    guard token.isWord(word) else { return false }
    advance()
    return true
  }

  private mutating func take(sign: String) -> Bool {
    guard token.kind == .sign(sign) else { return false }
    advance()
    return true
  }

  private mutating func expect(word: String) throws {
    guard take(word: word) else { throw wrong("here \(word) is expected") }
  }

  private mutating func expect(sign: String) throws {
    guard take(sign: sign) else { throw wrong("here \(sign) is expected") }
  }

  private mutating func count() throws -> Int {
    guard case .number(let digits) = token.kind, let count = Int(digits), count >= 0 else {
      throw wrong("here a number of rows is expected, such as 20")
    }
    advance()
    return count
  }

  // MARK: Conditions

  private mutating func alternatives() throws -> StoredCondition {
    var all = try conjunction()
    while take(word: "OR") {
      let other = try conjunction()
      all = all || other
    }
    return all
  }

  private mutating func conjunction() throws -> StoredCondition {
    var all = try negation()
    while take(word: "AND") {
      let other = try negation()
      all = all && other
    }
    return all
  }

  private mutating func negation() throws -> StoredCondition {
    depth += 1
    defer { depth -= 1 }
    guard depth <= Self.mostDepth else { throw wrong("more than \(Self.mostDepth) brackets are within each other") }
    if take(word: "NOT") { return !(try negation()) }
    guard take(sign: "(") else { return try comparison() }
    let inside = try alternatives()
    try expect(sign: ")")
    return inside
  }

  private mutating func field() throws -> StoredColumn {
    let name: String
    switch token.kind {
    case .word where token.isWord("KEY"):
      advance()
      return .key
    case .word(let word) where !Self.conditionWords.contains(word.uppercased()): name = word
    case .name(let quoted): name = quoted
    default:
      let known = planner.columnNames.prefix(Self.toldNames).map { "“\($0)”" }.joined(separator: ", ")
      throw wrong("here the name of a field is expected" + (known.isEmpty ? "" : ", such as \(known)"))
    }
    advance()
    let column = planner.column(named: name)
    columns.append((name, column))
    return column
  }

  private mutating func comparison() throws -> StoredCondition {
    let place = token.place
    let column = try field()
    let isNegated = take(word: "NOT")
    let found: StoredCondition
    if take(word: "IN") {
      found = try among(column)
    } else if take(word: "BETWEEN") {
      let lower = try compare(column, .greaterOrEqual)
      try expect(word: "AND")
      let upper = try compare(column, .lessOrEqual)
      found = lower && upper
    } else if take(word: "LIKE") {
      found = try like(column)
    } else if isNegated {
      throw wrong("behind a field NOT is followed by IN, BETWEEN or LIKE. Write NOT in front of the field")
    } else if take(word: "IS") {
      let isThere = take(word: "NOT")
      try expect(word: "NULL")
      let isNull = try telling(place) { () throws(StoredConditionError) in try column.isNull() }
      return isThere ? !isNull : isNull
    } else {
      return try compare(column, try comparisonSign())
    }
    return isNegated ? !found : found
  }

  private mutating func comparisonSign() throws -> StoredComparison {
    let signs: [(String, StoredComparison)] = [
      ("=", .equal), ("==", .equal), ("!=", .notEqual), ("<>", .notEqual), ("<", .less), ("<=", .lessOrEqual),
      (">", .greater), (">=", .greaterOrEqual),
    ]
    for (sign, comparison) in signs where take(sign: sign) { return comparison }
    throw wrong("behind a field =, !=, <, <=, >, >=, IN, BETWEEN, LIKE or IS is expected")
  }

  private mutating func compare(_ column: StoredColumn, _ comparison: StoredComparison) throws -> StoredCondition {
    let place = token.place
    let value = try value()
    return try telling(place) { () throws(StoredConditionError) in try column.compare(comparison, value) }
  }

  private mutating func among(_ column: StoredColumn) throws -> StoredCondition {
    try expect(sign: "(")
    var found: StoredCondition?
    var values: [StoredValue] = []
    repeat {
      let place = token.place
      values.append(try value())
      // Each by itself at first, for the place of one that is wrong.
      let last = values[values.count - 1]
      found = try telling(place) { () throws(StoredConditionError) in try column.isIn([last]) }
    } while take(sign: ",")
    try expect(sign: ")")
    if values.count > 1 { found = try? column.isIn(values) }
    return found ?? .all
  }

  private mutating func like(_ column: StoredColumn) throws -> StoredCondition {
    let place = token.place
    guard case .text(let pattern) = token.kind else { throw wrong("behind LIKE a text in quotes is expected: 'Mi%'") }
    advance()
    let beginning = pattern.last == "%" ? String(pattern.dropLast()) : pattern
    guard !beginning.contains(where: { "%_".contains($0) }) else {
      throw wrong("only the beginning of a text has a plan: write '…%', with one % at the end and no _", at: place)
    }
    return try telling(place) { () throws(StoredConditionError) in
      beginning == pattern ? try column.compare(.equal, .text(pattern)) : try column.hasPrefix(beginning)
    }
  }

  private mutating func value() throws -> StoredValue {
    let value: StoredValue
    switch token.kind {
    case .text(let text): value = .text(text)
    case .number(let digits): value = .number(digits)
    case .word where token.isWord("TRUE"): value = .bool(true)
    case .word where token.isWord("FALSE"): value = .bool(false)
    case .word where token.isWord("NULL"): throw wrong("nothing is compared with NULL. Write IS NULL or IS NOT NULL")
    default: throw wrong("here a value is expected: a text in 'quotes', a number, TRUE or FALSE")
    }
    advance()
    return value
  }

  private func telling(
    _ place: Int, _ body: () throws(StoredConditionError) -> StoredCondition
  ) throws -> StoredCondition {
    do throws(StoredConditionError) { return try body() } catch { throw wrong(error.description, at: place) }
  }

  // MARK: Orders

  private mutating func orderColumn() throws -> (column: StoredColumn, isDescending: Bool) {
    let place = token.place
    let column = try field()
    if column.hasElements { throw wrong("a list gives no order. Name a field with one value", at: place) }
    if take(word: "DESC") { return (column, true) }
    _ = take(word: "ASC")
    return (column, false)
  }
}
