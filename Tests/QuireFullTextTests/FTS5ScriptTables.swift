// What FTS5's scripts say of words, phrases and columns, as tables: documents, searches and their rows.

import QuireText

extension SearchTable {
  /// fts5ab, its words that begin alike.
  static let alike = SearchTable(
    "Words that begin alike", columns: ["a", "b"], cut: .plain,
    documents: [
      ["abashed abandons abase abash abaft", "abases abased"],
      ["abasing abases abaft abated abandons", "abases abandoned"],
      ["abatement abash abash abated abase", "abasements abashing"],
      ["abaft abasements abase abasement abasing", "abasement abases"],
      ["abaft abashing abatement abash abasements", "abandons abandoning"],
      ["aback abate abasements abashes abandoned", "abasement abased"],
      ["abandons abated abased aback abandoning", "abases abandoned"],
      ["abashing abases abasement abaft abashing", "abashed abate"],
      ["abash abase abate abashing abashed", "abandon abandoned"],
      ["abate abandoning abandons abasement aback", "abandon abandoning"],
    ],
    queries: [
      ("abash", [1, 3, 5, 9]), ("abase", [1, 3, 4, 9]), ("abase + abash", [1]), ("abash + abase", [9]),
      ("abaft + abashing", [5, 8]), ("abandon + abandoning", [10]),
      ("\"abashing abases abasement abaft abashing\"", [8]), ("NEAR(aback abate, 2)", [6]),
      ("NEAR(aback abate, 3)", [6, 10]),
    ])

  /// fts5ab and fts5ae, their first rows, fts5columnsize and fts5content.
  static let firstRows = SearchTable(
    "A few rows of a few words", columns: ["a", "b"], cut: .plain,
    documents: [
      ["hello", "world"], ["one two", "three four"], ["forty", "five"], ["world", "hello"], ["world", "world"],
      ["hello", "hello"], ["a b c d e f g", ""], ["b d e a a a i", ""], ["x y z b c c c", ""], ["one", "o n e"],
      ["two", "t w o"], ["three", "t h r e e"], ["four", "f o u r"],
    ],
    queries: [
      ("hello", [1, 4, 6]), ("two", [2, 11]), ("three", [2, 12]), ("one", [2, 10]), ("a", [7, 8]), ("b", [7, 8, 9]),
      ("c", [7, 9]), ("d", [7, 8]), ("e", [7, 8, 10, 12]), ("f", [7, 13]), ("g", [7]), ("x", [9]), ("y", [9]),
      ("z", [9]), ("o", [10, 11, 13]), ("t AND h", [12]), ("a : hello b : world", [1]), ("forty five", [3]),
      ("\".\"", []),
    ])

  /// fts5colset.
  static let columnsOfLetters = SearchTable(
    "A letter in each column", columns: ["a", "b", "c", "d"], cut: .plain,
    documents: [["a", "b", "c", "d"], ["d", "a", "b", "c"], ["c", "d", "a", "b"], ["b", "c", "d", "a"]],
    queries: [
      ("a", [1, 2, 3, 4]), ("{a}   : a", [1]), ("-{a}   : a", [2, 3, 4]), ("- {a c} : a", [2, 4]),
      (" - {d d c} : a", [1, 2]), ("- {d c b a} : a", []), ("-{\"a\"} : b", [1, 2, 3]), ("- c : a", [1, 2, 4]),
      ("-c : a", [1, 2, 4]), ("-\"c\" : a", [1, 2, 4]), ("{a} : (a AND \":\")", []), ("{a b c} : (a AND d)", [2, 3]),
      ("{a b c} : (a AND b:d)", [3]), ("{a b c} : (a AND d:d)", []),
      ("{b} : ( {b a} : ( {c b a} : ( {d b c a} : ( d OR c ) ) ) )", [3, 4]),
      ("{a} : ( {b a} : ( {c b a} : ( {d b c a} : ( d OR c ) ) ) )", [2, 3]),
      ("{a} : ( {b a} : ( {c b} : ( {d b c a} : ( d OR c ) ) ) )", []), ("{a b c} : (b:a AND c:b)", [2]),
      ("a : (a)", [1]), ("b : (a)", [2]), ("b : ({a b c} : a)", [2]), ("b : (a OR b)", [1, 2]),
      ("b : (a OR a:b)", [2]), ("b : (a OR b:b)", [1, 2]), ("{a b} : (c AND d)", [3]), ("-{c d} : (c AND d)", [3]),
    ])

  /// fts5colset, what is left without a column.
  static let noColumnIsLeft = SearchTable(
    "No column is left", columns: ["c0"], cut: .plain, documents: [["x"], ["x b z"], ["a"], ["a"]],
    queries: [
      ("z", [2]), ("b OR -{c0} : x", [2]), ("z NOT (b OR c0 : x)", []), ("z NOT b", []),
      ("z NOT (b OR -{c0} : q)", []), ("z NOT (-{c0} : x)", [2]),
      ("a AND (-{c0} : a)", []),
    ])

  /// fts5eb, fts5ea and fts5fuzz1, what has no words.
  static let noWords = SearchTable(
    "Texts without words in a search", columns: ["a", "b"], cut: .plain,
    documents: [["a b", "c d"], ["e f", "a b"], ["just a few words with a / inside", ""]],
    queries: [
      ("\"\"", []), ("\"\" AND a", []), ("a AND \"\"", []), ("\"\" a", [1, 2, 3]), ("a \"\"", [1, 2, 3]),
      ("\"\" OR a", [1, 2, 3]), ("a OR \"\"", [1, 2, 3]), ("a NOT \"\"", [1, 2, 3]), ("\"\" NOT a", []),
      ("a + \"\" + b", [1, 2]), ("a \"\" b", [1, 2]), ("NEAR(\"\")", []), ("NEAR(\"\", 5)", []),
      ("NEAR(\"\" c, 5)", [1]), ("NEAR(\"\" c d, 5)", [1]), ("NEAR(c d, 5)", [1]), ("NEAR(\"a\" \"b\", 5)", [1, 2]),
      ("\"just\"", [3]), ("\"/\" OR \"just\"", [3]), ("\"/\"", []), ("e AND \" \"", []), ("\"a\"\"b\"", [1, 2]),
      ("NEAR(\"a b\"* c, 5)", []), ("\"e f\" *", [2]),
    ])

  /// fts5near.
  static let nearPhrases = SearchTable(
    "NEAR of words and phrases", columns: ["x"], tokenCharacters: ".",
    documents: [[". . a . . . b . ."], [". a b . . . c . ."], [". a b . . . c d ."], ["a b c d e f g h i"]],
    queries: [
      ("NEAR(a b, 5)", [1, 2, 3, 4]), ("NEAR(a b, 4)", [1, 2, 3, 4]), ("NEAR(a b, 3)", [1, 2, 3, 4]),
      ("NEAR(a b, 2)", [2, 3, 4]), ("NEAR(b a, 5)", [1, 2, 3, 4]), ("NEAR(b a, 4)", [1, 2, 3, 4]),
      ("NEAR(b a, 3)", [1, 2, 3, 4]), ("NEAR(b a, 2)", [2, 3, 4]), ("NEAR(\"a b\" c, 3)", [2, 3, 4]),
      ("NEAR(\"a b\" c, 2)", [4]), ("NEAR(c \"a b\", 3)", [2, 3, 4]), ("NEAR(c \"a b\", 2)", [4]),
      ("NEAR(a+b c+d, 3)", [3, 4]), ("NEAR(a+b c+d, 2)", [4]), ("NEAR(c+d a+b, 3)", [3, 4]),
      ("NEAR(c+d a+b, 2)", [4]), ("NEAR(a b c d, 5)", [3, 4]), ("NEAR(a b c d, 4)", [4]),
      ("NEAR(a+b c d, 4)", [3, 4]), ("NEAR(b+c a+b+c+d i, 5)", [4]), ("NEAR(b+c a+b+c+d i, 4)", []),
      ("NEAR(b+c a+b+c+d i, 3)", []), ("NEAR(a+b+c+d i b+c, 5)", [4]), ("NEAR(a+b+c+d i b+c, 4)", []),
      ("NEAR(a+b+c+d i b+c, 3)", []), ("NEAR(i a+b+c+d b+c, 5)", [4]), ("NEAR(i a+b+c+d b+c, 4)", []),
      ("NEAR(i a+b+c+d b+c, 3)", []),
    ])

  /// fts5near, equal trigrams near each other.
  static let nearTrigrams = SearchTable(
    "NEAR of equal trigrams", columns: ["x"], cut: .init(TextTokenizer.trigrams, "trigram"),
    documents: [[String(repeating: "a", count: 32) + " " + String(repeating: "a", count: 32)]],
    queries: [("NEAR(aaa aaa, 4)", [1]), ("NEAR(aaa \"aa \", 40)", [1])])

  /// fts5first.
  static let beginnings = SearchTable(
    "Beginnings of columns", columns: ["a", "b"], cut: .plain,
    documents: [["a b c", "b c a"], ["b a", "c a"], ["a a", "c c"], ["a b", "a a"]],
    queries: [
      ("^a", [1, 3, 4]), ("^b", [1, 2]), ("^c", [2, 3]), ("^a + b", [1, 4]), ("^b + c", [1]), ("^c + a", [2]),
      ("^\"c a\"", [2]), ("a:^a", [1, 3, 4]), ("a:^b", [2]), ("a:^\"a b\"", [1, 4]), ("^c AND ^b", [2]),
      ("\"^a\"", [1, 2, 3, 4]), ("a ^b", [1, 2]),
    ])

  /// fts5simple, fts5query, fts5columnsize and fts5misc.
  static let simple = SearchTable(
    "Simple searches", columns: ["x"], cut: .plain,
    documents: [
      ["another"], ["string"], ["of"], ["text"], ["aa"], ["ab"], ["aa ab ac ad ae af"], ["c d e f"], ["c d e f g h"],
      ["a b c d e f g h"], ["xyz"], ["o t t f"], ["f s s e"], ["n t e t"], ["we are going to upgrade"], ["hello world"],
      ["well said"], ["hello said"], ["well world"],
    ],
    queries: [
      ("a*", [1, 5, 6, 7, 10, 15]), ("aa*", [5, 7]), ("ab", [6, 7]), ("b", [10]), ("e", [8, 9, 10, 13, 14]),
      ("h", [9, 10]), ("b AND d", [10]), ("b AND xyz", []), ("o*", [3, 12]), ("s*", [2, 13, 17, 18]), ("t", [12, 14]),
      ("upgrade", [15]), ("hello", [16, 18]), ("hello NOT said", [16]), ("(c NOT a) OR b", [8, 9, 10]),
      ("a OR c", [8, 9, 10]), ("q OR y OR z", []), ("i*", []), ("u*", [15]), ("w*", [15, 16, 17, 19]),
    ])

  /// fts5simple3, phrases of which a later word is missing.
  static let missingWords = SearchTable(
    "Phrases of which a word is missing", columns: ["x"], cut: .plain,
    documents: [["ab"], ["cd"], ["ab cd"], ["ab cdXXX"], ["abXXX cd"], ["ef"]],
    queries: [
      ("\"ab cd\" OR \"ab cd\" *", [3, 4]), ("\"xy zz\" OR \"ab cd\" *", [3, 4]), ("\"xy zz\" OR \"xy zz\" *", []),
      ("\"ab cd\" OR \"xy zz\" *", [3]), ("ab + xyz", []), ("xyz + ab", []), ("\"ab xyz\" *", []), ("ab cd*", [3, 4]),
    ])

  /// fts5multi, its rows and what they are asked for by one search.
  static let pairs = SearchTable(
    "Pairs of letters", columns: ["a", "b", "c"], cut: .plain,
    documents: [
      ["gg bb bb", "gg ff gg", "ii ii"], ["dd dd hh kk", "jj", "aa"], ["kk gg ee", "hh cc", "hh jj aa cc"],
      ["hh", "bb jj cc", "kk ii"], ["kk dd kk ii", "aa ee aa", "ee"], ["ee", "ff gg kk aa", "ee ff ee"],
      ["ff jj", "gg ee", "kk ee gg kk"], ["ff ee dd hh", "kk ee", "gg dd"], ["bb", "aa", "bb aa"],
      ["hh cc bb", "ff bb", "cc"], ["jj", "ff dd bb aa", "dd dd ff ff"], ["ff dd gg dd", "gg aa bb ff", "cc"],
      ["ff aa cc jj", "kk", "ii dd"], ["jj dd", "cc", "ii hh ee aa"], ["ff ii hh", "dd", "gg"],
      ["ff dd gg hh", "hh", "ff dd"], ["cc cc", "ff dd ff", "bb"], ["ii", "bb ii", "jj kk"],
      ["ff hh", "hh bb", "bb dd ee"], ["jj kk", "jj", "gg ff cc"], ["dd kk", "ii gg", "dd"], ["cc", "aa ff", "ii"],
      ["bb ff bb ii", "bb kk bb aa", "hh ff ii dd"], ["aa", "ee bb jj jj", "dd"], ["kk dd cc", "aa jj", "ee aa ff"],
      ["aa gg aa", "jj", "ii kk hh gg"], ["ff hh aa", "jj ii", "hh dd bb jj"], ["hh", "aa gg kk", "bb ee"],
      ["bb", "ee", "gg"], ["dd kk", "kk bb aa", "ee"],
    ],
    searches: [
      "(( aa )) AND (( bb ))", "(a : ( aa )) AND (b : ( bb ))",
      "(a : ( aa OR bb OR cc )) AND (b : ( jj OR ii OR hh ))", "(( aa AND bb )) AND (( cc ))",
      "(c : ( kk )) AND (b : ( aa OR bb OR cc OR dd OR ee ))",
    ], found: 17)

  /// fts5detail and fts5offsets, what they ask where places are kept.
  static let lettersInColumns = SearchTable(
    "Letters in columns", columns: ["a", "b", "c"], cut: .plain,
    documents: letters(
      """
      hdg jbbgb ieidhgg
      hjd jhdah fdggfb
      jci ffhef cjijchf
      egg gedhi edbegdc
      bcc dihaf dijfabc
      ede bcjgd aifdhbd
      ghe bcdid efcific
      cfj jjiea hacfdhe
      ahi ciafa cfdhgdg
      jgg efeff hjbicge
      """),
    queries: [
      ("a:a", [9]), ("a:a*", [9]), ("b:g", [1, 4, 6]), ("b:g*", [1, 4, 6]), ("c:h", [1, 3, 6, 8, 9, 10]),
      ("c:h*", [1, 3, 6, 8, 9, 10]), ("h + d", [1, 2]), ("NEAR(h d)", [1, 2, 4, 5, 6, 8, 9]),
    ])

  /// fts5matchinfo, the documents and what is asked for.
  static let counted = SearchTable(
    "Words that are counted", columns: ["x", "y"], cut: .plain,
    documents: letters(
      """
      cdacdd eagbda
      ccgaeb cgdgec
      befdeg bacbcg
      acffgd dbfdeg
      gacfcf dggbcc
      gacebb dbfbgg
      fdaafc eeadcf
      acbbgf abaedf
      bafecc fdbbab
      fdceac fafaaf
      abcde fghij
      fghij abcde
      """),
    queries: [
      ("a", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]), ("b", [1, 2, 3, 4, 5, 6, 8, 9, 11, 12]),
      ("y:a", [1, 3, 7, 8, 9, 10, 12]), ("x:a", [1, 2, 4, 5, 6, 7, 8, 9, 10, 11]),
      ("a OR b", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]), ("a AND b", [1, 2, 3, 4, 5, 6, 8, 9, 11, 12]),
      ("a OR (a AND b)", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]), ("\"g h i\"", [11, 12]),
      ("\"a b\" c", [8, 9, 11, 12]),
      ("a \"b c\"", [3, 5, 11, 12]), ("h OR abcd", [11, 12]), ("h NOT abcd", [11, 12]), ("i i", [11, 12]),
      ("\"a b\" \"a b\"", [8, 9, 11, 12]),
    ])

  /// fts5prefix.
  static let prefixesOfColumns = SearchTable(
    "Beginnings of words in columns", columns: ["a", "b", "c"], cut: .plain,
    documents: [
      ["acb ccc bba", "cca bba bca", "bbc ccc bca"], ["cbb cac cab", "abb aac bba", "aab ccc cac"],
      ["aac bcb aac", "acb bcb caa", "aca bab bca"], ["aab ccb ccc", "aca cba cca", "aca aac cbb"],
      ["bac aab bab", "ccb bac cba", "acb aba abb"], ["bab abc ccb", "acb cba abb", "cbb aaa cab"],
      ["cbb bbc baa", "aab aca baa", "bcc cca aca"], ["abc bba abb", "cac abc cba", "acc aac cac"],
      ["bbc bbc cab", "bcb ccb cba", "bcc cac acb"],
    ],
    queries: [
      ("a : c*", [1, 2, 4, 6, 7, 9]), ("b : c*", [1, 3, 4, 5, 6, 8, 9]), ("c : c*", [1, 2, 4, 6, 7, 8, 9]),
      ("a : b*", [1, 3, 5, 6, 7, 8, 9]), ("b : b*", [1, 2, 3, 5, 7, 9]), ("c : b*", [1, 3, 7, 9]),
      ("a : a*", [1, 3, 4, 5, 6, 8]), ("b : a*", [2, 3, 4, 6, 7, 8]), ("c : a*", [2, 3, 4, 5, 6, 7, 8, 9]),
    ])

  /// fts5prefix, fts5prefix2 and fts5unicode4, with words of other scripts.
  static let prefixesOfScripts = SearchTable(
    "Beginnings of words of several scripts", columns: ["x"], cut: .plain,
    documents: [
      ["one two three"], ["four five six"], ["seven eight nine ten"], ["ÊËÌÍ"], ["\u{1234}\u{5678}\u{4321}\u{8765}"],
      ["top"], ["to"], ["tommy"], ["まりや"], ["May you do good and not evil."],
      ["May you find forgiveness for yourself and forgive others."],
      ["May you share freely, never taking more than you give f."], ["wwww"], ["in if"], ["if"],
    ],
    queries: [
      ("t*", [1, 3, 6, 7, 8, 12]), ("ÊË*", [4]), ("\u{1234}\u{5678}*", [5]), ("\u{1234}*", [5]), ("to*", [6, 7, 8]),
      ("まり*", [9]), ("り*", []), ("f*", [2, 11, 12]), ("wwww*", [13]), ("i*", [14, 15]),
    ])

  /// fts5ad, its first rows.
  static let prefixesOfSentences = SearchTable(
    "Beginnings of words of sentences", columns: ["x", "y"], cut: .plain,
    documents: [
      ["Changes the result to be", "the list of all matching"], ["indices (or all  matching", "values if -inline is"],
      ["specified as  well.) If", "indices are returned, the"],
    ],
    queries: [("c*", [1]), ("i*", [2, 3]), ("t*", [1, 3]), ("r*", [1, 3])])
}
