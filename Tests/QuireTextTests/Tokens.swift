// Tokens as values, for the tests of tokenizers.

import QuireText

/// A token, copied.
struct Token: Equatable, CustomStringConvertible {
  var term: [UInt8]
  var place: TokenPlace

  var text: String { String(decoding: term, as: UTF8.self) }

  var description: String {
    "\(text)@\(place.range)" + (place.step == 1 ? "" : " step \(place.step)") + (place.isPrefix ? "*" : "")
  }
}

extension Tokenizer {
  /// All tokens of some bytes.
  func tokens(_ bytes: [UInt8], _ purpose: TokenPurpose = .document) -> [Token] {
    var tokens: [Token] = []
    do {
      try forEachToken(in: bytes.span.bytes, for: purpose) { term, place in
        tokens.append(Token(term: term.withUnsafeBytes { [UInt8]($0) }, place: place))
      }
    } catch {
      preconditionFailure("the body throws nothing")
    }
    return tokens
  }

  /// The terms of a text; a prefix has a star, and what has the position of the token in front of it a plus.
  func terms(_ text: String, _ purpose: TokenPurpose = .document) -> [String] {
    tokens(Array(text.utf8), purpose).map {
      ($0.place.step == 0 ? "+" : "") + $0.text + ($0.place.isPrefix ? "*" : "")
    }
  }
}
