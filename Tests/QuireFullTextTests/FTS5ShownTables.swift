// What FTS5's scripts have highlight() and snippet() show, as tables: documents, searches and what is shown.

import QuireText
import Testing

/// Documents with searches and what is shown of the rows that these find, one column after the other.
struct HighlightTable: CustomTestStringConvertible, Sendable {
  let name: String
  let columns: [String]
  var cut = SearchTable.Cut.plain
  let documents: [[String]]
  let shown: [(text: String, rows: [[String]])]
  /// What some versions of SQLite show otherwise: by a mistake of 3.40, or as one run what is two side by side.
  var others: [String: [[String]]] = [:]

  var testDescription: String { name }

  static let all = [
    letters, alphabet, phrases, columnsOfPhrases, prefixes, trigrams, casedTrigrams, jointTrigrams, parts, numbers,
    runs, noted,
  ]
}

// MARK: Highlights

extension HighlightTable {
  /// fts5ak, its first table.
  static let letters = HighlightTable(
    name: "Letters", columns: ["x"],
    documents: SearchTable.letters(
      """
      iddagibgdd
      hdbjccgaca
      ejaefhbfhh
      jfhdghibdf
      dcjdcjbcge
      iadegjgdaa
      jfcedahjdb
      iccfadghje
      idigcdchbf
      gdaehabcfj
      """),
    shown: [
      (
        "e",
        rows(
          "[e] j a [e] f h b f h h", "d c j d c j b c g [e]", "i a d [e] g j g d a a", "j f c [e] d a h j d b",
          "i c c f a d g h j [e]", "g d a [e] h a b c f j")
      ),
      ("h + d", rows("[h d] b j c c g a c a", "j f [h d] g h i b d f")),
      ("d + d", rows("i [d d] a g i b g [d d]")),
      (
        "e e e",
        rows(
          "[e] j a [e] f h b f h h", "d c j d c j b c g [e]", "i a d [e] g j g d a a", "j f c [e] d a h j d b",
          "i c c f a d g h j [e]", "g d a [e] h a b c f j")
      ),
      ("d + d d + d", rows("i [d d] a g i b g [d d]")),
    ])

  /// fts5ak, phrases that overlap or stand beside each other.
  static let alphabet = HighlightTable(
    name: "Phrases that overlap", columns: ["x"], documents: [["a b c d e f g h i j"]],
    shown: [
      ("b+c+d c+d+e", rows("a [b c d e] f g h i j")), ("b+c+d e+f+g", rows("a [b c d] [e f g] h i j")),
      ("b+c+d c", rows("a [b c d] e f g h i j")), ("b+c c+d+e", rows("a [b c d e] f g h i j")),
      ("f d", rows("a b c [d] e [f] g h i j")), ("d f", rows("a b c [d] e [f] g h i j")),
    ])

  /// fts5ak, the example of the documentation.
  static let phrases = HighlightTable(
    name: "The example of the documentation", columns: ["a"],
    documents: [["a b c x c d e"], ["a b c c d e"], ["a b c d e"]],
    shown: [("a+b+c AND c+d+e", rows("[a b c] x [c d e]", "[a b c] [c d e]", "[a b c d e]"))])

  /// fts5phrase, a phrase of one column.
  static let columnsOfPhrases = HighlightTable(
    name: "A phrase of one column", columns: ["a", "b", "c"], documents: SearchTable.phrasesOfColumns.documents,
    shown: [("a:f+f", [["h [f f]", "i j g e c", "j j f c a i j"], ["[f f] c", "f f b i i", "f f a j e c i"]])])

  /// fts5prefix2.
  static let prefixes = HighlightTable(
    name: "Beginnings of words", columns: ["x"],
    documents: [
      ["May you do good and not evil."], ["May you find forgiveness for yourself and forgive others."],
      ["May you share freely, never taking more than you give f."],
    ],
    shown: [
      (
        "f*",
        rows(
          "May you [find] [forgiveness] [for] yourself and [forgive] others.",
          "May you share [freely], never taking more than you give [f].")
      )
    ])

  // MARK: Trigrams

  private static let alphabets = [["abcdefghijklm"], ["กรุงเทพมหานคร"]]

  /// fts5trigram.
  static let trigrams = HighlightTable(
    name: "Trigrams", columns: ["y"], cut: .init(TextTokenizer.trigrams, "trigram"), documents: alphabets,
    shown: [
      ("abc", rows("[abc]defghijklm")), ("defgh", rows("abc[defgh]ijklm")), ("abcdefghijklm", rows("[abcdefghijklm]")),
      ("กรุ", rows("[กรุ]งเทพมหานคร")), ("งเทพมห", rows("กรุ[งเทพมห]านคร")),
      ("กรุงเทพมหานคร", rows("[กรุงเทพมหานคร]")), ("Abc", rows("[abc]defghijklm")), ("deFgh", rows("abc[defgh]ijklm")),
      ("aBcdefGhijKlm", rows("[abcdefghijklm]")), ("abc ghi", rows("[abc]def[ghi]jklm")),
      ("def ghi", rows("abc[def][ghi]jklm")), ("efg ghi", rows("abcd[efghi]jklm")), ("efghi", rows("abcd[efghi]jklm")),
      ("abcd jklm", rows("[abcd]efghi[jklm]")), ("ijkl jklm", rows("abcdefgh[ijklm]")),
      ("ijk ijkl hijk", rows("abcdefg[hijkl]m")),
    ],
    others: ["efg ghi": rows("abcd[efg]hijklm[ghi]jklm"), "def ghi": rows("abc[defghi]jklm")])

  /// fts5trigram, with regard to case.
  static let casedTrigrams = HighlightTable(
    name: "Trigrams with regard to case", columns: ["y"],
    cut: .init(TextTokenizer.trigrams.keepingCase(), "trigram case_sensitive 1"), documents: alphabets,
    shown: [
      ("abc", rows("[abc]defghijklm")), ("defgh", rows("abc[defgh]ijklm")), ("abcdefghijklm", rows("[abcdefghijklm]")),
      ("กรุ", rows("[กรุ]งเทพมหานคร")), ("งเทพมห", rows("กรุ[งเทพมห]านคร")),
      ("กรุงเทพมหานคร", rows("[กรุงเทพมหานคร]")), ("Abc", []), ("deFgh", []), ("aBcdefGhijKlm", []),
    ])

  /// fts5trigram, runs that stand apart, beside each other and over each other.
  static let jointTrigrams = HighlightTable(
    name: "Trigrams beside each other", columns: ["a"], cut: .init(TextTokenizer.trigrams, "trigram"),
    documents: [["abc x cde"], ["abc cde"], ["abcde"]],
    shown: [("abc AND cde", rows("[abc] x [cde]", "[abc] [cde]", "[abcde]"))],
    others: ["abc AND cde": rows("[abc] x [cde]", "[abc] [cde]", "[abc]de[cde]")])

  // MARK: Other tokenizers

  /// fts5tokenizer2: words begin where the case changes, and nothing stands between them.
  static let parts = HighlightTable(
    name: "Words with nothing between them", columns: ["x"], cut: .init(own: CaseTokenizer()),
    documents: [["AAdontBBmess"]],
    shown: [
      ("BB", rows("AAdont[BB]mess")), ("AA", rows("[AA]dontBBmess")), ("dont", rows("AA[dont]BBmess")),
      ("mess", rows("AAdontBB[mess]")), ("BB mess", rows("AAdont[BB][mess]")),
    ],
    others: ["BB mess": rows("AAdont[BBmess]")])

  /// fts5synonym, numbers in all forms.
  static let numbers = HighlightTable(
    name: "Numbers in all forms", columns: ["a", "b"], cut: SearchTable.askedSynonyms.cut,
    documents: SearchTable.askedSynonyms.documents,
    shown: [
      (
        "5 + 1",
        [
          ["[5 1] 3 4 i", "2 2 v two 4"], ["[5 i] 5 2 four 4 1", "iii ii five two 1"],
          ["ii four 4 one 5 three five", "one [5 1] iii 4 3"], ["three i [v i] four 4 1", "ii five five five iii"],
        ]
      ),
      (
        "one + two + three",
        [
          ["ii ii two three 2 5", "iii [i ii iii] iii one one"], ["2 ii [i two 3] three 2", "two iv v iii 3 five"],
        ]
      ),
      (
        "\"v v\"",
        [["four v 4 i three", "1 3 [five five] 4 one"], ["three i v i four 4 1", "ii [five five five] iii"]]
      ),
      (
        "five four",
        [
          ["[four] [v] [4] i three", "1 3 [five] [five] [4] one"], ["[5] 1 3 [4] i", "2 2 [v] two [4]"],
          ["[5] i [5] 2 [four] [4] 1", "iii ii [five] two 1"],
          ["ii [four] [4] one [5] three [five]", "one [5] 1 iii [4] 3"],
          ["three i [v] i [four] [4] 1", "ii [five] [five] [five] iii"],
          ["2 ii i two 3 three 2", "two [iv] [v] iii 3 [five]"],
          ["i 2 [iv] 3 [five] [four] [v]", "iii [4] three i three ii 1"],
        ]
      ),
    ])

  /// fts5synonym, letters that stand for runs of them.
  static let runs = HighlightTable(
    name: "Runs of letters", columns: ["a", "b"], cut: SearchTable.manySynonyms.cut,
    documents: Array(SearchTable.manySynonyms.documents.prefix(9)),
    shown: [
      (
        "a AND q",
        [
          ["yyyy vvvvv [qq] oo yyyyyy vvvv eee", "ffff uu r [qq] [aaaa]"],
          ["iii dddd hh [qqqq] ddd ooo", "ttt d c b [aaaaaa] [qqqq]"],
        ]
      ),
      (
        "NEAR(q y, 20)",
        [
          ["[yyyy] vvvvv [qq] oo [yyyyyy] vvvv eee", "ffff uu r qq aaaa"],
          ["ww oooooo bbbbb ssssss mm", "ffffff [yy] iiii rr s ccc [qqqqq]"],
        ]
      ),
    ])

  /// fts5content, fts5simple and fts5ae, what matches of an alternative.
  static let noted = HighlightTable(
    name: "Alternatives", columns: ["b", "c"],
    documents: [["three", "t h r e e x y z"], ["a b c d e f", ""], ["r c", ""], ["u t l w", "f g q"]],
    shown: [
      ("t AND x", [["three", "[t] h r e e [x] y z"]]), ("(a NOT b) OR d", [["a b c [d] e f", ""]]),
      ("a OR d", [["[a] b c [d] e f", ""]]), ("NEAR(r c)", [["[r] [c]", ""]]), ("u OR q", [["[u] t l w", "f g [q]"]]),
      ("c : e", [["three", "t h r [e] [e] x y z"]]),
    ])

  /// What is shown of rows of one column.
  private static func rows(_ texts: String...) -> [[String]] { texts.map { [$0] } }
}

/// Words that begin where the case of letters changes.
struct CaseTokenizer: Tokenizer {
  let identity = "test.cases"

  func forEachToken(
    in text: RawSpan, for purpose: TokenPurpose, _ body: (_ term: RawSpan, _ place: TokenPlace) throws -> Void
  ) throws {
    let bytes = text.withUnsafeBytes { Array($0) }
    var start = 0
    for end in bytes.indices.map({ $0 + 1 }) {
      let isLast = end == bytes.count || bytes[end] & 0x20 != bytes[start] & 0x20
      guard isLast else { continue }
      let term = Array(bytes[start..<end])
      try body(term.span.bytes, TokenPlace(range: start..<end))
      start = end
    }
  }
}
