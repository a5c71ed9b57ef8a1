// The words of a query in text.

/// What is wrong with a query in text, and where.
struct QueryTextError: Error, CustomStringConvertible {
  let description: String

  /// - Parameter place: the number of characters in front of what is wrong.
  init(_ message: String, _ place: Int, in text: [Character]) {
    let (shown, rest) = (text[place...].prefix(20), text[place...].dropFirst(20))
    let found = "at character \(place + 1), “\(String(shown))\(rest.isEmpty ? "" : "…")”"
    description = "The query cannot be read \(shown.isEmpty ? "at the end" : found): \(message)."
  }
}

/// One word or sign of a query, and how many characters are in front of it.
struct QueryToken {
  enum Kind: Equatable {
    /// A word that may be one of the language.
    case word(String)
    /// A name in double quotes.
    case name(String)
    /// A text in single quotes.
    case text(String)
    case number(String)
    case sign(String)
    case end
  }

  let kind: Kind
  let place: Int

  /// Whether it is a word of the language, whatever its case.
  func isWord(_ word: String) -> Bool {
    if case .word(let own) = kind { own.uppercased() == word } else { false }
  }
}

/// Divides the text of a query.
struct QueryTokens {
  private(set) var all: [QueryToken] = []
  let text: [Character]

  /// Longer texts are refused.
  static let mostCharacters = 1 << 14
  private static let signs = ["<=", ">=", "!=", "<>", "==", "<", ">", "=", "(", ")", ","]

  init(_ text: String) throws {
    self.text = Array(text)
    guard self.text.count <= Self.mostCharacters else {
      throw QueryTextError("it has more than \(Self.mostCharacters) characters. Ask for less", 0, in: self.text)
    }
    var place = 0
    while place < self.text.count {
      if self.text[place].isWhitespace { place += 1 } else { all.append(try token(&place)) }
    }
    all.append(QueryToken(kind: .end, place: place))
  }

  private func token(_ place: inout Int) throws -> QueryToken {
    let (start, first) = (place, text[place])
    if first == "'" { return QueryToken(kind: .text(try quoted(&place)), place: start) }
    if first == "\"" { return QueryToken(kind: .name(try quoted(&place)), place: start) }
    if first.isLetter || first == "_" {
      return QueryToken(kind: .word(run(&place) { $0.isLetter || $0.isNumber || "_.-".contains($0) }), place: start)
    }
    let isSigned = "+-".contains(first) && place + 1 < text.count && text[place + 1].isDigit
    if first.isDigit || isSigned {
      place += 1
      var number = String(first)
      while place < text.count {
        let isSign = "+-".contains(text[place]) && "eE".contains(text[place - 1])
        guard isSign || text[place].isDigit || ".eE".contains(text[place]) else { break }
        number.append(text[place])
        place += 1
      }
      return QueryToken(kind: .number(number), place: start)
    }
    let found = Self.signs.first { text[start...].starts(with: $0) }
    guard let found else {
      throw QueryTextError("no word begins so. Put texts in 'single' and names in \"double\" quotes", start, in: text)
    }
    place += found.count
    return QueryToken(kind: .sign(found), place: start)
  }

  private func run(_ place: inout Int, _ isPart: (Character) -> Bool) -> String {
    let start = place
    while place < text.count, isPart(text[place]) { place += 1 }
    return String(text[start..<place])
  }

  /// What stands in quotes; two of them are one within.
  private func quoted(_ place: inout Int) throws -> String {
    let (start, quote) = (place, text[place])
    var inside = ""
    place += 1
    while place < text.count {
      if text[place] == quote {
        place += 1
        guard place < text.count, text[place] == quote else { return inside }
      }
      inside.append(text[place])
      place += 1
    }
    throw QueryTextError("the quote \(quote) is not closed", start, in: text)
  }
}

extension Character {
  fileprivate var isDigit: Bool { isASCII && isNumber }
}
