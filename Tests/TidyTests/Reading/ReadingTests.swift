// The reading itself under test: a rule that looks at the wrong tokens finds nothing and stays green.

import Foundation
import Testing

@Suite("Sources are taken apart rightly")
struct ReadingTests {
  private func words(_ text: String) -> [String] { Lexer(text).tokens.map(\.text) }

  @Test("Literals leave nothing but their interpolations")
  func literals() {
    #expect(words(#"a("b \" c", d)"#) == ["a", "(", ",", "d", ")"])
    #expect(words(##"a(#"b " \(c)"#)"##) == ["a", "(", ")"])
    #expect(words(##"a #"b \#(c)"# d"##) == ["a", "c", "d"])
    #expect(words(#"a "b \(c(")") + "\(d)") e" f"#) == ["a", "c", "(", ")", "+", "d", "f"])
    #expect(words("a\n\"\"\"\nb \"c\" { \\(d)\n\"\"\"\ne") == ["a", "d", "e"])
    #expect(words("a #/b\"{/# c") == ["a", "c"])
  }

  @Test("Comments nest, keep their lines and hide their words")
  func comments() {
    let lexer = Lexer("a /* b\n/* c */ d\n*/ e // f\ng")
    #expect(lexer.tokens.map(\.text) == ["a", "e", "g"])
    #expect(lexer.tokens.map(\.line) == [1, 3, 4])
    #expect(lexer.comments.map(\.line) == [1, 2, 3, 3])
  }

  @Test("A literal that never ends does not hide the lines after it")
  func unfinishedLiteral() {
    #expect(words("a \"b\nc") == ["a", "c"])
  }

  @Test("Lines are counted through literals of several lines")
  func linesAfterLiteral() {
    #expect(Lexer("\"\"\"\na \\\nb\n\"\"\"\nc").tokens.map(\.line) == [5])
  }

  private func declarations(_ text: String) -> [String] {
    SourceFile(path: "Sources/A/B.swift", text: text).declarations.map {
      "\($0.keyword) \($0.name) \($0.firstLine)-\($0.line)-\($0.lastLine)\($0.isLocal ? " local" : "")"
    }
  }

  @Test("Declarations are found with their lines")
  func declarationsAndLines() {
    let text = """
      @frozen
      public struct A<T: B>: C where T: D {
        @inlinable(never) package static func f(
          _ class: Int = { 1 }()
        ) throws -> Int {
          let inner = 1
          if let inner, case let x = inner { return x }
          return self.init(a: 1)
        }
        class var g: Int { 1 }
        init?<U>(u: U) {}
        static func == (l: A, r: A) -> Bool { true }
      }
      """
    #expect(
      declarations(text) == [
        "struct A 1-2-13", "func f 3-3-9", "let inner 6-6-6 local", "var g 10-10-10", "init init 11-11-11",
        "func == 12-12-12",
      ])
  }

  @Test("Requirements have no body, even before a declaration that has one")
  func requirements() {
    let text = """
      protocol P: Q {
        associatedtype E
        func f(a: Int) -> Int
        @discardableResult
        mutating func g()
        var h: Int { get }
      }
      extension R.S: P, @unchecked Sendable {
        var i: Int = 1
        func j() {
        }
      }
      """
    #expect(
      declarations(text) == [
        "protocol P 1-1-7", "associatedtype E 2-2-2", "func f 3-3-3", "func g 4-5-5", "var h 6-6-6",
        "extension S 8-8-12", "var i 9-9-9", "func j 10-10-11",
      ])
    let file = SourceFile(path: "Sources/A/B.swift", text: text)
    #expect(file.declarations[5].inherits == ["P", "unchecked", "Sendable"])
    #expect(file.declarations.map(\.enclosing) == [nil, 0, 0, 0, 0, nil, 5, 5])
  }

  @Test("The comment above a declaration is found across its attributes, and not across a blank line")
  func commentsAbove() {
    let file = SourceFile(path: "Sources/A/B.swift", text: "// a\n\n  /// b\n  // c\n  @d\n  let e = 1\n")
    #expect(file.commentLines(above: 6) == ["/// b", "// c"])
    #expect(file.commentLines(above: 3).isEmpty)
    #expect(file.commentLines(above: 1).isEmpty)
  }

  @Test("The tree holds this very file, and nothing that was built")
  func treeIsTheRepository() throws {
    let paths = try SourceTree.repository().files.map(\.path)
    #expect(paths.contains("Tests/TidyTests/Reading/ReadingTests.swift"))
    #expect(paths.contains("Sources/QuireStorage/StorageError.swift"))
    #expect(!paths.contains { $0.contains("/.build") })
  }
}
