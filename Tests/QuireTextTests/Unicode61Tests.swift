// The tokenizers that FTS5 has too, against FTS5.

@testable import QuireText
import QuireTesting
import Testing

@Suite("FTS5's tokenizers") struct Unicode61Tests {
  /// Texts in which the scalars stand alone, and between letters.
  private static func texts(_ scalars: some Sequence<UInt32>) -> [[UInt8]] {
    var (texts, text): ([[UInt8]], [UInt8]) = ([], [])
    for scalar in scalars {
      text += bytes([scalar]) + bytes([0x20, 0x71, scalar, 0x41, 0x2c])
      if text.count > 4000 {
        texts.append(text)
        text = []
      }
    }
    return texts + [text]
  }

  private static func compare(_ tokenizer: TextTokenizer, _ oracle: String, _ texts: [[UInt8]]) throws {
    let expected = try SQLiteTokenizer(oracle).terms(texts)
    for (text, terms) in zip(texts, expected) {
      let found = tokenizer.tokens(text).map(\.term)
      if found == terms { continue }
      let place = zip(found, terms).enumerated().first { $1.0 != $1.1 }?.offset ?? min(found.count, terms.count)
      let (ours, theirs) = (found.dropFirst(place).prefix(3), terms.dropFirst(place).prefix(3))
      Issue.record("token \(place) of \(oracle): \(Array(ours)) where FTS5 has \(Array(theirs))")
    }
  }

  @Test(
    "Every scalar is cut and folded as in FTS5", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: DiacriticRemoval.allCases)
  func scalars(removal: DiacriticRemoval) throws {
    // The first planes have all the letters.
    let letters = (1..<0x3000 as Range<UInt32>).filter { TestSize.isFull || $0 % 9 == removal.rawValue }
    let texts = Self.texts(letters + Array(manyScalars.drop { $0 < 0x3000 }))
    let oracle = "unicode61 remove_diacritics \(removal.rawValue)"
    try Self.compare(.unicode61(removeDiacritics: removal), oracle, texts)
  }

  /// Scalars of which texts are made in which much happens.
  private static func randomText(_ random: inout SeededRandom, most: Int) -> [UInt32] {
    (0..<random.below(most)).map { _ in
      switch random.below(8) {
      case 0, 1: UInt32(0x20 + random.below(0x5f))
      case 2: UInt32(0xa0 + random.below(0x1e0))
      case 3: UInt32(0x300 + random.below(0x70))
      case 4: UInt32(0x370 + random.below(0x400))
      case 5: UInt32(0x1e00 + random.below(0x200))
      case 6: UInt32(0x900 + random.below(0x2500))
      default: UInt32([0x4e00, 0xac00, 0x1_0400, 0x1_d400, 0x1_f600].randomElement(using: &random) ?? 0) + 5
      }
    }
  }

  @Test("Random texts are cut as in FTS5")
  func randomTexts() throws {
    var random = SeededRandom(seed: 61)
    let texts = (0..<TestSize.trials(40_000)).map { _ in bytes(Self.randomText(&random, most: 60)) }
    for removal in DiacriticRemoval.allCases {
      let oracle = "unicode61 remove_diacritics \(removal.rawValue)"
      try Self.compare(.unicode61(removeDiacritics: removal), oracle, texts)
    }
  }

  @Test("Token characters and separators are as in FTS5")
  func arguments() throws {
    var random = SeededRandom(seed: 62)
    for _ in 0..<TestSize.trials(80) {
      func characters() -> String {
        let scalars = Self.randomText(&random, most: 12).filter { ![0x22, 0x27].contains($0) }
        return String(decoding: bytes(scalars), as: UTF8.self)
      }
      let (tokenCharacters, separators) = (characters(), characters())
      let own = tokenCharacters.unicodeScalars.map(\.value) + separators.unicodeScalars.map(\.value)
      let texts = (0..<50).map { _ in
        bytes(Self.randomText(&random, most: 30) + own.shuffled(using: &random) + Self.randomText(&random, most: 9))
      }
      let oracle = "unicode61 tokenchars '\(tokenCharacters)' separators '\(separators)'"
      try Self.compare(
        .unicode61(tokenCharacters: tokenCharacters, separators: separators), oracle, texts)
    }
  }

  @Test("Trigrams are as in FTS5", arguments: [false, true])
  func trigrams(keepingCase: Bool) throws {
    var random = SeededRandom(seed: 63)
    let texts = (0..<TestSize.trials(8000)).map { _ in bytes(Self.randomText(&random, most: 40)) }
    let tokenizer: TextTokenizer = keepingCase ? .trigrams.keepingCase() : .trigrams
    try Self.compare(tokenizer, "trigram case_sensitive \(keepingCase ? 1 : 0)", texts)
  }

  @Test("Trigrams stand where their characters stand")
  func trigramPlaces() {
    let tokens = TextTokenizer(.trigrams).tokens(Array("aÉ€b".utf8))
    #expect(tokens.map(\.text) == ["aé€", "é€b"])
    #expect(tokens.map(\.place.range) == [0..<6, 1..<7])
    #expect(TextTokenizer(.trigrams).terms("ab").isEmpty)
  }

  @Test("Tokens stand where their scalars stand, diacritics behind them too")
  func places() {
    let tokens = (.unicode61() as TextTokenizer).tokens(Array("·Ée\u{301}, x".utf8))
    #expect(tokens.map(\.text) == ["ee", "x"])
    #expect(tokens.map(\.place.range) == [2..<7, 9..<10])
  }
}
