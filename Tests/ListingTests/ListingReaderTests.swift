// That no listing slips through: what is found in documents, and what counts as compiled.

import Testing

@Suite("Reading listings") struct ListingReaderTests {
  private let code = CompiledCode([
    .init(
      name: "Code.swift",
      lines: [
        "import Quire", "", "enum Space {", "  struct Song {", "    var title: String", "  }", "}", "",
        "func f(_ path: String) {", "  let db = try Database(at: path)", "  try db.close()", "}",
      ])
  ])

  private func contains(_ lines: String...) -> Bool {
    code.contains(Listing(document: "Guide.md", line: 1, lines: lines))
  }

  @Test("Code is found where it stands, line after line") func found() {
    #expect(contains("let db = try Database(at: \"library.quire\")", "try db.close()"))
    #expect(contains("struct Song {", "  var title: String", "}"))
    #expect(contains("import Quire", "", "struct Song {", "  var title: String", "}", "", "try db.close()"))
  }

  @Test("Anything else is not") func notFound() {
    #expect(!contains("try db.close()", "let db = try Database(at: \"library.quire\")"))
    #expect(!contains("db.close()"))
    #expect(!contains("struct Song {", "var title: String", "}"))
    #expect(!contains("struct Song {", "}"))
    #expect(!contains("struct Song {", "  var title: String", "}", "", "import Quire"))
    #expect(!contains("let db = try Database(at: \"library.quire\")", "", "try db.close()"))
    #expect(!contains(""))
  }

  @Test("Blocks of guides, also indented ones") func guides() {
    let text = "a\n```swift\nlet a = 1\n```\n- b\n  ```swift\n  f {\n    g()\n  ```\n"
    let reader = ListingReader(text, document: "G.md")
    #expect(reader.listings.map(\.lines) == [["let a = 1"], ["f {", "  g()"]])
    #expect(reader.listings.map(\.line) == [3, 7] && reader.faults.isEmpty)
  }

  @Test("Blocks of comments") func comments() {
    let text = "  /// Adds.\n  ///\n  /// ```swift\n  /// if a {\n  ///   b()\n  /// }\n  /// ```\n  func f() {}\n"
    let reader = ListingReader(text, document: "S.swift")
    #expect(reader.listings.map(\.lines) == [["if a {", "  b()", "}"]])
    #expect(reader.listings.map(\.line) == [4] && reader.faults.isEmpty)
  }

  @Test(
    "Code that does not say what it is, and blocks that do not end",
    arguments: [
      ("```\nlet a = 1\n```", "G.md"), ("```text\ntry f()\n```", "G.md"), ("```Swift\na\n```", "G.md"),
      ("~~~\na", "G.md"), ("    let a = f()", "G.md"), ("```swift\nf()", "G.md"), ("```swift\n```", "G.md"),
      ("```\n.package(path: \"a\")\n```", "G.md"), ("///     let a = f()", "S.swift"),
      ("/// ```swift\n/// f()\nfunc g() {}", "S.swift"), ("// ```swift", "S.swift"), ("/** Adds. */", "S.swift"),
    ])
  func faults(text: String, document: String) {
    #expect(ListingReader(text, document: document).faults.count == 1)
  }

  @Test("Commands and prose are none of it") func others() {
    let text = "```\napt-get update && swift test\n```\n    for a while, if need be\n```text\nimport of rows: 3\n```\n"
    let reader = ListingReader(text, document: "G.md")
    #expect(reader.faults.isEmpty && reader.listings.isEmpty)
  }
}
