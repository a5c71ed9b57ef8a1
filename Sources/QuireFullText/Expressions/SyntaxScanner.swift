// The signs and words of a search’s text.

/// A sign, a word or a quoted text of a search.
struct SyntaxToken {
  enum Kind: Equatable {
    case leftParenthesis, rightParenthesis, leftBrace, rightBrace
    case colon, comma, plus, star, minus, caret
    case and, or, not
    /// A word without quotation marks.
    case word
    /// A text between quotation marks.
    case quoted
    /// Behind the last one.
    case end
  }

  var kind: Kind
  /// The bytes of the text that it consists of, quotation marks included.
  var range: Range<Int>

  /// Whether it is a text to be found, or a name.
  var isText: Bool { kind == .word || kind == .quoted }
}

/// Cuts the text of a search into tokens, as FTS5 does.
///
/// Letters and digits of ASCII, `_`, U+001A and everything beyond ASCII make words; `AND`, `OR` and `NOT` in capitals
/// are no words. Between quotation marks everything is text, a quotation mark itself where it is doubled.
struct SyntaxScanner {
  let text: String
  let bytes: [UInt8]
  private var offset = 0

  init(_ text: String) {
    self.text = text
    bytes = Array(text.utf8)
  }

  /// All tokens, with one behind the end. O(bytes).
  mutating func tokens() throws(SearchSyntaxError) -> [SyntaxToken] {
    var tokens: [SyntaxToken] = []
    repeat { tokens.append(try next()) } while tokens.last?.kind != .end
    return tokens
  }

  /// What a word or a quoted text says.
  func content(of token: SyntaxToken) -> String {
    guard token.kind == .quoted else { return String(decoding: bytes[token.range], as: UTF8.self) }
    assert(token.range.count >= 2, "a quoted text has both of its marks")
    var content: [UInt8] = []
    var index = token.range.lowerBound + 1
    while index < token.range.upperBound - 1 {
      content.append(bytes[index])
      index += bytes[index] == Self.quote ? 2 : 1
    }
    return String(decoding: content, as: UTF8.self)
  }

  /// An error at some bytes of the text.
  func error(at range: Range<Int>, _ problem: String, _ remedy: String) -> SearchSyntaxError {
    let utf8 = text.utf8
    let start = utf8.index(utf8.startIndex, offsetBy: range.lowerBound)
    return SearchSyntaxError(text, start..<utf8.index(start, offsetBy: range.count), problem, remedy)
  }

  private mutating func next() throws(SearchSyntaxError) -> SyntaxToken {
    while offset < bytes.count, Self.isSpace(bytes[offset]) { offset += 1 }
    let start = offset
    guard start < bytes.count else { return SyntaxToken(kind: .end, range: start..<start) }
    if let sign = Self.sign(bytes[start]) {
      offset += 1
      return SyntaxToken(kind: sign, range: start..<offset)
    }
    if bytes[start] == Self.quote { return try quoted(from: start) }
    while offset < bytes.count, Self.isWordByte(bytes[offset]) { offset += 1 }
    guard offset > start else {
      let sign = String(decoding: bytes[start...start], as: UTF8.self)
      throw error(
        at: start..<start + 1, "“\(sign)” has no meaning outside of quotation marks",
        "Put the text that has it between quotation marks, as in \"AT&T\".")
    }
    return SyntaxToken(kind: Self.wordKind(bytes[start..<offset]), range: start..<offset)
  }

  private mutating func quoted(from start: Int) throws(SearchSyntaxError) -> SyntaxToken {
    offset += 1
    while offset < bytes.count {
      if bytes[offset] != Self.quote {
        offset += 1
      } else if offset + 1 < bytes.count, bytes[offset + 1] == Self.quote {
        offset += 2
      } else {
        offset += 1
        return SyntaxToken(kind: .quoted, range: start..<offset)
      }
    }
    throw error(
      at: start..<bytes.count, "a quotation mark is not closed",
      "Write another one where the phrase ends; one that is part of the text is doubled.")
  }

  private static let quote = UInt8(ascii: "\"")

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0a || byte == 0x0d }

  /// Whether a byte can be part of a word without quotation marks.
  static func isWordByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "_"), 0x1a, 0x80...0xff: true
    default: false
    }
  }

  /// Whether a text is a word without quotation marks, and nothing else.
  static func isWord(_ text: String) -> Bool {
    let utf8 = text.utf8
    guard !utf8.isEmpty, utf8.allSatisfy(isWordByte) else { return false }
    return text != "AND" && text != "OR" && text != "NOT"
  }

  private static func sign(_ byte: UInt8) -> SyntaxToken.Kind? {
    switch byte {
    case UInt8(ascii: "("): .leftParenthesis
    case UInt8(ascii: ")"): .rightParenthesis
    case UInt8(ascii: "{"): .leftBrace
    case UInt8(ascii: "}"): .rightBrace
    case UInt8(ascii: ":"): .colon
    case UInt8(ascii: ","): .comma
    case UInt8(ascii: "+"): .plus
    case UInt8(ascii: "*"): .star
    case UInt8(ascii: "-"): .minus
    case UInt8(ascii: "^"): .caret
    default: nil
    }
  }

  private static func wordKind(_ word: ArraySlice<UInt8>) -> SyntaxToken.Kind {
    if word.elementsEqual("AND".utf8) { return .and }
    if word.elementsEqual("OR".utf8) { return .or }
    return word.elementsEqual("NOT".utf8) ? .not : .word
  }
}
