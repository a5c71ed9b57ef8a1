// Languages without spaces between words.

@testable import QuireText
import QuireTesting
import Testing

@Suite("Runs without spaces") struct RunsTests {
  private let words: TextTokenizer = .words

  @Test("A document has all pairs and the last character, a query the pairs")
  func pairs() {
    #expect(words.terms("東京都") == ["東京", "京都", "都"])
    #expect(words.terms("東京都", .query) == ["東京", "京都"])
    #expect(words.terms("都") == ["都"])
    #expect(words.terms("都", .query) == ["都*"])
    let tokens = words.tokens(Array("a東京都".utf8))
    #expect(tokens.map(\.place.range) == [0..<1, 1..<7, 4..<10, 7..<10])
    #expect(tokens.map(\.place.step) == [1, 1, 1, 1])
  }

  @Test("A run of a query that other words follow ends as in a document")
  func followedRuns() {
    #expect(words.terms("東京 大阪", .query) == ["東京", "京", "大阪"])
    #expect(words.terms("3月5日", .query) == ["3", "月", "5", "日*"])
    #expect(words.terms("3月5日") == ["3", "月", "5", "日"])
    #expect(words.terms("東京。", .query) == ["東京"])
    #expect(words.terms("東京", .queryBeginning) == ["東京", "京"])
    #expect(words.terms("京", .queryBeginning) == ["京"])
    #expect(words.terms("東京 a", .queryBeginning) == ["東京", "京", "a"])
  }

  @Test("All scripts without spaces are cut so, in any mixture, and Hangul")
  func scripts() {
    #expect(words.terms("食べるメニュー", .query) == ["食べ", "べる", "るメ", "メニ", "ニュ", "ュー"])
    #expect(words.terms("한국어", .query) == ["한국", "국어"])
    #expect(words.terms("ລາວ", .query) == ["ລາ", "າວ"])
    #expect(words.terms("ｱｲ々〇", .query) == ["アイ", "イ々", "々〇"])
    #expect(words.terms("T恤 ３Ｄ", .query) == ["t", "恤", "3d"])
    // Jamo are letters of one syllable.
    #expect(words.terms("\u{1112}\u{1161}\u{11ab}\u{1100}\u{116e}\u{11a8}", .query) == ["한국"])
  }

  @Test("Marks stay with their letters")
  func marks() {
    #expect(words.terms("กินน้ำ", .query) == ["กิน", "นน้", "น้ํา"])
    #expect(words.terms("မြန်မာ", .query) == ["မြန်", "န်မာ"])
    #expect(words.terms("ភាសា", .query) == ["ភាសា"])
    #expect(words.terms("ポ\u{200d}ポ", .query) == ["ポポ"])
  }

  /// Whether a phrase is in a text, by tokens at following positions.
  private func isFound(_ query: [Token], in document: [Token]) -> Bool {
    guard !query.isEmpty, query.count <= document.count else { return false }
    return (0...document.count - query.count).contains { start in
      query.indices.allSatisfy { index in
        let (wanted, token) = (query[index], document[start + index])
        return wanted.place.isPrefix ? token.term.starts(with: wanted.term) : token.term == wanted.term
      }
    }
  }

  @Test("Every substring of a run is found, and nothing else")
  func substrings() {
    var random = SeededRandom(seed: 8)
    let characters = Array("東京都大阪府食べるアイ한국")
    for _ in 0..<TestSize.trials(20_000) {
      let text = (0..<1 + random.below(9)).map { _ in characters[random.below(random.oneIn(2) ? 3 : characters.count)] }
      let document = words.tokens(Array(String(text).utf8))
      let start = random.below(text.count)
      var part = Array(text[start..<start + 1 + random.below(text.count - start)])
      if random.oneIn(2) { part[random.below(part.count)] = characters[random.below(characters.count)] }
      let isPart = (0...text.count - part.count).contains { Array(text[$0..<$0 + part.count]) == part }
      #expect(isFound(words.tokens(Array(String(part).utf8), .query), in: document) == isPart)
    }
  }

  @Test("A query of words and runs finds the text that it was taken from")
  func mixedQueries() {
    var random = SeededRandom(seed: 9)
    let pieces = ["東", "京", "都", " ", "a", "7", "、", "한", "é", "ก", "ิ"]
    for _ in 0..<TestSize.trials(20_000) {
      let text = (0..<1 + random.below(9)).map { _ in pieces[random.below(pieces.count)] }.joined()
      let query = words.tokens(Array(text.utf8), .query)
      let document = words.tokens(Array("x \(text)".utf8))
      #expect(query.isEmpty || isFound(query, in: document), "\(text)")
    }
  }
}
