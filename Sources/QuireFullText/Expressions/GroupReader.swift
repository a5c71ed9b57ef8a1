// What stands between the operators of a search: words, phrases, NEAR, and the names of fields.

/// Reads words, phrases, `NEAR` and the names of fields, one behind the other.
struct GroupReader {
  /// How many texts a search may have.
  static let textLimit = 65_536

  private let scanner: SyntaxScanner
  private let tokens: [SyntaxToken]
  private let fields: [String]?
  private var position = 0
  private var textCount = 0

  init(_ text: String, fields: [String]?) throws(SearchSyntaxError) {
    var scanner = SyntaxScanner(text)
    tokens = try scanner.tokens()
    self.scanner = scanner
    self.fields = fields
  }

  /// The next token.
  var token: SyntaxToken { tokens[position] }

  /// Goes on to the token behind; stays at the end.
  mutating func advance() { if token.kind != .end { position += 1 } }

  private func kind(ahead count: Int) -> SyntaxToken.Kind { tokens[min(position + count, tokens.count - 1)].kind }

  private func isText(ahead count: Int) -> Bool { tokens[min(position + count, tokens.count - 1)].isText }

  /// Whether a group can begin here, with or without fields or a minus.
  var isAtItem: Bool {
    switch token.kind {
    case .word, .quoted, .caret, .minus, .leftBrace: true
    default: false
    }
  }

  /// Whether names of fields stand here: `title :`, `- title :`, `{title lyrics} :`. A minus in front of a word without
  /// a colon excludes the word.
  var isAtFields: Bool {
    let start = token.kind == .minus ? 1 : 0
    return kind(ahead: start) == .leftBrace || isText(ahead: start) && kind(ahead: start + 1) == .colon
  }

  // MARK: Fields

  /// Reads names of fields and the colon behind them.
  mutating func fieldChoice() throws(SearchSyntaxError) -> FieldChoice {
    var choice = FieldChoice([])
    if token.kind == .minus {
      choice.isComplement = true
      advance()
    }
    if token.kind == .leftBrace {
      let opening = token
      advance()
      while token.kind != .rightBrace && token.kind != .end && token.kind != .colon {
        guard token.isText else {
          throw error("a field’s name is missing", "Write {title lyrics} : and what is searched for there.")
        }
        choice.names.insert(try fieldName())
      }
      guard token.kind == .rightBrace else {
        throw scanner.error(at: opening.range, "a brace is not closed", "Write } behind the last field’s name.")
      }
      advance()
    } else {
      choice.names.insert(try fieldName())
    }
    guard token.kind == .colon else {
      throw error("a colon is missing behind the fields", "Write {title lyrics} : and what is searched for there.")
    }
    advance()
    return choice
  }

  private mutating func fieldName() throws(SearchSyntaxError) -> String {
    let (name, range) = (scanner.content(of: token), token.range)
    advance()
    guard let fields else { return name }
    guard let number = FieldChoice.number(of: name, in: fields) else {
      let list = fields.map { "“\($0)”" }.joined(separator: ", ")
      throw scanner.error(
        at: range, "there is no field “\(name)”",
        "Search in \(list), or put a colon that is part of the text between quotation marks.")
    }
    return fields[number]
  }

  // MARK: Groups

  /// Reads a phrase, with `^` or without, or `NEAR(…)`.
  mutating func group() throws(SearchSyntaxError) -> NearGroup {
    if token.kind == .word, kind(ahead: 1) == .leftParenthesis {
      guard scanner.content(of: token) == "NEAR" else { throw missingOperator(ahead: 1) }
      return try nearGroup()
    }
    guard token.kind == .caret else { return NearGroup([try phrase()]) }
    advance()
    var first = try phrase()
    first.isAtStart = true
    return NearGroup([first])
  }

  private mutating func nearGroup() throws(SearchSyntaxError) -> NearGroup {
    let opening = tokens[position + 1]
    position += 2
    var group = NearGroup([try phrase()])
    while token.isText { group.phrases.append(try phrase()) }
    if token.kind == .comma {
      advance()
      group.distance = try distance()
    }
    guard token.kind == .rightParenthesis else {
      if token.kind == .end { throw notClosed(opening) }
      throw error(
        "“\(shown)” has no meaning in NEAR(…)",
        "Write words or phrases and, behind a comma, how many words may stand between them: NEAR(night train, 5).")
    }
    advance()
    if group.phrases.count == 1 { group.distance = NearGroup.defaultDistance }
    return group
  }

  /// Reads how many tokens may stand between phrases. What is more than a field has tokens means the same.
  private mutating func distance() throws(SearchSyntaxError) -> Int {
    let digits = scanner.bytes[token.range]
    guard token.kind == .word, digits.allSatisfy({ (0x30...0x39).contains($0) }) else {
      throw error("a number is missing behind the comma", "Write NEAR(night train, 5).")
    }
    var distance = 0
    for digit in digits { distance = min(distance * 10 + Int(digit - 0x30), Int(Int32.max)) }
    advance()
    return distance
  }

  private mutating func phrase() throws(SearchSyntaxError) -> Phrase {
    var phrase = Phrase([])
    while true {
      guard token.isText else { throw missingText() }
      guard textCount < Self.textLimit else {
        throw error("the search has more than \(Self.textLimit) words", "Search for fewer words.")
      }
      textCount += 1
      phrase.texts.append(scanner.content(of: token))
      advance()
      if token.kind == .star {
        phrase.isPrefix = true
        advance()
      }
      guard token.kind == .plus else { return phrase }
      advance()
    }
  }

  // MARK: Errors

  /// The next token as it stands in the text.
  private var shown: String { String(decoding: scanner.bytes[token.range], as: UTF8.self) }

  private func error(_ problem: String, _ remedy: String) -> SearchSyntaxError {
    scanner.error(at: token.range, problem, remedy)
  }

  /// An error where a word or a phrase should stand.
  private func missingText() -> SearchSyntaxError {
    let place = token.kind == .end ? "at the end" : "in front of “\(shown)”"
    return error("a word is missing \(place)", "Write a word or a \"phrase\" there.")
  }

  /// An error where an operand should stand.
  func missingOperand() -> SearchSyntaxError {
    if token.kind == .end, position == 0 {
      return error("it is empty", "Write a word or a \"phrase\" to search for.")
    }
    let place = token.kind == .end ? "at the end" : "in front of “\(shown)”"
    let isOperator = [.and, .or, .not].contains(token.kind)
    let quoting = isOperator ? ", or \"\(shown)\" if that is meant as a word" : ""
    return error("a word is missing \(place)", "Write a word or a \"phrase\" there\(quoting).")
  }

  /// An error where an operator should stand.
  func missingOperator() -> SearchSyntaxError { missingOperator(ahead: 0) }

  private func missingOperator(ahead count: Int) -> SearchSyntaxError {
    let token = tokens[min(position + count, tokens.count - 1)]
    let sign = String(decoding: scanner.bytes[token.range], as: UTF8.self)
    return switch token.kind {
    case .colon, .comma, .plus, .star, .rightBrace:
      scanner.error(
        at: token.range, "“\(sign)” has no meaning here",
        "Put it between quotation marks if it is part of the text.")
    default:
      scanner.error(
        at: token.range, "an operator is missing in front of “\(sign)”", "Write AND, OR or NOT there.")
    }
  }

  /// An error where a parenthesis closes that none has opened.
  func notOpened() -> SearchSyntaxError {
    error("a parenthesis closes that is not open", "Leave it out, or write ( where what it joins begins.")
  }

  /// An error for a parenthesis that nothing closes.
  func notClosed(_ opening: SyntaxToken) -> SearchSyntaxError {
    scanner.error(at: opening.range, "a parenthesis is not closed", "Write ) where what it joins ends.")
  }

  /// An error where an expression gets too many levels.
  func tooDeep(at token: SyntaxToken) -> SearchSyntaxError {
    scanner.error(
      at: token.range, "it has more than \(SearchExpression.depthLimit) levels of parentheses and NOT",
      "Leave parentheses out that join nothing, and write a NOT (b OR c) instead of a NOT b NOT c.")
  }
}
