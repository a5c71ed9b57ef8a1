// What FTS5's scripts have its tokenizers make of texts, as a table: tokenizers with texts and their tokens.

@testable import QuireFullText
import QuireDatabase
import QuireTesting
import QuireText
import Testing

/// A tokenizer, with texts and the tokens of each.
struct TokenTable: CustomTestStringConvertible, Sendable {
  let testDescription: String
  let cut: SearchTable.Cut
  let texts: [(text: String, tokens: [String])]

  init(_ name: String, _ cut: SearchTable.Cut, _ texts: [(text: String, tokens: [String])]) {
    (testDescription, self.cut, self.texts) = (name, cut, texts)
  }

  /// With characters that are parts of words, and others that are not.
  private static func cut(_ tokenCharacters: String, _ separators: String) -> SearchTable.Cut {
    .init(
      .unicode61(tokenCharacters: tokenCharacters, separators: separators),
      "unicode61 tokenchars '\(tokenCharacters)' separators '\(separators)'")
  }

  private static let accents = SearchTable.Cut(
    .unicode61(removeDiacritics: .none), "unicode61 remove_diacritics 0")

  private static func separated(_ separators: String, removal: DiacriticRemoval) -> SearchTable.Cut {
    .init(
      .unicode61(removeDiacritics: removal, separators: separators),
      "unicode61 separators '\(separators)' remove_diacritics \(removal.rawValue)")
  }

  static let all: [TokenTable] = [
    TokenTable(
      "fts5unicode and fts5unicode2: words", .plain,
      [
        ("A B C D", ["a", "b", "c", "d"]), ("May you share freely,", ["may", "you", "share", "freely"]),
        ("..May...you.shAre.freely", ["may", "you", "share", "freely"]), ("", []),
        ("a B c D", ["a", "b", "c", "d"]), ("Ä Ö Ü", ["a", "o", "u"]), ("xÄx xÖx xÜx", ["xax", "xox", "xux"]),
        ("xx\u{301}xx", ["xxxx"]), ("ÀÈÌ", ["aei"]), ("abc\0def", ["abc", "def"]), ("\u{fffe}def", ["def"]),
      ]),
    TokenTable(
      "fts5unicode2: diacritics are kept", accents,
      [
        ("a B c D", ["a", "b", "c", "d"]), ("Ä Ö Ü", ["ä", "ö", "ü"]), ("xÄx xÖx xÜx", ["xäx", "xöx", "xüx"]),
        ("\u{df}", ["\u{df}"]), ("\u{1e9e}", ["\u{df}"]), ("The quick brown fox", ["the", "quick", "brown", "fox"]),
        ("The\u{bf}quick\u{224e}brown\u{2263}fox", ["the", "quick", "brown", "fox"]), ("\u{1c5}", ["\u{1c6}"]),
        ("ÁabcÂ ÑdefÃ", ["áabcâ", "ñdefã"]), ("\u{a2}abc\u{a3} \u{a4}def\u{a5}", ["abc", "def"]),
      ]),
    TokenTable(
      "fts5unicode2: no characters of one's own", cut("", ""),
      [("sqlite3_reset sqlite3_column_int", ["sqlite3", "reset", "sqlite3", "column", "int"])]),
    TokenTable(
      "fts5unicode2: underscores are parts of words", cut("_", ""),
      [("sqlite3_reset sqlite3_column_int", ["sqlite3_reset", "sqlite3_column_int"])]),
    TokenTable(
      "fts5unicode2: letters separate words", cut("", "xyz"),
      [("Laotianxhorseyrunszfast", ["laotian", "horse", "runs", "fast"])]),
    TokenTable(
      "fts5unicode2: letters are parts of words", cut("xyz", ""),
      [("Laotianxhorseyrunszfast", ["laotianxhorseyrunszfast"])]),
    TokenTable(
      "fts5unicode2: both", cut("_", "zyx"),
      [
        (
          "sqlite3_resetxsqlite3_column_intyhonda_phantom",
          ["sqlite3_reset", "sqlite3_column_int", "honda_phantom"]
        )
      ]),
    TokenTable(
      "fts5unicode2: a Hebrew letter separates words", cut("", "\u{5d1}"), [("abc\u{5d1}def", ["abc", "def"])]),
    TokenTable(
      "fts5unicode2: signs and Hebrew letters", cut("\u{2444}\u{2445}", "\u{5d0}\u{5d1}\u{5d2}"),
      [
        (
          "\u{2444}fre\u{2445}sh\u{5d0}water\u{5d2}fish.\u{2445}timer",
          ["\u{2444}fre\u{2445}sh", "water", "fish", "\u{2445}timer"]
        )
      ]),
    TokenTable(
      "fts5unicode2: a diacritic separates nothing", separated("\u{301}", removal: .simple),
      [("hello\u{301}world \u{301}helloworld", ["helloworld", "helloworld"])]),
    TokenTable(
      "fts5unicode2: a diacritic that is kept separates nothing", separated("\u{301}", removal: .none),
      [("hello\u{301}world \u{301}helloworld", ["hello\u{301}world", "helloworld"])]),
    TokenTable(
      "fts5unicode2: a diacritic is no part of words", cut("\u{301}", ""),
      [("hello\u{301}world \u{301}helloworld", ["helloworld", "helloworld"])]),
    TokenTable("fts5unicode2: blank space", .plain, blanks),
    TokenTable(
      "fts5unicode2: characters for private use are parts of words", .plain,
      privates.map { ("hello\($0)world", ["hello\($0)world"]) }),
    TokenTable(
      "fts5unicode2: characters for private use separate words", cut("", privates.joined()),
      privates.map { ("hello\($0)world", ["hello", "world"]) }),
    TokenTable(
      "fts5unicode: characters of four bytes", cut("\u{1f75e}", "\u{2f802}"),
      [("\u{1f75e}\u{1f5fd}\u{2f802}\u{2f808}", ["\u{1f75e}", "\u{2f808}"])]),
    TokenTable(
      "fts5tok1: letters and an apostrophe", cut("''", "xyz"),
      [
        ("one two three", ["one", "two", "three"]), ("OnE tWo tHrEe", ["one", "two", "three"]),
        ("1x2x3x", ["1", "2", "3"]), ("1'2x3x", ["1'2", "3"]), ("123", ["123"]),
      ]),
    TokenTable(
      "fts5tokenizer: an Ethiopic letter separates words", cut("", "\u{1234}"), [("abc\u{1234}def", ["abc", "def"])]),
    TokenTable(
      "fts5cat: vowel signs separate words, as long as no categories are named", .plain,
      [("สนามกีฬา", ["สนามก", "ฬา"]), ("Unlike1option2values3", ["unlike1option2values3"])]),
    TokenTable(
      "fts5trigram: runs of three", .init(TextTokenizer.trigrams, "trigram"),
      [("ABCD", ["abc", "bcd"]), ("ab", []), ("กรุง", ["กร\u{e38}", "ร\u{e38}ง"])]),
  ]

  private static let privates = ["\u{e000}", "\u{e001}", "\u{f000}", "\u{f8fe}", "\u{f8ff}"]

  private static let blanks: [(text: String, tokens: [String])] = {
    let codes: [UInt32] = [
      32, 160, 5760, 6158, 8192, 8193, 8194, 8195, 8196, 8197, 8198, 8199, 8200, 8201, 8202, 8239, 8287, 12288,
    ]
    let blanks = codes.compactMap(Unicode.Scalar.init).map { String(Character($0)) }
    return (blanks + [blanks.joined()]).map { ("\($0)hello\($0)world\($0)", ["hello", "world"]) }
  }()
}

@Suite("What FTS5's tests cut")
struct FTS5TokenTests {
  @Test("Texts are cut as FTS5 does", arguments: TokenTable.all)
  func cut(table: TokenTable) throws {
    for (text, tokens) in table.texts {
      let fts5 = try FTS5Oracle(columns: ["x"], tokenizer: table.cut.fts5)
      try fts5.insert(RowID(1), [text])
      #expect(try fts5.tokens() == tokens, "FTS5: \(text)")
      let found = try table.cut.tokenizer.tokens(of: text, for: .document)
      #expect(found.map { String(decoding: $0.term, as: UTF8.self) } == tokens, "\(text)")
    }
  }

  @Test("Words are completed by all that FTS5 lists of a table, with as many rows")
  func vocabulary() throws {
    // fts5vocab.
    let documents = [
      ["d g b f d f", "f c e c d a"], ["f a e a a b", "e d c f d d"], ["b c a a a b", "f f c c b c"],
      ["f d c a c e", "d g d e g d"], ["g d e f a g x", "f f d a a b"], ["g c f b c g", "a g f d c b"],
      ["c e c f g b", "f e d b g a"], ["g d e f d e", "a c d b a g"], ["e f a c c b", "b f e a f d y"],
      ["c c a a c f", "d g a e b g"],
    ]
    let trio = try SearchTrio(.papers(["a", "b"]), fields: ["a", "b"], tokenizer: .unicode61())
    try trio.register()
    for (number, texts) in documents.enumerated() {
      try trio.write { tx in try trio.set(tx, "\(number)", texts) }
    }
    let expected = ["a 10", "b 9", "c 9", "d 9", "e 8", "f 10", "g 7", "x 1", "y 1"]
    func lists() throws -> (theirs: [String], ours: [String]) {
      let theirs = try trio.fts5.terms().map { "\($0.text) \($0.rowCount)" }
      return (
        theirs,
        try trio.database.read { tx in try tx[.papers].terms(beginningWith: "").map { "\($0.text) \($0.rowCount)" } }
      )
    }
    var (theirs, ours) = try lists()
    #expect(theirs == expected && ours == expected)
    try trio.write { tx in try trio.remove(tx, ["4"]) }
    (theirs, ours) = try lists()
    #expect(theirs == ours && !ours.contains("x 1"))
  }
}
