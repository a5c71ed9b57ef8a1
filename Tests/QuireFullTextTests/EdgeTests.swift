// Searches at the edges: long rows, many fields, phrases that overlap themselves, odd characters.

import QuireDatabase
@testable import QuireFullText
import QuireTesting
import QuireText
import Testing

@Suite("Searches at the edges")
struct EdgeTests {
  func pair(
    _ documents: [[String]], _ fields: [String], _ tokenizer: some Tokenizer = .unicode61(), inBulk: Bool = false
  ) throws -> (Database, BruteForceSearch) {
    let db = try Database.inMemory()
    let text = PaperText.lines(fields, tokenizer, .positions)
    if !inBulk { try db.register(text) }
    var definition = BruteForceSearch(fields: fields, tokenizer: tokenizer)
    try db.write { tx in
      for (number, texts) in documents.enumerated() {
        try tx[.papers].set(Paper(texts: texts), for: "\(number)")
        if let row = try tx[.papers].rowID("\(number)") {
          try definition.set(row, lists: texts.map { PaperText.lines(of: $0) })
        }
      }
    }
    if inBulk { try db.register(text) }
    try db.read { tx in try tx.access(to: text).verify() }
    return (db, definition)
  }

  func compare(
    _ db: Database, _ definition: BruteForceSearch, _ texts: [String], isRanked: Bool = true
  ) throws {
    try db.read { tx in
      for text in texts {
        let expression = try SearchExpression(text, fields: definition.fields)
        let found = try tx[.papers].search(expression)
        let rows = try definition.rowIDs(expression)
        #expect(try found.rowIDs == rows && found.count == rows.count, "\(text.prefix(200))")
        guard isRanked else { continue }
        let weights = definition.fields.indices.map(Double.init)
        let expected = try definition.ranked(expression, weights: weights)
        let ranked = found.ranked()
        let scores = Dictionary(uniqueKeysWithValues: try ranked.scores.map { ($0.rowID, $0.score) })
        for (row, score) in expected {
          #expect(abs(score - (scores[row] ?? -1)) <= 1e-6, "\(text.prefix(200)): \(row)")
        }
        for (hit, best) in zip(try ranked.limit(3).scores, expected) {
          #expect(abs(hit.score - best.score) <= 1e-6, "\(text.prefix(200))")
        }
      }
    }
  }

  @Test(
    "Rows beyond the lengths that are kept in two bytes find and score as others",
    .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: TestSize.isFull ? [false, true] : [true])
  func longRows(inBulk: Bool) throws {
    var documents: [[String]] = []
    for count in [65_535, 65_536] {
      let words = (0..<count).map { $0 % 7_001 == 5 ? "rare w\($0 % 13)" : "w\($0 % 97)" }
      documents.append([words.joined(separator: " "), "rare"])
    }
    documents += [["rare w5", "w1"], ["w5 w6 w7", "rare"], ["", ""]]
    let (db, definition) = try pair(documents, ["a", "b"], inBulk: inBulk)
    let middle = (0..<12).map { "w\($0 + 20)" }.joined(separator: " ")
    try compare(
      db, definition,
      [
        "rare", "w5", "rare w5", "\"w5 w6\"", "\"\(middle)\"", "NEAR(rare w3 w4, 2)", "NEAR(w1 w2 w1 w1, 0)", "^w0",
        "a : rare NOT b : rare", "ra*", "\"rare w\"*", "b : w*", "w96 OR rare", "\"w96 w0 w1\"",
      ])
    try db.close()
  }

  @Test("Each text in a list leaves a position free, an empty one as well")
  func emptyTexts() throws {
    let documents = ["a\nb", "a\n\nb", "a\n\n\n\nb", "\n\na b", "a\n", "\na\n\n", "a b\n\na\n\n\nb"].map { [$0] }
    let (db, definition) = try pair(documents, ["tags"])
    try compare(db, definition, (0..<7).map { "NEAR(a b, \($0))" } + ["\"a b\"", "^a", "^b", "a*", "b"])
    try db.close()
  }

  /// Expects that a search in a task that is cancelled says so.
  func expectCancelled(_ phrase: String, _ db: Database) async {
    let error = await Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return #expect(throws: CancellationError.self) { try db.read { tx in try tx[.papers].search(phrase).count } }
    }.value
    #expect(error != nil)
  }

  /// Words at blanks; a number in front of one is how far it is behind the one before.
  struct StepTokenizer: Tokenizer {
    let identity = "steps"

    func forEachToken(
      in text: RawSpan, for purpose: TokenPurpose, _ body: (RawSpan, TokenPlace) throws -> Void
    ) throws {
      let bytes = text.withUnsafeBytes { Array($0) }
      var start = 0
      for word in bytes.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false) {
        let digits = word.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
        let step = Int(String(decoding: digits, as: UTF8.self)) ?? 1
        let term = Array(word.dropFirst(digits.count))
        try body(term.span.bytes, TokenPlace(range: start..<start + word.count, step: step))
        start += word.count + 1
      }
    }
  }

  @Test("Words that are farther apart than any two of a field can be are not found, and are not passed over")
  func farTokens() throws {
    let documents = ["a 4000000000b", "a 4000000000b d", "c a b", "a b c d", "a 4000000000b c"].map { [$0] }
    let (db, _) = try pair(documents, ["x"], StepTokenizer())
    let expected = [
      "\"a 4000000000b\"": ["0", "1", "4"], "\"a 4000000000b c\"": ["4"], "\"a 4000000000b\" + c": ["4"],
      "NEAR(\"a 4000000000b\" c)": ["4"], "\"a b\"": ["2", "3"], "\"a 4000000000b 4000000000c\"": [],
      "\"a 4000000000b 4000000000c d\"": [], "\"a 4000000000b\" + \"c 4000000000d\" + d": [],
      "\"a 9000000000b\"": [], "\"a 9000000000b 9000000000c\" *": [], "NEAR(\"a 4000000000b 4000000000c\" a)": [],
    ]
    try db.read { tx in
      for (text, keys) in expected {
        let found = try tx[.papers].search(text)
        #expect(try found.keys == keys && found.count == keys.count, "\(text)")
      }
    }
    try db.close()
  }

  @Test(
    "A phrase of too many words is refused, in whatever texts they stand",
    .enabled(if: TestSize.hasSlowTests, "slow"))
  func longPhrases() throws {
    let (db, _) = try pair([["a b"], ["a a a"]], ["x"])
    let words = String(repeating: "a ", count: 65_536)
    let refusal = FullTextError.phraseTooLong(limit: 65_536)
    try db.read { tx in
      let (longest, short) = try (tx[.papers].search("\"\(words)\""), tx[.papers].search("\"a a a\""))
      #expect(try longest.keys == [] && short.keys == ["1"])
      #expect(throws: refusal) { try tx[.papers].search("\"\(words)a\"").count }
      #expect(throws: refusal) { try tx[.papers].search("\"\(words)\" + b").count }
    }
    try db.close()
  }

  @Test("A search for a long phrase that was cancelled ends before it has looked at many rows")
  func cancelledPhrase() async throws {
    let text = String(repeating: "a ", count: 40)
    let (db, _) = try pair(Array(repeating: [text], count: 300), ["x"], inBulk: true)
    let phrase = "\"" + String(repeating: "a ", count: 1000) + "\""
    await expectCancelled(phrase, db)
    try db.close()
  }

  @Test("Sixty-four fields are told apart, the last one as well")
  func manyFields() throws {
    var random = SeededRandom(seed: 64)
    let fields = (0..<64).map { "f\($0)" }
    let documents = (0..<40).map { _ in
      fields.map { _ in
        random.oneIn(3) ? "" : (0..<random.below(5)).map { _ in "w\(random.below(6))" }.joined(separator: " ")
      }
    }
    let (db, definition) = try pair(documents, fields)
    let all = fields.joined(separator: " ")
    try compare(
      db, definition,
      [
        "f63 : w1", "- f63 : w1", "{f0 f63} : w1 w2", "{\(all)} : w1", "- {\(all)} : w1", "{} : w1", "f63 : ^w1",
        "- {} : w1", "w1 NOT {\(all)} : w1", "w1 NOT {} : w1", "f62 : \"w1 w2\"", "{f62 f63} : NEAR(w1 w2 w3, 1)",
        "f0 : (f63 : w1)", "f63 : (w1 OR f0 : w2)", "f63 : w*", "- {\(all)} : w*", "* NOT {} : w1", "{} : NEAR(w1 w2)",
        "w1 OR {} : w2", "({} : w1) AND w2", "f63 : (w1 AND NEAR(w2 w3, 1)) OR f0 : \"w4 w5\"",
      ])
    try db.close()
  }

  @Test(
    "Phrases that overlap themselves stand wherever they begin", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: [UInt64](1...3))
  func overlaps(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let words = ["a", "a", "a", "b", "ab"]
    let documents = (0..<80).map { _ in
      (0..<2).map { _ in (0..<random.below(16)).map { _ in random.pick(words) }.joined(separator: " ") }
    }
    let (db, definition) = try pair(documents, ["x", "y"], inBulk: seed == 2)
    try compare(
      db, definition,
      [
        "\"a a\"", "\"a a a\"", "\"a b a\"", "\"a a b a a\"", "\"a a\"*", "^\"a a\"", "NEAR(\"a a\" \"a a\", 0)",
        "NEAR(\"a a\" \"a b\" a, 0)", "NEAR(\"a a a\" b, 1)", "\"a a\" \"a a\" \"a a a\"", "NEAR(a* \"a a\" b, 1)",
        "NEAR(\"a a\" \"a a\", 0) NOT \"a a a\"", "NEAR(\"a b\" \"b a\", 0) OR NEAR(\"a a\" \"b\", 0)", "a* + a* + a*",
        "a* + b*", "x : \"a a\" NOT y : \"a a\"", "NEAR(a b) AND NEAR(b a, 0) AND NEAR(a a a a b, 0)",
        "(NEAR(a b, 0) OR \"a a a\") AND (NEAR(ab a, 0) OR \"b b\")", "\"a a\"* OR \"b a\"*", "NEAR(a* b* ab*, 0)",
      ])
    try db.close()
  }

  @Test(
    "Characters that are no text, and bytes that are none, are cut like others",
    .enabled(if: TestSize.hasSlowTests, "slow"))
  func oddCharacters() throws {
    let repaired = String(decoding: [0x61, 0xD800, 0x62, 0xDC00, 0xD83D] as [UInt16], as: UTF16.self)
    let texts = [
      "a\u{0}b", "\u{0}", "\u{0}\u{0}a", repaired, "\u{10FFFF}a", "\u{FFFE} a \u{FFFF}", "a\u{301}\u{0}\u{301}b",
      "\r\n",
      "\u{FEFF}a", "a\u{200B}b", "a\u{2028}b", "👨‍👩‍👧 a", "\u{E000}a", String(repeating: "\u{301}", count: 300) + "a",
    ]
    let tokenizers: [any Tokenizer] = [.unicode61(), .words, .words.stemmed(.english), .trigrams, .identifiers]
    func check(_ tokenizer: some Tokenizer) throws {
      let (db, definition) = try pair(texts.map { [$0, "a b"] }, ["x", "y"], tokenizer)
      let queries = texts.map { "\"\($0)\"" } + texts.map { "x : \"\($0)\" *" } + texts.map { "NEAR(\"\($0)\" a, 1)" }
      try compare(db, definition, queries)
      try db.read { tx in
        for text in texts + ["\"\u{0}", "\u{0} a"] {
          let found = try tx[.papers].search(typing: text)
          #expect(try found.rowIDs == definition.rowIDs(SearchExpression(typing: text)))
          for hit in try found.ranked().hits {
            _ = try (hit.snippet(), hit.snippets(), hit.highlights(of: "x").map { $0.marked() })
          }
        }
      }
      try db.close()
    }
    for tokenizer in tokenizers { try check(tokenizer) }
  }
}
