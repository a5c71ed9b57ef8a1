// Phrases, and groups of them that stand near each other: what an expression joins.

/// Phrases that stand near each other, or a single one.
///
/// The phrases match where each has an instance in the same field, and no more than `distance` tokens lie between the
/// end of any of them and the beginning of the last. Their order does not matter, and they may overlap. Phrases without
/// a token are left out.
public struct NearGroup: Hashable, Sendable {
  /// The distance where none is given.
  public static let defaultDistance = 10

  /// At least one.
  public var phrases: [Phrase]
  /// How many tokens may stand between the phrases, at the most; without meaning for a single phrase.
  public var distance: Int
  /// The fields that count; nil for all.
  public var fields: FieldChoice?

  /// Makes a group of phrases.
  public init(_ phrases: [Phrase], distance: Int = defaultDistance, fields: FieldChoice? = nil) {
    (self.phrases, self.distance, self.fields) = (phrases, distance, fields)
  }

  /// The same group where only those of its fields count that are also among others.
  func limited(to others: FieldChoice?) -> NearGroup {
    guard let others else { return self }
    var limited = self
    limited.fields = fields.map(others.intersection) ?? others
    return limited
  }
}

/// Texts whose tokens stand one behind the other.
public struct Phrase: Hashable, Sendable {
  /// The texts, as users write them.
  public var texts: [String]
  /// The numbers of those texts, from 0, that end in `*`: the token that is the last one behind such a text stands for
  /// all that begin with it. A text without `*` and without a token of its own takes the `*` from the token before.
  public var prefixes: Set<Int>
  /// Whether the phrase has to be the beginning of a field. Without meaning in a group of several phrases.
  public var isAtStart: Bool
  /// Whether rows with all of the tokens are found, wherever these stand, in a full text that does not keep where they
  /// stand. If not, and that is the default, `FullTextError.needsPositions` is thrown there. Text does not say it.
  public var isLenient = false

  /// Makes a phrase of texts.
  public init(_ texts: [String], isPrefix: Bool = false, isAtStart: Bool = false) {
    self.init(texts, prefixes: isPrefix && !texts.isEmpty ? [texts.count - 1] : [], isAtStart: isAtStart)
  }

  /// Makes a phrase of texts of which some end in `*`, by their numbers from 0.
  public init(_ texts: [String], prefixes: Set<Int>, isAtStart: Bool = false) {
    (self.texts, self.prefixes, self.isAtStart) = (texts, prefixes, isAtStart)
  }

  /// Whether the last token stands for all that begin with it.
  public var isPrefix: Bool {
    get { prefixes.contains(texts.count - 1) }
    set {
      guard !texts.isEmpty else { return }
      if newValue { prefixes.insert(texts.count - 1) } else { prefixes.remove(texts.count - 1) }
    }
  }
}
