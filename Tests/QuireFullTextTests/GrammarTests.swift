// The text form of searches: what it means, and what is an error.

import QuireDatabase
@testable import QuireFullText
import QuireTesting
import Testing

@Suite("The grammar of searches")
struct GrammarTests {
  private static func word(_ text: String, _ fields: FieldChoice? = nil) -> SearchExpression {
    .near(NearGroup([Phrase([text])], fields: fields))
  }

  private static func list(_ texts: String...) -> SearchExpression {
    .groups(texts.map { NearGroup([Phrase([$0])]) })
  }

  static let meanings: [(String, SearchExpression)] = [
    ("night", word("night")),
    ("\"night train\"", word("night train")),
    ("\"the \"\"night\"\"\"", word("the \"night\"")),
    ("\"\"", word("")),
    ("night train", list("night", "train")),
    ("night\n\ttrain\r", list("night", "train")),
    ("one\"two\"", list("one", "two")),
    ("naïve _x9 \u{1a}", list("naïve", "_x9", "\u{1a}")),
    ("and or not near", list("and", "or", "not", "near")),
    ("NEAR", word("NEAR")),
    ("expr*", .prefix("expr")),
    ("\"night tr\" *", .prefix("night tr")),
    ("a + b* + c", .near(NearGroup([Phrase(["a", "b", "c"], prefixes: [1])]))),
    ("a+b", .near(NearGroup([Phrase(["a", "b"])]))),
    ("^a + b", .near(NearGroup([Phrase(["a", "b"], isAtStart: true)]))),
    ("^ \"a b\" c", .groups([NearGroup([Phrase(["a b"], isAtStart: true)]), NearGroup([Phrase(["c"])])])),
    ("NEAR(a b)", .near("a", "b", within: 10)),
    ("NEAR (a \"b c\", 007)", .near("a", "b c", within: 7)),
    ("NEAR(a, 3)", word("a")),
    ("NEAR(a b, 99999999999999999999)", .near("a", "b", within: Int(Int32.max))),
    ("NEAR(a* b + c, 0)", .near(NearGroup([Phrase(["a"], isPrefix: true), Phrase(["b", "c"])], distance: 0))),
    ("a AND b", .all([word("a"), word("b")])),
    ("a AND b AND c", .all([word("a"), word("b"), word("c")])),
    ("(a AND b) AND c", .all([.all([word("a"), word("b")]), word("c")])),
    ("a OR b OR c", .any([word("a"), word("b"), word("c")])),
    ("a OR b AND c", .any([word("a"), .all([word("b"), word("c")])])),
    ("a NOT b NOT c", .excluding(.excluding(word("a"), word("b")), word("c"))),
    ("a AND b NOT c", .all([word("a"), .excluding(word("b"), word("c"))])),
    ("a NOT b AND c", .all([.excluding(word("a"), word("b")), word("c")])),
    ("a b NOT c d", .excluding(list("a", "b"), list("c", "d"))),
    ("a NOT (b OR c)", .excluding(word("a"), .any([word("b"), word("c")]))),
    ("(((a)))", word("a")),
    ("title:a", word("a", "title")),
    ("\"the title\" : a", word("a", "the title")),
    ("{title text} : a", word("a", ["title", "text"])),
    ("- title : a", word("a", .except("title"))),
    ("-{title text} : a", word("a", .except("title", "text"))),
    ("title : a b", .groups([NearGroup([Phrase(["a"])], fields: "title"), NearGroup([Phrase(["b"])])])),
    ("a title : b", .groups([NearGroup([Phrase(["a"])]), NearGroup([Phrase(["b"])], fields: "title")])),
    ("title : ^a", .near(NearGroup([Phrase(["a"], isAtStart: true)], fields: "title"))),
    ("title : NEAR(a b)", .near("a", "b", within: 10, in: "title")),
    ("title : (a OR text : b)", .any([word("a", "title"), word("b", [])])),
    (
      "title : (text : a b)",
      .groups([NearGroup([Phrase(["a"])], fields: []), NearGroup([Phrase(["b"])], fields: "title")])
    ),
    ("{title text} : (a OR text : b)", .any([word("a", ["title", "text"]), word("b", "text")])),
    ("- title : (text : a)", word("a", "text")),
    ("- title : (- text : a)", word("a", .except("title", "text"))),
  ]

  @Test("Texts have the meaning that FTS5 gives them", arguments: meanings)
  func hasMeaning(text: String, meaning: SearchExpression) throws {
    #expect(try SearchExpression(text) == meaning)
  }

  @Test(
    "Texts that FTS5 refuses exclude by a minus, and mean all rows or no field",
    arguments: [
      ("a -b", SearchExpression.excluding(word("a"), word("b"))),
      ("-b", .excluding(.everything, word("b"))),
      ("-b a", .excluding(word("a"), word("b"))),
      ("a -\"b c\" d", .excluding(list("a", "d"), word("b c"))),
      ("a -b*", .excluding(word("a"), .prefix("b"))),
      ("a -b -c", .excluding(word("a"), .any([word("b"), word("c")]))),
      ("a -(b OR c) d", .excluding(list("a", "d"), .any([word("b"), word("c")]))),
      ("a OR -b", .any([word("a"), .excluding(.everything, word("b"))])),
      ("a -NEAR(b c, 2)", .excluding(word("a"), .near("b", "c", within: 2))),
      ("title : (a -b)", .excluding(word("a", "title"), word("b", "title"))),
      ("a -title : b", .groups([NearGroup([Phrase(["a"])]), NearGroup([Phrase(["b"])], fields: .except("title"))])),
      ("* NOT b", .excluding(.everything, word("b"))),
      ("*", .everything),
      ("(*)", .everything),
      ("{} : a", word("a", [])),
      ("-{} : a", word("a", .except())),
    ])
  func goesBeyond(text: String, meaning: SearchExpression) throws {
    #expect(try SearchExpression(text) == meaning)
  }

  static let mistakes: [(String, column: Int, String)] = [
    ("", 1, "empty"), ("  ", 3, "empty"), ("a AND", 6, "missing at the end"), ("AND", 1, "in front of “AND”"),
    ("NOT a", 1, "in front of “NOT”"), ("a OR OR b", 6, "in front of “OR”"), ("a NOT", 6, "missing at the end"),
    ("(", 2, "missing at the end"), ("()", 2, "in front of “)”"), ("(a", 1, "not closed"), ("a)", 2, "not open"),
    ("a (b)", 3, "operator is missing"), ("(a) b", 5, "operator is missing"), ("near(a b)", 5, "operator is missing"),
    ("\"NEAR\"(a b)", 7, "operator is missing"), ("a t : (b)", 7, "operator is missing"),
    ("NEAR(a b, x)", 11, "number is missing"), ("NEAR(a b, \"5\")", 11, "number is missing"),
    ("NEAR(a b, 5 6)", 13, "no meaning in NEAR"), ("NEAR(a b", 5, "not closed"), ("NEAR(^a b)", 6, "in front of “^”"),
    ("NEAR()", 6, "in front of “)”"), ("NEAR(a OR b)", 8, "no meaning in NEAR"), ("NEAR(a b)*", 10, "no meaning"),
    ("^NEAR(a b)", 6, "operator is missing"), ("^", 2, "missing at the end"), ("^t : a", 4, "no meaning"),
    ("a + ", 5, "missing at the end"), ("+a", 1, "in front of “+”"), ("a + + b", 5, "in front of “+”"),
    ("a**", 3, "no meaning"), ("a,", 2, "no meaning"), ("a b c;", 6, "outside of quotation marks"),
    ("o'ne", 2, "outside of quotation marks"), ("a\u{0}b", 2, "outside of quotation marks"),
    ("\"a", 1, "not closed"), ("a \"b \"\"c", 3, "not closed"), ("t :", 4, "missing at the end"),
    ("t : : a", 5, "in front of “:”"), ("t : u : a", 7, "no meaning"), ("{} a", 4, "colon is missing"),
    ("{t u : a", 1, "not closed"), ("{t u} a", 7, "colon is missing"), ("{t OR u} : a", 4, "name is missing"),
    ("-", 2, "missing at the end"), ("--a", 2, "in front of “-”"), ("- - t : a", 3, "in front of “-”"),
    ("naïve 🚂 a ;", 11, "outside of quotation marks"),
  ]

  @Test("An error names its place", arguments: mistakes)
  func errorNamesPlace(text: String, column: Int, problem: String) {
    let error = #expect(throws: SearchSyntaxError.self) { try SearchExpression(text) }
    #expect(error?.column == column)
    #expect(error?.problem.contains(problem) == true, "\(String(describing: error))")
    #expect(error?.description.contains(", at column \(column). ") == true)
    #expect(error?.remedy.isEmpty == false)
  }

  @Test("FTS5 refuses what is an error", arguments: mistakes.map(\.0))
  func fts5Refuses(text: String) throws {
    let oracle = try FTS5Oracle(columns: ["t", "u"])
    try oracle.set(RowID(1), ["a b c", "a"])
    // SQLite takes a NUL for the end.
    #expect((oracle.complaint(about: text) == nil) == text.contains("\0"), "\(text)")
  }

  @Test("A field that is not declared is an error where it stands, and one that is has the declared name")
  func unknownFieldIsFound() throws {
    let fields = ["Title", "text"]
    #expect(try SearchExpression("title : a", fields: fields) == Self.word("a", "Title"))
    let error = #expect(throws: SearchSyntaxError.self) { try SearchExpression("a {text body} : b", fields: fields) }
    #expect(error?.column == 9)
    #expect(error.map { String($0.text[$0.range]) } == "body")
    #expect(error?.description.contains("Search in “Title”, “text”") == true)
  }

  @Test("The place of an error in a long text is shown with what is around it")
  func longTextIsCut() {
    let text = String(repeating: "word ", count: 1000) + "; " + String(repeating: "word ", count: 1000)
    let error = #expect(throws: SearchSyntaxError.self) { try SearchExpression(text) }
    #expect(error?.column == 5001)
    #expect(error.map { $0.description.count < 300 && $0.description.contains("word ; word") } == true)
  }

  @Test("What FTS5 refuses is refused, and what it reads is read", arguments: [UInt64](1...4))
  func agreesOnErrors(seed: UInt64) throws {
    let oracle = try FTS5Oracle(columns: ["t", "u"])
    try oracle.set(RowID(1), ["a b c", "a"])
    var random = SeededRandom(seed: seed)
    let pieces = [
      "a", "b*", "\"a b\"", "\"\"", "AND", "OR", "NOT", "(", ")", "(", ")", "NEAR(", "NEAR", ",", "5", "+", "*", "^",
      "t", "u",
      ":", ":", "{", "}", "{t u} :", "t :", "- t :", "^a", "a + b", "\"a", "é", ";",
    ]
    var (read, refused) = (0, 0)
    for _ in 0..<TestSize.trials(50_000, divisor: 10) {
      let text = (0..<1 + random.below(9)).map { _ in random.pick(pieces) }.joined(separator: " ")
      let complaint = oracle.complaint(about: text)
      let isRead = (try? SearchExpression(text, fields: oracle.columns)) != nil
      // A star that stands for all rows, and no field, are our own.
      let isOurs = complaint != nil && isRead && (text.contains("*") || text.contains("{ }"))
      #expect((complaint == nil) == isRead || isOurs, "\(text): \(complaint ?? "read")")
      if complaint == nil { read += 1 } else { refused += 1 }
    }
    #expect(read > 300 && refused > 300, "\(read) read, \(refused) refused")
  }
}

@Suite("Hostile texts of searches")
struct HostileGrammarTests {
  @Test("Levels are counted, and no more than 256 are read")
  func levelsAreLimited() throws {
    func nested(_ count: Int) -> String {
      String(repeating: "(a OR ", count: count) + "a" + String(repeating: ")", count: count)
    }
    #expect(try SearchExpression(nested(255)).depth == 256)
    #expect(throws: SearchSyntaxError.self) { try SearchExpression(nested(256)) }
    let chain = Array(repeating: "a", count: 256)
    #expect(try SearchExpression(chain.joined(separator: " NOT ")).depth == 256)
    #expect(throws: SearchSyntaxError.self) { try SearchExpression((chain + ["a"]).joined(separator: " NOT ")) }
    #expect(try SearchExpression(Array(repeating: "a", count: 5000).joined(separator: " AND ")).depth == 2)
    #expect(throws: SearchSyntaxError.self) { try SearchExpression(String(repeating: "-(", count: 300)) }
    #expect(throws: SearchSyntaxError.self) { try SearchExpression(String(repeating: "(", count: 1_000_000)) }
  }

  @Test("Texts of any length are read or refused")
  func lengthIsLimited() throws {
    let many = String(repeating: "a ", count: 65_536)
    guard case .groups(let groups) = try SearchExpression(many) else { throw Unexpected() }
    #expect(groups.count == 65_536)
    let error = #expect(throws: SearchSyntaxError.self) { try SearchExpression(many + "b") }
    #expect(error?.column == many.count + 1)
  }

  private struct Unexpected: Error {}

  @Test("Random bytes are read or refused", arguments: [UInt64](1...4))
  func randomBytesAreRead(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let signs = Array("ab\"*+-^:(){},  \t\u{0}\u{1a}éANDORT".utf8)
    for _ in 0..<TestSize.trials(100_000, divisor: 25) {
      let bytes = (0..<random.below(30)).map { _ in
        random.oneIn(8) ? UInt8(truncatingIfNeeded: random.next()) : random.pick(signs)
      }
      let text = String(decoding: bytes, as: UTF8.self)
      do throws(SearchSyntaxError) {
        let expression = try SearchExpression(text)
        let again = try SearchExpression(expression.description)
        #expect(again.depth <= expression.depth, "\(text)")
      } catch {
        #expect(error.range.upperBound <= text.endIndex && error.column <= text.count + 1)
      }
      _ = SearchExpression(typing: text)
    }
  }
}
