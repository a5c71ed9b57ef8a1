// Expressions put together in Swift.

extension SearchExpression {
  /// Rows with a word; with all tokens of the text next to each other if it has several.
  public static func word(_ text: String, in fields: FieldChoice? = nil) -> SearchExpression {
    .near(NearGroup([Phrase([text])], fields: fields))
  }

  /// Rows with all of these words, in any order and distance. Blank space divides the words.
  public static func words(_ text: String, in fields: FieldChoice? = nil) -> SearchExpression {
    .joined(text.split(whereSeparator: \.isWhitespace).map { NearGroup([Phrase([String($0)])], fields: fields) })
  }

  /// Rows with these words one behind the other.
  ///
  /// - Parameters:
  ///   - text: cut into tokens as the rows are.
  ///   - isAtStart: whether a field has to begin with them.
  ///   - fields: where it has to be; nil for all.
  public static func phrase(
    _ text: String, isAtStart: Bool = false, in fields: FieldChoice? = nil
  ) -> SearchExpression {
    .near(NearGroup([Phrase([text], isAtStart: isAtStart)], fields: fields))
  }

  /// Rows with a word that begins so; with a phrase whose last word begins so if the text has several.
  public static func prefix(_ text: String, in fields: FieldChoice? = nil) -> SearchExpression {
    .near(NearGroup([Phrase([text], isPrefix: true)], fields: fields))
  }

  /// Rows with these words or phrases near each other.
  ///
  /// - Parameters:
  ///   - texts: each a phrase.
  ///   - distance: how many tokens may stand between them at the most.
  ///   - fields: the one field where all of them have to be, of these; nil for all.
  public static func near(
    _ texts: String..., within distance: Int, in fields: FieldChoice? = nil
  ) -> SearchExpression {
    .near(NearGroup(texts.map { Phrase([$0]) }, distance: distance, fields: fields))
  }

  /// Rows that all of these find; of those that `not` has made, rows that they do not exclude.
  public static func all(_ parts: SearchExpression..., in fields: FieldChoice? = nil) -> SearchExpression {
    var (kept, excluded): ([SearchExpression], [SearchExpression]) = ([], [])
    for part in parts {
      if let negated = part.negated { excluded.append(negated) } else { kept.append(part) }
    }
    let whole: SearchExpression = kept.isEmpty ? .everything : kept.count == 1 ? kept[0] : .all(kept)
    return excluded.reduce(whole) { .excluding($0, $1) }.limited(to: fields)
  }

  /// Rows that at least one of these finds.
  public static func any(_ parts: SearchExpression..., in fields: FieldChoice? = nil) -> SearchExpression {
    SearchExpression.any(parts).limited(to: fields)
  }

  /// Rows without a word, or without a phrase.
  public static func not(_ text: String, in fields: FieldChoice? = nil) -> SearchExpression {
    .excluding(.everything, .word(text, in: fields))
  }

  /// Rows that an expression does not find.
  public static func not(_ expression: SearchExpression) -> SearchExpression {
    expression.negated ?? .excluding(.everything, expression)
  }

  /// Rows that an expression does not find.
  public static prefix func ! (expression: SearchExpression) -> SearchExpression { .not(expression) }

  /// Rows that both find.
  public static func && (left: SearchExpression, right: SearchExpression) -> SearchExpression {
    if let negated = right.negated { return .excluding(left, negated) }
    if let negated = left.negated { return .excluding(right, negated) }
    return .all(left.factors + right.factors)
  }

  /// Rows that at least one of both finds.
  public static func || (left: SearchExpression, right: SearchExpression) -> SearchExpression {
    SearchExpression.any(left.alternatives + right.alternatives)
  }

  /// The same expression where only those fields count that are also among others; the same if these are nil.
  ///
  /// Calls itself for each level of the expression.
  public func limited(to fields: FieldChoice?) -> SearchExpression {
    guard let fields else { return self }
    return switch self {
    case .near(let group): .near(group.limited(to: fields))
    case .groups(let groups): .groups(groups.map { $0.limited(to: fields) })
    case .all(let parts): .all(parts.map { $0.limited(to: fields) })
    case .any(let parts): .any(parts.map { $0.limited(to: fields) })
    case .excluding(let kept, let excluded): .excluding(kept.limited(to: fields), excluded.limited(to: fields))
    case .everything: .everything
    }
  }

  /// What is found by all of some groups.
  static func joined(_ groups: [NearGroup]) -> SearchExpression {
    groups.count == 1 ? .near(groups[0]) : .groups(groups)
  }

  /// What `not` has been said of.
  private var negated: SearchExpression? {
    if case .excluding(.everything, let expression) = self { expression } else { nil }
  }

  private var factors: [SearchExpression] { if case .all(let parts) = self { parts } else { [self] } }

  private var alternatives: [SearchExpression] { if case .any(let parts) = self { parts } else { [self] } }
}
