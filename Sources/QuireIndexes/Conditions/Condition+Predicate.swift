// Foundation's predicates as conditions.

public import Foundation
internal import QuireDatabase

extension Condition {
  /// The condition that a predicate states.
  ///
  /// Comparisons of fields with values, fields that are true or false, `&&`, `||`, `!`, `contains` of a list of values,
  /// of a range, or of a field that is a list or set, and `starts(with:)` of a text are taken over, and served by
  /// indexes. What else a predicate can say has no plan.
  ///
  /// ```swift
  /// let condition = try Condition<Song, NoMetadata>(#Predicate { $0.year == 1990 && $0.tags.contains("jazz") })
  /// ```
  ///
  /// - Throws: `IndexError.unplannable` with what there is no plan for, and what to write instead.
  public init(_ predicate: Predicate<Object>) throws {
    self.init(try PredicateReader<Object, Metadata>().node(predicate.expression))
  }
}

/// What stands on a side of a comparison.
private enum PredicateOperand {
  /// A field of the row.
  case field(AnyKeyPath)
  case constant(Any)
}

/// An expression that is a field or a value.
private protocol OperandExpression { func operand() throws -> PredicateOperand }

/// An expression that is true or false.
private protocol ConditionExpression {
  func node<Object, Metadata>(_ reader: PredicateReader<Object, Metadata>) throws -> ConditionNode
}

/// A list or set whose elements are compared.
private protocol ComparableElements {
  /// The rows of which this field, a list, has `value` among its elements.
  static func contains<Object, Metadata>(
    _ value: Any, _ path: AnyKeyPath, _ reader: PredicateReader<Object, Metadata>
  ) throws -> ConditionNode
}

extension Array: ComparableElements where Element: SortKey {
  fileprivate static func contains<Object, Metadata>(
    _ value: Any, _ path: AnyKeyPath, _ reader: PredicateReader<Object, Metadata>
  ) throws -> ConditionNode {
    try reader.term(path, Self.self).contains(reader.value(value, Element.self)).node
  }
}

extension Set: ComparableElements where Element: SortKey {
  fileprivate static func contains<Object, Metadata>(
    _ value: Any, _ path: AnyKeyPath, _ reader: PredicateReader<Object, Metadata>
  ) throws -> ConditionNode {
    try reader.term(path, Self.self).contains(reader.value(value, Element.self)).node
  }
}

/// A range with two bounds, as a value.
private protocol BoundedRange {
  var lower: Any { get }
  var upper: Any { get }
  /// Whether the upper bound is in it.
  var hasUpper: Bool { get }
}

extension ClosedRange: BoundedRange {
  fileprivate var lower: Any { lowerBound }
  fileprivate var upper: Any { upperBound }
  fileprivate var hasUpper: Bool { true }
}

extension Range: BoundedRange {
  fileprivate var lower: Any { lowerBound }
  fileprivate var upper: Any { upperBound }
  fileprivate var hasUpper: Bool { false }
}

/// A range whose bounds are expressions.
private protocol RangeOperand {
  var lowerOperand: any PredicateExpression { get }
  var upperOperand: any PredicateExpression { get }
  /// Whether the upper bound is in it.
  var hasUpper: Bool { get }
}

/// Makes conditions of expressions.
private struct PredicateReader<Object: Sendable, Metadata: Sendable> {
  func node(_ expression: any PredicateExpression) throws -> ConditionNode {
    if let expression = expression as? any ConditionExpression { return try expression.node(self) }
    // A field that is true or false says it by itself.
    guard let field = expression as? any OperandExpression, case .field(let path) = try field.operand(),
      let path = path as? KeyPath<Object, Bool>
    else { throw unplannable(expression) }
    return (try term(path, Bool.self) == true).node
  }

  func operand(_ expression: any PredicateExpression) throws -> PredicateOperand {
    guard let expression = expression as? any OperandExpression else { throw unplannable(expression) }
    return try expression.operand()
  }

  func unplannable(_ what: Any) -> IndexError {
    let name = String(describing: type(of: what)).prefix { $0 != "<" }
    return .unplannable("\(name) has no plan")
  }

  /// A term over a field whose type is opened by the caller.
  func term<Value>(_ path: AnyKeyPath, _: Value.Type) throws -> Term<Object, Metadata, Object, Value> {
    guard let path = path as? KeyPath<Object, Value> else {
      throw IndexError.unplannable("\(path) is no field of \(Object.self)")
    }
    return Term(FieldPath(known: path))
  }

  /// A value as one of a type.
  func value<Value>(_ value: Any, _: Value.Type) throws -> Value {
    guard let value = value as? Value else { throw IndexError.unplannable("\(value) is no \(Value.self)") }
    return value
  }

  /// Compares two operands, of which one is a field and one a value.
  func compare(
    _ left: any PredicateExpression, _ right: any PredicateExpression, _ comparison: PredicateComparison
  ) throws -> ConditionNode {
    switch (try operand(left), try operand(right)) {
    case (.field(let path), .constant(let value)): return try compare(path, value, comparison)
    case (.constant(let value), .field(let path)): return try compare(path, value, comparison.turned)
    case (.constant, .constant): throw IndexError.unplannable("two values are compared, and no field")
    case (.field, .field): throw IndexError.unplannable("two fields are compared with each other")
    }
  }

  /// The type of a field's values.
  private func valueType(_ path: AnyKeyPath) throws -> any SortKey.Type {
    guard let type = type(of: path).valueType as? any SortKey.Type else {
      throw IndexError.unplannable("\(type(of: path).valueType) is no SortKey")
    }
    return type
  }

  private func compare(_ path: AnyKeyPath, _ value: Any, _ comparison: PredicateComparison) throws -> ConditionNode {
    func compare<Value: SortKey>(_: Value.Type) throws -> ConditionNode {
      comparison.condition(try term(path, Value.self), try self.value(value, Value.self)).node
    }
    return try compare(valueType(path))
  }

  /// Whether one of the elements of a list is a value: the list a field, or the value one.
  func contains(_ list: any PredicateExpression, _ element: any PredicateExpression) throws -> ConditionNode {
    switch (try operand(list), try operand(element)) {
    case (.field(let path), .constant(let value)): return try contains(path, value)
    case (.constant(let list), .field(let path)):
      return try isIn(list, path)
    default: throw IndexError.unplannable("contains is asked of a field, or about one")
    }
  }

  private func contains(_ path: AnyKeyPath, _ value: Any) throws -> ConditionNode {
    let type = type(of: path).valueType
    guard let list = type as? any ComparableElements.Type else {
      throw IndexError.unplannable("\(type) is no Array or Set of SortKey")
    }
    return try list.contains(value, path, self)
  }

  /// Whether a field is one of a list of values. O(values · log values).
  private func isIn(_ list: Any, _ path: AnyKeyPath) throws -> ConditionNode {
    guard let list = list as? any Sequence else { throw unplannable(list) }
    func isIn<Value: SortKey>(_: Value.Type) throws -> ConditionNode {
      func values<List: Sequence>(_ list: List) throws -> [Value] { try list.map { try value($0, Value.self) } }
      return try term(path, Value.self).isIn(values(list)).node
    }
    return try isIn(valueType(path))
  }

  /// Whether an operand lies between the bounds of a range.
  func isIn(_ range: any PredicateExpression, _ element: any PredicateExpression) throws -> ConditionNode {
    if let range = range as? any RangeOperand {
      return .both(
        try compare(element, range.lowerOperand, .greaterOrEqual),
        try compare(element, range.upperOperand, range.hasUpper ? .lessOrEqual : .less))
    }
    guard case .constant(let range) = try operand(range), let range = range as? any BoundedRange,
      case .field(let path) = try operand(element)
    else { throw IndexError.unplannable("contains of a range is asked about a field, of a range with two bounds") }
    return .both(
      try compare(path, range.lower, .greaterOrEqual),
      try compare(path, range.upper, range.hasUpper ? .lessOrEqual : .less))
  }

  /// Whether a text begins with another.
  func starts(_ text: any PredicateExpression, _ prefix: any PredicateExpression) throws -> ConditionNode {
    guard case .field(let path) = try operand(text), case .constant(let value) = try operand(prefix),
      let prefix = value as? String
    else { throw IndexError.unplannable("starts(with:) is asked of a text of the row") }
    return try term(path, String.self).hasPrefix(prefix).node
  }
}

/// How two operands are compared.
private enum PredicateComparison {
  case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual

  /// The same with the sides exchanged.
  var turned: Self {
    switch self {
    case .equal, .notEqual: self
    case .less: .greater
    case .lessOrEqual: .greaterOrEqual
    case .greater: .less
    case .greaterOrEqual: .lessOrEqual
    }
  }

  func condition<Object, Metadata, Value: SortKey>(
    _ term: Term<Object, Metadata, Object, Value>, _ value: Value
  ) -> Condition<Object, Metadata> {
    switch self {
    case .equal: term == value
    case .notEqual: term != value
    case .less: term < value
    case .lessOrEqual: term <= value
    case .greater: term > value
    case .greaterOrEqual: term >= value
    }
  }
}

// MARK: - Foundation's expressions

extension PredicateExpressions.Variable: OperandExpression {
  fileprivate func operand() -> PredicateOperand { .field(\Output.self) }
}

extension PredicateExpressions.KeyPath: OperandExpression {
  fileprivate func operand() throws -> PredicateOperand {
    guard let root = root as? any OperandExpression, case .field(let base) = try root.operand(),
      let path = base.appending(path: keyPath)
    else { throw IndexError.unplannable("\(keyPath) is no field of the row") }
    return .field(path)
  }
}

extension PredicateExpressions.Value: OperandExpression {
  fileprivate func operand() -> PredicateOperand { .constant(value) }
}

extension PredicateExpressions.NilLiteral: OperandExpression {
  fileprivate func operand() -> PredicateOperand { .constant(Wrapped?.none as Any) }
}

extension PredicateExpressions.Equal: ConditionExpression {
  fileprivate func node<Object, Metadata>(
    _ reader: PredicateReader<Object, Metadata>
  ) throws -> ConditionNode { try reader.compare(lhs, rhs, .equal) }
}

extension PredicateExpressions.NotEqual: ConditionExpression {
  fileprivate func node<Object, Metadata>(
    _ reader: PredicateReader<Object, Metadata>
  ) throws -> ConditionNode { try reader.compare(lhs, rhs, .notEqual) }
}

extension PredicateExpressions.Comparison: ConditionExpression {
  fileprivate func node<Object, Metadata>(
    _ reader: PredicateReader<Object, Metadata>
  ) throws -> ConditionNode {
    let comparison: PredicateComparison =
      switch op {
      case .lessThan: .less
      case .lessThanOrEqual: .lessOrEqual
      case .greaterThan: .greater
      case .greaterThanOrEqual: .greaterOrEqual
      @unknown default: throw reader.unplannable(self)
      }
    return try reader.compare(lhs, rhs, comparison)
  }
}

extension PredicateExpressions.Conjunction: ConditionExpression {
  fileprivate func node<Object, Metadata>(
    _ reader: PredicateReader<Object, Metadata>
  ) throws -> ConditionNode { .both(try reader.node(lhs), try reader.node(rhs)) }
}

extension PredicateExpressions.Disjunction: ConditionExpression {
  fileprivate func node<Object, Metadata>(
    _ reader: PredicateReader<Object, Metadata>
  ) throws -> ConditionNode { .either(try reader.node(lhs), try reader.node(rhs)) }
}

extension PredicateExpressions.Negation: ConditionExpression {
  fileprivate func node<Object, Metadata>(
    _ reader: PredicateReader<Object, Metadata>
  ) throws -> ConditionNode { try reader.node(wrapped).negated }
}

extension PredicateExpressions.SequenceContains: ConditionExpression {
  fileprivate func node<Object, Metadata>(
    _ reader: PredicateReader<Object, Metadata>
  ) throws -> ConditionNode { try reader.contains(sequence, element) }
}

extension PredicateExpressions.ClosedRange: RangeOperand {
  fileprivate var lowerOperand: any PredicateExpression { lower }
  fileprivate var upperOperand: any PredicateExpression { upper }
  fileprivate var hasUpper: Bool { true }
}

extension PredicateExpressions.Range: RangeOperand {
  fileprivate var lowerOperand: any PredicateExpression { lower }
  fileprivate var upperOperand: any PredicateExpression { upper }
  fileprivate var hasUpper: Bool { false }
}

extension PredicateExpressions.RangeExpressionContains: ConditionExpression {
  fileprivate func node<Object, Metadata>(
    _ reader: PredicateReader<Object, Metadata>
  ) throws -> ConditionNode { try reader.isIn(range, element) }
}

extension PredicateExpressions.SequenceStartsWith: ConditionExpression {
  fileprivate func node<Object, Metadata>(
    _ reader: PredicateReader<Object, Metadata>
  ) throws -> ConditionNode { try reader.starts(base, prefix) }
}

extension PredicateExpressions.Value: ConditionExpression where Output == Bool {
  fileprivate func node<Object, Metadata>(
    _ reader: PredicateReader<Object, Metadata>
  ) -> ConditionNode { value ? .all : .none }
}
