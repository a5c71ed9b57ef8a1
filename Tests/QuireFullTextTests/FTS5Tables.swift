// What FTS5's published tests ask, as tables: documents, searches and the rows that these find.

import QuireText
import Testing

/// Documents, numbered from 1, with searches and the numbers that they find.
struct SearchTable: CustomTestStringConvertible, Sendable {
  let name: String
  let columns: [String]
  let cut: Cut
  let documents: [[String]]
  let queries: [(text: String, rows: [Int64])]
  /// Searches of which FTS5 says what they find.
  let searches: [String]
  /// How many rows those find, all together.
  let found: Int

  var testDescription: String { name }

  /// A tokenizer, and how FTS5 is told of it.
  struct Cut: Sendable {
    let tokenizer: any Tokenizer
    let fts5: String

    init(_ tokenizer: any Tokenizer, _ fts5: String) { (self.tokenizer, self.fts5) = (tokenizer, fts5) }

    /// One that FTS5 is given as it is.
    init(own tokenizer: any Tokenizer) { self.init(tokenizer, FTS5Bridge.name) }

    static let plain = Cut(.unicode61(), "unicode61")
  }

  init(
    _ name: String, columns: [String], cut: Cut, documents: [[String]],
    queries: [(text: String, rows: [Int64])] = [], searches: [String] = [], found: Int = 0
  ) {
    (self.name, self.columns, self.cut) = (name, columns, cut)
    (self.documents, self.queries, self.searches, self.found) = (documents, queries, searches, found)
  }

  /// - Parameter tokenCharacters: characters that are parts of words beside letters and digits.
  init(
    _ name: String, columns: [String], tokenCharacters: String = "", documents: [[String]],
    queries: [(text: String, rows: [Int64])]
  ) {
    let option = tokenCharacters.isEmpty ? "" : " tokenchars '\(tokenCharacters)'"
    let cut = Cut(.unicode61(tokenCharacters: tokenCharacters), "unicode61\(option)")
    self.init(name, columns: columns, cut: cut, documents: documents, queries: queries)
  }

  static let all = [
    near, nearColumns, phrases, prefixes, columnSets, expressions, firstTokens, texts, trigrams, separators, capitals,
    manyColumns, longWords, accents, lettersOfTwoColumns, rankedLetters, sixColumns, phrasesOfColumns, nestedPrefixes,
    alike, firstRows, columnsOfLetters, noColumnIsLeft, noWords, beginnings, simple, missingWords, pairs, nearPhrases,
    nearTrigrams, lettersInColumns, counted, prefixesOfColumns, prefixesOfScripts, prefixesOfSentences, umlauts,
    simpleUmlauts, unicodeDocuments, synonyms, synonymsOfTwoColumns, storedSynonymsOfTwoColumns, askedSynonyms,
    manySynonyms, doubledWords, stems,
  ]
}

// MARK: Words

extension SearchTable {
  /// NEAR over rows of one column.
  static let near = SearchTable(
    "NEAR over rows of one column", columns: ["x"], tokenCharacters: ".",
    documents: [
      [". . a . . . b . ."], [". . b . . . a . ."], ["a b c d e f g h i"], ["a b c d e f g h i a b c d e f g h i"],
      [". a b c . . . h i . . b c d"], ["x y x y x . . . z"], ["a a a . . . . . . . . . . . a"],
      ["b . . . . . . . . . . . . . a b"], [". a . b c"], ["the . a . a b"],
    ],
    queries: [
      ("NEAR(a b, 5)", [1, 2, 3, 4, 5, 8, 9, 10]), ("NEAR(a b, 4)", [1, 2, 3, 4, 5, 8, 9, 10]),
      ("NEAR(a b, 3)", [1, 2, 3, 4, 5, 8, 9, 10]), ("NEAR(a b, 2)", [3, 4, 5, 8, 9, 10]),
      ("NEAR(b a, 3)", [1, 2, 3, 4, 5, 8, 9, 10]), ("NEAR(b a, 2)", [3, 4, 5, 8, 9, 10]),
      ("NEAR(a b, 0)", [3, 4, 5, 8, 10]), ("NEAR(a b)", [1, 2, 3, 4, 5, 8, 9, 10]),
      ("NEAR(a+b+c h+i b+c+d, 5)", [3, 4]), ("NEAR(a+b+c h+i b+c+d, 4)", [3, 4]), ("NEAR(a+b+c h+i b+c+d, 3)", [4]),
      ("NEAR(a+b+c h+i b+c+d, 2)", [4]), ("NEAR(b+c a+b+c+d i, 5)", [3, 4]), ("NEAR(b+c a+b+c+d i, 4)", [4]),
      ("NEAR(b+c a+b+c+d i, 3)", [4]), ("NEAR(i b+c a+b+c+d, 4)", [4]),
      ("NEAR(a a, 0)", [1, 2, 3, 4, 5, 7, 8, 9, 10]), ("NEAR(a a a a, 0)", [1, 2, 3, 4, 5, 7, 8, 9, 10]),
      ("NEAR(x y z, 3)", []), ("NEAR(x y z, 2)", []), ("NEAR(x+y z, 3)", []), ("NEAR(x+y x+y, 0)", [6]),
      ("NEAR(y x y, 1)", [6]), ("NEAR(a b c d e f g h i, 8)", [3, 4]), ("NEAR(a i, 7)", [3, 4, 5]),
      ("NEAR(a i, 6)", [4, 5]), ("NEAR(i a, 0)", [4]), ("NEAR(a+b b+c, 0)", [3, 4, 5]),
      ("NEAR(a+b+c c, 0)", [3, 4, 5]), ("NEAR(a b c, 0)", []), ("NEAR(a* b, 1)", [3, 4, 5, 8, 9, 10]),
      ("NEAR(\"a b\" \"h i\", 5)", [3, 4, 5]), ("NEAR(\"a b\" \"h i\", 4)", [4, 5]), ("NEAR(a zz, 5)", []),
      ("NEAR(a \"\", 2)", [1, 2, 3, 4, 5, 7, 8, 9, 10]), ("NEAR(a, 1)", [1, 2, 3, 4, 5, 7, 8, 9, 10]),
      ("NEAR(a b, 1) AND c", [3, 4, 5, 9]), ("NEAR(a b, 0) NOT c", [8, 10]),
      ("NEAR(a b, 0) OR z", [3, 4, 5, 6, 8, 10]), ("NEAR(\"a\" \"b\" , 12)", [1, 2, 3, 4, 5, 8, 9, 10]),
      ("NEAR(t* b, 4)", [10]),
    ])

  /// NEAR within one column and not from one to the next.
  static let nearColumns = SearchTable(
    "NEAR within one column and not from one to the next", columns: ["a", "b"], tokenCharacters: ".",
    documents: [
      ["one two three", "four five six"], ["one . . two", "two one"], ["one", "two"],
      ["four five", "one two three four five six"], ["six five four three two one", "one . . . . . . . . . . . two"],
    ],
    queries: [
      ("NEAR(one two)", [1, 2, 4, 5]), ("NEAR(three four)", [4, 5]), ("NEAR(three four, 1000000)", [4, 5]),
      ("a : NEAR(one two, 1)", [1, 5]), ("b : NEAR(one two, 1)", [2, 4]), ("- a : NEAR(one two, 11)", [2, 4, 5]),
      ("- a : NEAR(one two, 10)", [2, 4]), ("{a b} : NEAR(one two, 2)", [1, 2, 4, 5]),
      ("NEAR(one two, 0)", [1, 2, 4, 5]), ("a : (NEAR(one two) OR b : six)", [1, 2, 5]),
      ("b : NEAR(one+two five)", [4]), ("NEAR(one+two five, 1)", []), ("NEAR(one+two five, 2)", [4]),
      ("{a} : NEAR(six one, 3)", []), ("{a} : NEAR(six one, 4)", [5]),
    ])

  /// Phrases of two and more words.
  static let phrases = SearchTable(
    "Phrases of two and more words", columns: ["a", "b"], tokenCharacters: ".",
    documents: [
      ["g z", "d a"], ["a b c", "a b c d"], ["b a b a", "c"], ["a . b", "b c"], ["a", "b"], ["A B", "C a-b"],
      ["one two two two", "two one"], ["a b a b a b c", ""], ["", "a a a a"],
    ],
    queries: [
      ("\"a b\"", [2, 3, 6, 8]), ("a + b", [2, 3, 6, 8]), ("\"a b c\"", [2, 8]), ("a+b+c", [2, 8]),
      ("\"b a\"", [3, 8]), ("\"a b a b\"", [8]), ("\"a b a b c\"", [8]), ("\"c d\"", [2]), ("\"a . b\"", [4]),
      ("\"a-b\"", [2, 3, 6, 8]), ("a + \"b c\"", [2, 8]), ("\"a b\" + c", [2, 8]), ("\"a b\" \"c\"", [2, 3, 6, 8]),
      ("\"two two\"", [7]), ("\"two two two two\"", []), ("\"one two\" + \"two two\"", [7]), ("b : \"a b\"", [2, 6]),
      ("a : \"b c\"", [2, 8]), ("- a : \"a b c\"", [2]), ("\"a a a\"", [9]), ("\"a a a a a\"", []),
      ("\"\" + a + \"\" + b", [2, 3, 6, 8]), ("\"c a\"", [6]), ("\"b c\" NOT \"a b\"", [4]),
      ("\"a b\" OR \"c d\"", [2, 3, 6, 8]), ("^ \"a b\"", [2, 6, 8]), ("^a + b", [2, 6, 8]), ("a : ^\"b a\"", [3]),
      ("^b", [3, 4, 5]), ("\"A\" + \"B\"", [2, 3, 6, 8]),
    ])

  /// Beginnings of words.
  static let prefixes = SearchTable(
    "Beginnings of words", columns: ["x", "y"],
    documents: [
      ["one two", "three"], ["once upon", "a time"], ["on", "two"], ["o ne", "twofold"], ["ONESELF", "éclair éclat"],
      ["two one", "t"], ["a onion", "on one"], ["eclipse", "2two 22"], ["", "zone"],
    ],
    queries: [
      ("on*", [1, 2, 3, 5, 6, 7]), ("one*", [1, 5, 6, 7]), ("o*", [1, 2, 3, 4, 5, 6, 7]),
      ("\"on\"*", [1, 2, 3, 5, 6, 7]), ("\"one tw\"*", [1]), ("one + tw*", [1]), ("\"two on\"*", [6]),
      ("on * two", [1, 3, 6]), ("\"on\" * + t*", [1]), ("t* NOT two", [2, 4]), ("x : t*", [1, 6]),
      ("{y} : t*", [1, 2, 3, 4, 6]), ("- x : on*", [7]), ("ecl*", [5, 8]), ("éc*", [5, 8]), ("ÉCLA*", [5]),
      ("2*", [8]), ("22*", [8]), ("zz*", []), ("\"\"*", []), ("\"a on\" *", [7]), ("^on*", [1, 2, 3, 5, 7]),
      ("^one + t*", [1]), ("y : ^t*", [1, 3, 4, 6]), ("NEAR(on* tw*, 0)", [1, 6]), ("NEAR(on* tw*)", [1, 6]),
      ("o* AND t*", [1, 2, 3, 4, 6]), ("o* t*", [1, 2, 3, 4, 6]), ("tw* OR ec*", [1, 3, 4, 5, 6, 8]),
      ("\"on ne\"*", []), ("\"o n\"*", [4]), ("one* + \"\"", [1, 6, 7]), ("one + \"\"*", [1, 5, 6, 7]),
      ("onese* x : two OR t*", [1, 2, 3, 4, 6]),
    ])
}

// MARK: What is made of words

extension SearchTable {
  /// Sets of columns, of all others, and one within the other.
  static let columnSets = SearchTable(
    "Sets of columns, of all others, and one within the other", columns: ["a", "b", "c", "d"],
    documents: [
      ["x", "y", "z", "w"], ["y", "x", "w", "z"], ["x x", "", "x", "x"], ["z", "w", "y", "x"], ["w", "", "", ""],
      ["x y z w", "", "", "x y"], ["", "x y", "y x", ""],
    ],
    queries: [
      ("a : x", [1, 3, 6]), ("A : x", [1, 3, 6]), ("\"a\" : x", [1, 3, 6]), ("{a} : x", [1, 3, 6]),
      ("{a c} : x", [1, 3, 6, 7]), ("{A \"c\"} : x", [1, 3, 6, 7]), ("{a a} : x", [1, 3, 6]),
      ("- a : x", [2, 3, 4, 6, 7]), ("-a:x", [2, 3, 4, 6, 7]), ("- {a b} : x", [3, 4, 6, 7]), ("-{a b c d} : x", []),
      ("{a b c d} : x", [1, 2, 3, 4, 6, 7]), ("a : x AND c : x", [3]), ("a : x c : x", [3]), ("a : (x AND y)", [6]),
      ("a : (x OR b : y)", [1, 3, 6]), ("{a b} : (x AND b : y)", [1, 7]), ("- a : (x AND y)", [4, 6, 7]),
      ("a : (b : x)", []), ("{a b} : ({b c} : x)", [2, 7]), ("{a b c} : (- b : x)", [1, 3, 6, 7]),
      ("- a : (- b : x)", [3, 4, 6, 7]), ("- {a b} : ({b c} : x)", [3, 7]), ("a : x NOT b : y", [3, 6]),
      ("a : \"x y\"", [6]), ("- {b c} : \"x y\"", [6]), ("{a d} : \"x y\"", [6]), ("{b c} : NEAR(x y, 0)", [7]),
      ("d : ^x", [3, 4, 6]), ("{c d} : ^x", [3, 4, 6]), ("a : (x NOT c : y)", [1, 3, 6]),
      ("a : ((x OR y) AND (z OR w))", [6]), ("a : x y", [1, 6]), ("x d : y", [6]), ("a : \"\" x", [1, 2, 3, 4, 6, 7]),
      ("b : (x OR (c : y))", [2, 7]), ("{c d} : (x d : z)", []), ("a : ( {a d} : x y )", [6]),
    ])

  /// What binds what.
  static let expressions = SearchTable(
    "What binds what", columns: ["x"],
    documents: [
      ["a"], ["b"], ["a b"], ["c"], ["a c"], ["b c"], ["a b c"], ["d"], ["a d"], ["b d"], ["a b d"], ["c d"],
      ["a c d"], ["b c d"], ["a b c d"], ["A, B; c."],
    ],
    queries: [
      ("a", [1, 3, 5, 7, 9, 11, 13, 15, 16]), ("a b", [3, 7, 11, 15, 16]), ("a AND b", [3, 7, 11, 15, 16]),
      ("a OR b", [1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15, 16]), ("a NOT b", [1, 5, 9, 13]),
      ("b NOT a", [2, 6, 10, 14]), ("a OR b AND c", [1, 3, 5, 6, 7, 9, 11, 13, 14, 15, 16]),
      ("(a OR b) AND c", [5, 6, 7, 13, 14, 15, 16]), ("a AND b OR c", [3, 4, 5, 6, 7, 11, 12, 13, 14, 15, 16]),
      ("a AND (b OR c)", [3, 5, 7, 11, 13, 15, 16]), ("a NOT b AND c", [5, 13]), ("a AND b NOT c", [3, 11]),
      ("a AND (b NOT c)", [3, 11]), ("(a AND b) NOT c", [3, 11]),
      ("a NOT b OR c", [1, 4, 5, 6, 7, 9, 12, 13, 14, 15, 16]),
      ("a OR b NOT c", [1, 2, 3, 5, 7, 9, 10, 11, 13, 15, 16]), ("(a OR b) NOT c", [1, 2, 3, 9, 10, 11]),
      ("a NOT b NOT c", [1, 9]), ("a NOT (b NOT c)", [1, 5, 7, 9, 13, 15, 16]), ("a NOT (b OR c)", [1, 9]),
      ("a NOT (b AND c)", [1, 3, 5, 9, 11, 13]), ("a b NOT c", [3, 11]), ("a NOT b c", [1, 3, 5, 9, 11, 13]),
      ("a b OR c d", [3, 7, 11, 12, 13, 14, 15, 16]), ("a b AND c d", [15]),
      ("a OR b OR c NOT d", [1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 13, 14, 15, 16]),
      ("(a OR b) AND (c OR d)", [5, 6, 7, 9, 10, 11, 13, 14, 15, 16]),
      ("(a NOT b) OR (c NOT d)", [1, 4, 5, 6, 7, 9, 13, 16]), ("((((a)))) AND (((b)))", [3, 7, 11, 15, 16]),
      ("a AND b AND c AND d", [15]), ("a b c d", [15]),
      ("a OR b OR c OR d", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]), ("a \"\" b", [3, 7, 11, 15, 16]),
      ("a AND \"\" AND b", []), ("a OR \"\"", [1, 3, 5, 7, 9, 11, 13, 15, 16]), ("\"\" OR \"\"", []),
      ("\"\" NOT a", []), ("a NOT \"\"", [1, 3, 5, 7, 9, 11, 13, 15, 16]), ("\"\" \"\"", []),
      ("(\"\") OR d", [8, 9, 10, 11, 12, 13, 14, 15]), ("a NOT zz", [1, 3, 5, 7, 9, 11, 13, 15, 16]),
      ("zz NOT a", []), ("zz OR a", [1, 3, 5, 7, 9, 11, 13, 15, 16]), ("zz AND a", []), ("zz a", []), ("and", []),
      ("or", []), ("\"AND\"", []), ("\"NOT\" a", []), ("\"a\" \"b\"", [3, 7, 11, 15, 16]),
      ("\"a\"AND\"b\"", [3, 7, 11, 15, 16]), ("a\"b\"", [3, 7, 11, 15, 16]),
      ("a OR b c NOT d", [1, 3, 5, 6, 7, 9, 11, 13, 15, 16]), ("\"a b\" NOT (c OR d)", [3]), ("\".\"", []),
      ("a \".\"", [1, 3, 5, 7, 9, 11, 13, 15, 16]),
    ])

  /// Words at the beginning of a column.
  static let firstTokens = SearchTable(
    "Words at the beginning of a column", columns: ["x", "y"],
    documents: [
      ["a b c", "c b a"], ["b a", "a"], ["", "a b"], ["a", ""], ["c", "b c"], ["a a", "a a"], [". a b", "? ! a c"],
    ],
    queries: [
      ("^a", [1, 2, 3, 4, 6, 7]), ("^b", [2, 5]), ("^c", [1, 5]), ("x : ^a", [1, 4, 6, 7]), ("y : ^a", [2, 3, 6, 7]),
      ("- y : ^a", [1, 4, 6, 7]), ("{x y} : ^b", [2, 5]), ("^a + b", [1, 3, 7]), ("^\"a b\"", [1, 3, 7]),
      ("^a AND ^c", [1]), ("^a ^c", [1]), ("^a OR ^b", [1, 2, 3, 4, 5, 6, 7]), ("^a NOT b", [4, 6]),
      ("^a NOT ^b", [1, 3, 4, 6, 7]), ("x : ^a y : ^a", [6, 7]), ("^a*", [1, 2, 3, 4, 6, 7]), ("^zz", []),
      ("^\"\"", []), ("^\"\" a", [1, 2, 3, 4, 6, 7]), ("y : (^a OR x : ^b)", [2, 3, 6, 7]), ("^a + c", [7]),
      ("^\"b\"", [2, 5]),
    ])

  /// What unicode61 makes words of.
  static let texts = SearchTable(
    "What unicode61 makes words of", columns: ["x"],
    documents: [
      ["It's 5 o'clock"], ["C++ and C#"], ["foo_bar foo-bar"], ["naïve café"], ["NAIVE CAFE"], ["Straße strasse"],
      ["x1 1x 11"], ["日本語 テキスト"], ["Ελλάδα ΕΛΛΆΔΑ"], ["mail@example.com"], ["a\u{a0}b\u{2003}c"], ["½ ² ①"],
      ["🚂 train"], ["привет МИР"], [""],
    ],
    queries: [
      ("it", [1]), ("s", [1]), ("\"it's\"", [1]), ("\"o'clock\"", [1]), ("c", [2, 11]), ("\"c++\"", [2, 11]),
      ("foo", [3]), ("foo_bar", [3]), ("\"foo_bar\"", [3]), ("\"foo-bar\"", [3]), ("\"foo bar\"", [3]),
      ("naive", [4, 5]), ("café", [4, 5]), ("CAFE*", [4, 5]), ("strasse", [6]), ("straße", [6]), ("stras*", [6]),
      ("x1", [7]), ("1*", [7]), ("\"1x 11\"", [7]), ("日本語", [8]), ("日*", [8]), ("本*", []), ("テキスト", [8]),
      ("ελλάδα", [9]), ("ΕΛΛ*", [9]), ("\"mail@example.com\"", [10]), ("example", [10]), ("\"a b c\"", [11]),
      ("b", [11]), ("½", [12]), ("1", []), ("2", []), ("①", [12]), ("\"🚂\"", []), ("🚂", []), ("🚂 train", [13]),
      ("привет", [14]), ("мир", [14]), ("\"привет, мир!\"", [14]),
    ])
}
