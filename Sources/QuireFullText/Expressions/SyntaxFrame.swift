// What has been read within a pair of parentheses.

/// What has been read within a pair of parentheses, or outside of all: the operands of operators that bind less than
/// what comes next. `NOT` binds more than `AND`, that more than `OR`, and what stands side by side more than all.
struct SyntaxFrame {
  /// The parenthesis; nil outside of all.
  let opening: SyntaxToken?
  /// Whether a minus stands in front of the parenthesis.
  let isNegated: Bool
  /// The fields that count here.
  var fields: FieldChoice?

  /// The operands of `OR` so far.
  private var alternatives = Operands()
  /// The operands of `AND` so far, behind the last `OR`.
  private var factors = Operands()
  /// The last operand, with what `NOT` has taken from it.
  private var current: SearchExpression?
  /// The levels of `current`.
  private var currentHeight = 0
  /// Whether the next operand is taken from `current`.
  private var isExcluding = false
  /// The groups that stand side by side.
  private var groups: [NearGroup] = []
  /// What stands there with a minus.
  private var excluded = Operands()

  init(opening: SyntaxToken? = nil, isNegated: Bool = false) {
    (self.opening, self.isNegated) = (opening, isNegated)
  }

  /// Some operands and the levels of the highest one.
  private struct Operands {
    var expressions: [SearchExpression] = []
    var height = 0

    mutating func append(_ expression: SearchExpression, height: Int) {
      expressions.append(expression)
      self.height = max(self.height, height)
    }
  }

  /// An upper bound of the levels that the frame’s expression has so far, operators that are still open included.
  var height: Int { max(alternatives.height, factors.height, currentHeight) }

  // MARK: What stands side by side

  var isListEmpty: Bool { groups.isEmpty && excluded.expressions.isEmpty }

  mutating func add(_ group: NearGroup) { groups.append(group) }

  mutating func exclude(_ expression: SearchExpression, height: Int) { excluded.append(expression, height: height) }

  /// The list as an expression: its groups without what has a minus.
  mutating func takeList() -> (SearchExpression, height: Int) {
    assert(!isListEmpty, "a list has an item")
    var list: SearchExpression = groups.isEmpty ? .everything : .joined(groups)
    var height = 1
    if let last = excluded.expressions.last {
      let several = excluded.expressions.count > 1
      list = .excluding(list, several ? .any(excluded.expressions) : last)
      height = excluded.height + (several ? 2 : 1)
    }
    groups = []
    excluded = Operands()
    return (list, height)
  }

  // MARK: Operators

  /// Takes what an operator joins.
  mutating func take(_ operand: SearchExpression, height: Int) {
    if isExcluding, let kept = current {
      current = .excluding(kept, operand)
      currentHeight = max(currentHeight, height) + 1
      isExcluding = false
    } else {
      assert(current == nil, "an operator stands between two operands")
      (current, currentHeight) = (operand, height)
    }
  }

  mutating func not() {
    assert(current != nil && !isExcluding, "NOT stands behind an operand")
    isExcluding = true
  }

  mutating func and() {
    guard let operand = current else { return }
    factors.append(operand, height: currentHeight)
    (current, currentHeight) = (nil, 0)
  }

  mutating func or() {
    and()
    let (product, height) = Self.join(factors, SearchExpression.all)
    factors = Operands()
    alternatives.append(product, height: height)
  }

  /// The whole expression, with its levels.
  mutating func finish() -> (SearchExpression, height: Int) {
    or()
    return Self.join(alternatives, SearchExpression.any)
  }

  private static func join(
    _ operands: Operands, _ joined: ([SearchExpression]) -> SearchExpression
  ) -> (SearchExpression, height: Int) {
    assert(!operands.expressions.isEmpty, "an operator has operands")
    return operands.expressions.count == 1
      ? (operands.expressions[0], operands.height) : (joined(operands.expressions), operands.height + 1)
  }
}
