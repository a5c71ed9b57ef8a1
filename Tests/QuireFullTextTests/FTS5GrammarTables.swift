// Which searches FTS5's scripts say are refused, and what others mean, as tables.

import QuireDatabase
@testable import QuireFullText
import QuireTesting
import QuireText
import Testing

@Suite("The grammar of FTS5's tests")
struct FTS5GrammarTests {
  /// Who refuses a search.
  enum Refusal { case nobody, both, fts5, quire }

  /// Of fts5aa, fts5ab, fts5ea, fts5eb, fts5first, fts5simple, fts5multi, fts5fuzz1, fts5misc and fts5tokenizer.
  static let searches: [(text: String, Refusal)] = [
    ("AND AND", .both), ("AND", .both), ("abc def AND", .both), ("abc OR AND", .both), ("(a OR b) abc", .both),
    ("NEaR (a b)", .both), ("(a OR b) NOT c)", .both), ("nosuch: a nosuch2: b", .both), ("addr: a nosuch2: b", .both),
    ("NOT", .both), ("a AND \"abc", .both), ("", .both), (" ", .both), ("(NOT", .both), ("^abc", .nobody),
    ("^abc + def", .nobody), ("^ \"abc def\"", .nobody), ("^\"abc def\"", .nobody), ("abc ^def", .nobody),
    ("abc + ^def", .both), ("abc ^+ def", .both), ("\"^abc\"", .nobody), ("NEAR(^abc def)", .both),
    ("a\u{1a}", .nobody), ("\u{1a}*", .nobody), ("d\u{1b}", .both), ("d\u{19}", .both), ("(8 AND 9)`AND 10", .both),
    ("a+4", .nobody), ("abc*", .nobody), ("NEAR(\"one three\"* two, 5)", .nobody), ("addr : a", .nobody),
    ("ADDR : a", .nobody), ("name:abc", .nobody), ("*stuff", .both), ("*reads", .quire), ("*id", .quire),
    // A star alone means all rows.
    ("*", .fts5), ("-abc", .fts5), ("abc -def", .fts5), ("{} : abc", .fts5),
  ]

  @Test("What FTS5 refuses is refused, but for what is beyond it", arguments: searches)
  func refused(text: String, refusal: Refusal) throws {
    let fts5 = try FTS5Oracle(columns: ["name", "addr"])
    try fts5.insert(RowID(1), ["abc def", "a b"])
    let complaint = fts5.complaint(about: text)
    #expect((complaint != nil) == (refusal == .both || refusal == .fts5), "FTS5: \(complaint ?? "read")")
    let isRead = (try? SearchExpression(text, fields: fts5.columns)) != nil
    #expect(isRead == (refusal == .nobody || refusal == .fts5))
  }

  /// Of fts5ea, fts5eb and fts5colset: a search, and one that says by brackets and signs what it means.
  static let meanings: [(text: String, meaning: String)] = [
    ("a b", "\"a\" AND \"b\""), ("a*", "\"a\" *"), ("\"a b c\" *", "\"a\" + \"b\" + \"c\" *"), ("a+b", "\"a\" + \"b\""),
    ("a AND b OR c", "(\"a\" AND \"b\") OR \"c\""), ("a OR b AND c", "\"a\" OR (\"b\" AND \"c\")"),
    ("NEAR(a b)", "NEAR(\"a\" \"b\", 10)"), ("NEAR(\"a c\"* b, 5)", "NEAR(\"a\" + \"c\" * \"b\", 5)"),
    ("a OR b NOT c", "\"a\" OR (\"b\" NOT \"c\")"), (" a b c", "(\"a\" AND \"b\") AND \"c\""),
    ("\ta\nb\rc", "(\"a\" AND \"b\") AND \"c\""), ("\"a\"\"b\"", "\"a\" + \"b\""), ("x:a", "x : \"a\""),
    ("y : NEAR(a b) x:\"b c\"", "y : NEAR(\"a\" \"b\", 10) AND x : \"b\" + \"c\""), ("a \"\"", "\"a\""),
    ("a + \"\" + b", "\"a\" + \"b\""), ("a \"\" b", "\"a\" AND \"b\""), ("a+b OR c", "(\"a\" + \"b\") OR \"c\""),
    ("a AND b NOT c", "\"a\" AND (\"b\" NOT \"c\")"), ("a NOT b AND c", "(\"a\" NOT \"b\") AND \"c\""),
    ("a NOT b OR c", "(\"a\" NOT \"b\") OR \"c\""), ("{x} : (a AND b)", "{x} : \"a\" AND {x} : \"b\""),
    ("-{y} : (a AND b)", "{x} : \"a\" AND {x} : \"b\""),
  ]

  @Test("A search finds in all small documents what its meaning does")
  func meaning() throws {
    let texts = ["", "a", "b", "c", "a b", "b c", "a b c", "c b a", "a c b", "b a c", "ab", "a b cc"]
    let trio = try SearchTrio(.papers(["x", "y"]), fields: ["x", "y"], tokenizer: .unicode61())
    try trio.register()
    try trio.write { tx in
      for (x, first) in texts.enumerated() {
        for (y, second) in texts.enumerated() { try trio.set(tx, "\(x) \(y)", [first, second]) }
      }
    }
    try trio.database.read { tx in
      for (text, meaning) in Self.meanings {
        let rows = try trio.fts5.rowIDs(match: meaning)
        #expect(!rows.isEmpty && rows.count < texts.count * texts.count, "\(meaning)")
        #expect(try trio.fts5.rowIDs(match: text) == rows, "FTS5: \(text)")
        #expect(try tx[.papers].search(text).rowIDs == rows, "\(text)")
        #expect(try tx[.papers].search(meaning).rowIDs == rows, "\(meaning)")
      }
    }
  }

  @Test("Two searches of which both are wanted find what FTS5 finds by two MATCH")
  func bothSearches() throws {
    // fts5multi, fts5misc and fts5colset.
    let table = SearchTable.pairs
    let trio = try SearchTrio(.papers(table.columns), fields: table.columns, tokenizer: .unicode61())
    try trio.register()
    try trio.write { tx in
      for (number, texts) in table.documents.enumerated() { try trio.set(tx, "\(number)", texts) }
    }
    let pairs: [(String?, String, String?, String, Int)] = [
      (nil, "aa", nil, "bb", 9), ("a", "aa", "b", "bb", 0), ("a", "aa OR bb OR cc", "b", "jj OR ii OR hh", 7),
      (nil, "aa AND bb", nil, "cc", 2), ("c", "kk", "b", "aa OR bb OR cc OR dd OR ee", 2),
    ]
    for (column, text, otherColumn, other, _) in pairs {
      let rows = try trio.fts5.rowIDs(match: text, in: column, other, in: otherColumn)
      func part(_ text: String, _ column: String?) throws -> SearchExpression {
        let expression = try SearchExpression(text)
        return column.map { .all(expression, in: [$0]) } ?? expression
      }
      let both = try part(text, column) && part(other, otherColumn)
      #expect(try trio.database.read { tx in try tx[.papers].search(both).rowIDs } == rows, "\(both)")
    }
  }

  @Test("What SQLite 3.40 does not take off, as a part of it has no column left, is taken off")
  func noColumnIsLeft() throws {
    // fts5colset, mended in SQLite since.
    let trio = try SearchTrio(.papers(["c0"]), fields: ["c0"], tokenizer: .unicode61())
    try trio.register()
    try trio.write { tx in try trio.set(tx, "0", ["x b z"]) }
    let text = "z NOT (b OR -{c0} : x)"
    #expect(try trio.fts5.rowIDs(match: text).count <= 1)
    #expect(try trio.definition.rowIDs(SearchExpression(text)).isEmpty)
    #expect(try trio.database.read { tx in try tx[.papers].search(text).rowIDs }.isEmpty)
  }

  @Test("Long chains and many levels are read up to the limit")
  func levels() throws {
    // fts5expr, fts5limits and fts5simple.
    let fts5 = try FTS5Oracle(columns: ["a"])
    try fts5.insert(RowID(1), ["fts5 expr test"])
    for (count, joint, isRead) in [
      (200, "AND", true), (200, "NOT", true), (200, "OR", true), (260, "AND", true), (260, "OR", true),
      (256, "NOT", true), (257, "NOT", false), (260, "NOT", false),
    ] {
      let text = Array(repeating: "abc", count: count).joined(separator: " \(joint) ")
      #expect(((try? SearchExpression(text)) != nil) == isRead, "\(count) \(joint)")
      // FTS5 has a limit of its own since 3.43, one level above.
      if count <= 256 || joint != "NOT" { #expect(try fts5.rowIDs(match: text).isEmpty, "\(count) \(joint)") }
    }
    let chain = "expr " + String(repeating: "NOT abcd ", count: 255)
    #expect(try fts5.rowIDs(match: chain) == [RowID(1)])
    #expect(try SearchExpression(chain).depth == 256)
    // FTS5's parser has room for few brackets; Quire's is bounded by the levels alone.
    let nested = (0..<200).map { "c\($0) AND (" }.joined() + "c200" + String(repeating: ")", count: 200)
    #expect(fts5.complaint(about: nested)?.contains("parser stack overflow") == true)
    #expect(try SearchExpression(nested).depth == 201)
  }
}
