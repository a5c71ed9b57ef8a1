// What FTS5's scripts ask of long lists, long texts, long words and many columns, and after savepoints.

import QuireDatabase
@testable import QuireFullText
import QuireTesting
import QuireText
import Testing

@Suite("FTS5's tests of long lists")
struct FTS5LongListTests {
  /// A trio with as many rows of one column as `text` makes, stored in transactions of a thousand.
  private static func trio(_ count: Int, _ text: (Int) -> String) throws -> SearchTrio {
    let trio = try SearchTrio(.papers(["a"]), fields: ["a"], tokenizer: .unicode61())
    try trio.register()
    for start in stride(from: 0, to: count, by: 1000) {
      try trio.write { tx in
        try trio.load(tx, (start..<min(start + 1000, count)).map { ("\($0)", [text($0)]) })
      }
    }
    try trio.verify()
    return trio
  }

  /// Checks that all three find the rows with these numbers.
  private static func check(_ trio: SearchTrio, _ queries: [(text: String, rows: [Int])]) throws {
    for (text, numbers) in queries {
      let rows = numbers.compactMap { trio.rowIDs["\($0)"] }.sorted()
      #expect(rows.count == numbers.count)
      #expect(try trio.fts5.rowIDs(match: text) == rows, "FTS5: \(text)")
      #expect(try trio.definition.rowIDs(SearchExpression(text)) == rows, "definition: \(text)")
      #expect(try trio.database.read { tx in try tx[.papers].search(text).rowIDs } == rows, "\(text)")
    }
  }

  @Test("Rare words beside a word of all rows", .enabled(if: TestSize.hasSlowTests, "slow"))
  func rareWords() throws {
    // fts5ah has ten thousand rows.
    let count = TestSize.isFull ? 10_000 : 2200
    func multiples(_ step: Int) -> [Int] { Array(stride(from: step, through: count, by: step)) }
    let trio = try Self.trio(count + 2) { number in
      if number == 0 || number > count { return Array(repeating: "w", count: 20).joined(separator: " ") }
      var words = Array(repeating: "x", count: 20)
      if number % 2139 == 0 { words[3] = "Y" }
      if number % 1577 == 0 { words[5] = "W" }
      return words.joined(separator: " ")
    }
    let (w, y) = (multiples(1577), multiples(2139))
    try Self.check(
      trio,
      [
        ("x AND w", w), ("x* AND w*", w), ("y AND x", y), ("w + x", w), ("x + w", w), ("w NOT x", [0, count + 1]),
        ("w AND y", []), ("x", Array(1...count)), ("NEAR(x w, 0)", w), ("y + x + x", y),
      ])
  }

  @Test("Words that every tenth and every hundredth row has", .enabled(if: TestSize.hasSlowTests, "slow"))
  func everyTenth() throws {
    // fts5dlidx has ten thousand rows of three hundred words.
    let count = TestSize.isFull ? 2000 : 250
    let text = Array(repeating: "a b c", count: 100).joined(separator: " ")
    let trio = try Self.trio(count) { $0 % 100 == 0 ? text + " x y" : $0 % 10 == 0 ? text + " x" : text }
    let (x, y) = (Array(stride(from: 0, to: count, by: 10)), Array(stride(from: 0, to: count, by: 100)))
    try Self.check(
      trio,
      [
        ("a AND x", x), ("x AND a", x), ("a AND y", y), ("y AND a", y), ("a + b + c + x", x), ("b + c + x + y", y),
        ("b a NOT x", (0..<count).filter { $0 % 10 != 0 }),
      ])
  }

  @Test("Texts of very many words", .enabled(if: TestSize.hasSlowTests, "slow"))
  func longTexts() throws {
    // fts5ab and fts5bigpl have some millions of words.
    let count = TestSize.isFull ? 200_000 : 15_000
    let texts = ["a x", "a a"].map { Array(repeating: $0, count: count).joined(separator: " ") }
    let trio = try Self.trio(3) { $0 < 2 ? texts[$0] + ($0 == 1 ? " x" : "") : "x x x" }
    try Self.check(
      trio,
      [
        ("x", [0, 1, 2]), ("\"a x\"", [0, 1]), ("\"a a\"", [1]), ("\"x a\"", [0]), ("\"x x\"", [2]),
        ("a NOT \"a a\"", [0]),
        ("^a", [0, 1]),
      ])
  }

  @Test("Rows without words among a few")
  func emptyRows() throws {
    // fts5matchinfo.
    let words = [
      "quitealongstringoftext", "anotherquitealongstringoftext", "athirdlongstringoftext", "andonemoreforgoodluck",
    ]
    let trio = try Self.trio(204) { $0 < 4 ? words[$0] : "" }
    try Self.check(trio, [("a*", [1, 2, 3]), ("quite*", [0]), ("b*", [])])
  }

  @Test("Words that are longer than a term differ for FTS5, and not for Quire, which says so")
  func longWords() throws {
    // fts5rowid, fts5bigtok and fts5simple; the limit is in the guide.
    func word(_ parts: (String, Int)...) -> String { parts.map { String(repeating: $0, count: $1) }.joined() }
    let words = [
      word(("x", 400)), word(("x", 300), ("w", 100)), word(("x", 300), ("y", 100)), word(("x", 300), ("z", 600)),
      word(("x", 250), ("v", 5)), word(("q", 64)), word(("q", 60)), "a b " + word(("p", 100_000)),
    ]
    let fts5 = try FTS5Oracle(columns: ["a"])
    let folder = try TestFolder()
    let database = try folder.open()
    try database.register(PaperText.papers(["a"]))
    try database.write { tx in
      for (number, text) in words.enumerated() {
        try tx[.papers].set(Paper(texts: [text]), for: "\(number)")
        try fts5.insert(RowID(Int64(number)), [text])
      }
    }
    try database.read { tx in
      for (number, text) in words.enumerated() {
        #expect(try fts5.rowIDs(match: text) == [RowID(Int64(number))])
        let keys = try tx[.papers].search(text).keys
        #expect(Set(keys) == (number < 4 ? ["0", "1", "2", "3"] : ["\(number)"]))
      }
    }
  }

  @Test("Searches in each of as many columns as there may be")
  func manyColumns() throws {
    // fts5simple3, fts5prefix and fts5matchinfo have up to 998; Quire has 64 fields.
    let columns = (0..<64).map { "c\($0)" }
    let trio = try SearchTrio(.papers(columns), fields: columns, tokenizer: .unicode61())
    try trio.register()
    try trio.write { tx in
      try trio.set(tx, "0", (0..<64).map { "val\($0)" })
      try trio.set(tx, "1", (0..<64).map { [4, 45].contains($0) ? "abc" : "" })
    }
    let queries: [(String, [Int])] = [
      ("c1 : val1", [0]), ("c63 : val63", [0]), ("c63 : val1", []), ("c1 : val63", []), ("c4 : abc", [1]),
      ("c45 : ab*", [1]), ("c5 : abc", []), ("- {c4 c45} : abc", []), ("{c4 c5} : abc", [1]), ("val*", [0]),
    ]
    try Self.check(trio, queries.map { ($0, $1) })
    let error = fullTextError {
      let folder = try TestFolder()
      try folder.open().register(PaperText.papers((0..<65).map { "c\($0)" }))
    }
    #expect("\(String(describing: error))".contains("65 fields"))
  }

  @Test("Rows of savepoints that are undone are not found, and others are")
  func savepoints() throws {
    // fts5ai and fts5savepoint.
    let trio = try SearchTrio(.papers(["a"]), fields: ["a"], tokenizer: .unicode61())
    try trio.register()
    try trio.write { tx in
      func add(_ text: String) throws { try trio.set(tx, text, [text]) }
      try add("a b c")
      try add("d e f")
      try trio.savepoint(tx) {
        try add("g h i")
        try trio.savepoint(tx) { try add("j k l") }
        throw SearchTrio.Undone()
      }
      try trio.savepoint(tx) {
        try add("m n o")
        try trio.savepoint(tx) { try add("p q r") }
      }
      try trio.savepoint(tx) {
        try add("s t u")
        throw SearchTrio.Undone()
      }
    }
    try trio.verify()
    for word in "abcdefghijklmnopqrstu".map(String.init) {
      let rows = try trio.fts5.rowIDs(match: word)
      #expect(rows.count == ("abcdefmnopqr".contains(word) ? 1 : 0))
      #expect(try trio.database.read { tx in try tx[.papers].search(word).rowIDs } == rows)
    }
  }
}
