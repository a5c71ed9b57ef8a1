// What is searched for, as a tree.

/// What is searched for: words, phrases, beginnings of words, and what joins them.
///
/// Words are texts as users write them: the tokenizer of the full text cuts them when the search is run, and a word of
/// several tokens is a phrase.
public indirect enum SearchExpression: Hashable, Sendable {
  /// Rows with these phrases, all within a stretch of text.
  case near(NearGroup)
  /// Rows that all of these find; all rows of none.
  case all([SearchExpression])
  /// Rows that at least one of these finds; none of none.
  case any([SearchExpression])
  /// Rows that the first finds and the second does not.
  case excluding(SearchExpression, SearchExpression)
  /// Rows of all.
  case everything
}

/// Phrases that stand near each other, or a single one.
public struct NearGroup: Hashable, Sendable {
  /// At least one.
  public var phrases: [Phrase]
  /// How many tokens may stand between the phrases, at the most; without meaning for a single phrase.
  public var distance: Int
  /// The fields that count; nil for all.
  public var fields: FieldChoice?

  public init(_ phrases: [Phrase], distance: Int = 10, fields: FieldChoice? = nil) {
    (self.phrases, self.distance, self.fields) = (phrases, distance, fields)
  }
}

/// Texts whose tokens stand one behind the other.
public struct Phrase: Hashable, Sendable {
  /// The texts, as users write them.
  public var texts: [String]
  /// Whether the last token stands for all that begin with it.
  public var isPrefix: Bool
  /// Whether the phrase has to be the beginning of a field.
  public var isAtStart: Bool

  public init(_ texts: [String], isPrefix: Bool = false, isAtStart: Bool = false) {
    (self.texts, self.isPrefix, self.isAtStart) = (texts, isPrefix, isAtStart)
  }
}

/// Some fields of a full text, by name.
public struct FieldChoice: Hashable, Sendable {
  /// The names.
  public var names: Set<String>
  /// Whether all other fields are meant.
  public var isComplement: Bool

  public init(_ names: Set<String>, isComplement: Bool = false) {
    (self.names, self.isComplement) = (names, isComplement)
  }
}
