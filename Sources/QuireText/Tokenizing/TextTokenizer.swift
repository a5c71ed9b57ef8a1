// The tokenizers that are built in.

/// The tokenizers that are built in: words of all languages, FTS5's `unicode61`, substrings and identifiers.
///
/// They are had as members of ``Tokenizer``:
///
/// ```swift
/// let tokenizer: any Tokenizer = .words  // "Straßen, Cafés" gives strassen, cafes
/// let accented: any Tokenizer = .words.keepingAccents()  // strassen, cafés
/// let stemmed: any Tokenizer = .words.stemmed(.english)  // "running horses" gives run, hors
/// ```
///
/// Each takes any bytes: those that are no UTF-8 count as U+FFFD, which is in no word. A token is cut at 1,024 bytes
/// between two scalars; its range is whole all the same. Tokens come in the order in which they begin, and none is
/// empty. Text is read once and nothing is allocated for a token, so that texts may have any length. Every thread may
/// use a tokenizer at any time.
public struct TextTokenizer: Tokenizer, Hashable {
  /// What is cut.
  enum Form: Hashable, Sendable {
    case words
    case unicode61(Unicode61Settings)
    case trigrams
    case identifiers
  }

  let form: Form
  private(set) var keepsAccents = false
  private(set) var keepsCase = false
  private(set) var language: StemmingLanguage?

  /// The version of the rules: another one wherever some text gives other tokens than before.
  private var version: Int { form == .words ? 2 : 1 }

  init(_ form: Form) { self.form = form }

  /// Tells accents: `café` is found by `café` alone. What is canonically equal stays equal. For words and identifiers;
  /// what the others do with accents is in their own arguments.
  public func keepingAccents() -> Self {
    var tokenizer = self
    tokenizer.keepsAccents = hasAccents
    return tokenizer
  }

  /// Tells capitals: `Polish` is not found by `polish`. For words that are not stemmed, identifiers and trigrams;
  /// `unicode61` has no such option in FTS5 either.
  public func keepingCase() -> Self {
    var tokenizer = self
    tokenizer.keepsCase = hasCase
    return tokenizer
  }

  /// Finds the forms of a word by each other: `horse` finds *horses*. For words; other tokenizers stay as they are.
  ///
  /// Words of letters are stemmed, in lower case and with their accents, which go afterwards unless they are kept. In
  /// English, French and Italian an apostrophe between letters is part of the word: the English ending *'s* goes, and
  /// in French and Italian what is elided in front of an apostrophe, so that `avion` finds *l'avion*.
  /// The text is taken to be of one language; words of others are found all the same where their rules leave the same
  /// of a word and of what is asked for, as they do of equal words.
  public func stemmed(_ language: StemmingLanguage) -> Self {
    guard form == .words else { return self }
    var tokenizer = self
    tokenizer.language = language
    tokenizer.keepsCase = false
    return tokenizer
  }

  private var hasAccents: Bool { form == .words || form == .identifiers }
  private var hasCase: Bool { language == nil && hasAccents || form == .trigrams }

  public var identity: String {
    let name =
      switch form {
      case .words: "words"
      case .unicode61(let settings): "unicode61(\(settings.identity))"
      case .trigrams: "trigrams"
      case .identifiers: "identifiers"
      }
    let stems = language.map { "+\($0.rawValue)" } ?? ""
    let options = stems + (keepsAccents ? "+accents" : "") + (keepsCase ? "+case" : "")
    return "\(name)\(options)/\(version)/unicode-\(UnicodeData.version)"
  }

  public func forEachToken(
    in text: RawSpan, for purpose: TokenPurpose, _ body: (_ term: RawSpan, _ place: TokenPlace) throws -> Void
  ) throws {
    try unsafe text.withUnsafeBytes { bytes in
      guard let view = unsafe ByteView(bytes) else { return }
      try TokenBuffer.withBuffer { buffer in
        switch form {
        case .words:
          var scanner = WordScanner(
            view, buffer, purpose, keepingAccents: keepsAccents, keepingCase: keepsCase, stemming: language)
          try scanner.scan(body)
        case .unicode61(let settings):
          var scanner = Unicode61Scanner(view, buffer, settings)
          try scanner.scan(body)
        case .trigrams:
          var scanner = TrigramScanner(view, buffer, keepingCase: keepsCase)
          try scanner.scan(body)
        case .identifiers:
          var scanner = IdentifierScanner(
            view, buffer, purpose, keepingAccents: keepsAccents, keepingCase: keepsCase)
          try scanner.scan(body)
        }
      }
    }
  }
}

extension Tokenizer where Self == TextTokenizer {
  /// Words of all languages, by Unicode Standard Annex 29, without regard to case, accents and width of letters: the
  /// tokenizer to choose where nothing speaks for another.
  ///
  /// Emoji are words; what has no letter, number or emoji is none. The rules of the annex are tailored to what somebody
  /// types who looks for something: letters are parted by full stops, underscores, colons and apostrophes, too, so that
  /// `eclipse` finds *org.eclipse.ui*, `found` *to_be_found*, and `sea` *sea's*; of what is typed with these signs, the
  /// words are wanted next to each other. Digits with a full stop or a comma between them stay one number: 3.14 and
  /// 1,000. An apostrophe between Hebrew letters stays in the word.
  ///
  /// Languages that put no spaces between words (Chinese, Japanese, Thai, Khmer, Lao, Burmese), and Korean, which puts
  /// particles right behind them, are cut into overlapping pairs of characters: of a run ABC, a document has the tokens
  /// AB, BC and C, and a query asks for AB and BC next to each other; a run of one character asks for everything that
  /// begins with it. So every substring of a run is found, and nothing else. A character is a letter with its marks, as
  /// in Thai, where other marks make another word.
  public static var words: TextTokenizer { TextTokenizer(.words) }

  /// The words of FTS5's tokenizer of this name, exactly as in SQLite 3.40: runs of scalars of the categories L*, N*
  /// and Co and diacritics behind them, with simple folding of case.
  ///
  /// - Parameters:
  ///   - removeDiacritics: from which letters diacritics are taken.
  ///   - tokenCharacters: scalars that are in tokens all the same, as `tokenchars` in FTS5.
  ///   - separators: scalars that are not, as `separators` there.
  public static func unicode61(
    removeDiacritics: DiacriticRemoval = .simple, tokenCharacters: String = "", separators: String = ""
  ) -> TextTokenizer {
    TextTokenizer(.unicode61(Unicode61Settings(removeDiacritics, tokenCharacters, separators)))
  }

  /// All runs of three characters, as FTS5's tokenizer of this name, without regard to case: substrings of three
  /// characters and more are found by phrases. Of a shorter text there are no tokens.
  public static var trigrams: TextTokenizer { TextTokenizer(.trigrams) }

  /// Names in programs: of `parseHTTPRequest2`, a document has the tokens parse, http, request and 2, and
  /// parsehttprequest2 at the position of the first; a query asks for the parts next to each other. Parts end where
  /// capitals begin (the last one of several, if a small letter follows), between letters and digits, and at `_`, `.`,
  /// `-` and `$` between them, which are in no token.
  public static var identifiers: TextTokenizer { TextTokenizer(.identifiers) }
}

/// From which letters FTS5's `unicode61` takes diacritics.
public enum DiacriticRemoval: Int, Hashable, Sendable, CaseIterable {
  /// From none: `remove_diacritics 0`.
  case none
  /// From letters with one diacritic: `remove_diacritics 1`, which is what FTS5 does unless told otherwise.
  case simple
  /// From all: `remove_diacritics 2`.
  case complete
}
