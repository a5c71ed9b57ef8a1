// The words and signs of Swift code, and the comments beside them: what the rules look at.

/// One word or sign of code. String literals leave no token, so that what a literal says never breaks a rule; code
/// inside an interpolation does.
struct Token: Equatable {
  enum Kind {
    /// A name, a keyword or a number.
    case word
    /// A single punctuation or operator character.
    case sign
  }

  let kind: Kind
  let text: String
  /// From 1.
  let line: Int
  /// Whether nothing stands between this token and the one before, not even a space.
  let touchesPrevious: Bool
}

/// One comment, or one line of a comment that spans several.
struct Comment: Equatable {
  /// The text with its slashes.
  let text: String
  /// From 1.
  let line: Int
}
