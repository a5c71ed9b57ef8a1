// The languages whose words are stemmed.

/// A language whose words lose their endings, so that the forms of one word are found by each other.
///
/// The rules are those of the Snowball project as its libstemmer 2.2 has them, with Porter 2 for English: what they
/// leave is no word of the language but what its forms have in common, such as `nation` for *nationality*. They know
/// nothing of meanings: some words that are not related fall together, and forms that are formed against the rules
/// stay apart.
public enum StemmingLanguage: String, Hashable, Sendable, CaseIterable {
  /// Porter 2, the successor of Porter's stemmer of 1980.
  case english
  /// Umlauts are folded to the letters below them, and ß to ss.
  case german
  /// Accents stay where the ending does not fall.
  case french
  /// Acute accents are taken off.
  case spanish
  /// Acute accents become grave ones.
  case italian

  /// Whether apostrophes in words mean something to the rules: an ending behind them in English, an article in front of
  /// them in French and Italian.
  var knowsApostrophes: Bool {
    switch self {
    case .english, .french, .italian: true
    case .german, .spanish: false
    }
  }
}
