// Words that are stemmed on their way to tokens.

@testable import QuireText
import QuireTesting
import Testing

@Suite("Stemmed words") struct StemmedWordsTests {
  private func terms(_ language: StemmingLanguage, _ text: String, keepingAccents: Bool = false) -> [String] {
    let tokenizer = TextTokenizer(.words).stemmed(language)
    return (keepingAccents ? tokenizer.keepingAccents() : tokenizer).terms(text)
  }

  @Test("The forms of a word have one token")
  func english() {
    #expect(terms(.english, "Running HORSES, horse's run") == ["run", "hors", "hors", "run"])
    #expect(terms(.english, "horse’s can't cafés") == ["hors", "can't", "cafe"])
  }

  @Test("Words are stemmed with their accents, which go afterwards")
  func accents() {
    // Without its accent the word would be stemmed in another way.
    #expect(terms(.french, "mangées") == ["mang"])
    #expect(terms(.french, "mangees") == ["mange"])
    #expect(terms(.french, "élève") == ["elev"])
    #expect(terms(.french, "élève", keepingAccents: true) == ["élev"])
    #expect(terms(.german, "Größere Häuser, häuser ha\u{308}user") == ["gross", "haus", "haus", "haus"])
    #expect(terms(.spanish, "canción canciones") == ["cancion", "cancion"])
    #expect(terms(.italian, "città CITTÀ citta\u{300}") == ["citt", "citt", "citt"])
    #expect(terms(.italian, "citta") == ["citt"])
  }

  @Test("What is elided goes in French and Italian")
  func elision() {
    #expect(terms(.french, "l'avion L’avion qu'avion aujourd'hui") == ["avion", "avion", "avion", "aujourd'hui"])
    #expect(terms(.italian, "dell'arte l'arte arte") == ["arte", "arte", "arte"].map { terms(.italian, $0)[0] })
    #expect(terms(.english, "l'avions") == ["l'avion"])
  }

  @Test("Words of other things than letters stay, folded as others are")
  func others() {
    #expect(
      terms(.english, "some.running a_things 3.5 café's2 東京things") == [
        "some.running", "a_things", "3.5", "cafe's2", "東京", "京", "thing",
      ])
    #expect(terms(.english, "हिन्दीs") == TextTokenizer(.words).terms("हिन्दीs"))
  }

  @Test("Words of letters have the stems of the stemmer, folded", arguments: StemmingLanguage.allCases)
  func stems(language: StemmingLanguage) {
    var random = SeededRandom(seed: 1880)
    var stemmer = Stemmer(language)
    let letters = Array("aeioubcdlmnrstyéèüñàz")
    let endings = ["", "s", "es", "ing", "ation", "ement", "lich", "ar", "are", "ées", "ción", "ità", "ungen"]
    for _ in 0..<TestSize.trials(20_000) {
      let root = String((0..<1 + random.below(8)).map { _ in letters[random.below(letters.count)] })
      let word = root + endings[random.below(endings.count)]
      var stem = Array(word.utf8)
      stemmer.stem(&stem)
      let folded = TextTokenizer(.words).tokens(stem).map(\.text).joined()
      #expect(terms(language, word.uppercased()) == [folded], "\(word)")
      #expect(terms(language, word, keepingAccents: true) == [String(decoding: stem, as: UTF8.self)], "\(word)")
    }
  }

  @Test("Options are in the identity, and capitals are not kept")
  func identities() {
    let stemmed: TextTokenizer = .words.stemmed(.english)
    #expect(stemmed.identity == "words+english/1/unicode-15.0.0")
    #expect(stemmed.keepingAccents().identity == "words+english+accents/1/unicode-15.0.0")
    #expect(stemmed.keepingCase() == stemmed)
    #expect((.words.keepingCase().stemmed(.english) as TextTokenizer) == stemmed)
    #expect((.trigrams.stemmed(.english) as TextTokenizer) == .trigrams)
  }
}
