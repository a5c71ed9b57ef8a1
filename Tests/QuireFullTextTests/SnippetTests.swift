// Snippets and highlights of texts, without a database.

import QuireTesting
import QuireText
import Testing

@testable import QuireFullText

@Suite struct SnippetTests {
  /// What makes snippets of texts for a search in FTS5's syntax.
  private func maker(
    _ query: String, _ fieldNames: [String] = ["text"], _ tokenizer: some Tokenizer = .unicode61()
  ) throws -> SnippetMaker {
    let resolver = try SnippetSamples.resolver(fieldNames, tokenizer)
    let expression = try resolver.resolve(try SearchExpression(query))
    return SnippetMaker(expression, fieldNames: fieldNames, tokenizer: tokenizer)
  }

  private func highlight(
    _ query: String, _ text: String, _ tokenizer: some Tokenizer = .unicode61()
  ) throws -> String {
    try maker(query, ["text"], tokenizer).highlights(ofField: 0) { _ in [text] }.map { $0.marked() }.joined()
  }

  private func snippet(_ query: String, _ text: String, tokens: Int) throws -> Snippet {
    try maker(query).snippet(ofFields: [0], tokens: tokens) { _ in [text] }
  }

  @Test("Equal words and groups of a search are looked for once")
  func equalGroups() throws {
    let resolver = try SnippetSamples.resolver(["text"], .unicode61())
    let equal = String(repeating: "a \"a b\" NEAR(a a b) ", count: 50)
    let query = SnippetQuery(try resolver.resolve(try SearchExpression(equal)))
    #expect(query.occurrences.count == 150 && query.groups.count == 3)
    #expect(query.elementCount == 2 && query.phrases.count == 4)
    #expect(query.shownPhrases.counts == [50, 50, 100, 50])
  }

  // MARK: Highlights

  @Test("Highlights are ranges of the text")
  func ranges() throws {
    let text = "Der Zug, die Züge: zug"
    let found = try maker("zug OR zuge").highlights(ofField: 0) { _ in [text] }
    #expect(found.count == 1 && found[0].text == text)
    #expect(found[0].hits.map { String(text[$0]) } == ["Zug", "Züge", "zug"])
    #expect(found[0].marked("[", "]") == "Der [Zug], die [Züge]: [zug]")
  }

  @Test("Phrases that overlap are one hit, and phrases beside each other are two")
  func overlaps() throws {
    #expect(try highlight("\"a b\" OR \"b c\"", "a b c a b") == "<b>a b c</b> <b>a b</b>")
    #expect(try highlight("a OR b", "a b") == "<b>a</b> <b>b</b>")
    #expect(try highlight("\"a b a\"", "a b a b a") == "<b>a b a b a</b>")
  }

  @Test("Of an alternative, only the parts are shown that hold")
  func alternatives() throws {
    #expect(try highlight("a OR (b AND c)", "a b") == "<b>a</b> b")
    #expect(try highlight("a OR (b AND c)", "a b c") == "<b>a</b> <b>b</b> <b>c</b>")
    #expect(try highlight("a OR (b NOT c)", "a b c") == "<b>a</b> b c")
    #expect(try highlight("a OR NEAR(b c, 1)", "a b o o o c") == "<b>a</b> b o o o c")
    #expect(try highlight("a NOT (b NOT c)", "a b c") == "<b>a</b> b c")
  }

  @Test("Which parts of an alternative hold is decided by all fields")
  func alternativesOfFields() throws {
    let maker = try maker("a OR (b AND c)", ["first", "second"])
    let texts = [["a b"], ["c"]]
    #expect(try maker.highlights(ofField: 0) { texts[$0] }.map { $0.marked() } == ["<b>a</b> <b>b</b>"])
    let others = [["a b"], []]
    #expect(try maker.highlights(ofField: 0) { others[$0] }.map { $0.marked() } == ["<b>a</b> b"])
  }

  @Test("Fields that decide nothing are not asked for")
  func lazyFields() throws {
    let maker = try maker("a AND (b OR c) NOT first : (d OR e)", ["first", "second"])
    _ = try maker.highlights(ofField: 1) { field in
      #expect(field == 1)
      return ["a"]
    }
  }

  @Test("A text of a list is shown by itself, and no phrase goes into the next one")
  func lists() throws {
    let maker = try maker("\"a b\" OR c")
    let found = try maker.highlights(ofField: 0) { _ in ["b a", "b c", "", "a b"] }
    #expect(found.map { $0.marked() } == ["b a", "b <b>c</b>", "", "<b>a b</b>"])
    let snippet = try maker.snippet(ofFields: [0], tokens: 1) { _ in ["o", "o c"] }
    #expect(snippet.marked() == "…<b>c</b>")
    let first = try self.maker("^ a").highlights(ofField: 0) { _ in ["o", "a"] }
    #expect(first.map { $0.marked() } == ["o", "a"])
  }

  @Test("Characters of a run are shown exactly, however many were asked for")
  func bigrams() throws {
    #expect(try highlight("京都", "東京都。京都", .words) == "東<b>京都</b>。<b>京都</b>")
    #expect(try highlight("東京都", "新東京都庁", .words) == "新<b>東京都</b>庁")
    #expect(try highlight("京", "東京都 京", .words) == "東<b>京</b>都 <b>京</b>")
  }

  @Test("Runs of three characters are one hit where they overlap")
  func trigrams() throws {
    #expect(try highlight("abcd", "xABCDx abc", .trigrams) == "x<b>ABCD</b>x abc")
  }

  @Test("Of a word with several forms, the form that was found is shown")
  func forms() throws {
    #expect(try highlight("bar", "fooBar baz", .identifiers) == "foo<b>Bar</b> baz")
    #expect(try highlight("foobar", "fooBar baz", .identifiers) == "<b>fooBar</b> baz")
  }

  @Test("A beginning is shown with its whole word")
  func prefixes() throws {
    #expect(try highlight("ni*", "The nights, and a night") == "The <b>nights</b>, and a <b>night</b>")
    #expect(try highlight("\"a ni\" *", "a nights") == "<b>a nights</b>")
  }

  // MARK: Snippets

  @Test("A snippet has the most phrases, and says where it was cut")
  func best() throws {
    let text = (0..<30).map { "w\($0)" }.joined(separator: " ") + " a o a o o o o o o a b o o o o o o o o o o o o o"
    let snippet = try snippet("a OR b", text, tokens: 4)
    #expect(snippet.text == "o a b o" && snippet.beginsInMiddle && snippet.endsInMiddle)
    #expect(snippet.hits.map { String(snippet.text[$0]) } == ["a", "b"])
    #expect(snippet.field == "text")
    #expect(snippet.marked("[", "]", ellipsis: "...") == "...o [a] [b] o...")
  }

  @Test("A snippet of a short text is the text")
  func short() throws {
    let snippet = try snippet("a", " «a b» ", tokens: 15)
    #expect(snippet.text == " «a b» " && !snippet.beginsInMiddle && !snippet.endsInMiddle)
  }

  @Test("A snippet begins a sentence rather than having one more place of the same phrase")
  func sentences() throws {
    let text = "o o o o o o o o. Now o o a o o a a o o o"
    #expect(try snippet("a", text, tokens: 5).marked() == "…Now o o <b>a</b> o…")
  }

  @Test("An ideographic full stop ends a sentence")
  func ideographicSentences() throws {
    let (text, maker) = ("あいうえおかきくけこ。東京の夏は暑い。", try maker("夏", ["text"], .words))
    let snippet = try maker.snippet(ofFields: [0], tokens: 5) { _ in [text] }
    #expect(snippet.text.hasPrefix("東京の") && snippet.beginsInMiddle)
  }

  @Test("One token from the beginning on is a snippet of one token")
  func oneToken() throws {
    #expect(try snippet("a", "a b c", tokens: 1).marked() == "<b>a</b>…")
  }

  @Test("Sizes beyond the bounds are taken for the bounds")
  func bounds() throws {
    let text = (0..<200).map { _ in "o" }.joined(separator: " ") + " a"
    #expect(try snippet("a", text, tokens: .min).text == "a")
    #expect(try snippet("a", text, tokens: .max).text.utf8.count == 64 * 2 - 1)
  }

  @Test("Where nothing was found a snippet is the beginning, and without texts it is empty")
  func nothing() throws {
    let maker = try maker("x : a", ["x", "y"])
    #expect(try maker.snippet(ofFields: [1], tokens: 2) { _ in ["b a c"] }.marked() == "b a…")
    let empty = try maker.snippet(ofFields: [0, 1], tokens: 2) { _ in [] }
    #expect(empty.text == "" && empty.field == "x" && empty.marked() == "")
    #expect(try maker.snippet(ofFields: [], tokens: 2) { _ in ["a"] }.marked() == "")
    #expect(try maker.snippet(ofFields: [0], tokens: 2) { _ in [""] }.marked() == "")
  }

  @Test("Of several fields, the first of the best is shown")
  func anyField() throws {
    let maker = try maker("a b", ["x", "y", "z"])
    let texts = [["a"], ["o a b"], ["a b"]]
    let snippet = try maker.snippet(ofFields: 0..<3, tokens: 4) { texts[$0] }
    #expect(snippet.field == "y" && snippet.marked() == "o <b>a</b> <b>b</b>")
  }

  @Test("Several pieces show phrases that stand far from each other, in the order of the row")
  func pieces() throws {
    let gap = (0..<40).map { _ in "o" }.joined(separator: " ")
    let maker = try maker("a OR b OR c OR d OR e", ["x", "y"])
    let texts = [["\(gap) b \(gap) a c"], ["d"]]
    let found = try maker.snippets(ofFields: 0..<2, tokens: 3) { texts[$0] }
    #expect(found.map { $0.marked() } == ["…o <b>b</b> o…", "…o <b>a</b> <b>c</b>", "<b>d</b>"])
    #expect(found.map(\.field) == ["x", "x", "y"])
    #expect(found.marked("[", "]", ellipsis: "~") == "~o [b] o~o [a] [c]~[d]")
    let near = try maker.snippets(ofFields: [0], tokens: 2) { _ in ["a b c d \(gap) e \(gap)"] }
    #expect(near.map { $0.marked() } == ["<b>a</b> <b>b</b> <b>c</b> <b>d</b>…", "…<b>e</b> o…"])
    #expect(try maker.snippets(ofFields: [0], tokens: 2) { _ in ["o p q"] }.map { $0.marked() } == ["o p…"])
    #expect([Snippet]().marked() == "")
  }

  @Test("No more than four pieces are made, whatever there is")
  func pieceLimit() throws {
    let gap = (0..<10).map { _ in "o" }.joined(separator: " ")
    let maker = try maker("a OR b OR c OR d OR e OR f")
    let found = try maker.snippets(ofFields: [0], tokens: 1) { _ in ["a \(gap) b \(gap) c \(gap) d \(gap) e \(gap) f"] }
    #expect(found.map(\.text) == ["a", "b", "c", "d"])
  }

  // MARK: Hostile texts

  /// Gives tokens that no good tokenizer gives.
  private struct WildTokenizer: Tokenizer {
    let identity = "wild"
    let seed: UInt64

    func forEachToken(
      in text: RawSpan, for purpose: TokenPurpose, _ body: (RawSpan, TokenPlace) throws -> Void
    ) throws {
      if purpose == .query { return try TextTokenizer.unicode61().forEachToken(in: text, for: purpose, body) }
      var random = SeededRandom(seed: seed)
      let terms = ["a", "b", "ab", "", "\0a"].map { Array($0.utf8) }
      for _ in 0..<60 {
        let bounds = [Int.random(in: -5...text.byteCount + 5, using: &random), .min, .max, text.byteCount]
        let lower = bounds[max(0, Int.random(in: -9...3, using: &random))]
        let length = Int.random(in: 0...9, using: &random)
        let step = [1, 1, 1, 0, 2, -3, .max, .min][max(0, Int.random(in: -9...7, using: &random))]
        let range = lower..<(lower > .max - length ? lower : lower + length)
        guard let term = terms.randomElement(using: &random) else { continue }
        try body(term.span.bytes, TokenPlace(range: range, step: step))
      }
    }
  }

  @Test("Tokens outside the text, without order and in the middle of characters give ranges of the text")
  func wildTokens() throws {
    for seed in 0..<UInt64(TestSize.trials(2_000, divisor: 20)) {
      let text = "aé中😀 b. ö: ab"
      let maker = try maker("a OR \"a b\" OR ab* OR NEAR(a b)", ["text"], WildTokenizer(seed: seed))
      for found in try maker.highlights(ofField: 0, { _ in [text, text] }) {
        #expect(found.hits.allSatisfy { !$0.isEmpty })
        #expect(found.marked("", "") == text)
      }
      let snippets = try maker.snippets(ofFields: [0], tokens: 3) { _ in [text, "", text] }
      for snippet in snippets {
        #expect(text.contains(snippet.text) && snippet.marked("", "", ellipsis: "") == snippet.text)
      }
    }
  }

  @Test("Snippets of texts with many hits take time for their length", .enabled(if: TestSize.hasSlowTests, "slow"))
  func growth() throws {
    let maker = try maker("a OR \"a a\" OR \"a a a\" OR NEAR(a a, 3)")
    let growth = try Effort.growth(of: 2_000, by: 16) { count in
      let text = String(repeating: "a. ", count: count)
      return { _ = try? maker.snippets(ofFields: [0], tokens: 64) { _ in [text] } }
    }
    #expect(growth < 64, "linear is 16, quadratic 256")
  }

  @Test("Runs of white space between tokens take time for their length")
  func whiteSpace() throws {
    let maker = try maker("\"   \"", ["text"], .trigrams)
    let growth = try Effort.growth(of: 2_000, by: 16) { count in
      let text = String(repeating: " ", count: count)
      return { _ = try? maker.snippet(ofFields: [0], tokens: 10) { _ in [text] } }
    }
    #expect(growth < 64, "linear is 16, quadratic 256")
  }
}
