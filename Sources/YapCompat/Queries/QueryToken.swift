// The words of a query's text.

public import Quire

extension DatabaseError.Code {
  /// The text of a query cannot be understood, names a column that is not there, or does not go with its parameters.
  public static let malformedQuery = DatabaseError.Code("malformedQuery")
}

extension DatabaseError {
  /// An error in a query's text, at a byte of it.
  ///
  /// - Parameter text: what is wrong and what helps, in sentences.
  static func malformed(_ text: String, at place: Int? = nil, of query: [UInt8]) -> DatabaseError {
    guard let place, place < query.count else {
      return DatabaseError(
        .malformedQuery, place == nil ? text : "At the end of the query: \(text) [\(excerpt(query, 0))]")
    }
    let number = String(decoding: query[..<place], as: UTF8.self).count + 1
    return DatabaseError(.malformedQuery, "At character \(number) of the query, “\(excerpt(query, place))”: \(text)")
  }

  /// The text from a byte on, so much of it as says where that is.
  private static func excerpt(_ query: [UInt8], _ place: Int) -> String {
    let rest = String(decoding: query[place...], as: UTF8.self)
    return rest.count > 40 ? "\(rest.prefix(40))…" : rest
  }
}

/// A word of a query's text.
struct QueryToken: Hashable, Sendable {
  enum Kind: Hashable, Sendable {
    /// A name or a word of the language, in the case in which it stands.
    case word(String)
    /// A name in `"…"`, which is a text if there is no such column; or in `[…]` or backquotes, which is always a name.
    case quoted(String, mayBeText: Bool)
    case value(QueryValue)
    case parameter
    /// An operator, a bracket or a comma.
    case sign(String)
    case end
  }

  let kind: Kind
  /// The byte that it begins with.
  let place: Int

  /// Whether it is a word of the language.
  func isWord(_ word: String) -> Bool {
    if case .word(let text) = kind { return text.uppercased() == word }
    return false
  }

  func isSign(_ sign: String) -> Bool { kind == .sign(sign) }

  /// Whether it is the number that is whole with a minus in front of it alone.
  func isBeyondLeastInteger(in query: [UInt8]) -> Bool {
    guard kind == .value(.real(-Double(Int64.min))) else { return false }
    return query[place...].prefix { $0 >= 0x30 && $0 <= 0x39 }.elementsEqual("\(Int64.min.magnitude)".utf8)
  }
}

/// Takes a query's text apart.
struct QueryTokenizer {
  private let text: [UInt8]
  private var place = 0

  private init(_ text: [UInt8]) { self.text = text }

  /// The words of a text; the last one is its end.
  ///
  /// - Throws: `malformedQuery`.
  static func tokens(of text: [UInt8]) throws(DatabaseError) -> [QueryToken] {
    var tokenizer = QueryTokenizer(text)
    var tokens: [QueryToken] = []
    repeat { tokens.append(try tokenizer.next()) } while tokens.last?.kind != .end
    assert(zip(tokens, tokens.dropFirst()).allSatisfy { $0.place < $1.place }, "a word of a query has no text")
    return tokens
  }

  private func byte(_ offset: Int = 0) -> UInt8 { place + offset < text.count ? text[place + offset] : 0 }

  private func has(_ character: Unicode.Scalar, _ offset: Int = 0) -> Bool { byte(offset) == UInt8(ascii: character) }

  private static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }

  private static func isName(_ byte: UInt8) -> Bool {
    isDigit(byte) || byte >= 0x80 || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "$")
      || (byte.lowercasedLetter >= 0x61 && byte.lowercasedLetter <= 0x7a)
  }

  private func malformed(_ message: String, at place: Int) -> DatabaseError {
    .malformed(message, at: place, of: text)
  }

  private mutating func skipSpace() {
    while place < text.count {
      if byte() == 0x20 || (byte() >= 0x09 && byte() <= 0x0d) {
        place += 1
      } else if has("-"), has("-", 1) {
        while place < text.count, byte() != 0x0a { place += 1 }
      } else if has("/"), has("*", 1) {
        // A comment without an end goes to that of the text.
        place += 2
        while place < text.count, !(has("*") && has("/", 1)) { place += 1 }
        place = min(place + 2, text.count)
      } else {
        return
      }
    }
  }

  private mutating func next() throws(DatabaseError) -> QueryToken {
    skipSpace()
    let start = place
    guard place < text.count else { return QueryToken(kind: .end, place: start) }
    return QueryToken(kind: try kind(), place: start)
  }

  private mutating func kind() throws(DatabaseError) -> QueryToken.Kind {
    let first = Unicode.Scalar(byte())
    switch first {
    case "'": return .value(.text(try quoted(until: first)))
    case "\"", "`": return .quoted(String(decoding: try quoted(until: first), as: UTF8.self), mayBeText: first == "\"")
    case "[": return .quoted(String(decoding: try quoted(until: "]"), as: UTF8.self), mayBeText: false)
    case "x" where has("'", 1), "X" where has("'", 1): return .value(.blob(try blob()))
    case "?":
      place += 1
      guard !Self.isDigit(byte()) else {
        throw malformed("Parameters have no numbers. Write `?` for each, in their order.", at: place - 1)
      }
      return .parameter
    case ":", "@", "$", "#": throw malformed("Parameters have no names. Write `?` for each, in their order.", at: place)
    default: break
    }
    if Self.isDigit(byte()) || (has(".") && Self.isDigit(byte(1))) { return .value(try number()) }
    if Self.isName(byte()) {
      let start = place
      while place < text.count, Self.isName(byte()) { place += 1 }
      return .word(String(decoding: text[start..<place], as: UTF8.self))
    }
    return .sign(try sign())
  }

  /// The longer ones first.
  private static let signs = [
    "<=", ">=", "<>", "==", "!=", "||", "<", ">", "=", "(", ")", ",", "*", "+", "-", "/", "%", ";", ".",
  ]

  private mutating func sign() throws(DatabaseError) -> String {
    for sign in Self.signs where text[place...].starts(with: sign.utf8) {
      place += sign.utf8.count
      assert(place <= text.count, "a sign reaches beyond the query")
      return sign
    }
    throw malformed("This character has no meaning here. Put names into \"…\" and texts into '…'.", at: place)
  }

  /// What stands between two quotes; a quote among it is doubled.
  private mutating func quoted(until end: Unicode.Scalar) throws(DatabaseError) -> [UInt8] {
    let start = place
    place += 1
    var bytes: [UInt8] = []
    while place < text.count {
      if has(end) {
        guard end != "]", has(end, 1) else {
          place += 1
          return bytes
        }
        place += 1
      }
      bytes.append(byte())
      place += 1
    }
    throw malformed("What begins here has no end. Close it with \(end); double a quote that belongs to it.", at: start)
  }

  private mutating func blob() throws(DatabaseError) -> [UInt8] {
    let start = place
    place += 1
    guard let bytes = Self.bytes(ofHex: try quoted(until: "'")) else {
      throw malformed("A blob is an even number of hexadecimal digits, as in x'00ff'.", at: start)
    }
    return bytes
  }

  private static func bytes(ofHex digits: [UInt8]) -> [UInt8]? {
    guard digits.count.isMultiple(of: 2) else { return nil }
    var bytes: [UInt8] = []
    for pair in stride(from: 0, to: digits.count, by: 2) {
      guard let byte = UInt8(String(decoding: digits[pair..<pair + 2], as: UTF8.self), radix: 16),
        digits[pair] != UInt8(ascii: "+")
      else { return nil }
      bytes.append(byte)
    }
    return bytes
  }

  private mutating func number() throws(DatabaseError) -> QueryValue {
    let start = place
    if has("0"), has("x", 1) || has("X", 1) {
      place += 2
      while place < text.count, Self.isName(byte()) { place += 1 }
      let digits = String(decoding: text[(start + 2)..<place], as: UTF8.self)
      guard let word = UInt64(digits, radix: 16) else {
        throw malformed("A hexadecimal number has one to sixteen digits.", at: start)
      }
      return .integer(Int64(bitPattern: word))
    }
    while place < text.count, Self.isName(byte()) || has(".") || isSignOfExponent { place += 1 }
    guard let value = QueryNumber.value(of: Array(text[start..<place])) else {
      throw malformed("This is no number. Put texts into '…'.", at: start)
    }
    return value
  }

  private var isSignOfExponent: Bool {
    (has("+") || has("-")) && place > 0 && text[place - 1].lowercasedLetter == UInt8(ascii: "e")
  }
}
