// Splits Swift text into tokens and comments. Not a compiler's lexer: it needs to know where comments and literals
// begin and end, and nothing of the grammar. Bare regex literals (`/…/`) are not known to it; `#/…/#` is.

/// Reads one text from its first byte to its last.
struct Lexer {
  private let bytes: [UInt8]
  /// Whether a byte is part of a word, for each.
  private let wordBytes: [Bool]
  private var position = 0
  private var line = 1
  /// Where the last token ended, to tell `try!` from `try !`.
  private var endOfLastToken = -1
  private(set) var tokens: [Token] = []
  private(set) var comments: [Comment] = []

  /// Splits `text`. O(n).
  init(_ text: String) {
    bytes = Array(text.utf8)
    wordBytes = Self.wordBytes
    readCode(untilClosingParenthesis: false)
  }

  private static let wordBytes: [Bool] = {
    var isWord = Array(repeating: false, count: 0x80) + Array(repeating: true, count: 0x80)
    let word = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
    for byte in word.utf8 { isWord[Int(byte)] = true }
    return isWord
  }()

  /// Reads code up to the end, or up to the `)` that closes an interpolation.
  private mutating func readCode(untilClosingParenthesis: Bool) {
    var depth = 0
    let (slash, pound) = (UInt8(ascii: "/"), UInt8(ascii: "#"))
    while position < bytes.count {
      let byte = bytes[position]
      if byte == slash, starts(with: "//") {
        readLineComment()
      } else if byte == slash, starts(with: "/*") {
        readBlockComment()
      } else if byte == pound, starts(with: "#/") {
        skip(past: "/#")
      } else if byte == UInt8(ascii: "\"") || byte == pound, let pounds = poundsBeforeQuote() {
        readString(pounds: pounds)
      } else if isWordByte(byte) || byte == UInt8(ascii: "`") {
        readWord()
      } else if byte == UInt8(ascii: "\n") {
        line += 1
        position += 1
      } else if byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\r") {
        position += 1
      } else {
        if byte == UInt8(ascii: "(") { depth += 1 }
        if byte == UInt8(ascii: ")") {
          if untilClosingParenthesis, depth == 0 {
            position += 1
            return
          }
          depth -= 1
        }
        append(.sign, from: position, to: position + 1)
      }
    }
  }

  private mutating func readWord() {
    let start = position
    while position < bytes.count, isWordByte(bytes[position]) || bytes[position] == UInt8(ascii: "`") { position += 1 }
    append(.word, from: start, to: position)
  }

  private mutating func append(_ kind: Token.Kind, from start: Int, to end: Int) {
    tokens.append(
      Token(kind: kind, text: text(start, end), line: line, touchesPrevious: endOfLastToken == start))
    position = end
    endOfLastToken = end
  }

  private mutating func readLineComment() {
    let (start, lineFeed) = (position, UInt8(ascii: "\n"))
    while position < bytes.count, bytes[position] != lineFeed { position += 1 }
    comments.append(Comment(text: text(start, position), line: line))
  }

  /// Block comments nest; each of their lines becomes a comment of its own.
  private mutating func readBlockComment() {
    var start = position
    var depth = 0
    repeat {
      if starts(with: "/*") {
        depth += 1
        position += 2
      } else if starts(with: "*/") {
        depth -= 1
        position += 2
      } else {
        if bytes[position] == UInt8(ascii: "\n") {
          comments.append(Comment(text: text(start, position), line: line))
          line += 1
          start = position + 1
        }
        position += 1
      }
    } while depth > 0 && position < bytes.count
    comments.append(Comment(text: text(start, position), line: line))
  }

  /// The number of `#` before a quotation mark that opens a string here, or nil if none opens here.
  private func poundsBeforeQuote() -> Int? {
    var count = 0
    while position + count < bytes.count, bytes[position + count] == UInt8(ascii: "#") { count += 1 }
    guard position + count < bytes.count, bytes[position + count] == UInt8(ascii: "\"") else { return nil }
    return count
  }

  private mutating func readString(pounds: Int) {
    position += pounds
    let suffix = String(repeating: "#", count: pounds)
    let quotes = starts(with: "\"\"\"") ? "\"\"\"" : "\""
    let (end, escape) = (quotes + suffix, "\\" + suffix)
    let (quote, backslash) = (UInt8(ascii: "\""), UInt8(ascii: "\\"))
    position += quotes.utf8.count
    while position < bytes.count {
      let byte = bytes[position]
      if byte == quote, starts(with: end) {
        position += quotes.utf8.count + pounds
        return
      }
      if byte == backslash, starts(with: escape + "(") {
        position += pounds + 2
        readCode(untilClosingParenthesis: true)
      } else if byte == backslash, starts(with: escape), position + pounds + 1 < bytes.count {
        // An escaped quotation mark, or a backslash, closes nothing.
        if bytes[position + pounds + 1] == UInt8(ascii: "\n") { line += 1 }
        position += pounds + 2
      } else {
        if byte == UInt8(ascii: "\n") {
          line += 1
          // A one-line string that never ends would swallow the rest of the file and hide what is in it.
          if quotes.utf8.count == 1 {
            position += 1
            return
          }
        }
        position += 1
      }
    }
  }

  private mutating func skip(past end: String) {
    position += end.utf8.count
    while position < bytes.count, !starts(with: end) {
      if bytes[position] == UInt8(ascii: "\n") { line += 1 }
      position += 1
    }
    position = min(position + end.utf8.count, bytes.count)
  }

  private func starts(with text: String) -> Bool {
    var index = position
    for byte in text.utf8 {
      guard index < bytes.count, bytes[index] == byte else { return false }
      index += 1
    }
    return true
  }

  private func isWordByte(_ byte: UInt8) -> Bool { wordBytes[Int(byte)] }

  private func text(_ start: Int, _ end: Int) -> String { String(decoding: bytes[start..<end], as: UTF8.self) }
}
