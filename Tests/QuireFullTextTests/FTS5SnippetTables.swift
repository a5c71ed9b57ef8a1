// The pieces of texts that fts5af, fts5unicode2 and fts5tokenizer2 have snippet() show, as a table.

import Testing

/// A search with texts and the piece that is shown of each: of the text in the first column, and in the second.
struct SnippetTable: CustomTestStringConvertible, Sendable {
  let name: String
  let text: String
  var tokens = 7
  let pieces: [(document: String, shown: String)]

  var testDescription: String { name }

  static let all = [oneWord, twoWords, notes]

  /// fts5af, a word that stands once or twice.
  static let oneWord = SnippetTable(
    name: "A word", text: "X",
    pieces: [
      ("X o o o o o o", "[X] o o o o o o"), ("o X o o o o o", "o [X] o o o o o"),
      ("o o X o o o o", "o o [X] o o o o"), ("o o o X o o o", "o o o [X] o o o"),
      ("o o o o X o o", "o o o o [X] o o"), ("o o o o o X o", "o o o o o [X] o"),
      ("o o o o o o X", "o o o o o o [X]"), ("X o o o o o o o", "[X] o o o o o o..."),
      ("o X o o o o o o", "o [X] o o o o o..."), ("o o X o o o o o", "o o [X] o o o o..."),
      ("o o o X o o o o", "o o o [X] o o o..."), ("o o o o X o o o", "o o o o [X] o o..."),
      ("o o o o o X o o", "o o o o o [X] o..."), ("o o o o o o X o", "o o o o o o [X]..."),
      ("o o o o o o o X", "...o o o o o o [X]"), ("X o o o o o o o o", "[X] o o o o o o..."),
      ("o X o o o o o o o", "o [X] o o o o o..."), ("o o X o o o o o o", "o o [X] o o o o..."),
      ("o o o X o o o o o", "o o o [X] o o o..."), ("o o o o X o o o o", "o o o o [X] o o..."),
      ("o o o o o X o o o", "o o o o o [X] o..."), ("o o o o o o X o o", "o o o o o o [X]..."),
      ("o o o o o o o X o", "...o o o o o [X] o"), ("o o o o o o o o X", "...o o o o o o [X]"),
      ("X o o o o o X o o", "[X] o o o o o [X]..."), ("o X o o o o o X o", "o [X] o o o o o..."),
      ("o o X o o o o o X", "o o [X] o o o o..."), ("X o o o o X o o o", "[X] o o o o [X] o..."),
      ("o X o o o o X o o", "o [X] o o o o [X]..."), ("o o X o o o o X o", "o o [X] o o o o..."),
      ("o o o X o o o o X", "o o o [X] o o o..."), ("X o o o X o o o", "[X] o o o [X] o o..."),
      ("o X o o o X o o o", "o [X] o o o [X] o..."), ("o o X o o o X o o", "o o [X] o o o [X]..."),
      ("o o o X o o o X o", "o o o [X] o o o..."), ("o o o o X o o o X", "o o o o [X] o o..."),
      ("X o o X o o o o o", "[X] o o [X] o o o..."), ("o X o o X o o o o", "o [X] o o [X] o o..."),
      ("o o X o o X o o o", "o o [X] o o [X] o..."), ("o o o X o o X o o", "o o o [X] o o [X]..."),
      ("o o o o X o o X o", "o o o o [X] o o..."), ("o o o o o X o o X", "o o o o o [X] o..."),
      ("o o o o o o o X o o o", "...o o o [X] o o o"), ("o o o o o o o X o o o o", "...o o o [X] o o o..."),
      ("o o o o o o o X o o o o o X o", "...[X] o o o o o [X]..."),
      ("o o o o o o o o o X o o o o o o o o o o o o o o o o X X X o o o", "...o o [X] [X] [X] o o..."),
      ("o o o o o o o. o o X o o o o o o o o o o o o o o o o X X X o o o", "...o o [X] o o o o..."),
      ("o o o o X o o o o o o o o o o o o o o o o o o o o o o X X X o o o", "o o o o [X] o o..."),
      ("o o o o o o o X o o", "...o o o o [X] o o"), ("o o o o o o o o X o o o", "...o o o [X] o o o"),
      ("o o o o o o o o o X o o", "...o o o o [X] o o"), ("o o o o o o o o o o X o", "...o o o o o [X] o"),
      ("o o o o o o o o o o o X", "...o o o o o o [X]"), ("o o o o o o o o X o o o o o X", "...[X] o o o o o [X]"),
      ("o o o o o o o X o o o o X o o", "...[X] o o o o [X] o..."),
      ("o o o o o o o o X o o o o X o", "...[X] o o o o [X] o"),
      ("o o o o o o o o o X o o o o X", "...o [X] o o o o [X]"),
      ("o o o o o o o X o o o X o o", "...o [X] o o o [X] o..."),
      ("o o o o o o o o X o o o X o", "...o [X] o o o [X] o"),
      ("o o o o o o o o o X o o o X", "...o o [X] o o o [X]"),
      ("o o o o o o o X o o X o o o", "...o [X] o o [X] o o..."),
      ("o o o o o o o o X o o X o o", "...o [X] o o [X] o o"),
      ("o o o o o o o o o X o o X o", "...o o [X] o o [X] o"),
      ("o o o o o o o o o o X o o X", "...o o o [X] o o [X]"),
    ])

  /// fts5af, a phrase.
  static let twoWords = SnippetTable(
    name: "A phrase", text: "X + Y",
    pieces: [
      ("X Y o o o o o", "[X Y] o o o o o"), ("o X Y o o o o", "o [X Y] o o o o"),
      ("o o X Y o o o", "o o [X Y] o o o"), ("o o o X Y o o", "o o o [X Y] o o"),
      ("o o o o X Y o", "o o o o [X Y] o"), ("o o o o o X Y", "o o o o o [X Y]"),
      ("X Y o o o o o o", "[X Y] o o o o o..."), ("o X Y o o o o o", "o [X Y] o o o o..."),
      ("o o X Y o o o o", "o o [X Y] o o o..."), ("o o o X Y o o o", "o o o [X Y] o o..."),
      ("o o o o X Y o o", "o o o o [X Y] o..."), ("o o o o o X Y o", "o o o o o [X Y]..."),
      ("o o o o o o X Y", "o o o o o o [X]..."), ("X Y o o o o o o o", "[X Y] o o o o o..."),
      ("o X Y o o o o o o", "o [X Y] o o o o..."), ("o o X Y o o o o o", "o o [X Y] o o o..."),
      ("o o o X Y o o o o", "o o o [X Y] o o..."), ("o o o o X Y o o o", "o o o o [X Y] o..."),
      ("o o o o o X Y o o", "o o o o o [X Y]..."), ("o o o o o o X Y o", "o o o o o o [X]..."),
      ("o o o o o o o X Y", "...o o o o o [X Y]"), ("o o o o o o o X Y o o o", "...o o [X Y] o o o"),
      ("o o o o o o o o X Y o o", "...o o o [X Y] o o"), ("o o o o o o o o o X Y o", "...o o o o [X Y] o"),
      ("o o o o o o o o o o X Y", "...o o o o o [X Y]"), ("o o o o o o o X Y o o o o", "...o o [X Y] o o o..."),
      ("o o o o o o o o o o o X Y", "...o o o o o [X Y]"),
    ])

  /// fts5unicode2, the notes.
  static let notes = SnippetTable(
    name: "Notes with a diaeresis on each letter", text: "row OR rollback OR lang*".dotted, tokens: 15,
    pieces: [
      (5, "...returns the value of y on the same [row] that contains the maximum x value."),
      (
        8,
        "Pending statements no longer block [ROLLBACK]. Instead, the pending statement will return SQLITE_ABORT upon..."
      ),
      (6, "Added support for the FTS4 [languageid] option."),
    ].map { (SearchTable.dotted(SearchTable.notes[$0]), SearchTable.dotted($1)) })
}

extension String {
  /// The same with a diaeresis on each letter that may have one, but for what binds words.
  fileprivate var dotted: String {
    split(separator: " ").map { $0 == "OR" ? "OR" : SearchTable.dotted(String($0)) }.joined(separator: " ")
  }
}
