// Words: what they are folded to, and where they end.

@testable import QuireText
import QuireTesting
import Testing

@Suite("Words") struct WordsTests {
  private let words: TextTokenizer = .words

  @Test("Case, accents and width make no difference")
  func folding() {
    #expect(words.terms("Straßen, Cafés cafe\u{301}s ﬁn Ｑｕｉｒｅ") == ["strassen", "cafes", "cafes", "fin", "quire"])
    #expect(words.terms("ΆΛΦΑ Ёлка ŁÓDŹ İstanbul ǅ ᾳ") == ["αλφα", "елка", "lodz", "istanbul", "dz", "α"])
    #expect(words.terms("שָׁלוֹם مُحَمَّد ﻣﺤﻤﺪ 𝐁old Ⅷ") == ["שלום", "محمد", "محمد", "bold", "ⅷ"])
  }

  @Test("Accents and capitals are kept where that is wanted, in one form each")
  func options() {
    let accents = words.keepingAccents()
    #expect(accents.terms("Cafés CAFE\u{301}S Łódź") == ["cafés", "cafés", "łódź"])
    #expect(accents.terms("Å \u{212b} A\u{30a}") == ["å", "å", "å"])
    let capitals = words.keepingCase()
    #expect(capitals.terms("Cafés Polish polish ﬁn Łódź") == ["Cafes", "Polish", "polish", "fin", "Lodz"])
    #expect(capitals.keepingAccents().terms("Cafe\u{301}S ß Ｑ") == ["CaféS", "ß", "Q"])
  }

  @Test("Marks of other scripts are no accents")
  func marks() {
    #expect(words.terms("हिन्दी தமிழ்") == ["हिन्दी", "தமிழ்"])
    #expect(words.terms("ガ") != words.terms("カ"))
    #expect(words.terms("ｶﾞ") == words.terms("ガ"))
    #expect(words.terms("カ\u{3099}") == words.terms("ガ"))
  }

  @Test("What is not seen is in no word")
  func ignorable() {
    #expect(words.terms("co\u{ad}operate می\u{200c}خواهم a\u{fe0f}b") == ["cooperate", "میخواهم", "ab"])
  }

  @Test("Words end at full stops, underscores, colons and apostrophes")
  func ends() {
    #expect(words.terms("org.eclipse.ui e.g.") == ["org", "eclipse", "ui", "e", "g"])
    #expect(words.terms("to_be_found __ _c_ a_1 1_2") == ["to", "be", "found", "c", "a", "1", "1", "2"])
    #expect(words.terms("a\u{2024}b\u{ff0e}c\u{203f}d") == ["a", "b", "c", "d"])
    #expect(words.terms("title:blue a:b\u{fe55}c\u{ff1a}d") == ["title", "blue", "a", "b", "c", "d"])
    #expect(words.terms("don't l’eau a\u{ff07}b 'q' 'a''b'") == ["don", "t", "l", "eau", "a", "b", "q", "a", "b"])
  }

  @Test("Full stops, commas and the like join digits, and middle dots letters, as Unicode has it")
  func joined() {
    #expect(words.terms("3.14 1,000;5 1'000 10.x a,b") == ["3.14", "1,000;5", "1'000", "10", "x", "a", "b"])
    #expect(words.terms("v1.2 2.x.1 x.2.3") == ["v1.2", "2", "x", "1", "x", "2.3"])
    #expect(words.terms("col\u{b7}leccio\u{301} 192.168.0.1. ٣.٤") == ["col·leccio", "192.168.0.1", "٣.٤"])
    #expect(words.terms("צה\"ל ג'ירפה פר'") == ["צה\"ל", "ג'ירפה", "פר'"])
  }

  @Test("Emoji are words, other symbols are none")
  func emoji() {
    #expect(words.terms("I 👩‍🚀 👩🚀 🇩🇪🇫🇷 © → ™ √2") == ["i", "👩🚀", "👩", "🚀", "🇩🇪", "🇫🇷", "2"])
  }

  @Test("Tokens stand where their words stand")
  func places() {
    let tokens = words.tokens(Array("¿Qué e\u{301}té? Straße".utf8))
    #expect(tokens.map(\.text) == ["que", "ete", "strasse"])
    #expect(tokens.map(\.place.range) == [2..<6, 7..<13, 15..<22])
    #expect(tokens.allSatisfy { $0.place.step == 1 && !$0.place.isPrefix })
  }

  /// Words as they are cut and folded when nothing is done twice as fast as it could be: piece by piece by the rules,
  /// each piece folded as a whole.
  private func plainTerms(_ text: [UInt8], keepingAccents: Bool, keepingCase: Bool) -> [[UInt8]] {
    let tables = UnicodeTables.shared
    return withText(text) { view in
      let segmenter = WordSegmenter(view, tables.kinds, .search(joinsAtApostrophes: false))
      var (terms, index): ([[UInt8]], Int) = ([], 0)
      while index < text.count {
        let segment = segmenter.segment(at: index)
        defer { index = segment.end }
        guard segment.bits & ScalarKind.wordMaking != 0 else { continue }
        var (piece, place): ([UInt32], Int) = ([], index)
        while place < segment.end {
          let (scalar, length) = view.scalar(at: place)
          piece += tables.fold(scalar, keepingAccents: keepingAccents, keepingCase: keepingCase)
          place += length
        }
        let term = bytes(tables.normalizer.composed(piece))
        if !term.isEmpty { terms.append(term) }
      }
      return terms
    } ?? []
  }

  /// A text of scalars that have to do with each other, without those that are cut into pairs.
  private static func randomText(_ random: inout SeededRandom) -> [UInt32] {
    let odd: [UInt32] = [
      0x27, 0x2e, 0x2c, 0x3a, 0x5f, 0x22, 0x2019, 0xad, 0x200d, 0x301, 0x308, 0x327, 0x345, 0x5d0, 0x5b8, 0x660, 0x600,
      0x1f1e6, 0x1f1e7, 0x1f600, 0x1f3fb, 0xfb01, 0xdf, 0x130, 0x131, 0x3099, 0xfe0f, 0x915, 0x93c, 0x94d, 0x9be, 0x9c7,
      0xfffd, 0x85, 0xd, 0xa, 0x20, 0x1e9b, 0x323, 0x3b1, 0xb7, 0xe9, 0x1ea5, 0xff21, 0x1d400, 0x653, 0x627,
    ]
    return (0..<random.below(14)).map { _ in
      if random.oneIn(2) { return odd.randomElement(using: &random) ?? 0 }
      if random.oneIn(2) { return UInt32(0x20 + random.below(0x5f)) }
      let scalar = UInt32(0xa0 + random.below(random.oneIn(2) ? 0x3000 : 0x300))
      return UnicodeTables.shared.kinds[scalar].isUnspaced ? 0x61 : scalar
    }
  }

  @Test("The quick ways give what the rules give", arguments: [false, true], [false, true])
  func quickWays(keepingAccents: Bool, keepingCase: Bool) {
    var random = SeededRandom(seed: 29)
    var tokenizer = words
    if keepingAccents { tokenizer = tokenizer.keepingAccents() }
    if keepingCase { tokenizer = tokenizer.keepingCase() }
    for _ in 0..<TestSize.trials(40_000, divisor: 50) {
      let text = bytes(Self.randomText(&random))
      let plain = plainTerms(text, keepingAccents: keepingAccents, keepingCase: keepingCase)
      #expect(tokenizer.tokens(text).map(\.term) == plain, "\(String(decoding: text, as: UTF8.self))")
    }
  }

  @Test("Words that are stemmed are those of the rules with apostrophes in words, where the language has them so")
  func stemmedWords() {
    var random = SeededRandom(seed: 31)
    for trial in 0..<TestSize.trials(40_000, divisor: 50) {
      let language = StemmingLanguage.allCases[trial % StemmingLanguage.allCases.count]
      let text = bytes(Self.randomText(&random))
      let rules = WordSegmenter.Rules.search(joinsAtApostrophes: ![.german, .spanish].contains(language))
      let ranges: [Range<Int>]? = withText(text) { view in
        let segmenter = WordSegmenter(view, UnicodeTables.shared.kinds, rules)
        var (ranges, index): ([Range<Int>], Int) = ([], 0)
        while index < text.count {
          let segment = segmenter.segment(at: index)
          if segment.bits & ScalarKind.wordMaking != 0 { ranges.append(index..<segment.end) }
          index = segment.end
        }
        return ranges
      }
      let tokens = words.stemmed(language).tokens(text)
      #expect(tokens.map(\.place.range) == ranges ?? [], "\(String(decoding: text, as: UTF8.self))")
    }
  }

  @Test("Texts that are canonically equal have the same words", arguments: [false, true])
  func equivalence(keepingAccents: Bool) {
    let normalizer = UnicodeTables.shared.normalizer
    let tokenizer = keepingAccents ? words.keepingAccents() : words
    var random = SeededRandom(seed: 30)
    for _ in 0..<TestSize.trials(40_000, divisor: 50) {
      let text = Self.randomText(&random)
      let terms = tokenizer.tokens(bytes(text)).map(\.term)
      #expect(tokenizer.tokens(bytes(normalizer.decomposed(text))).map(\.term) == terms)
      #expect(tokenizer.tokens(bytes(normalizer.composed(text))).map(\.term) == terms)
    }
  }

  @Test("What is folded is folded to itself", arguments: [false, true], [false, true])
  func stability(keepingAccents: Bool, keepingCase: Bool) {
    let tables = UnicodeTables.shared
    for scalar in manyScalars where TestSize.isFull || scalar % 8 == (keepingCase ? 0 : 1) {
      let folded = tables.fold(scalar, keepingAccents: keepingAccents, keepingCase: keepingCase)
      let again = folded.flatMap { tables.fold($0, keepingAccents: keepingAccents, keepingCase: keepingCase) }
      #expect(tables.normalizer.composed(again) == folded, "\(scalar)")
    }
  }
}
