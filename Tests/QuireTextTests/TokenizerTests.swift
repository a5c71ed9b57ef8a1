// What all tokenizers promise.

import QuireText
import QuireTesting
import Testing

@Suite("Tokenizers") struct TokenizerTests {
  static let all: [TextTokenizer] = [
    .words, .words.keepingAccents(), .words.keepingCase(), .words.keepingAccents().keepingCase(), .unicode61(),
    .unicode61(removeDiacritics: .complete, tokenCharacters: "-€", separators: "xé"), .trigrams,
    .trigrams.keepingCase(), .identifiers, .identifiers.keepingAccents(), .words.stemmed(.french),
  ]

  /// Whether tokens are what a tokenizer may give of a text.
  private static func check(_ tokens: [Token], _ text: [UInt8], _ tokenizer: TextTokenizer) {
    var begin = 0
    for token in tokens {
      let range = token.place.range
      let isSound = range.lowerBound >= begin && !range.isEmpty && range.upperBound <= text.count
      let isTerm = !token.term.isEmpty && token.term.count <= 1024
      let isText = String(validating: token.term, as: UTF8.self) != nil
      #expect(isSound && isTerm && isText, "\(tokenizer.identity): \(token) of \(text)")
      begin = range.lowerBound
    }
    #expect(tokens.first.map { $0.place.step == 1 } ?? true)
    #expect(tokens.allSatisfy { (0...1).contains($0.place.step) })
  }

  @Test("Any bytes are cut, and tokens lie in the text in order")
  func hostileBytes() {
    var random = SeededRandom(seed: 100_000)
    let characters = "é 東 京 한 ก \u{e34} \u{301} \u{200d} 👩 🚀 🇩 A b _ . ' 7 ,"
    let pieces = characters.unicodeScalars.map { Array(String($0).utf8) }
    for trial in 0..<TestSize.trials(100_000, divisor: 20) {
      let text = (0..<random.below(24)).flatMap { _ in
        random.oneIn(3) ? [UInt8(random.below(256))] : pieces[random.below(pieces.count)].dropLast(random.below(8) / 7)
      }
      let tokenizer = Self.all[trial % Self.all.count]
      for purpose in [TokenPurpose.document, .query, .queryBeginning] {
        Self.check(tokenizer.tokens(text, purpose), text, tokenizer)
      }
    }
  }

  @Test("Every byte and pair of bytes alone is cut", arguments: all)
  func shortTexts(tokenizer: TextTokenizer) {
    #expect(tokenizer.tokens([]).isEmpty)
    for first in UInt8.min...UInt8.max {
      Self.check(tokenizer.tokens([first]), [first], tokenizer)
      for second in stride(from: 0 as UInt8, to: 255, by: TestSize.isFull ? 1 : 15) {
        Self.check(tokenizer.tokens([first, second], .query), [first, second], tokenizer)
      }
    }
  }

  @Test("Long tokens are cut between scalars, and their ranges are whole")
  func longTokens() {
    let count = 100_000
    for (letter, words) in [("a", 1024), ("é", 1024), ("ж", 1024), ("क", 1023), ("𐐀", 1024)] {
      let text = Array(String(repeating: letter, count: count).utf8)
      for tokenizer in [.words, .words.keepingAccents(), .unicode61(removeDiacritics: .none)] as [TextTokenizer] {
        let tokens = tokenizer.tokens(text)
        #expect(tokens.map(\.place.range) == [0..<text.count])
        #expect(tokens.map(\.term.count) == [words], "\(letter)")
        Self.check(tokens, text, tokenizer)
      }
    }
    // A letter with more marks than there is room for, alone and in a run.
    for letter in ["e", "क", "東", "ก"] {
      for mark in ["\u{301}", "\u{94d}", "\u{e34}", "\u{3099}", "\u{200d}"] {
        let text = Array((letter + String(repeating: mark, count: 3000) + letter).utf8)
        for tokenizer in Self.all { Self.check(tokenizer.tokens(text, .query), text, tokenizer) }
      }
    }
  }

  @Test(
    "Time grows with the length of a text, whatever is in it", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: all)
  func linearTime(tokenizer: TextTokenizer) throws {
    for piece in ["a.", "a'\u{301}", "1,\u{301}", "א\"", "AB", "_a", "🇩", "東\u{301}", "e\u{323}\u{301}"] {
      let growth = try Effort.growth(of: TestSize.isFull ? 2000 : 700, by: 8) { count in
        let text = Array(String(repeating: piece, count: count).utf8)
        return { _ = tokenizer.tokens(text, .query) }
      }
      #expect(growth < 24, "\(piece)")
    }
  }

  @Test("What a body throws comes out, and no token follows")
  func errors() {
    struct Stop: Error {}
    for tokenizer in Self.all {
      var count = 0
      #expect(throws: Stop.self) {
        try tokenizer.forEachToken(in: Array("aBc deF 東京都".utf8).span.bytes, for: .document) { _, _ in
          count += 1
          throw Stop()
        }
      }
      #expect(count == 1)
    }
  }

  @Test("Identities are what is stored, and differ where tokens differ")
  func identities() {
    let (end, wordsEnd) = ("/1/unicode-15.0.0", "/2/unicode-15.0.0")
    #expect(
      Self.all.map(\.identity) == [
        "words" + wordsEnd, "words+accents" + wordsEnd, "words+case" + wordsEnd, "words+accents+case" + wordsEnd,
        "unicode61(sqlite-3.40,diacritics-1)" + end,
        "unicode61(sqlite-3.40,diacritics-2,turned 2d 78 e9 20ac)" + end, "trigrams" + end, "trigrams+case" + end,
        "identifiers" + end, "identifiers+accents" + end, "words+french" + wordsEnd,
      ])
    let same: TextTokenizer = .unicode61(removeDiacritics: .complete, tokenCharacters: "€-a€", separators: "éxé ")
    #expect(same.identity == Self.all[5].identity)
    #expect(same == Self.all[5])
    #expect((.unicode61().keepingAccents() as TextTokenizer) == .unicode61())
  }

  /// Cuts at commas, as an app may.
  private struct Commas: Tokenizer {
    var identity: String { "commas/1" }

    func forEachToken(
      in text: RawSpan, for purpose: TokenPurpose, _ body: (RawSpan, TokenPlace) throws -> Void
    ) throws {
      var start = 0
      for end in 0...text.byteCount where end == text.byteCount || text[end] == UInt8(ascii: ",") {
        try body(text.extracting(start..<end), TokenPlace(range: start..<end))
        start = end + 1
      }
    }
  }

  @Test("An app has its own")
  func ownTokenizer() { #expect(Commas().terms("a b,c") == ["a b", "c"]) }
}

extension RawSpan {
  fileprivate subscript(index: Int) -> UInt8 { unsafeLoad(fromByteOffset: index, as: UInt8.self) }
}
