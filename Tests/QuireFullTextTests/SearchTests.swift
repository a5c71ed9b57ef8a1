// Searches of collections: what they find, filters, orders, conditions, errors.

import Foundation
import QuireDatabase
@testable import QuireFullText
import QuireIndexes
import QuireTesting
import QuireText
import Testing

@Suite("Searches")
struct SearchTests {
  private let bodies = ["night train to Lyon", "express night", "train express", "the day train", ""]

  private func keys(_ text: String) throws -> [String] {
    let db = try database(bodies.map { Article(title: "t", body: $0) })
    defer { try? db.close() }
    return try db.read { tx in try tx[.articles].search(text).keys }
  }

  @Test(
    "Words, phrases, beginnings and what joins them find their rows",
    arguments: [
      ("night", ["a0", "a1"]), ("night train", ["a0"]), ("night OR day", ["a0", "a1", "a3"]),
      ("\"train express\"", ["a2"]), ("\"express train\"", []), ("tr*", ["a0", "a2", "a3"]),
      ("train -day", ["a0", "a2"]), ("^express", ["a1"]), ("title : night", []), ("title : t", []),
      ("- body : t", ["a0", "a1", "a2", "a3", "a4"]), ("NEAR(night lyon, 2)", ["a0"]), ("NEAR(night lyon, 1)", []),
      ("-night", ["a2", "a3", "a4"]), ("\"\"", []), ("night \"...\"", ["a0", "a1"]), ("night AND \"...\"", []),
    ])
  func finds(text: String, expected: [String]) throws {
    let expected = text == "title : t" ? ["a0", "a1", "a2", "a3", "a4"] : expected
    #expect(try keys(text) == expected)
  }

  @Test("All forms of a result tell the same rows")
  func tellsTheSame() throws {
    let db = try database(bodies.map { Article(title: "t", body: $0) })
    try db.read { tx in
      let found = try tx[.articles].search("train")
      #expect(try found.count == 3)
      #expect(try !found.isEmpty)
      let keys = try found.keys
      #expect(keys == ["a0", "a2", "a3"] && found.walkedKeys == keys)
      #expect(try found.all.map(\.key) == keys)
      #expect(try found.first?.key == "a0")
      #expect(try found.objects.map(\.body) == [bodies[0], bodies[2], bodies[3]])
      var seen: [String] = []
      try found.forEach { seen.append($0.key) }
      #expect(seen == keys)
      #expect(try found.rowIDs(among: [RowID(3), RowID(2), RowID(1), RowID(77), RowID(3)]).count == 2)
      #expect(try tx[.articles].search("nothing").isEmpty)
      #expect(try tx[.articles].search("nothing").first == nil)
    }
    try db.close()
  }

  @Test("A search sees what its own transaction has changed, row by row")
  func seesOwnChanges() throws {
    let db = try database(bodies: "one", "two")
    try db.write { tx in
      let rows = tx[.articles]
      try rows.set(Article(title: "one", body: ""), for: "b")
      #expect(try rows.search("one").keys == ["a0", "b"])
      try rows.remove("a0")
      #expect(try rows.search("one").keys == ["b"])
      let ones = Condition<Article, NoMetadata>.rows(SearchSelection<Article, NoMetadata>("one"))
      #expect(try rows.find { $0.year > 0 && ones }.keys == ["b"])
    }
    try db.close()
  }

  // MARK: Typing

  @Test("What is typed finds rows with all words, the last of which may be incomplete")
  func typing() throws {
    let db = try database(bodies.map { Article(title: "t", body: $0) })
    try db.read { tx in
      for (text, expected) in [
        ("night tr", ["a0"]), ("tr", ["a0", "a2", "a3"]), ("tr ", []), ("\"night tra", ["a0"]),
        ("", ["a0", "a1", "a2", "a3", "a4"]),
      ] {
        let keys = try tx[.articles].search(typing: text).keys
        #expect(keys == expected, "\(text)")
      }
    }
    try db.close()
  }

  @Test("What is typed is no error where positions are not kept", arguments: [PostingDetail.frequencies, .rows])
  func typingWithoutPositions(detail: PostingDetail) throws {
    let bodies = ["don't talk", "talks, d0 t1", "don to", "a\u{ad}b night train", "b a", "train of the night"]
    let db = try database(bodies.map { Article(title: "", body: $0) }, .articles(detail))
    try db.read { tx in
      for (text, expected) in [
        ("don't", ["a0", "a2"]), ("don't ta", ["a0"]), ("a\u{ad}b ", ["a3", "a4"]),
        ("\"night train\"", ["a3", "a5"]), ("\"train ni", ["a3", "a5"]), ("don't ", ["a0"]), ("...", []),
      ] {
        let found = try tx[.articles].search(typing: text)
        #expect(try found.keys == expected && found.count == expected.count, "\(text)")
        let hits = try found.ranked().hits
        #expect(Set(hits.map(\.key)) == Set(expected), "\(text)")
        for hit in hits { #expect(try !hit.snippet(of: "body").hits.isEmpty) }
      }
      let phrase = try tx[.articles].search("\"night train\"")
      #expect(fullTextError { _ = try phrase.count } == .needsPositions(fullText: "articles.text", what: "a phrase"))
    }
    try db.close()
  }

  @Test("A phrase of several texts is one of the words of all of them, in every script")
  func phrasesOfTexts() throws {
    let bodies = ["東京 大阪", "東京大阪", "東京 x 大阪", "京 大阪", "東 京", "東京都 3月 5日", "night 東京 train"]
    let db = try database(bodies.map { Article(title: "", body: $0) }, .articles(tokenizer: .words))
    var definition = BruteForceSearch(fields: ["title", "body"], tokenizer: .words)
    try db.read { tx in
      for (number, text) in bodies.enumerated() {
        if let row = try tx[.articles].rowID("a\(number)") { try definition.set(row, ["", text]) }
      }
      for (text, expected) in [
        ("\"東京\" + \"大阪\"", ["a0"]), ("東京 + x + 大阪", ["a2"]), ("東京 + \"…\" + 大阪", ["a0"]),
        ("東 + 京", ["a4"]), ("東京都 + 3月 + 5日", ["a5"]), ("night + 東京 + train", ["a6"]), ("東京都", ["a5"]),
        ("東京 + \"…\"", ["a0", "a1", "a2", "a5", "a6"]), ("京 + 大", ["a0", "a3"]), ("東京* + 大阪", ["a0", "a1"]),
        ("NEAR(東京 + x 大阪, 3)", ["a2"]),
      ] {
        let expression = try SearchExpression(text)
        #expect(try tx[.articles].search(expression).keys == expected, "\(text)")
        #expect(try tx[.articles].search(expression).rowIDs == definition.rowIDs(expression), "\(text)")
      }
      let value = SearchExpression.near(NearGroup([Phrase(["東京", "大阪"])]))
      #expect(try tx[.articles].search(value).keys == ["a0"])
    }
    try db.close()
  }

  // MARK: Filters and orders

  @Test(
    "Filters count inside of the search, whichever way they are tested", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: [UInt64](1...4))
  func filters(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let articles = (0..<600).map { _ in random.article(40) }
    let db = try database(articles)
    if seed % 2 == 0 { try db.register(Indexes.articles) }
    try db.read { tx in
      for _ in 0..<TestSize.trials(60, divisor: 8) {
        let (text, year) = (random.search(40), 1950 + random.below(55))
        let found = try tx[.articles].search(text)
        let expected = try found.all.filter { $0.object.year < year && $0.object.weight > 1 }
        let filtered = found.filtered { $0.year < year }.filtered { $0.weight > 1 }
        #expect(try filtered.keys == expected.map(\.key), "\(text)")
        #expect(try filtered.count == expected.count, "\(text)")
        #expect(try filtered.isEmpty == expected.isEmpty, "\(text)")
        let ids = Set(expected.map(\.rowID))
        let ranked = try found.ranked().scores.filter { ids.contains($0.rowID) }
        let best = try filtered.ranked().limit(7).offset(2).scores
        #expect(best.map(\.rowID) == ranked.dropFirst(2).prefix(7).map(\.rowID), "\(text)")
        let ordered = filtered.order(by: .descending(\.year)).limit(20)
        let years = expected.map(\.object.year).sorted(by: >).prefix(20)
        #expect(try ordered.objects.map(\.year) == Array(years))
      }
    }
    try db.close()
  }

  @Test("A search is a part of conditions, negated as well")
  func conditions() throws {
    let db = try database(bodies.map { Article(title: "t", body: $0, year: 1990) })
    try db.register(Indexes.articles)
    try db.read { tx in
      let trains = Condition<Article, NoMetadata>.rows(SearchSelection<Article, NoMetadata>("train"))
      #expect(try tx[.articles].find(trains).keys == ["a0", "a2", "a3"])
      #expect(try tx[.articles].find { $0.year == 1990 && !trains }.keys == ["a1", "a4"])
      #expect(try tx[.articles].find { $0.year == 1991 || trains }.count == 3)
      let selection = SearchSelection<Article, NoMetadata>("train OR day")
      #expect(selection.storedForm == "train OR day")
      let ranked = try selection.rankedRowIDs(limit: 2, in: tx)
      let scores = try tx[.articles].search("train OR day").ranked().limit(2).scores
      #expect(ranked.map(\.rowID) == scores.map(\.rowID))
    }
    try db.close()
  }

  @Test("Of the forms of a word, one that another stands for is not searched for by itself")
  func forms() throws {
    let text = ArticleText.articles(tokenizer: PlainTokenizer(hasOtherForms: true))
    let resolver = ExpressionResolver(text.layout)
    func terms(_ expression: SearchExpression) throws -> [SearchTerm] {
      guard case .group(let group) = try resolver.resolve(expression) else { return [] }
      return group.phrases[0].elements[0].terms
    }
    let (whole, cut) = (Array("words".utf8), Array("word".utf8))
    #expect(try terms(.word("words")) == [SearchTerm(bytes: whole), SearchTerm(bytes: cut)])
    #expect(try terms(.prefix("words")) == [SearchTerm(bytes: cut, isPrefix: true)])
  }

  // MARK: Errors

  @Test("Searches without a full text, of unknown fields and of wrong texts say so")
  func errors() throws {
    let db = try Database.inMemory()
    try db.write { tx in try tx[.articles].set(Article(title: "", body: ""), for: "a") }
    try db.read { tx in
      #expect(throws: FullTextError.notServed(collection: "articles")) { try tx[.articles].search("a") }
      #expect(throws: FullTextError.self) { try tx[.articles].terms(beginningWith: "a") }
    }
    try db.register(ArticleText.articles(.frequencies))
    try db.read { tx in
      #expect(throws: SearchSyntaxError.self) { try tx[.articles].search("a AND") }
      #expect(throws: SearchSyntaxError.self) { try tx[.articles].search("author : a") }
      #expect(throws: FullTextError.unknownField(name: "author", fields: ["title", "body"])) {
        try tx[.articles].search(.word("a", in: "author")).count
      }
      for text in ["\"a b\"", "^a", "NEAR(a b)"] {
        let error = #expect(throws: FullTextError.self) { try tx[.articles].search(text).count }
        guard case .needsPositions = error else {
          Issue.record("\(text) has another error")
          continue
        }
      }
      #expect(throws: FullTextError.unknownField(name: "author", fields: ["title", "body"])) {
        try tx[.articles].search("a").ranked().weights(["author": 2]).scores
      }
      #expect(throws: FullTextError.self) { try tx[.articles].search("a").ranked().weights(["body": -1]).scores }
    }
    try db.close()
  }

  @Test("A search of a task that was cancelled ends with an error")
  func cancellation() async throws {
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try CommonRows([ListedRows((1...9000).map { RowID($0) })]).count()
    }
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test("An observed search runs again when its words come and go, and for no others")
  func observed() async throws {
    let db = try database(bodies: "night", "day", "x")
    let counts = db.observe { tx in try tx[.articles].search("night OR \"late d\" *").count }
    var iterator = counts.makeAsyncIterator()
    #expect(try await iterator.next() == 1)
    try await db.write { tx in try tx[.articles].set(Article(title: "noon", body: ""), for: "b") }
    try await db.write { tx in try tx[.articles].set(Article(title: "a late night", body: ""), for: "c") }
    #expect(try await iterator.next() == 2)
    try await db.write { tx in try tx[.articles].set(Article(title: "late day", body: ""), for: "c") }
    try await db.write { tx in try tx[.articles].remove("a0") }
    var last = try await iterator.next()
    while last != 1 { last = try await iterator.next() }
    try await db.write { tx in try tx[.articles].removeAll() }
    #expect(try await iterator.next() == 0)
    try db.close()
  }
}
