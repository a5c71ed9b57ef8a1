// Words: what they are folded to, and where they end.

import QuireText
import Testing

@Suite("Words") struct WordsTests {
  private let words: any Tokenizer = .words

  @Test("Case, accents and width make no difference")
  func folding() {
    #expect(words.terms("Straßen, Cafés cafe\u{301}s ﬁn Ｑｕｉｒｅ") == ["strassen", "cafes", "cafes", "fin", "quire"])
    #expect(words.terms("ΆΛΦΑ Ёлка ŁÓDŹ İstanbul ǅ") == ["αλφα", "елка", "lodz", "istanbul", "dz"])
  }
}
