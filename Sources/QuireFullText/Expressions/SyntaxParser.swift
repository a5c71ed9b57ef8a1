// The text of a search as an expression.

/// Reads the text of a search: operators and parentheses. What stands between these is read by
/// ``GroupReader``.
///
/// Parentheses are kept on a stack of frames, so that no text has the parser call itself.
///
/// Invariants:
/// 1. There is at least one frame, and no more than an expression may have levels.
/// 2. A frame but the first has the parenthesis that opened it.
struct SyntaxParser {
  private var reader: GroupReader
  private var frames = [SyntaxFrame()]

  /// What the next token has to be part of.
  private enum State { case operand, list, operation }

  /// - Parameter fields: the names of all fields, where they are known.
  init(_ text: String, fields: [String]?) throws(SearchSyntaxError) {
    reader = try GroupReader(text, fields: fields)
  }

  mutating func parse() throws(SearchSyntaxError) -> SearchExpression {
    var state = State.operand
    while true {
      switch state {
      case .operand: state = try readOperand()
      case .list: state = try readItem()
      case .operation:
        guard let next = try readOperation() else { return try closeLast() }
        state = next
      }
      assert(!frames.isEmpty && frames.count <= SearchExpression.depthLimit, "invariant 1")
    }
  }

  private var frame: SyntaxFrame { frames[frames.count - 1] }

  // MARK: Operands

  /// Reads the beginning of what an operator joins.
  private mutating func readOperand() throws(SearchSyntaxError) -> State {
    let token = reader.token
    switch token.kind {
    case .leftParenthesis: return try open(fields: nil, isNegated: false)
    case .star:
      reader.advance()
      try complete(.everything, height: 1, at: token)
      return .operation
    default:
      guard reader.isAtItem else { throw reader.missingOperand() }
      return try readItem()
    }
  }

  /// Reads a group, or something with a minus, of a list of such; the end of the list if there is none.
  private mutating func readItem() throws(SearchSyntaxError) -> State {
    guard reader.isAtItem else {
      let (list, height) = frames[frames.count - 1].takeList()
      try complete(list, height: height, at: reader.token)
      return .operation
    }
    if reader.isAtFields {
      let fields = try reader.fieldChoice()
      if reader.token.kind == .leftParenthesis {
        // Only where an operator could stand in front: “a b : (c)” is an error with FTS5, too.
        guard frame.isListEmpty else { throw reader.missingOperator() }
        return try open(fields: fields, isNegated: false)
      }
      let group = try reader.group()
      frames[frames.count - 1].add(limited(group.limited(to: fields)))
      return .list
    }
    if reader.token.kind == .minus {
      reader.advance()
      if reader.token.kind == .leftParenthesis { return try open(fields: nil, isNegated: true) }
      let group = try reader.group()
      frames[frames.count - 1].exclude(.near(limited(group)), height: 1)
      return .list
    }
    let group = try reader.group()
    frames[frames.count - 1].add(limited(group))
    return .list
  }

  private func limited(_ group: NearGroup) -> NearGroup { group.limited(to: frame.fields) }

  /// Hands an operand to the operator in front of it.
  private mutating func complete(
    _ operand: SearchExpression, height: Int, at token: SyntaxToken
  ) throws(SearchSyntaxError) {
    frames[frames.count - 1].take(operand, height: height)
    if frame.height > SearchExpression.depthLimit { throw reader.tooDeep(at: token) }
  }

  // MARK: Operators and parentheses

  /// Reads an operator or a parenthesis that closes; nil at the end.
  private mutating func readOperation() throws(SearchSyntaxError) -> State? {
    let token = reader.token
    switch token.kind {
    case .and: frames[frames.count - 1].and()
    case .or: frames[frames.count - 1].or()
    case .not: frames[frames.count - 1].not()
    case .rightParenthesis: return try close()
    case .end: return nil
    default: throw reader.missingOperator()
    }
    reader.advance()
    return .operand
  }

  private mutating func open(fields: FieldChoice?, isNegated: Bool) throws(SearchSyntaxError) -> State {
    assert(reader.token.kind == .leftParenthesis, "a parenthesis opens")
    guard frames.count < SearchExpression.depthLimit else { throw reader.tooDeep(at: reader.token) }
    var inner = SyntaxFrame(opening: reader.token, isNegated: isNegated)
    inner.fields = fields.map { choice in frame.fields.map { $0.intersection(choice) } ?? choice } ?? frame.fields
    frames.append(inner)
    reader.advance()
    return .operand
  }

  private mutating func close() throws(SearchSyntaxError) -> State {
    let token = reader.token
    guard frames.count > 1, var closed = frames.popLast() else { throw reader.notOpened() }
    reader.advance()
    let (expression, height) = closed.finish()
    if closed.isNegated {
      frames[frames.count - 1].exclude(expression, height: height)
      return .list
    }
    try complete(expression, height: height, at: token)
    return .operation
  }

  private mutating func closeLast() throws(SearchSyntaxError) -> SearchExpression {
    if let opening = frame.opening { throw reader.notClosed(opening) }
    let token = reader.token
    let (expression, height) = frames[0].finish()
    if height > SearchExpression.depthLimit { throw reader.tooDeep(at: token) }
    return expression
  }
}
