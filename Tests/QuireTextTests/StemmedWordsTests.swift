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
    #expect(terms(.english, "org.eclipses.horses to_be_running") == ["org", "eclips", "hors", "to", "be", "run"])
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

  @Test("An apostrophe parts words in languages whose stemmers do not know it")
  func apostrophes() {
    #expect(terms(.german, "geht's Andreas’ Häuser") == ["geht", "s", "andreas", "haus"])
    #expect(terms(.spanish, "d'horizontes") == ["d", "horizont"])
  }

  @Test("Words of other things than letters stay, folded as others are")
  func others() {
    #expect(
      terms(.english, "running2 3.5 café's2 東京things") == ["running2", "3.5", "cafe's2", "東京", "京", "thing"])
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

  @Test("Words that were stemmed before have the same stems, on any thread and whatever came in between")
  func stemsAgain() async {
    var random = SeededRandom(seed: 1881)
    var stemmer = Stemmer(.english)
    let endings = ["", "s", "es", "ing", "ation", "ational", "'s"]
    let words = (0..<9_000).map { number in "w\(String(number, radix: 26, uppercase: false))".filter(\.isLetter) }
      .map { $0 + endings[random.below(endings.count)] }
    let stems = words.map { word in
      var stem = Array(word.utf8)
      stemmer.stem(&stem)
      return String(decoding: stem, as: UTF8.self)
    }
    await withTaskGroup(of: Bool.self) { group in
      for part in 0..<4 {
        group.addTask {
          let order = (0..<2 * words.count).map { ($0 * (part + 1)) % words.count }
          return order.allSatisfy { terms(.english, words[$0]) == [stems[$0]] }
        }
      }
      for await isRight in group { #expect(isRight) }
    }
  }

  @Test("Options are in the identity, and capitals are not kept")
  func identities() {
    let stemmed: TextTokenizer = .words.stemmed(.english)
    #expect(stemmed.identity == "words+english/2/unicode-15.0.0")
    #expect(stemmed.keepingAccents().identity == "words+english+accents/2/unicode-15.0.0")
    #expect(stemmed.keepingCase() == stemmed)
    #expect((.words.keepingCase().stemmed(.english) as TextTokenizer) == stemmed)
    #expect((.trigrams.stemmed(.english) as TextTokenizer) == .trigrams)
  }
}
