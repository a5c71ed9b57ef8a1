// The list of FTS5's published test scripts: which tables and tests here cover each, and why others are not covered.

import Testing

/// The scripts in ext/fts5/test of SQLite, by their names without “fts5” in front and “.test” behind.
enum FTS5Scripts {
  /// Scripts that ask something that Quire has, with the tables that ask the same, by their names.
  static let tables: [(script: String, tables: [String])] = [
    ("ab", ["Words that begin alike", "A few rows of a few words"]),
    ("ac", ["Letters of two columns", "What binds what"]),
    ("ad", ["Words that begin with each other", "Beginnings of words of sentences"]),
    ("ae", ["A few rows of a few words", "Short rows and several hits", "Alternatives"]),
    ("af", ["A word", "A phrase"]), ("ag", ["Letters that are ranked", "Letters of two columns"]),
    ("ak", ["Letters", "Phrases that overlap", "The example of the documentation"]),
    ("auto", ["Letters of six columns"]),
    ("cat", ["fts5cat: vowel signs separate words, as long as no categories are named"]),
    (
      "colset",
      ["A letter in each column", "No column is left", "Sets of columns, of all others, and one within the other"]
    ),
    ("columnsize", ["Simple searches"]), ("content", ["A few rows of a few words", "Alternatives"]),
    ("detail", ["Letters in columns"]), ("offsets", ["Letters in columns"]),
    ("ea", ["Texts without words in a search"]), ("eb", ["Texts without words in a search", "A word of all rows"]),
    ("first", ["Beginnings of columns", "Words at the beginning of a column"]),
    ("fuzz1", ["Texts without words in a search"]), ("matchinfo", ["Words that are counted"]),
    ("misc", ["Simple searches", "Capitals that separate words"]), ("multi", ["Pairs of letters"]),
    ("near", ["NEAR of words and phrases", "NEAR of equal trigrams", "NEAR over rows of one column"]),
    ("phrase", ["Phrases in sets of columns", "A phrase of one column", "Phrases of two and more words"]),
    ("prefix", ["Beginnings of words in columns", "Beginnings of words of several scripts", "Beginnings of words"]),
    ("prefix2", ["Beginnings of words of several scripts", "Beginnings of words"]), ("query", ["Simple searches"]),
    ("rank", ["How often a word stands in a row"]),
    ("simple", ["Simple searches", "Searches in one of many columns", "Alternatives"]),
    ("simple3", ["Phrases of which a word is missing"]),
    (
      "synonym",
      [
        "Numbers, stored in all forms", "Numbers, asked for in all forms", "Letters that stand for runs of them",
        "Words that stand twice at their place", "Numbers in all forms", "Runs of letters",
      ]
    ),
    ("synonym2", ["Many numbers, asked for in all forms", "Many numbers, stored in all forms"]),
    ("tok1", ["fts5tok1: letters and an apostrophe"]),
    (
      "tokenizer",
      [
        "Characters that separate words, and others that do not", "Long words, and many that begin alike",
        "Stems of words", "fts5tokenizer: an Ethiopic letter separates words",
      ]
    ),
    ("tokenizer2", ["Words with nothing between them"]),
    ("trigram", ["Trigrams", "Trigrams with regard to case", "Trigrams beside each other"]),
    ("umlaut", ["All diacritics are taken off", "Single diacritics are taken off"]),
    ("unicode", ["fts5unicode and fts5unicode2: words", "fts5unicode: characters of four bytes"]),
    (
      "unicode2",
      [
        "fts5unicode2: diacritics are kept", "fts5unicode2: blank space", "Notes with a diaeresis on each letter",
        "fts5unicode2: characters for private use are parts of words",
      ]
    ),
    ("unicode4", ["Beginnings of words of several scripts"]),
  ]

  /// Scripts that are covered by tests that are no tables, with the suites of these.
  static let tests: [(scripts: String, suite: String)] = [
    ("aa delete hash update", "FTS5TableTests: rows that come, change, go and come again; DifferentialTests"),
    ("ah ai bigpl bigtok dlidx rowid savepoint", "FTS5LongListTests"), ("expr limits", "FTS5GrammarTests"),
    ("simple2", "FTS5DetailTests"), ("vocab", "FTS5TokenTests"),
    ("unicode3", "Unicode61Tests, which compares all scalars"), ("restart", "UpkeepTests and DifferentialTests"),
    ("determin integrity integrity2", "VerifyTests"), ("interrupt", "NearTests and SearchTests"),
  ]

  /// Why the rest says nothing about Quire.
  static let others: [(scripts: String, reason: String)] = [
    (
      "corrupt corrupt2 corrupt3 corrupt4 corrupt5 corrupt6 corrupt7 corrupt8 corrupt9 corruptA corruptB corruptbig",
      "damage of FTS5's own format; VerifyTests and BlockTests have that of Quire's"
    ),
    (
      "fault1 fault2 fault3 fault4 fault5 fault6 fault7 fault8 fault9 faultA faultB faultC faultD faultE faultF faultG "
        + "faultH faultI securefault", "memory and files that fail inside of SQLite; the crash tests have Quire's"
    ),
    (
      "aj doclist full merge merge2 optimize optimize2 optimize3 rebuild secure secure2 secure3 secure4 secure5 "
        + "secure6 secure7 secure8", "segments of FTS5's index, and commands about them"
    ),
    (
      "contentless contentless2 contentless3 contentless4 contentless5 conflict unindexed unindexed2 update2",
      "tables without texts, texts elsewhere, and columns that are not indexed: a full text always follows its rows"
    ),
    (
      "al alter bigid blob circref concurrent config connect join lastrowid leftjoin multiclient onepass plan version "
        + "vocab2", "SQL: options, statements, the planner, connections, and numbers of rows that somebody chooses"
    ),
    (
      "aux aux2 auxdata insttoken locale origintext origintext2 origintext3 origintext4 origintext5 origintext6 tok2 "
        + "tokenizer3", "interfaces for functions in C, and tokens that carry something"
    ),
    ("porter porter2", "another stemmer: Quire has Snowball's, and StemmerTests compare it with libstemmer"),
    ("bigtok2", "a token of a gigabyte"),
    ("trigram2", "an option of the trigrams that SQLite has since 3.45"),
  ]
}

@Suite("The list of FTS5's scripts")
struct FTS5ScriptListTests {
  @Test("Each script is listed in one place, and the tables that are named are there")
  func list() {
    var names = Set(SearchTable.all.map(\.name) + HighlightTable.all.map(\.name) + SnippetTable.all.map(\.name))
    names.formUnion(RankTable.all.map(\.name) + TokenTable.all.map(\.testDescription))
    names.formUnion(FTS5DetailTests.tables.map(\.testDescription))
    for (script, tables) in FTS5Scripts.tables {
      for table in tables { #expect(names.contains(table), "\(script): \(table)") }
    }
    let rest = (FTS5Scripts.tests.map(\.scripts) + FTS5Scripts.others.map(\.scripts)).flatMap {
      $0.split(separator: " ")
    }
    let scripts = FTS5Scripts.tables.map(\.script) + rest.map(String.init)
    #expect(Set(scripts).count == scripts.count && scripts.count > 130, "\(scripts.count)")
  }
}
