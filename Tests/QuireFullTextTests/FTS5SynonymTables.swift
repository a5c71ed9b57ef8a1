// Synonyms, several forms of a word at one place, as FTS5's scripts have them: documents, searches and their rows.

import QuireText

/// Words as `unicode61` makes them, with other forms of some at the same place.
struct SynonymTokenizer: Tokenizer {
  /// Where the other forms are.
  enum Place: String { case documents, queries, both }

  let name: String
  let place: Place
  let forms: @Sendable (String) -> [String]

  var identity: String { "test.synonyms/\(name)/\(place)" }

  func forEachToken(
    in text: RawSpan, for purpose: TokenPurpose, _ body: (_ term: RawSpan, _ place: TokenPlace) throws -> Void
  ) throws {
    let hasForms = place == .both || (purpose == .document) == (place == .documents)
    try TextTokenizer.unicode61().forEachToken(in: text, for: purpose) { term, place in
      try body(term, place)
      guard hasForms else { return }
      for form in forms(term.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }) {
        let bytes = Array(form.utf8)
        try body(bytes.span.bytes, TokenPlace(range: place.range, step: 0))
      }
    }
  }

  private static let numbers = [
    ["one", "i", "1"], ["two", "ii", "2"], ["three", "iii", "3"], ["four", "iv", "4"], ["five", "v", "5"],
    ["six", "vi", "6"], ["seven", "vii", "7"], ["eight", "viii", "8"], ["nine", "ix", "9"],
  ]

  /// Numbers in words, as Romans write them, and in digits.
  static func numbers(_ place: Place) -> Self {
    Self(name: "numbers", place: place) { word in
      numbers.first { $0.contains(word) }?.filter { $0 != word } ?? []
    }
  }

  /// A letter stands for runs of two to ten of it.
  static let runs = Self(name: "runs", place: .queries) { word in
    word.utf8.count == 1 ? (2...10).map { String(repeating: word, count: $0) } : []
  }

  /// Each word twice at its place.
  static let doubled = Self(name: "doubled", place: .both) { [$0] }
}

extension SearchTable {
  /// fts5synonym, numbers that are stored in all forms.
  static let synonyms = SearchTable(
    "Numbers, stored in all forms", columns: ["x"], cut: .init(own: SynonymTokenizer.numbers(.documents)),
    documents: [["abc def ghi"], ["jkl mno pqr"], ["one two three"], ["four five six"], ["eight nine ten"]],
    queries: [
      ("def", [1]), ("pqr", [2]), ("3", [3]), ("eight OR 8 OR 5", [4, 5]), ("10", []), ("1*", [3]), ("1 + 2", [3]),
      ("vi", [4]), ("i*", [3, 4, 5]), ("\"iv 5 six\"", [4]),
    ])

  /// fts5synonym, numbers that are asked for in all forms.
  static let askedSynonyms = SearchTable(
    "Numbers, asked for in all forms", columns: ["a", "b"], cut: .init(own: SynonymTokenizer.numbers(.queries)),
    documents: [
      ["four v 4 i three", "1 3 five five 4 one"], ["5 1 3 4 i", "2 2 v two 4"],
      ["5 i 5 2 four 4 1", "iii ii five two 1"], ["ii four 4 one 5 three five", "one 5 1 iii 4 3"],
      ["three i v i four 4 1", "ii five five five iii"], ["4 2 ii two 2 iii", "three 1 four 4 iv 1 iv"],
      ["ii ii two three 2 5", "iii i ii iii iii one one"], ["2 ii i two 3 three 2", "two iv v iii 3 five"],
      ["i 2 iv 3 five four v", "iii 4 three i three ii 1"],
    ],
    queries: [
      ("one", [1, 2, 3, 4, 5, 6, 7, 8, 9]), ("five four", [1, 2, 3, 4, 5, 8, 9]),
      ("one OR two OR iii OR 4 OR v", [1, 2, 3, 4, 5, 6, 7, 8, 9]), ("5 + 1", [2, 3, 4, 5]),
      ("one + two + three", [7, 8]), ("\"v v\"", [1, 5]), ("one two three NOT five", [6]),
    ])

  /// fts5synonym, letters that stand for runs of them.
  static let manySynonyms = SearchTable(
    "Letters that stand for runs of them", columns: ["a", "b"], cut: .init(own: SynonymTokenizer.runs),
    documents: [
      ["yyyy vvvvv qq oo yyyyyy vvvv eee", "ffff uu r qq aaaa"],
      ["ww oooooo bbbbb ssssss mm", "ffffff yy iiii rr s ccc qqqqq"],
      ["zzzz llll gggggg cccc uu", "hhhhhh aaaa ppppp rr ee jjjj"], ["r f i rrrrrr ww hhh", "aa yyy t x aaaaa ii"],
      ["fffff mm vvvv ooo ffffff kkkk tttt", "cccccc bb e zzz d n"],
      ["iii dddd hh qqqq ddd ooo", "ttt d c b aaaaaa qqqq"],
      ["jjjj rrrr v zzzzz u tt t", "ppppp pp dddd mm hhh uuu"],
      ["gggg rrrrrr kkkk vvvv gggg jjjjjj b", "dddddd jj r w cccc wwwwww ss"],
      ["kkkkk qqq oooo e tttttt mmm", "e ss qqqqqq hhhh llllll gg"],
      ["x xx xxx xxxx xxxxx xxxxxx xxxxxxx", "y yy yyy yyyy yyyyy yyyyyy yyyyyyy"], ["yy xx qq", ""], ["yy xx xx", ""],
    ],
    queries: [
      ("a", [1, 3, 4, 6]), ("a AND q", [1, 6]), ("o OR (q AND a)", [1, 2, 5, 6, 9]),
      ("NEAR(q y, 20)", [1, 2, 11]), ("x OR y", [1, 2, 4, 10, 11, 12]), ("NEAR(y q)", [1, 2, 11]), ("y + x", [11, 12]),
    ])

  /// fts5synonym, words that stand twice at their place.
  static let doubledWords = SearchTable(
    "Words that stand twice at their place", columns: ["x"], cut: .init(own: SynonymTokenizer.doubled),
    documents: [["one one two three"]],
    queries: [
      ("one", [1]), ("one two three", [1]), ("one + one + two + three", [1]), ("one two two three", [1]),
      ("one + two + two + three", []), ("NEAR(one three, 1)", [1]), ("NEAR(one three, 0)", []),
    ])

  /// fts5synonym2, with the forms in what is asked.
  static let synonymsOfTwoColumns = numbers("Many numbers, asked for in all forms", .queries)
  /// fts5synonym2, with the forms in what is stored.
  static let storedSynonymsOfTwoColumns = numbers("Many numbers, stored in all forms", .documents)

  private static func numbers(_ name: String, _ place: SynonymTokenizer.Place) -> SearchTable {
    SearchTable(
      name, columns: ["a", "b"], cut: .init(own: SynonymTokenizer.numbers(place)), documents: manyNumbers,
      searches: [
        "one", "two", "three", "four", "v", "vi", "vii", "viii", "9", "0", "1", "2", "one OR two OR three OR four",
        "(one AND two) OR (three AND four)", "(one AND two) OR (three AND four) NOT five", "(one AND two) NOT 6",
        "b:one AND a:two", "b:one OR a:two", "a:one OR b:1 OR {a b} : i", "NEAR(one two, 2)",
        "NEAR(one two three, 2)", "NEAR(eight nine, 1) OR NEAR(six seven, 1)",
      ], found: 697)
  }

  private static let manyNumbers: [[String]] = [
    ["5 5 five seven 3 seven i", "2 1 5 0 two 1 i"], ["six ix iii 7 i vii iii", "one seven nine 4 9 1 vi"],
    ["6 viii i five six zero seven", "5 v iii iv iv 3"], ["9 ii six 8 1 6", "six 4 iv iv 7"],
    ["1 5 4 eight ii iv iii", "nine 2 eight ix v vii"], ["one 7 seven six 2 two", "1 2 four 7 4 3 4"],
    ["eight iv 4 nine vii six 1", "5 6 v one zero 4"], ["v 9 8 iii 4", "9 4 seven two vi vii"],
    ["3 ix two 9 0 nine i", "five ii nine two viii i five"], ["six iii 9 two eight 2", "nine i nine vii nine"],
    ["6 three zero seven vii five", "8 vii ix 0 7 seven"], ["8 vii 8 7 3 4", "eight iii four viii nine iv three"],
    ["4 v 7 two 0 one 8", "vii 1 two five i zero 9"], ["3 ii vii vi eight", "8 4 ix one three eight"],
    ["iv eight seven 6 9 seven", "one vi two five seven"], ["i i 5 i v vii eight", "2 seven i 2 2 four"],
    ["0 i iii nine 3 ix five", "0 eight iv 0 six 2"], ["iv vii three 3 9 one 8", "2 ii 6 eight ii six six"],
    ["eight one two nine six", "8 9 3 viii vi"], ["one 0 four ii eight one 3", "iii eight vi vi vi"],
    ["4 0 eight 0 0", "1 four one vii seven ii"], ["1 zero nine 2 2", "viii iv two vi nine v iii"],
    ["5 five viii four four vi", "8 five 7 vii 6 4"], ["7 ix four 8 vii", "nine three nine ii ix vii"],
    ["nine iv v i 0 v", "two iv vii six i ix 4"], ["one v v one viii 3 8", "2 1 3 five iii"],
    ["six ii 5 nine 4 viii seven", "eight i ix ix 7 four"], ["9 ii two seven three 7 0", "six viii seven 7 five"],
    ["five two 4 viii nine", "9 7 nine zero 1 two one"], ["viii 8 iii i ii 8 3", "4 2 7 v 8 8"],
    ["four vii 4 iii zero 0 vii", "3 viii iii zero 9 i"], ["0 seven v five i five v", "one 4 2 ix 9"],
    ["two 5 two two ix 4 1", "3 nine ii v nine 3 five"], ["five 5 7 4 6 vii", "three 2 ix 2 8 6"],
    ["six iii vi iv seven eight", "8 six 7 0 4"], ["vi vi iv 3 0 one one", "9 6 eight ix iv"],
    ["7 2 2 iii 0", "0 0 seven 1 nine"], ["8 6 iv six ii", "iv 6 3 4 ii five"],
    ["0 two two seven ii", "vii ix four 4 zero vi vi"], ["2 one eight 8 9 7", "vi 3 0 3 vii"],
    ["iii ii ix iv three", "vi i 6 1 two"], ["eight four nine 8 seven", "one three i nine iii one"],
    ["iii seven five ix 8", "ii 7 seven 0 four ii"], ["four 0 1 5 two", "iii 9 5 ii ii 2 4"],
    ["iii nine four vi 8 five six", "i i ii seven vi vii"], ["eight vii eight six 3", "i vii 1 six 9 vii"],
    ["9 0 viii viii five", "i 1 viii ix 3 4"], ["three nine 5 nine viii four zero", "ii i 1 5 2 viii"],
    ["5 vii three 9 four", "three five one 7 2 eight one"],
  ]
}
