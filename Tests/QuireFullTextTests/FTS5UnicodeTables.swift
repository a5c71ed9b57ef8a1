// Letters with diacritics, from FTS5's scripts: documents, searches and their rows.

import QuireText

extension SearchTable {
  private static let hanoi = [
    ["Ha Noi"], ["H\u{e0} N\u{1ed9}i"], ["H\u{e0} Noi"], ["Ha N\u{1ed9}i"], ["Ha No\u{302}i"],
    ["Ha No\u{323}\u{302}i"],
  ]

  /// fts5umlaut, with all diacritics taken off.
  static let umlauts = SearchTable(
    "All diacritics are taken off", columns: ["x"],
    cut: .init(.unicode61(removeDiacritics: .complete), "unicode61 remove_diacritics 2"), documents: hanoi,
    queries: hanoi.map { ($0[0], [1, 2, 3, 4, 5, 6]) })

  /// fts5umlaut, with those taken off that stand alone.
  static let simpleUmlauts = SearchTable(
    "Single diacritics are taken off", columns: ["x"], cut: .plain, documents: hanoi,
    queries: hanoi.map { ($0[0], $0[0].unicodeScalars.contains("\u{1ed9}") ? [2, 4] : [1, 3, 5, 6]) })

  /// Texts with a diaeresis on each letter that may have one.
  static func dotted(_ text: String) -> String {
    String(text.map { dots[$0] ?? $0 })
  }

  private static let dots: [Character: Character] = {
    let (plain, marked) = ("AaEeIiOoUuYyHhWwXx", "ÄäËëÏïÖöÜüŸÿḦḧẄẅẌẍ")
    return Dictionary(uniqueKeysWithValues: zip(plain, marked))
  }()

  /// The notes of fts5unicode2.
  static let notes = [
    "Enhance the INSERT syntax to allow multiple rows to be inserted via the VALUES clause.",
    "Enhance the CREATE VIRTUAL TABLE command to support the IF NOT EXISTS clause.",
    "Added the sqlite3_stricmp() interface as a counterpart to sqlite3_strnicmp().",
    "Added the sqlite3_db_readonly() interface.",
    "Added the SQLITE_FCNTL_PRAGMA file control, giving VFS implementations the ability to add new PRAGMA statements "
      + "or to override built-in PRAGMAs.",
    "Queries of the form: \"SELECT max(x), y FROM table\" returns the value of y on the same row that contains the "
      + "maximum x value.",
    "Added support for the FTS4 languageid option.",
    "Documented support for the FTS4 content option. This feature has actually been in the code since version 3.7.9 "
      + "but is only now considered to be officially supported.",
    "Pending statements no longer block ROLLBACK. Instead, the pending statement will return SQLITE_ABORT upon next "
      + "access after the ROLLBACK.",
    "Improvements to the handling of CSV inputs in the command-line shell",
    "Fix a bug introduced in version 3.7.10 that might cause a LEFT JOIN to be incorrectly converted into an INNER "
      + "JOIN if the WHERE clause indexable terms connected by OR.",
  ]

  /// fts5unicode2, its notes and single letters.
  static let unicodeDocuments = SearchTable(
    "Notes with a diaeresis on each letter", columns: ["x"], cut: .plain,
    documents: (notes + ["o", "a", "O", "A"]).map { [dotted($0)] } + [["o"], ["a"], ["\u{d6}"], ["\u{c4}"]],
    queries: [
      (dotted("row"), [6]), (dotted("ROW"), [6]), (dotted("rollback"), [9]), (dotted("rOllback"), [9]),
      (dotted("lang*"), [7]), ("row", [6]), ("lang*", [7]), ("o NOT row", [12, 14, 16, 18]),
      ("^a NOT row NOT converted", [13, 15, 17, 19]), ("added", [3, 4, 5, 7]),
      ("\u{e4}dd\u{eb}d + th\u{eb}", [3, 4, 5]),
    ])

  /// fts5tokenizer, with the stems that Quire has.
  static let stems = SearchTable(
    "Stems of words", columns: ["x"], cut: .init(own: TextTokenizer.words.stemmed(.english)),
    documents: [["embedded databases"], ["a database that is embedded"], ["data in beds"]],
    queries: [
      ("embedding", [1, 2]), ("database", [1, 2]), ("database embedding", [1, 2]), ("\"embedding databases\"", [1]),
      ("bed*", [3]),
    ])
}
