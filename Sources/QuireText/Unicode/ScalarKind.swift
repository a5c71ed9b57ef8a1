// What is known of a scalar.

/// The classes of the word-break rules, in the order of Fixtures/make-unicode.
enum WordBreak {
  static let other: UInt32 = 0
  static let carriageReturn: UInt32 = 1
  static let lineFeed: UInt32 = 2
  static let newline: UInt32 = 3
  static let extend: UInt32 = 4
  static let zeroWidthJoiner: UInt32 = 5
  static let format: UInt32 = 6
  static let space: UInt32 = 7
  static let letter: UInt32 = 8
  static let hebrewLetter: UInt32 = 9
  static let numeric: UInt32 = 10
  static let katakana: UInt32 = 11
  static let extendNumLet: UInt32 = 12
  static let regionalIndicator: UInt32 = 13
  static let midLetter: UInt32 = 14
  static let midNum: UInt32 = 15
  static let midNumLet: UInt32 = 16
  static let singleQuote: UInt32 = 17
  static let doubleQuote: UInt32 = 18
  /// The colons, which the standard has among `midLetter`.
  static let colon: UInt32 = 19
}

/// What is known of a scalar, as bits: Fixtures/make-unicode puts them together.
struct ScalarKind: Equatable {
  let bits: UInt32

  /// One of ``WordBreak``.
  var wordBreak: UInt32 { bits & 31 }
  /// A bit for each class.
  var wordBreakBit: UInt32 { 1 << (bits & 31) }

  /// The letters of case, and decimal digits.
  enum Case: UInt32 {
    case none, lower, upper, digit
  }

  var letterCase: Case { Case(rawValue: bits >> 5 & 3) ?? .none }

  /// Letters of scripts that put no spaces between words, and Hangul.
  var isUnspaced: Bool { bits & Self.unspaced != 0 }
  static let unspaced: UInt32 = 1 << 7
  /// Letters, numbers and emoji: a word has one of them.
  var makesWord: Bool { bits & Self.wordMaking != 0 }
  static let wordMaking: UInt32 = 1 << 8
  var isPictographic: Bool { bits & 1 << 9 != 0 }
  /// Whether it may be composed with a scalar in front of it.
  var mayCompose: Bool { bits & 1 << 10 != 0 }
  /// Whether its combining class is not 0.
  var isCombining: Bool { bits & 1 << 11 != 0 }
  var isLetter: Bool { bits & 1 << 12 != 0 }
  /// Marks, ignorable scalars and the vowels and last consonants of Hangul: part of the character in front.
  var continuesCharacter: Bool { bits & 1 << 13 != 0 }
  /// Whether FTS5's unicode61 has it in tokens, and as diacritic of a scalar of a token.
  var isToken61: Bool { bits & 1 << 14 != 0 }
  var isDiacritic61: Bool { bits & 1 << 15 != 0 }
  /// Whether some folding changes it: that of words, and that of unicode61.
  var isFolded: Bool { bits & 1 << 16 != 0 }
  var isFolded61: Bool { bits & 1 << 17 != 0 }
}
