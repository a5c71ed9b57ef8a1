// What somebody types into a search field, as an expression.

extension SearchExpression {
  /// How many words of what is typed count: the first ones.
  static let typedWordLimit = 256
  /// How much of what is typed counts, in Unicode scalars: the beginning.
  static let typedLengthLimit = 4_096

  /// Reads what stands in a search field, whatever it is: all words have to be there, and the last one may be the
  /// beginning of one, unless blank space follows it.
  ///
  /// Quotation marks, straight or curly, make a phrase of what is between them; one that is not closed goes on to the
  /// end. All else is text: no sign has a meaning of its own. Nothing but blank space finds all rows.
  ///
  /// A full text that does not keep where words stand finds the rows with all words of a phrase, wherever these are; so
  /// it does of a word that the tokenizer cuts, as `unicode61` cuts “don’t”.
  ///
  /// ```swift
  /// SearchExpression(typing: "\"night train\" li")  // the phrase, and a word that begins with “li”
  /// ```
  ///
  /// - Parameters:
  ///   - text: what is typed. The first 256 words and phrases count, and of these what is among the first 4,096 Unicode
  ///     scalars of the text: what lies beyond is left out.
  ///   - fields: the fields that count; nil for all.
  public init(typing text: String, in fields: FieldChoice? = nil) {
    var reader = TypedTextReader()
    for scalar in text.unicodeScalars.prefix(Self.typedLengthLimit) {
      reader.take(scalar)
      if reader.phrases.count == Self.typedWordLimit { break }
    }
    reader.finish()
    let groups = reader.phrases.map { NearGroup([$0], fields: fields) }
    self = groups.isEmpty ? .everything : .joined(groups)
  }
}

/// Divides what is typed into words and phrases.
private struct TypedTextReader {
  private(set) var phrases: [Phrase] = []
  private var text = ""
  /// Whether a quotation mark is open.
  private var isQuoted = false
  private var endsInSpace = false

  mutating func take(_ scalar: Unicode.Scalar) {
    let isSpace = scalar.properties.isWhitespace
    if Self.quotes.contains(scalar) {
      endPhrase(isPrefix: false)
      isQuoted.toggle()
    } else if isSpace && !isQuoted {
      endPhrase(isPrefix: false)
    } else {
      text.unicodeScalars.append(scalar)
    }
    endsInSpace = isSpace
  }

  mutating func finish() { endPhrase(isPrefix: !endsInSpace) }

  private mutating func endPhrase(isPrefix: Bool) {
    if !text.allSatisfy(\.isWhitespace) {
      var phrase = Phrase([text], isPrefix: isPrefix)
      phrase.isLenient = true
      phrases.append(phrase)
    }
    text = ""
  }

  /// Straight, and curly as keyboards make them of straight ones.
  private static let quotes: Set<Unicode.Scalar> = ["\"", "\u{201c}", "\u{201d}", "\u{201e}"]
}
