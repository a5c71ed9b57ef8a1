// The full text that is registered over the rows of the lives of `quire-torture rows`, and what it must find.

import QuireDatabase
import QuireFullText
import QuireText

extension TortureExtension {
  /// Titles and tags, which are few words that many rows have: what commits fold into blocks are the lists of these.
  ///
  /// - Parameter forgets: leaves the tags of one group out.
  static func texts(forgets: Bool) -> FullText<TortureRow, Int> {
    FullText<TortureRow, Int>("texts", over: .rows, version: "1", tokenizer: .words) {
      SearchField("title", \.title, weight: 3)
      SearchField("tags") { row, _ in forgets && row.group == 3 ? "" : row.tags.joined(separator: " ") }
      SearchField("parent", \.parent)
    }
  }

  static let texts = texts(forgets: false)

  /// What is searched for, and which rows have it. A title begins with two words and may have others behind them.
  private static let questions: [(text: String, has: @Sendable (TortureRow) -> Bool)] = [
    ("tags:tag3", { $0.tags.contains("tag3") }),
    ("title:\"title 7\"", { $0.title.hasPrefix("title 7 ") }),
    ("parent:k1*", { $0.parent.hasPrefix("k1") }),
    ("title:and NOT tags:tag*", { $0.title.contains("and") && $0.tags.isEmpty }),
    ("tags:^tag1 OR parent:k5", { $0.tags.first == "tag1" || $0.parent == "k5" }),
    ("NEAR(\"title\" so, 2)", { $0.title.contains("so") }),
    ("tags:(tag0 AND tag5)", { Set($0.tags).isSuperset(of: ["tag0", "tag5"]) }),
  ]

  /// Whether what is stored is what the rows say, and searches find and rank the rows of the model.
  static func checkTexts(_ db: Database, _ state: RowState) throws {
    try db.read { tx in
      try tx.access(to: texts).verify()
      for (text, has) in questions {
        let found = try tx[.rows].search(text)
        let expected = state.rows.filter { has($0.value.row) }.map(\.key).sorted()
        let keys = try found.keys.sorted()
        guard keys == expected else {
          throw RowFinding("a search for “\(text)” finds \(keys.prefix(5)) …, \(keys.count) of \(expected.count) rows")
        }
        try checkOrder(of: found, text, expected)
      }
    }
  }

  /// The count, and the best rows.
  private static func checkOrder(
    of found: MatchedRows<TortureRow, Int>, _ text: String, _ expected: [String]
  ) throws {
    let count = try found.count
    guard count == expected.count else { throw RowFinding("“\(text)” counts \(count) of \(expected.count) rows") }
    let best = try found.ranked().limit(7).hits.map { ($0.key, $0.score) }
    let isRight =
      best.count == min(7, expected.count) && Set(best.map(\.0)).isSubset(of: expected)
      && zip(best, best.dropFirst()).allSatisfy { $0.1 >= $1.1 }
    guard isRight else { throw RowFinding("the best for “\(text)” are \(best), of \(expected.count) rows") }
  }
}
